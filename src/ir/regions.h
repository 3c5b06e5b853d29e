// Types of ops with regions, from their data-flow edges.
#pragma once
#include <optional>

#include "ir/program.h"

namespace tessera::ir {

// An op with regions, applied.
struct RegionCall {
  const OpDef& op;
  const Params* params;
  Types operands;
  Regions regions;
  Loc loc;
};

// Returns the op's own checks' refusal, if there is one: numbers of things, predicates.
std::optional<TypeProblem> CheckRegions(const RegionCall& call);

// Two ends of one edge whose types differ; both as inside of the regions.
struct FlowMismatch {
  FlowEdge edge;
  FlowEnd from, to;
  const Type *from_type, *to_type;
};
// Returns the first mismatch among operands, region inputs and region outputs.
std::optional<FlowMismatch> FindMismatch(const RegionCall& call);

// Returns the result types. Throws ShapeError, DTypeError or TraceError for what CheckRegions and
// FindMismatch find.
std::vector<const Type*> InferRegionTypes(const RegionCall& call);

// Returns the parameters of the instruction with so many constants and carries.
ParamsPtr WithCounts(const Instruction& instruction, size_t constants, size_t carries);

// Returns the type with a new unsharded dim of this size in front; the type without its first dim.
const Type* Stacked(const Type* slice, int64_t size);
const Type* SliceOf(const Type* stacked);

}  // namespace tessera::ir
