// Compares candidate axes for the factors of an op by bytes and FLOPs, and takes the cheapest.
#include "sharding/partition.h"

#include <algorithm>
#include <numeric>

#include "sharding/access.h"
#include "sharding/reshard.h"

namespace tessera::sharding {
namespace {

class Chooser {
 public:
  Chooser(const DimMap& map, const std::vector<PartitionTensor>& operands,
          const std::vector<PartitionTensor>& results, double flops_per_point)
      : map_(map), operands_(operands), results_(results), flops_per_point_(flops_per_point) {
    for (const auto* tensors : {&operands, &results})
      for (const PartitionTensor& t : *tensors)
        if (t.sharding->mesh) mesh_ = t.sharding->mesh;
    FindFactors();
    for (size_t i = 0; i < operands.size(); ++i) Add(map.operands[i], *operands[i].sharding);
    if (flops_per_point > 0) FindAgreed();
    for (size_t i = 0; i < results.size(); ++i) Add(map.results[i], *results[i].sharding);
  }

  Partition Run() {
    if (wishes_.empty()) return Build(FactorAxes(map_.factors.size()));
    Partition best;
    double best_cost = -1;
    bool best_splits = false;
    for (const FactorAxes& candidate : Candidates()) {
      Partition p = Build(candidate);
      bool splits = SplitsAgreed(p.factors);
      double cost = Cost(p);
      if (best_cost >= 0 && (splits != best_splits ? best_splits : cost >= best_cost)) continue;
      best = std::move(p);
      best_cost = cost;
      best_splits = splits;
    }
    return best;
  }

 private:
  void FindFactors() {
    in_results_ = FactorsOf(map_, map_.results);
    in_operands_ = FactorsOf(map_, map_.operands);
    for (size_t f = 0; f < map_.factors.size(); ++f)
      exchanged_.push_back(!results_.empty() && MayExchange(map_, f));
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
    // A pass factor that only operands have is no dim of the result: it must be unsharded. A pass
    // factor that only results have may be sharded freely in a broadcast. In a reshape it takes the
    // place of one that only operands have, and must be unsharded too.
    return factor.kind == FactorKind::kReduce ||
           (in_results_[f] && (in_operands_[f] || !diverges_));
  }

  // Whether the shards of a factor may be padded. It is unknown how a user's op would
  // reduce padding.
  bool Pads(size_t f) const {
    return alone_[f] && !(map_.traits.custom && map_.factors[f].kind == FactorKind::kReduce);
  }

  void Add(const DimFactors& dims, const TensorSharding& sharding) {
    if (sharding.dims_empty()) return;
    Projection p = Project(map_, dims, sharding, /*split=*/true);
    AxisList kept, all;
    for (size_t f = 0; f < p.axes.size(); ++f) {
      if (!Allowed(f) || (!Pads(f) && map_.factors[f].size % SizeOf(p.axes[f]) != 0))
        p.axes[f].clear();
      kept.insert(kept.end(), p.axes[f].begin(), p.axes[f].end());
    }
    for (const DimAxes& d : sharding.dims) all.insert(all.end(), d.axes.begin(), d.axes.end());
    wishes_.push_back({std::move(p.axes), Difference(all, kept)});
  }

  // Returns one candidate led by each tensor. The other tensors fill in the factors that it
  // leaves unsharded.
  std::vector<FactorAxes> Candidates() const {
    std::vector<FactorAxes> candidates;
    for (size_t lead = wishes_.size(); lead-- > 0;) {
      FactorAxes axes(map_.factors.size());
      AxisList used;
      Fill(wishes_[lead].axes, axes, used);
      FactorAxes lone = axes;
      for (size_t i = wishes_.size(); i-- > 0;)
        if (i != lead) Fill(wishes_[i].axes, axes, used);
      // Leaves the reduce factors unsharded: gathers the operands instead of reducing the result.
      FactorAxes whole =
          Without(axes, [&](size_t f) { return map_.factors[f].kind == FactorKind::kReduce; });
      OfferWhole({axes, lone}, lead, candidates);
      for (FactorAxes* some : {&axes, &lone, &whole}) {
        OfferSpread(*some, wishes_[lead].displaced, candidates);
        Offer(std::move(*some), candidates);
      }
    }
    return candidates;
  }

