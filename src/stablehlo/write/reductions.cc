// Reductions over dims, over windows and over runs of elements.
#include <fmt/format.h>

#include <limits>

#include "base/dtype.h"
#include "ops/params.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

template <Reduction r>
OutValues Reduce(const WriteCall& c) {
  const OutValue x = c.computed(0);
  const OutValue made = c.w.Reduce(ReductionOp(r), x, c.w.Identity(r, x.type.dtype),
                                   c.params<ops::DimsParams>().dims);
  return {c.stored(made)};
}

// Reduces pairs of an element and its index: NaN wins, then the first of the largest.
template <bool kLargest>
OutValues ArgReduce(const WriteCall& c) {
  TextWriter& w = c.w;
  const OutValue x = c.computed(0);
  const int64_t dim = c.params<ops::DimParams>().dim[0];
  const DType number = x.type.dtype, index = c.out().dtype;
  const OutType of_x{{}, number}, of_index{{}, index};
  const auto choose = [&](const OutValues& in) {
    const OutValue &a = in[0], &i = in[1], &b = in[2], &j = in[3];
    OutValue better = w.Compare(kLargest ? "GT" : "LT", a, b);
    if (number.is_inexact()) better = w.Binary("stablehlo.or", better, w.Compare("NE", a, a));
    const OutValue tie = w.Binary("stablehlo.and", w.Compare("EQ", a, b), w.Compare("LT", i, j));
    return OutValues{w.Select(better, a, b), w.Select(w.Binary("stablehlo.or", better, tie), i, j)};
  };
  const OutValue start = w.Identity(kLargest ? Reduction::kMax : Reduction::kMin, number);
  return {w.Add("stablehlo.reduce",
                {x, w.Iota({x.type.shape, index}, dim), start, w.Whole(of_index, 0)},
                {{c.out().shape, number}, c.out()}, "dimensions = " + IntegersText({dim}),
                {w.Region({of_x, of_index, of_x, of_index}, choose)})[1]};
}

// ---- windows ----

std::string WindowText(const ops::WindowParams& p) {
  return fmt::format(
      "base_dilations = {}, padding = {}, window_dilations = {}, window_dimensions = {}, "
      "window_strides = {}",
      IntegersText(p.base_dilation), PairsText(p.low, p.high), IntegersText(p.window_dilation),
      IntegersText(p.sizes), IntegersText(p.strides));
}

template <Reduction r>
OutValues ReduceWindow(const WriteCall& c) {
  TextWriter& w = c.w;
  const OutValue x = c.computed(0);
  const OutType out{c.out().shape, x.type.dtype};
  const OutValue made =
      w.One("stablehlo.reduce_window", {x, w.Identity(r, x.type.dtype)}, out,
            WindowText(c.params<ops::WindowParams>()), {w.Combiner(ReductionOp(r), x.type.dtype)});
  return {c.stored(made)};
}

// Returns for each window the row-major index of the element that it chooses, then that element of
// `also`. An index past the end: the window has no element.
template <Reduction r>
OutValues Chosen(const WriteCall& c, const OutValue& x, const OutValues& also,
                 const base::Shape& windows) {
  TextWriter& w = c.w;
  const OutValue flat = w.Iota({{base::Elements(x.type.shape)}, i64}, 0);
  OutValues arrays = {x, w.Reshape(flat, x.type.shape)};
  OutValues starts = {w.Identity(r, x.type.dtype),
                      w.Whole({{}, i64}, std::numeric_limits<int64_t>::max())};
  for (const OutValue& a : also) {
    arrays.push_back(a);
    starts.push_back(w.Whole({{}, a.type.dtype}, 0));
  }
  OutTypes scalars, results;
  for (int side = 0; side < 2; ++side)
    for (const OutValue& a : arrays) scalars.push_back({{}, a.type.dtype});
  for (const OutValue& a : arrays) results.push_back({windows, a.type.dtype});
  const std::string choose = w.Region(scalars, [&](const OutValues& in) {
    const size_t n = arrays.size();
    const OutValue better = w.Compare(r == Reduction::kMax ? "GT" : "LT", in[0], in[n]);
    const OutValue tie =
        w.Binary("stablehlo.and", w.Compare("EQ", in[0], in[n]), w.Compare("LT", in[1], in[n + 1]));
    const OutValue stays = w.Binary("stablehlo.or", better, tie);
    OutValues made;
    for (size_t k = 0; k < n; ++k) made.push_back(w.Select(stays, in[k], in[n + k]));
    return made;
  });
  OutValues operands = arrays;
  operands.insert(operands.end(), starts.begin(), starts.end());
  return w.Add("stablehlo.reduce_window", operands, results,
               WindowText(c.params<ops::WindowParams>()), {choose});
}

