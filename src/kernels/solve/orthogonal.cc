// QR factorisation, and products of Householder reflectors.
#include "kernels/solve/lapack.h"
#include "kernels/solve/matrices.h"

namespace tessera::kernels {
namespace {

struct QrConfig : MatrixBatch {
  int64_t k = 0;  // columns of q
  bool pivoting = false;
};

template <class T>
void CallGeqp3(int m, int n, T* columns, int* pivots, T* taus, const WorkArrays<T>& arrays) {
  const int lead = Lead(m);
  int info = 0;
  if constexpr (kIsComplex<T>)
    LapackOf<T>().geqp3(&m, &n, columns, &lead, pivots, taus, arrays.work, &arrays.length,
                        arrays.rwork, &info);
  else
    LapackOf<T>().geqp3(&m, &n, columns, &lead, pivots, taus, arrays.work, &arrays.length, &info);
}

template <class T>
void AskForGeqrf(QrConfig& c) {
  const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), lead = Lead(c.m);
  int info = 0;
  AskForWork<T>(c, [&](const WorkArrays<T>& ask) {
    if (c.pivoting)
      CallGeqp3<T>(m, n, nullptr, nullptr, nullptr, ask);
    else
      LapackOf<T>().geqrf(&m, &n, nullptr, &lead, nullptr, ask.work, &ask.length, &info);
  });
}
// For the first n columns of a product of k reflectors.
template <class T>
void AskForOrgqr(QrConfig& c, int64_t n, int64_t k) {
  const int rows = static_cast<int>(c.m), cols = static_cast<int>(n),
            reflectors = static_cast<int>(k), lead = Lead(c.m);
  int info = 0;
  AskForWork<T>(c, [&](const WorkArrays<T>& ask) {
    LapackOf<T>().orgqr(&rows, &cols, &reflectors, nullptr, &lead, nullptr, ask.work, &ask.length,
                        &info);
  });
}

template <class T>
void Factorise(const MatrixBatch& c, T* columns, T* taus, const WorkArrays<T>& arrays) {
  if (c.rank() == 0) return;
  const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), lead = Lead(c.m);
  int info = 0;
  LapackOf<T>().geqrf(&m, &n, columns, &lead, taus, arrays.work, &arrays.length, &info);
}
// Fills the permutation of the columns.
template <class T>
void FactorisePivoted(const MatrixBatch& c, T* columns, int* permutation, T* taus,
                      const WorkArrays<T>& arrays) {
  if (c.rank() == 0) return std::iota(permutation, permutation + c.n, 0);
  std::fill_n(permutation, c.n, 0);  // LAPACK may exchange every column
  CallGeqp3(static_cast<int>(c.m), static_cast<int>(c.n), columns, permutation, taus, arrays);
  for (int64_t k = 0; k < c.n; ++k) --permutation[k];  // LAPACK counts from 1
}
// Replaces the reflectors of columns [m, n] by the first n columns of their product.
template <class T>
void Multiply(const MatrixBatch& c, int64_t cols, int64_t reflectors, T* columns, const T* taus,
              const WorkArrays<T>& arrays) {
  if (c.m == 0 || cols == 0) return;
  const int m = static_cast<int>(c.m), n = static_cast<int>(cols), k = static_cast<int>(reflectors),
            lead = Lead(c.m);
  int info = 0;
  LapackOf<T>().orgqr(&m, &n, &k, columns, &lead, taus, arrays.work, &arrays.length, &info);
}

