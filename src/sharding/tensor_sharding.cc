// Verifies shardings against their mesh, and resolves users' specs.
#include "sharding/tensor_sharding.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

namespace tessera::sharding {

bool TensorSharding::dims_empty() const {
  return absl::c_all_of(dims, [](const DimAxes& d) { return d.axes.empty(); });
}

TensorSharding Replicated(const MeshDef* mesh, int rank) {
  TensorSharding s;
  s.mesh = mesh;
  s.dims.resize(rank);
  return s;
}

TensorSharding FullyOpen(const MeshDef* mesh, int rank) {
  TensorSharding s = Replicated(mesh, rank);
  for (DimAxes& d : s.dims) d.open = true;
  return s;
}

namespace {

std::optional<Problem> VerifySubAxis(const MeshDef& mesh, AxisPart a) {
  int64_t n = mesh.axis_size(a.axis);
  if (a.pre == 1 && a.size == n) return std::nullopt;
  std::string text = AxisText(mesh, a);
  if (a.pre < 1) return Problem{"sub-axis", fmt::format("the pre-size of {} is below 1", text)};
  if (a.size <= 1) return Problem{"sub-axis", fmt::format("the size of {} is not above 1", text)};
  if (a.size == n)
    return Problem{"sub-axis", fmt::format("{} is the whole axis: write \"{}\"", text,
                                           mesh.axes()[a.axis].name)};
  if (a.pre > n / a.size || n % a.next() != 0)
    return Problem{"sub-axis",
                   fmt::format("{} does not divide the axis, which has size {}", text, n)};
  return std::nullopt;
}

std::optional<Problem> VerifyList(const MeshDef& mesh, const AxisList& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (auto p = VerifySubAxis(mesh, axes[i])) return p;
    for (size_t j = 0; j < i; ++j)
      if (axes[i] == axes[j])
        return Problem{"duplicate-axis", fmt::format("{} appears twice", AxisText(mesh, axes[i]))};
    if (i > 0 && CanMerge(axes[i - 1], axes[i]))
      return Problem{"mergeable",
                     fmt::format("{} and {} are adjacent parts: write them as one",
                                 AxisText(mesh, axes[i - 1]), AxisText(mesh, axes[i]))};
  }
  return std::nullopt;
}

std::optional<Problem> VerifyOrdered(const MeshDef& mesh, const AxisList& axes, const char* set) {
  if (auto p = VerifyList(mesh, axes)) return p;
  if (!absl::c_is_sorted(axes, MeshOrder))
    return Problem{"order", fmt::format("the {} axes are not in the order of the mesh", set)};
  return std::nullopt;
}

std::optional<Problem> VerifyDisjoint(const TensorSharding& s) {
  AxisList seen;
  auto add = [&](const AxisList& axes) -> std::optional<Problem> {
    for (AxisPart a : axes) {
      for (AxisPart b : seen) {
        if (!Collide(a, b)) continue;
        if (a == b)
          return Problem{"duplicate-axis", fmt::format("{} appears twice", AxisText(*s.mesh, a))};
        return Problem{"overlap",
                       fmt::format("{} and {} {}", AxisText(*s.mesh, b), AxisText(*s.mesh, a),
                                   Overlaps(a, b) ? "overlap" : "cannot be cells of one grid")};
      }
      seen.push_back(a);
    }
    return std::nullopt;
  };
  for (const DimAxes& d : s.dims)
    if (auto p = add(d.axes)) return p;
  for (const AxisList* set : {&s.replicated, &s.unreduced, &s.reduced, &s.varying})
    if (auto p = add(*set)) return p;
  return std::nullopt;
}

}  // namespace

std::optional<Problem> Verify(const TensorSharding& s) {
  if (!s.mesh) {
    if (s.trivial() && s.replicated.empty()) return std::nullopt;
    return Problem{"no-mesh", "axes without a mesh"};
  }
  for (size_t d = 0; d < s.dims.size(); ++d) {
    const DimAxes& dim = s.dims[d];
    if (dim.priority < -1)
      return Problem{"priority", fmt::format("dim {} has a negative priority", d)};
    if (dim.priority >= 0 && dim.axes.empty() && !dim.open)
      return Problem{"priority", fmt::format("dim {} is empty and closed but has a priority", d)};
    if (auto p = VerifyList(*s.mesh, dim.axes)) return p;
  }
  if (auto p = VerifyOrdered(*s.mesh, s.replicated, "replicated")) return p;
  if (auto p = VerifyOrdered(*s.mesh, s.unreduced, "unreduced")) return p;
  if (auto p = VerifyOrdered(*s.mesh, s.reduced, "reduced")) return p;
  if (auto p = VerifyOrdered(*s.mesh, s.varying, "varying")) return p;
  return VerifyDisjoint(s);
}

