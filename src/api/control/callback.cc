// debug_callback and print_shards: user functions that read arrays while a program runs.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/host/host_array.h"
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

bool HasTypesAlone(const std::vector<trace::ArrayRef>& arrays) {
  return absl::c_any_of(
      arrays, [](const trace::ArrayRef& a) { return a->kind() == trace::ArrayImpl::kAbstract; });
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

// Whether this process has a part of the value.
bool IsHere(const ir::HostArgument& value) {
  return absl::c_any_of(value.shards, [](const std::byte* shard) { return shard != nullptr; });
}

// A callback in a program. It runs outside all traces, and under the mesh of its arguments.
class Called final : public ir::HostFunction {
 public:
  Called(Callback f, Call call) : f_(std::move(f)), call_(call) {}

  void Run(const ir::HostArguments& arguments) const override {
    const sharding::AxisList axes = VaryingOfArguments(arguments);
    for (int64_t i = 0; i < sharding::SizeOf(axes); ++i) {
      ir::HostArguments of_device = arguments;
      if (!axes.empty())
        for (ir::HostArgument& value : of_device.values) value = OfDevice(value, axes, i);
      if (absl::c_all_of(of_device.values, IsHere)) CallWith(of_device);
    }
  }

 private:
  void CallWith(const ir::HostArguments& arguments) const {
    trace::TraceScope now(nullptr);
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
  const Call call_;
};

// Prints device and index ranges of each shard of its one argument.
class ShardPrinter final : public ir::HostFunction {
 public:
  void Run(const ir::HostArguments& arguments) const override {
    const ir::HostArgument& value = arguments.values[0];
    for (size_t p = 0; p < value.shards.size(); ++p) {
      if (!value.shards[p]) continue;
      const auto at = static_cast<int64_t>(p);
      std::string where;
      for (const IndexRange& r : compile::RangesOf(*value.place, at))
        where += fmt::format("{}{}:{}", where.empty() ? "" : ", ", r.begin, r.end);
      const sharding::MeshDef* mesh = value.place->mesh();
      const int64_t device = arguments.device >= 0 ? arguments.device : mesh ? mesh->Device(at) : 0;
      std::printf("device %lld [%s]\n", static_cast<long long>(device), where.c_str());
    }
  }
};

// Adds a call of f to the program that is traced. Outside a trace, calls f now.
void CallHost(const std::shared_ptr<const ir::HostFunction>& f,
              const std::vector<trace::ArrayRef>& refs, CallbackOptions options, Call call) {
  if (trace::InsideTrace(refs)) {
    trace::Apply({.op = ops::CallbackOp(options.ordered),
                  .params = ir::MakeParams(ir::HostCallParams{{f}}),
                  .operands = {refs.begin(), refs.end()},
                  .loc = call.loc,
                  .shown_as = call.name});
    return;
  }
  if (HasTypesAlone(refs)) return;
  ir::HostArguments arguments;
  for (const trace::ArrayRef& a : refs)
    arguments.values.push_back(compile::ArgumentOf(static_cast<const trace::ConcreteArray&>(*a)));
  f->Run(arguments);
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
    CallHost(std::make_shared<const Called>(std::move(f), call), refs, options, call);
  else if (!HasTypesAlone(refs))
    CallCallback(f, arrays, call);
}

void print_shards(const Array& x, Loc loc) {
  const Call call{"print_shards", loc};
  CallHost(std::make_shared<const ShardPrinter>(), RefsOf(std::vector<Array>{x}, call),
           {.ordered = true}, call);
}

}  // namespace tessera
