# Where what is built lies: in a development build beside the Python sources, in a wheel by the
# install components `softcann` and `torch_npu`. Run paths of installed libraries are relative, so
# that they find each other and torch in any site-packages.

set(softcann_package ${CMAKE_SOURCE_DIR}/softcann/python/softcann)
set(torch_npu_package ${CMAKE_SOURCE_DIR}/torch_npu)

# Puts a target's output into a folder of the package, in the development tree and in its wheel.
function(softnpu_place target package subfolder)
  if(SOFTNPU_INPLACE)
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${${package}_package}/${subfolder}
      RUNTIME_OUTPUT_DIRECTORY ${${package}_package}/${subfolder})
  endif()
  install(TARGETS ${target}
    LIBRARY DESTINATION ${package}/${subfolder} COMPONENT ${package}
    RUNTIME DESTINATION ${package}/${subfolder} COMPONENT ${package})
endfunction()

get_property(companions GLOBAL PROPERTY softcann_companions)
foreach(library ascendcl opapi hccl ${companions})
  if(TARGET ${library})
    softnpu_place(${library} softcann toolkit/lib64)
    set_target_properties(${library} PROPERTIES
      INSTALL_RPATH "$ORIGIN;$ORIGIN/../../../torch/lib")  # site-packages/softcann/toolkit/lib64
  endif()
endforeach()
if(TARGET npu_smi)
  softnpu_place(npu_smi softcann toolkit/bin)
  set_target_properties(npu_smi PROPERTIES
    OUTPUT_NAME npu-smi INSTALL_RPATH $ORIGIN/../lib64)
endif()
if(TARGET torch_npu)
  softnpu_place(torch_npu torch_npu lib)
endif()
if(TARGET torch_npu_python)
  softnpu_place(torch_npu_python torch_npu "")
endif()

foreach(package softcann torch_npu)
  install(DIRECTORY ${${package}_package}/ DESTINATION ${package} COMPONENT ${package}
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed"
    PATTERN "__pycache__" EXCLUDE PATTERN "csrc" EXCLUDE
    PATTERN "lib" EXCLUDE PATTERN "toolkit" EXCLUDE)
endforeach()

# The demo and the wheels need these and no tests.
add_custom_target(softcann_toolkit)
foreach(target ascendcl opapi hccl ${companions} npu_smi)
  if(TARGET ${target})
    add_dependencies(softcann_toolkit ${target})
  endif()
endforeach()
