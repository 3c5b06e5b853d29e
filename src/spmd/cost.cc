// FLOPs and bytes of device programs, and how often regions run.
#include "spmd/cost.h"

#include "ir/control_params.h"

namespace tessera::spmd {

Times TimesOf(const ir::Instruction& instruction) {
  switch (std::get<ir::AsRegions>(*instruction.op->lowering).kind) {
    case ir::AsRegions::kWhile:
      return {1, false};
    case ir::AsRegions::kScan:
      return {ir::As<ir::ScanParams>(instruction.params.get()).length, true};
    default:
      return {};
  }
}

Flops FlopsOf(const ir::Program& device) {
  Flops sum;
  for (const ir::Instruction& instruction : device.instructions) {
    sum.device += instruction.cost->flops;
    sum.whole += instruction.cost->whole_flops;
    if (instruction.regions.empty()) continue;
    bool branches =
        std::get<ir::AsRegions>(*instruction.op->lowering).kind == ir::AsRegions::kSwitch;
    Flops once;
    for (const ir::RegionPtr& region : instruction.regions) {
      Flops more = FlopsOf(*region);
      if (!branches)
        once = {once.device + more.device, once.whole + more.whole};
      else if (more.device > once.device)
        once = more;
    }
    auto times = static_cast<double>(TimesOf(instruction).times);
    sum.device += once.device * times;
    sum.whole += once.whole * times;
  }
  return sum;
}

double SentBytes(const ir::Program& device) {
  double sum = 0;
  for (const ir::Instruction& instruction : device.instructions) {
    double once = static_cast<double>(instruction.cost->bytes);
    for (const ir::RegionPtr& region : instruction.regions) once += SentBytes(*region);
    const int64_t times = instruction.regions.empty() ? 1 : TimesOf(instruction).times;
    sum += once * static_cast<double>(times);
  }
  return sum;
}

}  // namespace tessera::spmd
