// The dims of gather and scatter: how they correspond, their dimension map, and their local shapes.
#include "ops/lookup.h"

#include <algorithm>
#include <array>

#include "base/at.h"
#include "base/error.h"
#include "base/shape.h"
#include "kernels/index/lookup.h"
#include "ops/check.h"
#include "ops/local.h"
#include "ops/reference_values.h"
#include "ops/rule_builder.h"

namespace tessera {

namespace {
constexpr std::array<const char*, 3> kModes = {"fill", "clip", "promise"};
}

// kModes is in the order of the enum.
static_assert(LookupMode::kFill == LookupMode{0} && LookupMode::kClip == LookupMode{1} &&
              LookupMode::kPromise == LookupMode{2});

std::string FieldText(LookupMode mode) { return base::At(kModes, mode); }

void ReadField(base::Reader& in, LookupMode& mode) {
  std::string word = in.Word();
  auto at = std::find(kModes.begin(), kModes.end(), word);
  if (at == kModes.end()) in.Fail("there is no mode '" + word + "'");
  mode = static_cast<LookupMode>(at - kModes.begin());
}

}  // namespace tessera

namespace tessera::ops {

using sharding::DimMap;
using sharding::Factor;
using sharding::FactorKind;

LookupRoles RolesOf(const LookupNumbers& n, const LookupShapes& s) {
  LookupRoles roles;
  for (auto* list : {&roles.slice_of, &roles.entry_of, &roles.batch_of})
    list->assign(s.operand.size(), -1);
  for (size_t k = 0; k < n.starts.size(); ++k)
    base::At(roles.entry_of, n.starts[k]) = static_cast<int64_t>(k);
  size_t window = 0;
  for (size_t d = 0; d < s.operand.size(); ++d) {
    auto dim = static_cast<int64_t>(d);
    if (!Has(n.dropped, dim) && !Has(n.batch.lhs, dim)) roles.slice_of[d] = n.windows[window++];
  }
  int64_t query = 0;
  for (size_t d = 0; d < s.slices.size(); ++d)
    roles.query_of.push_back(Has(n.windows, static_cast<int64_t>(d)) ? -1 : query++);
  for (size_t k = 0; k < n.batch.lhs.size(); ++k) {
    auto at = std::find(roles.query_of.begin(), roles.query_of.end(), n.batch.rhs[k]);
    base::At(roles.batch_of, n.batch.lhs[k]) = at - roles.query_of.begin();
  }
  return roles;
}

namespace {

void CheckNumbers(const ir::TypeCall& c, const LookupNumbers& n, const LookupShapes& s,
                  const char* slices) {
  auto rank = [](const base::Shape& shape) { return static_cast<int64_t>(shape.size()); };
  if (s.indices.empty())
    c.FailShape(17, "the indices need a last dim that holds the index vectors");
  CheckDims(c, n.windows, rank(s.slices));
  CheckDims(c, n.starts, rank(s.operand));
  std::vector<int64_t> apart = n.dropped;
  apart.insert(apart.end(), n.batch.lhs.begin(), n.batch.lhs.end());
  CheckDims(c, apart, rank(s.operand));
  CheckDims(c, n.batch.rhs, rank(s.indices) - 1);
  if (!std::is_sorted(n.windows.begin(), n.windows.end()))
    c.FailShape(17, fmt::format("the slices' dims {} are not ascending", ShapeText(n.windows)));
  if (n.batch.lhs.size() != n.batch.rhs.size())
    c.FailShape(17, "the operand and the indices have different numbers of batch dims");
  for (int64_t d : n.batch.lhs)
    if (Has(n.starts, d))
      c.FailShape(17, fmt::format("dim {} is a batch dim: it is not looked up", d));
  if (s.indices.back() != static_cast<int64_t>(n.starts.size()))
    c.FailShape(17, fmt::format("index vectors have size {}, but .start names {}", s.indices.back(),
                                base::CountText(n.starts.size(), "dim")));
  if (n.windows.size() + apart.size() != s.operand.size())
    c.FailShape(
        17, fmt::format("slices keep {} and drop {}, but the operand has rank {}",
                        base::CountText(n.windows.size(), "dim"), apart.size(), s.operand.size()));
  if (s.slices.size() != n.windows.size() + s.indices.size() - 1)
    c.FailShape(17, fmt::format("the rank of the {} must be {}, not {}", slices,
                                n.windows.size() + s.indices.size() - 1, s.slices.size()));
}

}  // namespace

void CheckLookup(const ir::TypeCall& c, const LookupNumbers& n, const LookupShapes& s,
                 const char* slices) {
  CheckNumbers(c, n, s, slices);
  LookupRoles roles = RolesOf(n, s);
  for (size_t d = 0; d < s.slices.size(); ++d) {
    if (roles.query_of[d] < 0) continue;
    int64_t size = base::At(s.indices, roles.query_of[d]);
    if (size != s.slices[d])
      c.FailShape(18, fmt::format("dim {} of the {} has size {}, but in the indices it has size {}",
                                  d, slices, s.slices[d], size));
  }
  for (size_t d = 0; d < s.operand.size(); ++d) {
    if (roles.batch_of[d] >= 0) {
      int64_t size = base::At(s.slices, roles.batch_of[d]);
      if (size != s.operand[d])
        c.FailShape(
            18, fmt::format(
                    "batch dim {} of the operand has size {}, but in the indices it has size {}", d,
                    s.operand[d], size));
    } else if (roles.slice_of[d] >= 0) {
      int64_t size = base::At(s.slices, roles.slice_of[d]);
      if (size > s.operand[d])
        c.FailShape(18, fmt::format("slices of size {} do not fit into dim {} of size {}", size, d,
                                    s.operand[d]));
    }
  }
}

namespace {

struct LookupRule {
  RuleBuilder builder;
  bool scatters;

