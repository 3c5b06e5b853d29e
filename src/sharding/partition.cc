// Compares candidate axes for the factors of an op by bytes and FLOPs, and takes the cheapest.
#include "sharding/partition.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/sum_order.h"
#include "sharding/access.h"
#include "sharding/local.h"
#include "sharding/partition_case.h"
#include "sharding/reshard.h"

namespace tessera::sharding {
namespace {

bool SharesAxes(const AxisList& axes, const AxisList& set) {
  return absl::c_any_of(axes, [&](AxisPart a) { return OverlapsAny(set, a); });
}

// Whether the op sums operand i over dims that are sharded over exactly the axes of `set`. It then
// gives partial sums over them, as an operand that is unreduced over them would.
bool SumsExactlyOver(const PartitionCase& c, size_t i, const FactorAxes& axes,
                     const AxisList& set) {
  AxisList summed;
  for (size_t f = 0; f < axes.size(); ++f)
    if (SharesAxes(axes[f], set) && HasFactor(c.map.operands[i], f))
      summed.insert(summed.end(), axes[f].begin(), axes[f].end());
  SortAndMerge(summed);
  return summed == set;
}

// Operands that stay unreduced through the op.
struct Carried {
  const LinearGroup* group;
  const TensorSharding* carrier;  // of one that is unreduced
};

// Whether the results may stay unreduced as the carrier is. Each operand of the group must be
// unreduced over its axes, or be summed over exactly them; they may shard no other factor. All
// sharded reductions must be of the carrier's kind.
bool MayStayUnreduced(const PartitionCase& c, const Carried& carried, const FactorAxes& axes) {
  const AxisList& set = carried.carrier->unreduced;
  bool any = false;
  for (size_t f = 0; f < axes.size(); ++f) {
    const Factor& factor = c.map.factors[f];
    const bool shares = SharesAxes(axes[f], set),
               reduces = factor.kind == FactorKind::kReduce && !axes[f].empty();
    if ((shares && !reduces) || (reduces && factor.reduction != carried.carrier->kind))
      return false;
    any = any || shares;
  }
  if (!any) return true;
  return absl::c_all_of(carried.group->operands, [&](int32_t i) {
    bool sharded = false;
    for (size_t f = 0; f < axes.size(); ++f)
      sharded = sharded || (SharesAxes(axes[f], set) && HasFactor(c.map.operands[i], f));
    return !sharded || SumsExactlyOver(c, i, axes, set);
  });
}

// Whether an operand beside the carrier has its terms in shards, so that each device would add its
// own. Where sums have one order, one device adds all of them.
bool HasTermsInShards(const PartitionCase& c, const Carried& carried) {
  return absl::c_any_of(carried.group->operands, [&](int32_t i) {
    const TensorSharding& s = *c.operands[i].sharding;
    bool has = false;
    for (size_t d = 0; d < s.dims.size() && s.unreduced.empty(); ++d)
      if (SharesAxes(s.dims[d].axes, carried.carrier->unreduced))
        for (int32_t f : c.map.operands[i][d])
          has = has || c.map.factors[f].kind == FactorKind::kReplicate;
    return has;
  });
}

std::optional<Carried> FindCarried(const PartitionCase& c, const FactorAxes& axes) {
  for (const LinearGroup& group : c.map.linear)
    for (int32_t i : group.operands) {
      if (c.operands[i].sharding->unreduced.empty()) continue;
      const Carried carried{&group, c.operands[i].sharding};
      if (base::KeepsSumOrder() && HasTermsInShards(c, carried)) return std::nullopt;
      return MayStayUnreduced(c, carried, axes) ? std::optional(carried) : std::nullopt;
    }
  return std::nullopt;
}

// Returns the axes over which the op leaves partial results.
AxisList PartialAxes(const PartitionCase& c, const FactorAxes& axes) {
  AxisList partial;
  for (size_t f = 0; f < axes.size(); ++f)
    if (c.map.factors[f].kind == FactorKind::kReduce)
      partial.insert(partial.end(), axes[f].begin(), axes[f].end());
  SortAndMerge(partial);
  return partial;
}

Reduction ReductionOf(const DimMap& map) {
  for (const Factor& f : map.factors)
    if (f.kind == FactorKind::kReduce) return f.reduction;
  return Reduction::kSum;
}

void AddOperands(const PartitionCase& c, const FactorAxes& axes,
                 const std::optional<Carried>& carried, Partition& p) {
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const PartitionTensor& operand = c.operands[i];
    TensorSharding s = Unproject(c.map, c.map.operands[i], axes, c.mesh);
    s.varying = operand.sharding->varying;
    if (carried && absl::c_linear_search(carried->group->operands, static_cast<int32_t>(i)) &&
        !SumsExactlyOver(c, i, axes, carried->carrier->unreduced)) {
      s.unreduced = carried->carrier->unreduced;
      s.kind = carried->carrier->kind;
    }
    p.bytes += ReshardBytes(*operand.shape, operand.itemsize, *operand.sharding, s);
    p.operands.push_back(std::move(s));
  }
}

void AddResults(const PartitionCase& c, const FactorAxes& axes,
                const std::optional<Carried>& carried, Partition& p) {
  AxisList unreduced = carried ? carried->carrier->unreduced : AxisList();
  const AxisList own = unreduced;
  for (AxisPart a : PartialAxes(c, axes))
    if (!OverlapsAny(own, a)) unreduced.push_back(a);
  SortAndMerge(unreduced);
  for (size_t i = 0; i < c.results.size(); ++i) {
    const PartitionTensor& result = c.results[i];
    TensorSharding s = Unproject(c.map, c.map.results[i], axes, c.mesh);
    s.unreduced = unreduced;
    s.varying = result.sharding->varying;
    if (!unreduced.empty()) s.kind = carried ? carried->carrier->kind : ReductionOf(c.map);
    p.bytes += ReshardBytes(*result.shape, result.itemsize, s, *result.sharding);
    p.results.push_back(std::move(s));
  }
}

void AddHalo(const PartitionCase& c, const FactorAxes& axes, Partition& p) {
  for (size_t f = 0; f < axes.size(); ++f)
    if (c.factors[f].exchanged && SizeOf(axes[f]) > 1)
      p.halo_axes.insert(p.halo_axes.end(), axes[f].begin(), axes[f].end());
  if (p.halo_axes.empty()) return;
  p.halo_bytes = HaloBytes(c.map, c.operands, *c.results[0].shape, axes);
  p.bytes += p.halo_bytes;
}

// Returns the elements that a device sends to sort one line: twice to all others, and each half to
// a neighbour.
int64_t SortedElements(int64_t size, int64_t shards) {
  const int64_t block = SortedBlock(size, shards);
  return 2 * (block / shards * (shards - 1)) + block;
}

// Returns the bytes that a device sends to scan along factor f, for result i.
int64_t ScanBytes(const PartitionCase& c, size_t f, int64_t shards, size_t i, const Partition& p) {
  const Factor& factor = c.map.factors[f];
  const ItemSize itemsize = c.results[i].itemsize;
  const int64_t elements = LocalElements(*c.results[i].shape, p.results[i]);
  if (!c.factors[f].in_results) return itemsize.BytesOf(elements * (shards - 1));
  const int64_t lines = elements / ((factor.size + shards - 1) / shards);
  if (!factor.sorts) return itemsize.BytesOf(lines * (shards - 1));
  const int64_t positions = factor.by_position && i == 0 ? PositionBytes(factor.size, shards) : 0;
  const int64_t sent = lines * SortedElements(factor.size, shards);
  return itemsize.BytesOf(sent) + sent * positions;
}

void AddScans(const PartitionCase& c, const FactorAxes& axes, Partition& p) {
  for (size_t f = 0; f < axes.size(); ++f) {
    const int64_t shards = SizeOf(axes[f]), size = c.map.factors[f].size;
    if (c.map.factors[f].kind != FactorKind::kScan || shards == 1 || size == 0) continue;
    p.scan_axes = axes[f];
    for (size_t i = 0; i < c.results.size(); ++i) p.scan_bytes += ScanBytes(c, f, shards, i, p);
  }
  p.bytes += p.scan_bytes;
}

// Returns the points of the iteration space that one device computes.
double LocalPoints(const DimMap& map, const FactorAxes& axes) {
  double points = map.density;
  for (size_t f = 0; f < axes.size(); ++f) {
    const int64_t shards = SizeOf(axes[f]);
    const int64_t block = (map.factors[f].size + shards - 1) / shards;
    points *= static_cast<double>(block);
  }
  return points;
}

// Returns the partition with these axes.
Partition PartitionOver(const PartitionCase& c, FactorAxes axes) {
  DropUnholdableAxes(c.map, axes);
  Partition p;
  const std::optional<Carried> carried = FindCarried(c, axes);
  AddOperands(c, axes, carried, p);
  AddResults(c, axes, carried, p);
  AddHalo(c, axes, p);
  AddScans(c, axes, p);
  p.flops = LocalPoints(c.map, axes);
  p.factors = std::move(axes);
  return p;
}

// Returns the cost in bytes. Of equally cheap choices, the one that splits the work further costs
// less.
double CostOf(const Partition& p, double flops_per_point) {
  int64_t shards = 1;
  for (const AxisList& a : p.factors) shards *= SizeOf(a);
  return static_cast<double>(p.bytes) + flops_per_point * p.flops / FlopsPerByte() +
         1.0 / static_cast<double>(shards);
}

// Whether the partition splits the work over all of the axes.
bool SplitsOver(const Partition& p, const AxisList& agreed) {
  AxisList used;
  for (const AxisList& list : p.factors) used.insert(used.end(), list.begin(), list.end());
  return Difference(agreed, used).empty();
}

thread_local double flops_per_byte = kDefaultFlopsPerByte;

}  // namespace

