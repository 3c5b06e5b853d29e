// Compares programs instruction by instruction.
#include "ir/same.h"

#include <absl/algorithm/container.h>
#include <absl/hash/hash.h>

#include <algorithm>
#include <string_view>

#include "ir/params.h"

namespace tessera::ir {
namespace {

bool SameParams(const ParamsPtr& a, const ParamsPtr& b) {
  return a == b || (a && b && a->Equals(*b));
}

bool SameInstruction(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.operands == b.operands && a.results == b.results &&
         SameParams(a.params, b.params) &&
         absl::c_equal(a.regions, b.regions,
                       [](const RegionPtr& x, const RegionPtr& y) { return SameProgram(*x, *y); });
}

}  // namespace

bool SameProgram(const Program& a, const Program& b) {
  const auto same_value = [](const Value& x, const Value& y) {
    return x.type == y.type && x.place == y.place;
  };
  const auto same_capture = [](const Capture& x, const Capture& y) { return x.value == y.value; };
  return a.mesh == b.mesh && a.inputs == b.inputs && a.outputs == b.outputs &&
         absl::c_equal(a.values, b.values, same_value) &&
         absl::c_equal(a.captures, b.captures, same_capture) &&
         absl::c_equal(a.instructions, b.instructions, SameInstruction);
}

bool SameLines(const Program& a, const Program& b) {
  return absl::c_equal(
      a.instructions, b.instructions, [](const Instruction& x, const Instruction& y) {
        return x.loc.line() == y.loc.line() && std::string_view(x.loc.file()) == y.loc.file() &&
               std::string_view(x.loc.scope()) == y.loc.scope() &&
               absl::c_equal(x.regions, y.regions, [](const RegionPtr& r, const RegionPtr& s) {
                 return SameLines(*r, *s);
               });
      });
}

size_t HashOf(const Program& program) {
  size_t h = absl::HashOf(program.values.size(), program.inputs.size(), program.outputs);
  for (const Instruction& i : program.instructions) {
    h = MixHash(h, absl::HashOf(i.op, i.operands));
    if (i.params) h = MixHash(h, i.params->Hash());
    for (const RegionPtr& region : i.regions) h = MixHash(h, HashOf(*region));
  }
  return h;
}

}  // namespace tessera::ir