  // Returns the places of a dim of the operand: it is also a dim of a scatter's result.
  RuleBuilder::Places Operand(size_t d) const {
    if (scatters) return {{0, d}, {3, d}};
    return {{0, d}};
  }
  RuleBuilder::Places Joined(size_t d, size_t slice) const {
    RuleBuilder::Places places = Operand(d);
    places.push_back({2, slice});
    return places;
  }
};

// Adds a dim along which slices extend. Only devices that hold the looked-up part produce it, so a
// gather sums their results, and a scatter sends nothing.
void AddWindow(LookupRule& rule, size_t d, size_t slice, bool placed) {
  int64_t whole = rule.builder.size(0, d), part = rule.builder.size(2, slice);
  Factor piece{.size = part, .kind = FactorKind::kReplicate};
  if (whole == part) {
    rule.builder.Add({.size = whole}, rule.Joined(d, slice));
  } else if (rule.scatters) {
    rule.builder.Add({.size = whole}, rule.Operand(d));
    rule.builder.Add(piece, {{2, slice}});
  } else if (part == 1) {
    rule.builder.Add({.size = whole, .kind = FactorKind::kReduce}, rule.Operand(d));
    rule.builder.Add(piece, {{2, slice}});
  } else {
    // Longer slices may cross shards: the operand must be whole.
    piece.size = whole;
    piece.blocked = true;
    if (!placed) piece = {.size = whole, .kind = FactorKind::kPermute, .blocked = true};
    rule.builder.Add(piece, rule.Joined(d, slice));
  }
}

}  // namespace

ScatterParams AsScatter(const GatherParams& p) {
  ScatterParams out;
  out.windows.assign(p.windows.begin(), p.windows.end());
  out.dropped = p.dropped, out.starts = p.starts;
  out.batch.lhs = p.batch.lhs, out.batch.rhs = p.batch.rhs;
  out.mode = p.mode, out.sorted = p.sorted, out.unique = p.unique;
  return out;
}

GatherParams AsGather(const ScatterParams& p, DType dtype) {
  GatherParams out;
  out.windows.assign(p.windows.begin(), p.windows.end());
  out.dropped = p.dropped, out.starts = p.starts;
  out.batch.lhs = p.batch.lhs, out.batch.rhs = p.batch.rhs;
  out.mode = p.mode, out.sorted = p.sorted, out.unique = p.unique;
  out.fill = {dtype, 0};
  return out;
}

GatherParams AlongDim(int64_t rank, int64_t dim, DType dtype) {
  GatherParams out;
  out.dropped = {dim}, out.starts = {dim};
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim) out.batch.lhs.push_back(d), out.batch.rhs.push_back(d);
  out.mode = LookupMode::kPromise;
  out.fill = {dtype, 0};
  return out;
}

