// Gathers, scatters and sorts.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <limits>

#include "base/dtype.h"
#include "ops/params.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

std::vector<int64_t> Sorted(std::vector<int64_t> list) {
  absl::c_sort(list);
  return list;
}

// Pairs of dims, ordered by the first of each.
ir::PairedDims SortedPairs(const ir::PairedDims& pairs) {
  std::vector<std::pair<int64_t, int64_t>> both;
  for (size_t k = 0; k < pairs.lhs.size(); ++k) both.push_back({pairs.lhs[k], pairs.rhs[k]});
  absl::c_sort(both);
  ir::PairedDims sorted;
  for (const auto& [l, r] : both) {
    sorted.lhs.push_back(l);
    sorted.rhs.push_back(r);
  }
  return sorted;
}

// A gather or a scatter, whose slices have this type.
struct Lookup {
  Lookup(const WriteCall& c, const ops::LookupNumbers& n, const OutType& slices)
      : operand(c.in[0].type),
        batch(SortedPairs(n.batch)),
        dropped(Sorted(n.dropped)),
        windows(n.windows),
        starts(n.starts) {
    if (c.is_key(0)) windows.push_back(slices.rank() - 1);
    size_t window = 0;
    for (int64_t d = 0; d < operand.rank(); ++d) {
      const bool is_one = absl::c_linear_search(dropped, d) || absl::c_linear_search(batch.lhs, d);
      sizes.push_back(is_one ? 1 : slices.shape[static_cast<size_t>(windows[window++])]);
    }
    for (int64_t d = 0; d < slices.rank(); ++d)
      if (!absl::c_linear_search(windows, d)) queries.push_back(d);
    for (const int64_t d : starts)
      bounds.push_back(operand.shape[static_cast<size_t>(d)] - sizes[static_cast<size_t>(d)]);
  }
  // Returns the highest start along each entry of an index vector, in the shape of the indices.
  OutValue Bounds(TextWriter& w, const OutType& indices) const {
    const OutType list{{static_cast<int64_t>(bounds.size())}, i64};
    const auto* bytes = reinterpret_cast<const std::byte*>(bounds.data());
    const OutValue all = w.One("stablehlo.constant", {}, list,
                               "value = " + DenseText(list, {bytes, 8 * bounds.size()}));
    return w.Spread(all, indices.shape, {indices.rank() - 1});
  }
  // Returns whether each slice fits, in the shape of the slices.
  OutValue Fits(TextWriter& w, const OutValue& indices, const base::Shape& slices) const {
    const OutValue fits =
        w.Binary("stablehlo.and", w.Compare("GE", indices, w.Whole(indices.type, 0)),
                 w.Compare("LE", indices, Bounds(w, indices.type)));
    const OutValue all = w.Reduce("stablehlo.and", fits, w.Identity(Reduction::kAnd, bool_),
                                  {indices.type.rank() - 1});
    return w.Spread(all, slices, queries);
  }

  const OutType& operand;
  ir::PairedDims batch;
  std::vector<int64_t> dropped, windows, starts;
  std::vector<int64_t> sizes;    // of a slice, per dim of the operand
  std::vector<int64_t> queries;  // dims of the slices that are dims of the indices
  std::vector<int64_t> bounds;   // the highest start per entry of an index vector
};

// Returns indices as i64: unsigned ones of 64 bits that are too large stay large.
OutValue Indices(const WriteCall& c) {
  OutValue indices = c.in[1];
  if (indices.type.dtype == u64)
    indices = c.w.Binary("stablehlo.minimum", indices,
                         c.w.Whole(indices.type, std::numeric_limits<int64_t>::max()));
  return c.w.Convert(indices, i64);
}

OutValues Gather(const WriteCall& c) {
  const auto& p = c.params<ops::GatherParams>();
  TextWriter& w = c.w;
  const OutType out = c.out();
  const Lookup lookup(c, p.numbers(), out);
  const OutValue indices = Indices(c);
  const OutValue made = w.One(
      "stablehlo.gather", {c.in[0], indices}, out,
      fmt::format("dimension_numbers = #stablehlo.gather<offset_dims = {}, collapsed_slice_dims = "
                  "{}, operand_batching_dims = {}, start_indices_batching_dims = {}, "
                  "start_index_map = {}, index_vector_dim = {}>, indices_are_sorted = {}, "
                  "slice_sizes = {}",
                  NumbersText(lookup.windows), NumbersText(lookup.dropped),
                  NumbersText(lookup.batch.lhs), NumbersText(lookup.batch.rhs),
                  NumbersText(lookup.starts), indices.type.rank() - 1, p.sorted,
                  IntegersText(lookup.sizes)));
  if (p.mode != LookupMode::kFill || lookup.starts.empty()) return {made};
  const std::span<const std::byte> bits(p.fill.bits.data(),
                                        static_cast<size_t>(p.fill.dtype.size()));
  const OutValue fill =
      c.is_key(0) ? w.Spread(w.Key(bits), out.shape, {out.rank() - 1}) : w.Constant(out, bits);
  return {w.Select(lookup.Fits(w, indices, out.shape), made, fill)};
}

