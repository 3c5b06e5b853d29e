// Collects edits of a refused call, tries each, and orders those that are legal by bytes sent.
#include "ir/fixes.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/mapped_axes.h"
#include "sharding/edit_code.h"
#include "sharding/local.h"
#include "sharding/partition.h"
#include "sharding/project.h"
#include "sharding/reshard.h"

namespace tessera::ir {
namespace {

thread_local bool without_fixes = false;

using sharding::AxisCut;
using sharding::AxisList;
using sharding::FactorAxes;
using sharding::TensorSharding;

using Steps = std::vector<sharding::ReshardStep>;

TensorSharding WithSets(TensorSharding s, const TensorSharding& from) {
  s.unreduced = from.unreduced;
  s.reduced = from.reduced;
  s.kind = from.kind;
  return s;
}

sharding::ItemSize SizeOf(const ShapeAndDType& a) {
  return sharding::ItemSize::OfBits(a.dtype.bits());
}
sharding::ItemSize SizeOf(const Type& t) { return sharding::ItemSize::OfBits(t.dtype().bits()); }
Steps PlanOf(const Type& t, const TensorSharding& from, const TensorSharding& to) {
  return sharding::PlanReshard(t.shape(), SizeOf(t), from, to);
}
// Returns `s` for the array as the user wrote it. Returns nothing if `s` shards a dim that the
// library added or broadcast.
std::optional<TensorSharding> AsWritten(const Shape& shape, TensorSharding s) {
  const size_t more = s.dims.size() - shape.size();
  for (size_t d = 0; d < s.dims.size(); ++d)
    if (!s.dims[d].axes.empty() && (d < more || shape[d - more] == 1)) return std::nullopt;
  s.dims.erase(s.dims.begin(), s.dims.begin() + static_cast<long>(more));
  return s;
}

// Returns the sharding in which the operand's gradient arrives once the operand is `to`. The
// gradient becomes a sum over the axes that shard the result and no longer reduce the operand.
TensorSharding GradientOf(const Type& written, TensorSharding to,
                          const std::vector<TensorSharding>& results) {
  AxisList sharded;
  for (const sharding::DimAxes& d : results[0].dims) sharding::AddTo(sharded, d.axes);
  for (const sharding::DimAxes& d : to.dims) sharded = sharding::Difference(sharded, d.axes);
  for (sharding::AxisPart a : sharding::Difference(written.sharding().reduced, to.reduced))
    if (sharding::ContainsAxis(sharded, a)) sharding::AddTo(to.unreduced, {a});
  return to;
}

AxisList ManualOf(const sharding::MeshDef* mesh, const AxisList& axes) {
  AxisList manual;
  for (sharding::AxisPart a : axes)
    if (mesh->axes()[a.axis].mode == AxisMode::Manual) manual.push_back(a);
  return manual;
}

// Returns the spec as a user can write it, without Manual axes.
PartitionSpec SpecOf(const sharding::MeshDef* mesh, TensorSharding s) {
  s.unreduced = sharding::Difference(s.unreduced, ManualOf(mesh, s.unreduced));
  s.reduced = sharding::Difference(s.reduced, ManualOf(mesh, s.reduced));
  if (s.unreduced.empty()) s.kind = Reduction::kSum;
  return sharding::ToSpec(s);
}

// Returns the call that turns an operand from `from` to `to`, or "" if no single call does.
// Manual axes have no layout: psum adds up terms, and pcast marks a value as reduced.
std::string EditOf(const sharding::MeshDef* mesh, const std::string& name,
                   const TensorSharding& from, const TensorSharding& to) {
  const AxisList summed = ManualOf(mesh, sharding::Difference(from.unreduced, to.unreduced));
  const AxisList cast = ManualOf(mesh, sharding::Difference(to.reduced, from.reduced));
  const AxisList lost = ManualOf(mesh, sharding::Difference(from.reduced, to.reduced));
  const auto varies = [&](sharding::AxisPart a) { return OverlapsAny(from.varying, a); };
  if (!lost.empty() || absl::c_any_of(cast, varies)) return "";
  const PartitionSpec spec = SpecOf(mesh, to);
  if (summed.empty() && cast.empty()) return sharding::ReshardCode(name, spec);
  if (!(spec == SpecOf(mesh, from)) || (!summed.empty() && !cast.empty())) return "";
  return cast.empty() ? sharding::PsumCode(name, mesh, summed)
                      : sharding::PcastCode(name, mesh, cast, /*to_varying=*/false);
}

// The steps of a move as text, and the bytes that a device sends.
struct Moves {
  const sharding::MeshDef* mesh;
  int64_t bytes = 0;
  std::string text = {};
  double work = 0;  // of a device, at one FLOP per point of the op

