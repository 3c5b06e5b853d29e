// Writes the shardings that a program's values get.
#include "compile/sharding_dump.h"

#include "compile/pins.h"
#include "compile/propagate.h"
#include "compile/value_names.h"
#include "propagation/border.h"
#include "sharding/text.h"

namespace tessera::compile {
namespace {

// Where a value lies in the end.
std::string PlaceText(const Propagated& propagated, const ValueNames::Entry& e) {
  const ir::Type* place = e.region == 0 ? propagated.program->place(e.value) : nullptr;
  if (place) return Text(place->sharding());
  const sharding::TensorSharding* s = propagated.result.sharding(e.id);
  return Text(s ? propagation::engine::Closed(*s) : e.type->sharding());
}

}  // namespace

std::string Dump(const ir::Program& program) {
  Propagated propagated = PropagateProgram(program);
  ValueNames names(propagated.built);
  std::string out;
  for (const ValueNames::Entry& e : names.entries())
    out += names.Head(e) + std::string(kDumpSeparator) + PlaceText(propagated, e) + "\n";
  return out;
}

}  // namespace tessera::compile
