// Appends instructions with the types that their ops infer.
#include "ir/builder.h"

namespace tessera::ir {

ValueId Builder::Emit(const OpDef& op, ParamsPtr params, absl::Span<const ValueId> operands,
                      EmitOptions options) {
  absl::InlinedVector<const Type*, 4> types;
  absl::InlinedVector<Loc, 4> locs;
  // A part of a program may use its mesh with other modes (auto_axes). The operands tell which.
  const sharding::MeshDef* mesh = nullptr;
  for (ValueId v : operands) {
    types.push_back(program_.type(v));
    if (!mesh) mesh = types.back()->mesh();
    locs.push_back(program_.values[v].loc);
  }
  auto results = InferTypes({.op = op,
                             .operands = types,
                             .params = params.get(),
                             .wanted = options.wanted,
                             .out_sharding = options.out_sharding,
                             .mesh = mesh ? mesh : program_.mesh,
                             .loc = loc_,
                             .operand_locs = locs,
                             .shared_params = params});
  return EmitTyped(op, std::move(params), operands, results)[0];
}

absl::InlinedVector<ValueId, 1> Builder::EmitTyped(const OpDef& op, ParamsPtr params,
                                                   absl::Span<const ValueId> operands, Types types,
                                                   std::vector<RegionPtr> regions) {
  Instruction instruction{.op = &op,
                          .params = std::move(params),
                          .operands = {operands.begin(), operands.end()},
                          .results = {},
                          .loc = loc_,
                          .regions = std::move(regions)};
  for (const Type* t : types) instruction.results.push_back(program_.AddValue(t, loc_));
  auto results = instruction.results;
  program_.instructions.push_back(std::move(instruction));
  return results;
}

}  // namespace tessera::ir
