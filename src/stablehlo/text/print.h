// Prints a syntax tree in MLIR's generic form.
#pragma once
#include <string>

#include "stablehlo/text/tree.h"

namespace tessera::stablehlo {

enum class PrintLocations : bool { kNo, kYes };

// Returns text that MLIR reads as the module that was read. Values are numbered, so two trees print
// alike if and only if they are equal up to the names of values.
std::string GenericText(const Module& module, PrintLocations locations = PrintLocations::kNo);
std::string GenericText(const Attribute& attribute);

}  // namespace tessera::stablehlo
