// Two passes over the shards of a dim, and an exchange of one element per shard between them.
#include "ops/scan.h"

#include <utility>

#include "base/at.h"
#include "ops/laid_out.h"
#include "ops/pieces.h"
#include "ops/tangents.h"

namespace tessera::ops {
namespace {

// The types of a scan of n elements in `shards` shards of `block` elements each.
struct ScanTypes {
  const ir::Type* padded;  // [..., shards * block, ...]
  const ir::Type* blocks;  // [..., shards, block, ...]
  const ir::Type* ends;    // [..., shards, 1, ...]
  const ir::Type* whole;   // the same, with all shards on every device
};

ScanTypes TypesOf(const ir::Type* x, size_t dim, int64_t shards, int64_t block) {
  base::Shape padded = x->shape();
  sharding::TensorSharding sharding = x->sharding();
  const auto at = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(dim); };
  padded[dim] = shards * block;
  base::Shape blocks = padded;
  blocks[dim] = block;
  blocks.insert(at(blocks), shards);
  base::Shape ends = blocks;
  ends[dim + 1] = 1;
  const sharding::DimAxes whole_dim;
  sharding.dims.insert(at(sharding.dims) + 1, whole_dim);
  sharding::TensorSharding whole = sharding;
  whole.dims[dim].axes.clear();
  return {ir::Type::Get(padded, x->dtype(), x->sharding()),
          ir::Type::Get(blocks, x->dtype(), sharding), ir::Type::Get(ends, x->dtype(), sharding),
          ir::Type::Get(ends, x->dtype(), whole)};
}

class ShardScan {
 public:
  ShardScan(ir::Builder& b, const Scan& scan, const ir::Type* from, int64_t shards)
      : b_(b),
        scan_(scan),
        from_(from),
        dim_(base::Size(scan.params.dim[0])),
        size_(from->shape()[dim_]),
        block_((size_ + shards - 1) / shards),
        types_(TypesOf(from, dim_, shards, block_)) {}

  ir::ValueId Of(ir::ValueId x) {
    if (IsPadded()) x = Padded(x, 0, types_.padded->shape()[dim_] - size_, types_.padded);
    const ir::ValueId blocks = Make(kReshape, nullptr, {x}, types_.blocks);
    const ir::ValueId local = Running(blocks, dim_ + 1);
    ir::ValueId y = scan_.combine(b_, types_.blocks, local, BeforeEach(EndOfEach(local)));
    y = Make(kReshape, nullptr, {y}, types_.padded);
    return IsPadded() ? Sliced(y, dim_, 0, size_, from_) : y;
  }

 private:
  bool IsPadded() const { return types_.padded->shape() != from_->shape(); }

  ir::ValueId EndOfEach(ir::ValueId local) {
    const int64_t end = scan_.params.reverse ? 0 : block_ - 1;
    return Sliced(local, dim_ + 1, end, end + 1, types_.ends);
  }
  // Returns the result of all shards before each one, for each of its elements.
  ir::ValueId BeforeEach(ir::ValueId ends) {
    const ir::ValueId running = Running(Conform(b_, ends, types_.whole), dim_);
    const int64_t by = scan_.params.reverse ? -1 : 1;
    const ir::ValueId before = Conform(b_, Padded(running, by, -by, types_.whole), types_.ends);
    BroadcastParams all;
    for (int64_t d = 0; d < types_.blocks->rank(); ++d) all.dims.push_back(d);
    return Make(kBroadcastInDim, ir::MakeParams(std::move(all)), {before}, types_.blocks);
  }

  ir::ValueId Running(ir::ValueId v, size_t dim) {
    CumulativeParams params = scan_.params;
    params.dim = {static_cast<int64_t>(dim)};
    return Make(scan_.op, ir::MakeParams(std::move(params)), {v}, b_.type(v));
  }
  ir::ValueId Padded(ir::ValueId v, int64_t low, int64_t high, const ir::Type* to) {
    const ir::ValueId fill = Make(kConstant, scan_.identity, {}, ir::Type::Get({}, from_->dtype()));
    return Make(kPad, PadAlong(to->shape().size(), dim_, low, high), {v, fill}, to);
  }
  ir::ValueId Sliced(ir::ValueId v, size_t dim, int64_t begin, int64_t end, const ir::Type* to) {
    return Make(kSlice, SliceAlong(b_.type(v)->shape(), dim, begin, end), {v}, to);
  }
  ir::ValueId Make(const OpDef& op, ir::ParamsPtr params,
                   std::initializer_list<ir::ValueId> operands, const ir::Type* type) {
    return b_.EmitTyped(op, std::move(params), operands, {&type, 1})[0];
  }

  ir::Builder& b_;
  const Scan& scan_;
  const ir::Type* const from_;
  const size_t dim_;
  const int64_t size_, block_;
  const ScanTypes types_;
};

}  // namespace

ir::ValueId ScanOnShards(ir::Builder& b, ir::ValueId x, const Scan& scan) {
  const ir::Type* type = b.type(x);
  const auto dim = base::Size(scan.params.dim[0]);
  return ShardScan(b, scan, type, sharding::SizeOf(type->sharding().dims[dim].axes)).Of(x);
}

}  // namespace tessera::ops