DimMap LookupDims(const LookupRoles& roles, const LookupShapes& s, bool scatters, Factor query) {
  std::vector<Shape> shapes = {s.operand, s.indices, s.slices};
  if (scatters) shapes.push_back(s.operand);
  LookupRule rule{{std::move(shapes), scatters ? size_t{3} : size_t{2}}, scatters};
  auto with = [](const std::vector<int64_t>& list, size_t slice) {
    return base::Size(std::find(list.begin(), list.end(), static_cast<int64_t>(slice)) -
                      list.begin());
  };
  for (size_t slice = 0; slice < s.slices.size(); ++slice) {
    if (roles.query_of[slice] < 0) {
      size_t d = with(roles.slice_of, slice);
      AddWindow(rule, d, slice, roles.entry_of[d] >= 0);
      continue;
    }
    size_t d = with(roles.batch_of, slice);
    bool batch = d < s.operand.size();
    Factor factor = batch ? Factor{} : query;
    factor.size = s.slices[slice];
    RuleBuilder::Places places = batch ? rule.Joined(d, slice) : RuleBuilder::Places{{2, slice}};
    places.push_back({1, base::Size(roles.query_of[slice])});
    rule.builder.Add(factor, places);
  }
  for (size_t d = 0; d < s.operand.size(); ++d) {
    if (roles.slice_of[d] >= 0 || roles.batch_of[d] >= 0) continue;
    Factor looked_up{.size = s.operand[d]};
    if (!scatters && looked_up.size == 1) looked_up.kind = FactorKind::kReplicate;
    if (!scatters && looked_up.size != 1) looked_up.kind = FactorKind::kReduce;
    rule.builder.Add(looked_up, rule.Operand(d));
  }
  rule.builder.Add({.size = s.indices.back(), .kind = FactorKind::kReplicate},
                   {{1, s.indices.size() - 1}});
  DimMap map = rule.builder.Build();
  map.traits.selectors = {1};
  return map;
}

namespace {

// Returns, per device, whether it is the first along the axes. Empty if all are.
std::vector<bool> FirstAlong(const sharding::MeshDef* mesh, const sharding::AxisList& axes) {
  std::vector<bool> first;
  if (axes.empty()) return first;
  for (int64_t i = 0; i < mesh->size(); ++i) {
    auto device = base::Size(mesh->Device(i));
    if (first.size() <= device) first.resize(device + 1);
    first[device] = sharding::ShardIndex(*mesh, axes, i) == 0;
  }
  return first;
}

kernels::LookupDesc::Dim LocalDim(const LookupRoles& roles, size_t d,
                                  const ir::LocalTensor& operand, const ir::LocalTensor& slices) {
  kernels::LookupDesc::Dim dim{.size = operand.shape[d],
                               .stride = base::DenseStrides(operand.shape)[d],
                               .entry = roles.entry_of[d],
                               .begins = {}};
  int64_t window = 1;
  if (roles.slice_of[d] >= 0) {
    const int64_t s = roles.slice_of[d];
    window = base::At(slices.global, s);
    dim.window = base::At(slices.shape, s);
    dim.slice_stride = base::At(base::DenseStrides(slices.shape), s);
  }
  dim.last = operand.global[d] - window;
  if (dim.last != 0) dim.begins = ShardBegins(operand, d);
  return dim;
}

}  // namespace

