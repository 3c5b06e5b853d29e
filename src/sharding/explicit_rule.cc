// The typing rule: finds the mesh, joins the operands' factors, and makes the results' dims and
// sets; or names the conflict (C3 to C10).
#include "sharding/explicit_rule.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "sharding/project.h"
#include "sharding/typing_case.h"

namespace tessera::sharding {
namespace {

std::optional<Conflict> FindMesh(TypingCase& c) {
  int32_t owner = -1;
  if (c.out) c.mesh = c.out->mesh;
  for (int32_t i = 0; i < std::ssize(c.operands); ++i) {
    const MeshDef* mesh = c.operands[i].sharding->mesh;
    if (!mesh || mesh == c.mesh) continue;
    if (c.mesh)
      return Conflict{
          Conflict::kMesh,
          fmt::format("operands are on different meshes, {} and {}: reshard one of them",
                      c.mesh->text(), mesh->text()),
          owner, i};
    c.mesh = mesh;
    owner = i;
  }
  return {};
}

// Makes every operand vary over all axes over which one of them varies, and returns these axes in
// `varying`. The others are cast from invarying or reduced. The cast moves nothing, so it is part
// of the op. `cast` holds their shardings.
std::optional<Conflict> CastToVarying(TypingCase& c, AxisList& varying,
                                      std::vector<TensorSharding>& cast) {
  for (const RuleOperand& o : c.operands) AddTo(varying, o.sharding->varying);
  if (varying.empty()) return {};
  cast.reserve(c.operands.size());
  for (int32_t i = 0; i < std::ssize(c.operands); ++i) {
    TensorSharding& s = cast.emplace_back(*c.operands[i].sharding);
    const AxisList missing = Difference(varying, s.varying);
    s.reduced = Difference(s.reduced, missing);
    s.varying = varying;
    c.operands[i].sharding = &s;
    for (AxisPart a : missing)
      if (OverlapsAny(s.unreduced, a))
        return Conflict{Conflict::kUnreduced,
                        fmt::format("axis {} is unreduced in one operand and varying in another",
                                    PlainAxisText(*c.mesh, a)),
                        i};
  }
  return {};
}

bool HasSizeOne(const DimMap& map, const FactorList& dim) {
  return dim.empty() || (dim.size() == 1 && map.factors[dim[0]].size == 1);
}

// Handles the one case in which joined dims may all stay sharded although a major one is not full:
// a plain merge into one dim, without dims of size 1, where no sharded dim follows an unsharded
// one. The data moves; the type is JAX's.
// 4@x,2@y -> 8@(x,y)
bool MergePlainly(const DimMap& map, const DimFactors& dims, const FactorAxes& axes,
                  TensorSharding& s) {
  for (const DimFactors& operand : map.operands)
    for (const FactorList& dim : operand)
      if (dim.size() != 1 || HasSizeOne(map, dim)) return false;
  if (absl::c_any_of(dims, [&](const FactorList& dim) { return HasSizeOne(map, dim); }))
    return false;
  auto is_merged = [](const FactorList& dim) { return dim.size() > 1; };
  if (absl::c_count_if(dims, is_merged) != 1) return false;
  const auto merged = absl::c_find_if(dims, is_merged) - dims.begin();
  AxisList all;
  bool unsharded = false;
  for (int32_t f : dims[merged]) {
    if (unsharded && !axes[f].empty()) return false;
    unsharded = axes[f].empty();
    for (AxisPart a : axes[f]) AppendMerged(all, a);
  }
  s.dims[merged].axes = all;
  return true;
}

std::optional<Conflict> MakeDims(const TypingCase& c, const FactorJoin& join,
                                 std::vector<TensorSharding>& results) {
  if (c.out) {
    results.assign(c.results.size(), *c.out);
    return {};
  }
  FactorAxes axes;
  for (const JoinedFactor& f : join) axes.push_back(f.in_results ? f.axes : AxisList());
  for (const DimFactors& dims : c.map.results) {
    bool dropped = false;
    TensorSharding s = Unproject(c.map, dims, axes, c.mesh, &dropped);
    if (dropped && !MergePlainly(c.map, dims, axes, s))
      return Conflict{
          Conflict::kWhole,
          "the new shape joins dims, and a more minor one is sharded while a more major "
          "one is not fully sharded, so shards would not be contiguous"};
    results.push_back(std::move(s));
  }
  return {};
}

// Refuses a result that would use a mesh axis twice.
std::optional<Conflict> CheckAxesOnce(const TypingCase& c, const FactorJoin& join,
                                      const TensorSharding& s) {
  AxisList seen;
  for (const DimAxes& d : s.dims)
    for (AxisPart a : d.axes) {
      if (!CollidesWithAny(seen, a)) {
        seen.push_back(a);
        continue;
      }
      std::vector<int32_t> owners;
      for (const JoinedFactor& f : join)
        if (f.in_results && CollidesWithAny(f.axes, a)) owners.push_back(f.owner);
      owners.resize(2, -1);
      return Conflict{
          Conflict::kTwice,
          fmt::format("the result would use mesh axis {} twice", PlainAxisText(*c.mesh, a)),
          owners[0], owners[1], s};
    }
  return {};
}

int32_t FirstSharded(const TypingCase& c) {
  const auto first =
      absl::c_find_if(c.operands, [](const RuleOperand& o) { return !o.sharding->dims_empty(); });
  return first == c.operands.end() ? -1 : static_cast<int32_t>(first - c.operands.begin());
}

std::optional<Conflict> CheckDims(const TypingCase& c, const FactorJoin& join,
                                  const std::vector<TensorSharding>& results) {
  for (size_t r = 0; r < results.size(); ++r) {
    if (std::optional<Conflict> twice = CheckAxesOnce(c, join, results[r])) return twice;
    const Shape& shape = *c.results[r];
    const int uneven = FirstUnevenDim(results[r], shape);
    if (uneven < 0) continue;
    const AxisList& axes = results[r].dims[uneven].axes;
    return Conflict{
        Conflict::kUneven,
        fmt::format("dim {} of the result has size {}, which the {} shards over {} do not divide",
                    uneven, shape[uneven], SizeOf(axes), AxesOrNothing(c.mesh, axes)),
        FirstSharded(c)};
  }
  return {};
}

// Whether no operand is sharded, so that the results are replicated on `mesh`.
bool AllTrivial(const std::vector<RuleOperand>& operands, const MeshDef*& mesh) {
  for (const RuleOperand& o : operands) {
    if (!o.sharding->trivial()) return false;
    if (o.sharding->mesh && mesh && o.sharding->mesh != mesh) return false;
    if (o.sharding->mesh) mesh = o.sharding->mesh;
  }
  return true;
}

RuleResult ApplyRule(TypingCase c) {
  RuleResult r;
  AxisList varying;
  std::vector<TensorSharding> cast;
  FactorJoin join;
  if ((r.conflict = FindMesh(c)) || (r.conflict = CastToVarying(c, varying, cast)) ||
      (r.conflict = JoinOperands(c, join)) || (r.conflict = MakeDims(c, join, r.results)) ||
      (r.conflict = CheckDims(c, join, r.results)))
    return r;
  for (TensorSharding& s : r.results) s.varying = varying;
  if (!c.out || !Repeats(c.map)) r.conflict = SetReductions(c, join, r.results);
  return r;
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
  return ApplyRule({map, operands, results, out_sharding, mapped});
}

}  // namespace tessera::sharding
