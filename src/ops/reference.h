// The obvious computation of every op on whole tensors: the oracle of the tests. Floats are
// computed in double and rounded once, integers in 64 bits and wrapped. Speed does not matter.
#pragma once
#include "ir/op.h"

namespace tessera::ops::reference {

using ir::ReferenceCall;

// Every op with an Elementwise lowering: what its ScalarOp says (plan/fused.h), element by element;
// rank-0 operands, and dims of size 1, are broadcast. Conversions and bit casts of one width too.
void Elementwise(const ReferenceCall& call);
void Constant(const ReferenceCall& call);
void Iota(const ReferenceCall& call);
void Identity(const ReferenceCall& call);  // reshape, reshard, optimization_barrier: same elements
void Bitcast(const ReferenceCall& call);   // bitcast_convert_type, any widths
void Transpose(const ReferenceCall& call);
void BroadcastInDim(const ReferenceCall& call);
void Slice(const ReferenceCall& call);
void Pad(const ReferenceCall& call);
void Rev(const ReferenceCall& call);
void Concatenate(const ReferenceCall& call);
void Roll(const ReferenceCall& call);
// Starts are clamped into range. (The public functions count negative ones from the end.)
void DynamicSlice(const ReferenceCall& call);
void DynamicUpdateSlice(const ReferenceCall& call);
// operands x, indices; the dim is DimParams; result [outer..., indices..., inner...]. Outside
// indices, negative ones too, give NaN, the lowest (signed), highest (unsigned), true.
void Take(const ReferenceCall& call);
void Reduce(const ReferenceCall& call);  // the reduction is that of the op's ir::Reduce lowering
void ArgMax(const ReferenceCall& call);
void ArgMin(const ReferenceCall& call);
void CumSum(const ReferenceCall& call);
void CumProd(const ReferenceCall& call);
void CumMax(const ReferenceCall& call);
void CumMin(const ReferenceCall& call);
void CumLogSumExp(const ReferenceCall& call);
void DotGeneral(const ReferenceCall& call);
void Sort(const ReferenceCall& call);
void TopK(const ReferenceCall& call);
// Ops with regions, which are interpreted.
void While(const ReferenceCall& call);
void Scan(const ReferenceCall& call);
void Switch(const ReferenceCall& call);

}  // namespace tessera::ops::reference
