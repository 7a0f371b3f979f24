# Compile through ccache where it is installed. Paths below the source folder count as relative, so
# that a second clone of the repository reuses the first one's objects; the sloppiness is what
# ccache asks for in order to cache sources that use a precompiled header. It looks at the headers
# that the compiler names rather than run the preprocessor, which would see a precompiled header
# that is about to be replaced.
find_program(CCACHE ccache)
if(CCACHE)
  set(ccache_launcher
    env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros
    ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache_launcher})
endif()
