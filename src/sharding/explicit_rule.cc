// Joins the operands' shardings factor by factor into the results', or names the
// conflict (C3 to C10).
#include "sharding/explicit_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "sharding/project.h"

namespace tessera::sharding {
namespace {

std::string NamesOf(const MeshDef* mesh, const AxisList& axes) {
  return axes.empty() ? "nothing" : PlainAxesText(*mesh, axes);
}

const char* OrdinalOf(size_t i) {
  static constexpr const char* kOrdinals[] = {"first", "second", "third", "fourth", "fifth"};
  return i < std::size(kOrdinals) ? kOrdinals[i] : "next";
}

AxisList Sorted(AxisList axes) {
  SortAndMerge(axes);
  return axes;
}

// One application of the rule: the join of the operands' factors, and the first conflict.
class TypingRule {
 public:
  TypingRule(const DimMap& map, std::vector<RuleOperand> operands, const Shapes& results,
             const TensorSharding* out, const AxisList& mapped)
      : map_(map),
        operands_(std::move(operands)),
        result_shapes_(results),
        out_(out),
        mapped_(mapped) {}

  RuleResult Run() {
    FindMesh();
    if (!failed()) JoinVarying();
    if (!failed()) JoinFactors();
    if (!failed()) CheckFactors();
    if (!failed()) MakeDims();
    if (!failed()) CheckDims();
    if (!failed()) MakeSets();
    return std::move(result_);
  }

 private:
  bool failed() const { return result_.conflict.has_value(); }
  void Fail(Conflict::Check check, std::string reason, int32_t first = -1, int32_t second = -1) {
    if (!failed()) result_.conflict = Conflict{check, std::move(reason), first, second, {}};
  }

  void FindMesh() {
    int32_t owner = -1;
    if (out_) mesh_ = out_->mesh;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const MeshDef* mesh = operands_[i].sharding->mesh;
      if (!mesh || mesh == mesh_) continue;
      if (mesh_)
        return Fail(Conflict::kMesh,
                    fmt::format("operands are on different meshes, {} and {}: reshard one of them",
                                mesh_->text(), mesh->text()),
                    owner, static_cast<int32_t>(i));
      mesh_ = mesh;
      owner = static_cast<int32_t>(i);
    }
  }

  // Makes every operand vary over all axes over which one of them varies. The others are cast from
  // invarying or reduced. The cast moves nothing, so it is part of the op.
  void JoinVarying() {
    for (const RuleOperand& o : operands_) AddTo(varying_, o.sharding->varying);
    if (varying_.empty()) return;
    cast_.reserve(operands_.size());
    for (size_t i = 0; i < operands_.size(); ++i) {
      cast_.push_back(*operands_[i].sharding);
      TensorSharding& s = cast_.back();
      const AxisList missing = Difference(varying_, s.varying);
      s.reduced = Difference(s.reduced, missing);
      s.varying = varying_;
      operands_[i].sharding = &s;
      for (AxisPart a : missing)
        if (OverlapsAny(s.unreduced, a))
          return Fail(Conflict::kUnreduced,
                      fmt::format("axis {} is unreduced in one operand and varying in another",
                                  PlainAxisText(*mesh_, a)),
                      static_cast<int32_t>(i));
    }
  }

  void JoinFactors() {
    size_t n = map_.factors.size();
    join_.resize(n);
    owner_.assign(n, -1);
    users_.assign(n, 0);
    clash_.assign(n, -1);
    for (size_t i = 0; i < operands_.size() && !failed(); ++i) JoinOperand(static_cast<int32_t>(i));
  }

  void JoinOperand(int32_t i) {
    const RuleOperand& operand = operands_[i];
    if (operand.sharding->dims_empty()) return;
    Projection p = Project(map_, map_.operands[i], *operand.sharding, /*split=*/false);
    if (!p.lost.empty() && !out_) return FailLost(i, p);
    for (size_t f = 0; f < join_.size(); ++f) {
      if (p.axes[f].empty()) continue;
      ++users_[f];
      if (owner_[f] < 0) {
        owner_[f] = i;
        join_[f] = p.axes[f];
      } else if (join_[f] != p.axes[f] && clash_[f] < 0) {
        clash_[f] = i;
      }
    }
  }

