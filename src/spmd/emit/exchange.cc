// Finds, for each device, the boxes of its result and the device that sends each box.
#include "spmd/emit/exchange.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "base/shape.h"
#include "sharding/access.h"
#include "sharding/local.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using sharding::AxisList;
using sharding::MeshDef;

// Returns the mesh position of each device id.
std::vector<int64_t> MeshPositions(const MeshDef& mesh) {
  std::vector<int64_t> position(base::Size(mesh.size()));
  for (int64_t i = 0; i < mesh.size(); ++i) {
    auto device = base::Size(mesh.Device(i));
    if (position.size() <= device) position.resize(device + 1, 0);
    position[device] = i;
  }
  return position;
}

// Drops dims of size 1 and joins dims that are contiguous on both sides.
plan::Box Collapsed(const plan::Box& from) {
  plan::Box to;
  for (size_t d = 0; d < from.extents.size(); ++d) {
    if (from.extents[d] == 1) continue;
    if (!to.extents.empty() && to.in_strides.back() == from.in_strides[d] * from.extents[d] &&
        to.out_strides.back() == from.out_strides[d] * from.extents[d]) {
      to.extents.back() *= from.extents[d];
      to.in_strides.back() = from.in_strides[d];
      to.out_strides.back() = from.out_strides[d];
    } else {
      to.extents.push_back(from.extents[d]);
      to.in_strides.push_back(from.in_strides[d]);
      to.out_strides.push_back(from.out_strides[d]);
    }
  }
  if (to.extents.empty()) to.extents = to.in_strides = to.out_strides = {1};
  return to;
}

// Adds each box of an exchange once.
class BoxTable {
 public:
  explicit BoxTable(std::vector<plan::Box>& boxes) : boxes_(boxes) {}
  int32_t Add(const plan::Box& box) {
    std::vector<int64_t> key = box.extents;
    key.insert(key.end(), box.in_strides.begin(), box.in_strides.end());
    key.insert(key.end(), box.out_strides.begin(), box.out_strides.end());
    if (last_ >= 0 && key == last_key_) return last_;
    auto [it, fresh] = known_.try_emplace(key, static_cast<int32_t>(boxes_.size()));
    if (fresh) boxes_.push_back(Collapsed(box));
    last_key_ = std::move(key);
    return last_ = it->second;
  }

 private:
  std::vector<plan::Box>& boxes_;
  absl::flat_hash_map<std::vector<int64_t>, int32_t> known_;
  std::vector<int64_t> last_key_;
  int32_t last_ = -1;
};

using sharding::ForEachChoice;
using Runs = sharding::ShardRuns;

// Finds the boxes that one operand contributes to the result. Along a dim with accesses (a halo
// exchange), the accesses say which elements are read. Along other dims index o reads index o.
class OperandPieces {
 public:
  OperandPieces(int32_t operand, const MoveEnd& from, const MoveEnd& to, const ir::HaloParams* halo,
                BoxTable& boxes)
      : operand_(operand),
        from_(from.type->sharding()),
        to_(to.type->sharding()),
        from_end_(from),
        to_end_(to),
        boxes_(boxes) {
    base::Shape in = sharding::LocalShape(from.type->shape(), from_);
    const base::Shape& whole = halo ? halo->to->shape() : to.type->shape();
    out_ = sharding::LocalShape(whole, to_);
    accesses_.resize(in.size());
    keep_.resize(in.size());
    for (size_t k = 0; halo && k < halo->keep.size(); ++k)
      base::At(keep_, halo->keep[k][0]).push_back({halo->keep[k][1], halo->keep[k][2]});
    for (size_t d = 0; d < in.size(); ++d) {
      dims_.push_back({from.type->shape()[d], in[d], whole[d], out_[d]});
      for (size_t k = 0; halo && k < halo->reads.size(); ++k)
        if (halo->reads[k][0] == operand && halo->reads[k][1] == static_cast<int64_t>(d))
          accesses_[d].push_back(ir::AccessOf(halo->reads[k]));
      if (accesses_[d].empty()) CountPadding(d);
    }
    summed_ = sharding::Difference(from_.unreduced, to_.unreduced);
  }

