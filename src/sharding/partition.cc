#include "sharding/partition.h"

#include <algorithm>

#include "sharding/access.h"
#include "sharding/reshard.h"

namespace tessera::sharding {
namespace {

class Chooser {
 public:
  Chooser(const DimMap& map, const std::vector<PartitionTensor>& operands,
          const std::vector<PartitionTensor>& results)
      : map_(map), operands_(operands), results_(results) {
    for (const auto* tensors : {&operands, &results})
      for (const PartitionTensor& t : *tensors)
        if (t.sharding->mesh) mesh_ = t.sharding->mesh;
    FindFactors();
    for (size_t i = 0; i < operands.size(); ++i) Add(map.operands[i], *operands[i].sharding);
    for (size_t i = 0; i < results.size(); ++i) Add(map.results[i], *results[i].sharding);
  }

  Partition Run() {
    if (projections_.empty()) return Build(FactorAxes(map_.factors.size()));
    Partition best;
    double best_cost = -1;
    for (const FactorAxes& candidate : Candidates()) {
      Partition p = Build(candidate);
      // Among equal bytes the choice that splits the work further wins.
      double cost = static_cast<double>(p.bytes) + 1.0 / static_cast<double>(Shards(p.factors));
      if (best_cost >= 0 && cost >= best_cost) continue;
      best = std::move(p);
      best_cost = cost;
    }
    return best;
  }

 private:
  void FindFactors() {
    in_results_ = FactorsOf(map_, map_.results);
    in_operands_ = FactorsOf(map_, map_.operands);
    for (size_t f = 0; f < map_.factors.size(); ++f)
      exchanged_.push_back(!results_.empty() && MayExchange(map_, f));
    any_exchanged_ = std::count(exchanged_.begin(), exchanged_.end(), true) > 0;
    for (size_t f = 0; f < map_.factors.size(); ++f)
      diverges_ = diverges_ || (map_.factors[f].kind == FactorKind::kPass &&
                                map_.factors[f].size != 1 && !in_results_[f]);
    alone_.assign(map_.factors.size(), true);
    for (const auto* tensors : {&map_.operands, &map_.results})
      for (const DimFactors& dims : *tensors)
        for (const FactorList& dim : dims)
          if (dim.size() > 1)
            for (int32_t f : dim) alone_[f] = false;
  }

  bool Allowed(size_t f) const {
    const Factor& factor = map_.factors[f];
    if (exchanged_[f]) return alone_[f] && in_results_[f];
    if (factor.kind != FactorKind::kPass && factor.kind != FactorKind::kReduce) return false;
    // A pass factor of operands alone has no place in the result: its dim must be whole. Of
    // results alone it may be sharded freely in a broadcast; in a reshape it stands for one of
    // operands alone.
    return factor.kind == FactorKind::kReduce ||
           (in_results_[f] && (in_operands_[f] || !diverges_));
  }

  // Whether the shards of a factor may be padded. What a user's op makes of padding that it reduces
  // is not known.
  bool Pads(size_t f) const {
    return alone_[f] && !(map_.custom && map_.factors[f].kind == FactorKind::kReduce);
  }

  void Add(const DimFactors& dims, const TensorSharding& sharding) {
    if (sharding.dims_empty()) return;
    Projection p = Project(map_, dims, sharding, /*split=*/true);
    for (size_t f = 0; f < p.axes.size(); ++f)
      if (!Allowed(f) || (!Pads(f) && map_.factors[f].size % SizeOf(p.axes[f]) != 0))
        p.axes[f].clear();
    projections_.push_back(std::move(p.axes));
  }

  // One candidate led by each tensor; the others fill in what it leaves open.
  std::vector<FactorAxes> Candidates() const {
    std::vector<FactorAxes> candidates;
    for (size_t lead = projections_.size(); lead-- > 0;) {
      FactorAxes axes(map_.factors.size());
      AxisList used;
      Fill(projections_[lead], axes, used);
      FactorAxes lone = axes;
      for (size_t i = projections_.size(); i-- > 0;)
        if (i != lead) Fill(projections_[i], axes, used);
      AddCandidate(axes, candidates);
      // Without the reduce factors: gather the operands instead of reducing the result. Without the
      // permute factors: gather them instead of exchanging parts.
      auto reduces = [&](size_t f) { return map_.factors[f].kind == FactorKind::kReduce; };
      AddCandidate(Without(axes, reduces), candidates);
      if (any_exchanged_) {
        auto exchanged = [&](size_t f) { return exchanged_[f]; };
        AddCandidate(Without(axes, exchanged), candidates);
        AddCandidate(Without(lone, exchanged), candidates);
      }
      AddCandidate(std::move(lone), candidates);
    }
    return candidates;
  }

  static void AddCandidate(FactorAxes axes, std::vector<FactorAxes>& candidates) {
    if (std::find(candidates.begin(), candidates.end(), axes) == candidates.end())
      candidates.push_back(std::move(axes));
  }

  template <class F>
  static FactorAxes Without(FactorAxes axes, F cleared) {
    for (size_t f = 0; f < axes.size(); ++f)
      if (cleared(f)) axes[f].clear();
    return axes;
  }