  // Fails for axes that no factor of their dim can hold: the size of the first one does not divide
  // the rest of the factor to which it would go.
  void FailLost(int32_t i, const Projection& p) {
    const FactorList& parts = map_.operands[i][p.lost_dim];
    const int64_t size = (*operands_[i].shape)[p.lost_dim];
    size_t at = 0;
    while (at + 1 < parts.size() && SizeOf(p.axes[parts[at]]) == map_.factors[parts[at]].size) ++at;
    std::string product;
    for (int32_t f : parts)
      product += fmt::format("{}{}", product.empty() ? "" : " x ", map_.factors[f].size);
    const AxisList& taken = p.axes[parts[at]];
    const int64_t part = map_.factors[parts[at]].size, left = part / SizeOf(taken);
    const std::string over =
        taken.empty() ? ""
                      : fmt::format(" over {} ({} / {})", NamesOf(mesh_, taken), part, part / left);
    Fail(Conflict::kWhole,
         fmt::format("no dim of the new shape can hold axis {}, which shards dim {} of size {} = "
                     "{}: {} does not divide {}, the {} factor{}",
                     NamesOf(mesh_, p.lost), p.lost_dim, size, product, p.lost[0].size, left,
                     OrdinalOf(at), over),
         i);
  }

  // Returns the number of operand dims with the factor, and an operand that has it
  // unsharded (-1: none).
  std::pair<int, int32_t> HoldersOf(int32_t f) const {
    int count = 0;
    int32_t without = -1;
    for (size_t i = 0; i < operands_.size(); ++i)
      for (size_t d = 0; d < map_.operands[i].size(); ++d)
        for (int32_t g : map_.operands[i][d]) {
          if (g != f) continue;
          ++count;
          if (operands_[i].sharding->dims[d].axes.empty()) without = static_cast<int32_t>(i);
        }
    return {count, without};
  }

  void CheckFactors() {
    in_result_ = FactorsOf(map_, map_.results);
    for (size_t i = 0; i < join_.size() && !failed(); ++i)
      if (owner_[i] >= 0) CheckFactor(static_cast<int32_t>(i));
  }

  void CheckFactor(int32_t f) {
    const Factor& factor = map_.factors[f];
    std::string axes = NamesOf(mesh_, join_[f]);
    if (factor.kind == FactorKind::kReplicate && !LooksUp(map_, f))
      return Fail(Conflict::kWhole,
                  fmt::format("the op needs this dim unsharded, but it is sharded over {}", axes),
                  owner_[f]);
    if (out_) return;
    if (LooksUp(map_, f))
      return Fail(Conflict::kAmbiguous,
                  fmt::format("a dim that is looked up or updated is sharded over {}: say how the "
                              "result is sharded",
                              axes),
                  owner_[f]);
    if (factor.kind == FactorKind::kReduce) return CheckReduceFactor(f);
    if (clash_[f] >= 0) return FailDisagree(f, clash_[f]);
    if (factor.kind == FactorKind::kPermute || factor.kind == FactorKind::kAcross) {
      auto [count, without] = HoldersOf(f);
      if (count > 1 && without >= 0) return FailDisagree(f, without);
      return;
    }
    if (!in_result_[f] && factor.size > 1)
      Fail(Conflict::kWhole, fmt::format("no dim of the new shape can hold axis {}", axes),
           owner_[f]);
  }

  void FailDisagree(int32_t f, int32_t other) {
    Projection p = Project(map_, map_.operands[other], *operands_[other].sharding, false);
    Fail(Conflict::kDisagree,
         fmt::format("operands shard one dim differently: over {} and over {}",
                     NamesOf(mesh_, join_[f]), NamesOf(mesh_, p.axes[f])),
         owner_[f], other);
  }

