// Elements as MLIR writes them in constants.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "stablehlo/write/writer.h"

namespace tessera::stablehlo {

// Returns the text of one element, given its bytes in memory: "1.5", "(0.0,1.0)", "true",
// "0x7FC00000" for numbers that are not finite.
std::string NumberText(DType dtype, std::span<const std::byte> element);

}  // namespace tessera::stablehlo
