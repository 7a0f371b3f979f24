#include "aclnn/kernels/product.h"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/addmv.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <array>
#include <vector>

#include "aclnn/core/half_precision.h"
#include "aclnn/kernels/thin_product.h"

namespace softcann::aclnn {

namespace {

// What is added to a product: beta * self, and the factor of the product itself.
struct Addend {
  at::Tensor self;  // broadcast to the product's shape; undefined for none
  at::Scalar beta = 0;
  at::Scalar alpha = 1;

  Addend narrow(int64_t dim, int64_t first, int64_t count) const {
    return {self.defined() ? self.narrow(dim, first, count) : self, beta, alpha};
  }
  Addend select(int64_t index) const {
    return {self.defined() ? self.select(0, index) : self, beta, alpha};
  }
};

Addend addend(const at::Tensor& self, at::IntArrayRef sizes, const at::Scalar& beta,
              const at::Scalar& alpha) {
  if (beta.toComplexDouble() == 0.0) return {at::Tensor(), beta, alpha};
  // What is broadcast is converted once, and the rest with its tiles.
  const bool broadcast = self.numel() < c10::multiply_integers(sizes);
  return {(broadcast ? self.to(at::kFloat) : self).expand(sizes), beta, alpha};
}

bool goesByTiles(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  return a.is_cpu() && a.scalar_type() == b.scalar_type() && convertsHalf(a.scalar_type()) &&
         (out.scalar_type() == a.scalar_type() || out.scalar_type() == at::kFloat);
}

// As ATen's kernels want it, whose factors have the product's dtype.
at::Tensor likeProduct(const at::Tensor& x, const at::Tensor& out) {
  const bool widens = at::isReducedFloatingType(x.scalar_type()) && out.scalar_type() == at::kFloat;
  return widens ? x.to(at::kFloat) : x;
}

// Four square tiles of float32: two factors, their product and what is added.
constexpr int64_t kTile = 4096;
static_assert(4 * kTile * kTile * int64_t{sizeof(float)} <= kMaxConvertedBytes);

// A float32 copy in memory that the thread keeps for its next products; there are `kFactors`.
constexpr size_t kFactors = 2;
at::Tensor toFloat(const at::Tensor& x, size_t factor) {
  constexpr int64_t kKept = kKeptConvertedBytes / int64_t{sizeof(float)} / int64_t{kFactors};
  thread_local std::array<at::Tensor, kFactors> kept;
  if (x.numel() > kKept || !x.is_non_overlapping_and_dense()) return x.to(at::kFloat);
  at::Tensor& memory = kept[factor];
  if (!memory.defined() || memory.numel() < x.numel()) {
    memory = at::empty({x.numel()}, x.options().dtype(at::kFloat));
  }
  return memory.as_strided(x.sizes(), x.strides(), 0).copy_(x);
}

// Rounds `product`, which it may change, into `out`.
void finish(const at::Tensor& out, at::Tensor& product, const Addend& added) {
  if (!added.alpha.equal(1)) product.mul_(added.alpha);
  if (added.self.defined()) product.add_(added.self.to(at::kFloat), added.beta);
  out.copy_(product);
}

// Where one factor is thin, the other is read once instead. Only the thin one is converted.
bool multiplyThin(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                  const Addend& added) {
  const int64_t thin = std::min(a.size(0), b.size(1));
  const int64_t converted = thin * a.size(1) + 2 * out.numel();
  if (thin > kMostThinRows || converted * int64_t{sizeof(float)} > kMaxConvertedBytes) return false;
  at::Tensor product;
  if (a.size(0) <= b.size(1)) {
    product = thinProduct(a.to(at::kFloat), b);
  } else if (product = thinProduct(b.t().to(at::kFloat), a.t()); product.defined()) {
    product = product.t();
  }
  if (!product.defined()) return false;
  finish(out, product, added);
  return true;
}

void multiplyTiles(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                   const Addend& added) {
  if (multiplyThin(out, a, b, added)) return;
  const int64_t inner = a.size(1);
  for (int64_t row = 0; row < out.size(0); row += kTile) {
    const int64_t rows = std::min(kTile, out.size(0) - row);
    for (int64_t column = 0; column < out.size(1); column += kTile) {
      const int64_t columns = std::min(kTile, out.size(1) - column);
      at::Tensor product;
      for (int64_t k = 0; k < inner; k += kTile) {
        const int64_t depth = std::min(kTile, inner - k);
        const at::Tensor left = toFloat(a.narrow(0, row, rows).narrow(1, k, depth), 0);
        const at::Tensor right = toFloat(b.narrow(0, k, depth).narrow(1, column, columns), 1);
        product = product.defined() ? product.addmm_(left, right) : at::mm(left, right);
      }
      if (!product.defined()) {
        product = at::zeros({rows, columns}, out.options().dtype(at::kFloat));
      }
      finish(out.narrow(0, row, rows).narrow(1, column, columns), product,
             added.narrow(0, row, rows).narrow(1, column, columns));
    }
  }
}

// As many matrices at once as their float32 copies may take.
void multiplyBatches(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                     const Addend& added) {
  const int64_t rows = a.size(1);
  const int64_t inner = a.size(2);
  const int64_t columns = b.size(2);
  const int64_t bytes =
      (rows * inner + inner * columns + 2 * rows * columns) * int64_t{sizeof(float)};
  const int64_t at_once = bytes > 0 ? kMaxConvertedBytes / bytes : a.size(0);
  if (at_once == 0) {
    for (int64_t i = 0; i < a.size(0); ++i) {
      multiplyTiles(out.select(0, i), a.select(0, i), b.select(0, i), added.select(i));
    }
    return;
  }
  for (int64_t first = 0; first < a.size(0); first += at_once) {
    const int64_t count = std::min(at_once, a.size(0) - first);
    at::Tensor product =
        at::bmm(toFloat(a.narrow(0, first, count), 0), toFloat(b.narrow(0, first, count), 1));
    finish(out.narrow(0, first, count), product, added.narrow(0, first, count));
  }
}

// Also what ATen checks, for phase one: some of its meta kernels are Python code, which it does not
// run.
void checkMatrices(const at::Tensor& a, const at::Tensor& b, int64_t dims) {
  TORCH_CHECK(a.dim() == dims && b.dim() == dims, "expected mat1 and mat2 of ", dims,
              " dimensions, but got ", a.sizes(), " and ", b.sizes());
  TORCH_CHECK(a.size(-1) == b.size(-2) && (dims == 2 || a.size(0) == b.size(0)),
              "mat1 and mat2 shapes cannot be multiplied (", a.size(-2), "x", a.size(-1), " and ",
              b.size(-2), "x", b.size(-1), ")");
}

void checkMatrixAndVector(const at::Tensor& a, const at::Tensor& x) {
  TORCH_CHECK(a.dim() == 2 && x.dim() == 1 && a.size(1) == x.size(0),
              "expected a matrix and a vector that can be multiplied, but got ", a.sizes(), " and ",
              x.sizes());
}

void checkFactors(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() > 0 && b.dim() > 0, "both arguments to matmul need to be at least 1D, but ",
              "they are ", a.dim(), "D and ", b.dim(), "D");
  const int64_t rows = b.size(b.dim() == 1 ? 0 : -2);
  TORCH_CHECK(a.size(-1) == rows, "mat1 and mat2 shapes cannot be multiplied (",
              a.dim() == 1 ? 1 : a.size(-2), "x", a.size(-1), " and ", rows, "x",
              b.dim() == 1 ? 1 : b.size(-1), ")");
}

}  // namespace