  void CheckReduceFactor(int32_t f) {
    if (users_[f] < 2) return;
    int32_t second = clash_[f];
    for (size_t i = owner_[f] + 1; i < operands_.size() && second < 0; ++i)
      for (const FactorList& dim : map_.operands[i])
        for (int32_t g : dim)
          if (g == f) second = static_cast<int32_t>(i);
    Fail(Conflict::kAmbiguous,
         clash_[f] >= 0
             ? "the contracting dims are sharded differently"
             : fmt::format("the contracting dims are sharded over {} on both sides: say how "
                           "the result is sharded",
                           NamesOf(mesh_, join_[f])),
         owner_[f], second);
  }

  void MakeDims() {
    if (out_) {
      result_.results = {*out_};
      return;
    }
    FactorAxes axes = join_;
    for (size_t f = 0; f < axes.size(); ++f)
      if (!in_result_[f]) axes[f].clear();
    for (const DimFactors& dims : map_.results) {
      bool dropped = false;
      TensorSharding s = Unproject(map_, dims, axes, mesh_, &dropped);
      if (dropped && !Merge(dims, axes, s))
        return Fail(Conflict::kWhole,
                    "the new shape joins dims, and a more minor one is sharded while a more major "
                    "one is not fully sharded, so shards would not be contiguous");
      result_.results.push_back(std::move(s));
    }
  }

  bool OfSizeOne(const FactorList& dim) const {
    return dim.empty() || (dim.size() == 1 && map_.factors[dim[0]].size == 1);
  }

  // Handles the one case in which joined dims may all stay sharded although a major one is not
  // full: a plain merge into one dim, without dims of size 1, where no sharded dim follows an
  // unsharded one. The data moves; the type is JAX's.
  // 4@x,2@y -> 8@(x,y)
  bool Merge(const DimFactors& dims, const FactorAxes& axes, TensorSharding& s) const {
    int compound = -1;
    for (const DimFactors& operand : map_.operands)
      for (const FactorList& dim : operand)
        if (dim.size() != 1 || OfSizeOne(dim)) return false;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (OfSizeOne(dims[d])) return false;
      if (dims[d].size() < 2) continue;
      if (compound >= 0) return false;
      compound = static_cast<int>(d);
    }
    AxisList all;
    bool gap = false;
    for (int32_t f : dims[compound]) {
      if (gap && !axes[f].empty()) return false;
      gap = gap || axes[f].empty();
      for (AxisPart a : axes[f]) AppendMerged(all, a);
    }
    s.dims[compound].axes = all;
    return true;
  }

  void CheckDims() {
    for (size_t r = 0; r < result_.results.size() && !failed(); ++r) {
      TensorSharding& s = result_.results[r];
      CheckTwice(s);
      int uneven = failed() ? -1 : FirstUnevenDim(s, *result_shapes_[r]);
      if (uneven < 0) continue;
      const AxisList& axes = s.dims[uneven].axes;
      Fail(
          Conflict::kUneven,
          fmt::format("dim {} of the result has size {}, which the {} shards over {} do not divide",
                      uneven, (*result_shapes_[r])[uneven], SizeOf(axes), NamesOf(mesh_, axes)),
          FirstSharded());
    }
  }

  int32_t FirstSharded() const {
    for (size_t i = 0; i < operands_.size(); ++i)
      if (!operands_[i].sharding->dims_empty()) return static_cast<int32_t>(i);
    return -1;
  }

  void CheckTwice(const TensorSharding& s) {
    AxisList seen;
    for (const DimAxes& d : s.dims)
      for (AxisPart a : d.axes) {
        if (CollidesWithAny(seen, a)) {
          Fail(Conflict::kTwice,
               fmt::format("the result would use mesh axis {} twice", PlainAxisText(*mesh_, a)));
          std::vector<int32_t> owners = OwnersOf(a);
          result_.conflict->first = owners.empty() ? -1 : owners[0];
          result_.conflict->second = owners.size() < 2 ? -1 : owners[1];
          result_.conflict->illegal_result = s;
          return;
        }
        seen.push_back(a);
      }
  }

  std::vector<int32_t> OwnersOf(AxisPart a) const {
    std::vector<int32_t> owners;
    for (size_t f = 0; f < join_.size(); ++f)
      if (in_result_[f] && CollidesWithAny(join_[f], a)) owners.push_back(owner_[f]);
    return owners;
  }

