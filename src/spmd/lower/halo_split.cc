// Finds the elements that all devices already have.
#include "spmd/lower/halo_split.h"

#include <algorithm>

#include "base/at.h"
#include "sharding/access.h"
#include "sharding/local.h"

namespace tessera::spmd {
namespace {

using sharding::ShardRun;

// Returns the longest run of elements, along a dim of a shard of the result, that the device of the
// shard already has.
std::optional<ShardRun> OwnRun(const std::vector<sharding::Access>& accesses,
                               const sharding::AccessDim& dim, int64_t shard) {
  std::optional<ShardRun> own;
  for (const sharding::Access& a : accesses)
    for (const ShardRun& run : sharding::RunsOf(a, dim, shard))
      if (run.shard == shard && (!own || run.count > own->count)) own = run;
  return own;
}

std::optional<OwnRange> RangeOf(const std::vector<sharding::Access>& accesses,
                                const sharding::AccessDim& dim) {
  OwnRange range{.begin = 0, .end = dim.result_block, .size = dim.result_block};
  for (int64_t t = 0; t * dim.result_block < dim.result_size; ++t) {
    const std::optional<ShardRun> own = OwnRun(accesses, dim, t);
    if (!own || (t > 0 && own->in - own->out != range.shift)) return {};
    range.shift = own->in - own->out;
    range.begin = std::max(range.begin, own->out);
    // The padding after a shard's last element may be anything.
    const bool last = own->out + own->count == dim.result_size - t * dim.result_block;
    if (!last) range.end = std::min(range.end, own->out + own->count);
  }
  range.end = std::min(range.end, dim.operand_block - range.shift);
  if (range.begin >= range.end) return {};
  return range;
}

}  // namespace

std::optional<std::vector<OwnRange>> OwnRangesOf(const ir::HaloParams& halo) {
  if (halo.from.size() != (halo.fill < 0 ? 1 : 2) || halo.fill == 0) return {};
  const ir::Type &from = *halo.from[0], &to = *halo.to;
  const sharding::TensorSharding &in = from.sharding(), &out = to.sharding();
  if (!in.unreduced.empty() || from.rank() != to.rank()) return {};
  const base::Shape in_block = sharding::LocalShape(from.shape(), in),
                    out_block = sharding::LocalShape(to.shape(), out);
  std::vector<OwnRange> own;
  double whole = 1, kept = 1;
  for (size_t d = 0; d < out_block.size(); ++d) {
    if (in.dims[d].axes != out.dims[d].axes) return {};
    std::vector<sharding::Access> accesses;
    for (const std::vector<int64_t>& read : halo.reads)
      if (read[0] == 0 && read[1] == static_cast<int64_t>(d)) {
        if (read[3] != 1 || read[4] != 1) return {};
        accesses.push_back({.offset = read[2]});
      }
    std::optional<OwnRange> range = OwnRange{0, out_block[d], out_block[d], 0};
    if (!accesses.empty())
      range = RangeOf(accesses, {from.shape()[d], in_block[d], to.shape()[d], out_block[d]});
    else if (in_block[d] != out_block[d])
      return {};
    if (!range) return {};
    whole *= static_cast<double>(range->size);
    kept *= static_cast<double>(range->end - range->begin);
    own.push_back(*range);
  }
  if (2 * kept < whole) return {};
  return own;
}

ir::HaloParams EdgesOf(const ir::HaloParams& halo, const std::vector<OwnRange>& own, size_t d) {
  ir::HaloParams edges = halo;
  for (size_t k = 0; k < d; ++k)
    if (own[k].edges() > 0)
      edges.keep.push_back({static_cast<int64_t>(k), own[k].begin, own[k].end});
  const auto dim = static_cast<int64_t>(d);
  if (own[d].begin > 0) edges.keep.push_back({dim, 0, own[d].begin});
  if (own[d].end < own[d].size) edges.keep.push_back({dim, own[d].end, own[d].size});
  return edges;
}

}  // namespace tessera::spmd