  void Fill(const FactorAxes& from, FactorAxes& axes, AxisList& used) const {
    for (size_t f = 0; f < from.size(); ++f) {
      if (from[f].empty() || !axes[f].empty()) continue;
      if (std::any_of(from[f].begin(), from[f].end(),
                      [&](AxisRef a) { return OverlapsAny(used, a); }))
        continue;
      axes[f] = from[f];
      used.insert(used.end(), from[f].begin(), from[f].end());
    }
  }

  int64_t Shards(const FactorAxes& axes) const {
    int64_t n = 1;
    for (const AxisList& a : axes) n *= SizeOf(a);
    return n;
  }

  // Clears factors whose axes some tensor cannot hold as one block.
  void Settle(FactorAxes& axes) const {
    for (const auto* tensors : {&map_.operands, &map_.results})
      for (const DimFactors& dims : *tensors)
        for (const FactorList& dim : dims) {
          bool full = true;
          for (int32_t f : dim) {
            if (!full) axes[f].clear();
            full = full && SizeOf(axes[f]) >= map_.factors[f].size;
          }
        }
  }

  Partition Build(FactorAxes axes) const {
    Settle(axes);
    Partition p;
    AxisList partial = PartialAxes(axes);
    AxisList carried = CarriedAxes(axes, p);
    AxisList unreduced = carried;
    unreduced.insert(unreduced.end(), partial.begin(), partial.end());
    SortAndMerge(unreduced);
    for (size_t i = 0; i < results_.size(); ++i) {
      TensorSharding s = Unproject(map_, map_.results[i], axes, mesh_);
      s.unreduced = unreduced;
      if (!unreduced.empty()) s.kind = carried.empty() ? ReductionKind() : CarriedKind();
      p.bytes += ReshardBytes(*results_[i].shape, results_[i].itemsize, s, *results_[i].sharding);
      p.results.push_back(std::move(s));
    }
    AddHalo(axes, p);
    p.factors = std::move(axes);
    return p;
  }

  void AddHalo(const FactorAxes& axes, Partition& p) const {
    for (size_t f = 0; f < axes.size(); ++f)
      if (exchanged_[f] && SizeOf(axes[f]) > 1)
        p.halo_axes.insert(p.halo_axes.end(), axes[f].begin(), axes[f].end());
    if (p.halo_axes.empty()) return;
    p.halo_bytes = HaloBytes(map_, operands_, *results_[0].shape, axes);
    p.bytes += p.halo_bytes;
  }

  AxisList PartialAxes(const FactorAxes& axes) const {
    AxisList partial;
    for (size_t f = 0; f < axes.size(); ++f)
      if (map_.factors[f].kind == FactorKind::kReduce)
        partial.insert(partial.end(), axes[f].begin(), axes[f].end());
    SortAndMerge(partial);
    return partial;
  }

  Reduction ReductionKind() const {
    for (const Factor& f : map_.factors)
      if (f.kind == FactorKind::kReduce) return f.reduction;
    return Reduction::kSum;
  }
  Reduction CarriedKind() const {
    for (const PartitionTensor& t : operands_)
      if (!t.sharding->unreduced.empty()) return t.sharding->kind;
    return Reduction::kSum;
  }

  // Fills p.operands, and returns the axes over which operands stay unreduced through the op.
  AxisList CarriedAxes(const FactorAxes& axes, Partition& p) const {
    const LinearGroup* group = nullptr;
    const TensorSharding* carrier = nullptr;
    for (const LinearGroup& g : map_.linear)
      for (int32_t i : g.operands)
        if (!carrier && !operands_[i].sharding->unreduced.empty()) {
          group = &g;
          carrier = operands_[i].sharding;
        }
    bool carries = carrier && !Shares(axes, carrier->unreduced);
    for (size_t i = 0; i < operands_.size(); ++i) {
      TensorSharding s = Unproject(map_, map_.operands[i], axes, mesh_);
      bool member = carries && std::count(group->operands.begin(), group->operands.end(),
                                          static_cast<int32_t>(i));
      if (member) {
        s.unreduced = carrier->unreduced;
        s.kind = carrier->kind;
      }
      p.bytes +=
          ReshardBytes(*operands_[i].shape, operands_[i].itemsize, *operands_[i].sharding, s);
      p.operands.push_back(std::move(s));
    }
    return carries ? carrier->unreduced : AxisList{};
  }

  static bool Shares(const FactorAxes& axes, const AxisList& set) {
    for (const AxisList& list : axes)
      for (AxisRef a : list)
        if (OverlapsAny(set, a)) return true;
    return false;
  }

  const DimMap& map_;
  const std::vector<PartitionTensor>&operands_, &results_;
  const MeshDef* mesh_ = nullptr;
  std::vector<bool> in_results_, in_operands_;
  std::vector<bool> exchanged_;  // permute factors that may be sharded
  bool any_exchanged_ = false;
  bool diverges_ = false;    // some pass factor is of operands alone
  std::vector<bool> alone_;  // the factor is never one of several of a dim
  std::vector<FactorAxes> projections_;
};

}  // namespace

Partition ChoosePartition(const DimMap& map, const std::vector<PartitionTensor>& operands,
                          const std::vector<PartitionTensor>& results) {
  return Chooser(map, operands, results).Run();
}

}  // namespace tessera::sharding
