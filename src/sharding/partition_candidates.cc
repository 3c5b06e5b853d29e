// Lists axes for the factors of an op: each tensor in turn leads with its own, and variants of that
// gather instead of reducing or exchanging, or move axes to other dims.
#include <absl/algorithm/container.h>

#include <initializer_list>
#include <numeric>
#include <optional>

#include "sharding/access.h"
#include "sharding/partition_case.h"

namespace tessera::sharding {
namespace {

// The axes that one tensor has on factors, and the axes of its dims that must be unsharded.
struct Wish {
  FactorAxes axes;
  AxisList displaced;
};

void Append(AxisList& axes, const AxisList& more) {
  axes.insert(axes.end(), more.begin(), more.end());
}

AxisList AllAxes(const FactorAxes& axes) {
  AxisList all;
  for (const AxisList& list : axes) Append(all, list);
  return all;
}

// Returns nothing for a tensor whose dims are unsharded.
std::optional<Wish> WishOf(const PartitionCase& c, const DimFactors& dims,
                           const TensorSharding& sharding) {
  if (sharding.dims_empty()) return std::nullopt;
  Wish wish{Project(c.map, dims, sharding, AxisCut::kAllowed).axes, {}};
  AxisList all;
  for (size_t f = 0; f < wish.axes.size(); ++f) {
    const bool divides = c.map.factors[f].size % SizeOf(wish.axes[f]) == 0;
    if (!c.factors[f].may_shard || (!c.factors[f].may_pad && !divides)) wish.axes[f].clear();
  }
  for (const DimAxes& d : sharding.dims) Append(all, d.axes);
  wish.displaced = Difference(all, AllAxes(wish.axes));
  return wish;
}

AxisList CommonPrefix(AxisList a, const AxisList& b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  a.resize(n);
  return a;
}

AxisList AgreedAxes(const PartitionCase& c, const std::vector<std::optional<Wish>>& operands) {
  AxisList agreed;
  for (int32_t f = 0; f < std::ssize(c.map.factors); ++f) {
    // Sorting is little work, so it is only split if that sends less.
    if (c.map.factors[static_cast<size_t>(f)].sorts) continue;
    std::optional<AxisList> common;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!HasFactor(c.map.operands[i], f)) continue;
      const AxisList axes = operands[i] ? operands[i]->axes[f] : AxisList();
      common = common ? CommonPrefix(*common, axes) : axes;
    }
    if (common) Append(agreed, *common);
  }
  return agreed;
}

// Gives each factor without axes the axes that `from` has for it, as far as they are free.
void Fill(const FactorAxes& from, FactorAxes& axes, AxisList& used) {
  for (size_t f = 0; f < from.size(); ++f) {
    if (!axes[f].empty()) continue;
    for (AxisPart a : from[f]) {
      std::optional<AxisPart> free = a;
      for (AxisPart b : used)
        if (free) free = PrefixWithoutOverlap(*free, b);
      if (free) axes[f].push_back(*free);
      if (free != a) break;
    }
    Append(used, axes[f]);
  }
}

template <class Pred>
FactorAxes Without(FactorAxes axes, Pred is_cleared) {
  for (size_t f = 0; f < axes.size(); ++f)
    if (is_cleared(f)) axes[f].clear();
  return axes;
}

// How an axis may fit a factor: it divides the size, a part of it does, or the factor is padded.
enum class AxisFit : uint8_t { kWhole, kPart, kPadded };

// Returns the part of an axis that a factor with so many shards has room for.
AxisPart FittingPart(const PartitionCase& c, size_t f, int64_t shards, AxisPart a, AxisFit fit) {
  const int64_t size = c.map.factors[f].size;
  const AxisPart part{a.axis, a.pre, std::gcd(size / shards, a.size)};
  if (fit == AxisFit::kPart || part.size == a.size) return part;
  const bool pads = fit == AxisFit::kPadded && c.factors[f].may_pad && shards * a.size <= size;
  return {a.axis, a.pre, pads ? a.size : 1};
}

