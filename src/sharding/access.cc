// Finds the runs of elements that a shard of the result reads, and counts the bytes that devices
// exchange for them.
#include "sharding/access.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "base/divide.h"

namespace tessera::sharding {
namespace {

using base::CeilDiv;
using base::FloorDiv;

// The result indices first, first + step, ... of one shard that read an element of the operand.
struct Covered {
  int64_t first = 0, step = 1, count = 0;
  int64_t last() const { return first + (count - 1) * step; }
};

struct Interval {
  int64_t begin, end;
};
Interval ShardRange(const AccessDim& dim, int64_t shard) {
  int64_t begin = std::min(shard * dim.result_block, dim.result_size);
  return {begin, std::min(begin + dim.result_block, dim.result_size)};
}

// Returns the access with the offset that holds for one shard of the result.
Access AtShard(Access a, int64_t shard) {
  a.offset += shard * a.per_shard;
  return a;
}

// `a`: at this shard.
Covered CoveredBy(const Access& a, const AccessDim& dim, int64_t shard) {
  auto [begin, end] = ShardRange(dim, shard);
  if (begin >= end || dim.operand_size == 0) return {};
  int64_t top = a.dilation * (dim.operand_size - 1);
  int64_t lo = a.stride > 0 ? CeilDiv(-a.offset, a.stride) : CeilDiv(a.offset - top, -a.stride);
  int64_t hi = a.stride > 0 ? FloorDiv(top - a.offset, a.stride) : FloorDiv(a.offset, -a.stride);
  lo = std::max(lo, begin);
  hi = std::min(hi, end - 1);
  if (a.dilation > 1) {
    int64_t past = (-a.offset * a.stride - lo) % a.dilation;
    lo += past < 0 ? past + a.dilation : past;
  }
  if (lo > hi) return {};
  return {lo, a.dilation, (hi - lo) / a.dilation + 1};
}

// The numbers of elements that each shard of the result reads along one dim: all of them, and those
// on the shard's own device.
struct ElementsRead {
  std::vector<int64_t> all, own;
};

std::vector<Access> AccessesOf(const DimMap& map, int32_t operand, int32_t factor) {
  std::vector<Access> accesses;
  for (const Access& a : map.accesses)
    if (a.operand == operand && a.factor == factor) accesses.push_back(a);
  return accesses;
}

// Replaces an access with a window, the only one, by the access of its view.
void ReadView(std::vector<Access>& accesses, AccessDim& dim) {
  const WindowView view = ViewOf(accesses[0], dim.result_block);
  accesses = {view.access};
  dim.result_size = base::CeilDiv(dim.result_size, dim.result_block) * view.extent;
  dim.result_block = view.extent;
}

ElementsRead ReadsOf(std::vector<Access> accesses, AccessDim dim) {
  if (accesses[0].window > 0 && dim.result_size > 0) ReadView(accesses, dim);
  ElementsRead reads;
  for (int64_t t = 0; t * dim.result_block < dim.result_size; ++t) {
    int64_t all = 0, own = 0;
    for (const Access& a : accesses) {
      for (const ShardRun& run : RunsOf(a, dim, t)) {
        all += run.count;
        own += run.shard == t ? run.count : 0;
      }
    }
    reads.all.push_back(all);
    reads.own.push_back(own);
  }
  return reads;
}

// The reads from one operand. `along` counts the indices read along each exchanged dim; `elements`
// is the size of the operand's slice at one index of each of them.
struct OperandReads {
  ItemSize itemsize;
  int64_t elements = 1;
  std::vector<ElementsRead> along;
};

bool Reads(const DimMap& map, int32_t operand, int32_t factor) {
  return absl::c_any_of(
      map.accesses, [=](const Access& a) { return a.operand == operand && a.factor == factor; });
}

class Halo {
 public:
  Halo(const DimMap& map, const std::vector<PartitionTensor>& operands, const Shape& result,
       const FactorAxes& axes)
      : map_(map), shapes_(operands), result_(result), axes_(axes) {
    for (size_t i = 0; i < operands.size(); ++i) Add(static_cast<int32_t>(i), operands[i]);
  }

  // Returns the most bytes that any shard of the result receives.
  int64_t Bytes() const {
    if (absl::c_linear_search(shards_, 0)) return 0;
    std::vector<int64_t> at(shards_.size(), 0);
    int64_t most = 0;
    size_t d = 0;
    do {
      most = std::max(most, BytesAt(at));
      for (d = at.size(); d-- > 0; at[d] = 0)
        if (++at[d] < shards_[d]) break;
    } while (d < at.size());
    return most;
  }