  static void Offer(FactorAxes axes, std::vector<FactorAxes>& candidates) {
    if (std::find(candidates.begin(), candidates.end(), axes) == candidates.end())
      candidates.push_back(std::move(axes));
  }

  template <class F>
  static FactorAxes Without(FactorAxes axes, F cleared) {
    for (size_t f = 0; f < axes.size(); ++f)
      if (cleared(f)) axes[f].clear();
    return axes;
  }

  // Offers the choices without their permute factors: gathers these dims instead of
  // exchanging parts.
  void OfferWhole(std::initializer_list<FactorAxes> choices, size_t lead,
                  std::vector<FactorAxes>& candidates) const {
    if (std::count(exchanged_.begin(), exchanged_.end(), true) == 0) return;
    AxisList displaced = wishes_[lead].displaced;
    for (size_t f = 0; f < exchanged_.size(); ++f)
      if (exchanged_[f])
        displaced.insert(displaced.end(), wishes_[lead].axes[f].begin(),
                         wishes_[lead].axes[f].end());
    for (const FactorAxes& choice : choices) {
      FactorAxes some = Without(choice, [&](size_t f) { return exchanged_[f]; });
      OfferSpread(some, displaced, candidates);
      Offer(std::move(some), candidates);
    }
  }

  // Offers the choice with its displaced axes spread over other factors. Spreads parts of axes only
  // if some axis does not fit whole: parts take more collectives.
  void OfferSpread(const FactorAxes& axes, const AxisList& displaced,
                   std::vector<FactorAxes>& candidates) const {
    if (displaced.empty()) return;
    FactorAxes spread = axes;
    bool all = Spread(spread, displaced, /*parts=*/false);
    FactorAxes kept = spread;
    Settle(kept);
    all = all && kept == spread;
    Offer(std::move(spread), candidates);
    if (all) return;
    spread = axes;
    Spread(spread, displaced, /*parts=*/true);
    Offer(std::move(spread), candidates);
  }

  // Gives each factor without axes the axes that `from` has for it, as far as they are free.
  void Fill(const FactorAxes& from, FactorAxes& axes, AxisList& used) const {
    for (size_t f = 0; f < from.size(); ++f) {
      if (!axes[f].empty()) continue;
      for (AxisPart a : from[f]) {
        std::optional<AxisPart> free = a;
        for (AxisPart b : used)
          if (free) free = PrefixWithoutOverlap(*free, b);
        if (free) axes[f].push_back(*free);
        if (free != a) break;
      }
      used.insert(used.end(), axes[f].begin(), axes[f].end());
    }
  }

  // Moves axes of dims that must be unsharded to pass factors that they divide: an all_to_all costs
  // less than a gather, and the work stays split. With `parts`, a part of an axis may move if the
  // whole does not fit. Returns whether all axes found a factor.
  bool Spread(FactorAxes& axes, const AxisList& displaced, bool parts) const {
    AxisList used;
    for (const AxisList& list : axes) used.insert(used.end(), list.begin(), list.end());
    AxisList left;
    for (AxisPart a : Difference(displaced, used))
      if (!OverlapsAny(left, a)) left.push_back(a);
    for (size_t f = 0; f < axes.size(); ++f) {
      const Factor& factor = map_.factors[f];
      if (factor.kind != FactorKind::kPass || !Allowed(f)) continue;
      int64_t shards = SizeOf(axes[f]);
      if (factor.size == 0 || factor.size % shards != 0) continue;
      for (AxisPart& a : left) {
        AxisPart part{a.axis, a.pre, std::gcd(factor.size / shards, a.size)};
        if (part.size == 1 || (!parts && part.size != a.size)) continue;
        AppendMerged(axes[f], part);
        shards *= part.size;
        a = {a.axis, part.next(), a.size / part.size};
      }
    }
    return std::all_of(left.begin(), left.end(), [](AxisPart a) { return a.size == 1; });
  }

