// Eigenvalues, singular values, and reductions to simpler forms.
#include <vector>

#include "kernels/solve/lapack.h"
#include "kernels/solve/matrices.h"

namespace tessera::kernels {
namespace {

struct EighConfig : MatrixBatch {
  bool vectors = true;
  const char* job() const { return vectors ? "V" : "N"; }
};

// The functions return LAPACK's info: 0 if it succeeded.
template <class T>
int CallSyevd(const EighConfig& c, T* columns, PartType<T>* values, const WorkArrays<T>& arrays) {
  const int n = static_cast<int>(c.n), lead = Lead(c.n);
  int info = 0;
  if constexpr (kIsComplex<T>)
    LapackOf<T>().syevd(c.job(), "L", &n, columns, &lead, values, arrays.work, &arrays.length,
                        arrays.rwork, &arrays.real_length, arrays.iwork, &arrays.int_length, &info,
                        1, 1);
  else
    LapackOf<T>().syevd(c.job(), "L", &n, columns, &lead, values, arrays.work, &arrays.length,
                        arrays.iwork, &arrays.int_length, &info, 1, 1);
  return info;
}

template <class T>
struct EighWork {
  struct Memory {
    T* columns;
    WorkArrays<T> arrays;
    Memory(const EighConfig& c, Scratch& s)
        : columns(c.vectors ? nullptr : s.Take<T>(c.n * c.n)), arrays(c, s) {}
  };
  static int64_t Plan(EighConfig& c) {
    AskForWork<T>(c, [&](const WorkArrays<T>& ask) { CallSyevd<T>(c, nullptr, nullptr, ask); });
    return BytesOf<Memory>(c);
  }
  static void Run(const EighConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const int64_t n = c.n;
    const Memory memory(c, scratch);
    PartType<T>* values = Out<PartType<T>>(call, c.vectors ? 1 : 0) + i * n;
    T* vectors = c.vectors ? Out<T>(call, 0) + i * n * n : memory.columns;
    if (n == 0) return;
    const bool finite = CopyLower(In<T>(call, 0) + i * n * n, n, vectors);
    if (!finite || CallSyevd(c, vectors, values, memory.arrays) != 0) {
      FillNan(values, n);
      FillNan(vectors, n * n);
    } else if (c.vectors) {
      TransposeSquare(vectors, n);
    }
  }

 private:
  // Copies the lower triangle to column-major order. Returns whether it is finite.
  static bool CopyLower(const T* a, int64_t n, T* columns) {
    bool finite = true;
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c <= r; ++c) columns[c * n + r] = a[r * n + c];
      finite = finite && AllFinite(a + r * n, r + 1);
    }
    return finite;
  }
};

struct SvdConfig : MatrixBatch {
  SingularVectors vectors = SingularVectors::kReduced;
  const char* job() const {
    return vectors == SingularVectors::kNone ? "N" : vectors == SingularVectors::kFull ? "A" : "S";
  }
  // The columns of u, and the rows of vt.
  int64_t left() const { return vectors == SingularVectors::kFull ? m : rank(); }
  int64_t right() const { return vectors == SingularVectors::kFull ? n : rank(); }
};

template <class T>
int CallGesdd(const SvdConfig& c, T* columns, PartType<T>* s, T* u, T* vt,
              const WorkArrays<T>& arrays) {
  const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), lda = Lead(c.m),
            ldvt = Lead(c.right());
  int info = 0;
  if constexpr (kIsComplex<T>)
    LapackOf<T>().gesdd(c.job(), &m, &n, columns, &lda, s, u, &lda, vt, &ldvt, arrays.work,
                        &arrays.length, arrays.rwork, arrays.iwork, &info, 1);
  else
    LapackOf<T>().gesdd(c.job(), &m, &n, columns, &lda, s, u, &lda, vt, &ldvt, arrays.work,
                        &arrays.length, arrays.iwork, &info, 1);
  return info;
}

