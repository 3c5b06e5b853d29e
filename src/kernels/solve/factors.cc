// Cholesky and LU factorisation, and triangular systems.
#include "base/sum_order.h"
#include "kernels/solve/lapack.h"
#include "kernels/solve/matrices.h"

namespace tessera::kernels {
namespace {

template <class T>
struct CholeskyWork {
  static int64_t Plan(MatrixBatch&) {
    LapackOf<T>();
    return 0;
  }
  // The lower triangle of a row-major matrix is the upper one of LAPACK's: l l^T = u^T u.
  static void Run(const MatrixBatch& c, const plan::KernelArgs& call, int64_t i, Scratch) {
    const int64_t n = c.n;
    const T* a = In<T>(call, 0) + i * n * n;
    T* l = Out<T>(call, 0) + i * n * n;
    for (int64_t r = 0; r < n; ++r) {
      if (l != a) std::copy_n(a + r * n, r + 1, l + r * n);
      std::fill_n(l + r * n + r + 1, n - r - 1, T{0});
    }
    const int size = static_cast<int>(n), lead = Lead(n);
    int info = 0;
    LapackOf<T>().potrf("U", &size, l, &lead, &info, 1);
    for (int64_t r = 0; r < n && info != 0; ++r) FillNan(l + r * n, r + 1);
  }
};

struct TriangularConfig : MatrixBatch {
  TriangularDesc desc;
  // Whether each right-hand side is solved by itself: in one call their number changes the order in
  // which LAPACK sums.
  bool one_by_one = false;
};

template <class T>
struct TriangularWork {
  static int64_t Plan(TriangularConfig&) {
    LapackOf<T>();
    return 0;
  }
  // LAPACK sees the transposes of all matrices: x op(a) = b is op(a)^T x^T = b^T. It has no
  // conj(a): conj(a) x = b is a conj(x) = conj(b).
  static void Run(const TriangularConfig& c, const plan::KernelArgs& call, int64_t i, Scratch) {
    const int64_t size = c.desc.left ? c.m : c.n;
    const T *a = In<T>(call, 0) + i * size * size, *b = In<T>(call, 1) + i * c.m * c.n;
    T* x = Out<T>(call, 0) + i * c.m * c.n;
    const bool conjugate = c.desc.conjugate && !c.desc.transpose;
    if (x != b) std::copy_n(b, c.m * c.n, x);
    if (conjugate) std::transform(x, x + c.m * c.n, x, Conjugate<T>);
    const int64_t sides = c.desc.left ? c.n : c.m;  // columns or rows of x
    if (c.one_by_one)
      for (int64_t s = 0; s < sides; ++s) Solve(c, a, x + s * (c.desc.left ? 1 : c.n), 1);
    else
      Solve(c, a, x, sides);
    if (conjugate) std::transform(x, x + c.m * c.n, x, Conjugate<T>);
  }

 private:
  static void Solve(const TriangularConfig& c, const T* a, T* x, int64_t sides) {
    const int m = static_cast<int>(c.desc.left ? sides : c.n),
              n = static_cast<int>(c.desc.left ? c.m : sides), lda = Lead(c.desc.left ? c.m : c.n),
              ldb = Lead(c.n);
    const T one = 1;
    LapackOf<T>().trsm(c.desc.left ? "R" : "L", c.desc.lower ? "U" : "L",
                       !c.desc.transpose  ? "N"
                       : c.desc.conjugate ? "C"
                                          : "T",
                       c.desc.unit ? "U" : "N", &m, &n, &one, a, &lda, x, &ldb, 1, 1, 1, 1);
  }
};

template <class T>
struct LuWork {
  static int64_t Plan(MatrixBatch& c) {
    LapackOf<T>();
    Scratch counted(nullptr);
    counted.Take<T>(c.m * c.n);
    return counted.used();
  }
  static void Run(const MatrixBatch& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const T* a = In<T>(call, 0) + i * c.m * c.n;
    T *lu = Out<T>(call, 0) + i * c.m * c.n, *columns = scratch.Take<T>(c.m * c.n);
    int* pivots = Out<int>(call, 1) + i * c.rank();
    int* permutation = Out<int>(call, 2) + i * c.m;
    std::iota(permutation, permutation + c.m, 0);
    if (!AllFinite(a, c.m * c.n)) {
      std::iota(pivots, pivots + c.rank(), 0);
      return FillNan(lu, c.m * c.n);
    }
    CopyTransposed(a, c.m, c.n, columns);
    const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), lead = Lead(c.m);
    int info = 0;
    if (c.rank() > 0) LapackOf<T>().getrf(&m, &n, columns, &lead, pivots, &info);
    CopyTransposed(columns, c.n, c.m, lu);
    for (int64_t k = 0; k < c.rank(); ++k) {
      --pivots[k];  // LAPACK counts from 1
      std::swap(permutation[k], permutation[pivots[k]]);
    }
  }
};

}  // namespace

plan::Kernel Cholesky(DType dtype, const Shape& a) {
  plan::Kernel kernel = KernelOf<MatrixBatch, CholeskyWork>(
      MatricesOf(dtype, a), CholeskyFlops(static_cast<double>(a.back())));
  kernel.in_place = 1;
  return kernel;
}

plan::Kernel TriangularSolve(DType dtype, const Shape& b, TriangularDesc desc) {
  TriangularConfig config{MatricesOf(dtype, b), desc, base::KeepsSumOrder()};
  const int64_t size = desc.left ? config.m : config.n;
  const double flops = static_cast<double>(size) * static_cast<double>(config.m * config.n);
  plan::Kernel kernel = KernelOf<TriangularConfig, TriangularWork>(config, flops);
  kernel.in_place = 1 << 1;
  return kernel;
}

plan::Kernel Lu(DType dtype, const Shape& a) {
  const MatrixBatch config = MatricesOf(dtype, a);
  return KernelOf<MatrixBatch, LuWork>(config, LuFlops(config.rows(), config.columns()));
}

}  // namespace tessera::kernels
