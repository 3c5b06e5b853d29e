// The kernels on top of the copy engine: one box, one box with offsets per device, and a
// whole buffer.
#include "kernels/copy/copy.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "kernels/copy/copy_plan.h"

namespace tessera::kernels {
namespace {

struct DeviceCopyConfig {
  CopyPlan plan;
  std::vector<int64_t> in_shifts, out_shifts;  // per device, in bytes
  std::vector<bool> skip;
  bool fill;
};

void RunCopyKernel(const plan::KernelArgs& call) {
  const auto& plan = *static_cast<const CopyPlan*>(call.config);
  const std::byte* fill = plan.gaps == CopyPlan::kNone ? nullptr : call.in[1];
  RunCopy(plan, {call.in[0], call.out[0], fill}, call.part, call.parts);
}

// Every part but the last is a multiple of 64 bytes.
void RunCopyWhole(const plan::KernelArgs& call) {
  if (call.in[0] == call.out[0]) return;
  const int64_t bytes = *static_cast<const int64_t*>(call.config), lines = (bytes + 63) / 64;
  const int64_t begin = lines * call.part / call.parts * 64;
  const int64_t end = std::min(lines * (call.part + 1) / call.parts * 64, bytes);
  if (begin < end) std::memcpy(call.out[0] + begin, call.in[0] + begin, end - begin);
}

void RunDeviceCopy(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const DeviceCopyConfig*>(call.config);
  CopyArgs args{call.in[0], call.out[0], config.fill ? call.in[1] : nullptr};
  if (!config.in_shifts.empty()) args.in_shift = config.in_shifts[call.device];
  if (!config.out_shifts.empty()) args.out_shift = config.out_shifts[call.device];
  const bool skip = !config.skip.empty() && config.skip[call.device];
  if (!skip)
    RunCopy(config.plan, args, call.part, call.parts);
  else if (config.fill)
    RunFill(config.plan, args, call.part, call.parts);
}

std::vector<int64_t> InBytes(std::vector<int64_t> offsets, int32_t itemsize) {
  for (int64_t& offset : offsets) offset *= itemsize;
  return offsets;
}

}  // namespace

plan::Kernel Copy(const CopyDesc& desc) {
  auto config = std::make_shared<const CopyPlan>(MakeCopyPlan(desc));
  return {.fn = RunCopyKernel,
          .config = config,
          .bytes = config->bytes_touched(),
          .max_parts = config->max_parts()};
}

plan::Kernel CopyWhole(int64_t bytes) {
  constexpr int64_t kLeastPart = 64 << 10;
  return {.fn = RunCopyWhole,
          .config = std::make_shared<const int64_t>(bytes),
          .bytes = static_cast<double>(2 * bytes),
          .max_parts = static_cast<int32_t>(std::clamp<int64_t>(bytes / kLeastPart, 1, 64)),
          .in_place = 1};
}

plan::Kernel DeviceCopy(const DeviceCopyDesc& desc) {
  auto config = std::make_shared<const DeviceCopyConfig>(
      DeviceCopyConfig{MakeCopyPlan(desc.copy), InBytes(desc.in_offsets, desc.copy.itemsize),
                       InBytes(desc.out_offsets, desc.copy.itemsize), desc.skip, desc.copy.fill});
  return {.fn = RunDeviceCopy,
          .config = config,
          .bytes = config->plan.bytes_touched(),
          .max_parts = config->plan.max_parts()};
}

}  // namespace tessera::kernels