// Moves axes of dims that must be unsharded to pass factors: an all_to_all costs less than a
// gather, and the work stays split. Returns whether all axes found a factor.
bool MoveDisplaced(const PartitionCase& c, const AxisList& displaced, AxisFit fit,
                   FactorAxes& axes) {
  AxisList left;
  for (AxisPart a : Difference(displaced, AllAxes(axes)))
    if (!OverlapsAny(left, a)) left.push_back(a);
  for (size_t f = 0; f < axes.size(); ++f) {
    const Factor& factor = c.map.factors[f];
    if (factor.kind != FactorKind::kPass || !c.factors[f].may_shard) continue;
    int64_t shards = SizeOf(axes[f]);
    if (factor.size == 0 || factor.size % shards != 0) continue;
    for (AxisPart& a : left) {
      const AxisPart part = FittingPart(c, f, shards, a, fit);
      if (part.size == 1) continue;
      AppendMerged(axes[f], part);
      shards *= part.size;
      a = {a.axis, part.next(), a.size / part.size};
    }
  }
  return absl::c_all_of(left, [](AxisPart a) { return a.size == 1; });
}

// A list of distinct choices.
class ChoiceList {
 public:
  explicit ChoiceList(const PartitionCase& c) : c_(c) {}

  // Adds the choices that wish `lead` leads. The other wishes fill in the factors that it leaves
  // unsharded.
  void AddLedBy(size_t lead, const std::vector<Wish>& wishes) {
    const Wish& leader = wishes[lead];
    FactorAxes axes(c_.map.factors.size());
    AxisList used;
    Fill(leader.axes, axes, used);
    FactorAxes lone = axes;
    for (size_t i = wishes.size(); i-- > 0;)
      if (i != lead) Fill(wishes[i].axes, axes, used);
    // Leaves unsharded the factors that the results lack: gathers the operands instead of reducing
    // the result, or choosing it shard by shard.
    FactorAxes whole = Without(axes, [&](size_t f) {
      const FactorKind kind = c_.map.factors[f].kind;
      return kind == FactorKind::kReduce ||
             (kind == FactorKind::kScan && !c_.factors[f].in_results);
    });
    AddWithoutExchange({axes, lone}, leader);
    for (FactorAxes* some : {&axes, &lone, &whole}) {
      AddMoved(*some, leader.displaced);
      Add(std::move(*some));
    }
  }

  std::vector<FactorAxes> Take() { return std::move(choices_); }

 private:
  void Add(FactorAxes axes) {
    if (!absl::c_linear_search(choices_, axes)) choices_.push_back(std::move(axes));
  }

  // Adds the choices without their permute factors and sorted dims: gathers these dims, or moves
  // their axes to others, instead of exchanging parts.
  void AddWithoutExchange(std::initializer_list<FactorAxes> choices, const Wish& leader) {
    auto is_exchanged = [&](size_t f) {
      return c_.factors[f].exchanged || c_.map.factors[f].sorts;
    };
    AxisList displaced = leader.displaced;
    bool any = false;
    for (size_t f = 0; f < c_.factors.size(); ++f) {
      if (!is_exchanged(f)) continue;
      any = true;
      Append(displaced, leader.axes[f]);
    }
    if (!any) return;
    for (const FactorAxes& choice : choices) {
      FactorAxes some = Without(choice, is_exchanged);
      AddMoved(some, displaced);
      Add(std::move(some));
    }
  }

  // Adds the choice with the displaced axes moved to other factors. Cuts axes, or pads factors,
  // only if some axis does not fit whole: parts take more collectives.
  void AddMoved(const FactorAxes& axes, const AxisList& displaced) {
    if (displaced.empty()) return;
    FactorAxes moved = axes;
    bool fits = MoveDisplaced(c_, displaced, AxisFit::kWhole, moved);
    FactorAxes held = moved;
    DropUnholdableAxes(c_.map, held);
    fits = fits && held == moved;
    Add(std::move(moved));
    if (fits) return;
    for (AxisFit fit : {AxisFit::kPart, AxisFit::kPadded}) {
      moved = axes;
      MoveDisplaced(c_, displaced, fit, moved);
      Add(std::move(moved));
    }
  }

  const PartitionCase& c_;
  std::vector<FactorAxes> choices_;
};

