// The public functions that write programs.
#include "base/error.h"
#include "compile/run/executor.h"
#include "ir/program.h"
#include "stablehlo/write/exporter.h"
#include "tessera/stablehlo.h"

namespace tessera {

std::string export_stablehlo(const Program& program, Loc loc) {
  compile::Install();
  if (program.program()->per_device)
    base::ThrowRuntime(base::Refusal("export_stablehlo", 1, base::Where(loc),
                                     "a device program has local shapes: export the traced one"));
  return stablehlo::Exporter().Write(*program.program(), loc);
}

std::string export_stablehlo(const Lowered& lowered, Loc loc) {
  return export_stablehlo(lowered.program(), loc);
}

}  // namespace tessera
