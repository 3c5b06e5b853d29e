// Calls of host functions. They have effects and no results.
#include "ops/host_call.h"

#include "ir/builder.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "sharding/local.h"

namespace tessera::ops {
namespace {

const ir::HostFunctionRef& FunctionOf(const ir::Params* params) {
  return ir::As<ir::HostCallParams>(params).function;
}

std::vector<ShapeAndDType> NoResults(const TypeCall&) { return {}; }

void HostCallReference(const ir::ReferenceCall& c) {
  ir::HostArguments arguments;
  for (const ir::HostTensor* t : c.operands)
    arguments.values.push_back({ir::Type::Get(t->shape, t->dtype), {t->data.data()}});
  FunctionOf(c.params).function->Run(arguments);
}

// Returns one batch element of a value, as each device would hold it by itself. A device that has
// other batch elements sees the shard of a device that has this one.
ir::HostArgument LaneOf(const ir::HostArgument& all, int64_t lane) {
  const ir::Type& type = *all.place;
  sharding::TensorSharding s = type.sharding();
  const sharding::AxisList lanes = s.dims[0].axes;
  s.dims.erase(s.dims.begin());
  ir::HostArgument one{
      ir::Type::Get({type.shape().begin() + 1, type.shape().end()}, type.dtype(), s), {}};
  const int64_t bytes =
      sharding::LocalElements(one.place->shape(), one.place->sharding()) * type.dtype().size();
  const int64_t per_shard = sharding::LocalShape(type.shape(), type.sharding())[0];
  for (size_t device = 0; device < all.shards.size(); ++device) {
    auto at = static_cast<int64_t>(device);
    if (!lanes.empty()) at = sharding::WithShardIndex(*s.mesh, lanes, at, lane / per_shard);
    const std::byte* shard = all.shards[at];
    one.shards.push_back(shard ? shard + lane % per_shard * bytes : nullptr);
  }
  return one;
}

// Calls a function once per batch element.
class CallPerLane final : public ir::HostFunction {
 public:
  CallPerLane(ir::HostFunctionRef one, std::vector<bool> mapped, int64_t lanes)
      : one_(std::move(one)), mapped_(std::move(mapped)), lanes_(lanes) {}

  void Run(const ir::HostArguments& arguments) const override {
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      ir::HostArguments of_lane = arguments;
      for (size_t k = 0; k < mapped_.size(); ++k)
        if (mapped_[k]) of_lane.values[k] = LaneOf(arguments.values[k], lane);
      one_.function->Run(of_lane);
    }
  }

 private:
  const ir::HostFunctionRef one_;
  const std::vector<bool> mapped_;
  const int64_t lanes_;
};

std::vector<ir::ValueId> HostCallBatch(const ir::BatchCall& c) {
  ir::HostCallParams params{
      {std::make_shared<const CallPerLane>(FunctionOf(c.params.get()), c.mapped, c.dim.size)}};
  c.builder.EmitTyped(c.op, ir::MakeParams(std::move(params)), c.operands, {});
  return {};
}

constexpr OpDef Callback(std::string_view name, std::string_view doc, ir::Effect effect) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{NoResults},
          .dims = ir::NoRule{"it takes its operands as they are laid out, and has no results"},
          .lowering = ir::AsHostCall{},
          .reference = ir::ReferenceFn{HostCallReference},
          .diff = ir::NotDifferentiable{"it has no results"},
          .params = ir::KindOf<ir::HostCallParams>(),
          .batch = HostCallBatch,
          .keys = true,
          .effect = effect};
}
constexpr OpDef kDebugCallback =
    Callback("debug_callback", "Calls a host function with the operands, in any order.",
             ir::Effect::kUnordered);
constexpr OpDef kOrderedCallback =
    Callback("ordered_callback", "Calls a host function with the operands, in program order.",
             ir::Effect::kOrdered);

}  // namespace

const OpDef& CallbackOp(bool ordered) { return ordered ? kOrderedCallback : kDebugCallback; }

Records HostCallOps() {
  static constexpr const OpDef* kOps[] = {&kDebugCallback, &kOrderedCallback};
  return kOps;
}

}  // namespace tessera::ops