  void Add(const Steps& steps, const std::string& what) {
    for (const sharding::ReshardStep& step : steps) {
      if (step.bytes == 0) continue;
      bytes += step.bytes;
      text += fmt::format("{}{} of {}{}", text.empty() ? "" : ", ", sharding::Name(step.kind), what,
                          Over(step));
    }
  }
  // Returns " over x,y", the axes of a step.
  std::string Over(const sharding::ReshardStep& step) const {
    const auto axis_text = [&](std::string* out, sharding::AxisPart a) {
      *out += sharding::PlainAxisText(*mesh, a);
    };
    return step.axes.empty() ? "" : " over " + absl::StrJoin(step.axes, ",", axis_text);
  }
};

// Returns the cost of an edit as text, and the bytes that a device then sends in each gradient.
std::pair<std::string, int64_t> CostOf(const Moves& moves, const Steps& in_gradient) {
  std::string cost = moves.bytes ? fmt::format("sends {} B per device: {}", moves.bytes, moves.text)
                                 : "sends nothing";
  int64_t later = 0;
  for (const sharding::ReshardStep& step : in_gradient) {
    if (step.bytes == 0) continue;
    later += step.bytes;
    cost += fmt::format("; in each gradient {} B: {}{}", step.bytes, sharding::Name(step.kind),
                        moves.Over(step));
  }
  return {std::move(cost), later};
}

// Tries edits of a refused call.
class Suggester {
 public:
  Suggester(const InferCall& call, const sharding::DimMap& map,
            const std::vector<ShapeAndDType>& results, const sharding::Conflict& conflict)
      : call_(call),
        map_(map),
        results_(results),
        conflict_(conflict),
        mapped_(MappedAxesOf(call.mesh)) {
    for (const Type* t : call.operands) {
      operands_.push_back({&t->sharding(), &t->shape(), t->dtype().is_inexact()});
      if (t->mesh()) mesh_ = t->mesh();
    }
    for (const ShapeAndDType& r : results) shapes_.push_back(&r.shape);
  }

  std::vector<Fix> Run() {
    if (conflict_.check == sharding::Conflict::kMesh) return {};
    if (call_.op.out_sharding && sharding::AreResultsAlike(map_)) TryOutShardings();
    for (size_t k = 0; k < operands_.size(); ++k) TryOperand(static_cast<int>(k));
    absl::c_stable_sort(fixes_, [](const Offered& a, const Offered& b) {
      return std::pair(a.fix.bytes, a.in_gradient) < std::pair(b.fix.bytes, b.in_gradient);
    });
    std::vector<Fix> fixes;
    for (Offered& o : fixes_)
      if (fixes.size() < kMost) fixes.push_back(std::move(o.fix));
    return fixes;
  }

 private:
  static constexpr size_t kMost = 4;

  FactorAxes AxesOf(size_t operand, AxisCut cut) const {
    return sharding::Project(map_, map_.operands[operand], *operands_[operand].sharding, cut).axes;
  }

  // Returns candidates for the axes of each factor: those of operand `lead`, and those of the other
  // operands that `lead` leaves free. A second candidate splits axes where a factor has no room for
  // a whole one. A factor that is a dim of a result keeps only axes that divide the dim.
  std::vector<FactorAxes> LedBy(size_t lead) const {
    std::vector<FactorAxes> all{LedBy(lead, AxisCut::kNever), LedBy(lead, AxisCut::kAllowed)};
    if (all[0] == all[1]) all.pop_back();
    return all;
  }
  FactorAxes LedBy(size_t lead, AxisCut cut) const {
    FactorAxes axes = AxesOf(lead, cut);
    AxisList used;
    for (const AxisList& list : axes) used.insert(used.end(), list.begin(), list.end());
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (i == lead) continue;
      FactorAxes more = AxesOf(i, cut);
      for (size_t f = 0; f < axes.size(); ++f) {
        bool free = absl::c_none_of(
            more[f], [&](sharding::AxisPart a) { return sharding::CollidesWithAny(used, a); });
        if (!axes[f].empty() || more[f].empty() || !free) continue;
        axes[f] = more[f];
        used.insert(used.end(), more[f].begin(), more[f].end());
      }
    }
    for (size_t r = 0; r < shapes_.size(); ++r)
      for (size_t d = 0; d < map_.results[r].size(); ++d)
        if (const sharding::FactorList& dim = map_.results[r][d]; dim.size() == 1)
          axes[dim[0]] = sharding::PrefixThatDivides(axes[dim[0]], (*shapes_[r])[d]);
    return axes;
  }

