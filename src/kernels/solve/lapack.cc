// Loads LAPACK, and describes batches of matrices.
#include "kernels/solve/lapack.h"

#include <string>

#include "base/error.h"

namespace tessera::kernels {
namespace {

// Returns the function of this name for elements of T: "s", "d", "c" or "z" precedes it.
template <class T, class F>
void LoadFunction(F& function, const char* of_real, const char* of_complex) {
  constexpr bool kIsWide = std::is_same_v<PartType<T>, double>;
  const std::string full = kIsComplex<T> ? (kIsWide ? "z" : "c") + std::string(of_complex) + "_"
                                         : (kIsWide ? "d" : "s") + std::string(of_real) + "_";
  function = OpenBlasFunction<F>(full.c_str());
  if (function != nullptr) return;
  base::ThrowRuntime(base::Refusal(
      "linalg", 1, "", "the library OpenBLAS is missing, or has no LAPACK (" + full + ")",
      {"install libopenblas0-pthread"}));
}

template <class T, class F>
void LoadFunction(F& function, const char* name) {
  LoadFunction<T>(function, name, name);
}

template <class T>
Lapack<T> LoadLapack() {
  Lapack<T> lapack;
  LoadFunction<T>(lapack.potrf, "potrf");
  LoadFunction<T>(lapack.trsm, "trsm");
  LoadFunction<T>(lapack.getrf, "getrf");
  LoadFunction<T>(lapack.geqrf, "geqrf");
  LoadFunction<T>(lapack.geqp3, "geqp3");
  LoadFunction<T>(lapack.orgqr, "orgqr", "ungqr");
  LoadFunction<T>(lapack.syevd, "syevd", "heevd");
  LoadFunction<T>(lapack.gesdd, "gesdd");
  LoadFunction<T>(lapack.gees, "gees");
  LoadFunction<T>(lapack.geev, "geev");
  LoadFunction<T>(lapack.gehrd, "gehrd");
  LoadFunction<T>(lapack.sytrd, "sytrd", "hetrd");
  return lapack;
}

}  // namespace

template <class T>
const Lapack<T>& LapackOf() {
  static const Lapack<T> lapack = LoadLapack<T>();
  return lapack;
}
template const Lapack<float>& LapackOf();
template const Lapack<double>& LapackOf();
template const Lapack<std::complex<float>>& LapackOf();
template const Lapack<std::complex<double>>& LapackOf();

MatrixBatch MatricesOf(DType dtype, const Shape& shape) {
  MatrixBatch out{.dtype = dtype, .m = shape[shape.size() - 2], .n = shape.back()};
  for (size_t d = 0; d + 2 < shape.size(); ++d) out.count *= shape[d];
  return out;
}

}  // namespace tessera::kernels
