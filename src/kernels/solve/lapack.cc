// Loads LAPACK, and describes batches of matrices.
#include "kernels/solve/lapack.h"

#include <string>

#include "base/error.h"

namespace tessera::kernels {
namespace {

// Returns the function of this name for elements of T: "s" or "d" precedes it.
template <class T, class F>
void LoadFunction(F& function, const char* name) {
  const std::string full = (std::is_same_v<T, float> ? "s" : "d") + std::string(name) + "_";
  function = OpenBlasFunction<F>(full.c_str());
  if (function != nullptr) return;
  base::ThrowRuntime(base::Refusal(
      "linalg", 1, "", "the library OpenBLAS is missing, or has no LAPACK (" + full + ")",
      {"install libopenblas0-pthread"}));
}

template <class T>
Lapack<T> LoadLapack() {
  Lapack<T> lapack;
  LoadFunction<T>(lapack.potrf, "potrf");
  LoadFunction<T>(lapack.trsm, "trsm");
  LoadFunction<T>(lapack.getrf, "getrf");
  LoadFunction<T>(lapack.geqrf, "geqrf");
  LoadFunction<T>(lapack.orgqr, "orgqr");
  LoadFunction<T>(lapack.syevd, "syevd");
  LoadFunction<T>(lapack.gesdd, "gesdd");
  LoadFunction<T>(lapack.gees, "gees");
  LoadFunction<T>(lapack.gehrd, "gehrd");
  LoadFunction<T>(lapack.sytrd, "sytrd");
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

MatrixBatch MatricesOf(DType dtype, const Shape& shape) {
  MatrixBatch out{.dtype = dtype, .m = shape[shape.size() - 2], .n = shape.back()};
  for (size_t d = 0; d + 2 < shape.size(); ++d) out.count *= shape[d];
  return out;
}

}  // namespace tessera::kernels