kernels::LookupDesc LocalLookup(const LookupRoles& roles, const ir::LocalTensor& operand,
                                const ir::LocalTensor& indices, const ir::LocalTensor& slices,
                                LookupMode mode, const sharding::MeshDef* mesh,
                                const sharding::AxisList& partial) {
  // A value from outside all meshes may have no mesh.
  if (operand.sharding->mesh) mesh = operand.sharding->mesh;
  kernels::LookupDesc desc{.dtype = operand.dtype,
                           .index = indices.dtype,
                           .clip = mode == LookupMode::kClip,
                           .entries = indices.shape.back(),
                           .leads = FirstAlong(mesh, partial),
                           .dims = {},
                           .queries = {}};
  for (size_t d = 0; d < operand.shape.size(); ++d)
    desc.dims.push_back(roles.batch_of[d] >= 0 ? kernels::LookupDesc::Dim{}
                                               : LocalDim(roles, d, operand, slices));
  std::vector<int64_t> strides = base::DenseStrides(slices.shape);
  std::vector<int64_t> index_strides = base::DenseStrides(indices.shape);
  for (size_t s = 0; s < slices.shape.size(); ++s) {
    if (roles.query_of[s] < 0) continue;
    const int64_t q = roles.query_of[s];
    for (size_t d = 0; d < operand.shape.size(); ++d)
      if (roles.batch_of[d] == static_cast<int64_t>(s))
        desc.dims[d] = {.size = operand.shape[d],
                        .stride = base::DenseStrides(operand.shape)[d],
                        .query = static_cast<int64_t>(desc.queries.size()),
                        .begins = {}};
    desc.queries.push_back({.size = slices.shape[s],
                            .index_stride = base::At(index_strides, q),
                            .slice_stride = strides[s],
                            .whole = slices.global[s],
                            .begins = ShardBegins(slices, s)});
  }
  return desc;
}

void ForEachLookup(const LookupNumbers& n, const LookupShapes& s, const ir::HostTensor& indices,
                   LookupMode mode, const std::function<void(int64_t, int64_t)>& f) {
  const LookupRoles roles = RolesOf(n, s);
  Shape queries(s.indices.begin(), s.indices.end() - 1), windows;
  for (int64_t d : n.windows) windows.push_back(base::At(s.slices, d));
  for (int64_t q = 0; q < base::Elements(queries); ++q) {
    std::vector<int64_t> vector = ir::CoordsOf(queries, q), to(s.slices.size());
    for (size_t d = 0; d < to.size(); ++d)
      if (roles.query_of[d] >= 0) to[d] = base::At(vector, roles.query_of[d]);
    vector.push_back(0);
    bool inside = true;
    std::vector<int64_t> starts(s.operand.size(), 0);
    for (size_t d = 0; d < starts.size(); ++d) {
      if (roles.batch_of[d] >= 0) starts[d] = base::At(to, roles.batch_of[d]);
      if (roles.entry_of[d] < 0) continue;
      const int64_t slice = roles.slice_of[d];
      const int64_t last = s.operand[d] - (slice < 0 ? 1 : base::At(s.slices, slice));
      vector.back() = roles.entry_of[d];
      starts[d] = reference::IndexAt(indices, ir::FlatIndex(s.indices, vector));
      if (mode == LookupMode::kClip) starts[d] = std::max<int64_t>(std::min(starts[d], last), 0);
      inside = inside && starts[d] >= 0 && starts[d] <= last;
    }
    for (int64_t w = 0; w < base::Elements(windows); ++w) {
      const std::vector<int64_t> at = ir::CoordsOf(windows, w);
      for (size_t k = 0; k < at.size(); ++k) base::At(to, n.windows[k]) = at[k];
      std::vector<int64_t> from = starts;
      for (size_t d = 0; d < from.size(); ++d)
        if (roles.slice_of[d] >= 0) from[d] += base::At(to, roles.slice_of[d]);
      f(ir::FlatIndex(s.slices, to), inside ? ir::FlatIndex(s.operand, from) : -1);
    }
  }
}

}  // namespace tessera::ops
