// Products and Fourier transforms.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/dtype.h"
#include "ops/params.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

// Moves the major part of one dim, the groups, to the front of another one.
OutValue WithGroupsAt(TextWriter& w, OutValue x, int64_t from, int64_t to, int64_t groups) {
  if (from == to || groups == 1) return x;
  base::Shape split = x.type.shape;
  split[static_cast<size_t>(from)] /= groups;
  split.insert(split.begin() + from, groups);
  const OutValue parts = w.Reshape(x, split);  // the groups are dim `from`
  std::vector<int64_t> permutation;
  for (int64_t d = 0; d < x.type.rank(); ++d) {
    if (d == to) permutation.push_back(from);
    permutation.push_back(d < from ? d : d + 1);
  }
  base::Shape joined = x.type.shape;
  joined[static_cast<size_t>(from)] /= groups;
  joined[static_cast<size_t>(to)] *= groups;
  return w.Reshape(w.Transpose(parts, permutation), joined);
}

// Returns a list of dims as words: `first` and `second` at the first two, numbers at the others.
std::string DimsText(const std::vector<int64_t>& dims, char first, char second) {
  std::vector<std::string> words(dims.size());
  for (size_t k = 0; k < dims.size(); ++k)
    words[static_cast<size_t>(dims[k])] = k == 0   ? std::string(1, first)
                                          : k == 1 ? std::string(1, second)
                                                   : fmt::format("{}", k - 2);
  return fmt::format("[{}]", fmt::join(words, ", "));
}

// StableHLO has groups of features, or of the batch: of output features in the kernel and in the
// result. Other groups move there.
OutValues Convolution(const WriteCall& c) {
  const auto& p = c.params<ops::ConvolutionParams>();
  TextWriter& w = c.w;
  const auto at = [](int64_t d) { return static_cast<size_t>(d); };
  if (base::Elements(c.in[1].type.shape) == 0)
    return {w.Whole(c.out(), 0)};  // StableHLO has no empty windows
  const OutValue rhs = WithGroupsAt(w, c.computed(1), p.rhs[at(p.rhs_groups)], p.rhs[0], p.groups);
  base::Shape shape = c.out().shape;
  shape[at(p.out[at(p.out_groups)])] /= p.groups;
  shape[at(p.out[1])] *= p.groups;
  const OutType out{shape, base::ComputedIn(c.out().dtype)};
  const OutValue made = w.One(
      "stablehlo.convolution", {c.computed(0), rhs}, out,
      fmt::format("batch_group_count = {} : i64, dimension_numbers = #stablehlo.conv<{}x{}->{}>, "
                  "feature_group_count = {} : i64, lhs_dilation = {}, padding = {}, "
                  "rhs_dilation = {}, window_strides = {}",
                  p.lhs_groups == 0 ? p.groups : 1, DimsText(p.lhs, 'b', 'f'),
                  DimsText(p.rhs, 'o', 'i'), DimsText(p.out, 'b', 'f'),
                  p.lhs_groups == 0 ? 1 : p.groups, IntegersText(p.lhs_dilation),
                  PairsText(p.low, p.high), IntegersText(p.rhs_dilation), IntegersText(p.strides)));
  return {c.stored(WithGroupsAt(w, made, p.out[1], p.out[at(p.out_groups)], p.groups))};
}

// StableHLO's transforms are along the last dim.
OutValues Fourier(const WriteCall& c) {
  const auto& p = c.params<ops::FourierParams>();
  const std::string_view type = c.name() == "fft"    ? "FFT"
                                : c.name() == "ifft" ? "IFFT"
                                : c.name() == "rfft" ? "RFFT"
                                                     : "IRFFT";
  const int64_t last = c.in[0].type.rank() - 1;
  std::vector<int64_t> swapped;
  for (int64_t d = 0; d <= last; ++d)
    swapped.push_back(d == p.dim[0] ? last : d == last ? p.dim[0] : d);
  OutType out = c.out();
  std::swap(out.shape[static_cast<size_t>(p.dim[0])], out.shape[static_cast<size_t>(last)]);
  const OutValue made = c.w.One("stablehlo.fft", {c.w.Transpose(c.in[0], swapped)}, out,
                                fmt::format("fft_length = {}, fft_type = #stablehlo<fft_type {}>",
                                            IntegersText({p.n}), type));
  return {c.w.Transpose(made, swapped)};
}