template <class T>
struct SvdWork {
  struct Memory {
    T *columns, *u, *vt;
    WorkArrays<T> arrays;
    Memory(const SvdConfig& c, Scratch& s)
        : columns(s.Take<T>(c.m * c.n)), u(nullptr), vt(nullptr) {
      if (c.vectors != SingularVectors::kNone) {
        u = s.Take<T>(c.m * c.left());
        vt = s.Take<T>(c.right() * c.n);
      }
      arrays = WorkArrays<T>(c, s);
    }
  };
  static int64_t Plan(SvdConfig& c) {
    AskForWork<T>(c, [&](const WorkArrays<T>& ask) {
      CallGesdd<T>(c, nullptr, nullptr, nullptr, nullptr, ask);
    });
    c.iwork = 8 * c.rank();
    const int64_t k = c.rank(), square = 5 * k * k + 7 * k;
    if (kIsComplex<T>) c.rwork = square + 2 * std::max(c.m, c.n) * k + 2 * k * k;
    return BytesOf<Memory>(c);
  }
  static void Run(const SvdConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const bool vectors = c.vectors != SingularVectors::kNone;
    PartType<T>* s = Out<PartType<T>>(call, vectors ? 1 : 0) + i * c.rank();
    T* u = vectors ? Out<T>(call, 0) + i * c.m * c.left() : nullptr;
    T* vt = vectors ? Out<T>(call, 2) + i * c.right() * c.n : nullptr;
    if (c.rank() == 0) {
      if (vectors && c.left() > 0) SetIdentity(u, c.m);
      if (vectors && c.right() > 0) SetIdentity(vt, c.n);
      return;
    }
    const Memory memory(c, scratch);
    const T* a = In<T>(call, 0) + i * c.m * c.n;
    int info = AllFinite(a, c.m * c.n) ? 0 : 1;
    if (info == 0) {
      CopyTransposed(a, c.m, c.n, memory.columns);
      info = CallGesdd(c, memory.columns, s, memory.u, memory.vt, memory.arrays);
    }
    if (info != 0) {
      FillNan(s, c.rank());
      if (vectors) FillNan(u, c.m * c.left());
      if (vectors) FillNan(vt, c.right() * c.n);
    } else if (vectors) {
      CopyTransposed(memory.u, c.left(), c.m, u);
      CopyTransposed(memory.vt, c.n, c.right(), vt);
    }
  }
};

// `values` has the eigenvalues; of a real matrix first the real parts of all.
template <class T>
int CallGees(const EighConfig& c, T* form, T* values, T* vectors, const WorkArrays<T>& arrays) {
  const int n = static_cast<int>(c.n), lead = Lead(c.n);
  int info = 0, sorted = 0;
  if constexpr (kIsComplex<T>)
    LapackOf<T>().gees(c.job(), "N", nullptr, &n, form, &lead, &sorted, values, vectors, &lead,
                       arrays.work, &arrays.length, arrays.rwork, nullptr, &info, 1, 1);
  else
    LapackOf<T>().gees(c.job(), "N", nullptr, &n, form, &lead, &sorted, values, values + n, vectors,
                       &lead, arrays.work, &arrays.length, nullptr, &info, 1, 1);
  return info;
}
template <class T>
int CallGeev(const EighConfig& c, T* columns, T* values, T* vectors, const WorkArrays<T>& arrays) {
  const int n = static_cast<int>(c.n), lead = Lead(c.n);
  int info = 0;
  if constexpr (kIsComplex<T>)
    LapackOf<T>().geev("N", c.job(), &n, columns, &lead, values, nullptr, &lead, vectors, &lead,
                       arrays.work, &arrays.length, arrays.rwork, &info, 1, 1);
  else
    LapackOf<T>().geev("N", c.job(), &n, columns, &lead, values, values + n, nullptr, &lead,
                       vectors, &lead, arrays.work, &arrays.length, &info, 1, 1);
  return info;
}

// Memory for eigenvalues of any matrices, and for a basis.
template <class T>
struct SpectrumMemory {
  SpectrumMemory(const EighConfig& c, Scratch& s)
      : columns(s.Take<T>(c.n * c.n)),
        vectors(s.Take<T>(c.vectors ? c.n * c.n : 0)),
        values(s.Take<T>(2 * c.n)),
        arrays(c, s) {}
  T *columns, *vectors, *values;
  WorkArrays<T> arrays;
};

