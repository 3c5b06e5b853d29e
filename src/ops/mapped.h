// What mapping a function along a dim needs of ops beside their rules: types with the dim, and
// values that get it.
#pragma once
#include "ir/builder.h"

namespace tessera::ops {

// Returns the type with the dim at place `at`.
const ir::Type* WithDim(const ir::Type* type, const ir::MappedDim& dim, size_t at = 0);

// Returns `v`, of a type without the dim, repeated along it. Throws ShardingError if it lies over
// axes of the dim.
ir::ValueId Repeated(ir::Builder& builder, ir::ValueId v, const ir::MappedDim& dim);
// Returns `v`, which has the dim, repeated along the dims of `like` behind it if it has no others.
ir::ValueId Spread(ir::Builder& builder, ir::ValueId v, const ir::Type* like);
// Returns `v` with dim `place` in front, a value of the type.
ir::ValueId ToFront(ir::Builder& builder, ir::ValueId v, size_t place, const ir::Type* type);

// Of a predicate per lane: whether it is true in any.
ir::ValueId AnyLane(ir::Builder& builder, ir::ValueId predicate);
// The same: `yes` in lanes in which it is true, `no` in the others; both have the dim.
ir::ValueId ByLane(ir::Builder& builder, ir::ValueId predicate, ir::ValueId yes, ir::ValueId no);

// Returns `v`, whose derivative is zero where the predicate is false: a choice between it and
// itself as a constant. The predicate is a scalar, or has the mapped dim, as v has then.
ir::ValueId CountedWhere(ir::Builder& builder, ir::ValueId predicate, ir::ValueId v);
// Whether an instruction chooses between its operands 1 (where operand 0 is false) and 2; whether
// it is such a choice, where `no` makes operand 1 (null: nothing does).
bool IsChoice(const ir::Instruction& i);
bool IsCountedWhere(const ir::Instruction& choice, const ir::Instruction* no);

// Returns the sum of `v` over the dim, a value of the type.
ir::ValueId SumOfLanes(ir::Builder& builder, ir::ValueId v, const ir::Type* type);

// Returns operand k with the dim.
ir::ValueId WithDim(const ir::BatchCall& call, size_t k);

// Returns the results of an instruction with the dim in front: by the op's own rule, or as its dims
// say (ByDims). Throws ShardingError if they lie over axes of the dim.
std::vector<ir::ValueId> Batched(const ir::BatchCall& call);
std::vector<ir::ValueId> ByDims(const ir::BatchCall& call);

}  // namespace tessera::ops
