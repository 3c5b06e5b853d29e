// The executor: compiles programs for the simulated devices of this process and runs them.
#include <absl/hash/hash.h>

#include "api/concrete.h"
#include "api/driver.h"
#include "api/propagate.h"
#include "base/error.h"
#include "kernels/kernels.h"
#include "ops/ops.h"
#include "sharding/local.h"
#include "sharding/partition.h"
#include "spmd/plan_builder.h"
#include "tessera/debug.h"
#include "trace/scopes.h"

namespace tessera {
namespace api {
namespace {

bool shares_replicas = true;

plan::Kernel MakeDeviceCopy(const spmd::KernelFactories::DeviceCopy& d) {
  return kernels::DeviceCopy({.copy = {.itemsize = d.itemsize,
                                       .box = d.box,
                                       .in_strides = d.in_strides,
                                       .out_strides = d.out_strides,
                                       .out_size = d.out_size,
                                       .fill = d.fill},
                              .in_offsets = d.in_offsets,
                              .out_offsets = d.out_offsets,
                              .skip = d.skip});
}

struct Executable {
  std::shared_ptr<const runtime::Executable> plan;
  std::vector<const ir::Type*> outputs, placed;  // as the user sees them, and complete
  std::vector<bool> donated;
  std::vector<bool> shares;  // per output: whether devices with equal bits share its buffers
  int32_t devices = 1;
};

int32_t DevicesFor(const ir::Program& program) {
  int64_t devices = 1;
  auto need = [&](const sharding::MeshDef* mesh) {
    if (!mesh) return;
    devices = std::max(devices, mesh->size());
    for (int64_t id : mesh->device_ids()) devices = std::max(devices, id + 1);
  };
  need(program.mesh);
  for (const ir::Value& v : program.values) need(v.type->mesh());
  return static_cast<int32_t>(devices);
}

// The runtime knows no lines: its errors get the caller's.
template <class F>
auto AtLine(Loc loc, F f) {
  try {
    return f();
  } catch (const RuntimeError& e) {
    ErrorDetail detail = e.detail();
    if (detail.where.empty()) detail.where = base::Where(loc);
    throw RuntimeError(std::move(detail));
  }
}

class RuntimeExecutor final : public trace::Executor {
 public:
  RuntimeExecutor() {
    ops::Install();
    kernels::Initialize();
  }

  Compiled Compile(std::shared_ptr<const ir::Program> program, std::vector<bool> donated,
                   std::vector<bool> shares) override {
    std::vector<bool> per_value = PerValue(*program, shares);
    auto lowered = LowerProgram(program, per_value);
    auto executable = std::make_shared<Executable>();
    executable->donated = donated;
    for (ir::ValueId v : program->outputs) executable->outputs.push_back(program->type(v));
    for (ir::ValueId v : lowered->propagated->outputs)
      executable->placed.push_back(Place(*lowered->propagated, v));
    executable->shares = OutputShares(*lowered, shares);
    executable->devices = DevicesFor(*program);
    executable->plan = runtime::Prepare(
        spmd::BuildPlan(lowered->device, lowered->schedule,
                        {kernels::Fused, MakeDeviceCopy, kernels::CopyWhole, kernels::Combiner},
                        executable->devices, donated));
    return executable;
  }

  std::vector<trace::ArrayRef> Run(const void* compiled, std::vector<trace::ArrayRef> inputs,
                                   Loc loc) override {
    auto* executable = static_cast<const Executable*>(compiled);
    CheckDevices(*executable, loc);
    std::vector<runtime::Buffers> buffers;
    buffers.reserve(inputs.size());
    for (const trace::ArrayRef& input : inputs)
      buffers.push_back(static_cast<const Concrete&>(*input).buffers);
    // After all are taken: an array may be given twice, or be captured too.
    for (size_t i = 0; i < executable->donated.size(); ++i)
      if (executable->donated[i]) static_cast<Concrete&>(*inputs[i]).buffers = {};
    inputs.clear();
    std::vector<trace::ArrayRef> results;
    std::vector<runtime::Buffers> made =
        AtLine(loc, [&] { return runtime::Run(*executable->plan, std::move(buffers)); });
    results.reserve(made.size());
    for (size_t i = 0; i < made.size(); ++i)
      results.push_back(std::make_shared<Concrete>(executable->outputs[i], executable->placed[i],
                                                   loc, std::move(made[i]), executable->shares[i]));
    return results;
  }

  size_t CompileKey() override {
    const std::string &policy = PolicyKey(), &pins = PinnedShardings();
    size_t key = shares_replicas ? 1 : 2;
    double balance = sharding::FlopsPerByte();
    if (policy.empty() && pins.empty() && balance == sharding::kDefaultFlopsPerByte) return key;
    return absl::HashOf(policy, pins, balance, key);
  }

