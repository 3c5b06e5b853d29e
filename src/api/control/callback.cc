// debug_callback and print_shards: user functions that read arrays while a program runs.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "api/control/host_calls.h"
#include "api/control/turns.h"
#include "api/core/elements.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "compile/host/processes.h"
#include "compile/host/replicas.h"
#include "ops/host_call.h"
#include "sharding/local.h"
#include "tessera/debug.h"
#include "trace/apply.h"
#include "trace/inline.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

void CallCallback(const Callback& f, const std::vector<Array>& arrays, Call call) {
  base::CallUsers(call.name, "the callback", base::Where(call.loc), [&] { f(arrays); });
}

// Returns the axes along which at least one of the values varies.
sharding::AxisList VaryingOfArguments(const ir::HostArguments& arguments) {
  sharding::AxisList axes;
  for (const ir::HostArgument& value : arguments.values)
    sharding::AddTo(axes, value.place->sharding().varying);
  return axes;
}

// Returns a varying value as an array that is the same everywhere: the one of the devices at this
// coordinate along the axes.
ir::HostArgument OfDevice(const ir::HostArgument& all, const sharding::AxisList& axes,
                          int64_t coordinate) {
  const sharding::MeshDef* mesh = all.place->mesh();
  if (!mesh) return all;
  sharding::TensorSharding s = all.place->sharding();
  s.varying.clear();
  ir::HostArgument one{all.place->WithSharding(std::move(s)), {}};
  for (size_t p = 0; p < all.shards.size(); ++p)
    one.shards.push_back(base::At(
        all.shards, sharding::WithShardIndex(*mesh, axes, static_cast<int64_t>(p), coordinate)));
  return one;
}

// The order of calls on several processes.
enum class CallOrder : uint8_t {
  kOfProcess,  // each process calls in its own order
  kOfMesh      // one call after the other, by coordinate and then by process
};

// Returns the processes that have a part of the value at a coordinate along the axes.
std::set<int32_t> ProcessesAt(const ir::HostArgument& value, const sharding::AxisList& axes,
                              int64_t coordinate) {
  const sharding::MeshDef& mesh = *value.place->mesh();
  std::set<int32_t> processes;
  for (int64_t p = 0; p < mesh.size(); ++p)
    processes.insert(
        compile::ProcessOf(mesh.Device(sharding::WithShardIndex(mesh, axes, p, coordinate))));
  return processes;
}

// Returns the processes that have a part of each value at a coordinate. Values without a mesh are
// on all of them.
std::vector<int32_t> ProcessesAt(const std::vector<ir::HostArgument>& values,
                                 const sharding::AxisList& axes, int64_t coordinate) {
  std::optional<std::set<int32_t>> all;
  for (const ir::HostArgument& value : values) {
    if (!value.place->mesh()) continue;
    std::set<int32_t> of_value = ProcessesAt(value, axes, coordinate);
    if (all)
      std::erase_if(*all, [&](int32_t p) { return !of_value.contains(p); });
    else
      all = std::move(of_value);
  }
  if (!all) return {compile::Process()};
  return {all->begin(), all->end()};
}

// A callback in a program. It runs outside all traces, and under the mesh of its arguments.
class Called final : public ir::HostFunction {
 public:
  Called(Callback f, CallOrder order, Call call) : f_(std::move(f)), order_(order), call_(call) {}

  void Run(const ir::HostArguments& arguments) const override {
    const sharding::AxisList axes = VaryingOfArguments(arguments);
    std::vector<int64_t> coordinates;  // of each call
    std::vector<int32_t> processes;
    for (int64_t i = 0; i < sharding::SizeOf(axes); ++i) {
      if (compile::Processes() == 1) {
        coordinates.push_back(i);
        processes.push_back(0);
        continue;
      }
      for (int32_t process : ProcessesAt(arguments.values, axes, i)) {
        coordinates.push_back(i);
        processes.push_back(process);
      }
    }
    // Devices on different paths do not all call.
    const bool takes_turns = order_ == CallOrder::kOfMesh && arguments.device < 0;
    const auto call = [&](size_t i) {
      ir::HostArguments of_device = arguments;
      if (!axes.empty())
        for (ir::HostArgument& value : of_device.values)
          value = OfDevice(value, axes, coordinates[i]);
      CallWith(of_device, takes_turns ? compile::Others::kWait : compile::Others::kMayCall);
    };
    if (takes_turns) return TakeTurns(processes, call);
    for (size_t i = 0; i < processes.size(); ++i)
      if (processes[i] == compile::Process()) call(i);
  }