template <class T>
struct EigWork {
  using Complex = std::complex<PartType<T>>;
  static int64_t Plan(EighConfig& c) {
    std::vector<T> values(2);  // the address of the imaginary parts is computed
    AskForWork<T>(
        c, [&](const WorkArrays<T>& ask) { CallGeev<T>(c, nullptr, values.data(), nullptr, ask); });
    c.rwork = kIsComplex<T> ? 2 * c.n : 0;
    return BytesOf<SpectrumMemory<T>>(c);
  }
  static void Run(const EighConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const int64_t n = c.n;
    const T* a = In<T>(call, 0) + i * n * n;
    Complex* values = Out<Complex>(call, c.vectors ? 1 : 0) + i * n;
    Complex* vectors = c.vectors ? Out<Complex>(call, 0) + i * n * n : nullptr;
    if (n == 0) return;
    const SpectrumMemory<T> memory(c, scratch);
    int info = AllFinite(a, n * n) ? 0 : 1;
    if (info == 0) {
      CopyTransposed(a, n, n, memory.columns);
      info = CallGeev(c, memory.columns, memory.values, memory.vectors, memory.arrays);
    }
    if (info != 0) {
      FillNan(values, n);
      if (c.vectors) FillNan(vectors, n * n);
    } else if constexpr (kIsComplex<T>) {
      std::copy_n(memory.values, n, values);
      if (c.vectors) CopyTransposed(memory.vectors, n, n, vectors);
    } else {
      for (int64_t k = 0; k < n; ++k) values[k] = {memory.values[k], memory.values[n + k]};
      for (int64_t k = 0; k < n && c.vectors; ++k) SetVector(memory.vectors, values, n, k, vectors);
    }
  }

 private:
  // The vectors of a real matrix: those of a pair of conjugate eigenvalues are x + iy and x - iy,
  // and columns has x and y.
  static void SetVector(const T* columns, const Complex* values, int64_t n, int64_t k,
                        Complex* vectors) {
    const bool is_second = values[k].imag() < 0;
    const T *real = columns + (is_second ? k - 1 : k) * n, *imaginary = real + n;
    for (int64_t r = 0; r < n; ++r)
      vectors[r * n + k] = {real[r], values[k].imag() == 0 ? 0
                                     : is_second           ? -imaginary[r]
                                                           : imaginary[r]};
  }
};

template <class T>
struct SchurWork {
  static int64_t Plan(EighConfig& c) {
    std::vector<T> values(2);
    AskForWork<T>(
        c, [&](const WorkArrays<T>& ask) { CallGees<T>(c, nullptr, values.data(), nullptr, ask); });
    c.rwork = kIsComplex<T> ? c.n : 0;
    return BytesOf<SpectrumMemory<T>>(c);
  }
  static void Run(const EighConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const int64_t n = c.n;
    const T* a = In<T>(call, 0) + i * n * n;
    T* form = Out<T>(call, 0) + i * n * n;
    T* vectors = c.vectors ? Out<T>(call, 1) + i * n * n : nullptr;
    if (n == 0) return;
    const SpectrumMemory<T> memory(c, scratch);
    int info = AllFinite(a, n * n) ? 0 : 1;
    if (info == 0) {
      CopyTransposed(a, n, n, memory.columns);
      info = CallGees(c, memory.columns, memory.values, memory.vectors, memory.arrays);
    }
    if (info != 0) {
      FillNan(form, n * n);
      if (c.vectors) FillNan(vectors, n * n);
      return;
    }
    CopyTransposed(memory.columns, n, n, form);
    if (c.vectors) CopyTransposed(memory.vectors, n, n, vectors);
  }
};

