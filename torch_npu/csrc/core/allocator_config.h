// The allocators' settings: PYTORCH_NPU_ALLOC_CONF, with the keys that PyTorch's own allocators
// have.
//
// Values live in PyTorch's AcceleratorAllocatorConfig, which also reads PYTORCH_ALLOC_CONF; the
// variable of our own is applied after it. Settings that only another backend has are refused by
// name rather than ignored.
#pragma once

#include <string>

#include <c10/macros/Export.h>

namespace torch_npu {

// Applies the environment variable, once. Throws c10::ValueError that names the key and the value;
// a later call then tries again.
C10_EXPORT void applyAllocatorEnvironment();

// Applies settings at run time, e.g. "max_split_size_mb:128,expandable_segments:True". They are
// checked as a whole before any is applied. Throws as above.
C10_EXPORT void setAllocatorSettings(const std::string& settings);

// What a process may reserve of each device, as set by per_process_memory_fraction; 1.0 if unset.
C10_EXPORT double configuredMemoryFraction();

}  // namespace torch_npu