  static AxisList CommonPrefix(AxisList a, const AxisList& b) {
    size_t n = 0;
    while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
    a.resize(n);
    return a;
  }

  // Finds the axes that shard a factor alike in all operands that have it.
  void FindAgreed() {
    for (size_t f = 0; f < map_.factors.size(); ++f) {
      std::optional<AxisList> common;
      size_t wish = 0;
      for (size_t i = 0; i < operands_.size(); ++i) {
        bool sharded = !operands_[i].sharding->dims_empty();
        if (Has(map_.operands[i], f)) {
          const AxisList none, &axes = sharded ? wishes_[wish].axes[f] : none;
          common = common ? CommonPrefix(*common, axes) : axes;
        }
        wish += sharded;
      }
      if (common) agreed_.insert(agreed_.end(), common->begin(), common->end());
    }
  }

  static bool Has(const DimFactors& dims, size_t f) {
    return std::any_of(dims.begin(), dims.end(), [&](const FactorList& dim) {
      return std::count(dim.begin(), dim.end(), static_cast<int32_t>(f)) != 0;
    });
  }

  bool SplitsAgreed(const FactorAxes& axes) const {
    AxisList used;
    for (const AxisList& list : axes) used.insert(used.end(), list.begin(), list.end());
    return Difference(agreed_, used).empty();
  }

  // Returns the cost in bytes. Of equally cheap choices, the one that splits the work
  // further costs less.
  double Cost(const Partition& p) const {
    return static_cast<double>(p.bytes) + flops_per_point_ * p.flops / FlopsPerByte() +
           1.0 / static_cast<double>(Shards(p.factors));
  }

  double Points(const FactorAxes& axes) const {
    double points = 1;
    for (size_t f = 0; f < axes.size(); ++f) {
      int64_t shards = SizeOf(axes[f]);
      const int64_t block = (map_.factors[f].size + shards - 1) / shards;
      points *= static_cast<double>(block);
    }
    return points;
  }

  int64_t Shards(const FactorAxes& axes) const {
    int64_t n = 1;
    for (const AxisList& a : axes) n *= SizeOf(a);
    return n;
  }

