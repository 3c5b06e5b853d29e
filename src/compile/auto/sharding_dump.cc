// Writes the shardings of a propagated program.
#include "compile/auto/sharding_dump.h"

#include "compile/auto/pins.h"
#include "propagation/border.h"
#include "sharding/text.h"

namespace tessera::compile {

sharding::TensorSharding PlaceOf(const Propagated& propagated, const ValueNames::Entry& e) {
  const ir::Type* place =
      e.region == propagation::RegionId::kOutermost ? propagated.program->place(e.value) : nullptr;
  if (place) return place->sharding();
  const sharding::TensorSharding* s = propagated.result.sharding(e.id);
  if (!s) return e.type->sharding();
  return OverParts(propagation::engine::Closed(*s), e.type->shape(), propagated.over_parts);
}

std::string Dump(const ir::Program& program) {
  Propagated propagated = PropagateProgram(program);
  ValueNames names(propagated.built);
  std::string out;
  for (const ValueNames::Entry& e : names.entries())
    out += names.Head(e) + std::string(kDumpSeparator) + Text(PlaceOf(propagated, e)) + "\n";
  return out;
}

}  // namespace tessera::compile
