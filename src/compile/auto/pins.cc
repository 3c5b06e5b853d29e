// Reads a dump of shardings, and pins the values of a graph.
#include "compile/auto/pins.h"

#include "base/error.h"
#include "compile/auto/value_names.h"
#include "sharding/text.h"

namespace tessera::compile {
namespace {

thread_local std::string pinned;

[[noreturn]] void FailPins(const ir::Program& program, std::string reason) {
  Loc loc = program.instructions.empty() ? Loc::Unknown() : program.instructions[0].loc;
  base::ThrowSharding(base::Refusal("PinShardings", 2, base::Where(loc), std::move(reason),
                                    {"write the dump again with dump_shardings"}));
}

}  // namespace

const std::string& PinnedShardings() { return pinned; }
void SetPinnedShardings(std::string dump) { pinned = std::move(dump); }

bool IsDump(std::string_view text) {
  return !text.empty() && text[0] == '%' && text.find(kDumpSeparator) != std::string_view::npos;
}

void Pin(const std::string& dump, ProgramGraph& built) {
  const ir::Program& program = *built.regions[propagation::RegionId::kOutermost].program;
  if (program.instructions.size() <= 1) return;
  ValueNames names(built);
  size_t begin = 0;
  for (const ValueNames::Entry& e : names.entries()) {
    size_t end = dump.find('\n', begin);
    std::string line = dump.substr(begin, end - begin), head = names.Head(e);
    size_t cut = line.find(kDumpSeparator);
    if (end == std::string::npos || cut == std::string::npos || line.substr(0, cut) != head)
      FailPins(program, fmt::format("the program has `{}` where the dump has `{}`", head, line));
    const sharding::MeshDef* mesh = e.type->mesh();
    if (!mesh) mesh = program.mesh;
    if (mesh)
      built.graph.values[e.id].sharding = sharding::ParseSharding(
          line.substr(cut + kDumpSeparator.size()), mesh->WithoutModes(), Loc::Unknown());
    begin = end + 1;
  }
  if (begin < dump.size())
    FailPins(program, fmt::format("the program ends where the dump has `{}`",
                                  dump.substr(begin, dump.find('\n', begin) - begin)));
}

}  // namespace tessera::compile
