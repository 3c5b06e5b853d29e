// Helpers of transforms: types of cotangents, zeros, sums, and values brought to a type.
#pragma once
#include "ir/builder.h"
#include "ops/params.h"

namespace tessera::ops {

// Whether values of the type have tangents: inexact ones do.
inline bool HasTangent(const ir::Type* type) { return type->dtype().is_inexact(); }
// Returns the type of a value's cotangent: its sharding, with unreduced and reduced axes swapped.
const ir::Type* CotangentType(const ir::Type* primal);

// Whether elementwise ops broadcast one shape to the other: a scalar, and dims of size 1.
bool IsBroadcastOf(const base::Shape& small, const base::Shape& large);
// Returns a number everywhere, as a broadcast: no device holds an array of it.
ir::ValueId Filled(ir::Builder& builder, double value, const ir::Type* type);
inline ir::ValueId Zeros(ir::Builder& builder, const ir::Type* type) {
  return Filled(builder, 0, type);
}
// Returns zeros of the type, but unreduced, reduced and varying like `other`.
ir::ValueId ZerosBeside(ir::Builder& builder, ir::ValueId other, const ir::Type* type);
// Returns `v` after a barrier: ops on it are not merged with ops on `v`.
ir::ValueId Barrier(ir::Builder& builder, ir::ValueId v);
// Returns a + b, of one type. Either may be kNoValue, which is zero.
ir::ValueId Sum(ir::Builder& builder, ir::ValueId a, ir::ValueId b);
// Returns the result of an op that sums, as a value of type `to`. The op leaves partial sums where
// it can and `to` is unreduced; a move after it does the rest.
ir::ValueId EmitSums(ir::Builder& builder, const OpDef& op, ir::ParamsPtr params,
                     absl::Span<const ir::ValueId> operands, const ir::Type* to);
// Returns `v` summed over the dims, as a value of type `to`, which lacks them or has them with
// size 1.
ir::ValueId SumTo(ir::Builder& builder, ir::ValueId v, DimsParams dims, const ir::Type* to);
// Returns `v` as a value of type `to`: repeated or summed along dims that the op
// broadcast, and resharded.
ir::ValueId Conform(ir::Builder& builder, ir::ValueId v, const ir::Type* to);

}  // namespace tessera::ops