at::Tensor asFactor(const at::Tensor& x, at::ScalarType dtype) {
  return at::isReducedFloatingType(x.scalar_type()) && dtype == at::kFloat ? x : x.to(dtype);
}

void mmInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  checkMatrices(a, b, 2);
  if (!goesByTiles(out, a, b)) {
    at::mm_out(out, likeProduct(a, out), likeProduct(b, out));
    return;
  }
  multiplyTiles(out, a, b, {});
}

void bmmInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  checkMatrices(a, b, 3);
  if (!goesByTiles(out, a, b)) {
    at::bmm_out(out, likeProduct(a, out), likeProduct(b, out));
    return;
  }
  multiplyBatches(out, a, b, {});
}

void mvInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& x) {
  checkMatrixAndVector(a, x);
  if (!goesByTiles(out, a, x)) {
    at::mv_out(out, likeProduct(a, out), likeProduct(x, out));
    return;
  }
  at::Tensor column = out.unsqueeze(1);
  mmInto(column, a, x.unsqueeze(1));
}

void matmulInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  checkFactors(a, b);
  if (!goesByTiles(out, a, b)) {
    at::matmul_out(out, likeProduct(a, out), likeProduct(b, out));
    return;
  }
  const at::Tensor left = a.dim() == 1 ? a.unsqueeze(0) : a;
  const at::Tensor right = b.dim() == 1 ? b.unsqueeze(1) : b;
  at::Tensor result = out;
  if (b.dim() == 1) result = result.unsqueeze(-1);
  if (a.dim() == 1) result = result.unsqueeze(-2);
  if (left.dim() == 2 && right.dim() == 2) {
    mmInto(result, left, right);
    return;
  }
  const auto batchOf = [](const at::Tensor& x) { return x.sizes().slice(0, x.dim() - 2); };
  const auto batch = at::infer_size(batchOf(left), batchOf(right));
  const auto batched = [&batch](const at::Tensor& x) {
    std::vector<int64_t> sizes(batch.begin(), batch.end());
    sizes.push_back(x.size(-2));
    sizes.push_back(x.size(-1));
    return x.expand(sizes).flatten(0, -3);
  };
  const at::Tensor lefts = batched(left);
  const at::Tensor rights = batched(right);
  at::Tensor product = at::empty({lefts.size(0), lefts.size(1), rights.size(2)}, out.options());
  bmmInto(product, lefts, rights);
  result.copy_(product.view(result.sizes()));
}