  void TryOutShardings() {
    if (call_.out_sharding) TryOut(Divided(*call_.out_sharding));
    for (size_t lead = 0; lead < operands_.size(); ++lead)
      for (FactorAxes& axes : LedBy(lead)) TryOutLedBy(lead, axes);
    TryOut(sharding::Replicated(mesh_, static_cast<int>(results_[0].shape.size())));
  }

  void TryOutLedBy(size_t lead, FactorAxes& axes) {
    std::vector<bool> in_result = sharding::FactorsOf(map_, map_.results);
    AxisList reduced;
    for (size_t f = 0; f < axes.size(); ++f) {
      if (in_result[f]) continue;
      reduced.insert(reduced.end(), axes[f].begin(), axes[f].end());
      axes[f].clear();
    }
    TensorSharding out = Divided(sharding::Unproject(map_, map_.results[0], axes, mesh_));
    if (const TensorSharding* s = operands_[lead].sharding;
        !s->unreduced.empty() || !s->reduced.empty()) {
      TensorSharding same = out;
      same.unreduced = s->unreduced;
      same.reduced = s->reduced;
      same.kind = s->kind;
      TryOut(same);
    }
    TryOut(out);
    sharding::SortAndMerge(reduced);
    if (reduced.empty()) return;
    out.unreduced = reduced;
    for (const sharding::Factor& f : map_.factors)
      if (f.kind == sharding::FactorKind::kReduce) out.kind = f.reduction;
    if (out.kind == Reduction::kSum) TryOut(out);
  }

  // Returns `s` with only those leading axes of each dim that divide the result.
  TensorSharding Divided(TensorSharding s) const {
    for (size_t d = 0; d < s.dims.size(); ++d)
      s.dims[d].axes = sharding::PrefixThatDivides(s.dims[d].axes, (*shapes_[0])[d]);
    return s;
  }

  void TryOut(const TensorSharding& out) {
    if (sharding::Verify(out)) return;
    if (!ManualOf(mesh_, out.unreduced).empty() || !ManualOf(mesh_, out.reduced).empty()) return;
    auto rule = sharding::ExplicitRule(map_, operands_, shapes_, &out, mapped_);
    if (rule.conflict || sharding::FirstUnevenDim(out, *shapes_[0]) >= 0) return;
    TensorSharding result = rule.results[0];
    if (mesh_ && mesh_->has_mode(AxisMode::Manual)) result.TakeSets({});
    const PartitionSpec spec = sharding::ToSpec(result);
    if (!CanOffer(-1, spec)) return;
    Moves moves{mesh_};
    AddMovesOf(PartitionFor(rule.results), rule.results, moves);
    Offer(-1, spec, sharding::OutShardingCode(spec), rule.results, moves);
  }

