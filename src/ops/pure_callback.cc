// Results that a host function computes: a kernel on whole arrays.
#include "ops/pure_callback.h"

#include "base/shape.h"
#include "ir/builder.h"
#include "ops/batching.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/rule_builder.h"
#include "ops/tangents.h"
#include "plan/plan.h"
#include "tessera/callback.h"

namespace tessera::ops {
namespace {

using ir::PureCallParams;
using sharding::DimMap;
using sharding::FactorKind;

const PureCallParams& PureCallOf(const ir::Params* params) {
  return ir::As<PureCallParams>(params);
}

// ---- types and dims -----------------------------------------------------------------------------

// Returns the sizes of the batch dims. C12: each must be a dim of some operand, and have one size.
std::vector<int64_t> LaneSizes(const TypeCall& c, const PureCallParams& p) {
  if (p.lanes < 0 || p.lanes_of.size() != c.operands.size())
    c.FailShape(12, fmt::format("lanes are declared for {} operands, but there are {}",
                                p.lanes_of.size(), c.operands.size()));
  std::vector<int64_t> sizes(p.lanes, -1);
  for (size_t k = 0; k < p.lanes_of.size(); ++k) {
    CheckDims(c, p.lanes_of[k], p.lanes);
    if (p.lanes_of[k].size() > c.operands[k]->shape().size())
      c.FailShape(12, fmt::format("operand {} has more batch dims than dims", k));
    for (size_t d = 0; d < p.lanes_of[k].size(); ++d) {
      int64_t& size = sizes[p.lanes_of[k][d]];
      if (size >= 0 && size != c.operands[k]->shape()[d])
        c.FailShape(12, fmt::format("operand {} has a different number of lanes", k));
      size = c.operands[k]->shape()[d];
    }
  }
  for (int64_t size : sizes)
    if (size < 0) c.FailShape(12, "a batch dim is in no operand");
  return sizes;
}

std::vector<ShapeAndDType> PureCallTypes(const TypeCall& c) {
  const PureCallParams& p = PureCallOf(c.params);
  const std::vector<int64_t> lanes = LaneSizes(c, p);
  std::vector<ShapeAndDType> results;
  for (const ir::Type* type : p.results) {
    Shape shape = lanes;
    shape.insert(shape.end(), type->shape().begin(), type->shape().end());
    results.push_back({std::move(shape), type->dtype()});
  }
  return results;
}

// Lanes are computed apart; the arrays of one call are whole.
DimMap PureCallDims(const ir::DimsCall& c) {
  const PureCallParams& p = PureCallOf(c.params);
  std::vector<Shape> shapes;
  for (const auto* tensors : {&c.operands, &c.results})
    for (const Shape* shape : *tensors) shapes.push_back(*shape);
  const size_t operands = c.operands.size();
  RuleBuilder rule(shapes, operands);
  for (int64_t lane = 0; lane < p.lanes; ++lane) {
    RuleBuilder::TensorDims places;
    for (size_t k = 0; k < operands; ++k)
      for (size_t d = 0; d < p.lanes_of[k].size(); ++d)
        if (p.lanes_of[k][d] == lane) places.push_back({k, d});
    const int64_t size = rule.size(places[0].tensor, places[0].dim);
    for (size_t r = operands; r < shapes.size(); ++r)
      places.push_back({r, static_cast<size_t>(lane)});
    rule.Add({.size = size, .kind = FactorKind::kPass}, places);
  }
  for (size_t t = 0; t < shapes.size(); ++t)
    for (size_t d = t < operands ? p.lanes_of[t].size() : static_cast<size_t>(p.lanes);
         d < rule.rank(t); ++d)
      rule.Add({.size = rule.size(t, d), .kind = FactorKind::kReplicate}, {{t, d}});
  return rule.Build();
}

// ---- calls --------------------------------------------------------------------------------------

// An operand or result of all lanes.
struct LaneArray {
  const ir::Type* one;        // of one lane, without a mesh
  std::vector<int64_t> dims;  // the lanes that it has
  // Returns the offset of a lane in bytes.
  int64_t At(const std::vector<int64_t>& lane, const std::vector<int64_t>& sizes) const {
    int64_t at = 0;
    for (int64_t d : dims) at = at * sizes[d] + lane[d];
    return at * one->elements() * one->dtype().size();
  }
};

// The calls of a function, one per lane.
struct Calls {
  ir::HostFunctionRef function;
  std::vector<int64_t> sizes;  // of the lanes
  std::vector<LaneArray> in, out;

  // Takes the shapes as they are here: of one device, or whole.
  Calls(const PureCallParams& p, const std::vector<std::pair<Shape, DType>>& operands,
        const std::vector<Shape>& results)
      : function(p.function) {
    std::vector<int64_t> all;
    for (int64_t lane = 0; lane < p.lanes; ++lane) all.push_back(lane);
    sizes.resize(all.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      const auto& [shape, dtype] = operands[k];
      const auto lanes = static_cast<long>(p.lanes_of[k].size());
      for (long d = 0; d < lanes; ++d) sizes[p.lanes_of[k][d]] = shape[d];
      in.push_back({ir::Type::Get({shape.begin() + lanes, shape.end()}, dtype), p.lanes_of[k]});
    }
    for (size_t r = 0; r < results.size(); ++r) out.push_back({p.results[r], all});
  }