template <class T>
struct HessenbergWork {
  struct Memory {
    T* columns;
    WorkArrays<T> arrays;
    Memory(const MatrixBatch& c, Scratch& s) : columns(s.Take<T>(c.n * c.n)), arrays(c, s) {}
  };
  static int64_t Plan(MatrixBatch& c) {
    const int n = static_cast<int>(c.n), lead = Lead(c.n), low = 1, high = n;
    int info = 0;
    AskForWork<T>(c, [&](const WorkArrays<T>& ask) {
      LapackOf<T>().gehrd(&n, &low, &high, nullptr, &lead, nullptr, ask.work, &ask.length, &info);
    });
    return BytesOf<Memory>(c);
  }
  static void Run(const MatrixBatch& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const int64_t n = c.n;
    if (n == 0) return;
    const Memory memory(c, scratch);
    CopyTransposed(In<T>(call, 0) + i * n * n, n, n, memory.columns);
    const int size = static_cast<int>(n), low = 1;
    int info = 0;
    LapackOf<T>().gehrd(&size, &low, &size, memory.columns, &size, Out<T>(call, 1) + i * (n - 1),
                        memory.arrays.work, &memory.arrays.length, &info);
    CopyTransposed(memory.columns, n, n, Out<T>(call, 0) + i * n * n);
  }
};

struct TridiagonalConfig : MatrixBatch {
  bool lower = true;
  const char* triangle() const { return lower ? "L" : "U"; }
};

template <class T>
struct TridiagonalWork {
  struct Memory {
    T* columns;
    WorkArrays<T> arrays;
    Memory(const MatrixBatch& c, Scratch& s) : columns(s.Take<T>(c.n * c.n)), arrays(c, s) {}
  };
  static int64_t Plan(TridiagonalConfig& c) {
    const int n = static_cast<int>(c.n), lead = Lead(c.n);
    int info = 0;
    AskForWork<T>(c, [&](const WorkArrays<T>& ask) {
      LapackOf<T>().sytrd(c.triangle(), &n, nullptr, &lead, nullptr, nullptr, nullptr, ask.work,
                          &ask.length, &info, 1);
    });
    return BytesOf<Memory>(c);
  }
  static void Run(const TridiagonalConfig& c, const plan::KernelArgs& call, int64_t i,
                  Scratch scratch) {
    const int64_t n = c.n;
    const Memory memory(c, scratch);
    CopyTransposed(In<T>(call, 0) + i * n * n, n, n, memory.columns);
    const int size = static_cast<int>(n);
    int info = 0;
    LapackOf<T>().sytrd(c.triangle(), &size, memory.columns, &size,
                        Out<PartType<T>>(call, 1) + i * n, Out<PartType<T>>(call, 2) + i * (n - 1),
                        Out<T>(call, 3) + i * (n - 1), memory.arrays.work, &memory.arrays.length,
                        &info, 1);
    CopyTransposed(memory.columns, n, n, Out<T>(call, 0) + i * n * n);
  }
};

}  // namespace

plan::Kernel Eigh(DType dtype, const Shape& a, bool vectors) {
  const EighConfig config{MatricesOf(dtype, a), vectors};
  return KernelOf<EighConfig, EighWork>(config, EighFlops(config.rows(), vectors));
}

plan::Kernel Eig(DType dtype, const Shape& a, bool vectors) {
  const EighConfig config{MatricesOf(dtype, a), vectors};
  return KernelOf<EighConfig, EigWork>(config, EigFlops(config.rows(), vectors));
}

plan::Kernel Svd(DType dtype, const Shape& a, SingularVectors vectors) {
  const SvdConfig config{MatricesOf(dtype, a), vectors};
  return KernelOf<SvdConfig, SvdWork>(config, SvdFlops(config.rows(), config.columns(), vectors));
}

plan::Kernel Schur(DType dtype, const Shape& a, bool vectors) {
  const EighConfig config{MatricesOf(dtype, a), vectors};
  return KernelOf<EighConfig, SchurWork>(config, SchurFlops(config.rows(), vectors));
}

plan::Kernel Hessenberg(DType dtype, const Shape& a) {
  const MatrixBatch config = MatricesOf(dtype, a);
  return KernelOf<MatrixBatch, HessenbergWork>(config, HessenbergFlops(config.rows()));
}

plan::Kernel Tridiagonal(DType dtype, const Shape& a, bool lower) {
  const TridiagonalConfig config{MatricesOf(dtype, a), lower};
  return KernelOf<TridiagonalConfig, TridiagonalWork>(config, TridiagonalFlops(config.rows()));
}

}  // namespace tessera::kernels
