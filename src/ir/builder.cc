// Appends instructions with the types that their ops infer.
#include "ir/builder.h"

#include "base/at.h"

namespace tessera::ir {

ValueId Builder::Emit(const OpDef& op, ParamsPtr params, absl::Span<const ValueId> operands,
                      EmitOptions options) {
  absl::InlinedVector<const Type*, 4> types;
  absl::InlinedVector<Loc, 4> locs;
  // A program has parts under its mesh with other modes (auto_axes): operands say which this is.
  const sharding::MeshDef* mesh = nullptr;
  for (ValueId v : operands) {
    types.push_back(program_.type(v));
    if (!mesh) mesh = types.back()->mesh();
    locs.push_back(base::At(program_.values, v).loc);
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

std::vector<ValueId> Inline(Builder& builder, const Program& program,
                            absl::Span<const ValueId> operands) {
  std::vector<ValueId> made(program.values.size(), -1);
  for (size_t i = 0; i < operands.size(); ++i) base::At(made, program.inputs[i]) = operands[i];
  const Loc loc = builder.loc();
  for (const Instruction& i : program.instructions) {
    absl::InlinedVector<ValueId, 3> in;
    absl::InlinedVector<const Type*, 1> types;
    for (ValueId v : i.operands) in.push_back(base::At(made, v));
    for (ValueId v : i.results) types.push_back(program.type(v));
    builder.set_loc(i.loc);
    const auto results = builder.EmitTyped(*i.op, i.params, in, types, i.regions);
    for (size_t r = 0; r < results.size(); ++r) base::At(made, i.results[r]) = results[r];
  }
  builder.set_loc(loc);
  std::vector<ValueId> outputs;
  for (ValueId v : program.outputs) outputs.push_back(base::At(made, v));
  return outputs;
}

}  // namespace tessera::ir
