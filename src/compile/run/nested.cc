// Runs a plan as a kernel, for regions that each device runs independently.
#include "compile/run/nested.h"

#include <algorithm>
#include <cstring>

#include "base/at.h"
#include "runtime/arena.h"
#include "runtime/buffers.h"
#include "runtime/prepare.h"
#include "runtime/run.h"

namespace tessera::compile {
namespace {

struct NestedPlan {
  std::vector<std::shared_ptr<const runtime::Executable>> of_device;
  std::vector<int64_t> in_bytes, out_bytes;
};

// Wraps a buffer that the run around this one owns.
runtime::Buffers Borrowed(const std::byte* data, int64_t bytes) {
  const std::shared_ptr<const std::byte> view(data, [](const std::byte*) {});
  return {.storage = std::make_shared<runtime::Storage>(view),
          .base = const_cast<std::byte*>(data),
          .bytes = bytes,
          .stride = runtime::RoundUp(bytes, runtime::kLine),
          .slots = nullptr};
}

void Run(const plan::KernelArgs& call) {
  const NestedPlan& nested = *static_cast<const NestedPlan*>(call.config);
  std::vector<runtime::Buffers> inputs;
  for (size_t i = 0; i < nested.in_bytes.size(); ++i)
    inputs.push_back(Borrowed(call.in[i], nested.in_bytes[i]));
  const runtime::Executable& of_device =
      *base::At(nested.of_device, nested.of_device.size() > 1 ? call.device : 0);
  const std::vector<runtime::Buffers> results =
      runtime::Run(of_device, std::move(inputs), call.device);
  for (size_t i = 0; i < results.size(); ++i)
    std::memcpy(call.out[i], results[i].at(0), base::Size(nested.out_bytes[i]));
}

}  // namespace

plan::Kernel NestedRun(std::vector<plan::Plan> plans,
                       absl::FunctionRef<bool(int32_t device)> is_here) {
  auto nested = std::make_shared<NestedPlan>();
  const auto bytes = [&](plan::PlanValueId v) { return plans[0].values[v].bytes; };
  for (const plan::PlanInput& input : plans[0].inputs)
    nested->in_bytes.push_back(bytes(input.value));
  for (plan::PlanValueId v : plans[0].outputs) nested->out_bytes.push_back(bytes(v));
  plan::Kernel kernel{.fn = Run, .config = nested};
  for (const auto* sizes : {&nested->in_bytes, &nested->out_bytes})
    for (int64_t size : *sizes) kernel.bytes += static_cast<double>(size);
  for (size_t d = 0; d < plans.size(); ++d) {
    auto& executable = nested->of_device.emplace_back();
    if (plans.size() > 1 && !is_here(static_cast<int32_t>(d))) continue;
    executable = runtime::Prepare(std::move(plans[d]));
    kernel.run_seconds = std::max(kernel.run_seconds, runtime::SecondsOf(*executable));
  }
  return kernel;
}

}  // namespace tessera::compile
