// What transforms need of ops beside their rules: types of cotangents, zeros, sums, and values
// brought to a type.
#pragma once
#include "ir/builder.h"
#include "ops/params.h"

namespace tessera::ops {

// Whether values of the type have tangents: floating ones do.
inline bool HasTangent(const ir::Type* type) { return type->dtype().is_floating(); }
// Returns the type of a value's cotangent: sharded as the value, unreduced over what the value is
// reduced over, and the other way round.
const ir::Type* CotangentType(const ir::Type* primal);

// Whether elementwise ops broadcast one shape to the other: a scalar, and dims of size 1.
bool IsBroadcastOf(const base::Shape& small, const base::Shape& large);
// Returns a number everywhere; a broadcast, so that devices hold no array of it.
ir::ValueId Filled(ir::Builder& builder, double value, const ir::Type* type);
inline ir::ValueId Zeros(ir::Builder& builder, const ir::Type* type) {
  return Filled(builder, 0, type);
}
// Returns zeros of the type, but that they are unreduced, reduced and varying as `other` is.
ir::ValueId ZerosBeside(ir::Builder& builder, ir::ValueId other, const ir::Type* type);
// Returns `v` behind a barrier: what is made of it is not merged with what is made of v.
ir::ValueId Barrier(ir::Builder& builder, ir::ValueId v);
// Returns a + b of one type; either may be -1, a zero that nobody made.
ir::ValueId Sum(ir::Builder& builder, ir::ValueId a, ir::ValueId b);
// Returns the result of an op that sums, as a value of the type `to`: partial sums where the op
// leaves them and `to` is unreduced. What it does not give of itself is a move behind it.
ir::ValueId EmitSums(ir::Builder& builder, const OpDef& op, ir::ParamsPtr params,
                     absl::Span<const ir::ValueId> operands, const ir::Type* to);
// Returns `v` summed over the dims, as a value of the type `to`, which has none of them or has them
// with size 1.
ir::ValueId SumTo(ir::Builder& builder, ir::ValueId v, DimsParams dims, const ir::Type* to);
// Returns `v` as a value of type `to`: repeated or summed along dims that the op broadcast, and
// laid out so.
ir::ValueId Conform(ir::Builder& builder, ir::ValueId v, const ir::Type* to);

}  // namespace tessera::ops
