// Collectives, beside those of XLA's partitioner.
#include <fmt/format.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <map>

#include "base/dtype.h"
#include "cases.h"
#include "ir/program.h"
#include "sharding/reshard.h"
#include "spmd/moves.h"

namespace tessera::stablehlo_runner {
namespace {

struct Received {
  int64_t count = 0, bytes = 0;
};
using ByKind = std::map<std::string, Received>;

// Adds the collectives of a device program by XLA's names, with the bytes of their results on a
// device. Each counts once, also in a loop. A halo exchange, whose result is computed, counts as
// the permutes that bring the parts of other shards.
void AddReceived(const ir::Program& device, ByKind& kinds) {
  for (const ir::Instruction& i : device.instructions) {
    for (const ir::RegionPtr& region : i.regions) AddReceived(*region, kinds);
    if (i.cost->bytes == 0) continue;
    const sharding::StepKind kind = spmd::KindOf(*i.op);
    const bool is_halo = kind == sharding::StepKind::kHaloExchange;
    std::string name = is_halo ? "collective-permute" : std::string(sharding::Name(kind));
    std::replace(name.begin(), name.end(), '_', '-');
    const ir::Type* made = device.type(i.results[0]);
    Received& sum = kinds[name];
    ++sum.count;
    sum.bytes += is_halo ? i.cost->bytes : base::BytesOf(made->elements(), made->dtype());
  }
}

int64_t BytesOf(const ByKind& kinds) {
  int64_t sum = 0;
  for (const auto& [name, received] : kinds) sum += received.bytes;
  return sum;
}

std::string TextOf(const ByKind& kinds) {
  std::string text;
  for (const auto& [name, received] : kinds)
    text += fmt::format("{}{} x{} {} B", text.empty() ? "" : ", ", name, received.count,
                        received.bytes);
  return text.empty() ? "nothing" : text;
}

}  // namespace

void RunCollectives(const fs::path& path, const Json& c) {
  if (!c.contains("xla_collectives") || !c.contains("mesh")) throw Skipped{};
  ByKind theirs, ours;
  const std::string name = path.stem().string();
  const Json& counted = Differences()["counted_again"];
  for (const auto& [kind, sum] :
       (counted.contains(name) ? counted[name] : c["xla_collectives"]).items())
    theirs[kind] = {sum["count"].get<int64_t>(), sum["bytes"].get<int64_t>()};
  const Lowered lowered = lower(load_stablehlo(TextOf(path).string()));
  AddReceived(*lowered.device_program().program(), ours);
  fmt::print("{:32} {:>7} B of XLA's {:>7} B: {}; XLA: {}\n", name, BytesOf(ours), BytesOf(theirs),
             TextOf(ours), TextOf(theirs));
  const Json& argued = Differences()["more_bytes"];
  const int64_t most =
      argued.contains(name) ? argued[name]["bytes"].get<int64_t>() : BytesOf(theirs);
  if (BytesOf(ours) > most)
    throw Failure{fmt::format("it receives {} B, more than {} B", BytesOf(ours), most)};
}

}  // namespace tessera::stablehlo_runner
