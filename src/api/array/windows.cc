// reduce_window and pooling.
#include "tessera/windows.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/array/windows.h"
#include "api/core/edits.h"
#include "base/at.h"
#include "base/divide.h"
#include "base/shape.h"
#include "ops/params.h"
#include "ops/reduction_ops.h"

namespace tessera::api {

void SetPadding(const WindowPadding& padding, const std::vector<int64_t>& sizes,
                std::vector<ops::DimWindow>& windows, Call call) {
  const std::string_view rule = padding.rule();
  if (!rule.empty() && rule != "VALID" && rule != "SAME" && rule != "SAME_LOWER")
    FailShape(call, 17,
              fmt::format("there is no padding \"{}\": a rule is \"VALID\", \"SAME\" or "
                          "\"SAME_LOWER\"",
                          rule));
  if (rule.empty() && padding.edges().size() != windows.size())
    FailShape(call, 17,
              fmt::format("the padding has {} entries, but there are {} dims",
                          padding.edges().size(), windows.size()));
  for (size_t d = 0; d < windows.size(); ++d) {
    ops::DimWindow& w = windows[d];
    if (rule.empty()) {
      w.low = padding.edges()[d].first, w.high = padding.edges()[d].second;
    } else if (rule != "VALID" && w.stride > 0) {
      const int64_t made = (base::CeilDiv(sizes[d], w.stride) - 1) * w.stride + w.reach();
      const int64_t all = std::max<int64_t>(made - sizes[d], 0);
      w.low = rule == "SAME" ? all / 2 : all - all / 2;
      w.high = all - w.low;
    }
  }
}

std::vector<int64_t> OnesOr(std::vector<int64_t> list, size_t length, const char* what, Call call) {
  if (list.empty()) list.assign(length, 1);
  if (list.size() != length)
    FailShape(
        call, 17,
        fmt::format("the {} have {} entries, but there are {} dims", what, list.size(), length));
  return list;
}

std::vector<ops::DimWindow> WindowsOf(const base::Shape& shape, const std::vector<int64_t>& window,
                                      const WindowOptions& options, Call call) {
  const size_t rank = shape.size();
  if (window.size() != rank)
    FailShape(
        call, 17,
        fmt::format("the window has {} entries, but the array has {} dims", window.size(), rank));
  const std::vector<int64_t> strides = OnesOr(options.strides, rank, "strides", call),
                             base = OnesOr(options.base_dilation, rank, "base dilations", call),
                             dilation =
                                 OnesOr(options.window_dilation, rank, "window dilations", call);
  std::vector<ops::DimWindow> windows;
  std::vector<int64_t> spread;
  for (size_t d = 0; d < rank; ++d) {
    windows.push_back({.size = window[d],
                       .stride = strides[d],
                       .base_dilation = base[d],
                       .window_dilation = dilation[d]});
    spread.push_back(windows[d].spread(shape[d]));
  }
  SetPadding(options.padding, spread, windows, call);
  return windows;
}

Array RunWindows(const Array& x, Reduction reduction, const std::vector<ops::DimWindow>& windows,
                 Call call) {
  const auto of = [&](const Array& a) {
    return Run(*ops::OpsOf(reduction).windows, ops::ParamsOf(windows), {a}, call);
  };
  if (TypeOf(x)->dtype().is_complex() && reduction == Reduction::kSum)
    return complex(of(real(x, call.loc)), of(imag(x, call.loc)), {}, call.loc);
  return of(x);
}

namespace {

Array ReducedWindows(const Array& x, Reduction reduction, const std::vector<int64_t>& window,
                     const WindowOptions& options, Call call) {
  return RunWindows(x, reduction, WindowsOf(ShapeOf(x), window, options, call), call);
}

// Returns options for all dims, given those for the dims before the last.
WindowOptions OfAllDims(const Array& x, std::vector<int64_t>& window,
                        const std::vector<int64_t>& strides, const WindowPadding& padding,
                        Call call) {
  const size_t rank = ShapeOf(x).size(), pooled = window.size();
  if (rank < pooled + 1)
    FailShape(
        call, 17,
        fmt::format("the window has {} entries, but the array has {} dims: the last one holds "
                    "features",
                    pooled, rank));
  const size_t batch = rank - pooled - 1;
  const auto spread = [&](auto list, auto unit) {
    list.insert(list.begin(), batch, unit);
    list.push_back(unit);
    return list;
  };
  WindowOptions all{.strides = spread(OnesOr(strides, pooled, "strides", call), int64_t{1}),
                    .padding = padding};
  if (padding.rule().empty()) {
    if (padding.edges().size() != pooled)
      FailShape(call, 17,
                fmt::format("the padding has {} entries, but there are {} window dims",
                            padding.edges().size(), pooled));
    all.padding = spread(padding.edges(), std::pair<int64_t, int64_t>());
  }
  window = spread(window, int64_t{1});
  return all;
}

Array Pooled(const Operand& x, Reduction reduction, std::vector<int64_t> window,
             const std::vector<int64_t>& strides, const WindowPadding& padding, Call call) {
  const Array a = ToArray(x, call);
  const WindowOptions options = OfAllDims(a, window, strides, padding, call);
  return ReducedWindows(a, reduction, window, options, call);
}

}  // namespace
}  // namespace tessera::api

namespace tessera {

using namespace api;

Array reduce_window(Operand x, Reduction reduction, std::vector<int64_t> window,
                    WindowOptions options, Loc loc) {
  const Call call{"reduce_window", loc};
  return AsOne(call, {x, reduction, window, options}, [&](const Operand& a) {
    return ReducedWindows(ToArray(a, call), reduction, window, options, call);
  });
}

Array max_pool(Operand x, std::vector<int64_t> window, PoolOptions options, Loc loc) {
  const Call call{"max_pool", loc};
  return AsOne(call, {x, window, options}, [&](const Operand& a) {
    return Pooled(a, Reduction::kMax, window, options.strides, options.padding, call);
  });
}
Array min_pool(Operand x, std::vector<int64_t> window, PoolOptions options, Loc loc) {
  const Call call{"min_pool", loc};
  return AsOne(call, {x, window, options}, [&](const Operand& a) {
    return Pooled(a, Reduction::kMin, window, options.strides, options.padding, call);
  });
}
Array avg_pool(Operand x, std::vector<int64_t> window, AvgPoolOptions options, Loc loc) {
  const Call call{"avg_pool", loc};
  return AsOne(call, {x, window, options}, [&](const Operand& operand) {
    const Array a = ToFloat(operand, call);
    const auto summed = [&](const Array& v) {
      return Pooled(v, Reduction::kSum, window, options.strides, options.padding, call);
    };
    const Array sums = summed(a);
    if (options.count_include_pad) {
      double elements = 1;
      for (int64_t n : window) elements *= static_cast<double>(n);
      return div(sums, elements, {}, loc);
    }
    base::Shape shape = ShapeOf(a);
    shape.back() = 1;
    const ir::Type* type = TypeOf(a);
    sharding::TensorSharding sharding = type->sharding();
    sharding.dims.back().axes.clear();
    sharding.unreduced.clear();
    sharding.reduced.clear();
    const Array ones = FilledWith(1, ir::Type::Get(shape, type->dtype(), sharding), call);
    return div(sums, summed(ones), {}, loc);
  });
}

}  // namespace tessera