template <Reduction r>
OutValues WindowTake(const WriteCall& c) {
  return {Chosen<r>(c, c.in[0], {c.in[1]}, c.out().shape)[2]};
}

// Adds each window's element where the window chooses.
template <Reduction r>
OutValues WindowPut(const WriteCall& c) {
  TextWriter& w = c.w;
  const OutValue source = c.in[1];
  const OutValue at = Chosen<r>(c, c.in[0], {}, source.type.shape)[1];
  const int64_t elements = base::Elements(c.out().shape), windows = base::Elements(at.type.shape);
  const OutType flat{{elements}, c.out().dtype};
  const OutValue made =
      w.One("stablehlo.scatter",
            {w.Whole(flat, 0), w.Reshape(at, {windows, 1}), w.Reshape(source, {windows})}, flat,
            "scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
            "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>",
            {w.Combiner("stablehlo.add", flat.dtype)});
  return {w.Reshape(made, c.out().shape)};
}

// ---- runs ----

// Returns params of windows that begin, or end, at each element of a dim.
ops::WindowParams Runs(const base::Shape& shape, size_t dim, bool reverse) {
  const std::vector<int64_t> ones(shape.size(), 1), zeros(shape.size(), 0);
  ops::WindowParams p{ones, ones, zeros, zeros, ones, ones};
  const int64_t n = std::max<int64_t>(shape[dim], 1);
  p.sizes[dim] = n;
  (reverse ? p.high : p.low)[dim] = n - 1;
  return p;
}

OutValues RunsBy(const WriteCall& c, const OutValue& x, const OutValue& start,
                 const std::string& combine) {
  const auto& p = c.params<ops::CumulativeParams>();
  const ops::WindowParams runs = Runs(x.type.shape, static_cast<size_t>(p.dim[0]), p.reverse);
  return {c.stored(
      c.w.One("stablehlo.reduce_window", {x, start}, x.type, WindowText(runs), {combine}))};
}

template <Reduction r>
OutValues Cumulative(const WriteCall& c) {
  const OutValue x = c.computed(0);
  return RunsBy(c, x, c.w.Identity(r, x.type.dtype), c.w.Combiner(ReductionOp(r), x.type.dtype));
}

// log(e^a + e^b) = max + log1p(e^-|a - b|). Where a - b is NaN, a and b are the same infinity or
// one of them is NaN, so a + b is right.
OutValues CumLogSumExp(const WriteCall& c) {
  TextWriter& w = c.w;
  const OutValue x = c.computed(0);
  const OutType scalar{{}, x.type.dtype};
  const std::string combine = w.Region({scalar, scalar}, [&](const OutValues& in) {
    const OutValue most = w.Binary("stablehlo.maximum", in[0], in[1]);
    const OutValue apart = w.Binary("stablehlo.subtract", in[0], in[1]);
    const OutValue less =
        w.Unary("stablehlo.log_plus_one",
                w.Unary("stablehlo.exponential",
                        w.Unary("stablehlo.negate", w.Unary("stablehlo.abs", apart))));
    return OutValues{w.Select(w.Compare("NE", apart, apart),
                              w.Binary("stablehlo.add", in[0], in[1]),
                              w.Binary("stablehlo.add", most, less))};
  });
  return RunsBy(c, x, w.Identity(Reduction::kMax, x.type.dtype), combine);
}

}  // namespace

std::vector<OpWriter> ReductionWriters() {
  using enum Reduction;
  return {
      {"cumlogsumexp", CumLogSumExp},
      {"cummax", Cumulative<kMax>},
      {"cummin", Cumulative<kMin>},
      {"cumprod", Cumulative<kProd>},
      {"cumsum", Cumulative<kSum>},
      {"reduce_window_and", ReduceWindow<kAnd>},
      {"reduce_window_max", ReduceWindow<kMax>},
      {"reduce_window_min", ReduceWindow<kMin>},
      {"reduce_window_or", ReduceWindow<kOr>},
      {"reduce_window_prod", ReduceWindow<kProd>},
      {"reduce_window_sum", ReduceWindow<kSum>},
      {"reduce_window_xor", ReduceWindow<kXor>},
      {"window_put_max", WindowPut<kMax>},
      {"window_put_min", WindowPut<kMin>},
      {"window_take_max", WindowTake<kMax>},
      {"window_take_min", WindowTake<kMin>},
      {"argmax", ArgReduce<true>},
      {"argmin", ArgReduce<false>},
      {"reduce_and", Reduce<kAnd>},
      {"reduce_max", Reduce<kMax>},
      {"reduce_min", Reduce<kMin>},
      {"reduce_or", Reduce<kOr>},
      {"reduce_prod", Reduce<kProd>},
      {"reduce_sum", Reduce<kSum>},
      {"reduce_xor", Reduce<kXor>},
  };
}

}  // namespace tessera::stablehlo
