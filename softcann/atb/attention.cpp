// Attention over packed sequences and over a cache of blocks, and the product that accumulates.
#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "aclnnop/aclnn_incre_flash_attention_v4.h"
#include "aclnnop/aclnn_prompt_flash_attention_v3.h"
#include "aclnnop/softcann_matmul_add_float.h"
#include "atb/operation.h"

namespace softcann {

namespace {

// Which of an attention's settings are away from their defaults; empty if none is.
struct Setting {
  const char* name;
  bool set;
};

bool refuseSettings(const char* operation, std::initializer_list<Setting> settings) {
  for (const Setting& setting : settings) {
    if (!setting.set) continue;
    refuse(operation, std::string(setting.name) +
                          " is not supported; use torch_npu.npu_fused_infer_attention_score");
    return true;
  }
  return false;
}

// Inputs: query, keys and values of (tokens, heads, size) or (tokens, heads * size), a mask that
// is added to the scores if the parameters say so, and the sequences' lengths on the host.
class SelfAttention : public AclnnOperation {
 public:
  explicit SelfAttention(const atb::infer::SelfAttentionParam& param)
      : AclnnOperation("SelfAttentionOperation", masked(param) ? 5 : 4, {0}), param_(param) {}

 private:
  static bool masked(const atb::infer::SelfAttentionParam& param) {
    return param.maskType == atb::infer::SelfAttentionParam::MASK_TYPE_NORM;
  }

  void prepare(const atb::VariantPack& tensors) override {
    const auto& in = tensors.inTensors;
    const int64_t key_heads = param_.kvHeadNum > 0 ? param_.kvHeadNum : param_.headNum;
    const aclTensor* query = describe(in[0], byHeads(in[0], param_.headNum));
    const aclTensor* key = describe(in[1], byHeads(in[1], key_heads));
    const aclTensor* value = describe(in[2], byHeads(in[2], key_heads));
    const aclTensor* mask = masked(param_) ? describe(in[3], wholeMask(in[3])) : nullptr;
    const atb::Tensor& output = tensors.outTensors[0];
    const aclTensor* out = describe(output, byHeads(output, param_.headNum));
    Sizes ends = onHost("the sequences' lengths", in[masked(param_) ? 4 : 3]);
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    const aclIntArray* lengths = array(ends);
    constexpr int64_t kUnlimited = std::numeric_limits<int32_t>::max();
    call(
        [&](auto... phase) {
          return aclnnPromptFlashAttentionV3GetWorkspaceSize(
              query, key, value, mask, nullptr, lengths, lengths, nullptr, nullptr, nullptr,
              nullptr, nullptr, param_.headNum, double{param_.qScale} * param_.qkScale, kUnlimited,
              kUnlimited, const_cast<char*>("TND"), key_heads, 0, 0, out, phase...);
        },
        aclnnPromptFlashAttentionV3);
  }

  static Sizes byHeads(const atb::Tensor& tensor, int64_t heads) {
    const Sizes given = sizes(tensor);
    if (given.size() == 3 && given[1] == heads) return given;
    if (given.size() != 2 || given[1] % heads != 0) {
      throw std::invalid_argument("expected (tokens, heads, size) or (tokens, heads * size) with " +
                                  std::to_string(heads) + " heads");
    }
    return {given[0], heads, given[1] / heads};
  }

  static Sizes wholeMask(const atb::Tensor& tensor) {
    const Sizes given = sizes(tensor);
    if (given.size() == 2) return {1, 1, given[0], given[1]};
    if (given.size() == 3 && given[0] == 1) return {1, 1, given[1], given[2]};
    throw std::invalid_argument("expected a mask of (length, length) or (1, length, length)");
  }

  atb::infer::SelfAttentionParam param_;
};

// Inputs: one query a sequence of (sequences, heads, size), caches of (blocks, block size, heads,
// size), each sequence's blocks, and the lengths on the host.
class PagedAttention : public AclnnOperation {
 public:
  explicit PagedAttention(const atb::infer::PagedAttentionParam& param)
      : AclnnOperation("PagedAttentionOperation", 5, {0}), param_(param) {}

