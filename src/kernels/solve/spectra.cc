// Eigenvalues of symmetric matrices, singular values, and reductions to simpler forms.
#include "kernels/solve/lapack.h"
#include "kernels/solve/matrices.h"

namespace tessera::kernels {
namespace {

double CubeOf(const MatrixBatch& c) {
  return static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.rank());
}

// LAPACK's answer to a call that asks for the lengths of its work arrays.
template <class T>
struct Answer {
  T work = 1;
  int iwork = 1;
  const int ask = -1;
  int info = 0;
  void SetIn(MatrixBatch& c) const {
    // The answer is rounded to T.
    const double exact = static_cast<double>(work);
    c.work = static_cast<int64_t>(exact * (1 + std::numeric_limits<T>::epsilon())) + 1;
    c.iwork = iwork;
  }
};

struct EighConfig : MatrixBatch {
  bool vectors = true;
  const char* job() const { return vectors ? "V" : "N"; }
};

template <class T>
struct EighWork {
  struct Memory {
    T *columns, *work;
    int* iwork;
    Memory(const EighConfig& c, Scratch& s)
        : columns(c.vectors ? nullptr : s.Take<T>(c.n * c.n)),
          work(s.Take<T>(c.work)),
          iwork(s.Take<int>(c.iwork)) {}
  };
  static int64_t Plan(EighConfig& c) {
    Answer<T> answer;
    const int n = static_cast<int>(c.n), lead = Lead(c.n);
    LapackOf<T>().syevd(c.job(), "L", &n, nullptr, &lead, nullptr, &answer.work, &answer.ask,
                        &answer.iwork, &answer.ask, &answer.info, 1, 1);
    answer.SetIn(c);
    return BytesOf<Memory>(c);
  }
  static void Run(const EighConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const int64_t n = c.n;
    const Memory memory(c, scratch);
    T* values = Out<T>(call, c.vectors ? 1 : 0) + i * n;
    T* vectors = c.vectors ? Out<T>(call, 0) + i * n * n : memory.columns;
    if (n == 0) return;
    const bool finite = CopyLower(In<T>(call, 0) + i * n * n, n, vectors);
    const int size = static_cast<int>(n), length = static_cast<int>(c.work),
              ints = static_cast<int>(c.iwork);
    int info = finite ? 0 : 1;
    if (finite)
      LapackOf<T>().syevd(c.job(), "L", &size, vectors, &size, values, memory.work, &length,
                          memory.iwork, &ints, &info, 1, 1);
    if (info != 0) {
      FillNan(values, n);
      FillNan(vectors, n * n);
    } else if (c.vectors) {
      TransposeSquare(vectors, n);
    }
  }