  void TryOperand(int k) {
    const TensorSharding& own = *operands_[k].sharding;
    const sharding::DimFactors& dims = map_.operands[k];
    std::vector<TensorSharding> targets;
    for (size_t lead = 0; lead < operands_.size(); ++lead)
      for (const FactorAxes& axes : LedBy(lead)) {
        TensorSharding s = sharding::Unproject(map_, dims, axes, mesh_);
        targets.push_back(WithSets(s, own));
        targets.push_back(WithSets(s, *operands_[lead].sharding));
        targets.push_back(s);
      }
    TensorSharding without = own;  // `own` without the axes of dims that do not pass through
    for (size_t d = 0; d < dims.size(); ++d) {
      TensorSharding one = own;
      one.dims[d].axes.clear();
      targets.push_back(one);
      for (int32_t f : dims[d])
        if (map_.factors[f].kind != sharding::FactorKind::kPass) without.dims[d].axes.clear();
    }
    targets.push_back(without);
    without.unreduced.clear();
    targets.push_back(without);
    TensorSharding plain = own;
    plain.unreduced.clear();
    plain.reduced.clear();
    targets.push_back(plain);
    for (const auto& other : operands_) {
      TensorSharding s = plain;
      s.reduced =
          other.sharding->unreduced.empty() ? other.sharding->reduced : other.sharding->unreduced;
      targets.push_back(s);
    }
    targets.push_back(sharding::Replicated(mesh_, own.rank()));
    for (TensorSharding& s : targets) TryTarget(k, s);
  }

  void TryTarget(int k, TensorSharding& s) {
    const auto i = static_cast<size_t>(k);
    s.mesh = mesh_;
    s.varying = operands_[i].sharding->varying;
    if (s.unreduced.empty()) s.kind = Reduction::kSum;
    const sharding::RuleOperand original = operands_[i];
    if (s == *original.sharding || sharding::Verify(s)) return;
    if (sharding::FirstUnevenDim(s, *original.shape) >= 0) return;
    if (!s.unreduced.empty() && original.sharding->unreduced != s.unreduced) return;
    const Type& written = *WrittenOf(call_, i);
    const std::optional<TensorSharding> to = AsWritten(written.shape(), s);
    if (!to) return;
    const std::string edit = EditOf(mesh_, OperandName(call_.op, i), written.sharding(), *to);
    if (edit.empty()) return;
    operands_[i].sharding = &s;
    auto rule = sharding::ExplicitRule(map_, operands_, shapes_, call_.out_sharding, mapped_);
    if (PartitionSpec spec = sharding::ToSpec(*to); !rule.conflict && CanOffer(k, spec))
      Offer(k, std::move(spec), edit, rule.results,
            MovesWithEdit(i, *original.sharding, rule.results),
            PlanOf(written, GradientOf(written, *to, rule.results), *to));
    operands_[i] = original;
  }

  // ---- costs ----

  // Returns how devices compute the op with these results, its operands placed as in `operands_`.
  sharding::Partition PartitionFor(const std::vector<TensorSharding>& results) const {
    std::vector<sharding::PartitionTensor> ins, outs;
    sharding::Shapes in_shapes;
    for (size_t i = 0; i < operands_.size(); ++i) {
      ins.push_back({operands_[i].shape, SizeOf(*call_.operands[i]), operands_[i].sharding});
      in_shapes.push_back(operands_[i].shape);
    }
    for (size_t i = 0; i < results.size(); ++i)
      outs.push_back({shapes_[i], SizeOf(results_[i]), &results[i]});
    const bool to_float = absl::c_any_of(
        results_, [](const ShapeAndDType& result) { return result.dtype.is_inexact(); });
    return sharding::ChoosePartition(OnDevices(map_, in_shapes, shapes_, to_float), ins, outs,
                                     call_.op.flops_per_point);
  }

  // Adds the moves of an op: those of its operands, those inside it, and those of its results.
  void AddMovesOf(const sharding::Partition& p, const std::vector<TensorSharding>& results,
                  Moves& moves) const {
    moves.work = p.flops;
    for (size_t i = 0; i < operands_.size(); ++i)
      moves.Add(sharding::PlanReshard(*operands_[i].shape, SizeOf(*call_.operands[i]),
                                      *operands_[i].sharding, p.operands[i]),
                OperandName(call_.op, i));
    moves.Add({{sharding::StepKind::kHaloExchange, {}, p.halo_axes, p.halo_bytes}}, "the operands");
    moves.Add({{sharding::StepKind::kAllGather, {}, p.scan_axes, p.scan_bytes}},
              "the last results");
    for (size_t i = 0; i < results.size(); ++i)
      moves.Add(sharding::PlanReshard(*shapes_[i], SizeOf(results_[i]), p.results[i], results[i]),
                "the result");
  }

