// Ops that give an array another shape or order, and placements.
#include <algorithm>
#include <numeric>

#include "ir/move_params.h"
#include "ops.h"
#include "ops/ops.h"
#include "sharding/text.h"
#include "trace/apply.h"
#include "trace/array.h"

namespace tessera::conformance {
namespace {

std::vector<int64_t> Reversed(std::vector<int64_t> v) {
  std::reverse(v.begin(), v.end());
  return v;
}

std::vector<int64_t> Identity(int rank) {
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

// The public function refuses this over Auto axes; programs and their text have it.
std::vector<Array> UnreducedConstraint(const Call& c, const std::string& text) {
  const char* op = "with_sharding_constraint";
  const trace::ArrayRef& x = trace::Use(c.in(0).array(), op, c.loc());
  sharding::TensorSharding s = x->type()->sharding();
  s.mesh = current_mesh().def();
  return trace::Apply({ops::kShardingConstraint,
                       ir::MakeParams(ir::ConstraintParams{
                           sharding::ParseSharding(text, s.mesh->WithoutModes(), c.loc())}),
                       {x},
                       nullptr,
                       nullptr,
                       c.loc(),
                       op,
                       x->type()->WithSharding(std::move(s))});
}

// Fortran's order is the reverse of both shapes. JAX reverses the spec as it was written, so that a
// short one ends up on the last dims.
Array ReshapeFortran(const Call& c, std::vector<int64_t> shape, OutOptions options) {
  if (options.out_sharding) {
    std::vector<DimSharding> dims = options.out_sharding->dims();
    std::reverse(dims.begin(), dims.end());
    options.out_sharding = PartitionSpec(dims)
                               .unreduced(options.out_sharding->unreduced_axes())
                               .reduced(options.out_sharding->reduced_axes());
  }
  Array reversed = transpose(c.in(0), All, c.loc());
  return transpose(reshape(reversed, Shape(Reversed(shape)), options, c.loc()), All, c.loc());
}

Array ReshapeTo(const Call& c, std::vector<int64_t> shape) {
  OutOptions options{c.spec()};
  if (c.text("order", "C") == "F") return ReshapeFortran(c, std::move(shape), std::move(options));
  return reshape(c.in(0), Shape(std::move(shape)), std::move(options), c.loc());
}

void AddReshapes(OpTable& table) {
  table["reshape"] = [](const Call& c) {
    Shape shape(c.integers("new_sizes"));
    OutOptions options{c.spec()};
    if (!c.has("dimensions")) return std::vector{reshape(c.in(0), shape, options, c.loc())};
    std::vector<int64_t> order = c.integers("dimensions");
    Array x = order == Identity(c.rank(0)) ? c.array(0) : transpose(c.in(0), Dims(order), c.loc());
    return std::vector{reshape(x, shape, options, c.loc())};
  };
  table["np.reshape"] = [](const Call& c) {
    return std::vector{ReshapeTo(c, c.integers("shape"))};
  };
  table["np.ravel"] = [](const Call& c) {
    if (c.text("order", "C") == "F") return std::vector{ReshapeFortran(c, {-1}, {c.spec()})};
    return std::vector{ravel(c.in(0), {c.spec()}, c.loc())};
  };
  table["collapse"] = [](const Call& c) {
    std::vector<int64_t> shape = c.array(0).shape(c.loc());
    auto rank = static_cast<int64_t>(shape.size());
    int64_t first = c.integer("start_dimension"), last = c.integer("stop_dimension", rank);
    first = std::clamp(first + (first < 0 ? rank : 0), int64_t{0}, rank);
    last = std::clamp(last + (last < 0 ? rank : 0), first, rank);
    int64_t size = std::accumulate(shape.begin() + first, shape.begin() + last, int64_t{1},
                                   std::multiplies<>());
    shape.erase(shape.begin() + first, shape.begin() + last);
    shape.insert(shape.begin() + first, size);
    return std::vector{reshape(c.in(0), Shape(shape), {}, c.loc())};
  };
}

void AddTransposes(OpTable& table) {
  table["transpose"] = [](const Call& c) {
    return std::vector{transpose(c.in(0), Dims(c.integers("permutation")), c.loc())};
  };
  table["np.transpose"] = [](const Call& c) {
    return std::vector{transpose(c.in(0), c.dims("axes"), c.loc())};
  };
  table["np.permute_dims"] = table["np.transpose"];
  table["np.matrix_transpose"] = [](const Call& c) {
    return std::vector{swapaxes(c.in(0), -2, -1, c.loc())};
  };
  table["np.swapaxes"] = [](const Call& c) {
    return std::vector{swapaxes(c.in(0), c.dim("axis1", 0), c.dim("axis2", 0), c.loc())};
  };
  table["np.moveaxis"] = [](const Call& c) {
    return std::vector{moveaxis(c.in(0), c.integers("source"), c.integers("destination"), c.loc())};
  };
  table["np.rollaxis"] = [](const Call& c) {  // to just before the dim `start`
    int64_t rank = c.rank(0), dim = c.integer("axis"), start = c.integer("start", 0);
    dim += dim < 0 ? rank : 0;
    start += start < 0 ? rank : 0;
    return std::vector{moveaxis(c.in(0), {dim}, {dim < start ? start - 1 : start}, c.loc())};
  };
  table["rev"] = [](const Call& c) {
    return std::vector{rev(c.in(0), Dims(c.integers("dimensions")), c.loc())};
  };
  table["np.flip"] = [](const Call& c) { return std::vector{flip(c.in(0), c.dims(), c.loc())}; };
  table["np.fliplr"] = [](const Call& c) { return std::vector{flip(c.in(0), 1, c.loc())}; };
  table["np.flipud"] = [](const Call& c) { return std::vector{flip(c.in(0), 0, c.loc())}; };
}

void AddBroadcasts(OpTable& table) {
  table["broadcast_in_dim"] = [](const Call& c) {
    return std::vector{broadcast_in_dim(c.in(0), Shape(c.integers("shape")),
                                        Dims(c.integers("broadcast_dimensions")), {c.spec()},
                                        c.loc())};
  };
  table["broadcast"] = [](const Call& c) {  // new dims in front
    std::vector<int64_t> shape = c.integers("sizes"), old = c.array(0).shape(c.loc());
    std::vector<int64_t> dims = Identity(static_cast<int>(old.size()));
    for (int64_t& d : dims) d += static_cast<int64_t>(shape.size());
    shape.insert(shape.end(), old.begin(), old.end());
    return std::vector{broadcast_in_dim(c.in(0), Shape(shape), Dims(dims), {c.spec()}, c.loc())};
  };
  table["np.broadcast_to"] = [](const Call& c) {
    return std::vector{broadcast_to(c.in(0), Shape(c.integers("shape")), {c.spec()}, c.loc())};
  };
  auto expand = [](const char* key) {
    return [=](const Call& c) {
      return std::vector{expand_dims(c.in(0), Dims(c.integers(key)), c.loc())};
    };
  };
  table["expand_dims"] = expand("dimensions");
  table["np.expand_dims"] = expand("axis");
  table["squeeze"] = [](const Call& c) {
    return std::vector{squeeze(c.in(0), Dims(c.integers("dimensions")), c.loc())};
  };
  table["np.squeeze"] = [](const Call& c) {
    return std::vector{squeeze(c.in(0), c.dims(), c.loc())};
  };
}

}  // namespace

void AddMovement(OpTable& table) {
  AddReshapes(table);
  AddTransposes(table);
  AddBroadcasts(table);
  table["reshard"] = [](const Call& c) {
    return std::vector{reshard(c.in(0), ParseSpec(c.attr("sharding")), c.loc())};
  };
  table["with_sharding_constraint"] = [](const Call& c) {
    const Json& sharding = c.attr("sharding");
    PartitionSpec spec = ParseSpec(sharding);
    if (sharding.is_string() && !spec.unreduced_axes().empty())
      return UnreducedConstraint(c, sharding.get<std::string>());
    return std::vector{with_sharding_constraint(c.in(0), std::move(spec), c.loc())};
  };
}

}  // namespace tessera::conformance
