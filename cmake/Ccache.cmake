# Compile through ccache where it is installed. Paths below the source folder count as relative, so
# that a second clone of the repository reuses the first one's objects; the sloppiness is what
# ccache asks for in order to cache sources that use a precompiled header.
find_program(CCACHE ccache)
if(CCACHE)
  set(ccache_launcher
    env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros
    ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache_launcher})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
