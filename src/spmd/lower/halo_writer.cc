// Emits exchanges of edges, and the concatenation with a device's own elements.
#include "spmd/lower/halo_writer.h"

#include <utility>

#include "base/at.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "spmd/local_type.h"
#include "spmd/lower/halo_split.h"
#include "spmd/lower/halo_stages.h"
#include "spmd/lower/op_partition.h"
#include "spmd/moves.h"

namespace tessera::spmd {

using sharding::StepKind;

bool HaloWriter::EmitEdges(const ir::HaloParams& halo, ir::CostPtr cost,
                           absl::Span<const ir::ValueId> ins, ir::ValueId out) {
  const std::optional<std::vector<OwnRange>> own = OwnRangesOf(halo);
  if (!own) return false;
  base::Shape begin, sizes;
  size_t first = own->size();
  for (size_t d = own->size(); d-- > 0;) {
    if ((*own)[d].edges() > 0) first = d;
    begin.insert(begin.begin(), (*own)[d].begin + (*own)[d].shift);
    sizes.insert(sizes.begin(), (*own)[d].end - (*own)[d].begin);
  }
  if (first == own->size()) return false;
  const ir::Type* place = draft_.Place(out);
  ir::ValueId v = LocalSlice(ins[0], place, begin, sizes);
  for (size_t d = own->size(); d-- > 0;) {
    const OwnRange& range = (*own)[d];
    if (range.edges() == 0) continue;
    sizes[d] = range.edges();
    const ir::ValueId edges = draft_.AddValue(WithLocalSizes(place, sizes), loc_);
    Emit(OpOf(StepKind::kHaloExchange), ir::MakeParams(EdgesOf(halo, *own, d)), ins, edges,
         std::exchange(cost, Costing({.axes = cost->axes, .implied = cost->implied})));
    absl::InlinedVector<ir::ValueId, 3> pieces;
    const auto edge = [&](int64_t from, int64_t count) {
      base::Shape at(sizes.size(), 0), edge_sizes = sizes;
      at[d] = from, edge_sizes[d] = count;
      if (count > 0) pieces.push_back(LocalSlice(edges, place, at, edge_sizes));
    };
    edge(0, range.begin);
    pieces.push_back(v);
    edge(range.begin, range.size - range.end);
    sizes[d] = range.size;
    v = d == first ? out : draft_.AddValue(WithLocalSizes(place, sizes), loc_);
    Emit(ops::kConcatenate, ir::MakeParams(ops::DimParams{{static_cast<int64_t>(d)}}), pieces, v,
         Costing({}));
  }
  return true;
}

void HaloWriter::EmitStages(ir::HaloParams halo, absl::Span<const ir::ValueId> ins,
                            ir::ValueId out) {
  absl::InlinedVector<ir::ValueId, 3> from(ins.begin(), ins.end());
  while (const std::optional<ir::HaloParams> first = FirstStageOf(halo)) {
    const ir::ValueId v = draft_.AddValue(first->to, loc_);
    EmitStage(*first, from, v);
    halo = RestOf(halo, *first);
    from[0] = v;
  }
  if (ReadsShardedDim(halo))
    EmitStage(halo, from, out);
  else
    EmitLocal(halo, from, out);
}

void HaloWriter::EmitStage(const ir::HaloParams& halo, absl::Span<const ir::ValueId> ins,
                           ir::ValueId out) {
  ir::Cost cost{.bytes = BytesOf(halo)};
  for (const std::vector<int64_t>& read : halo.reads)
    sharding::AddTo(cost.axes, base::At(halo.to->sharding().dims, read[1]).axes);
  const ir::CostPtr shared = Costing(std::move(cost));
  if (!EmitEdges(halo, shared, ins, out))
    Emit(OpOf(StepKind::kHaloExchange), ir::MakeParams(halo), ins, out, shared);
}

void HaloWriter::EmitLocal(const ir::HaloParams& halo, absl::Span<const ir::ValueId> ins,
                           ir::ValueId out) {
  const base::Shape in = LocalType(halo.from[0])->shape(), to = LocalType(halo.to)->shape();
  ops::SliceParams slice;
  slice.starts.assign(in.size(), 0);
  slice.limits = in;
  slice.strides.assign(in.size(), 1);
  ops::PadParams pad;
  pad.low.assign(in.size(), 0);
  pad.high = pad.interior = pad.low;
  for (const std::vector<int64_t>& read : halo.reads) {
    const int64_t offset = read[2], stride = read[3], dilation = read[4];
    const size_t d = base::Size(read[1]);
    slice.starts[d] = offset;
    slice.limits[d] = offset + (to[d] - 1) * stride + 1;
    slice.strides[d] = stride;
    pad.low[d] = -offset;
    pad.interior[d] = dilation - 1;
    pad.high[d] = to[d] + offset - ((in[d] - 1) * dilation + 1);
  }
  if (halo.fill < 0)
    Emit(ops::kSlice, ir::MakeParams(std::move(slice)), ins, out, Costing({}));
  else
    Emit(ops::kPad, ir::MakeParams(std::move(pad)), ins, out, Costing({}));
}

ir::ValueId HaloWriter::LocalSlice(ir::ValueId v, const ir::Type* place, const base::Shape& begin,
                                   const base::Shape& sizes) {
  const ir::Type* type = WithLocalSizes(place, sizes);
  ops::SliceParams params;
  params.starts = begin;
  for (size_t d = 0; d < sizes.size(); ++d) params.limits.push_back(begin[d] + sizes[d]);
  params.strides.assign(sizes.size(), 1);
  if (LocalType(type)->shape() == LocalType(draft_.Place(v))->shape()) return v;
  const ir::ValueId part = draft_.AddValue(type, loc_);
  Emit(ops::kSlice, ir::MakeParams(std::move(params)), {v}, part, Costing({}));
  return part;
}

void HaloWriter::Emit(const ir::OpDef& op, ir::ParamsPtr params, absl::Span<const ir::ValueId> ins,
                      ir::ValueId out, ir::CostPtr cost) {
  draft_.Emit({.op = &op,
               .params = std::move(params),
               .operands = {ins.begin(), ins.end()},
               .results = {out},
               .loc = loc_,
               .cost = std::move(cost)});
}

}  // namespace tessera::spmd
