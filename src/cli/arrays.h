// Arrays of the command: made by a formula, and as text.
#pragma once
#include <tessera/array.h>

#include <string>

namespace tessera::cli {

// Returns an array for argument number `input`: element k is, with frac(t) = t - floor(t),
//   frac(0.618034 k + 0.381966 input) - 0.5 for floats (the numbers are those of the golden ratio),
//   (7 k + 3 input) mod 8 for integers, k mod 3 == 0 for bools;
//   of complex numbers, the parts are elements 2 k and 2 k + 1 of that.
Array Filled(const ArrayType& type, size_t input);

// Returns "dtype" of NumPy: "float32". "" for a dtype that NumPy lacks.
std::string NumpyName(DType dtype);

// Returns lines with the extreme elements, their mean, and the first ones.
std::string SummaryOf(const Array& x);

}  // namespace tessera::cli