  // ---- unreduced and reduced ----

  bool Contracts() const {
    for (size_t f = 0; f < map_.factors.size(); ++f)
      if (map_.factors[f].kind == FactorKind::kReduce &&
          HoldersOf(static_cast<int32_t>(f)).first > 1)
        return true;
    return false;
  }
  bool Reduces() const {
    return std::any_of(map_.factors.begin(), map_.factors.end(),
                       [](const Factor& f) { return f.kind == FactorKind::kReduce; });
  }

  void MakeSets() {
    if (out_ && Repeats(map_)) {
      for (TensorSharding& s : result_.results) s.varying = varying_;
      return;
    }
    DeriveUnreduced();
    if (!failed()) DeriveReduced();
    if (!failed() && out_) FitOutSets();
    if (failed()) return;
    for (TensorSharding& s : result_.results) {
      s.unreduced = unreduced_;
      s.varying = varying_;
      s.kind = unreduced_.empty() ? Reduction::kSum : kind_;
      s.reduced = reduced_;
      for (const DimAxes& d : s.dims)
        for (AxisPart a : d.axes) {
          if (CollidesWithAny(unreduced_, a)) Fail(Conflict::kUnreduced, SetClash(a, "unreduced"));
          if (CollidesWithAny(s.reduced, a)) Fail(Conflict::kReduced, SetClash(a, "reduced"));
        }
    }
  }

  std::string SetClash(AxisPart a, const char* set) const {
    return fmt::format("axis {} shards one operand and is {} in another", PlainAxisText(*mesh_, a),
                       set);
  }

