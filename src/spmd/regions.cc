// What lowering knows of regions.
#include "ir/control_params.h"
#include "spmd/device_program.h"

namespace tessera::spmd {

Times TimesOf(const ir::Instruction& instruction) {
  switch (std::get<ir::Region>(*instruction.op->lowering).kind) {
    case ir::Region::kWhile:
      return {1, false};
    case ir::Region::kScan:
      return {ir::As<ir::ScanParams>(instruction.params.get()).length, true};
    default:
      return {};
  }
}

}  // namespace tessera::spmd
