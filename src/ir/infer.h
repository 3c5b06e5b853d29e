// Type inference: the op's own checks, then the typing rule over its dimension map.
#pragma once
#include <optional>

#include "ir/program.h"
#include "tessera/sharding.h"

namespace tessera::ir {

struct InferCall {
  const OpDef& op;
  Types operands;
  const Params* params = nullptr;
  const ShapeAndDType* wanted = nullptr;
  const sharding::TensorSharding* out_sharding = nullptr;
  const sharding::MeshDef* mesh = nullptr;  // the current mesh, for ops without operands on a mesh
  Loc loc = Loc::Unknown();                 // the user's line
  absl::Span<const Loc> operand_locs = {};  // where each operand was defined
  Types written = {};                       // the operand types before their ranks were fitted
  const char* shown_as = nullptr;           // the public function, if it is not named like the op
  ParamsPtr shared_params = nullptr;        // the same params, if the result may be cached
};

// Returns the name of operand i in messages: "lhs", "operands[3]".
std::string OperandName(const OpDef& op, size_t i);

// Returns the type of operand i as the user wrote it.
inline const Type* WrittenOf(const InferCall& call, size_t i) {
  return call.written.empty() ? call.operands[i] : call.written[i];
}

// Returns the result types. Throws ShapeError, DTypeError or ShardingError, with tried fixes.
absl::InlinedVector<const Type*, 1> InferTypes(const InferCall& call);

// Returns the dimension map of an instruction whose op has one.
sharding::DimMap DimMapOf(const OpDef& op, const Params* params, Types operands, Types results);
// Returns the map by which devices compute the instruction (sharding::OnShards, and WithWholeSums
// where sums have one order).
sharding::DimMap DeviceMapOf(const OpDef& op, const Params* params, Types operands, Types results);
// Same, of a map for typing. `to_float`: whether a result has floats.
sharding::DimMap OnDevices(sharding::DimMap map, const sharding::Shapes& operands,
                           const sharding::Shapes& results, bool to_float);
// Whether every element of the op's only result is an element of its operand, found by position
// alone: reshape, transpose, broadcast_in_dim. The map says which: a dim of the result that shares
// a factor with the operand follows it, any other repeats it.
bool IsRearrangement(const OpDef& op, const Params* params, Types operands, Types results);
// Returns the linear groups of the instruction's map, none for an op without a map. The reference
// is valid until the next call.
const std::vector<sharding::LinearGroup>& LinearGroupsOf(const OpDef& op, const ParamsPtr& params,
                                                         Types operands, Types results);

}  // namespace tessera::ir
