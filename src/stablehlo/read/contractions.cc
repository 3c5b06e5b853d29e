// Products, convolutions, reductions, windows and sorts.
#include <fmt/format.h>

#include <algorithm>

#include "base/at.h"
#include "stablehlo/read/importer.h"
#include "tessera/combiners.h"
#include "tessera/convolution.h"
#include "tessera/windows.h"

namespace tessera::stablehlo {
namespace {

Arrays DotGeneral(OpCall& c) {
  const char* const kDims = "dot_dimension_numbers";
  ops::DotParams params;
  params.contract.lhs = c.FieldIntegers(kDims, "lhs_contracting_dimensions");
  params.contract.rhs = c.FieldIntegers(kDims, "rhs_contracting_dimensions");
  params.batch.lhs = c.FieldIntegers(kDims, "lhs_batching_dimensions");
  params.batch.rhs = c.FieldIntegers(kDims, "rhs_batching_dimensions");
  return {c.Run(ops::kDotGeneral, ir::MakeParams(params), c.in)};
}

// The older form without dimension numbers: vectors and matrices.
Arrays Dot(OpCall& c) {
  ops::DotParams params;
  params.contract.lhs = {api::Rank(c.In(0)) - 1};
  params.contract.rhs = {0};
  return {c.Run(ops::kDotGeneral, ir::MakeParams(params), c.in)};
}

// Returns pairs of low and high, one per dim.
std::vector<int64_t> PaddingOf(const OpCall& c, size_t dims) {
  if (!c.Has("padding")) return std::vector<int64_t>(2 * dims, 0);
  std::vector<int64_t> padding = c.Integers("padding");
  if (padding.size() == 1) padding.resize(2 * dims, padding[0]);
  if (padding.size() != 2 * dims) c.Fail("padding must have a row per dim");
  return padding;
}
WindowPadding PairsOf(const std::vector<int64_t>& padding) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t d = 0; 2 * d < padding.size(); ++d)
    pairs.emplace_back(padding[2 * d], padding[2 * d + 1]);
  return WindowPadding(std::move(pairs));
}

// The dims of one tensor of a convolution, as letters; spatial dims are 0, 1, 2 ...
struct ConvolutionDims {
  int64_t first = 0, second = 0;  // batch and feature, or output and input feature
  std::vector<int64_t> spatial;
};
ConvolutionDims DimsOf(const OpCall& c, const Attribute& words, char first, char second) {
  ConvolutionDims dims;
  dims.spatial.resize(words.items().size() < 2 ? 0 : words.items().size() - 2);
  for (size_t d = 0; d < words.items().size(); ++d) {
    const std::string_view word = words.items()[d].text;
    const auto at = static_cast<int64_t>(d);
    if (word.size() == 1 && word[0] == first)
      dims.first = at;
    else if (word.size() == 1 && word[0] == second)
      dims.second = at;
    else if (size_t k = 0;
             !word.empty() && (k = static_cast<size_t>(word[0] - '0')) < dims.spatial.size())
      dims.spatial[k] = at;
    else
      c.Fail(fmt::format("dim_numbers: '{}' is no dim", word));
  }
  return dims;
}
// Returns the dims as ConvDims write them: a letter for each.
std::string LettersOf(const ConvolutionDims& dims, char first, char second) {
  std::string letters(dims.spatial.size() + 2, first);
  letters[base::Size(dims.second)] = second;
  for (size_t k = 0; k < dims.spatial.size(); ++k)
    letters[base::Size(dims.spatial[k])] = static_cast<char>('P' + k);
  return letters;
}

Arrays Convolution(OpCall& c) {
  const Attribute* numbers = c.op().Find("dimension_numbers");
  if (!numbers || numbers->items().size() != 3) c.Fail("it has no dim_numbers");
  const ConvolutionDims lhs = DimsOf(c, numbers->items()[0], 'b', 'f');
  const ConvolutionDims rhs = DimsOf(c, numbers->items()[1], 'o', 'i');
  const ConvolutionDims out = DimsOf(c, numbers->items()[2], 'b', 'f');
  const size_t spatial = lhs.spatial.size();
  Array kernel = c.In(1);
  std::vector<int64_t> reversed;
  const std::vector<int64_t> reverse = c.Integers("window_reversal", spatial, 0);
  for (size_t k = 0; k < spatial; ++k)
    if (reverse[k] != 0) reversed.push_back(rhs.spatial[k]);
  std::sort(reversed.begin(), reversed.end());
  if (!reversed.empty())
    kernel = api::Run(ops::kRev, ir::MakeParams(ops::DimsParams{{reversed}}), {kernel}, c.call());
  ConvOptions options;
  options.lhs_dilation = c.Integers("lhs_dilation", spatial, 1);
  options.rhs_dilation = c.Integers("rhs_dilation", spatial, 1);
  options.feature_group_count = c.Integer("feature_group_count", 1);
  options.batch_group_count = c.Integer("batch_group_count", 1);
  options.dtype = c.ResultDType();
  options.dims = {LettersOf(lhs, 'N', 'C'), LettersOf(rhs, 'O', 'I'), LettersOf(out, 'N', 'C')};
  return {conv_general_dilated(c.In(0), kernel, c.Integers("window_strides", spatial, 1),
                               PairsOf(PaddingOf(c, spatial)), options, c.loc())};
}

// The first half of the operands are arrays, the second half their initial values.
struct Halves {
  Arrays arrays, inits;
};
Halves HalvesOf(const OpCall& c) {
  const size_t n = c.in.size() / 2;
  if (c.in.size() != 2 * n || n == 0) c.Fail("it needs an initial value for each array");
  return {Arrays(c.in.begin(), c.in.begin() + static_cast<int64_t>(n)),
          Arrays(c.in.begin() + static_cast<int64_t>(n), c.in.end())};
}

Arrays Reduce(OpCall& c) {
  auto [arrays, inits] = HalvesOf(c);
  return reduce(c.RegionOfTwo(0, false), arrays, inits, c.Integers("dimensions"), c.loc());
}

Arrays ReduceWindow(OpCall& c) {
  auto [arrays, inits] = HalvesOf(c);
  const std::vector<int64_t> window = c.Integers("window_dimensions");
  const size_t dims = window.size();
  const WindowOptions options{.strides = c.Integers("window_strides", dims, 1),
                              .padding = PairsOf(PaddingOf(c, dims)),
                              .base_dilation = c.Integers("base_dilations", dims, 1),
                              .window_dilation = c.Integers("window_dilations", dims, 1)};
  return reduce_window(c.RegionOfTwo(0, false), arrays, inits, window, options, c.loc());
}

// The comparator's arguments are a left and a right one of each array in turn.
Arrays Sort(OpCall& c) {
  return sort(
      c.in,
      [f = c.RegionOfTwo(0, true)](const Arrays& a, const Arrays& b) { return f(a, b).at(0); },
      static_cast<int>(c.Integer("dimension", -1)), {}, c.loc());
}

}  // namespace

std::vector<OpReader> ContractionReaders() {
  return {
      {"stablehlo.convolution", Convolution},    {"stablehlo.dot", Dot},
      {"stablehlo.dot_general", DotGeneral},     {"stablehlo.reduce", Reduce},
      {"stablehlo.reduce_window", ReduceWindow}, {"stablehlo.sort", Sort},
  };
}

}  // namespace tessera::stablehlo
