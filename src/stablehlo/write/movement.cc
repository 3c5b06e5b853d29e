// Operations that move elements. The two numbers of a random key move together, along a last dim.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "ops/params.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

// Returns a list with an entry per dim, with one more for the last dim of keys.
std::vector<int64_t> PerDim(const WriteCall& c, std::vector<int64_t> list, int64_t of_words) {
  if (c.is_key(0)) list.push_back(of_words);
  return list;
}

OutValues Unmoved(const WriteCall& c) { return {c.in[0]}; }

OutValues Reshape(const WriteCall& c) { return {c.w.Reshape(c.in[0], c.out().shape)}; }

OutValues Transpose(const WriteCall& c) {
  const auto& p = c.params<ops::TransposeParams>();
  return {c.w.Transpose(c.in[0], PerDim(c, p.perm, c.type_in(0)->rank()))};
}

OutValues Broadcast(const WriteCall& c) {
  const auto& p = c.params<ops::BroadcastParams>();
  return {c.w.Spread(c.in[0], c.out().shape, PerDim(c, p.dims, c.type_out()->rank()))};
}

OutValues Slice(const WriteCall& c) {
  const auto& p = c.params<ops::SliceParams>();
  return {
      c.w.Slice(c.in[0], PerDim(c, p.starts, 0), PerDim(c, p.limits, 2), PerDim(c, p.strides, 1))};
}

// The words of keys are padded one after the other.
OutValues Pad(const WriteCall& c) {
  const auto& p = c.params<ops::PadParams>();
  const auto padded = [&](const OutValue& x, const OutValue& value) {
    return c.w.One(
        "stablehlo.pad", {x, value}, {c.type_out()->shape(), x.type.dtype},
        fmt::format("edge_padding_high = {}, edge_padding_low = {}, interior_padding = {}",
                    IntegersText(p.high), IntegersText(p.low), IntegersText(p.interior)));
  };
  if (!c.is_key(0)) return {padded(c.in[0], c.in[1])};
  base::Shape one = c.type_out()->shape();
  one.push_back(1);
  OutValues words;
  for (int64_t k = 0; k < 2; ++k)
    words.push_back(c.w.Reshape(
        padded(c.w.Word(c.in[0], k, c.type_in(0)->shape()), c.w.Word(c.in[1], k, {})), one));
  return {c.w.Concatenate(words, static_cast<int64_t>(one.size()) - 1)};
}

OutValues Reverse(const WriteCall& c) {
  return {c.w.One("stablehlo.reverse", c.in, c.out(),
                  "dimensions = " + IntegersText(c.params<ops::DimsParams>().dims))};
}

OutValues Concatenate(const WriteCall& c) {
  return {c.w.Concatenate(c.in, c.params<ops::DimParams>().dim[0])};
}

OutValues Roll(const WriteCall& c) {
  const auto& p = c.params<ops::RollParams>();
  const int64_t dim = p.dim[0], n = c.in[0].type.shape[static_cast<size_t>(dim)];
  const int64_t shift = n == 0 ? 0 : (p.shift % n + n) % n;
  if (shift == 0) return c.in;
  return {c.w.Concatenate(
      {c.w.SliceDim(c.in[0], dim, n - shift, n), c.w.SliceDim(c.in[0], dim, 0, n - shift)}, dim)};
}

// Returns the start indices, from operand `first` on, as numbers of one dtype.
OutValues Starts(const WriteCall& c, size_t first) {
  OutValues starts(c.in.begin() + static_cast<long>(first), c.in.end());
  const bool is_one = absl::c_all_of(
      starts, [&](const OutValue& s) { return s.type.dtype == starts[0].type.dtype; });
  if (!is_one)
    for (OutValue& s : starts) s = c.w.Convert(s, i64);
  if (c.is_key(0))
    starts.push_back(c.w.Whole({{}, starts.empty() ? i32 : starts[0].type.dtype}, 0));
  return starts;
}

OutValues DynamicSlice(const WriteCall& c) {
  OutValues in = {c.in[0]};
  absl::c_move(Starts(c, 1), std::back_inserter(in));
  return {c.w.One("stablehlo.dynamic_slice", in, c.out(),
                  "slice_sizes = " + IntegersText(c.out().shape))};
}

OutValues DynamicUpdateSlice(const WriteCall& c) {
  OutValues in = {c.in[0], c.in[1]};
  absl::c_move(Starts(c, 2), std::back_inserter(in));
  return {c.w.One("stablehlo.dynamic_update_slice", in, c.out())};
}

// Returns keys with the low word first, as their bits are in memory; and the inverse.
OutValue Swapped(TextWriter& w, const OutValue& keys) {
  return w.One("stablehlo.reverse", {keys}, keys.type,
               "dimensions = " + IntegersText({keys.type.rank() - 1}));
}

// Bools have one bit in StableHLO: their bytes are numbers.
OutValues Bitcast(const WriteCall& c) {
  const OutType out = c.out();
  OutValue x = c.in[0];
  if (x.type.dtype.is_bool()) x = c.w.Convert(x, u8);
  if (c.is_key(0)) x = Swapped(c.w, x);
  const OutType bits{out.shape, out.dtype.is_bool() ? u8 : out.dtype};
  if (x.type != bits) x = c.w.One("stablehlo.bitcast_convert", {x}, bits);
  if (c.type_out()->dtype().is_key()) return {Swapped(c.w, x)};
  return {out.dtype.is_bool() ? c.w.Compare("NE", x, c.w.Whole(x.type, 0)) : x};
}

OutValues Barrier(const WriteCall& c) {
  OutTypes types;
  for (const OutValue& x : c.in) types.push_back(x.type);
  return c.w.Add("stablehlo.optimization_barrier", c.in, types);
}

}  // namespace

std::vector<OpWriter> MovementWriters() {
  return {
      {"bitcast_convert_type", Bitcast},
      {"broadcast_in_dim", Broadcast},
      {"concatenate", Concatenate},
      {"dynamic_slice", DynamicSlice},
      {"dynamic_update_slice", DynamicUpdateSlice},
      {"optimization_barrier", Barrier},
      {"pad", Pad},
      {"reshape", Reshape},
      {"rev", Reverse},
      {"roll", Roll},
      {"slice", Slice},
      {"stop_gradient", Unmoved},
      {"transpose", Transpose},
  };
}

}  // namespace tessera::stablehlo
