#include "aclnn/kernels/kv_cache.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/arange.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <vector>

namespace softcann::aclnn {

namespace {

int64_t blockSize(const at::Tensor& cache, CacheFormat format) {
  TORCH_CHECK(cache.dim() >= (format == CacheFormat::kPieces ? 4 : 3),
              "expected a cache of (blocks, block size, ...), or in NZ of (blocks, pieces, block "
              "size, piece), but got ",
              cache.sizes());
  return cache.size(format == CacheFormat::kPieces ? 2 : 1);
}

// A view with (blocks, block size) in front.
at::Tensor placesOf(const at::Tensor& cache, CacheFormat format) {
  return format == CacheFormat::kPieces ? cache.transpose(1, 2) : cache;
}

int64_t elementsOfToken(const at::Tensor& places) {
  return c10::multiply_integers(places.sizes().slice(2));
}

std::vector<int64_t> numbersOf(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.to(at::kLong).contiguous();
  const auto* first = whole.const_data_ptr<int64_t>();
  return {first, first + whole.numel()};
}

}  // namespace

CacheFormat cacheFormat(std::optional<std::string_view> mode) {
  if (!mode.has_value() || mode->empty() || *mode == "Norm") return CacheFormat::kPlain;
  TORCH_CHECK_VALUE(*mode == "PA_NZ", "expected cache_mode 'Norm' or 'PA_NZ', but got '", *mode,
                    "'");
  return CacheFormat::kPieces;
}

void scatterTokens(const at::Tensor& tokens, const at::Tensor& slots, CacheFormat format,
                   at::Tensor& cache) {
  const int64_t size = blockSize(cache, format);
  const at::Tensor places = placesOf(cache, format);
  const at::Tensor flat = slots.flatten().to(at::kLong);
  TORCH_CHECK(tokens.dim() >= 1 && tokens.size(0) == flat.numel() &&
                  tokens.numel() == flat.numel() * elementsOfToken(places),
              "expected a token of ", elementsOfToken(places), " elements for each of ",
              flat.numel(), " slots, but got ", tokens.sizes());
  const at::Tensor wanted = flat.ge(0).nonzero().flatten();
  const at::Tensor chosen = flat.index_select(0, wanted);
  std::vector<int64_t> sizes = {flat.numel()};
  sizes.insert(sizes.end(), places.sizes().begin() + 2, places.sizes().end());
  places.index_put_({chosen.floor_divide(size), chosen.remainder(size)},
                    tokens.reshape(sizes).index_select(0, wanted));
}

void gatherTokens(const at::Tensor& cache, const at::Tensor& block_table, const at::Tensor& lengths,
                  const GatherOptions& options, at::Tensor& tokens) {
  const int64_t size = blockSize(cache, options.format);
  const at::Tensor places = placesOf(cache, options.format);
  TORCH_CHECK(block_table.dim() == 2, "expected block_tables of (batch, blocks), but got ",
              block_table.sizes());
  TORCH_CHECK(tokens.dim() >= 1 && tokens.numel() == tokens.size(0) * elementsOfToken(places),
              "expected tokens of ", elementsOfToken(places), " elements, but got ",
              tokens.sizes());
  const std::vector<int64_t> given = numbersOf(lengths);
  const int64_t batch = static_cast<int64_t>(given.size()) - (options.cumulative ? 1 : 0);
  TORCH_CHECK(batch >= 0 && batch <= block_table.size(0), "expected lengths for at most ",
              block_table.size(0), " sequences, but got ", batch);
  const std::vector<int64_t> firsts =
      options.first.has_value() ? numbersOf(*options.first) : std::vector<int64_t>(given.size(), 0);
  TORCH_CHECK(static_cast<int64_t>(firsts.size()) >= batch, "expected seq_offset for ", batch,
              " sequences, but got ", firsts.size());
  at::Tensor rows = tokens.view({tokens.size(0), elementsOfToken(places)});
  int64_t done = 0;
  for (int64_t sequence = 0; sequence < batch; ++sequence) {
    const auto i = static_cast<size_t>(sequence);
    const int64_t length =
        std::min(options.cumulative ? given[i + 1] - given[i] : given[i], tokens.size(0) - done);
    TORCH_CHECK(length >= 0, "expected lengths from 0 on, but got ", length);
    TORCH_CHECK(firsts[i] >= 0 && firsts[i] % size == 0, "expected seq_offset of whole blocks of ",
                size, ", but got ", firsts[i]);
    const at::Tensor token = at::arange(length, block_table.options().dtype(at::kLong));
    const at::Tensor entry = token.floor_divide(size).add(firsts[i] / size);
    const at::Tensor beyond = entry.ge(block_table.size(1));
    const at::Tensor block = block_table.select(0, sequence)
                                 .to(at::kLong)
                                 .index_select(0, entry.masked_fill(beyond, 0))
                                 .masked_fill(beyond, -1);
    const at::Tensor missing = block.lt(0).logical_or(block.ge(places.size(0)));
    at::Tensor found =
        places.index({block.masked_fill(missing, 0), token.remainder(size)}).flatten(1);
    rows.narrow(0, done, length).copy_(found.masked_fill_(missing.unsqueeze(1), 0));
    done += length;
  }
}

}  // namespace softcann::aclnn