// Without starts, every update is of the whole operand. XLA refuses that, so the operand becomes
// the only slice along one more dim.
struct OneSlice {
  OneSlice(TextWriter& w, Lookup& lookup, OutValue& operand, OutValue& indices)
      : whole(operand.type) {
    if (!lookup.starts.empty()) return;
    base::Shape shape = operand.type.shape;
    shape.insert(shape.begin(), 1);
    operand = w.Reshape(operand, shape);
    for (int64_t& d : lookup.dropped) ++d;
    for (int64_t& d : lookup.batch.lhs) ++d;
    lookup.dropped.insert(lookup.dropped.begin(), 0);
    lookup.starts = {0};
    lookup.bounds = {0};
    base::Shape zeros = indices.type.shape;
    zeros.back() = 1;
    indices = w.Whole({zeros, i64}, 0);
  }
  OutType whole;
};

// How an update changes an element: not at all by the old one, or by an operation of both.
template <Reduction... r>
OutValues Scatter(const WriteCall& c) {
  const auto& p = c.params<ops::ScatterParams>();
  TextWriter& w = c.w;
  const DType t = base::ComputedIn(c.in[0].type.dtype);
  OutValue operand = w.Convert(c.in[0], t);
  const OutValue updates = w.Convert(c.in[2], t);
  Lookup lookup(c, p.numbers(), updates.type);
  OutValue indices = Indices(c);
  const OneSlice one(w, lookup, operand, indices);
  if (p.mode == LookupMode::kClip)
    indices = w.Binary("stablehlo.minimum", lookup.Bounds(w, indices.type),
                       w.Binary("stablehlo.maximum", indices, w.Whole(indices.type, 0)));
  const OutType scalar{{}, t};
  const std::string combine = w.Region({scalar, scalar}, [&](const OutValues& in) {
    if constexpr (sizeof...(r) == 0)
      return OutValues{in[1]};
    else
      return OutValues{w.Combine(ReductionOp(r...), in[0], in[1])};
  });
  const OutValue made = w.One(
      "stablehlo.scatter", {operand, indices, updates}, operand.type,
      fmt::format("indices_are_sorted = {}, scatter_dimension_numbers = "
                  "#stablehlo.scatter<update_window_dims = {}, inserted_window_dims = {}, "
                  "input_batching_dims = {}, scatter_indices_batching_dims = {}, "
                  "scatter_dims_to_operand_dims = {}, index_vector_dim = {}>, unique_indices = {}",
                  p.sorted, NumbersText(lookup.windows), NumbersText(lookup.dropped),
                  NumbersText(lookup.batch.lhs), NumbersText(lookup.batch.rhs),
                  NumbersText(lookup.starts), indices.type.rank() - 1, p.unique),
      {combine});
  return {c.stored(w.Reshape(made, one.whole.shape))};
}

// Returns the row that is written to each row of an output, or -1. The lists of each sender are,
// for each slice: its first row, its rows, and its first row in the output. A position receives an
// equal share of the slices of all senders. The last one that writes a row wins.
OutValues RaggedRows(const WriteCall& c) {
  const auto& p = c.params<ops::RaggedRowsParams>();
  TextWriter& w = c.w;
  const OutValue& lists = c.in[0];
  const int64_t last = lists.type.rank() - 1;
  const int64_t senders = *(lists.type.shape.end() - 3), slices = lists.type.shape.back();
  OutType all = lists.type;  // [..., sender, slice, row]
  all.shape[static_cast<size_t>(last - 1)] = slices;
  all.shape.back() = p.output_rows;
  const auto spread = [&](const OutValue& x) {
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < x.type.rank(); ++d) dims.push_back(d);
    return w.Spread(x, all.shape, dims);
  };
  const auto list = [&](int64_t k) {
    return spread(
        w.Reshape(w.SliceDim(lists, last - 1, k, k + 1), {all.shape.begin(), all.shape.end() - 1}));
  };
  const auto number = [&](int64_t n) { return w.Whole(all, n); };
  const auto make = [&](std::string_view op, const OutValue& a, const OutValue& b) {
    return w.Binary(op, a, b);
  };
  const OutValue sender = w.Iota(all, last - 2), slice = w.Iota(all, last - 1);
  const OutValue row = make("stablehlo.subtract", w.Iota(all, last), list(2));
  const OutValue receiver =
      make("stablehlo.divide", slice, number(std::max<int64_t>(slices / senders, 1)));
  const OutValue is_mine = w.Compare("EQ", receiver, spread(w.Convert(c.in[1], i64)));
  const OutValue is_in =
      make("stablehlo.and", w.Compare("GE", row, number(0)), w.Compare("LT", row, list(1)));
  const OutValue source =
      make("stablehlo.add", make("stablehlo.multiply", sender, number(p.operand_rows)),
           make("stablehlo.add", list(0), row));
  // The order of the slices, with the row in its low digits.
  const int64_t base = senders * p.operand_rows + 1;
  const OutValue order =
      make("stablehlo.add", make("stablehlo.multiply", sender, number(slices)), slice);
  const OutValue digits =
      make("stablehlo.add", make("stablehlo.multiply", order, number(base)), source);
  const OutValue most = w.Reduce(
      "stablehlo.maximum", w.Select(make("stablehlo.and", is_mine, is_in), digits, number(-1)),
      w.Whole({{}, i64}, -1), {last - 2, last - 1});
  const OutValue none = w.Whole(most.type, -1);
  return {w.Select(w.Compare("EQ", most, none), none,
                   make("stablehlo.remainder", most, w.Whole(most.type, base)))};
}