  void Run(const std::byte* const* operands, std::byte* const* results) const {
    const int64_t calls = base::Elements(sizes);
    for (int64_t i = 0; i < calls; ++i) {
      const std::vector<int64_t> lane = ir::CoordsOf(sizes, i);
      ir::HostArguments arguments;
      for (size_t k = 0; k < in.size(); ++k)
        arguments.values.push_back({in[k].one, {operands[k] + in[k].At(lane, sizes)}});
      for (size_t r = 0; r < out.size(); ++r)
        arguments.results.push_back({out[r].one, results[r] + out[r].At(lane, sizes)});
      function.function->Run(arguments);
    }
  }
};

void RunCalls(const plan::KernelArgs& args) {
  static_cast<const Calls*>(args.config)->Run(args.in, args.out);
}

void MakePureCallKernel(const ir::LocalCall& c, plan::Kernel* kernel) {
  std::vector<std::pair<Shape, DType>> operands;
  std::vector<Shape> results;
  for (const ir::LocalTensor& t : c.operands) operands.emplace_back(t.shape, t.dtype);
  for (const ir::LocalTensor& t : c.results) results.push_back(t.shape);
  for (const auto* tensors : {&c.operands, &c.results})
    for (const ir::LocalTensor& t : *tensors)
      kernel->bytes += static_cast<double>(base::Elements(t.shape) * t.dtype.size());
  kernel->fn = RunCalls;
  kernel->config = std::make_shared<const Calls>(PureCallOf(c.params), operands, results);
  // A user's function need not be thread-safe.
  kernel->in_order = true;
}

void PureCallReference(const ir::ReferenceCall& c) {
  std::vector<std::pair<Shape, DType>> operands;
  std::vector<Shape> results;
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (const ir::HostTensor* t : c.operands) {
    operands.emplace_back(t->shape, t->dtype);
    in.push_back(t->data.data());
  }
  for (ir::HostTensor* t : c.results) {
    results.push_back(t->shape);
    out.push_back(t->data.data());
  }
  Calls(PureCallOf(c.params), operands, results).Run(in.data(), out.data());
}

// ---- mapping ------------------------------------------------------------------------------------

// Makes one call per batch element: adds a lane.
PureCallParams WithLane(PureCallParams p, const std::vector<bool>& mapped) {
  ++p.lanes;
  for (size_t k = 0; k < p.lanes_of.size(); ++k) {
    for (int64_t& lane : p.lanes_of[k]) ++lane;
    if (mapped[k]) p.lanes_of[k].insert(p.lanes_of[k].begin(), 0);
  }
  return p;
}

// Makes one call of arrays with the batch dim.
PureCallParams WithBatchDim(PureCallParams p, int64_t size) {
  for (const ir::Type*& type : p.results) {
    Shape shape = type->shape();
    shape.insert(shape.begin(), size);
    type = ir::Type::Get(std::move(shape), type->dtype());
  }
  return p;
}

// Makes one call for each batch element, on the device that has it.
std::vector<ir::ValueId> CallPerElement(const ir::BatchCall& c) {
  std::vector<const ir::Type*> types;
  for (const ir::Type* t : c.result_types) types.push_back(WithDim(t, c.dim));
  const auto results = c.builder.EmitTyped(
      c.op, ir::MakeParams(WithLane(PureCallOf(c.params.get()), c.mapped)), c.operands, types);
  return {results.begin(), results.end()};
}

// Makes one call of all batch elements, whose arrays are whole. `repeats`: how often the batch dim
// repeats an operand that all elements share.
std::vector<ir::ValueId> CallOnce(const ir::BatchCall& c, int64_t repeats) {
  ir::MappedDim whole = c.dim, repeated = c.dim;
  whole.axes.clear();
  repeated.axes.clear();
  repeated.size = repeats;
  std::vector<ir::ValueId> operands;
  for (size_t k = 0; k < c.operands.size(); ++k)
    operands.push_back(c.mapped[k]
                           ? Conform(c.builder, c.operands[k], WithDim(c.operand_types[k], whole))
                           : Repeated(c.builder, c.operands[k], repeated));
  std::vector<const ir::Type*> types;
  for (const ir::Type* t : c.result_types) types.push_back(WithDim(t, whole));
  const auto made = c.builder.EmitTyped(
      c.op, ir::MakeParams(WithBatchDim(PureCallOf(c.params.get()), c.dim.size)), operands, types);
  std::vector<ir::ValueId> results;
  for (size_t r = 0; r < made.size(); ++r)
    results.push_back(Conform(c.builder, made[r], WithDim(c.result_types[r], c.dim)));
  return results;
}

std::vector<ir::ValueId> PureCallBatch(const ir::BatchCall& c) {
  switch (static_cast<VmapMethod>(PureCallOf(c.params.get()).vmap_method)) {
    case VmapMethod::kSequential:
      return CallPerElement(c);
    case VmapMethod::kExpandDims:
      return CallOnce(c, 1);
    case VmapMethod::kBroadcastAll:
      return CallOnce(c, c.dim.size);
  }
  return {};
}

constexpr OpDef kPureCallback = {
    .name = "pure_callback",
    .doc = "Results computed by a host function.",
    .type = ir::TypeFn{PureCallTypes},
    .dims = ir::DimMapFn{PureCallDims},
    .lowering = ir::AsKernel{MakePureCallKernel},
    .reference = ir::ReferenceFn{PureCallReference},
    .diff = ir::NotDifferentiable{"a host function has no rule; wrap it in a "
                                  "function with custom_jvp or custom_vjp"},
    .params = ir::KindOf<PureCallParams>(),
    .batch = PureCallBatch,
    .keys = true,
    .opaque = true};

}  // namespace

const OpDef& PureCallbackOp() { return kPureCallback; }

Records PureCallbackOps() {
  static constexpr const OpDef* kOps[] = {&kPureCallback};
  return kOps;
}

}  // namespace tessera::ops
