// Random operations.
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {

std::vector<OpReader> RandomReaders() { return {}; }

}  // namespace tessera::stablehlo
