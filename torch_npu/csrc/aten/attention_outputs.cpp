#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/custom_outputs.h"

namespace torch_npu {

namespace {

// Batch, heads, sequence and size of a tensor; packed sequences count as one batch.
struct Sizes {
  c10::SymInt batch = 1;
  c10::SymInt heads = 0;
  c10::SymInt sequence = 0;
  c10::SymInt size = 0;
};

Sizes sizesOf(const at::Tensor& tensor, std::string_view layout, int64_t heads) {
  const bool merged = layout == "BSH" || layout == "SBH";
  const bool packed = layout == "TND" || layout == "NTD";
  const int64_t dims = merged || packed ? 3 : 4;
  TORCH_CHECK(tensor.dim() == dims, "expected a query of ", dims, " dimensions for the layout ",
              layout, ", but got ", tensor.sizes());
  if (merged) {
    TORCH_CHECK(heads > 0 && tensor.sym_size(2) % heads == 0, "expected the last dimension of ",
                tensor.sizes(), " to be divisible by the number of heads, ", heads);
    const c10::SymInt size = tensor.sym_size(2) / heads;
    return layout == "BSH" ? Sizes{tensor.sym_size(0), heads, tensor.sym_size(1), size}
                           : Sizes{tensor.sym_size(1), heads, tensor.sym_size(0), size};
  }
  Sizes sizes;
  if (layout == "TND") {
    sizes = {1, tensor.sym_size(1), tensor.sym_size(0), tensor.sym_size(2)};
  } else if (layout == "NTD") {
    sizes = {1, tensor.sym_size(0), tensor.sym_size(1), tensor.sym_size(2)};
  } else if (layout == "BNSD") {
    sizes = {tensor.sym_size(0), tensor.sym_size(1), tensor.sym_size(2), tensor.sym_size(3)};
  } else if (layout == "BSND") {
    sizes = {tensor.sym_size(0), tensor.sym_size(2), tensor.sym_size(1), tensor.sym_size(3)};
  } else {
    TORCH_CHECK_VALUE(false, "unknown attention layout '", layout, "'");
  }
  TORCH_CHECK(sizes.heads == heads, "expected ", heads, " query heads in the layout ", layout,
              ", but got ", tensor.sizes());
  return sizes;
}

at::Tensor inLayout(const Sizes& sizes, std::string_view layout, const at::Tensor& like,
                    at::ScalarType dtype) {
  const auto& [batch, heads, sequence, size] = sizes;
  if (layout == "BSH") return shapes::sizedBy({batch, sequence, heads * size}, like, dtype);
  if (layout == "SBH") return shapes::sizedBy({sequence, batch, heads * size}, like, dtype);
  if (layout == "BSND") return shapes::sizedBy({batch, sequence, heads, size}, like, dtype);
  if (layout == "BNSD") return shapes::sizedBy({batch, heads, sequence, size}, like, dtype);
  if (layout == "NBSD") return shapes::sizedBy({heads, batch, sequence, size}, like, dtype);
  if (layout == "TND") return shapes::sizedBy({sequence, heads, size}, like, dtype);
  TORCH_CHECK_VALUE(layout == "NTD", "unknown attention layout '", layout, "'");
  return shapes::sizedBy({heads, sequence, size}, like, dtype);
}

std::string_view before(std::string_view layout) { return layout.substr(0, layout.find('_')); }
std::string_view after(std::string_view layout) {
  const size_t end = layout.find('_');
  return end == std::string_view::npos ? layout : layout.substr(end + 1);
}

bool isPacked(std::string_view layout) { return layout == "TND" || layout == "NTD"; }

// Elements of a head, of which int32 holds eight.
c10::SymInt valueSize(const at::Tensor& value, bool paged, std::string_view layout,
                      const c10::SymInt& key_heads) {
  const int64_t packed = value.scalar_type() == at::kInt ? 8 : 1;
  if (paged ? value.dim() == 3 : layout == "BSH" || layout == "SBH") {
    TORCH_CHECK(key_heads > 0 && value.dim() == 3 && value.sym_size(2) * packed % key_heads == 0,
                "expected the last dimension of value, of ", value.sizes(),
                ", to be divisible by the number of key heads, ", key_heads);
    return value.sym_size(2) * packed / key_heads;
  }
  TORCH_CHECK(value.dim() >= 3, "expected a value of 3 or more dimensions, but got ",
              value.sizes());
  return packed *
         (paged && value.dim() == 5 ? value.sym_size(2) * value.sym_size(4) : value.sym_size(-1));
}

void checkOut(const char* name, const at::Tensor& out, const at::Tensor& expected) {
  TORCH_CHECK(
      out.sym_sizes() == expected.sym_sizes() && out.scalar_type() == expected.scalar_type(),
      "expected ", name, " of ", expected.sizes(), " and ", expected.scalar_type(), ", but got ",
      out.sizes(), " and ", out.scalar_type());
}

// Sizes and dtype without memory.
at::Tensor outline(const at::Tensor& tensor) {
  return at::empty_symint(tensor.sym_sizes(), tensor.options().device(at::kMeta));
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
             ? sizedBy({sizes.sequence, sizes.heads, 1}, query, at::kFloat)
             : sizedBy({sizes.batch, sizes.heads, sizes.sequence, 1}, query, at::kFloat);
}

at::Tensor trainedAttention(const at::Tensor& query, const at::Tensor& value, int64_t heads,
                            std::string_view layout, const at::Tensor& key) {
  Sizes sizes = sizesOf(query, layout, heads);
  if (layout == "BSH" || layout == "SBH") {
    TORCH_CHECK(sizes.size > 0 && key.dim() == 3 && key.sym_size(2) % sizes.size == 0,
                "expected the last dimension of key, of ", key.sizes(),
                ", to be a multiple of the head size, ", sizes.size);
    sizes.size = valueSize(value, false, layout, key.sym_size(2) / sizes.size);
  } else {
    sizes.size = valueSize(value, false, layout, 0);
  }
  return inLayout(sizes, layout, query, query.scalar_type());
}

at::Tensor attentionStatistics(const at::Tensor& query, int64_t heads, std::string_view layout) {
  constexpr int64_t kCopies = 8;
  const Sizes sizes = sizesOf(query, layout, heads);
  const at::ScalarType type = computeType(query);
  return isPacked(layout)
             ? sizedBy({sizes.sequence, sizes.heads, kCopies}, query, type)
             : sizedBy({sizes.batch, sizes.heads, sizes.sequence, kCopies}, query, type);
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
