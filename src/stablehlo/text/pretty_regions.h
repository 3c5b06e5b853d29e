// Reads the pretty forms of operations that have their own grammar around their regions.
#pragma once
#include "stablehlo/text/parser.h"

namespace tessera::stablehlo {

// Reads `(%a init: %z), (%b init: %y) across dimensions = [0] : (...) -> (...)` and its reducer;
// or `(%a init: %z) applies stablehlo.add across dimensions = [0] : (...) -> T`.
void ReadReduce(OperationReader& r, OperationDraft& draft);
// Reads `(%iterArg = %a, ...) : T, ... attributes {...} cond {...} do {...}`.
void ReadWhile(OperationReader& r, OperationDraft& draft);
// Reads `(%a, ...) inits (%b, ...) dimension=0 attributes {...} {...} : (...) -> (...)`.
void ReadScan(OperationReader& r, OperationDraft& draft);

}  // namespace tessera::stablehlo