int FirstUnevenDim(const TensorSharding& s, const std::vector<int64_t>& shape) {
  for (size_t d = 0; d < s.dims.size(); ++d)
    if (!s.dims[d].axes.empty() && shape[d] % SizeOf(s.dims[d].axes) != 0)
      return static_cast<int>(d);
  return -1;
}

namespace {

// Appends the axis that `ref` names, unless its size is 1.
std::optional<Problem> Lookup(const MeshDef* mesh, const tessera::AxisRef& ref, AxisList& out) {
  int axis = mesh ? mesh->Find(ref.name) : -1;
  if (axis < 0) {
    std::string known;
    if (mesh)
      for (const MeshAxis& a : mesh->axes()) known += (known.empty() ? "" : ", ") + a.name;
    return Problem{"unknown-axis",
                   mesh ? fmt::format("there is no axis \"{}\": the mesh has {}{}", ref.name, known,
                                      mesh->DidYouMean(ref.name))
                        : fmt::format("there is no axis \"{}\": no mesh is in scope", ref.name)};
  }
  AxisPart a{axis, ref.pre, ref.size ? ref.size : mesh->axis_size(axis)};
  if (mesh->axis_size(axis) == 1) return VerifySubAxis(*mesh, a);
  out.push_back(a);
  return std::nullopt;
}

std::optional<Problem> LookupSet(const MeshDef* mesh, const std::vector<tessera::AxisRef>& axes,
                                 AxisList& out) {
  for (const tessera::AxisRef& ref : axes)
    if (auto p = Lookup(mesh, ref, out)) return p;
  absl::c_sort(out, MeshOrder);
  return std::nullopt;
}

std::vector<tessera::AxisRef> RefsOf(const MeshDef* mesh, const AxisList& axes) {
  std::vector<tessera::AxisRef> refs;
  for (AxisPart a : axes) {
    const std::string& name = mesh->axes()[a.axis].name;
    refs.push_back(IsWhole(*mesh, a) ? tessera::AxisRef(name)
                                     : tessera::AxisRef(name, a.pre, a.size));
  }
  return refs;
}

}  // namespace

Resolved Resolve(const PartitionSpec& spec, const MeshDef* mesh, int rank) {
  Resolved r{Replicated(mesh, std::max(rank, spec.rank())), std::nullopt};
  for (int d = 0; d < spec.rank(); ++d) {
    const DimSharding& from = spec.dims()[d];
    DimAxes& to = r.sharding.dims[d];
    to.open = from.open();
    to.priority = from.priority();
    for (const tessera::AxisRef& ref : from.axes())
      if ((r.problem = Lookup(mesh, ref, to.axes))) return r;
    // A dim over axes of size 1 only is unsharded and closed, so it cannot have a priority.
    if (!from.axes().empty() && to.axes.empty() && !to.open) to.priority = -1;
    if (d >= rank && !from.axes().empty()) {
      r.problem =
          Problem{"rank", fmt::format("the spec {} has more dims than the array, which has rank {}",
                                      spec.text(), rank)};
      return r;
    }
  }
  r.sharding.dims.resize(rank);
  r.sharding.kind = spec.reduction();
  if ((r.problem = LookupSet(mesh, spec.unreduced_axes(), r.sharding.unreduced)) ||
      (r.problem = LookupSet(mesh, spec.reduced_axes(), r.sharding.reduced)) ||
      (r.problem = LookupSet(mesh, spec.replicated_axes(), r.sharding.replicated)))
    return r;
  if (r.sharding.unreduced.empty()) r.sharding.kind = Reduction::kSum;
  r.problem = Verify(r.sharding);
  return r;
}

PartitionSpec ToSpec(const TensorSharding& s) {
  std::vector<DimSharding> dims;
  for (const DimAxes& d : s.dims) {
    DimSharding dim(RefsOf(s.mesh, d.axes));
    if (d.open) dim = Open(dim);
    if (d.priority >= 0) dim = dim.priority(d.priority);
    dims.push_back(std::move(dim));
  }
  PartitionSpec spec(std::move(dims));
  if (!s.unreduced.empty()) spec = spec.unreduced(RefsOf(s.mesh, s.unreduced), s.kind);
  if (!s.reduced.empty()) spec = spec.reduced(RefsOf(s.mesh, s.reduced));
  if (!s.replicated.empty()) spec = spec.replicated(RefsOf(s.mesh, s.replicated));
  return spec;
}

std::string AxesCode(const MeshDef* mesh, const AxisList& axes) {
  const std::string spec = PartitionSpec({DimSharding(RefsOf(mesh, axes))}).text();  // P("x")
  return spec.substr(2, spec.size() - 3);
}

}  // namespace tessera::sharding
