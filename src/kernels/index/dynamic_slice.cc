// The kernels of dynamic_slice and dynamic_update_slice. Their windows start at indices known only
// at run time.
#include "kernels/index/dynamic_slice.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "base/at.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/copy/copy.h"
#include "kernels/copy/copy_plan.h"

namespace tessera::kernels {
namespace {

// Returns one scalar start index, clamped to [0, last].
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

// A window with two sets of dense strides in bytes: for the held part of the array, and for the
// window alone.
struct DynamicWindow {
  WindowDesc desc;
  Shape strides, own_strides;
};

DynamicWindow MakeWindow(const WindowDesc& desc) {
  DynamicWindow window{desc, base::DenseStrides(desc.shape), base::DenseStrides(desc.sizes)};
  for (Shape* strides : {&window.strides, &window.own_strides})
    for (int64_t& stride : *strides) stride *= desc.itemsize;
  return window;
}

// The part of the window inside the device's part of the array: window indices [first, last) of
// each dim.
struct Held {
  std::vector<Range> dims;
  int64_t row = 0;     // row of the held part at which the window begins; may be negative
  int64_t offset = 0;  // the same in bytes, over all dims
  bool all = true;     // whether the whole window is held
};

Held HeldOf(const DynamicWindow& window, const std::byte* const* starts, int32_t device) {
  const WindowDesc& desc = window.desc;
  Held held;
  for (size_t d = 0; d < desc.shape.size(); ++d) {
    int64_t start = Start(desc.index, starts[d], desc.last[d]);
    if (!desc.begins[d].empty()) start -= base::At(desc.begins[d], device);
    const Range range{std::clamp<int64_t>(-start, 0, desc.sizes[d]),
                      std::clamp<int64_t>(desc.shape[d] - start, 0, desc.sizes[d])};
    if (d == 0) held.row = start;
    held.offset += start * window.strides[d];
    held.all = held.all && range.begin == 0 && range.end == desc.sizes[d];
    held.dims.push_back(range);
  }
  return held;
}

// Restricts the part to rows of the window; returns whether anything is left.
bool Limit(Held& held, Range rows) {
  held.dims[0] = {std::max(held.dims[0].begin, rows.begin), std::min(held.dims[0].end, rows.end)};
  return absl::c_all_of(held.dims, [](Range dim) { return dim.begin < dim.end; });
}

// Copies the part of the window in `box`, from dim d on.
void MoveBox(const DynamicWindow& window, std::span<const Range> box, size_t d, const std::byte* in,
             const Shape& in_strides, std::byte* out, const Shape& out_strides) {
  if (d == box.size()) return CopyBytes(out, in, window.desc.itemsize);
  const int64_t n = box[d].end - box[d].begin;
  in += box[d].begin * in_strides[d];
  out += box[d].begin * out_strides[d];
  bool is_whole = true;  // the box spans the window and the held part in all later dims
  for (size_t k = d + 1; k < box.size(); ++k)
    is_whole = is_whole && window.desc.sizes[k] == window.desc.shape[k] && box[k].begin == 0 &&
               box[k].end == window.desc.sizes[k];
  if (is_whole) return CopyBytes(out, in, n * in_strides[d]);
  for (int64_t k = 0; k < n; ++k)
    MoveBox(window, box, d + 1, in + k * in_strides[d], in_strides, out + k * out_strides[d],
            out_strides);
}

struct WindowConfig {
  DynamicWindow window;
  CopyPlan plan;     // for a window that is held as a whole
  int64_t rows = 1;  // size of the held part's first dim
  int64_t row_bytes = 0;
};

void RunDynamicSlice(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const WindowConfig*>(call.config);
  Held held = HeldOf(config.window, call.in + 1, call.device);
  if (held.all) {
    CopyArgs args{call.in[0], call.out[0]};
    args.in_shift = held.offset;
    return RunCopy(config.plan, args, call.part, call.parts);
  }
  // Each part of the call owns some rows of the window.
  const DynamicWindow& window = config.window;
  const Range rows = Share(window.desc.sizes[0], 1, call.part, call.parts);
  std::memset(call.out[0] + rows.begin * window.own_strides[0], 0,
              (rows.end - rows.begin) * window.own_strides[0]);
  if (!Limit(held, rows)) return;
  MoveBox(window, held.dims, 0, call.in[0] + held.offset, window.strides, call.out[0],
          window.own_strides);
}

// Each part of the call owns some rows of the held array: it copies them, then writes the window's
// rows that fall into them. In place, it owns some rows of the window.
void RunDynamicUpdateSlice(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const WindowConfig*>(call.config);
  const DynamicWindow& window = config.window;
  Held held = HeldOf(window, call.in + 2, call.device);
  CopyArgs args{call.in[1], call.out[0]};
  args.out_shift = held.offset;
  const auto move = [&](Range rows) {
    if (held.all) return RunCopyRange(config.plan, args, rows);
    if (Limit(held, rows))
      MoveBox(window, held.dims, 0, call.in[1], window.own_strides, call.out[0] + held.offset,
              window.strides);
  };
  if (call.in[0] == call.out[0])
    return move(Share(config.plan.split_size(), 1, call.part, call.parts));
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
  move({std::max<int64_t>(0, rows.begin - held.row),
        std::min(config.plan.split_size(), rows.end - held.row)});
}

}  // namespace

plan::Kernel DynamicSlice(const WindowDesc& desc) {
  DynamicWindow window = MakeWindow(desc);
  const CopyDesc copy{.itemsize = desc.itemsize,
                      .box = desc.sizes,
                      .in_strides = base::DenseStrides(desc.shape),
                      .out_strides = base::DenseStrides(desc.sizes),
                      .out_size = base::Elements(desc.sizes)};
  auto config =
      std::make_shared<const WindowConfig>(WindowConfig{std::move(window), MakeCopyPlan(copy)});
  return {.fn = RunDynamicSlice,
          .config = config,
          .bytes = config->plan.bytes_touched(),
          .max_parts = config->plan.max_parts()};
}

plan::Kernel DynamicUpdateSlice(const WindowDesc& desc) {
  const CopyDesc copy{.itemsize = desc.itemsize,
                      .box = desc.sizes,
                      .in_strides = base::DenseStrides(desc.sizes),
                      .out_strides = base::DenseStrides(desc.shape),
                      .out_size = base::Elements(desc.shape)};
  const int64_t rows = desc.shape.empty() ? 1 : desc.shape[0];
  const double bytes = 2.0 * static_cast<double>(copy.out_size * desc.itemsize);
  auto config = std::make_shared<const WindowConfig>(
      WindowConfig{MakeWindow(desc), MakeCopyPlan(copy, true), rows,
                   rows > 0 ? copy.out_size / rows * desc.itemsize : 0});
  return {.fn = RunDynamicUpdateSlice,
          .config = config,
          .bytes = bytes,
          .max_parts = MaxParts(bytes, rows),
          .in_place = 1};
}

}  // namespace tessera::kernels