template <class T>
struct QrWork {
  struct Memory {
    T *columns, *taus;
    WorkArrays<T> arrays;
    Memory(const QrConfig& c, Scratch& s)
        : columns(s.Take<T>(c.m * std::max(c.n, c.k))), taus(s.Take<T>(c.rank())), arrays(c, s) {}
  };
  static int64_t Plan(QrConfig& c) {
    AskForGeqrf<T>(c);
    AskForOrgqr<T>(c, c.k, c.rank());
    c.rwork = c.pivoting ? 2 * c.n : 0;
    return BytesOf<Memory>(c);
  }
  static void Run(const QrConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    T *q = Out<T>(call, 0) + i * c.m * c.k, *r = Out<T>(call, 1) + i * c.k * c.n;
    const Memory memory(c, scratch);
    CopyTransposed(In<T>(call, 0) + i * c.m * c.n, c.m, c.n, memory.columns);
    if (c.pivoting)
      FactorisePivoted(c, memory.columns, Out<int>(call, 2) + i * c.n, memory.taus, memory.arrays);
    else
      Factorise(c, memory.columns, memory.taus, memory.arrays);
    for (int64_t row = 0; row < c.k; ++row)
      for (int64_t col = 0; col < c.n; ++col)
        r[row * c.n + col] = col < row ? T{0} : memory.columns[col * c.m + row];
    Multiply(c, c.k, c.rank(), memory.columns, memory.taus, memory.arrays);
    CopyTransposed(memory.columns, c.k, c.m, q);
  }
};

template <class T>
struct PackedWork {
  struct Memory {
    T* columns;
    WorkArrays<T> arrays;
    Memory(const QrConfig& c, Scratch& s) : columns(s.Take<T>(c.m * c.n)), arrays(c, s) {}
  };
  static int64_t Plan(QrConfig& c) {
    AskForGeqrf<T>(c);
    c.rwork = c.pivoting ? 2 * c.n : 0;
    return BytesOf<Memory>(c);
  }
  static void Run(const QrConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const Memory memory(c, scratch);
    T* const taus = Out<T>(call, 1) + i * c.rank();
    CopyTransposed(In<T>(call, 0) + i * c.m * c.n, c.m, c.n, memory.columns);
    if (c.pivoting)
      FactorisePivoted(c, memory.columns, Out<int>(call, 2) + i * c.n, taus, memory.arrays);
    else
      Factorise(c, memory.columns, taus, memory.arrays);
    CopyTransposed(memory.columns, c.n, c.m, Out<T>(call, 0) + i * c.m * c.n);
  }
};

template <class T>
struct ProductWork {
  struct Memory {
    T* columns;
    WorkArrays<T> arrays;
    Memory(const QrConfig& c, Scratch& s) : columns(s.Take<T>(c.m * c.n)), arrays(c, s) {}
  };
  static int64_t Plan(QrConfig& c) {
    AskForOrgqr<T>(c, c.n, c.k);
    return BytesOf<Memory>(c);
  }
  static void Run(const QrConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const Memory memory(c, scratch);
    CopyTransposed(In<T>(call, 0) + i * c.m * c.n, c.m, c.n, memory.columns);
    Multiply(c, c.n, c.k, memory.columns, In<T>(call, 1) + i * c.k, memory.arrays);
    CopyTransposed(memory.columns, c.n, c.m, Out<T>(call, 0) + i * c.m * c.n);
  }
};

}  // namespace

plan::Kernel Qr(DType dtype, const Shape& a, QrDesc desc) {
  QrConfig config{MatricesOf(dtype, a)};
  config.k = desc.full ? config.m : config.rank();
  config.pivoting = desc.pivoting;
  return KernelOf<QrConfig, QrWork>(
      config, QrFlops(config.rows(), config.columns(), static_cast<double>(config.k)));
}
plan::Kernel PackedQr(DType dtype, const Shape& a, bool pivoting) {
  QrConfig config{MatricesOf(dtype, a)};
  config.pivoting = pivoting;
  return KernelOf<QrConfig, PackedWork>(config, PackedQrFlops(config.rows(), config.columns()));
}
plan::Kernel HouseholderProduct(DType dtype, const Shape& a, int64_t k) {
  QrConfig config{MatricesOf(dtype, a)};
  config.k = k;
  return KernelOf<QrConfig, ProductWork>(
      config, HouseholderFlops(config.rows(), config.columns(), static_cast<double>(k)));
}

}  // namespace tessera::kernels