void addmmInto(at::Tensor& out, const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
               const at::Scalar& beta, const at::Scalar& alpha) {
  checkMatrices(a, b, 2);
  if (!goesByTiles(out, a, b)) {
    at::addmm_out(out, likeProduct(self, out), likeProduct(a, out), likeProduct(b, out), beta,
                  alpha);
    return;
  }
  multiplyTiles(out, a, b, addend(self, out.sizes(), beta, alpha));
}

void baddbmmInto(at::Tensor& out, const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                 const at::Scalar& beta, const at::Scalar& alpha) {
  checkMatrices(a, b, 3);
  if (!goesByTiles(out, a, b)) {
    at::baddbmm_out(out, likeProduct(self, out), likeProduct(a, out), likeProduct(b, out), beta,
                    alpha);
    return;
  }
  multiplyBatches(out, a, b, addend(self, out.sizes(), beta, alpha));
}

void addmvInto(at::Tensor& out, const at::Tensor& self, const at::Tensor& a, const at::Tensor& x,
               const at::Scalar& beta, const at::Scalar& alpha) {
  checkMatrixAndVector(a, x);
  if (!goesByTiles(out, a, x)) {
    at::addmv_out(out, likeProduct(self, out), likeProduct(a, out), likeProduct(x, out), beta,
                  alpha);
    return;
  }
  at::Tensor column = out.unsqueeze(1);
  addmmInto(column, self.expand(out.sizes()).unsqueeze(1), a, x.unsqueeze(1), beta, alpha);
}

}  // namespace softcann::aclnn