int64_t SortedBlock(int64_t size, int64_t shards) {
  const int64_t least = std::max((size + shards - 1) / shards, 2 * (shards - 1) * (shards - 1));
  const int64_t grain = std::lcm(shards, int64_t{2});
  return (least + grain - 1) / grain * grain;
}

int64_t PositionBytes(int64_t size, int64_t shards) {
  return SortedBlock(size, shards) * shards > std::numeric_limits<int32_t>::max() ? 8 : 4;
}

double FlopsPerByte() { return flops_per_byte; }
void SetFlopsPerByte(double n) { flops_per_byte = n; }

Partition ChoosePartition(const DimMap& map, const std::vector<PartitionTensor>& operands,
                          const std::vector<PartitionTensor>& results, double flops_per_point) {
  const PartitionCase c(map, operands, results);
  const Candidates candidates = FindCandidates(c);
  if (candidates.choices.empty()) return PartitionOver(c, FactorAxes(map.factors.size()));
  Partition best;
  double best_cost = -1;
  bool best_splits = false;
  for (const FactorAxes& choice : candidates.choices) {
    Partition p = PartitionOver(c, choice);
    const bool splits = flops_per_point <= 0 || SplitsOver(p, candidates.agreed);
    const double cost = CostOf(p, flops_per_point);
    if (best_cost >= 0 && (splits != best_splits ? best_splits : cost >= best_cost)) continue;
    best = std::move(p);
    best_cost = cost;
    best_splits = splits;
  }
  return best;
}

}  // namespace tessera::sharding
