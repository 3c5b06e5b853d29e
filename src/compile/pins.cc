// Writes dumps of shardings, and reads one back as the shardings of a graph's values.
#include "compile/pins.h"

#include "base/at.h"
#include "base/error.h"
#include "compile/propagate.h"
#include "compile/value_names.h"
#include "propagation/border.h"
#include "propagation/priorities.h"
#include "sharding/text.h"

namespace tessera::compile {
namespace {

thread_local std::string pinned;

// Where a value lies in the end.
std::string PlaceText(const Propagated& propagated, const ValueNames::Entry& e) {
  const ir::Type* place = e.region == 0 ? propagated.program->place(e.value) : nullptr;
  if (place) return Text(place->sharding());
  const sharding::TensorSharding* s = propagated.result.sharding(e.id);
  return Text(s ? propagation::engine::Closed(*s) : e.type->sharding());
}

[[noreturn]] void FailPins(const ir::Program& program, std::string reason) {
  Loc loc = program.instructions.empty() ? Loc::Unknown() : program.instructions[0].loc;
  base::ThrowSharding(base::Refusal("PinShardings", 2, base::Where(loc), std::move(reason),
                                    {"write the dump again with dump_shardings"}));
}

constexpr std::string_view kSeparator = " : ";

}  // namespace

const std::string& PinnedShardings() { return pinned; }
void SetPinnedShardings(std::string dump) { pinned = std::move(dump); }

bool IsDump(std::string_view text) {
  return !text.empty() && text[0] == '%' && text.find(kSeparator) != std::string_view::npos;
}

std::string Dump(const ir::Program& program) {
  Propagated propagated = PropagateProgram(program);
  ValueNames names(propagated.built);
  std::string out;
  for (const ValueNames::Entry& e : names.entries())
    out += names.Head(e) + std::string(kSeparator) + PlaceText(propagated, e) + "\n";
  return out;
}

void Pin(const std::string& dump, ProgramGraph& built) {
  const ir::Program& program = *built.regions[0].program;
  if (program.instructions.size() <= 1) return;
  ValueNames names(built);
  size_t begin = 0;
  for (const ValueNames::Entry& e : names.entries()) {
    size_t end = dump.find('\n', begin);
    std::string line = dump.substr(begin, end - begin), head = names.Head(e);
    size_t cut = line.find(kSeparator);
    if (end == std::string::npos || cut == std::string::npos || line.substr(0, cut) != head)
      FailPins(program, fmt::format("the program has `{}` where the dump has `{}`", head, line));
    const sharding::MeshDef* mesh = e.type->mesh();
    if (!mesh) mesh = program.mesh;
    if (mesh)
      base::At(built.graph.values, e.id).sharding = sharding::ParseSharding(
          line.substr(cut + kSeparator.size()), mesh->WithoutModes(), Loc::Unknown());
    begin = end + 1;
  }
  if (begin < dump.size())
    FailPins(program, fmt::format("the program ends where the dump has `{}`",
                                  dump.substr(begin, dump.find('\n', begin) - begin)));
}

}  // namespace tessera::compile
