// Maps shards by instance to shards by device, and compares predicates.
#include "spmd/emit/host_calls.h"

#include <fmt/format.h>

#include <cstring>

#include "base/at.h"
#include "base/error.h"
#include "ir/host_tensor.h"
#include "ops/ops.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

std::string NumberText(DType dtype, const std::byte* data) {
  ir::HostTensor number(dtype, {});
  std::memcpy(number.data.data(), data, number.data.size());
  if (dtype.is_bool()) return number.Int(0) ? "true" : "false";
  return std::to_string(number.Int(0));
}

class SamePredicate final : public ir::HostFunction {
 public:
  SamePredicate(const ir::Instruction& chooser, const ir::Program& made_in, ir::ValueId predicate)
      : chooser_(chooser.op->name),
        chooser_loc_(chooser.loc),
        made_loc_(made_in.values[predicate].loc) {}

  void Run(const ir::HostArguments& arguments) const override {
    const ir::HostArgument& value = arguments.values[0];
    const ir::Type& type = *value.place;
    const auto bytes = base::Size(type.dtype().size());
    size_t first = 0;  // on this process
    while (!value.shards[first]) ++first;
    for (size_t p = first + 1; p < value.shards.size(); ++p)
      if (value.shards[p] && std::memcmp(value.shards[first], value.shards[p], bytes) != 0)
        Fail(value, first, p);
  }

 private:
  [[noreturn]] void Fail(const ir::HostArgument& value, size_t first, size_t p) const {
    const auto has = [&](size_t at) {
      return fmt::format("{} has {}",
                         ir::DeviceText(*value.place->mesh(), static_cast<int64_t>(at)),
                         NumberText(value.place->dtype(), value.shards[at]));
    };
    // while_loop and cond have a predicate, switch_case has an index.
    const char* noun = value.place->dtype().is_bool() ? "predicate" : "index";
    ErrorDetail detail = base::Refusal(
        std::string(chooser_), 40, base::Where(chooser_loc_),
        fmt::format("its {} must be the same on all devices, but {} and {}", noun, has(first),
                    has(p)),
        {"it was computed at " + base::Where(made_loc_),
         "the op that computes it must be deterministic, or its result must be varying"});
    base::ThrowRuntime(std::move(detail));
  }

  const std::string_view chooser_;
  const Loc chooser_loc_, made_loc_;
};

// Returns the instance of the operand at each position in its mesh.
std::vector<int32_t> InstancesByPosition(const HostOperand& operand) {
  const std::vector<int32_t>& of_device = operand.layout->instance_of_device;
  const sharding::MeshDef* mesh = operand.place->mesh();
  std::vector<int32_t> instances;
  for (int64_t p = 0; p < (mesh ? mesh->size() : 1); ++p)
    instances.push_back(base::At(of_device, mesh ? mesh->Device(p) : 0));
  return instances;
}

struct ShardCall {
  std::shared_ptr<const ir::ShardFunction> function;
  std::vector<int64_t> positions;  // by device
};

void CallWithShard(const plan::KernelArgs& args) {
  const auto& call = *static_cast<const ShardCall*>(args.config);
  call.function->Run({.position = base::At(call.positions, args.device),
                      .data = args.in[0],
                      .part = args.part,
                      .parts = args.parts,
                      .iterations = *args.iterations});
}

}  // namespace

plan::Kernel MakeShardCall(const ir::HostFunctionRef& function, size_t number,
                           const HostOperand& operand, int32_t device, int64_t bytes) {
  ShardCall call;
  call.positions.resize(operand.layout->instance_of_device.size());
  if (const sharding::MeshDef* mesh = operand.place->mesh())
    for (int64_t p = 0; p < mesh->size(); ++p) call.positions[base::Size(mesh->Device(p))] = p;
  call.function = function.function->ForShards({.number = number,
                                                .place = operand.place,
                                                .buffers = InstancesByPosition(operand),
                                                .device = device});
  const auto max_parts = static_cast<int32_t>(call.function->max_parts());
  return {.fn = CallWithShard,
          .config = std::make_shared<const ShardCall>(std::move(call)),
          .bytes = static_cast<double>(bytes),
          .max_parts = max_parts,
          .observes = true};
}

plan::HostCall MakeHostCall(const ir::HostFunctionRef& function,
                            const std::vector<HostOperand>& operands, int32_t device,
                            plan::NoteId note) {
  plan::HostCall call{.in = {}, .function = {}, .note = note};
  ir::HostArguments seen;
  seen.device = device;
  std::vector<std::vector<int32_t>> instances;  // per operand and position in its mesh
  for (const HostOperand& operand : operands) {
    call.in.push_back(operand.value);
    seen.values.push_back({operand.place, {}});
    instances.push_back(InstancesByPosition(operand));
  }
  call.function = [function, seen, instances](const plan::HostBuffers& buffers) {
    ir::HostArguments arguments = seen;
    for (size_t k = 0; k < instances.size(); ++k)
      for (int32_t i : instances[k])
        arguments.values[k].shards.push_back(base::At(buffers.in[k], i));
    arguments.iterations = buffers.iterations;
    function.function->Run(arguments);
  };
  return call;
}

ir::HostFunctionRef MakePredicateComparison(const ir::Instruction& chooser,
                                            const ir::Program& made_in, ir::ValueId predicate) {
  return {std::make_shared<const SamePredicate>(chooser, made_in, predicate)};
}

}  // namespace tessera::spmd
