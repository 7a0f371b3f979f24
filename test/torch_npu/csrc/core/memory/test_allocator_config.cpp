// PYTORCH_NPU_ALLOC_CONF: what is accepted, and how nonsense is named.
#include <gtest/gtest.h>

#include <string>

#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include "bookkeeping_runtime.h"
#include "torch_npu/csrc/core/allocator_config.h"

namespace torch_npu {
namespace {

using c10::CachingAllocator::AcceleratorAllocatorConfig;

std::string refusal(const std::string& settings) {
  try {
    setAllocatorSettings(settings);
  } catch (const c10::ValueError& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST(AllocatorConfig, AppliesPyTorchsKeys) {
  setAllocatorSettings(
      "max_split_size_mb: 64, expandable_segments:True, garbage_collection_threshold:0.8,"
      "roundup_power2_divisions:[256:1,512:2,1024:4,>:8], backend:native,"
      "pinned_use_background_threads:False");
  EXPECT_EQ(AcceleratorAllocatorConfig::max_split_size(), 64U << 20);
  EXPECT_TRUE(AcceleratorAllocatorConfig::use_expandable_segments());
  EXPECT_EQ(AcceleratorAllocatorConfig::garbage_collection_threshold(), 0.8);
  EXPECT_EQ(AcceleratorAllocatorConfig::roundup_power2_divisions(size_t{600} << 20), 2U);
  setAllocatorSettings("expandable_segments:False,roundup_power2_divisions:1");
  EXPECT_FALSE(AcceleratorAllocatorConfig::use_expandable_segments());
}

TEST(AllocatorConfig, NamesTheKeyAndTheValueThatItRefuses) {
  for (const char* settings :
       {"max_split_sizes_mb:64", "max_split_size_mb:lots", "max_split_size_mb:-5",
        "max_split_size_mb:3", "expandable_segments:maybe", "garbage_collection_threshold:1.5",
        "garbage_collection_threshold:nan", "roundup_power2_divisions:3",
        "roundup_power2_divisions:[256:1,x:2]", "backend:cudaMallocAsync",
        "pinned_use_cuda_host_register:True", "per_process_memory_fraction:2"}) {
    const std::string text = refusal(settings);
    EXPECT_NE(text.find(settings), std::string::npos) << settings << " gave: " << text;
    EXPECT_NE(text.find("PYTORCH_NPU_ALLOC_CONF"), std::string::npos) << text;
  }
}

TEST(AllocatorConfig, RefusesWhatIsNotKeyAndValue) {
  for (const char* settings : {"nonsense", ":", "max_split_size_mb:", "a:[1,2"}) {
    EXPECT_NE(refusal(settings), "") << settings;
  }
}

TEST(AllocatorConfig, AppliesNothingIfOneSettingIsRefused) {
  setAllocatorSettings("max_split_size_mb:100");
  EXPECT_NE(refusal("max_split_size_mb:200,unknown_key:1"), "");
  EXPECT_EQ(AcceleratorAllocatorConfig::max_split_size(), 100U << 20);
}

}  // namespace
}  // namespace torch_npu
