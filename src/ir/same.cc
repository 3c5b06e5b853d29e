// Compares programs, instruction by instruction.
#include "ir/same.h"

#include <algorithm>

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

}  // namespace tessera::ir
