// Types of ops with regions, from their data-flow edges.
#pragma once
#include <optional>

#include "ir/program.h"

namespace tessera::ir {

// An application of an op with regions.
struct RegionCall {
  const OpDef& op;
  const Params* params;
  Types operands;
  Regions regions;
  Loc loc;
};

// Returns the refusal of the op's own checks (numbers of operands, predicates), if there is one.
std::optional<TypeProblem> CheckRegions(const RegionCall& call);

// Two ends of one edge whose types differ, as the regions see them.
struct FlowMismatch {
  FlowEdge edge;
  FlowEnd from, to;
  const Type *from_type, *to_type;
};
// Returns the first mismatch among operands, region inputs and region outputs.
std::optional<FlowMismatch> FindMismatch(const RegionCall& call);

// Returns the result types. Throws ShapeError, DTypeError or TraceError for problems that
// CheckRegions and FindMismatch find.
std::vector<const Type*> InferRegionTypes(const RegionCall& call);

// Returns the instruction's parameters with these numbers of constants and carries.
ParamsPtr WithCounts(const Instruction& instruction, size_t constants, size_t carries);

// Returns the type with a new unsharded leading dim of this size, and the type without its
// first dim.
const Type* Stacked(const Type* slice, int64_t size);
const Type* SliceOf(const Type* stacked);

}  // namespace tessera::ir
