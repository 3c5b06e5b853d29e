// Ops that make or move elements without computing with them.
#include <algorithm>
#include <limits>

#include "ops/params.h"
#include "ops/reference.h"
#include "ops/reference_values.h"

namespace tessera::ops::reference {
namespace {

using Coords = std::vector<int64_t>;

// Returns the start of a slice of `sizes` in x, from the scalars operands[first...].
Coords Starts(const ReferenceCall& call, size_t first, const ir::Shape& sizes) {
  const HostTensor& x = *call.operands[0];
  Coords starts;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t start = IndexAt(*call.operands[first + d], 0);
    starts.push_back(std::clamp<int64_t>(start, 0, x.shape[d] - sizes[d]));
  }
  return starts;
}

// What Take gives for an index outside.
void FillOutside(HostTensor& t, int64_t i) {
  if (t.dtype.is_floating())
    t.SetFloat(i, std::numeric_limits<double>::quiet_NaN());
  else
    t.SetInt(i, t.dtype.is_signed() ? LowestInt(t.dtype) : HighestInt(t.dtype));
}

}  // namespace

void Constant(const ReferenceCall& call) {
  const Literal& value = ir::As<ConstantParams>(call.params).value;
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) SetBits(out, i, value.bits);
}

void Iota(const ReferenceCall& call) {
  const int64_t dim = ir::As<IotaParams>(call.params).dim[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t index = ir::CoordsOf(out.shape, i)[dim];
    if (out.dtype.is_floating())
      out.SetFloat(i, static_cast<long double>(index));
    else
      out.SetInt(i, index);
  }
}

void Identity(const ReferenceCall& call) {
  for (size_t k = 0; k < call.results.size(); ++k) call.results[k]->data = call.operands[k]->data;
}

// Elements of another width are the same bytes: the narrower ones of a wide one are a last dim, in
// the order of memory.
void Bitcast(const ReferenceCall& call) { call.results[0]->data = call.operands[0]->data; }

void Transpose(const ReferenceCall& call) {
  const auto& perm = ir::As<TransposeParams>(call.params).perm;
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    const Coords to = ir::CoordsOf(out.shape, i);
    Coords from(to.size());
    for (size_t d = 0; d < to.size(); ++d) from[perm[d]] = to[d];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, from));
  }
}

void BroadcastInDim(const ReferenceCall& call) {
  const auto& dims = ir::As<BroadcastParams>(call.params).dims;
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    const Coords to = ir::CoordsOf(out.shape, i);
    Coords from(x.shape.size());
    for (size_t d = 0; d < from.size(); ++d) from[d] = x.shape[d] == 1 ? 0 : to[dims[d]];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, from));
  }
}

void Slice(const ReferenceCall& call) {
  const auto& params = ir::As<SliceParams>(call.params);
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    Coords at = ir::CoordsOf(out.shape, i);
    for (size_t d = 0; d < at.size(); ++d) at[d] = params.starts[d] + at[d] * params.strides[d];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, at));
  }
}

// Operands x and the padding value.
void Pad(const ReferenceCall& call) {
  const auto& params = ir::As<PadParams>(call.params);
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) out.SetFrom(i, *call.operands[1], 0);
  for (int64_t i = 0; i < x.size(); ++i) {
    Coords at = ir::CoordsOf(x.shape, i);
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      at[d] = params.low[d] + at[d] * (params.interior[d] + 1);
      inside = inside && at[d] >= 0 && at[d] < out.shape[d];
    }
    if (inside) out.SetFrom(ir::FlatIndex(out.shape, at), x, i);
  }
}

void Rev(const ReferenceCall& call) {
  const auto& dims = ir::As<DimsParams>(call.params).dims;
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    Coords at = ir::CoordsOf(out.shape, i);
    for (int64_t d : dims) at[d] = out.shape[d] - 1 - at[d];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, at));
  }
}

void Concatenate(const ReferenceCall& call) {
  const int64_t dim = ir::As<DimParams>(call.params).dim[0];
  HostTensor& out = *call.results[0];
  int64_t begin = 0;
  for (const HostTensor* x : call.operands) {
    for (int64_t i = 0; i < x->size(); ++i) {
      Coords at = ir::CoordsOf(x->shape, i);
      at[dim] += begin;
      out.SetFrom(ir::FlatIndex(out.shape, at), *x, i);
    }
    begin += x->shape[dim];
  }
}

void Roll(const ReferenceCall& call) {
  const auto& params = ir::As<RollParams>(call.params);
  const auto dim = static_cast<size_t>(params.dim[0]);
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    Coords at = ir::CoordsOf(out.shape, i);
    at[dim] = (at[dim] + params.shift) % out.shape[dim];
    out.SetFrom(ir::FlatIndex(out.shape, at), *call.operands[0], i);
  }
}

// Operands x and one scalar start per dim.
void DynamicSlice(const ReferenceCall& call) {
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  const Coords starts = Starts(call, 1, out.shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    Coords at = ir::CoordsOf(out.shape, i);
    for (size_t d = 0; d < at.size(); ++d) at[d] += starts[d];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, at));
  }
}

// Operands x, update and one scalar start per dim.
void DynamicUpdateSlice(const ReferenceCall& call) {
  const HostTensor& update = *call.operands[1];
  HostTensor& out = *call.results[0];
  out.data = call.operands[0]->data;
  const Coords starts = Starts(call, 2, update.shape);
  for (int64_t i = 0; i < update.size(); ++i) {
    Coords at = ir::CoordsOf(update.shape, i);
    for (size_t d = 0; d < at.size(); ++d) at[d] += starts[d];
    out.SetFrom(ir::FlatIndex(out.shape, at), update, i);
  }
}

void Take(const ReferenceCall& call) {
  const int64_t dim = ir::As<DimParams>(call.params).dim[0];
  const HostTensor &x = *call.operands[0], &indices = *call.operands[1];
  HostTensor& out = *call.results[0];
  const int64_t size = x.shape[dim];
  const auto index_rank = static_cast<int64_t>(indices.shape.size());
  for (int64_t i = 0; i < out.size(); ++i) {
    const Coords to = ir::CoordsOf(out.shape, i);
    const Coords index_at(to.begin() + dim, to.begin() + dim + index_rank);
    const int64_t index = IndexAt(indices, ir::FlatIndex(indices.shape, index_at));
    if (index < 0 || index >= size) {
      FillOutside(out, i);
      continue;
    }
    Coords from(to.begin(), to.begin() + dim);
    from.push_back(index);
    from.insert(from.end(), to.begin() + dim + index_rank, to.end());
    out.SetFrom(i, x, ir::FlatIndex(x.shape, from));
  }
}

}  // namespace tessera::ops::reference
