// vmap: moves mapped dims of arguments and results, around the mapped program of one lane.
#include "tessera/batching.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "api/core/operands.h"
#include "api/core/regions.h"
#include "api/core/specs.h"
#include "api/functions/transformed.h"
#include "base/at.h"
#include "ir/mapped_axes.h"
#include "sharding/text.h"
#include "tessera/ops.h"
#include "trace/function.h"
#include "trace/inline.h"
#include "trace/scopes.h"
#include "transforms/batch.h"

namespace tessera {

using namespace api;

namespace {

using trace::ArrayRef;

constexpr Said kInDims{.option = ".in_dims", .leaf = "dim", .other = "0", .of_dims = true},
    kOutDims{.option = ".out_dims", .tree = "result", .leaf = "dim", .other = "0", .of_dims = true};

// A call's arrays, with mapped dims moved to the front.
struct Lanes {
  std::vector<Array> arrays;
  std::vector<bool> mapped;
  ir::MappedDim dim;
};

// Sets how the mapped dim is sharded: Explicit axes go into types, Auto axes into constraints.
void SetSharding(ir::MappedDim& dim, const DimSharding& given, Call call) {
  if (given.axes().empty() && !given.open()) return;
  const sharding::MeshDef* mesh = MeshInScope({});
  CheckHasMesh(P(given), mesh, call);
  const sharding::Resolved resolved = sharding::Resolve(P(given), mesh, 1);
  if (resolved.problem)
    FailSharding(call, 1, resolved.problem->reason, {"spec: " + P(given).text()});
  const sharding::DimAxes& given_axes = resolved.sharding.dims[0];
  sharding::DimAxes lies{.axes = {}, .open = given_axes.open};
  for (const sharding::AxisPart& a : given_axes.axes) {
    const bool is_auto = base::At(mesh->axes(), a.axis).mode == AxisMode::Auto;
    (is_auto ? lies.axes : dim.axes).push_back(a);
  }
  dim.mesh = mesh;
  if (!lies.axes.empty()) dim.lies = std::move(lies);
}

// Finds size and sharding of the mapped dim. All mapped arrays must agree.
class DimOfLanes {
 public:
  DimOfLanes(const VmapOptions& options, Call call) : call_(call) {
    if (options.size) {
      if (*options.size < 0) FailShape(call, 11, fmt::format("the size is {}", *options.size));
      dim_.size = *options.size;
      size_is_given_ = true;
    }
    SetSharding(dim_, options.sharding, call);
    if (!dim_.axes.empty()) axes_from_ = ".sharding = " + P(options.sharding).text();
  }

  void Add(const ir::Type* type, size_t d, const std::string& name) {
    const int64_t size = type->shape()[d];
    if (size_from_.empty() && !size_is_given_) {
      dim_.size = size;
      size_from_ = Shown(type, d, name);
    } else if (size != dim_.size && size_is_given_) {
      FailShape(call_, 12,
                fmt::format(".size is {}, but dim {} of {} has size {}", dim_.size, d, name, size));
    } else if (size != dim_.size) {
      FailShape(call_, 12,
                fmt::format("mapped dims have sizes {} and {}: {}, and {}", dim_.size, size,
                            size_from_, Shown(type, d, name)));
    }
    const sharding::AxisList& axes = type->sharding().dims[d].axes;
    if (axes_from_.empty()) {
      dim_.axes = axes;
      axes_from_ = Shown(type, d, name);
    } else if (axes != dim_.axes) {
      FailSharding(call_, 13,
                   fmt::format("mapped dims are sharded differently: {}, and {}", axes_from_,
                               Shown(type, d, name)),
                   {"reshard one of them"});
    }
    if (type->mesh()) dim_.mesh = type->mesh();
  }

