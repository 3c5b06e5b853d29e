// The dims of gather and scatter: how they correspond, their dimension map, and their local shapes.
#include "ops/lookup.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "base/error.h"
#include "base/shape.h"
#include "kernels/index/lookup.h"
#include "ops/check.h"
#include "ops/local.h"
#include "ops/reference_values.h"
#include "ops/rule_builder.h"

namespace tessera {

std::string FieldText(LookupMode mode) {
  return mode == LookupMode::kFill ? "fill" : mode == LookupMode::kClip ? "clip" : "promise";
}

void ReadField(base::Reader& in, LookupMode& mode) {
  const std::string word = in.Word();
  for (LookupMode m : {LookupMode::kFill, LookupMode::kClip, LookupMode::kPromise})
    if (word == FieldText(m)) return void(mode = m);
  in.Fail("there is no mode '" + word + "'");
}

}  // namespace tessera

namespace tessera::ops {

using sharding::DimMap;
using sharding::Factor;
using sharding::FactorKind;

LookupRoles RolesOf(const LookupNumbers& n, const LookupShapes& s) {
  LookupRoles roles{.operand = std::vector<DimRole>(s.operand.size()),
                    .slices = std::vector<SliceRole>(s.slices.size())};
  for (size_t k = 0; k < n.starts.size(); ++k) roles.operand[n.starts[k]].entry = k;
  size_t window = 0;
  for (size_t d = 0; d < s.operand.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (Has(n.dropped, dim) || Has(n.batch.lhs, dim)) continue;
    const auto slice = static_cast<size_t>(n.windows[window++]);
    roles.operand[d].window = slice;
    roles.slices[slice].operand = d;
  }
  int64_t query = 0;
  for (size_t d = 0; d < s.slices.size(); ++d) {
    if (Has(n.windows, static_cast<int64_t>(d))) continue;
    const auto batch = absl::c_find(n.batch.rhs, query);
    if (batch != n.batch.rhs.end())
      roles.slices[d].operand = n.batch.lhs[batch - n.batch.rhs.begin()];
    roles.slices[d].query = query++;
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
  if (!absl::c_is_sorted(n.windows))
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
  const LookupRoles roles = RolesOf(n, s);
  for (size_t d = 0; d < s.slices.size(); ++d) {
    const SliceRole& role = roles.slices[d];
    const int64_t size = s.slices[d];
    if (role.query && s.indices[*role.query] != size)
      c.FailShape(18, fmt::format("dim {} of the {} has size {}, but in the indices it has size {}",
                                  d, slices, size, s.indices[*role.query]));
    if (!role.operand) continue;
    const int64_t whole = s.operand[*role.operand];
    if (role.query && size != whole)
      c.FailShape(
          18,
          fmt::format("batch dim {} of the operand has size {}, but in the indices it has size {}",
                      *role.operand, whole, size));
    if (!role.query && size > whole)
      c.FailShape(18, fmt::format("slices of size {} do not fit into dim {} of size {}", size,
                                  *role.operand, whole));
  }
}

namespace {

struct LookupRule {
  RuleBuilder builder;
  bool scatters;

  // Returns the places of a dim of the operand: it is also a dim of a scatter's result.
  RuleBuilder::TensorDims Operand(size_t d) const {
    if (scatters) return {{0, d}, {3, d}};
    return {{0, d}};
  }
  RuleBuilder::TensorDims OperandAndSlices(size_t d, size_t slice) const {
    RuleBuilder::TensorDims places = Operand(d);
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
    rule.builder.Add({.size = whole}, rule.OperandAndSlices(d, slice));
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
    rule.builder.Add(piece, rule.OperandAndSlices(d, slice));
  }
}

}  // namespace

namespace {

template <class To, class From>
To WithNumbersOf(const From& p) {
  To out;
  out.windows.assign(p.windows.begin(), p.windows.end());
  out.dropped = p.dropped, out.starts = p.starts;
  out.batch.lhs = p.batch.lhs, out.batch.rhs = p.batch.rhs;
  out.mode = p.mode, out.sorted = p.sorted, out.unique = p.unique;
  return out;
}

}  // namespace

ScatterParams AsScatter(const GatherParams& p) { return WithNumbersOf<ScatterParams>(p); }

GatherParams AsGather(const ScatterParams& p, DType dtype) {
  auto out = WithNumbersOf<GatherParams>(p);
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
  for (size_t slice = 0; slice < s.slices.size(); ++slice) {
    const auto& [query_dim, dim] = roles.slices[slice];
    if (!query_dim) {
      AddWindow(rule, *dim, slice, roles.operand[*dim].entry.has_value());
      continue;
    }
    Factor factor = dim ? Factor{} : query;
    factor.size = s.slices[slice];
    RuleBuilder::TensorDims places =
        dim ? rule.OperandAndSlices(*dim, slice) : RuleBuilder::TensorDims{{2, slice}};
    places.push_back({1, *query_dim});
    rule.builder.Add(factor, places);
  }
  for (size_t d = 0; d < s.operand.size(); ++d) {
    if (roles.operand[d].window || roles.is_batch(d)) continue;
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
    const auto device = static_cast<size_t>(mesh->Device(i));
    if (first.size() <= device) first.resize(device + 1);
    first[device] = sharding::ShardIndex(*mesh, axes, i) == 0;
  }
  return first;
}

kernels::LookupDesc::Dim LocalDim(const DimRole& role, size_t d, const ir::LocalTensor& operand,
                                  const ir::LocalTensor& slices) {
  kernels::LookupDesc::Dim dim{.size = operand.shape[d],
                               .stride = base::DenseStrides(operand.shape)[d],
                               .entry = role.entry ? static_cast<int64_t>(*role.entry) : -1,
                               .begins = {}};
  int64_t window = 1;
  if (role.window) {
    window = slices.global[*role.window];
    dim.window = slices.shape[*role.window];
    dim.slice_stride = base::DenseStrides(slices.shape)[*role.window];
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
    desc.dims.push_back(roles.is_batch(d) ? kernels::LookupDesc::Dim{}
                                          : LocalDim(roles.operand[d], d, operand, slices));
  const std::vector<int64_t> strides = base::DenseStrides(slices.shape),
                             index_strides = base::DenseStrides(indices.shape);
  for (size_t s = 0; s < slices.shape.size(); ++s) {
    const auto& [query, dim] = roles.slices[s];
    if (!query) continue;
    if (dim)
      desc.dims[*dim] = {.size = operand.shape[*dim],
                         .stride = base::DenseStrides(operand.shape)[*dim],
                         .query = static_cast<int64_t>(desc.queries.size()),
                         .begins = {}};
    desc.queries.push_back({.size = slices.shape[s],
                            .index_stride = index_strides[*query],
                            .slice_stride = strides[s],
                            .whole = slices.global[s],
                            .begins = ShardBegins(slices, s)});
  }
  return desc;
}

namespace {

using reference::Coords;

// Returns where the slice that contains `to` begins in the operand, or nothing if it is out of
// range. `query`: coordinates of its index vector.
std::optional<Coords> StartOf(const LookupRoles& roles, const LookupShapes& s,
                              const ir::HostTensor& indices, LookupMode mode, const Coords& query,
                              const Coords& to) {
  Coords start(s.operand.size(), 0), entry = query;
  for (size_t d = 0; d < to.size(); ++d)
    if (roles.slices[d].query && roles.slices[d].operand) start[*roles.slices[d].operand] = to[d];
  entry.push_back(0);
  for (size_t d = 0; d < start.size(); ++d) {
    const DimRole& role = roles.operand[d];
    if (!role.entry) continue;
    const int64_t last = s.operand[d] - (role.window ? s.slices[*role.window] : 1);
    entry.back() = static_cast<int64_t>(*role.entry);
    start[d] = reference::IndexAt(indices, ir::FlatIndex(s.indices, entry));
    if (mode == LookupMode::kClip) start[d] = std::max<int64_t>(std::min(start[d], last), 0);
    if (start[d] < 0 || start[d] > last) return std::nullopt;
  }
  return start;
}

// Returns the coordinates in the operand of the slices' element `to`.
Coords ElementAt(const LookupRoles& roles, Coords start, const Coords& to) {
  for (size_t d = 0; d < start.size(); ++d)
    if (roles.operand[d].window) start[d] += to[*roles.operand[d].window];
  return start;
}

}  // namespace

void ForEachLookup(const LookupNumbers& n, const LookupShapes& s, const ir::HostTensor& indices,
                   LookupMode mode, absl::FunctionRef<void(int64_t, int64_t)> f) {
  const LookupRoles roles = RolesOf(n, s);
  const Shape queries(s.indices.begin(), s.indices.end() - 1);
  Shape windows;
  for (int64_t d : n.windows) windows.push_back(s.slices[d]);
  for (int64_t q = 0; q < base::Elements(queries); ++q) {
    const Coords query = ir::CoordsOf(queries, q);
    Coords to(s.slices.size());
    for (size_t d = 0; d < to.size(); ++d)
      if (roles.slices[d].query) to[d] = query[*roles.slices[d].query];
    const std::optional<Coords> start = StartOf(roles, s, indices, mode, query, to);
    for (int64_t w = 0; w < base::Elements(windows); ++w) {
      const Coords at = ir::CoordsOf(windows, w);
      for (size_t k = 0; k < at.size(); ++k) to[n.windows[k]] = at[k];
      f(ir::FlatIndex(s.slices, to),
        start ? ir::FlatIndex(s.operand, ElementAt(roles, *start, to)) : -1);
    }
  }
}

}  // namespace tessera::ops