// Clears the axes of a dim's factors that follow a factor that is not full. Returns whether there
// were none.
bool KeepPrefix(const DimMap& map, const FactorList& dim, FactorAxes& axes) {
  bool full = true, kept = true;
  for (int32_t f : dim) {
    if (!full && !axes[f].empty()) {
      axes[f].clear();
      kept = false;
    }
    full = full && SizeOf(axes[f]) >= map.factors[f].size;
  }
  return kept;
}

// Whether the factor may be sharded. `diverges`: some pass factor is only in operands.
bool MayShard(const Factor& factor, const FactorUse& use, bool diverges) {
  if (use.exchanged) return use.alone && (use.in_results || factor.kind == FactorKind::kReduce);
  if (factor.kind == FactorKind::kScan) return use.alone && use.in_operands;
  if (factor.kind == FactorKind::kReduce) return true;
  // A pass factor that only operands have is not a dim of the result: it must be unsharded. A pass
  // factor that only results have may be sharded freely in a broadcast. In a reshape it takes the
  // place of one that only operands have, and must be unsharded too.
  return factor.kind == FactorKind::kPass && use.in_results && (use.in_operands || !diverges);
}

}  // namespace

PartitionCase::PartitionCase(const DimMap& map, const std::vector<PartitionTensor>& operands,
                             const std::vector<PartitionTensor>& results)
    : map(map), operands(operands), results(results), factors(map.factors.size()) {
  for (const auto* tensors : {&operands, &results})
    for (const PartitionTensor& t : *tensors)
      if (t.sharding->mesh) mesh = t.sharding->mesh;
  const std::vector<bool> in_operands = FactorsOf(map, map.operands),
                          in_results = FactorsOf(map, map.results);
  bool diverges = false;
  for (size_t f = 0; f < factors.size(); ++f) {
    const Factor& factor = map.factors[f];
    factors[f] = {.in_operands = in_operands[f],
                  .in_results = in_results[f],
                  .exchanged = !results.empty() && MayExchange(map, f)};
    diverges = diverges || (factor.kind == FactorKind::kPass && factor.size != 1 && !in_results[f]);
  }
  for (const auto* tensors : {&map.operands, &map.results})
    for (const DimFactors& dims : *tensors)
      for (const FactorList& dim : dims)
        if (dim.size() > 1)
          for (int32_t f : dim) factors[f].alone = false;
  for (size_t f = 0; f < factors.size(); ++f) {
    FactorUse& use = factors[f];
    // The bytes of a scan are those of results.
    const bool is_known = map.factors[f].kind != FactorKind::kScan || !results.empty();
    use.may_shard = is_known && MayShard(map.factors[f], use, diverges);
    // It is unknown how a user's op would reduce padding.
    use.may_pad = use.alone && !(map.traits.custom && map.factors[f].kind == FactorKind::kReduce);
  }
}

Candidates FindCandidates(const PartitionCase& c) {
  std::vector<std::optional<Wish>> operands, results;
  for (size_t i = 0; i < c.operands.size(); ++i)
    operands.push_back(WishOf(c, c.map.operands[i], *c.operands[i].sharding));
  for (size_t i = 0; i < c.results.size(); ++i)
    results.push_back(WishOf(c, c.map.results[i], *c.results[i].sharding));
  Candidates found{.choices = {}, .agreed = AgreedAxes(c, operands)};
  std::vector<Wish> wishes;
  for (auto* tensors : {&operands, &results})
    for (std::optional<Wish>& wish : *tensors)
      if (wish) wishes.push_back(std::move(*wish));
  ChoiceList choices(c);
  for (size_t lead = wishes.size(); lead-- > 0;) choices.AddLedBy(lead, wishes);
  found.choices = choices.Take();
  return found;
}

void DropUnholdableAxes(const DimMap& map, FactorAxes& axes) {
  bool settled = false;
  while (!settled) {
    settled = true;
    for (const auto* tensors : {&map.operands, &map.results})
      for (const DimFactors& dims : *tensors)
        for (const FactorList& dim : dims)
          if (!KeepPrefix(map, dim, axes)) settled = false;
  }
}

}  // namespace tessera::sharding
