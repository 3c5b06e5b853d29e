// Special operations.
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {

std::vector<OpReader> SpecialReaders() { return {}; }

}  // namespace tessera::stablehlo
