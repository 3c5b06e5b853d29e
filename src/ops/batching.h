// Batching: types with the batch dim, values that get it, and the rules of ops.
#pragma once
#include "ir/builder.h"

namespace tessera::ops {

// Returns the type with the batch dim at position `at`.
const ir::Type* WithDim(const ir::Type* type, const ir::MappedDim& dim, size_t at = 0);

// Returns `v`, whose type lacks the batch dim, repeated along it. Throws ShardingError if it is
// sharded over axes of the batch.
ir::ValueId Repeated(ir::Builder& builder, ir::ValueId v, const ir::MappedDim& dim);
// Returns `v`, which has the batch dim, repeated along the other dims of `like` if it has none.
ir::ValueId RepeatedLike(ir::Builder& builder, ir::ValueId v, const ir::Type* like);
// Returns `v` with dim `dim` moved to the front, as a value of the type.
ir::ValueId ToFront(ir::Builder& builder, ir::ValueId v, size_t dim, const ir::Type* type);

// Returns whether a predicate is true for any batch element.
ir::ValueId AnyLane(ir::Builder& builder, ir::ValueId predicate);
// Returns `yes` for batch elements whose predicate is true, `no` for the others. Both have the
// batch dim.
ir::ValueId ByLane(ir::Builder& builder, ir::ValueId predicate, ir::ValueId yes, ir::ValueId no);

// Returns `v` with a derivative of zero where the predicate is false: a select between `v` and `v`
// as a constant. The predicate is a scalar or has the batch dim; in the latter case `v` has it too.
ir::ValueId CountedWhere(ir::Builder& builder, ir::ValueId predicate, ir::ValueId v);
// Whether an instruction selects between its operands 1 (where operand 0 is false) and 2. Whether
// it is a select of CountedWhere; `no` defines its operand 1 (null: nothing does).
bool IsChoice(const ir::Instruction& i);
bool IsCountedWhere(const ir::Instruction& choice, const ir::Instruction* no);

// Returns `v` summed over the batch dim, as a value of the type.
ir::ValueId SumOfLanes(ir::Builder& builder, ir::ValueId v, const ir::Type* type);

// Returns operand k with the batch dim.
ir::ValueId WithDim(const ir::BatchCall& call, size_t k);

// Returns the results of an instruction with the batch dim, by the op's own rule or from its
// dimension map (ByDims). Throws ShardingError if they are sharded over axes of the batch.
std::vector<ir::ValueId> Batched(const ir::BatchCall& call);
std::vector<ir::ValueId> ByDims(const ir::BatchCall& call);

}  // namespace tessera::ops