  // Clears factors whose axes some tensor cannot hold contiguously, until every
  // tensor can hold all.
  void Settle(FactorAxes& axes) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto* tensors : {&map_.operands, &map_.results})
        for (const DimFactors& dims : *tensors)
          for (const FactorList& dim : dims) {
            bool full = true;
            for (int32_t f : dim) {
              changed = changed || (!full && !axes[f].empty());
              if (!full) axes[f].clear();
              full = full && SizeOf(axes[f]) >= map_.factors[f].size;
            }
          }
    }
  }

  Partition Build(FactorAxes axes) const {
    Settle(axes);
    Partition p;
    AxisList partial = PartialAxes(axes);
    AxisList carried = CarriedAxes(axes, p);
    AxisList unreduced = carried;
    for (AxisPart a : partial)
      if (!OverlapsAny(carried, a)) unreduced.push_back(a);
    SortAndMerge(unreduced);
    for (size_t i = 0; i < results_.size(); ++i) {
      TensorSharding s = Unproject(map_, map_.results[i], axes, mesh_);
      s.unreduced = unreduced;
      s.varying = results_[i].sharding->varying;
      if (!unreduced.empty()) s.kind = carried.empty() ? ReductionKind() : CarriedKind();
      p.bytes += ReshardBytes(*results_[i].shape, results_[i].itemsize, s, *results_[i].sharding);
      p.results.push_back(std::move(s));
    }
    AddHalo(axes, p);
    p.flops = Points(axes);
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
    const bool carries = carrier && Carries(*group, *carrier, axes);
    for (size_t i = 0; i < operands_.size(); ++i) {
      TensorSharding s = Unproject(map_, map_.operands[i], axes, mesh_);
      s.varying = operands_[i].sharding->varying;
      bool member = carries && std::count(group->operands.begin(), group->operands.end(),
                                          static_cast<int32_t>(i));
      if (member && !SumsOver(i, axes, carrier->unreduced)) {
        s.unreduced = carrier->unreduced;
        s.kind = carrier->kind;
      }
      p.bytes +=
          ReshardBytes(*operands_[i].shape, operands_[i].itemsize, *operands_[i].sharding, s);
      p.operands.push_back(std::move(s));
    }
    return carries ? carrier->unreduced : AxisList{};
  }

  static bool Shares(const AxisList& axes, const AxisList& set) {
    return std::any_of(axes.begin(), axes.end(), [&](AxisPart a) { return OverlapsAny(set, a); });
  }
  // Whether the op sums operand i over dims that are sharded over exactly the axes of `set`. It
  // then gives partial sums over them, as an operand that is unreduced over them would.
  bool SumsOver(size_t i, const FactorAxes& axes, const AxisList& set) const {
    AxisList summed;
    for (size_t f = 0; f < axes.size(); ++f)
      if (Shares(axes[f], set) && Has(map_.operands[i], f))
        summed.insert(summed.end(), axes[f].begin(), axes[f].end());
    SortAndMerge(summed);
    return summed == set;
  }
  // Whether the results may stay unreduced as `carrier` is. Each operand of the group must be
  // unreduced over its axes, or be summed over exactly them; they may shard no other factor. All
  // sharded reductions must be of the carrier's kind.
  bool Carries(const LinearGroup& group, const TensorSharding& carrier,
               const FactorAxes& axes) const {
    bool any = false;
    for (size_t f = 0; f < axes.size(); ++f) {
      const Factor& factor = map_.factors[f];
      const bool shares = Shares(axes[f], carrier.unreduced),
                 reduces = factor.kind == FactorKind::kReduce && !axes[f].empty();
      if ((shares && !reduces) || (reduces && factor.reduction != carrier.kind)) return false;
      any = any || shares;
    }
    if (!any) return true;
    for (int32_t i : group.operands) {
      bool sharded = false;
      for (size_t f = 0; f < axes.size(); ++f)
        sharded = sharded || (Shares(axes[f], carrier.unreduced) && Has(map_.operands[i], f));
      if (sharded && !SumsOver(i, axes, carrier.unreduced)) return false;
    }
    return true;
  }

  const DimMap& map_;
  const std::vector<PartitionTensor>&operands_, &results_;
  const double flops_per_point_;
  const MeshDef* mesh_ = nullptr;
  AxisList agreed_;  // axes that must split the work
  std::vector<bool> in_results_, in_operands_;
  std::vector<bool> exchanged_;  // by factor: a permute factor that may be sharded
  bool diverges_ = false;        // some pass factor is only in operands
  std::vector<bool> alone_;      // by factor: it is never one of several factors of a dim
  // The axes that one tensor has on factors, and those of its dims that must be unsharded.
  struct Wish {
    FactorAxes axes;
    AxisList displaced;
  };
  std::vector<Wish> wishes_;
};

thread_local double flops_per_byte = kDefaultFlopsPerByte;

}  // namespace

double FlopsPerByte() { return flops_per_byte; }
void SetFlopsPerByte(double n) { flops_per_byte = n; }

Partition ChoosePartition(const DimMap& map, const std::vector<PartitionTensor>& operands,
                          const std::vector<PartitionTensor>& results, double flops_per_point) {
  return Chooser(map, operands, results, flops_per_point).Run();
}

}  // namespace tessera::sharding
