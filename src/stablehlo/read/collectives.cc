// Collectives between devices, which stand in manual computations, where they run over axes.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "api/core/manual_axes.h"
#include "base/at.h"
#include "stablehlo/read/expressions.h"
#include "stablehlo/read/importer.h"
#include "tessera/batching.h"
#include "tessera/shard_map.h"
#include "trace/scopes.h"

namespace tessera::stablehlo {
namespace {

using Groups = std::vector<std::vector<int64_t>>;  // device numbers, row-major over the mesh
using Axes = std::vector<int>;

AxisSet SetOf(const sharding::MeshDef& mesh, const Axes& axes) {
  std::vector<AxisRef> refs;
  for (int a : axes) refs.emplace_back(base::At(mesh.axes(), a).name);
  return AxisSet(std::move(refs));
}

const sharding::MeshDef& MeshOf(const ReadCall& c) {
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  if (!mesh || !mesh->has_mode(AxisMode::Manual)) c.Fail("it is not in a manual computation");
  return *mesh;
}

Axes ManualAxesOf(const sharding::MeshDef& mesh) {
  Axes axes;
  for (int a = 0; a < mesh.rank(); ++a)
    if (base::At(mesh.axes(), a).mode == AxisMode::Manual && mesh.axis_size(a) > 1)
      axes.push_back(a);
  return axes;
}

// Returns the groups of devices that communicate over these axes, the first one major. Each group
// begins with the device at position 0 of the axes.
Groups GroupsOver(const sharding::MeshDef& mesh, const Axes& axes) {
  std::vector<int64_t> offsets{0};
  for (int a : axes) {
    std::vector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t k = 0; k < mesh.axis_size(a); ++k) next.push_back(offset + k * mesh.stride(a));
    offsets = std::move(next);
  }
  Groups groups;
  for (int64_t device = 0; device < mesh.size(); ++device) {
    const bool first = absl::c_all_of(axes, [&](int a) { return mesh.Coordinate(device, a) == 0; });
    if (!first) continue;
    groups.emplace_back();
    for (int64_t offset : offsets) groups.back().push_back(device + offset);
  }
  return groups;
}

// Calls f with every list of some of the axes, in every order, shorter ones first, until it
// returns true.
template <class F>
std::optional<Axes> FindAxes(const Axes& all, F f) {
  std::vector<Axes> lists{{}};
  for (size_t k = 0; k < lists.size(); ++k) {
    if (f(lists[k])) return lists[k];
    for (int a : all) {
      if (absl::c_linear_search(lists[k], a)) continue;
      Axes longer = lists[k];
      longer.push_back(a);
      lists.push_back(std::move(longer));
    }
  }
  return {};
}

Groups RowsOf(const ReadCall& c, std::string_view name) {
  const Attribute* attribute = c.op().Find(name);
  if (!attribute || !attribute->type || attribute->type->dims.size() != 2)
    c.Fail(fmt::format("{} must be a list of rows", name));
  const std::vector<int64_t> numbers = c.Integers(name);
  const auto columns = base::Size(attribute->type->dims[1]);
  const auto rows = base::Size(attribute->type->dims[0]);
  Groups groups(rows);
  for (size_t r = 0; r < rows; ++r)
    for (size_t k = 0; k < columns; ++k)
      groups[r].push_back(numbers.size() == 1 ? numbers[0] : numbers[r * columns + k]);
  return groups;
}

// Returns the names in `#stablehlo.replica_group_mesh_axes<...>`.
Axes NamedAxes(const ReadCall& c, const sharding::MeshDef& mesh, const Attribute& list) {
  Axes axes;
  for (const Attribute& ref : list.items()) {
    const Attribute* name = ref.Find("name");
    const int axis = name ? mesh.Find(name->text) : -1;
    if (axis < 0 || ref.Find("sub_axis_info")) c.Fail("its groups are not of whole axes");
    axes.push_back(axis);
  }
  return axes;
}

Axes GroupAxes(const ReadCall& c) {
  const sharding::MeshDef& mesh = MeshOf(c);
  const Attribute* attribute = c.op().Find("replica_groups");
  if (attribute && attribute->kind == Attribute::Kind::kStruct)
    if (const Attribute* axes = attribute->Find("axes")) return NamedAxes(c, mesh, *axes);
  c.importer().meshes().CheckDevices(c.op().place);
  const Groups wanted = RowsOf(c, "replica_groups");
  // The order of the groups has no meaning.
  const auto sorted = [](Groups groups) {
    absl::c_sort(groups);
    return groups;
  };
  const Groups rows = sorted(wanted);
  const auto found = FindAxes(
      ManualAxesOf(mesh), [&](const Axes& axes) { return sorted(GroupsOver(mesh, axes)) == rows; });
  if (!found) c.Fail("its groups are not those of manual axes");
  return *found;
}

// The op of a region that is one op of its two arguments; "" for any other region.
std::string OnlyOp(const ReadCall& c) {
  if (c.op().regions.size() != 1 || c.op().regions[0].arguments != 2) return "";
  const auto made =
      ExpressionsOf(c.importer().module(), c.op().regions[0], ComparedSides::kOneAfterTheOther);
  if (made.size() != 1) return "";
  const std::string name = made[0].substr(0, made[0].find('('));
  const bool of_both = made[0] == name + "(l0,r0)" || made[0] == name + "(r0,l0)";
  return of_both ? "stablehlo." + name : "";
}

Array Reduced(const ReadCall& c, const Array& x, const AxisSet& axes) {
  const std::string op = OnlyOp(c);
  const bool is_bool = api::TypeOf(x)->dtype().is_bool();
  if (op == "stablehlo.add" && !is_bool) return psum(x, axes, c.loc());
  if (op == "stablehlo.maximum" || (is_bool && (op == "stablehlo.or" || op == "stablehlo.add")))
    return pmax(x, axes, c.loc());
  if (op == "stablehlo.minimum" || (is_bool && op == "stablehlo.and"))
    return pmin(x, axes, c.loc());
  // Any other reducer: of the gathered arrays. There is no element that it leaves as it is, so the
  // first array is the initial one.
  const Array all = all_gather(x, axes, {.dim = 0, .to = Variance::kVarying}, c.loc());
  Arrays parts = split(all, static_cast<int>(api::ShapeOf(all)[0]), 0, c.loc());
  const ReadCall::OnTwo f = c.RegionOfTwo(0, false);
  const auto on_elements = [&](const Array& a, const Array& b) {
    const auto on_pair = [&](Array p, Array q) { return f({p}, {q}).at(0); };
    return vmap(on_pair, {}, c.loc())(reshape(a, {api::TypeOf(a)->elements()}, {}, c.loc()),
                                      reshape(b, {api::TypeOf(b)->elements()}, {}, c.loc()),
                                      c.loc());
  };
  Array result = parts[0];
  for (size_t k = 1; k < parts.size(); ++k) result = on_elements(result, parts[k]);
  return api::Reshape(result, api::ShapeOf(x), c.call());
}

Arrays AllReduce(ReadCall& c) {
  const Axes axes = GroupAxes(c);
  if (axes.empty()) return c.in;
  Arrays results;
  for (const Array& x : c.in) results.push_back(Reduced(c, x, SetOf(MeshOf(c), axes)));
  return results;
}

Arrays AllGather(ReadCall& c) {
  const Axes axes = GroupAxes(c);
  if (axes.empty()) return c.in;
  const AllGatherOptions options{.dim = static_cast<int>(c.Integer("all_gather_dim")),
                                 .tiled = true};
  Arrays results;
  for (const Array& x : c.in)
    results.push_back(all_gather(x, SetOf(MeshOf(c), axes), options, c.loc()));
  return results;
}

Arrays ReduceScatter(ReadCall& c) {
  const Axes axes = GroupAxes(c);
  if (axes.empty()) return c.in;
  const AxisSet set = SetOf(MeshOf(c), axes);
  const auto dim = static_cast<int>(c.Integer("scatter_dimension"));
  if (OnlyOp(c) == "stablehlo.add")
    return {psum_scatter(c.In(0), set, {.dim = dim, .tiled = true}, c.loc())};
  const Array whole = Reduced(c, c.In(0), set);
  const base::Shape shape = c.ResultShape();
  const Array zero = api::StrongScalar(0, i32, c.call());
  Arrays starts(shape.size(), zero);
  starts[base::Size(dim)] = mul(axis_index(set, c.loc()), shape[base::Size(dim)], {}, c.loc());
  return {dynamic_slice(whole, starts, Shape(shape), c.loc())};
}

Arrays AllToAll(ReadCall& c) {
  const Axes axes = GroupAxes(c);
  if (axes.empty()) return c.in;
  Arrays results;
  for (const Array& x : c.in)
    results.push_back(
        all_to_all(x, SetOf(MeshOf(c), axes), static_cast<int>(c.Integer("split_dimension")),
                   static_cast<int>(c.Integer("concat_dimension")), {.tiled = true}, c.loc()));
  return results;
}

// Returns the position of a device along the axes, the first one major.
int64_t PositionOver(const sharding::MeshDef& mesh, const Axes& axes, int64_t device) {
  int64_t position = 0;
  for (int a : axes) position = position * mesh.axis_size(a) + mesh.Coordinate(device, a);
  return position;
}

Arrays CollectivePermute(ReadCall& c) {
  const sharding::MeshDef& mesh = MeshOf(c);
  c.importer().meshes().CheckDevices(c.op().place);
  const Groups pairs = RowsOf(c, "source_target_pairs");
  for (const auto& pair : pairs)
    if (pair.size() != 2 || std::min(pair[0], pair[1]) < 0 ||
        std::max(pair[0], pair[1]) >= mesh.size())
      c.Fail("source_target_pairs must be pairs of device numbers");
  std::vector<std::pair<int, int>> positions;
  // All devices with one position along the axes send to one other position.
  const auto fits = [&](const Axes& axes) {
    positions.clear();
    Groups made;
    for (const auto& pair : pairs) {
      const auto from = static_cast<int>(PositionOver(mesh, axes, pair[0])),
                 to = static_cast<int>(PositionOver(mesh, axes, pair[1]));
      if (!absl::c_linear_search(positions, std::pair(from, to))) positions.emplace_back(from, to);
    }
    for (const auto& [from, to] : positions)
      for (const auto& group : GroupsOver(mesh, axes))
        made.push_back({group[base::Size(from)], group[base::Size(to)]});
    Groups wanted = pairs;
    absl::c_sort(made);
    absl::c_sort(wanted);
    return made == wanted;
  };
  const auto axes = FindAxes(ManualAxesOf(mesh), fits);
  if (!axes) c.Fail("its pairs are not those of manual axes");
  if (axes->empty()) return c.in;
  return {ppermute(c.In(0), SetOf(mesh, *axes), positions, c.loc())};
}

Arrays CollectiveBroadcast(ReadCall& c) {
  const Axes axes = GroupAxes(c);
  if (axes.empty()) return c.in;
  return {pbroadcast(c.In(0), SetOf(MeshOf(c), axes), 0, c.loc())};
}

// The number of the device; its coordinates along axes that are not manual are taken as 0, because
// programs read only those of manual axes.
Arrays PartitionId(ReadCall& c) {
  const sharding::MeshDef& mesh = MeshOf(c);
  c.importer().meshes().CheckDevices(c.op().place);
  Array id = api::StrongScalar(0, i32, c.call());
  for (int a : ManualAxesOf(mesh)) {
    const Array index = axis_index(AxisSet(base::At(mesh.axes(), a).name), c.loc());
    const Operand stride(mesh.stride(a), c.loc());
    id = add(id, mul(index, stride, {}, c.loc()), {}, c.loc());
  }
  return {api::Convert(id, c.ResultDType(), c.call())};
}

Arrays ReplicaId(ReadCall& c) { return {api::StrongScalar(0, c.ResultDType(), c.call())}; }

}  // namespace

std::vector<OpReader> CollectiveReaders() {
  return {
      {"stablehlo.all_gather", AllGather},
      {"stablehlo.all_reduce", AllReduce},
      {"stablehlo.all_to_all", AllToAll},
      {"stablehlo.collective_broadcast", CollectiveBroadcast},
      {"stablehlo.collective_permute", CollectivePermute},
      {"stablehlo.partition_id", PartitionId},
      {"stablehlo.reduce_scatter", ReduceScatter},
      {"stablehlo.replica_id", ReplicaId},
  };
}

}  // namespace tessera::stablehlo
