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
      "max_split_size_mb: 64, garbage_collection_threshold:0.8,"
      "roundup_power2_divisions:[256:1,512:2,1024:4,>:8], backend:native,"
      "pinned_use_background_threads:False");
  EXPECT_EQ(AcceleratorAllocatorConfig::max_split_size(), 64U << 20);
  EXPECT_EQ(AcceleratorAllocatorConfig::garbage_collection_threshold(), 0.8);
  EXPECT_EQ(AcceleratorAllocatorConfig::roundup_power2_divisions(size_t{600} << 20), 2U);
  setAllocatorSettings("expandable_segments:True");
  EXPECT_TRUE(AcceleratorAllocatorConfig::use_expandable_segments());
  setAllocatorSettings("expandable_segments:False,roundup_power2_divisions:1");
  EXPECT_FALSE(AcceleratorAllocatorConfig::use_expandable_segments());
}

TEST(AllocatorConfig, AppliesAscendsKeys) {
  setAllocatorSettings(
      "base_addr_aligned_kb:16,pinned_reserve_segment_size_mb:8,pinned_mem_register:True,"
      "pin_memory_expandable_segments:True,multi_stream_lazy_reclaim:True,"
      "release_lock_on_npumalloc:False");
  setAllocatorSettings("page_size:1g");
  EXPECT_EQ(AcceleratorAllocatorConfig::large_segment_size(), size_t{1} << 30);
  setAllocatorSettings("segment_size_mb:20");
  EXPECT_EQ(AcceleratorAllocatorConfig::large_segment_size(), size_t{20} << 20);
}

TEST(AllocatorConfig, RefusesLimitsOnSplitsBesideExpandableSegments) {
  EXPECT_NE(refusal("expandable_segments:True,max_split_size_mb:64").find("max_split_size_mb:64"),
            std::string::npos);
  EXPECT_NE(refusal("garbage_collection_threshold:0.5,expandable_segments:True")
                .find("garbage_collection_threshold:0.5"),
            std::string::npos);
  EXPECT_EQ(refusal("expandable_segments:False,max_split_size_mb:64"), "");
}

TEST(AllocatorConfig, NamesTheKeyAndTheValueThatItRefuses) {
  for (const char* settings : {"max_split_sizes_mb:64",
                               "max_split_size_mb:lots",
                               "max_split_size_mb:-5",
                               "max_split_size_mb:3",
                               "expandable_segments:maybe",
                               "garbage_collection_threshold:1.5",
                               "garbage_collection_threshold:nan",
                               "roundup_power2_divisions:3",
                               "roundup_power2_divisions:[256:1,x:2]",
                               "backend:cudaMallocAsync",
                               "pinned_use_cuda_host_register:True",
                               "per_process_memory_fraction:2",
                               "page_size:2m",
                               "base_addr_aligned_kb:17",
                               "base_addr_aligned_kb:x",
                               "segment_size_mb:19",
                               "segment_size_mb:513",
                               "pinned_reserve_segment_size_mb:-1",
                               "pinned_mem_register:yes",
                               "pin_memory_expandable_segments:1",
                               "multi_stream_lazy_reclaim:no",
                               "release_lock_on_npumalloc:maybe"}) {
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