  bool reduces() const { return !summed_.empty(); }

  // Adds the pieces of the device at mesh position `index` of the target mesh. If several devices
  // hold a piece, the one with the receiver's coordinates along the other axes sends it.
  void AddPieces(int64_t index, std::vector<plan::Exchange::Piece>& pieces) {
    std::vector<Runs> runs;
    for (size_t d = 0; d < dims_.size(); ++d) runs.push_back(RunsAt(d, index));
    ForEachChoice(runs, [&](const std::vector<const sharding::ShardRun*>& choice) {
      int64_t source = index, in_offset = from_end_.offset;
      for (size_t d = 0; d < choice.size(); ++d) {
        const AxisList& axes = from_.dims[d].axes;
        if (!axes.empty())
          source = sharding::WithShardIndex(*from_.mesh, axes, source, choice[d]->shard);
        in_offset += choice[d]->in * from_end_.strides[d];
      }
      AddSources(source, {0, in_offset, OutOffset(choice), BoxOf(choice, Source::kArray), operand_},
                 pieces);
    });
  }

  // Fills the elements of the device's result that read no element of this operand with the scalar
  // `fill`. For dim d these are the gaps along d, within the elements that dims before d cover.
  void AddFill(int64_t index, int32_t source, int32_t fill,
               std::vector<plan::Exchange::Piece>& pieces) {
    std::vector<Runs> runs;
    for (size_t d = 0; d < dims_.size(); ++d) runs.push_back(Kept(d, {{.count = out_[d]}}));
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (accesses_[d].empty()) continue;
      runs[d] = Kept(d, sharding::GapsOf(accesses_[d][0], dims_[d], OutShard(d, index)));
      ForEachChoice(runs, [&](const std::vector<const sharding::ShardRun*>& choice) {
        pieces.push_back({source, 0, OutOffset(choice), BoxOf(choice, Source::kScalar), fill});
      });
      runs[d] = RunsAt(d, index);
    }
  }

 private:
  // The operand, or a scalar that fills the whole box.
  enum class Source : uint8_t { kArray, kScalar };

  // Along a dim without accesses, shards are copied with the padding after the end of the dim.
  void CountPadding(size_t d) {
    dims_[d].operand_size = dims_[d].operand_block * sharding::SizeOf(from_.dims[d].axes);
    dims_[d].result_size = dims_[d].result_block * sharding::SizeOf(to_.dims[d].axes);
  }

  int64_t OutShard(size_t d, int64_t index) const {
    const AxisList& axes = to_.dims[d].axes;
    return axes.empty() ? 0 : sharding::ShardIndex(*to_.mesh, axes, index);
  }

  Runs RunsAt(size_t d, int64_t index) const {
    if (out_[d] == 0) return {{}};
    if (accesses_[d].empty()) return sharding::RunsOf({}, dims_[d], OutShard(d, index));
    Runs runs;
    for (const sharding::Access& a : accesses_[d])
      for (const sharding::ShardRun& run : sharding::RunsOf(a, dims_[d], OutShard(d, index)))
        runs.push_back(run);
    return Kept(d, std::move(runs));
  }

  // Returns the parts of the runs in the kept ranges, at their positions in the kept elements.
  Runs Kept(size_t d, Runs runs) const {
    if (keep_[d].empty()) return runs;
    Runs kept;
    int64_t before = 0;
    for (const auto& [begin, end] : keep_[d]) {
      for (const sharding::ShardRun& run : runs) {
        const int64_t lo = std::max(begin, run.out), hi = std::min(end, run.out + run.count);
        if (lo >= hi) continue;
        sharding::ShardRun part = run;
        part.out = lo - begin + before;
        part.in += (lo - run.out) * run.in_step;
        part.count = hi - lo;
        kept.push_back(part);
      }
      before += end - begin;
    }
    return kept;
  }

  int64_t OutOffset(const std::vector<const sharding::ShardRun*>& choice) const {
    int64_t offset = to_end_.offset;
    for (size_t d = 0; d < choice.size(); ++d) offset += choice[d]->out * to_end_.strides[d];
    return offset;
  }

  int32_t BoxOf(const std::vector<const sharding::ShardRun*>& choice, Source source) {
    plan::Box box;
    for (size_t d = 0; d < choice.size(); ++d) {
      box.extents.push_back(choice[d]->count);
      box.in_strides.push_back(
          source == Source::kScalar ? 0 : from_end_.strides[d] * choice[d]->in_step);
      box.out_strides.push_back(to_end_.strides[d] * choice[d]->out_step);
    }
    return boxes_.Add(box);
  }

  void AddSources(int64_t source, plan::Exchange::Piece piece,
                  std::vector<plan::Exchange::Piece>& pieces) const {
    int64_t n = sharding::SizeOf(summed_);
    for (int64_t k = 0; k < n; ++k) {
      int64_t at = n == 1 ? source : sharding::WithShardIndex(*from_.mesh, summed_, source, k);
      int64_t device = from_.mesh ? from_.mesh->Device(at) : 0;
      piece.source = base::At(from_end_.layout->instance_of_device, device);
      pieces.push_back(piece);
    }
  }

  int32_t operand_;
  const sharding::TensorSharding &from_, &to_;
  const MoveEnd &from_end_, &to_end_;
  BoxTable& boxes_;
  base::Shape out_;  // a shard of the result, before `keep_` selects from it
  std::vector<std::vector<std::pair<int64_t, int64_t>>> keep_;  // ranges, by dim; empty: all
  std::vector<sharding::AccessDim> dims_;
  std::vector<std::vector<sharding::Access>> accesses_;  // by dim; empty: index o reads index o
  AxisList summed_;
};

