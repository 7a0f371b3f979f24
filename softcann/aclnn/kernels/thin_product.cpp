#include "aclnn/kernels/thin_product.h"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#define SOFTCANN_THIN_PRODUCT 1
#define SOFTCANN_AVX2 __attribute__((target("avx2,fma,f16c")))
#endif

namespace softcann::aclnn {

#if defined(SOFTCANN_THIN_PRODUCT)

namespace {

constexpr int64_t kLeastElements = 1 << 12;  // of the wide matrix
constexpr int64_t kLanes = 8;
constexpr int64_t kElementsPerTask = 1 << 15;

// A matrix, its elements side by side in the second dimension.
template <class T>
struct Matrix {
  T* data;
  int64_t stride;
  T* row(int64_t index) const { return data + index * stride; }
};

SOFTCANN_AVX2 inline __m256 load(const at::BFloat16* from) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
SOFTCANN_AVX2 inline __m256 load(const at::Half* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

SOFTCANN_AVX2 inline float sumOf(__m256 lanes) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// The dot products of `kRows` rows of `thin` with `kColumns` of `wide`, which has the columns of
// the matrix side by side. As many sums at once as hide the latency of an addition.
template <int kRows, int kColumns, class T>
SOFTCANN_AVX2 void dots(Matrix<const float> thin, Matrix<const T> wide, int64_t inner,
                        Matrix<float> out) {
  __m256 sums[kRows][kColumns];
  for (auto& row : sums) {
    for (auto& sum : row) sum = _mm256_setzero_ps();
  }
  int64_t k = 0;
  for (; k + kLanes <= inner; k += kLanes) {
    __m256 column[kColumns];
    for (int j = 0; j < kColumns; ++j) column[j] = load(wide.row(j) + k);
    for (int i = 0; i < kRows; ++i) {
      const __m256 row = _mm256_loadu_ps(thin.row(i) + k);
      for (int j = 0; j < kColumns; ++j) sums[i][j] = _mm256_fmadd_ps(row, column[j], sums[i][j]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      float sum = sumOf(sums[i][j]);
      for (int64_t rest = k; rest < inner; ++rest) {
        sum += thin.row(i)[rest] * static_cast<float>(wide.row(j)[rest]);
      }
      out.row(i)[j] = sum;
    }
  }
}

// out += the first four rows of `wide`, each times its element of `thin`'s rows.
template <int kRows, class T>
SOFTCANN_AVX2 void addFourRows(Matrix<const float> thin, Matrix<const T> wide, int64_t columns,
                               Matrix<float> out) {
  constexpr int kDepth = 4;
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    __m256 values[kDepth];
    for (int k = 0; k < kDepth; ++k) values[k] = load(wide.row(k) + j);
    for (int i = 0; i < kRows; ++i) {
      __m256 sum = _mm256_loadu_ps(out.row(i) + j);
      for (int k = 0; k < kDepth; ++k) {
        sum = _mm256_fmadd_ps(_mm256_set1_ps(thin.row(i)[k]), values[k], sum);
      }
      _mm256_storeu_ps(out.row(i) + j, sum);
    }
  }
  for (; j < columns; ++j) {
    for (int i = 0; i < kRows; ++i) {
      for (int k = 0; k < kDepth; ++k) {
        out.row(i)[j] += thin.row(i)[k] * static_cast<float>(wide.row(k)[j]);
      }
    }
  }
}

// The columns [first, last) of the product, where the matrix has its columns side by side.
template <int kRows, class T>
void byColumns(Matrix<const float> thin, Matrix<const T> wide, int64_t inner, Matrix<float> out,
               int64_t first, int64_t last) {
  constexpr int kColumns = std::max(1, static_cast<int>(kMostThinRows) / kRows);
  int64_t j = first;
  for (; j + kColumns <= last; j += kColumns) {
    dots<kRows, kColumns>(thin, Matrix<const T>{wide.row(j), wide.stride}, inner,
                          {out.data + j, out.stride});
  }
  for (; j < last; ++j) {
    dots<kRows, 1>(thin, Matrix<const T>{wide.row(j), wide.stride}, inner,
                   {out.data + j, out.stride});
  }
}

// The same where it has its rows side by side; `out` is zero before.
template <int kRows, class T>
void byRows(Matrix<const float> thin, Matrix<const T> wide, int64_t inner, Matrix<float> out,
            int64_t first, int64_t last) {
  int64_t k = 0;
  for (; k + 4 <= inner; k += 4) {
    addFourRows<kRows>({thin.data + k, thin.stride},
                       Matrix<const T>{wide.row(k) + first, wide.stride}, last - first,
                       {out.data + first, out.stride});
  }
  for (; k < inner; ++k) {
    const T* const row = wide.row(k);
    for (int i = 0; i < kRows; ++i) {
      for (int64_t j = first; j < last; ++j) {
        out.row(i)[j] += thin.row(i)[k] * static_cast<float>(row[j]);
      }
    }
  }
}

template <class T>
using Part = void (*)(Matrix<const float>, Matrix<const T>, int64_t, Matrix<float>, int64_t,
                      int64_t);

// For 1 to kMostThinRows rows.
template <class T, size_t... I>
constexpr std::array<std::pair<Part<T>, Part<T>>, kMostThinRows> partsFor(
    std::index_sequence<I...>) {
  return {{{&byColumns<static_cast<int>(I) + 1, T>, &byRows<static_cast<int>(I) + 1, T>}...}};
}

template <class T>
void multiply(const at::Tensor& thin, const at::Tensor& wide, const at::Tensor& out) {
  static constexpr auto kParts = partsFor<T>(std::make_index_sequence<kMostThinRows>());
  const bool columns_together = wide.stride(0) == 1;
  const auto [by_columns, by_rows] = kParts[static_cast<size_t>(thin.size(0)) - 1];
  const Part<T> part = columns_together ? by_columns : by_rows;
  const Matrix<const float> rows{thin.const_data_ptr<float>(), thin.stride(0)};
  const Matrix<const T> matrix{wide.const_data_ptr<T>(), wide.stride(columns_together ? 1 : 0)};
  const Matrix<float> result{out.data_ptr<float>(), out.stride(0)};
  const int64_t inner = wide.size(0);
  const int64_t grain =
      std::max<int64_t>(4 * kLanes, kElementsPerTask / std::max<int64_t>(inner, 1));
  at::parallel_for(0, wide.size(1), grain, [&](int64_t first, int64_t last) {
    part(rows, matrix, inner, result, first, last);
  });
}

bool hasInstructions() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c");
  return has;
}

}  // namespace

at::Tensor thinProduct(const at::Tensor& thin, const at::Tensor& wide) {
  const bool dense = (wide.stride(0) == 1 && wide.stride(1) >= wide.size(0)) ||
                     (wide.stride(1) == 1 && wide.stride(0) >= wide.size(1));
  if (thin.size(0) > kMostThinRows || thin.size(0) == 0 || !dense ||
      wide.numel() < kLeastElements || !hasInstructions()) {
    return {};
  }
  const at::Tensor rows = thin.contiguous();
  at::Tensor out = at::zeros({thin.size(0), wide.size(1)}, rows.options());
  if (wide.scalar_type() == at::kHalf) {
    multiply<at::Half>(rows, wide, out);
  } else {
    multiply<at::BFloat16>(rows, wide, out);
  }
  return out;
}

#else

at::Tensor thinProduct(const at::Tensor& /*thin*/, const at::Tensor& /*wide*/) { return {}; }

#endif

}  // namespace softcann::aclnn