 private:
  // SetDeviceCount may have come between.
  static void CheckDevices(const Executable& executable, Loc loc) {
    if (executable.devices <= trace::Devices()) return;
    base::ThrowRuntime(
        base::Refusal("run", 1, base::Where(loc),
                      "the program is one for " + std::to_string(executable.devices) +
                          " devices, but there are " + std::to_string(trace::Devices()),
                      {"call SetDeviceCount(" + std::to_string(executable.devices) + ") before"}));
  }
  // Equal to the type where that says it all, weakness included.
  static const ir::Type* Place(const ir::Program& program, ir::ValueId v) {
    const ir::Type* place = program.place(v);
    return place ? place : program.type(v);
  }
  // An output that is an input, or a view of it, is as that; a value on no mesh is always one
  // buffer.
  static std::vector<bool> OutputShares(const Lowered::Impl& lowered,
                                        const std::vector<bool>& input_shares) {
    const ir::Program& p = lowered.device.program;
    std::vector<ir::ValueId> inputs = p.inputs;
    for (const ir::Capture& c : p.captures) inputs.push_back(c.value);
    std::vector<bool> shares;
    for (ir::ValueId v : p.outputs) {
      ir::ValueId root = lowered.schedule.storage_of[static_cast<size_t>(v)];
      auto input =
          static_cast<size_t>(std::find(inputs.begin(), inputs.end(), root) - inputs.begin());
      bool made = input >= input_shares.size();
      shares.push_back(!lowered.device.placed[static_cast<size_t>(root)]->mesh() ||
                       (made ? shares_replicas : input_shares[input]));
    }
    return shares;
  }
  // Inputs come as they are; everything made is made as the switch says now.
  static std::vector<bool> PerValue(const ir::Program& program, const std::vector<bool>& shares) {
    bool all =
        shares_replicas && std::all_of(shares.begin(), shares.end(), [](bool s) { return s; });
    if (all) return {};
    std::vector<bool> per_input;
    for (size_t i = 0; i < program.inputs.size() + program.captures.size(); ++i)
      per_input.push_back(i < shares.size() ? shares[i] : true);
    return per_input;
  }
};

}  // namespace

bool SharesReplicas() { return shares_replicas; }

int32_t InstanceAt(const Concrete& array, int64_t position) {
  const sharding::TensorSharding& s = array.placed()->sharding();
  if (!s.mesh) return 0;
  if (!array.shares_replicas()) {
    sharding::AxisList all;
    for (int a = 0; a < s.mesh->rank(); ++a)
      if (s.mesh->axis_size(a) > 1) all.push_back(sharding::WholeAxis(*s.mesh, a));
    return static_cast<int32_t>(sharding::ShardIndex(*s.mesh, all, position));
  }
  return static_cast<int32_t>(sharding::ShardIndex(*s.mesh, sharding::VaryingAxes(s), position));
}

std::shared_ptr<Concrete> NewWhole(const ir::Type* type, Loc loc) {
  int64_t bytes = type->elements() * type->dtype().size();
  return std::make_shared<Concrete>(type, WithoutModes(type), loc,
                                    AtLine(loc, [&] { return runtime::Allocate(bytes, 1); }), true);
}

const ir::Type* WithoutModes(const ir::Type* type) {
  if (!type->mesh() || type->mesh()->all_mode(AxisMode::Explicit)) return type;
  sharding::TensorSharding s = type->sharding();
  s.mesh = s.mesh->WithoutModes();
  return type->WithSharding(std::move(s));
}

std::shared_ptr<const Concrete> AsPlaced(std::shared_ptr<const Concrete> array) {
  if (array->placed() == array->type()) return array;
  return std::make_shared<const Concrete>(array->placed(), array->placed(), array->loc(),
                                          array->buffers, array->shares_replicas());
}

}  // namespace api

namespace trace {
Executor& TheExecutor() {
  static auto* executor = new api::RuntimeExecutor;
  return *executor;
}
}  // namespace trace

void ReplicaSharing(bool on) { api::shares_replicas = on; }

void SetWorkerCount(int n, Loc loc) {
  if (n < 0)
    base::ThrowRuntime(base::Refusal("SetWorkerCount", 1, base::Where(loc),
                                     "a team of " + std::to_string(n) + " workers does not exist",
                                     {"give 1 or more, or 0 for one per core"}));
  if (trace::CurrentTrace())
    base::ThrowTrace(
        base::Refusal("SetWorkerCount", 2, base::Where(loc), "a function is being traced"));
  runtime::SetWorkerCount(n);
}

}  // namespace tessera