  // Whether the library broadcasts operand k.
  bool IsRepeated(size_t k) const {
    return WrittenOf(call_, k)->shape() != call_.operands[k]->shape();
  }
  // Returns the moves of a call whose operand k is resharded to the sharding it has in `operands_`,
  // from `original`. Lowering computes an elementwise op elsewhere if less is sent then: the
  // operand goes to the place of a neighbour in which no device holds more of it (`ChoosePlaces`).
  Moves MovesWithEdit(size_t k, const TensorSharding& original,
                      const std::vector<TensorSharding>& results) {
    const TensorSharding& edited = *operands_[k].sharding;
    Moves least = MovesVia(k, edited, results);
    if (!std::holds_alternative<AsElementwise>(*call_.op.lowering)) return least;
    const base::Shape& shape = *operands_[k].shape;
    const auto consider = [&](const TensorSharding& via) {
      if (!via.unreduced.empty() || !via.varying.empty() || via.rank() != edited.rank() ||
          sharding::FirstUnevenDim(via, shape) >= 0 ||
          sharding::LocalElements(shape, via) > sharding::LocalElements(shape, edited))
        return;
      if (Moves moves = MovesVia(k, via, results);
          moves.bytes < least.bytes && moves.work <= least.work)
        least = std::move(moves);
    };
    consider(original);
    // Neighbours of one shape can be joined; an operand that is repeated is read in parts.
    for (size_t i = 0; i < operands_.size(); ++i)
      if (i != k && *operands_[i].shape == shape) consider(*operands_[i].sharding);
    if (*shapes_[0] == shape)
      consider(results[0]);
    else
      consider(PartitionFor(results).operands[k]);
    return least;
  }
  // Returns the moves if the operand goes to `via` before the op.
  Moves MovesVia(size_t k, const TensorSharding& via, const std::vector<TensorSharding>& results) {
    const Type& written = *WrittenOf(call_, k);
    Moves moves{mesh_};
    if (const std::optional<TensorSharding> to = AsWritten(written.shape(), via))
      moves.Add(PlanOf(written, written.sharding(), *to), OperandName(call_.op, k));
    const TensorSharding* edited = std::exchange(operands_[k].sharding, &via);
    AddMovesOf(PartitionFor(results), results, moves);
    operands_[k].sharding = edited;
    return moves;
  }

  // Records an edit, unless another one of the operand does the same. Every gradient pays for
  // `in_gradient` again.
  void Offer(int operand, PartitionSpec spec, std::string edit,
             const std::vector<TensorSharding>& results, const Moves& moves,
             const Steps& in_gradient = {}) {
    const auto [cost, later] = CostOf(moves, in_gradient);
    const bool is_known = absl::c_any_of(fixes_, [&, &cost = cost](const Offered& o) {
      return o.fix.operand == operand && o.results == results && o.cost == cost &&
             o.fix.spec.reduced_axes() == spec.reduced_axes();
    });
    if (is_known) return;
    fixes_.push_back({{operand, std::move(spec), moves.bytes, edit + "   " + cost, false},
                      later,
                      results,
                      cost});
  }
  bool CanOffer(int operand, const PartitionSpec& spec) const {
    return sharding::CanWrite(spec) && absl::c_none_of(fixes_, [&](const Offered& o) {
             return o.fix.operand == operand && o.fix.spec == spec;
           });
  }

  const InferCall& call_;
  const sharding::DimMap& map_;
  const std::vector<ShapeAndDType>& results_;
  const sharding::Conflict& conflict_;
  const AxisList mapped_;
  const sharding::MeshDef* mesh_ = nullptr;
  std::vector<sharding::RuleOperand> operands_;
  sharding::Shapes shapes_;
  struct Offered {
    Fix fix;
    int64_t in_gradient;  // bytes that a device sends in each gradient
    std::vector<TensorSharding> results;
    std::string cost;
  };
  std::vector<Offered> fixes_;
};

}  // namespace

WithoutFixesScope::WithoutFixesScope() : old_(std::exchange(without_fixes, true)) {}
WithoutFixesScope::~WithoutFixesScope() { without_fixes = old_; }

std::vector<Fix> SuggestFixes(const InferCall& call, const sharding::DimMap& map,
                              const std::vector<ShapeAndDType>& results,
                              const sharding::Conflict& conflict) {
  if (without_fixes) return {};
  return Suggester(call, map, results, conflict).Run();
}

}  // namespace tessera::ir
