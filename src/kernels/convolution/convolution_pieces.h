// Convolutions with a long dim, one piece of it after the other.
#pragma once
#include <absl/functional/function_ref.h>

#include <optional>

#include "kernels/convolution/convolution.h"

namespace tessera::kernels {

// Whether oneDNN would set up tables that are larger than the arrays, for a very long dim.
bool HasLargeTables(const ConvolutionDesc& desc);

// Cuts the longest dim of the result into pieces, each a convolution that `make` returns. Returns
// nothing if no dim is long, if lhs is large beside oneDNN's tables, or if `make` refuses a piece.
std::optional<plan::Kernel> ConvolutionByPieces(
    const ConvolutionDesc& desc,
    absl::FunctionRef<std::optional<plan::Kernel>(const ConvolutionDesc& piece)> make);

}  // namespace tessera::kernels
