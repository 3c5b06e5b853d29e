// Calls the products of OpenBLAS.
#include "kernels/gemm/gemm_blas.h"

#include <algorithm>
#include <mutex>

#include "kernels/gemm/openblas.h"

namespace tessera::kernels {
namespace {

// The numbers of CBLAS's enums.
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;

// Scalars are passed by value, but complex ones by address.
template <class T>
struct ScalarOf {
  using Type = T;
  static T Pass(const T& v) { return v; }
};
template <class T>
struct ScalarOf<std::complex<T>> {
  using Type = const std::complex<T>*;
  static Type Pass(const std::complex<T>& v) { return &v; }
};
template <class T>
using ScalarArg = typename ScalarOf<T>::Type;

template <class T>
using GemmFn = void (*)(int order, int trans_a, int trans_b, int m, int n, int k,
                        ScalarArg<T> alpha, const T* a, int lda, const T* b, int ldb,
                        ScalarArg<T> beta, T* c, int ldc);
template <class T>
using GemvFn = void (*)(int order, int trans, int m, int n, ScalarArg<T> alpha, const T* a, int lda,
                        const T* x, int incx, ScalarArg<T> beta, T* y, int incy);

struct Blas {
  GemmFn<float> sgemm = nullptr;
  GemmFn<double> dgemm = nullptr;
  GemvFn<float> sgemv = nullptr;
  GemvFn<double> dgemv = nullptr;
  GemmFn<std::complex<float>> cgemm = nullptr;
  GemmFn<std::complex<double>> zgemm = nullptr;
  GemvFn<std::complex<float>> cgemv = nullptr;
  GemvFn<std::complex<double>> zgemv = nullptr;
};

Blas Load() {
  return {.sgemm = OpenBlasFunction<GemmFn<float>>("cblas_sgemm"),
          .dgemm = OpenBlasFunction<GemmFn<double>>("cblas_dgemm"),
          .sgemv = OpenBlasFunction<GemvFn<float>>("cblas_sgemv"),
          .dgemv = OpenBlasFunction<GemvFn<double>>("cblas_dgemv"),
          .cgemm = OpenBlasFunction<GemmFn<std::complex<float>>>("cblas_cgemm"),
          .zgemm = OpenBlasFunction<GemmFn<std::complex<double>>>("cblas_zgemm"),
          .cgemv = OpenBlasFunction<GemvFn<std::complex<float>>>("cblas_cgemv"),
          .zgemv = OpenBlasFunction<GemvFn<std::complex<double>>>("cblas_zgemv")};
}

const Blas& Library() {
  static const Blas blas = Load();
  return blas;
}

// y = op(matrix) x, where the matrix [rows, cols] has the given strides, one of which is 1.
template <class T>
void Gemv(GemvFn<T> gemv, int64_t rows, int64_t cols, const T* matrix, int64_t row, int64_t col,
          const T* x, int64_t incx, T* y, int64_t incy) {
  const bool transposed = col != 1;
  const int64_t lines = transposed ? cols : rows, length = transposed ? rows : cols;
  const int64_t lead = std::max(transposed ? col : row, length);
  const T one{1}, zero{0};
  gemv(kRowMajor, transposed ? kTrans : kNoTrans, static_cast<int>(lines), static_cast<int>(length),
       ScalarOf<T>::Pass(one), matrix, static_cast<int>(lead), x, static_cast<int>(incx),
       ScalarOf<T>::Pass(zero), y, static_cast<int>(incy));
}

template <class T>
void Multiply(GemmFn<T> gemm, GemvFn<T> gemv, const GemmDesc& d, int64_t m, int64_t n, const T* a,
              const T* b, T* c) {
  // Depends on the shape of the whole product: every cut of it must have the same bits.
  if (d.n == 1) return Gemv(gemv, m, d.k, a, d.a_row, d.a_col, b, d.b_row, c, d.c_row);
  if (d.m == 1) return Gemv(gemv, n, d.k, b, d.b_col, d.b_row, a, d.a_col, c, int64_t{1});
  const bool trans_a = d.a_col != 1, trans_b = d.b_col != 1;
  const int64_t lda = std::max(trans_a ? d.a_col : d.a_row, trans_a ? m : d.k);
  const int64_t ldb = std::max(trans_b ? d.b_col : d.b_row, trans_b ? d.k : n);
  const T one{1}, zero{0};
  gemm(kRowMajor, trans_a ? kTrans : kNoTrans, trans_b ? kTrans : kNoTrans, static_cast<int>(m),
       static_cast<int>(n), static_cast<int>(d.k), ScalarOf<T>::Pass(one), a, static_cast<int>(lda),
       b, static_cast<int>(ldb), ScalarOf<T>::Pass(zero), c, static_cast<int>(d.c_row));
}

}  // namespace

void LoadBlas() { Library(); }

bool HasBlas() {
  const Blas& b = Library();
  return b.sgemm != nullptr && b.dgemm != nullptr && b.sgemv != nullptr && b.dgemv != nullptr;
}

void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const float* a, const float* b, float* c) {
  std::unique_lock lock = OpenBlasTurn();
  Multiply(Library().sgemm, Library().sgemv, d, m, n, a, b, c);
}
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const double* a, const double* b,
              double* c) {
  std::unique_lock lock = OpenBlasTurn();
  Multiply(Library().dgemm, Library().dgemv, d, m, n, a, b, c);
}

bool HasComplexBlas() {
  const Blas& b = Library();
  return b.cgemm != nullptr && b.zgemm != nullptr && b.cgemv != nullptr && b.zgemv != nullptr;
}

void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const std::complex<float>* a,
              const std::complex<float>* b, std::complex<float>* c) {
  std::unique_lock lock = OpenBlasTurn();
  Multiply(Library().cgemm, Library().cgemv, d, m, n, a, b, c);
}
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const std::complex<double>* a,
              const std::complex<double>* b, std::complex<double>* c) {
  std::unique_lock lock = OpenBlasTurn();
  Multiply(Library().zgemm, Library().zgemv, d, m, n, a, b, c);
}

}  // namespace tessera::kernels
