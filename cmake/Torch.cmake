# The torch of the build's Python:
#
#   torch::cpu   target: headers, libtorch_cpu and libc10
#   TORCH_DIR    the package's folder
#
# It is found without importing it: `import torch` loads the package torch_npu, which may be half
# built while CMake runs. Torch's own CMake package is not used, because for a CUDA build of torch
# it demands a CUDA toolkit.
include_guard(GLOBAL)

execute_process(
  COMMAND ${SOFTNPU_PYTHON} -c
    "from importlib.util import find_spec as f; print(f('torch').submodule_search_locations[0])"
  OUTPUT_VARIABLE TORCH_DIR OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE torch_missing
  ERROR_QUIET)
if(torch_missing)
  message(FATAL_ERROR "${SOFTNPU_PYTHON} has no torch: run `make` instead of cmake, or "
                      "`pip install -r requirements/dev.txt` first")
endif()
message(STATUS "Found torch: ${TORCH_DIR}")

add_library(softnpu_torch INTERFACE)
add_library(torch::cpu ALIAS softnpu_torch)
target_include_directories(softnpu_torch SYSTEM INTERFACE
  ${TORCH_DIR}/include ${TORCH_DIR}/include/torch/csrc/api/include)
target_compile_definitions(softnpu_torch INTERFACE AT_PER_OPERATOR_HEADERS)
target_link_libraries(softnpu_torch INTERFACE
  ${TORCH_DIR}/lib/libtorch_cpu.so ${TORCH_DIR}/lib/libc10.so)