 private:
  // Copies the lower triangle to column-major order. Returns whether it is finite.
  static bool CopyLower(const T* a, int64_t n, T* columns) {
    T sum = 0;
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c <= r; ++c) {
        columns[c * n + r] = a[r * n + c];
        sum += a[r * n + c] * 0;
      }
    return sum == 0;
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
struct SvdWork {
  struct Memory {
    T *columns, *u, *vt, *work;
    int* iwork;
    Memory(const SvdConfig& c, Scratch& s)
        : columns(s.Take<T>(c.m * c.n)), u(nullptr), vt(nullptr) {
      if (c.vectors != SingularVectors::kNone) {
        u = s.Take<T>(c.m * c.left());
        vt = s.Take<T>(c.right() * c.n);
      }
      work = s.Take<T>(c.work);
      iwork = s.Take<int>(c.iwork);
    }
  };
  static int64_t Plan(SvdConfig& c) {
    Answer<T> answer;
    const int m = static_cast<int>(c.m), n = static_cast<int>(c.n), lda = Lead(c.m),
              ldvt = Lead(c.right());
    LapackOf<T>().gesdd(c.job(), &m, &n, nullptr, &lda, nullptr, nullptr, &lda, nullptr, &ldvt,
                        &answer.work, &answer.ask, &answer.iwork, &answer.info, 1);
    answer.SetIn(c);
    c.iwork = 8 * c.rank();
    return BytesOf<Memory>(c);
  }
  static void Run(const SvdConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const bool vectors = c.vectors != SingularVectors::kNone;
    T* s = Out<T>(call, vectors ? 1 : 0) + i * c.rank();
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
      const int m = static_cast<int>(c.m), n = static_cast<int>(c.n),
                right = static_cast<int>(c.right()), length = static_cast<int>(c.work);
      LapackOf<T>().gesdd(c.job(), &m, &n, memory.columns, &m, s, memory.u, &m, memory.vt, &right,
                          memory.work, &length, memory.iwork, &info, 1);
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

template <class T>
struct SchurWork {
  struct Memory {
    T *form, *vectors, *real, *imaginary, *work;
    Memory(const EighConfig& c, Scratch& s)
        : form(s.Take<T>(c.n * c.n)),
          vectors(s.Take<T>(c.vectors ? c.n * c.n : 0)),
          real(s.Take<T>(c.n)),
          imaginary(s.Take<T>(c.n)),
          work(s.Take<T>(c.work)) {}
  };
  static int64_t Plan(EighConfig& c) {
    Answer<T> answer;
    const int n = static_cast<int>(c.n), lead = Lead(c.n);
    int sorted = 0;
    LapackOf<T>().gees(c.job(), "N", nullptr, &n, nullptr, &lead, &sorted, nullptr, nullptr,
                       nullptr, &lead, &answer.work, &answer.ask, nullptr, &answer.info, 1, 1);
    answer.SetIn(c);
    return BytesOf<Memory>(c);
  }
  static void Run(const EighConfig& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const int64_t n = c.n;
    const T* a = In<T>(call, 0) + i * n * n;
    T* form = Out<T>(call, 0) + i * n * n;
    T* vectors = c.vectors ? Out<T>(call, 1) + i * n * n : nullptr;
    if (n == 0) return;
    const Memory memory(c, scratch);
    int info = AllFinite(a, n * n) ? 0 : 1;
    if (info == 0) {
      CopyTransposed(a, n, n, memory.form);
      const int size = static_cast<int>(n), length = static_cast<int>(c.work);
      int sorted = 0;
      LapackOf<T>().gees(c.job(), "N", nullptr, &size, memory.form, &size, &sorted, memory.real,
                         memory.imaginary, memory.vectors, &size, memory.work, &length, nullptr,
                         &info, 1, 1);
    }
    if (info != 0) {
      FillNan(form, n * n);
      if (c.vectors) FillNan(vectors, n * n);
      return;
    }
    CopyTransposed(memory.form, n, n, form);
    if (c.vectors) CopyTransposed(memory.vectors, n, n, vectors);
  }
};

template <class T>
struct HessenbergWork {
  struct Memory {
    T *columns, *work;
    Memory(const MatrixBatch& c, Scratch& s)
        : columns(s.Take<T>(c.n * c.n)), work(s.Take<T>(c.work)) {}
  };
  static int64_t Plan(MatrixBatch& c) {
    Answer<T> answer;
    const int n = static_cast<int>(c.n), lead = Lead(c.n), low = 1, high = n;
    LapackOf<T>().gehrd(&n, &low, &high, nullptr, &lead, nullptr, &answer.work, &answer.ask,
                        &answer.info);
    answer.SetIn(c);
    return BytesOf<Memory>(c);
  }
  static void Run(const MatrixBatch& c, const plan::KernelArgs& call, int64_t i, Scratch scratch) {
    const int64_t n = c.n;
    if (n == 0) return;
    const Memory memory(c, scratch);
    CopyTransposed(In<T>(call, 0) + i * n * n, n, n, memory.columns);
    const int size = static_cast<int>(n), low = 1, length = static_cast<int>(c.work);
    int info = 0;
    LapackOf<T>().gehrd(&size, &low, &size, memory.columns, &size, Out<T>(call, 1) + i * (n - 1),
                        memory.work, &length, &info);
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
    T *columns, *work;
    Memory(const MatrixBatch& c, Scratch& s)
        : columns(s.Take<T>(c.n * c.n)), work(s.Take<T>(c.work)) {}
  };
  static int64_t Plan(TridiagonalConfig& c) {
    Answer<T> answer;
    const int n = static_cast<int>(c.n), lead = Lead(c.n);
    LapackOf<T>().sytrd(c.triangle(), &n, nullptr, &lead, nullptr, nullptr, nullptr, &answer.work,
                        &answer.ask, &answer.info, 1);
    answer.SetIn(c);
    return BytesOf<Memory>(c);
  }
  static void Run(const TridiagonalConfig& c, const plan::KernelArgs& call, int64_t i,
                  Scratch scratch) {
    const int64_t n = c.n;
    const Memory memory(c, scratch);
    CopyTransposed(In<T>(call, 0) + i * n * n, n, n, memory.columns);
    const int size = static_cast<int>(n), length = static_cast<int>(c.work);
    int info = 0;
    LapackOf<T>().sytrd(c.triangle(), &size, memory.columns, &size, Out<T>(call, 1) + i * n,
                        Out<T>(call, 2) + i * (n - 1), Out<T>(call, 3) + i * (n - 1), memory.work,
                        &length, &info, 1);
    CopyTransposed(memory.columns, n, n, Out<T>(call, 0) + i * n * n);
  }
};

}  // namespace

plan::Kernel Eigh(DType dtype, const Shape& a, bool vectors) {
  const EighConfig config{MatricesOf(dtype, a), vectors};
  return KernelOf<EighConfig, EighWork>(config, (vectors ? 9 : 4.0 / 3) * CubeOf(config));
}

plan::Kernel Svd(DType dtype, const Shape& a, SingularVectors vectors) {
  const SvdConfig config{MatricesOf(dtype, a), vectors};
  return KernelOf<SvdConfig, SvdWork>(
      config, (vectors == SingularVectors::kNone ? 4 : 20) * CubeOf(config));
}

plan::Kernel Schur(DType dtype, const Shape& a, bool vectors) {
  const EighConfig config{MatricesOf(dtype, a), vectors};
  return KernelOf<EighConfig, SchurWork>(config, (vectors ? 25 : 10) * CubeOf(config));
}

plan::Kernel Hessenberg(DType dtype, const Shape& a) {
  const MatrixBatch config = MatricesOf(dtype, a);
  return KernelOf<MatrixBatch, HessenbergWork>(config, 10.0 / 3 * CubeOf(config));
}

plan::Kernel Tridiagonal(DType dtype, const Shape& a, bool lower) {
  const TridiagonalConfig config{MatricesOf(dtype, a), lower};
  return KernelOf<TridiagonalConfig, TridiagonalWork>(config, 4.0 / 3 * CubeOf(config));
}

}  // namespace tessera::kernels