 private:
  void prepare(const atb::VariantPack& tensors) override {
    const auto& in = tensors.inTensors;
    const Sizes given = sizes(in[0]), cache = sizes(in[1]), values_cache = sizes(in[2]);
    if (given.size() != 3 || given[1] != param_.headNum) {
      throw std::invalid_argument("expected a query of (sequences, heads, size) with " +
                                  std::to_string(param_.headNum) + " heads");
    }
    if (cache.size() != 4 || values_cache.size() != 4 ||
        !std::equal(cache.begin(), cache.begin() + 3, values_cache.begin())) {
      throw std::invalid_argument("expected caches of (blocks, block size, heads, size)");
    }
    const auto merged = [](const Sizes& of) { return Sizes{of[0], of[1], of[2] * of[3]}; };
    const Sizes query_sizes{given[0], given[1], 1, given[2]};
    const Sizes out_sizes{given[0], given[1], 1, values_cache[3]};
    const aclTensor* query = describe(in[0], query_sizes);
    const aclTensorList* keys = list(in[1], merged(cache));
    const aclTensorList* values = list(in[2], merged(values_cache));
    const aclTensor* blocks = describe(in[3]);
    const aclIntArray* lengths = array(onHost("the sequences' lengths", in[4]));
    const aclTensor* out = describe(tensors.outTensors[0], out_sizes);
    call(
        [&](auto... phase) {
          return aclnnIncreFlashAttentionV4GetWorkspaceSize(
              query, keys, values, nullptr, nullptr, lengths, nullptr, nullptr, nullptr, nullptr,
              nullptr, nullptr, nullptr, blocks, nullptr, param_.headNum, param_.qkScale,
              const_cast<char*>("BNSD"), cache[2], cache[1], 0, out, phase...);
        },
        aclnnIncreFlashAttentionV4);
  }

  atb::infer::PagedAttentionParam param_;
};

// Inputs: two matrices, the first transposed, and the float32 matrix that their product is added
// to.
class AccumulatingLinear : public AclnnOperation {
 public:
  AccumulatingLinear() : AclnnOperation("LinearOperation", 3, {2}) {}

 private:
  void prepare(const atb::VariantPack& tensors) override {
    const auto& in = tensors.inTensors;
    const Sizes given = sizes(in[0]);
    if (given.size() != 2) throw std::invalid_argument("expected matrices");
    aclTensor* sum = inPlace(in[2], tensors.outTensors[0], sizes(in[2]));
    const aclTensor* first = describe(in[0], {given[1], given[0]}, {1, given[1]});
    const aclTensor* second = describe(in[1]);
    call(
        [&](auto... phase) {
          return softcannMatmulAddFloatGetWorkspaceSize(sum, first, second, phase...);
        },
        softcannMatmulAddFloat);
  }
};

}  // namespace

std::unique_ptr<atb::Operation> make(const atb::infer::SelfAttentionParam& param) {
  using Param = atb::infer::SelfAttentionParam;
  if (refuseSettings("SelfAttentionOperation",
                     {{"a calcType other than PA_ENCODER", param.calcType != Param::PA_ENCODER},
                      {"this maskType", param.maskType != Param::MASK_TYPE_UNDEFINED &&
                                            param.maskType != Param::MASK_TYPE_NORM},
                      {"quantType", param.quantType != 0},
                      {"clampType", param.clampType != 0},
                      {"scaleType", param.scaleType != 0},
                      {"inputLayout", param.inputLayout != 0},
                      {"mlaVHeadSize", param.mlaVHeadSize != 0},
                      {"cacheType", param.cacheType != 0},
                      {"windowSize", param.windowSize != 0},
                      {"batchRunStatusEnable", param.batchRunStatusEnable},
                      {"no heads", param.headNum <= 0}})) {
    return nullptr;
  }
  return std::make_unique<SelfAttention>(param);
}

std::unique_ptr<atb::Operation> make(const atb::infer::PagedAttentionParam& param) {
  if (refuseSettings("PagedAttentionOperation",
                     {{"maskType", param.maskType != 0},
                      {"quantType", param.quantType != 0},
                      {"compressType", param.compressType != 0},
                      {"calcType", param.calcType != 0},
                      {"scaleType", param.scaleType != 0},
                      {"inputLayout", param.inputLayout != 0},
                      {"mlaVHeadSize", param.mlaVHeadSize != 0},
                      {"batchRunStatusEnable", param.batchRunStatusEnable}})) {
    return nullptr;
  }
  return std::make_unique<PagedAttention>(param);
}

std::unique_ptr<atb::Operation> make(const atb::infer::LinearParam& param) {
  if (!param.enAccum || !param.transposeA || param.transposeB || param.hasBias) {
    refuse("LinearOperation",
           "softcann has it with enAccum and transposeA alone; use torch.matmul for others");
    return nullptr;
  }
  return std::make_unique<AccumulatingLinear>();
}

}  // namespace softcann
