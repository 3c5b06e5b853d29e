// The kernels of dynamic_slice and dynamic_update_slice: windows whose starts are known at run
// time.
#include <memory>
#include <utility>

#include "base/defaults.h"
#include "base/shape.h"
#include "kernels/copy/copy_plan.h"
#include "kernels/kernels.h"

namespace tessera::kernels {
namespace {

// One scalar start index, limited to [0, last].
int64_t Start(DType index, const std::byte* in, int64_t last) {
  return base::VisitDType(index, [&](auto zero) -> int64_t {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      T v;
      std::memcpy(&v, in, sizeof(T));
      if constexpr (std::is_unsigned_v<T>)
        return static_cast<int64_t>(std::min<uint64_t>(v, static_cast<uint64_t>(last)));
      else
        return std::clamp<int64_t>(v, 0, last);
    } else {
      return 0;
    }
  });
}

// Where a window of a dense operand can start.
struct StartRange {
  DType index;
  std::vector<int64_t> last, stride_bytes;  // per dim: the last start, and what a step is worth
};

StartRange StartsOf(int32_t itemsize, DType index, const Shape& operand, const Shape& sizes) {
  StartRange window{index, Shape(operand.size()), Shape(operand.size())};
  int64_t stride = itemsize;
  for (size_t d = operand.size(); d-- > 0; stride *= operand[d]) {
    window.last[d] = operand[d] - sizes[d];
    window.stride_bytes[d] = stride;
  }
  return window;
}

// Byte offset of the window whose starts are starts[0], starts[1], ...
int64_t WindowOffset(const StartRange& window, const std::byte* const* starts) {
  int64_t offset = 0;
  for (size_t d = 0; d < window.last.size(); ++d)
    offset += Start(window.index, starts[d], window.last[d]) * window.stride_bytes[d];
  return offset;
}

struct SliceConfig {
  StartRange window;
  CopyPlan plan;
};

void RunDynamicSlice(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const SliceConfig*>(call.config);
  CopyArgs args{call.in[0], call.out[0]};
  args.in_shift = WindowOffset(config.window, call.in + 1);
  RunCopy(config.plan, args, call.part, call.parts);
}

struct UpdateConfig {
  StartRange window;
  CopyPlan plan;     // of the update, its first dim the one to split
  int64_t rows = 1;  // of the operand: its first dim
  int64_t row_bytes = 0;
};

// A part owns rows of the operand: it copies them, then writes the rows of the update that fall
// among them. In place it owns rows of the update.
void RunDynamicUpdateSlice(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const UpdateConfig*>(call.config);
  CopyArgs args{call.in[1], call.out[0]};
  args.out_shift = WindowOffset(config.window, call.in + 2);
  if (call.in[0] == call.out[0]) return RunCopy(config.plan, args, call.part, call.parts);
  const Range rows = Share(config.rows, 1, call.part, call.parts);
  const int64_t bytes = (rows.end - rows.begin) * config.row_bytes;
  const std::byte* from = call.in[0] + rows.begin * config.row_bytes;
  std::byte* to = call.out[0] + rows.begin * config.row_bytes;
  if (bytes >= kStreamBytes) {
    Simd().stream_copy(to, from, bytes);
    StreamFence();
  } else {
    CopyBytes(to, from, bytes);
  }
  const StartRange& window = config.window;
  const int64_t first =  // the row of the operand where the update starts
      window.last.empty() ? 0 : Start(window.index, call.in[2], window.last[0]);
  RunCopyRange(config.plan, args,
               {std::max<int64_t>(0, rows.begin - first),
                std::min(config.plan.split_size(), rows.end - first)});
}

}  // namespace

plan::Kernel DynamicSlice(int32_t itemsize, DType index, const Shape& operand, const Shape& sizes) {
  const CopyDesc desc{.itemsize = itemsize,
                      .box = sizes,
                      .in_strides = base::DenseStrides(operand),
                      .out_strides = base::DenseStrides(sizes),
                      .out_size = base::Elements(sizes)};
  auto config = std::make_shared<const SliceConfig>(
      SliceConfig{StartsOf(itemsize, index, operand, sizes), MakeCopyPlan(desc)});
  return {.fn = RunDynamicSlice,
          .config = config,
          .bytes = config->plan.bytes_touched(),
          .max_parts = config->plan.max_parts()};
}

plan::Kernel DynamicUpdateSlice(int32_t itemsize, DType index, const Shape& operand,
                                const Shape& update) {
  const CopyDesc desc{.itemsize = itemsize,
                      .box = update,
                      .in_strides = base::DenseStrides(update),
                      .out_strides = base::DenseStrides(operand),
                      .out_size = base::Elements(operand)};
  const int64_t rows = operand.empty() ? 1 : operand[0];
  const double bytes = 2.0 * static_cast<double>(desc.out_size * itemsize);
  auto config = std::make_shared<const UpdateConfig>(
      UpdateConfig{StartsOf(itemsize, index, operand, update), MakeCopyPlan(desc, true), rows,
                   rows > 0 ? desc.out_size / rows * itemsize : 0});
  return {.fn = RunDynamicUpdateSlice,
          .config = config,
          .bytes = bytes,
          .max_parts = MaxParts(bytes, rows),
          .in_place = 1};
}

}  // namespace tessera::kernels
