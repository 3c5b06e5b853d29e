// Linalg operations.
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {

std::vector<OpReader> LinalgReaders() { return {}; }

}  // namespace tessera::stablehlo