 private:
  void CallWith(const ir::HostArguments& arguments, compile::Others others) const {
    trace::TraceScope now(nullptr);
    const compile::OnOneProcess alone(others);
    const sharding::MeshDef* mesh = nullptr;
    std::vector<Array> arrays;
    for (const ir::HostArgument& value : arguments.values) {
      arrays.emplace_back(compile::ArrayOf(value, call_.loc));
      if (!mesh) mesh = value.place->mesh();
    }
    trace::MeshDefScope scope(mesh);
    CallCallback(f_, arrays, call_);
  }

  const Callback f_;
  const CallOrder order_;
  const Call call_;
};

// Prints device and index ranges of each shard of its one argument.
class ShardPrinter final : public ir::HostFunction {
 public:
  explicit ShardPrinter(CallOrder order) : order_(order) {}

  void Run(const ir::HostArguments& arguments) const override {
    const ir::HostArgument& value = arguments.values[0];
    const sharding::MeshDef* mesh = value.place->mesh();
    const auto print = [&](size_t p) {
      const auto at = static_cast<int64_t>(p);
      std::string where;
      for (const IndexRange& r : compile::RangesOf(*value.place, at))
        where += fmt::format("{}{}:{}", where.empty() ? "" : ", ", r.begin, r.end);
      const int64_t device = arguments.device >= 0 ? arguments.device : mesh ? mesh->Device(at) : 0;
      std::printf("device %lld [%s]\n", static_cast<long long>(device), where.c_str());
    };
    if (order_ == CallOrder::kOfMesh && arguments.device < 0 && mesh) {
      std::vector<int32_t> processes;
      for (int64_t p = 0; p < mesh->size(); ++p)
        processes.push_back(compile::ProcessOf(mesh->Device(p)));
      return TakeTurns(processes, [&](size_t p) {
        print(p);
        std::fflush(stdout);  // before another process prints
      });
    }
    for (size_t p = 0; p < value.shards.size(); ++p)
      if (value.shards[p]) print(p);
  }

 private:
  const CallOrder order_;
};

// Returns the order of calls on several processes. A call outside of traces is made at once, maybe
// on some processes alone.
CallOrder OrderFor(const std::vector<trace::ArrayRef>& refs, bool ordered) {
  const bool together = compile::Processes() > 1 && trace::InsideTrace(refs);
  return ordered && together ? CallOrder::kOfMesh : CallOrder::kOfProcess;
}

}  // namespace

void debug_callback(Callback f, const std::vector<Array>& arrays, CallbackOptions options,
                    Loc loc) {
  const Call call{"debug_callback", loc};
  for (const Array& a : arrays) {
    const ir::Type& type = *trace::Use(a, call.name, loc)->type();
    if (type.sharding().unreduced.empty() || !IsOnePerDevice(type)) continue;
    FailSharding(
        call, 27,
        fmt::format("{} is unreduced: each device holds only a partial result", type.text()),
        {"sum first with psum"});
  }
  if (f.count() >= 0 && base::Size(f.count()) != arrays.size())
    base::ThrowRuntime(
        base::Refusal(call.name, 1, base::Where(loc),
                      fmt::format("the callback takes {}, but was given {}",
                                  base::CountText(base::Size(f.count()), "array"), arrays.size())));
  const std::vector<trace::ArrayRef> refs = RefsOf(arrays, call);
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  const bool is_manual = mesh && mesh->has_mode(AxisMode::Manual);
  if (is_manual || trace::InsideTrace(refs))
    CallHost(std::make_shared<const Called>(std::move(f), OrderFor(refs, options.ordered), call),
             refs, options, call);
  else if (!HasTypesAlone(refs))
    CallCallback(f, arrays, call);
}

void print_shards(const Array& x, Loc loc) {
  const Call call{"print_shards", loc};
  const std::vector<trace::ArrayRef> refs = RefsOf(std::vector<Array>{x}, call);
  CallHost(std::make_shared<const ShardPrinter>(OrderFor(refs, true)), refs, {.ordered = true},
           call);
}

}  // namespace tessera