// Whether each buffer has adjacent elements that are apart in the other buffer.
bool Transposes(const plan::Box& box) {
  bool in = false, out = false;
  for (size_t d = 0; d < box.extents.size(); ++d) {
    in |= box.in_strides[d] == 1 && box.out_strides[d] != 1;
    out |= box.out_strides[d] == 1 && box.in_strides[d] != 1;
  }
  return in && out;
}

// Whether the result, on all devices together, is larger than the caches.
bool Streams(const MoveEnd& to, DType dtype) {
  constexpr int64_t kStreamFrom = int64_t{16} << 20;  // bytes
  const int64_t elements = sharding::LocalElements(to.type->shape(), to.type->sharding());
  return elements * dtype.size() * to.layout->instances >= kStreamFrom;
}

// Gives boxes that are transposed on the way a kernel that transposes.
void CopyTransposing(const MoveEnd& to, const KernelFactories& kernels, plan::Exchange& e) {
  const bool streams = Streams(to, e.dtype);
  for (plan::Box& box : e.boxes)
    if (Transposes(box))
      box.copy = kernels.device_copy({.itemsize = e.dtype.size(),
                                      .box = box.extents,
                                      .in_strides = box.in_strides,
                                      .out_strides = box.out_strides,
                                      .streams = streams});
}

plan::CombineFn CombinerOf(const KernelFactories& kernels, const ir::Type& partial) {
  plan::CombineFn combine = kernels.combiner(partial.dtype(), partial.sharding().kind);
  if (combine) return combine;
  ErrorDetail detail;
  detail.op = "exchange";
  detail.reason = "the dtype does not have this reduction";
  base::ThrowInternal(std::move(detail));
}

}  // namespace