  ir::MappedDim Done() {
    if (size_from_.empty() && !size_is_given_)
      FailShape(call_, 14, "no argument is mapped, so the batch size is not known",
                {"map an argument, or give .size"});
    const int64_t shards = sharding::SizeOf(dim_.axes);
    if (dim_.size % shards != 0)
      FailSharding(
          call_, 19,
          fmt::format("a batch of {} cannot be divided evenly into {} shards: {}", dim_.size,
                      shards, axes_from_),
          {"write .sharding = " +
           sharding::AxesCode(dim_.mesh, sharding::PrefixThatDivides(dim_.axes, dim_.size))});
    return std::move(dim_);
  }

 private:
  static std::string Shown(const ir::Type* type, size_t d, const std::string& name) {
    return fmt::format("dim {} of {}, {}", d, name, type->text());
  }
  Call call_;
  ir::MappedDim dim_;
  bool size_is_given_ = false;
  std::string size_from_, axes_from_;
};

void CheckUnmapped(const ir::Type* type, const ir::MappedDim& dim, const std::string& name,
                   Call call, const std::vector<std::string>& notes) {
  const sharding::TensorSharding& s = type->sharding();
  for (const sharding::DimAxes& d : s.dims)
    for (const sharding::AxisPart& a : d.axes)
      if (sharding::CollidesWithAny(dim.axes, a))
        FailSharding(call, 15,
                     fmt::format("{} is not mapped, but its type {} is sharded over {}, which also "
                                 "shards the mapped dim",
                                 name, type->text(), sharding::AxisText(*type->mesh(), a)),
                     notes);
}

Lanes LanesOf(const std::vector<Array>& arrays, detail::TreeRef tree, const VmapOptions& options,
              Call call) {
  const std::vector<MapDim> in_dims = LeavesFor(options.in_dims, tree, kInDims, call);
  const std::vector<std::string> names = trace::TakeArguments(tree).names;
  DimOfLanes dim(options, call);
  Lanes lanes;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Array& x = arrays[i];
    const std::string& name = names[i];
    trace::Use(x, call.name, call.loc, [&] { return name; });
    const MapDim& wanted = in_dims[i];
    lanes.mapped.push_back(wanted.dim().has_value());
    lanes.arrays.push_back(x);
    if (!wanted.dim()) continue;
    const ir::Type* type = TypeOf(x);
    if (*wanted.dim() < -type->rank() || *wanted.dim() >= type->rank())
      FailShape(
          call, 16,
          fmt::format("{} is mapped along dim {}, but is {}", name, *wanted.dim(), type->text()),
          {"give .in_dims = None for arguments that are not mapped"});
    const int64_t d = *wanted.dim() + (*wanted.dim() < 0 ? type->rank() : 0);
    dim.Add(type, base::Size(d), name);
    if (d != 0) lanes.arrays.back() = moveaxis(x, d, 0, call.loc);
  }
  lanes.dim = dim.Done();
  for (size_t i = 0; i < arrays.size(); ++i)
    if (!lanes.mapped[i])
      CheckUnmapped(TypeOf(arrays[i]), lanes.dim, names[i], call, {"map it too, or reshard it"});
  return lanes;
}

// Returns the parameter of f for a mapped array: one lane.
trace::Parameter LaneOf(const Array& x) {
  trace::Parameter p = trace::LikeArray(x.impl());
  const auto lane = [](const ir::Type* type) {
    sharding::TensorSharding s = type->sharding();
    s.dims.erase(s.dims.begin());
    return ir::Type::Get({type->shape().begin() + 1, type->shape().end()}, type->dtype(),
                         std::move(s), type->weak());
  };
  p.type = lane(p.type);
  p.place = nullptr;
  return p;
}

std::vector<ArrayRef> ImplsOf(const std::vector<Array>& arrays) {
  std::vector<ArrayRef> impls;
  for (const Array& x : arrays) impls.push_back(x.impl());
  return impls;
}

// Traces f on one lane of the arrays.
trace::TracedFunction TraceLane(const std::vector<Array>& arrays, const Lanes& lanes,
                                const detail::Body& body, Call call) {
  std::vector<trace::Parameter> parameters;
  for (size_t i = 0; i < arrays.size(); ++i)
    parameters.push_back(lanes.mapped[i] ? LaneOf(lanes.arrays[i])
                                         : trace::LikeArray(arrays[i].impl()));
  trace::TracedFunction traced = [&] {
    const ir::MappedAxesScope mapped(lanes.dim.mesh, lanes.dim.axes);
    return trace::TraceFunction(parameters, body, call.name, call.loc, trace::CurrentTrace(),
                                {.mapped = lanes.mapped});
  }();
  trace::UseUpKeys(traced.key_uses, ImplsOf(arrays));
  for (const ir::Capture& c : traced.program.captures)
    CheckUnmapped(traced.program.type(c.value), lanes.dim, "a captured array", call,
                  {"pass it as an argument that is mapped, or reshard it"});
  return traced;
}

// Returns, per result, the place of its mapped dim, if it is to have one.
std::vector<std::optional<int64_t>> OutDimsOf(const MapDims& out_dims, detail::TreeRef tree,
                                              Call call) {
  std::vector<std::optional<int64_t>> dims;
  for (const MapDim& dim : LeavesFor(out_dims, tree, kOutDims, call)) dims.push_back(dim.dim());
  return dims;
}

// Moves the mapped dim of a result from the front to `dim`.
Array MovedTo(const Array& out, int64_t dim, const std::string& name, Call call) {
  const int rank = TypeOf(out)->rank();
  if (dim < -rank || dim >= rank)
    FailShape(call, 18,
              fmt::format(".out_dims puts the mapped dim at {}, but {} has rank {} including it",
                          dim, InSentence(name), rank));
  return dim == 0 ? out : moveaxis(out, 0, dim, call.loc);
}

detail::FunctionResult MapInTrace(const std::vector<Array>& arrays, const detail::FunctionCall& f,
                                  const VmapOptions& options, Call call) {
  trace::NestingScope nesting(call.name, call.loc);
  const Lanes lanes = LanesOf(arrays, f.arguments, options, call);
  trace::TracedFunction traced = TraceLane(arrays, lanes, f.body, call);
  const std::vector<std::optional<int64_t>> out_dims =
      OutDimsOf(options.out_dims, traced.tree.ref(), call);
  std::vector<bool> wanted;
  for (const std::optional<int64_t>& dim : out_dims) wanted.push_back(dim.has_value());
  transforms::Batch batch = transforms::MakeBatch(traced.program, lanes.mapped, wanted, lanes.dim);
  detail::FunctionResult result{trace::CallProgram(ir::Shared(std::move(batch.program)),
                                                   ImplsOf(lanes.arrays), call.name, call.loc),
                                std::move(traced.tree)};
  const std::vector<std::string> names = trace::TakeArrays(result.tree.ref(), "result").names;
  for (size_t i = 0; i < result.arrays.size(); ++i) {
    if (!out_dims[i] && batch.mapped[i])
      FailShape(call, 17,
                fmt::format("{} should have no mapped dim, but it differs between batch elements",
                            InSentence(names[i])),
                {"give .out_dims a dim for it"});
    if (out_dims[i]) result.arrays[i] = MovedTo(result.arrays[i], *out_dims[i], names[i], call);
  }
  return result;
}

}  // namespace

namespace detail {

std::string Vmap::TextOf(const VmapOptions& options) {
  const auto dim = [](const MapDim& d) { return d.dim() ? std::to_string(*d.dim()) : "None"; };
  return fmt::format("{} {} {} {}", options.in_dims.Text(dim), options.out_dims.Text(dim),
                     dim(options.size ? MapDim(*options.size) : None), P(options.sharding).text());
}

FunctionResult Vmap::Call(const FunctionCall& f) const {
  const api::Call call{"vmap", f.loc};
  const auto in_trace = [&](const std::vector<Array>& arrays) {
    return MapInTrace(arrays, f, options_, call);
  };
  return CallTransformed(f, std::bind_front(&Jit::Call, &jit_), in_trace, call);
}

}  // namespace detail
}  // namespace tessera