 private:
  void Add(int32_t i, const PartitionTensor& operand) {
    OperandReads reads{.itemsize = operand.itemsize, .along = {}};
    bool reads_any = false;
    for (size_t d = 0; d < operand.shape->size(); ++d) {
      int64_t size = (*operand.shape)[d], shards = 1;
      int32_t moved = -1;
      for (int32_t f : map_.operands[i][d]) {
        shards *= SizeOf(axes_[f]);
        if (MayExchange(map_, f) && Reads(map_, i, f)) moved = f;
      }
      if (moved < 0) {
        reads.elements *= CeilDiv(size, shards);
        continue;
      }
      reads_any = true;
      const CountingDim counted = CountedBy(map_, moved);
      const Shape& counts = counted.operand < 0 ? result_ : *shapes_[counted.operand].shape;
      const int64_t to = counts[counted.dim];
      std::vector<Access> accesses = AccessesOf(map_, i, moved);
      if (shards == 1 && accesses[0].window > 0) {
        reads.elements *= size;
        continue;
      }
      ElementsRead along =
          ReadsOf(std::move(accesses), {size, CeilDiv(size, shards), to, CeilDiv(to, shards)});
      if (shards == 1)
        reads.elements *= along.all.empty() ? 0 : along.all[0];
      else
        reads.along.push_back(std::move(along));
    }
    if (!reads_any || reads.elements == 0) return;
    shards_.clear();
    for (const ElementsRead& r : reads.along) shards_.push_back(static_cast<int64_t>(r.all.size()));
    operands_.push_back(std::move(reads));
  }

  int64_t BytesAt(const std::vector<int64_t>& shard) const {
    int64_t bytes = 0;
    for (const OperandReads& r : operands_) {
      int64_t all = 1, own = 1;
      for (size_t k = 0; k < r.along.size(); ++k) {
        all *= r.along[k].all[shard[k]];
        own *= r.along[k].own[shard[k]];
      }
      bytes += r.itemsize.BytesOf(r.elements * (all - own));
    }
    return bytes;
  }

  const DimMap& map_;
  const std::vector<PartitionTensor>& shapes_;
  const Shape& result_;
  const FactorAxes& axes_;
  std::vector<OperandReads> operands_;
  std::vector<int64_t> shards_;  // numbers of result shards along each exchanged dim
};

}  // namespace

WindowView ViewOf(const Access& a, int64_t block) {
  const int64_t extent = (block - 1) * a.stride + (a.window - 1) * a.window_dilation + 1;
  return {extent,
          {.operand = a.operand,
           .factor = a.factor,
           .offset = a.offset,
           .dilation = a.dilation,
           .per_shard = block * a.stride - extent}};
}

ShardRuns RunsOf(const Access& access, const AccessDim& dim, int64_t shard) {
  const Access a = AtShard(access, shard);
  Covered covered = CoveredBy(a, dim, shard);
  int64_t origin = ShardRange(dim, shard).begin;
  int64_t in_step = a.dilation > 1 ? a.stride : a.stride * covered.step;
  ShardRuns runs;
  for (int64_t k = 0; k < covered.count;) {
    int64_t out = covered.first + k * covered.step;
    int64_t in = (out * a.stride + a.offset) / a.dilation;
    int64_t source = in / dim.operand_block, local = in % dim.operand_block;
    int64_t room = in_step > 0 ? dim.operand_block - 1 - local : local;
    int64_t count = std::min(covered.count - k, room / std::abs(in_step) + 1);
    runs.push_back({source, out - origin, covered.step, local, in_step, count});
    k += count;
  }
  return runs;
}

ShardRuns GapsOf(const Access& access, const AccessDim& dim, int64_t shard) {
  const Access a = AtShard(access, shard);
  auto [begin, end] = ShardRange(dim, shard);
  Covered covered = CoveredBy(a, dim, shard);
  ShardRuns gaps;
  auto add = [&, begin = begin](int64_t first, int64_t step, int64_t count) {
    if (count > 0) gaps.push_back({.out = first - begin, .out_step = step, .count = count});
  };
  if (covered.count == 0) {
    add(begin, 1, end - begin);
    return gaps;
  }
  add(begin, 1, covered.first - begin);
  for (int64_t k = 1; k < covered.step; ++k)
    add(covered.first + k, covered.step, covered.count - 1);
  add(covered.last() + 1, 1, end - covered.last() - 1);
  return gaps;
}

bool MayExchange(const DimMap& map, size_t factor) {
  const auto f = static_cast<int32_t>(factor);
  const FactorKind kind = map.factors[factor].kind;
  if (kind == FactorKind::kPass) return false;
  if (absl::c_none_of(map.accesses, [&](const Access& a) { return a.factor == f; })) return false;
  int64_t counts = kind == FactorKind::kReduce ? 1 : 0;
  for (size_t i = 0; i < map.operands.size(); ++i)
    if (HasFactor(map.operands[i], f) && !Reads(map, static_cast<int32_t>(i), f)) --counts;
  return counts == 0;
}

CountingDim CountedBy(const DimMap& map, int32_t factor) {
  const auto dim_of = [&](const DimFactors& dims) {
    return static_cast<size_t>(
        absl::c_find_if(dims,
                        [&](const FactorList& d) { return absl::c_linear_search(d, factor); }) -
        dims.begin());
  };
  if (HasFactor(map.results[0], factor)) return {-1, dim_of(map.results[0])};
  int32_t i = 0;
  while (!HasFactor(map.operands[i], factor) || Reads(map, i, factor)) ++i;
  return {i, dim_of(map.operands[i])};
}

int64_t HaloBytes(const DimMap& map, const std::vector<PartitionTensor>& operands,
                  const Shape& result, const FactorAxes& axes) {
  return Halo(map, operands, result, axes).Bytes();
}

}  // namespace tessera::sharding