plan::Exchange MakeExchange(const std::vector<MoveEnd>& from, const MoveEnd& to,
                            const KernelFactories& kernels, const ir::HaloParams* halo) {
  plan::Exchange e;
  e.dtype = to.type->dtype();
  BoxTable boxes(e.boxes);
  std::vector<OperandPieces> operands;
  auto fill = static_cast<int32_t>(halo ? halo->fill : -1);
  for (size_t i = 0; i < from.size(); ++i)
    if (static_cast<int32_t>(i) != fill)
      operands.emplace_back(static_cast<int32_t>(i), from[i], to, halo, boxes);
  if (operands[0].reduces()) e.combine = CombinerOf(kernels, *from[0].type);
  const MeshDef* mesh = to.type->mesh() ? to.type->mesh() : from[0].type->mesh();
  std::vector<int64_t> positions = MeshPositions(*mesh);
  for (int32_t device : to.layout->device_of_instance) {
    e.pieces.emplace_back();
    for (OperandPieces& operand : operands)
      operand.AddPieces(base::At(positions, device), e.pieces.back());
    if (fill < 0) continue;
    int32_t source = base::At(base::At(from, fill).layout->instance_of_device, device);
    operands[0].AddFill(base::At(positions, device), source, fill, e.pieces.back());
  }
  if (!e.combine) CopyTransposing(to, kernels, e);
  return e;
}

plan::Exchange MakePermutation(const MoveEnd& from, const MoveEnd& to,
                               const KernelFactories& kernels, const ops::PermuteParams& params) {
  const ir::Type& place = *from.type;
  const MeshDef& mesh = *place.mesh();
  const AxisList axes = ops::AxesOf(&mesh, params.axes);
  std::vector<int64_t> source(base::Size(sharding::SizeOf(axes)), -1);
  for (const std::vector<int64_t>& pair : params.pairs) base::At(source, pair[1]) = pair[0];
  plan::Exchange e;
  e.dtype = place.dtype();
  e.boxes = {Collapsed({.extents = sharding::LocalShape(place.shape(), place.sharding()),
                        .in_strides = from.strides,
                        .out_strides = to.strides})};
  const std::vector<int64_t> positions = MeshPositions(mesh);
  for (int32_t device : to.layout->device_of_instance) {
    const int64_t index = base::At(positions, device);
    const int64_t s = base::At(source, sharding::ShardIndex(mesh, axes, index));
    e.pieces.emplace_back();
    if (s < 0) continue;
    const int64_t at = sharding::WithShardIndex(mesh, axes, index, s);
    e.pieces.back().push_back({.source = base::At(from.layout->instance_of_device, mesh.Device(at)),
                               .in_offset = from.offset,
                               .out_offset = to.offset});
  }
  CopyTransposing(to, kernels, e);
  return e;
}

void ComputeOnTheWay(plan::FusedDesc each, const MoveEnd& to, const KernelFactories& kernels,
                     plan::Exchange& e) {
  e.dtype = each.outputs[0].dtype;
  e.computed_from = each.inputs[0].dtype;
  each.streams = Streams(to, e.dtype);
  for (plan::Box& box : e.boxes) {
    each.dims = box.extents;
    each.inputs[0].strides = box.in_strides;
    each.outputs[0].strides = box.out_strides;
    box.copy = kernels.fused(each);
  }
}

plan::Layout MakeLayout(const LayoutKey& key, int32_t devices) {
  plan::Layout layout;
  layout.instance_of_device.assign(base::Size(devices), 0);
  layout.device_of_instance = {0};
  if (!key.mesh) return layout;
  // Devices outside of the mesh share the buffer of the device at position 0.
  layout.instances = static_cast<int32_t>(sharding::SizeOf(key.axes));
  layout.device_of_instance.assign(base::Size(layout.instances), devices);
  for (int64_t i = 0; i < key.mesh->size(); ++i) {
    auto instance = static_cast<int32_t>(sharding::ShardIndex(*key.mesh, key.axes, i));
    auto device = static_cast<int32_t>(key.mesh->Device(i));
    base::At(layout.instance_of_device, device) = instance;
    int32_t& least = base::At(layout.device_of_instance, instance);
    least = std::min(least, device);
  }
  return layout;
}

}  // namespace tessera::spmd
