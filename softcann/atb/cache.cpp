// What comes before attention: rotary positions, and keys and values that go into the cache.
#include <functional>
#include <numeric>
#include <stdexcept>

#include "aclnnop/aclnn_apply_rotary_pos_emb_v2.h"
#include "aclnnop/aclnn_scatter_pa_cache.h"
#include "aclnnop/aclnn_scatter_pa_kv_cache.h"
#include "atb/operation.h"

namespace softcann {

namespace {

constexpr int kHalves = 2;  // RopeParam::rotaryCoeff: halves turn with each other

// Inputs: query and key of (tokens, heads * size), cosine and sine of (tokens, size) and the
// sequences' lengths, which say nothing here: each token has its own row of cosine and sine.
class Rope : public AclnnOperation {
 public:
  explicit Rope(int32_t coefficient)
      : AclnnOperation("RopeOperation", 5, {0, 1}), coefficient_(coefficient) {}

 private:
  void prepare(const atb::VariantPack& tensors) override {
    const Sizes rows = sizes(tensors.inTensors[2]);
    if (rows.size() != 2 || rows[1] == 0) {
      throw std::invalid_argument("expected cosines of (tokens, size)");
    }
    const bool halves = coefficient_ == kHalves && rows[1] != kHalves;
    if (!halves && coefficient_ != rows[1]) {
      throw std::invalid_argument("rotaryCoeff " + std::to_string(coefficient_) +
                                  " is not supported for heads of size " + std::to_string(rows[1]) +
                                  "; 2 turns halves, and the size itself neighbours");
    }
    aclTensor* query = heads(tensors, 0, rows);
    aclTensor* key = heads(tensors, 1, rows);
    const Sizes each_head{rows[0], 1, rows[1]};
    const aclTensor* cosine = describe(tensors.inTensors[2], each_head);
    const aclTensor* sine = describe(tensors.inTensors[3], each_head);
    constexpr int64_t kTokensFirst = 4;
    call(
        [&](auto... phase) {
          return aclnnApplyRotaryPosEmbV2GetWorkspaceSize(
              query, key, cosine, sine, kTokensFirst,
              const_cast<char*>(halves ? "half" : "interleave"), phase...);
        },
        aclnnApplyRotaryPosEmbV2);
  }

  aclTensor* heads(const atb::VariantPack& tensors, size_t index, const Sizes& rows) {
    const Sizes given = sizes(tensors.inTensors[index]);
    const int64_t count =
        std::accumulate(given.begin(), given.end(), int64_t{1}, std::multiplies<>());
    const int64_t turned = rows[0] * rows[1];
    if (given.empty() || given[0] != rows[0] || (turned != 0 && count % turned != 0)) {
      throw std::invalid_argument("query and key do not have as many tokens as the cosines");
    }
    return inPlace(tensors.inTensors[index], tensors.outTensors[index],
                   {rows[0], turned == 0 ? 1 : count / turned, rows[1]});
  }

  int32_t coefficient_;
};

// Inputs: key and value of (tokens, heads, size), their caches of (blocks, block size, heads, size)
// and each token's slot. A cache in a private format has its bytes in the same order.
class ReshapeAndCache : public AclnnOperation {
 public:
  ReshapeAndCache() : AclnnOperation("ReshapeAndCacheOperation", 5, {2, 3}) {}

 private:
  void prepare(const atb::VariantPack& tensors) override {
    const auto& in = tensors.inTensors;
    aclTensor* key_cache = inPlace(in[2], tensors.outTensors[0], sizes(in[2]));
    aclTensor* value_cache = inPlace(in[3], tensors.outTensors[1], sizes(in[3]));
    const aclTensor* key = describe(in[0]);
    const aclTensor* value = describe(in[1]);
    const aclTensor* slots = describe(in[4]);
    call(
        [&](auto... phase) {
          return aclnnScatterPaKvCacheGetWorkspaceSize(key, key_cache, slots, value, value_cache,
                                                       nullptr, nullptr, nullptr, "Norm", "None",
                                                       nullptr, nullptr, phase...);
        },
        aclnnScatterPaKvCache);
  }
};

// Keys alone: key, its cache and the slots.
class ReshapeAndCacheKeys : public AclnnOperation {
 public:
  ReshapeAndCacheKeys() : AclnnOperation("ReshapeAndCacheOperation", 3, {1}) {}

 private:
  void prepare(const atb::VariantPack& tensors) override {
    const auto& in = tensors.inTensors;
    aclTensor* cache = inPlace(in[1], tensors.outTensors[0], sizes(in[1]));
    const aclTensor* key = describe(in[0]);
    const aclTensor* slots = describe(in[2]);
    call(
        [&](auto... phase) {
          return aclnnScatterPaCacheGetWorkspaceSize(key, cache, slots, nullptr, nullptr, nullptr,
                                                     "Norm", phase...);
        },
        aclnnScatterPaCache);
  }
};

}  // namespace

std::unique_ptr<atb::Operation> make(const atb::infer::RopeParam& param) {
  if (param.cosFormat != 0) {
    refuse("RopeOperation", "cosFormat is for training; leave it 0");
    return nullptr;
  }
  return std::make_unique<Rope>(param.rotaryCoeff);
}

std::unique_ptr<atb::Operation> make(const atb::infer::ReshapeAndCacheParam& param) {
  using Param = atb::infer::ReshapeAndCacheParam;
  if (param.compressType != Param::COMPRESS_TYPE_UNDEFINED) {
    refuse("ReshapeAndCacheOperation", "compressed caches are not supported");
    return nullptr;
  }
  if (param.kvCacheCfg == Param::K_CACHE_V_BYPASS) return std::make_unique<ReshapeAndCacheKeys>();
  return std::make_unique<ReshapeAndCache>();
}

}  // namespace softcann