  void DeriveUnreduced() {
    int32_t first = -1;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const TensorSharding& s = *operands_[i].sharding;
      if (s.unreduced.empty()) continue;
      if (first < 0) {
        first = static_cast<int32_t>(i);
        unreduced_ = s.unreduced;
        kind_ = s.kind;
      }
    }
    if (first < 0) return;
    const LinearGroup* group = nullptr;
    for (const LinearGroup& g : map_.linear)
      if (std::count(g.operands.begin(), g.operands.end(), first)) group = &g;
    if (!group || !group->kinds.has(kind_))
      return Fail(
          Conflict::kUnreduced,
          fmt::format("the operand is unreduced over {}, and this op does not commute with its "
                      "reduction",
                      NamesOf(mesh_, unreduced_)),
          first);
    for (size_t i = 0; i < operands_.size() && !failed(); ++i)
      CheckBeside(*group, first, static_cast<int32_t>(i));
  }

  // Checks operand i against `first`, which is unreduced: an operand of its group must be unreduced
  // over the same axes, any other must be reduced over them.
  void CheckBeside(const LinearGroup& group, int32_t first, int32_t i) {
    const RuleOperand& operand = operands_[i];
    const AxisList& own = operand.sharding->unreduced;
    std::string over = NamesOf(mesh_, unreduced_);
    if (std::count(group.operands.begin(), group.operands.end(), i)) {
      if (own == unreduced_ && operand.sharding->kind == kind_) return;
      if (own.empty() && i == FillOf(map_)) return;
      if (out_ && own.empty() && SumsOver(i, unreduced_)) return;
      return Fail(
          Conflict::kUnreduced,
          fmt::format("operands must be unreduced over the same axes: one is over {}, the other "
                      "over {}",
                      over, NamesOf(mesh_, own)),
          first, i);
    }
    if (!own.empty())
      return Fail(Conflict::kUnreduced,
                  "both operands are unreduced, but the op is linear in one at a time", first, i);
    // A scalar without sets is the same on every device.
    if (operand.shape->empty() && operand.sharding->reduced.empty()) return;
    if (TakesPart(i) && ReducedIn(i) != unreduced_)
      Fail(Conflict::kUnreduced,
           fmt::format("if one operand is unreduced over {0}, the other must be reduced over {0}",
                       over),
           first, i);
  }

  // Whether the op sums operand i over dims that are sharded over all of the axes: the sums are
  // then partial over them.
  bool SumsOver(size_t i, const AxisList& axes) const {
    AxisList left = axes;
    for (size_t d = 0; d < map_.operands[i].size(); ++d)
      for (int32_t f : map_.operands[i][d])
        if (map_.factors[f].kind == FactorKind::kReduce && map_.factors[f].reduction == kind_)
          left = Difference(left, operands_[i].sharding->dims[d].axes);
    return left.empty();
  }

  // Whether the reduced axes of the results depend on operand i.
  bool TakesPart(size_t i) const {
    if (map_.traits.custom) return operands_[i].floating;
    const std::vector<int32_t>& selectors = map_.traits.selectors;
    return !std::count(selectors.begin(), selectors.end(), static_cast<int32_t>(i));
  }

  // Returns the axes over which operand i is reduced. Where the op is linear in i, it leaves out
  // those over which another operand shards the result: there every device uses the same values
  // of i with its own shard of the other, so i's cotangent has a term per device. It is
  // unreduced, as it must be.
  AxisList ReducedIn(size_t i) const {
    const AxisList& own = operands_[i].sharding->reduced;
    return own.empty() || !IsLinearIn(i) ? own : Difference(own, ShardedBeside(i));
  }
  bool IsLinearIn(size_t i) const {
    return std::any_of(map_.linear.begin(), map_.linear.end(), [&](const LinearGroup& g) {
      return g.kinds.sum && std::count(g.operands.begin(), g.operands.end(), i);
    });
  }
  // Returns the axes that shard a result dim which an operand other than i has, and the mapped axes
  // over which another operand is not reduced.
  AxisList ShardedBeside(size_t i) const {
    std::vector<DimFactors> others = map_.operands;
    others.erase(others.begin() + static_cast<long>(i));
    const std::vector<bool> beside = FactorsOf(map_, others);
    AxisList axes;
    for (size_t r = 0; r < map_.results.size(); ++r)
      for (size_t d = 0; d < map_.results[r].size(); ++d)
        for (int32_t f : map_.results[r][d])
          if (beside[f]) AddTo(axes, result_.results[r].dims[d].axes);
    for (size_t k = 0; k < operands_.size(); ++k)
      if (k != i && TakesPart(k) && !operands_[k].shape->empty())
        AddTo(axes, Difference(mapped_, operands_[k].sharding->reduced));
    return axes;
  }

  void DeriveReduced() {
    if (map_.traits.product || Contracts()) return;
    int32_t first = -1;
    for (size_t i = 0; i < operands_.size() && !failed(); ++i) {
      if (!TakesPart(i)) continue;
      CheckBesideSharded(i);
      const AxisList own = ReducedIn(i);
      if (own.empty()) continue;
      if (first >= 0 && own != reduced_)
        return Fail(
            Conflict::kReduced,
            fmt::format(
                "operands must be reduced over the same axes: one is over {}, the other over {}",
                NamesOf(mesh_, reduced_), NamesOf(mesh_, own)),
            first, static_cast<int32_t>(i));
      if (first < 0) first = static_cast<int32_t>(i);
      reduced_ = own;
    }
    reduced_ = Difference(reduced_, unreduced_);
    if (reduced_.empty()) return;
    for (size_t i = 0; i < operands_.size() && !failed(); ++i)
      if (TakesPart(i) && !operands_[i].shape->empty() && ReducedIn(i).empty())
        Fail(Conflict::kReduced,
             fmt::format(
                 "if one operand is reduced over {0}, the other must be reduced over {0} too",
                 NamesOf(mesh_, reduced_)),
             first, static_cast<int32_t>(i));
  }

  void CheckBesideSharded(size_t i) {
    const AxisList& own = operands_[i].sharding->reduced;
    if (own.empty()) return;
    const AxisList beside = ShardedBeside(i);
    const bool linear = IsLinearIn(i);
    for (AxisPart a : own) {
      const auto clashes = [&](AxisPart b) { return linear ? !CanCoexist(a, b) : Collide(a, b); };
      if (std::any_of(beside.begin(), beside.end(), clashes))
        return Fail(Conflict::kReduced,
                    SetClash(a, "reduced") + (linear ? "" : ", in which the op is not linear"),
                    static_cast<int32_t>(i));
    }
  }

  void FitOutSets() {
    if (!map_.traits.product && !Reduces()) {
      if (out_->unreduced != unreduced_ || (!unreduced_.empty() && out_->kind != kind_))
        Fail(Conflict::kUnreduced,
             fmt::format("out_sharding must be unreduced over the same axes as the operand: {}",
                         NamesOf(mesh_, unreduced_)));
      else if (out_->reduced != reduced_)
        Fail(Conflict::kReduced,
             fmt::format("out_sharding must be reduced over the same axes as the operand: {}",
                         NamesOf(mesh_, reduced_)));
      return;
    }
    if (out_->unreduced.empty()) return;
    bool contracts = Contracts();
    AxisList allowed = unreduced_;
    for (size_t f = 0; f < join_.size(); ++f) {
      const Factor& factor = map_.factors[f];
      if (factor.kind != FactorKind::kReduce || owner_[f] < 0) continue;
      if (clash_[f] >= 0 || (contracts && users_[f] < HoldersOf(static_cast<int32_t>(f)).first))
        return Fail(
            Conflict::kUnreduced,
            "for an unreduced result the contracting dims must be sharded alike on both sides");
      for (AxisPart a : join_[f])
        if (!OverlapsAny(unreduced_, a)) allowed.push_back(a);
      reduction_ = factor.reduction;
    }
    CheckOutUnreduced(Sorted(allowed), contracts);
    unreduced_ = out_->unreduced;
    kind_ = out_->kind;
  }

  void CheckOutUnreduced(const AxisList& allowed, bool contracts) {
    bool inside = std::all_of(out_->unreduced.begin(), out_->unreduced.end(),
                              [&](AxisPart a) { return ContainsAxis(allowed, a); });
    if (!inside || (contracts && allowed != out_->unreduced))
      return Fail(
          Conflict::kUnreduced,
          fmt::format("out_sharding is unreduced over {}, but the reduced dims are sharded over {}",
                      NamesOf(mesh_, out_->unreduced), NamesOf(mesh_, allowed)));
    if ((reduction_ && *reduction_ != out_->kind) || (!unreduced_.empty() && kind_ != out_->kind))
      Fail(Conflict::kUnreduced,
           "out_sharding is unreduced by a different reduction than this op's");
  }

  const DimMap& map_;
  std::vector<RuleOperand> operands_;
  std::vector<TensorSharding> cast_;  // the operands' own, after JoinVarying
  const Shapes& result_shapes_;
  const TensorSharding* out_;
  const AxisList& mapped_;
  const MeshDef* mesh_ = nullptr;
  FactorAxes join_;  // by factor: the operands' axes
  // by factor: the first operand that shards it; one that disagrees
  std::vector<int32_t> owner_, clash_;
  std::vector<int> users_;  // by factor: the number of operands that shard it
  std::vector<bool> in_result_;
  AxisList unreduced_, reduced_, varying_;
  Reduction kind_ = Reduction::kSum;
  std::optional<Reduction> reduction_;
  RuleResult result_;
};

// Whether no operand is sharded, so that the results are replicated.
bool AllTrivial(const std::vector<RuleOperand>& operands, const MeshDef*& mesh) {
  for (const RuleOperand& o : operands) {
    if (!o.sharding->trivial()) return false;
    if (o.sharding->mesh && mesh && o.sharding->mesh != mesh) return false;
    if (o.sharding->mesh) mesh = o.sharding->mesh;
  }
  return true;
}

}  // namespace

RuleResult ExplicitRule(const DimMap& map, const std::vector<RuleOperand>& operands,
                        const Shapes& results, const TensorSharding* out_sharding,
                        const AxisList& mapped) {
  const MeshDef* mesh = nullptr;
  if (!out_sharding && AllTrivial(operands, mesh)) {
    RuleResult r;
    for (const Shape* shape : results)
      r.results.push_back(Replicated(mesh, static_cast<int>(shape->size())));
    return r;
  }
  return TypingRule(map, operands, results, out_sharding, mapped).Run();
}

}  // namespace tessera::sharding