// Returns whether row i is in group g, as bools [..., g, m]. Rows are in the order of the groups.
OutValue InGroup(TextWriter& w, const OutValue& given, int64_t rows) {
  const OutValue sizes = w.Convert(given, i64);
  const base::Shape& shape = sizes.type.shape;
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  const int64_t groups = shape.back();
  base::Shape pairs = shape;  // [..., end, size]: sizes before each end
  pairs.push_back(groups);
  std::vector<int64_t> as_last, as_ends;
  for (int64_t d = 0; d < last; ++d) {
    as_last.push_back(d);
    as_ends.push_back(d);
  }
  as_last.push_back(last + 1);
  as_ends.push_back(last);
  const OutType of_pairs{pairs, i64};
  const OutValue counted =
      w.Select(w.Compare("LE", w.Iota(of_pairs, last + 1), w.Iota(of_pairs, last)),
               w.Spread(sizes, pairs, as_last), w.Whole(of_pairs, 0));
  const OutValue ends = w.Reduce("stablehlo.add", counted, w.Whole({{}, i64}, 0), {last + 1});
  base::Shape table = shape;
  table.push_back(rows);
  const OutValue row = w.Iota({table, i64}, last + 1);
  const OutValue begins = w.Binary("stablehlo.subtract", ends, sizes);
  return w.Binary("stablehlo.and", w.Compare("GE", row, w.Spread(begins, table, as_ends)),
                  w.Compare("LT", row, w.Spread(ends, table, as_ends)));
}

// Returns lhs [..., m, k] once per group, with zeros in the rows of others: [..., g, m, k].
OutValue PerGroup(const WriteCall& c, const OutValue& lhs) {
  TextWriter& w = c.w;
  const int64_t rank = lhs.type.rank();
  const OutValue in_group = InGroup(w, c.in[2], lhs.type.shape[static_cast<size_t>(rank - 2)]);
  base::Shape shape = in_group.type.shape;
  shape.push_back(lhs.type.shape.back());
  std::vector<int64_t> of_lhs, of_mask;
  for (int64_t d = 0; d < rank; ++d) {
    of_lhs.push_back(d < rank - 2 ? d : d + 1);
    of_mask.push_back(d);
  }
  return w.Select(w.Spread(in_group, shape, of_mask), w.Spread(lhs, shape, of_lhs),
                  w.Whole({shape, lhs.type.dtype}, 0));
}

// Returns a product in the dtype of the result.
OutValue ProductOf(const WriteCall& c, const OutValue& a, const OutValue& b,
                   const ops::DotParams& p) {
  const OutType out{c.out().shape, base::ComputedIn(c.out().dtype)};
  const OutValue made =
      c.w.One("stablehlo.dot_general", {a, b}, out,
              fmt::format("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, "
                          "rhs_batching_dimensions = {}, lhs_contracting_dimensions = {}, "
                          "rhs_contracting_dimensions = {}>",
                          NumbersText(p.batch.lhs), NumbersText(p.batch.rhs),
                          NumbersText(p.contract.lhs), NumbersText(p.contract.rhs)));
  return c.stored(made);
}

OutValues Dot(const WriteCall& c) {
  return {ProductOf(c, c.computed(0), c.computed(1), c.params<ops::DotParams>())};
}

// Returns the product of the rows of each group, [batch..., g, m, k], with rhs. Pairs of
// contracting dims are counted from the first dim after the batch.
OutValue RaggedProduct(const WriteCall& c, const std::vector<int64_t>& of_lhs,
                       const std::vector<int64_t>& of_rhs) {
  const OutValue lhs = PerGroup(c, c.computed(0));
  const int64_t batch = lhs.type.rank() - 3;
  ops::DotParams p;
  for (int64_t d = 0; d < batch; ++d) {
    p.batch.lhs.push_back(d);
    p.batch.rhs.push_back(d);
  }
  for (const int64_t d : of_lhs) p.contract.lhs.push_back(batch + d);
  for (const int64_t d : of_rhs) p.contract.rhs.push_back(batch + d);
  return ProductOf(c, lhs, c.computed(1), p);
}

// Each group of rows times its matrix: rhs is [batch..., g, k, n], and other groups have zeros.
OutValues RaggedDot(const WriteCall& c) { return {RaggedProduct(c, {0, 2}, {0, 1})}; }

// Products summed over the rows of each group: rhs is [batch..., m, n].
OutValues RaggedContract(const WriteCall& c) { return {RaggedProduct(c, {1}, {0})}; }

}  // namespace

std::vector<OpWriter> ContractionWriters() {
  return {
      {"conv_general_dilated", Convolution},
      {"fft", Fourier},
      {"ifft", Fourier},
      {"irfft", Fourier},
      {"ragged_contract", RaggedContract},
      {"ragged_dot", RaggedDot},
      {"rfft", Fourier},
      {"dot_general", Dot},
  };
}

}  // namespace tessera::stablehlo
