#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/custom_outputs.h"

namespace torch_npu {

namespace {

// Batch, heads, sequence and size of a tensor; packed sequences count as one batch.
struct Sizes {
  int64_t batch = 1;
  int64_t heads = 0;
  int64_t sequence = 0;
  int64_t size = 0;
};

Sizes sizesOf(const at::Tensor& tensor, std::string_view layout, int64_t heads) {
  const bool merged = layout == "BSH" || layout == "SBH";
  const bool packed = layout == "TND" || layout == "NTD";
  const int64_t dims = merged || packed ? 3 : 4;
  TORCH_CHECK(tensor.dim() == dims, "expected a query of ", dims, " dimensions for the layout ",
              layout, ", but got ", tensor.sizes());
  if (merged) {
    TORCH_CHECK(heads > 0 && tensor.size(2) % heads == 0, "expected the last dimension of ",
                tensor.sizes(), " to be divisible by the number of heads, ", heads);
    const int64_t size = tensor.size(2) / heads;
    return layout == "BSH" ? Sizes{tensor.size(0), heads, tensor.size(1), size}
                           : Sizes{tensor.size(1), heads, tensor.size(0), size};
  }
  Sizes sizes;
  if (layout == "TND") {
    sizes = {1, tensor.size(1), tensor.size(0), tensor.size(2)};
  } else if (layout == "NTD") {
    sizes = {1, tensor.size(0), tensor.size(1), tensor.size(2)};
  } else if (layout == "BNSD") {
    sizes = {tensor.size(0), tensor.size(1), tensor.size(2), tensor.size(3)};
  } else if (layout == "BSND") {
    sizes = {tensor.size(0), tensor.size(2), tensor.size(1), tensor.size(3)};
  } else {
    TORCH_CHECK_VALUE(false, "unknown attention layout '", layout, "'");
  }
  TORCH_CHECK(sizes.heads == heads, "expected ", heads, " query heads in the layout ", layout,
              ", but got ", tensor.sizes());
  return sizes;
}

at::Tensor inLayout(const Sizes& sizes, std::string_view layout, const at::Tensor& like,
                    at::ScalarType dtype) {
  const auto [batch, heads, sequence, size] = sizes;
  if (layout == "BSH") return shapes::sized({batch, sequence, heads * size}, like, dtype);
  if (layout == "SBH") return shapes::sized({sequence, batch, heads * size}, like, dtype);
  if (layout == "BSND") return shapes::sized({batch, sequence, heads, size}, like, dtype);
  if (layout == "BNSD") return shapes::sized({batch, heads, sequence, size}, like, dtype);
  if (layout == "NBSD") return shapes::sized({heads, batch, sequence, size}, like, dtype);
  if (layout == "TND") return shapes::sized({sequence, heads, size}, like, dtype);
  TORCH_CHECK_VALUE(layout == "NTD", "unknown attention layout '", layout, "'");
  return shapes::sized({heads, sequence, size}, like, dtype);
}

std::string_view before(std::string_view layout) { return layout.substr(0, layout.find('_')); }
std::string_view after(std::string_view layout) {
  const size_t end = layout.find('_');
  return end == std::string_view::npos ? layout : layout.substr(end + 1);
}

bool isPacked(std::string_view layout) { return layout == "TND" || layout == "NTD"; }

// Elements of a head, of which int32 holds eight.
int64_t valueSize(const at::Tensor& value, bool paged, std::string_view layout, int64_t key_heads) {
  const int64_t packed = value.scalar_type() == at::kInt ? 8 : 1;
  if (paged ? value.dim() == 3 : layout == "BSH" || layout == "SBH") {
    TORCH_CHECK(key_heads > 0 && value.dim() == 3 && value.size(2) * packed % key_heads == 0,
                "expected the last dimension of value, of ", value.sizes(),
                ", to be divisible by the number of key heads, ", key_heads);
    return value.size(2) * packed / key_heads;
  }
  TORCH_CHECK(value.dim() >= 3, "expected a value of 3 or more dimensions, but got ",
              value.sizes());
  return packed * (paged && value.dim() == 5 ? value.size(2) * value.size(4) : value.size(-1));
}

void checkOut(const char* name, const at::Tensor& out, const at::Tensor& expected) {
  TORCH_CHECK(out.sizes() == expected.sizes() && out.scalar_type() == expected.scalar_type(),
              "expected ", name, " of ", expected.sizes(), " and ", expected.scalar_type(),
              ", but got ", out.sizes(), " and ", out.scalar_type());
}

// Sizes and dtype without memory.
at::Tensor outline(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().device(at::kMeta));
}

}  // namespace

