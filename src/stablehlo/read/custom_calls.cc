// CustomCall operations.
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {

std::vector<OpReader> CustomCallReaders() { return {}; }

}  // namespace tessera::stablehlo
