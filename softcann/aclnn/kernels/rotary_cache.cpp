#include "aclnn/kernels/rotary_cache.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <vector>

#include "aclnn/kernels/compute_type.h"
#include "aclnn/kernels/rotary.h"

namespace softcann::aclnn {

namespace {

Rotation rotationNamed(std::string_view mode) {
  if (mode.empty() || mode == "half") return Rotation::kHalf;
  if (mode == "interleave") return Rotation::kInterleave;
  TORCH_CHECK_VALUE(mode == "quarter",
                    "expected rotary_mode 'half', 'interleave' or 'quarter', but got '", mode, "'");
  return Rotation::kQuarter;
}

// (tokens, pairs): a column's row of `all` (sections, tokens, pairs) is that of its section.
at::Tensor bySection(const at::Tensor& all, at::IntArrayRef sections) {
  std::vector<at::Tensor> columns;
  int64_t first = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    columns.push_back(all.select(0, static_cast<int64_t>(i)).narrow(1, first, sections[i]));
    first += sections[i];
  }
  return at::cat(columns, 1);
}

}  // namespace

void applyRotary(at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                 std::string_view mode) {
  TORCH_CHECK(cos.dim() == x.dim() && cos.sizes() == sin.sizes() && cos.size(-1) <= x.size(-1),
              "expected cos and sin of one size that fits x, of ", x.sizes(), ", but got ",
              cos.sizes(), " and ", sin.sizes());
  at::Tensor turning = x.narrow(-1, 0, cos.size(-1));
  turning.copy_(rotated(turning, cos, sin, rotationNamed(mode)));
}

void rotateFromCache(const at::Tensor& x, const CachedRotation& rotation, at::Tensor& out) {
  const at::Tensor& positions = rotation.positions;
  TORCH_CHECK(positions.dim() == 1 || positions.dim() == 2,
              "expected positions of (tokens) or (sections, tokens), but got ", positions.sizes());
  TORCH_CHECK(rotation.head_size > 0 && x.dim() == 2 && x.size(1) % rotation.head_size == 0 &&
                  x.size(0) == positions.size(-1),
              "expected query and key of (tokens, heads * head_size) with tokens as in positions, "
              "but got ",
              x.sizes(), ", ", positions.sizes(), " and head_size ", rotation.head_size);
  TORCH_CHECK(rotation.cache.dim() == 2 && rotation.cache.size(1) % 2 == 0 &&
                  rotation.cache.size(1) <= rotation.head_size,
              "expected cos_sin_cache of (positions, even size up to head_size), but got ",
              rotation.cache.sizes());
  const int64_t pairs = rotation.cache.size(1) / 2;
  const at::ScalarType type = computeType(x);
  at::Tensor angles = rotation.cache.to(type).index({positions.to(at::kLong)});
  if (positions.dim() == 2) {
    int64_t sum = 0;
    for (const int64_t section : rotation.sections) sum += section;
    TORCH_CHECK(static_cast<int64_t>(rotation.sections.size()) == positions.size(0) && sum == pairs,
                "expected mrope_section of ", positions.size(0), " numbers with the sum ", pairs,
                ", but got ", rotation.sections);
    angles = at::cat({bySection(angles.narrow(2, 0, pairs), rotation.sections),
                      bySection(angles.narrow(2, pairs, pairs), rotation.sections)},
                     1);
  }
  const at::Tensor cos = angles.narrow(1, 0, pairs).unsqueeze(1);
  const at::Tensor sin = angles.narrow(1, pairs, pairs).unsqueeze(1);
  const at::Tensor heads = x.reshape({x.size(0), -1, rotation.head_size}).to(type);
  const at::Tensor turning = heads.narrow(2, 0, 2 * pairs);
  const at::Tensor a =
      rotation.halves ? turning.narrow(2, 0, pairs) : turning.slice(2, 0, std::nullopt, 2);
  const at::Tensor b =
      rotation.halves ? turning.narrow(2, pairs, pairs) : turning.slice(2, 1, std::nullopt, 2);
  const at::Tensor first = a.mul(cos).sub_(b.mul(sin));
  const at::Tensor second = b.mul(cos).add_(a.mul(sin));
  const at::Tensor turned =
      rotation.halves ? at::cat({first, second}, 2) : at::stack({first, second}, -1).flatten(2);
  const at::Tensor rest = heads.narrow(2, 2 * pairs, rotation.head_size - 2 * pairs);
  out.copy_(at::cat({turned, rest}, 2).view(x.sizes()));
}

}  // namespace softcann::aclnn
