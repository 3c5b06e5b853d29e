// Chooses oneDNN, OpenBLAS or our own loops for each product, and tells whether rows may be
// computed separately.
#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "base/sum_order.h"
#include "kernels/elements/scalar_elements.h"
#include "kernels/gemm/gemm_blas.h"
#include "kernels/gemm/gemm_dnnl.h"
#include "kernels/gemm/gemm_types.h"
#include "kernels/gemm/packed_gemm.h"
#include "kernels/gemm/vector_matrix.h"
#include "tessera/dtype.h"

namespace tessera::kernels {
namespace {

// Below this much work oneDNN's call (0.3 us) and set-up cost more than its faster kernels save.
constexpr double kDnnlWork = 64.0 * 64 * 64;

bool PrefersDnnl(const GemmDesc& d) {
  if (d.type == GemmType::kBF16 || d.type == GemmType::kBF16ToF32) return true;
  if (d.type != GemmType::kF32) return false;
  if (!HasBlas()) return true;
  const double work =
      static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k);
  return d.m > 1 && d.n > 1 && work > kDnnlWork;
}

// Goes through the rows of c and the steps of k, so that the inner loop runs along rows of b and c.
template <class T>
void SimpleGemm(const GemmDesc& d, int64_t m, int64_t n, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < m; ++i) {
    T* row = c + i * d.c_row;
    std::fill(row, row + n, T{0});
    for (int64_t k = 0; k < d.k; ++k) {
      const T x = a[i * d.a_row + k * d.a_col];
      const T* y = b + k * d.b_row;
      if (d.b_col == 1)
        for (int64_t j = 0; j < n; ++j) row[j] += WrapMul(x, y[j]);
      else
        for (int64_t j = 0; j < n; ++j) row[j] += WrapMul(x, y[j * d.b_col]);
    }
  }
}

// Whether the product is a vector times a matrix with few columns; either operand may be the
// vector. Depends only on the whole product's shape, because every cut of it must have the
// same bits.
bool IsFew(int64_t columns) { return columns >= kLeastColumns && columns <= kMostColumns; }
bool HasVectorLeft(const GemmDesc& d) { return d.m == 1 && d.b_col == 1 && IsFew(d.n); }
bool HasVectorRight(const GemmDesc& d) {
  return d.n == 1 && d.a_row == 1 && d.a_col > 1 && d.c_row == 1 && IsFew(d.m);
}

// Up to this much work a call of OpenBLAS takes longer than plain loops.
constexpr int64_t kTinyWork = 128;

// Whether the whole product is tiny: every cut of it must have the same bits.
bool IsTiny(const GemmDesc& d) { return d.m * d.n <= kTinyWork && d.m * d.n * d.k <= kTinyWork; }

template <class T>
void TinyGemm(const GemmDesc& d, int64_t m, int64_t n, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < d.k; ++k)
        sum += a[i * d.a_row + k * d.a_col] * b[k * d.b_row + j * d.b_col];
      c[i * d.c_row + j] = sum;
    }
}

// Multiplies floats without oneDNN.
template <class T>
void FloatGemm(const GemmDesc& d, int64_t m, int64_t n, const T* a, const T* b, T* c) {
  if (IsTiny(d)) return TinyGemm(d, m, n, a, b, c);
  if (HasVectorLeft(d)) return Multiply(VectorTimesMatrix<T>{a, d.a_col, b, d.b_row, d.k, n, c});
  if (HasVectorRight(d)) return Multiply(VectorTimesMatrix<T>{b, d.b_row, a, d.a_col, d.k, m, c});
  if (HasBlas()) return BlasGemm(d, m, n, a, b, c);
  SimpleGemm(d, m, n, a, b, c);
}

template <class T>
void ComplexGemm(const GemmDesc& d, int64_t m, int64_t n, const T* a, const T* b, T* c) {
  if (HasComplexBlas()) return BlasGemm(d, m, n, a, b, c);
  SimpleGemm(d, m, n, a, b, c);
}

template <class T>
void WrappingGemm(const GemmDesc& d, int64_t m, int64_t n, const T* a, const T* b, T* c) {
  if (n >= kLeastIntegerColumns && m * n * d.k >= kLeastIntegerWork)
    return PackedGemm(d, m, n, a, b, c);
  SimpleGemm(d, m, n, a, b, c);
}

void FillZero(const GemmDesc& d, int64_t m, int64_t n, std::byte* c) {
  const int64_t size = ResultSize(d.type);
  for (int64_t i = 0; i < m; ++i)
    std::memset(c + i * d.c_row * size, 0, static_cast<size_t>(n * size));
}

}  // namespace

class Gemm::Dnnl : public DnnlGemm {
 public:
  using DnnlGemm::DnnlGemm;
};

Gemm::Gemm(const GemmDesc& desc) : desc_(desc), in_order_(base::KeepsSumOrder()) {
  if (!in_order_ && desc.m > 0 && desc.n > 0 && desc.k > 0 && PrefersDnnl(desc))
    dnnl_ = std::make_unique<Dnnl>(desc);
}

Gemm::~Gemm() = default;

// OpenBLAS's f32 and complex kernels, and oneDNN's kernels without AVX-512, sum the last rows of a
// call in another order than the rows before.
bool Gemm::rows_compose() const {
  if (in_order_) return true;
  if (dnnl_ != nullptr) return DnnlRowsCompose();
  if (desc_.type == GemmType::kC64 || desc_.type == GemmType::kC128) return !HasComplexBlas();
  return desc_.type != GemmType::kF32 || desc_.n == 1 || !HasBlas();
}

void Gemm::Run(int64_t m, int64_t n, const void* a, const void* b, void* c) const {
  if (m == 0 || n == 0) return;
  if (desc_.k == 0) return FillZero(desc_, m, n, static_cast<std::byte*>(c));
  if (dnnl_ != nullptr) return dnnl_->Run(m, n, a, b, c);
  const auto integers = [&]<class T>(T) {
    WrappingGemm(desc_, m, n, static_cast<const T*>(a), static_cast<const T*>(b),
                 static_cast<T*>(c));
  };
  const auto floats = [&]<class T>(T) {
    if (in_order_)
      return PackedGemm(desc_, m, n, static_cast<const T*>(a), static_cast<const T*>(b),
                        static_cast<T*>(c));
    FloatGemm(desc_, m, n, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c));
  };
  const auto complex = [&]<class T>(T) {
    if (in_order_)
      return SimpleGemm(desc_, m, n, static_cast<const T*>(a), static_cast<const T*>(b),
                        static_cast<T*>(c));
    ComplexGemm(desc_, m, n, static_cast<const T*>(a), static_cast<const T*>(b),
                static_cast<T*>(c));
  };
  switch (desc_.type) {
    case GemmType::kC64:
      complex(std::complex<float>{});
      break;
    case GemmType::kC128:
      complex(std::complex<double>{});
      break;
    case GemmType::kF32:
      floats(float{});
      break;
    case GemmType::kF64:
      floats(double{});
      break;
    case GemmType::kI64:
      integers(uint64_t{});
      break;
    default:
      integers(uint32_t{});
      break;
  }
}

}  // namespace tessera::kernels
