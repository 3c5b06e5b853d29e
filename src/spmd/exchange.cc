// Every collective as boxes that move between instances.
#include <algorithm>

#include "base/shape.h"
#include "sharding/local.h"
#include "spmd/moves.h"
#include "spmd/plan_builder.h"

namespace tessera::spmd {
namespace {

using sharding::AxisList;
using sharding::MeshDef;

std::vector<int64_t> Positions(const MeshDef& mesh) {
  std::vector<int64_t> position(static_cast<size_t>(mesh.size()));
  for (int64_t i = 0; i < mesh.size(); ++i) {
    auto device = static_cast<size_t>(mesh.Device(i));
    if (position.size() <= device) position.resize(device + 1, 0);
    position[device] = i;
  }
  return position;
}

// Drops dims of size 1 and joins dims that are contiguous on both sides.
void Collapse(plan::Exchange& e) {
  std::vector<int64_t> box, in, out;
  for (size_t d = 0; d < e.box.size(); ++d) {
    if (e.box[d] == 1) continue;
    if (!box.empty() && in.back() == e.in_strides[d] * e.box[d] &&
        out.back() == e.out_strides[d] * e.box[d]) {
      box.back() *= e.box[d];
      in.back() = e.in_strides[d];
      out.back() = e.out_strides[d];
    } else {
      box.push_back(e.box[d]);
      in.push_back(e.in_strides[d]);
      out.push_back(e.out_strides[d]);
    }
  }
  if (box.empty()) box = in = out = {1};
  e.box = box;
  e.in_strides = in;
  e.out_strides = out;
}

// Both blocks of a dim are multiples of the moved box: the smaller block, as one divides the other
// in every step that is planned.
class Mover {
 public:
  Mover(const ir::Type& from, const ir::Type& to, const plan::Layout& from_layout)
      : from_(from.sharding()), to_(to.sharding()), from_layout_(from_layout) {
    in_shape_ = sharding::LocalShape(from.shape(), from_);
    out_shape_ = sharding::LocalShape(to.shape(), to_);
    in_strides_ = base::DenseStrides(in_shape_);
    out_strides_ = base::DenseStrides(out_shape_);
    for (size_t d = 0; d < in_shape_.size(); ++d) {
      box_.push_back(std::min(in_shape_[d], out_shape_[d]));
      counts_.push_back(box_[d] == 0 ? 1 : out_shape_[d] / box_[d]);
    }
    summed_ = sharding::Difference(from_.unreduced, to_.unreduced);
  }

  const std::vector<int64_t>& box() const { return box_; }
  const std::vector<int64_t>& in_strides() const { return in_strides_; }
  const std::vector<int64_t>& out_strides() const { return out_strides_; }
  bool reduces() const { return !summed_.empty(); }

  // The pieces of the device at mesh position `index` of the target mesh. A part that several
  // devices hold is taken from the one whose other coordinates are the receiver's own.
  std::vector<plan::Exchange::Piece> Pieces(int64_t index) const {
    std::vector<plan::Exchange::Piece> pieces;
    std::vector<int64_t> block(box_.size(), 0);
    do {
      int64_t source = index, in_offset = 0, out_offset = 0;
      for (size_t d = 0; d < box_.size(); ++d) {
        int64_t start = OutBegin(d, index) + block[d] * box_[d];
        const AxisList& axes = from_.dims[d].axes;
        int64_t shard =
            in_shape_[d] == 0 ? 0 : std::min(start / in_shape_[d], sharding::SizeOf(axes) - 1);
        if (!axes.empty()) source = sharding::WithShardIndex(*from_.mesh, axes, source, shard);
        in_offset += (start - shard * in_shape_[d]) * in_strides_[d];
        out_offset += block[d] * box_[d] * out_strides_[d];
      }
      AddSources(source, in_offset, out_offset, pieces);
    } while (Next(block));
    return pieces;
  }

 private:
  int64_t OutBegin(size_t d, int64_t index) const {
    const AxisList& axes = to_.dims[d].axes;
    return axes.empty() ? 0 : sharding::ShardIndex(*to_.mesh, axes, index) * out_shape_[d];
  }

  void AddSources(int64_t source, int64_t in_offset, int64_t out_offset,
                  std::vector<plan::Exchange::Piece>& pieces) const {
    int64_t n = sharding::SizeOf(summed_);
    for (int64_t k = 0; k < n; ++k) {
      int64_t at = n == 1 ? source : sharding::WithShardIndex(*from_.mesh, summed_, source, k);
      int64_t device = from_.mesh ? from_.mesh->Device(at) : 0;
      pieces.push_back(
          {from_layout_.instance_of_device[static_cast<size_t>(device)], in_offset, out_offset});
    }
  }

  bool Next(std::vector<int64_t>& block) const {
    for (size_t d = block.size(); d-- > 0;) {
      if (++block[d] < counts_[d]) return true;
      block[d] = 0;
    }
    return false;
  }

  const sharding::TensorSharding &from_, &to_;
  const plan::Layout& from_layout_;
  std::vector<int64_t> in_shape_, out_shape_, in_strides_, out_strides_, box_, counts_;
  AxisList summed_;
};

}  // namespace

plan::Exchange MakeExchange(const ir::Type& from, const ir::Type& to,
                            const plan::Layout& from_layout, const plan::Layout& to_layout) {
  Mover mover(from, to, from_layout);
  plan::Exchange e;
  e.dtype = from.dtype();
  e.box = mover.box();
  e.in_strides = mover.in_strides();
  e.out_strides = mover.out_strides();
  e.reduces = mover.reduces();
  e.reduction = ToPlan(from.sharding().kind);
  const MeshDef* mesh = to.mesh() ? to.mesh() : from.mesh();
  std::vector<int64_t> positions = Positions(*mesh);
  for (int32_t device : to_layout.device_of_instance)
    e.pieces.push_back(mover.Pieces(positions[static_cast<size_t>(device)]));
  Collapse(e);
  return e;
}

plan::Layout MakeLayout(const LayoutKey& key, int32_t devices) {
  plan::Layout layout;
  layout.instance_of_device.assign(static_cast<size_t>(devices), 0);
  layout.device_of_instance = {0};
  if (!key.mesh) return layout;
  // Devices outside of the mesh count as the device at position 0.
  layout.instances = static_cast<int32_t>(sharding::SizeOf(key.axes));
  layout.device_of_instance.assign(static_cast<size_t>(layout.instances), devices);
  for (int64_t i = 0; i < key.mesh->size(); ++i) {
    auto instance = static_cast<int32_t>(sharding::ShardIndex(*key.mesh, key.axes, i));
    auto device = static_cast<int32_t>(key.mesh->Device(i));
    layout.instance_of_device[static_cast<size_t>(device)] = instance;
    int32_t& least = layout.device_of_instance[static_cast<size_t>(instance)];
    least = std::min(least, device);
  }
  return layout;
}

}  // namespace tessera::spmd
