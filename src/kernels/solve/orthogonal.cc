// QR factorisation, and products of Householder reflectors.
#include "kernels/solve/lapack.h"
#include "kernels/solve/matrices.h"

namespace tessera::kernels {
namespace {

struct QrConfig : MatrixBatch {
  int64_t k = 0;  // columns of q
};

double FlopsOf(int64_t m, int64_t n, int64_t k) {
  return 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

// Calls f with a work array of length -1, which asks LAPACK for the best length.
template <class T, class F>
int64_t BestWork(F f) {
  T best = 0;
  const int ask = -1;
  f(&best, &ask);
  return static_cast<int64_t>(best);
}

template <class T>
int64_t GeqrfWorkOf(int64_t m, int64_t n) {
  const int rows = static_cast<int>(m), cols = static_cast<int>(n), lead = Lead(m);
  int info = 0;
  return BestWork<T>([&](T* best, LapackInt ask) {
    LapackOf<T>().geqrf(&rows, &cols, nullptr, &lead, nullptr, best, ask, &info);
  });
}
template <class T>
int64_t OrgqrWorkOf(int64_t m, int64_t n, int64_t k) {
  const int rows = static_cast<int>(m), cols = static_cast<int>(n),
            reflectors = static_cast<int>(k), lead = Lead(m);
  int info = 0;
  return BestWork<T>([&](T* best, LapackInt ask) {
    LapackOf<T>().orgqr(&rows, &cols, &reflectors, nullptr, &lead, nullptr, best, ask, &info);
  });
}

template <class T>
void Factorise(const MatrixBatch& c, T* columns, T* taus, T* work) {
  if (c.rank() == 0) return;
  const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), lead = Lead(c.m),
            length = static_cast<int>(c.work);
  int info = 0;
  LapackOf<T>().geqrf(&m, &n, columns, &lead, taus, work, &length, &info);
}
// Replaces the reflectors of columns [m, n] by the first n columns of their product.
template <class T>
void Multiply(const MatrixBatch& c, int64_t cols, int64_t reflectors, T* columns, const T* taus,
              T* work) {
  if (c.m == 0 || cols == 0) return;
  const int m = static_cast<int>(c.m), n = static_cast<int>(cols), k = static_cast<int>(reflectors),
            lead = Lead(c.m), length = static_cast<int>(c.work);
  int info = 0;
  LapackOf<T>().orgqr(&m, &n, &k, columns, &lead, taus, work, &length, &info);
}

template <class T>
struct QrWork {
  struct Memory {
    T *columns, *taus, *work;
    Memory(const QrConfig& c, Scratch& s)
        : columns(s.Take<T>(c.m * std::max(c.n, c.k))),
          taus(s.Take<T>(c.rank())),
          work(s.Take<T>(c.work)) {}
  };
  static int64_t Plan(QrConfig& c) {
    c.work = std::max({int64_t{1}, GeqrfWorkOf<T>(c.m, c.n), OrgqrWorkOf<T>(c.m, c.k, c.rank())});
    return BytesOf<Memory>(c);
  }
  static void Run(const QrConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    T *q = Out<T>(call, 0) + i * c.m * c.k, *r = Out<T>(call, 1) + i * c.k * c.n;
    const Memory memory(c, scratch);
    CopyTransposed(In<T>(call, 0) + i * c.m * c.n, c.m, c.n, memory.columns);
    Factorise(c, memory.columns, memory.taus, memory.work);
    for (int64_t row = 0; row < c.k; ++row)
      for (int64_t col = 0; col < c.n; ++col)
        r[row * c.n + col] = col < row ? T{0} : memory.columns[col * c.m + row];
    Multiply(c, c.k, c.rank(), memory.columns, memory.taus, memory.work);
    CopyTransposed(memory.columns, c.k, c.m, q);
  }
};

template <class T>
struct ProductWork {
  struct Memory {
    T *columns, *work;
    Memory(const QrConfig& c, Scratch& s)
        : columns(s.Take<T>(c.m * c.n)), work(s.Take<T>(c.work)) {}
  };
  static int64_t Plan(QrConfig& c) {
    c.work = std::max(int64_t{1}, OrgqrWorkOf<T>(c.m, c.n, c.k));
    return BytesOf<Memory>(c);
  }
  static void Run(const QrConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const Memory memory(c, scratch);
    CopyTransposed(In<T>(call, 0) + i * c.m * c.n, c.m, c.n, memory.columns);
    Multiply(c, c.n, c.k, memory.columns, In<T>(call, 1) + i * c.k, memory.work);
    CopyTransposed(memory.columns, c.n, c.m, Out<T>(call, 0) + i * c.m * c.n);
  }
};

}  // namespace

plan::Kernel Qr(DType dtype, const Shape& a, bool full) {
  QrConfig config{MatricesOf(dtype, a)};
  config.k = full ? config.m : config.rank();
  return KernelOf<QrConfig, QrWork>(config, 2 * FlopsOf(config.m, config.n, config.k));
}
plan::Kernel HouseholderProduct(DType dtype, const Shape& a, int64_t k) {
  QrConfig config{MatricesOf(dtype, a)};
  config.k = k;
  return KernelOf<QrConfig, ProductWork>(config, 2 * FlopsOf(config.m, config.n, k));
}

}  // namespace tessera::kernels