// ---- sorts ----

// Returns a number in whose total order equal numbers are equal: zeros have no sign, and all NaNs
// are one.
OutValue Ordered(TextWriter& w, const OutValue& x) {
  if (!x.type.dtype.is_floating()) return x;
  const OutValue zero = w.Number(x.type, 0);
  const OutValue no_sign = w.Select(w.Compare("EQ", x, zero), zero, x);
  return w.Select(w.Compare("NE", x, x), w.Number(x.type, std::numeric_limits<double>::quiet_NaN()),
                  no_sign);
}

OutValue InOrder(TextWriter& w, std::string_view direction, const OutValue& a, const OutValue& b) {
  if (!a.type.dtype.is_floating()) return w.Compare(direction, a, b);
  return w.One("stablehlo.compare", {a, b}, {a.type.shape, bool_},
               fmt::format("compare_type = #stablehlo<comparison_type TOTALORDER>, "
                           "comparison_direction = #stablehlo<comparison_direction {}>",
                           direction));
}

// Returns the numbers that order a key: the parts of a complex number.
OutValues KeysOf(TextWriter& w, const OutValue& x) {
  if (!x.type.dtype.is_complex()) return {Ordered(w, x)};
  const OutType part{x.type.shape, base::PartOf(x.type.dtype)};
  return {Ordered(w, w.One("stablehlo.real", {x}, part)),
          Ordered(w, w.One("stablehlo.imag", {x}, part))};
}

// Whether the left scalars come before the right ones: the first keys that differ decide.
OutValue Before(TextWriter& w, const OutValues& left, const OutValues& right) {
  OutValue before = InOrder(w, "LT", left.back(), right.back());
  for (size_t k = left.size() - 1; k-- > 0;)
    before = w.Binary("stablehlo.or", InOrder(w, "LT", left[k], right[k]),
                      w.Binary("stablehlo.and", InOrder(w, "EQ", left[k], right[k]), before));
  return before;
}

OutValues Sort(const WriteCall& c) {
  const auto& p = c.params<ops::SortParams>();
  TextWriter& w = c.w;
  OutTypes scalars;
  for (const OutValue& x : c.in)
    for (int side = 0; side < 2; ++side) scalars.push_back({{}, x.type.dtype});
  const std::string compare = w.Region(scalars, [&](const OutValues& in) {
    OutValues left, right;
    for (size_t k = 0; k < static_cast<size_t>(p.num_keys); ++k) {
      absl::c_move(KeysOf(w, in[2 * k]), std::back_inserter(left));
      absl::c_move(KeysOf(w, in[2 * k + 1]), std::back_inserter(right));
    }
    return OutValues{p.descending ? Before(w, right, left) : Before(w, left, right)};
  });
  return w.Add("stablehlo.sort", c.in, TypesOf(c.in),
               fmt::format("dimension = {} : i64, is_stable = true", p.dim[0]), {compare});
}

OutValues TopK(const WriteCall& c) {
  const OutValue x = c.computed(0);
  const OutValues made =
      c.w.Add("chlo.top_k", {x}, {{c.out(0).shape, x.type.dtype}, {c.out(1).shape, i32}},
              IntegerField("k", c.params<ops::TopKParams>().k));
  return {c.stored(made[0], 0), c.stored(made[1], 1)};
}

}  // namespace

std::vector<OpWriter> LookupWriters() {
  using enum Reduction;
  return {
      {"gather", Gather},
      {"ragged_rows", RaggedRows},
      {"scatter", Scatter<>},
      {"scatter_add", Scatter<kSum>},
      {"scatter_max", Scatter<kMax>},
      {"scatter_min", Scatter<kMin>},
      {"scatter_mul", Scatter<kProd>},
      {"sort", Sort},
      {"top_k", TopK},
  };
}

}  // namespace tessera::stablehlo
