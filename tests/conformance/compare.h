// Numbers against a table's.
#pragma once
#include <complex>
#include <optional>
#include <string>

#include "case.h"
#include "tessera/array.h"

namespace tessera::conformance {

// Returns a number of a table's data: "nan", "inf" and "-inf" are texts there.
double Number(const Json& json);
// Returns a complex number of a table's data: a pair of numbers, or one number.
std::complex<double> ComplexNumber(const Json& json);

// Returns how the elements differ from the flat list `wanted`, or nothing. Bools and integers are
// exact. With a tolerance t floats, and the parts of complex numbers, may differ by t + t *
// |wanted|, and 0 asks for the same bits but for NaNs; without one the bounds of the table's README
// hold. Where `wanted` is null any float does.
std::optional<std::string> CompareData(const Array& array, const Json& wanted,
                                       std::optional<double> tolerance);

}  // namespace tessera::conformance
