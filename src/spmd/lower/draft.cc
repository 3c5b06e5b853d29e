// Origins of the values of a growing device program.
#include "spmd/lower/draft.h"

#include <absl/algorithm/container.h>

#include "spmd/local_type.h"

namespace tessera::spmd {

ir::ValueId Draft::AddValue(const ir::Type* place, Loc loc) {
  return program.AddValue(LocalType(place), loc, place);
}

ir::Instruction& Draft::Emit(ir::Instruction instruction) {
  origins.resize(program.values.size());
  const Origin origin{ir::NextInstruction(program), IsLight(instruction)};
  for (ir::ValueId v : instruction.results) origins[v] = origin;
  program.instructions.push_back(std::move(instruction));
  return program.instructions.back();
}

const Draft::Origin* Draft::OriginOf(ir::ValueId v) const {
  if (!origins.Has(v)) return nullptr;
  const Origin& origin = origins[v];
  return origin.instruction == ir::kNoInstruction ? nullptr : &origin;
}

std::optional<ir::ValueId> Draft::ScalarOf(ir::ValueId v) const {
  const Origin* origin = OriginOf(v);
  if (!origin) return {};
  const ir::Instruction& made = MakerOf(*origin);
  if (!std::holds_alternative<ir::AsBroadcast>(*made.op->lowering)) return {};
  const ir::Type* scalar = Place(made.operands[0]);
  if (!scalar->shape().empty() || !Place(v)->sharding().unreduced.empty() ||
      !scalar->sharding().unreduced.empty())
    return {};
  return made.operands[0];
}

ir::ValueId Draft::RootOf(ir::ValueId v) const {
  for (const Origin* o = OriginOf(v); o; o = OriginOf(v)) {
    const ir::Instruction& made = MakerOf(*o);
    if (!std::holds_alternative<ir::AsView>(*made.op->lowering)) break;
    v = made.operands[0];
  }
  return v;
}

bool Draft::IsLight(const ir::Instruction& instruction) const {
  if (instruction.results.empty()) return false;
  const ir::OpDef& op = *instruction.op;
  const int64_t elements = Place(instruction.results[0])->elements();
  if (std::holds_alternative<ir::AsBroadcast>(*op.lowering) &&
      Place(instruction.operands[0])->elements() < elements)
    return true;
  const bool repeats = std::holds_alternative<ir::AsElementwise>(*op.lowering);
  // An op with more work than this is not computed a second time.
  const bool cheap = repeats || op.flops_per_point == 0;
  if (!cheap || op.opaque || std::holds_alternative<ir::AsRegions>(*op.lowering) ||
      std::holds_alternative<ir::AsMove>(*op.lowering) ||
      std::holds_alternative<ir::NoRule>(*op.dims))
    return false;
  return absl::c_all_of(instruction.operands, [&](ir::ValueId v) {
    return Place(v)->shape().empty() || (OriginOf(v) && OriginOf(v)->is_light) ||
           (repeats && Place(v)->elements() < elements);
  });
}

}  // namespace tessera::spmd