namespace shapes {

at::Tensor inferAttention(const at::Tensor& query, const at::Tensor& value,
                          const std::optional<at::Tensor>& block_table, std::string_view layout,
                          int64_t heads, int64_t key_heads, at::ScalarType dtype) {
  Sizes sizes = sizesOf(query, before(layout), heads);
  sizes.size =
      valueSize(value, given(block_table), before(layout), key_heads == 0 ? heads : key_heads);
  return inLayout(sizes, after(layout), query, dtype);
}

at::ScalarType inferredType(const at::Tensor& query, const std::optional<at::Tensor>& query_rope,
                            const std::optional<at::Tensor>& quant_scale) {
  if (given(quant_scale)) return at::kChar;
  if (query.scalar_type() != at::kChar) return query.scalar_type();
  TORCH_CHECK(given(query_rope), "expected query_rope with a query in int8");
  return query_rope->scalar_type();
}

at::Tensor inferLogsumexp(const at::Tensor& query, std::string_view layout, int64_t heads,
                          bool wanted) {
  if (!wanted) {
    return sized({1}, query, at::kFloat);
  }
  const Sizes sizes = sizesOf(query, before(layout), heads);
  return isPacked(before(layout))
             ? sized({sizes.sequence, sizes.heads, 1}, query, at::kFloat)
             : sized({sizes.batch, sizes.heads, sizes.sequence, 1}, query, at::kFloat);
}

at::Tensor trainedAttention(const at::Tensor& query, const at::Tensor& value, int64_t heads,
                            std::string_view layout, const at::Tensor& key) {
  Sizes sizes = sizesOf(query, layout, heads);
  if (layout == "BSH" || layout == "SBH") {
    TORCH_CHECK(sizes.size > 0 && key.dim() == 3 && key.size(2) % sizes.size == 0,
                "expected the last dimension of key, of ", key.sizes(),
                ", to be a multiple of the head size, ", sizes.size);
    sizes.size = valueSize(value, false, layout, key.size(2) / sizes.size);
  } else {
    sizes.size = valueSize(value, false, layout, 0);
  }
  return inLayout(sizes, layout, query, query.scalar_type());
}

at::Tensor attentionStatistics(const at::Tensor& query, int64_t heads, std::string_view layout) {
  constexpr int64_t kCopies = 8;
  const Sizes sizes = sizesOf(query, layout, heads);
  const at::ScalarType type = computeType(query);
  return isPacked(layout) ? sized({sizes.sequence, sizes.heads, kCopies}, query, type)
                          : sized({sizes.batch, sizes.heads, sizes.sequence, kCopies}, query, type);
}

}  // namespace shapes

void checkInferAttentionOut(const at::Tensor& query, const at::Tensor& value,
                            const std::optional<at::Tensor>& block_table, std::string_view layout,
                            int64_t heads, int64_t key_heads, bool wants_logsumexp,
                            at::ScalarType dtype, const at::Tensor& attention_out,
                            const at::Tensor& softmax_lse) {
  const at::Tensor outlined = outline(query);
  checkOut("attention_out", attention_out,
           shapes::inferAttention(outlined, value, block_table, layout, heads, key_heads, dtype));
  if (wants_logsumexp) {
    checkOut("softmax_lse", softmax_lse, shapes::inferLogsumexp(outlined, layout, heads, true));
  }
}

}  // namespace torch_npu
