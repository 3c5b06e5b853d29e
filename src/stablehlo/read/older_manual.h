// Manual computations of texts from before Shardy: a custom call takes each device's own part of an
// array, and another one makes an array of the parts. The operations between them are the body.
#pragma once
#include <vector>

#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {

bool BeginsOlderManual(const Operation& op);
// Reads the manual computation that the first operation begins, and operations before its results
// that it needs. Returns the others, which may use its results.
std::vector<const Operation*> RunOlderManual(Importer& importer, Frame& frame,
                                             const std::vector<const Operation*>& operations);

}  // namespace tessera::stablehlo
