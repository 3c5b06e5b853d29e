// Compares programs instruction by instruction.
#include "ir/same.h"

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
         std::equal(a.regions.begin(), a.regions.end(), b.regions.begin(), b.regions.end(),
                    [](const RegionPtr& x, const RegionPtr& y) { return SameProgram(*x, *y); });
}

}  // namespace

bool SameProgram(const Program& a, const Program& b) {
  const auto same_value = [](const Value& x, const Value& y) {
    return x.type == y.type && x.place == y.place;
  };
  const auto same_capture = [](const Capture& x, const Capture& y) { return x.value == y.value; };
  return a.mesh == b.mesh && a.inputs == b.inputs && a.outputs == b.outputs &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    same_value) &&
         std::equal(a.captures.begin(), a.captures.end(), b.captures.begin(), b.captures.end(),
                    same_capture) &&
         std::equal(a.instructions.begin(), a.instructions.end(), b.instructions.begin(),
                    b.instructions.end(), SameInstruction);
}

bool SameLines(const Program& a, const Program& b) {
  return std::equal(
      a.instructions.begin(), a.instructions.end(), b.instructions.begin(), b.instructions.end(),
      [](const Instruction& x, const Instruction& y) {
        return x.loc.line() == y.loc.line() && std::string_view(x.loc.file()) == y.loc.file() &&
               std::equal(x.regions.begin(), x.regions.end(), y.regions.begin(), y.regions.end(),
                          [](const RegionPtr& r, const RegionPtr& s) { return SameLines(*r, *s); });
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
