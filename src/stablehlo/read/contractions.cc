// Products, convolutions, reductions, windows and sorts.
#include <fmt/format.h>

#include <algorithm>

#include "base/at.h"
#include "base/shape.h"
#include "ops/laid_out.h"
#include "stablehlo/read/expressions.h"
#include "stablehlo/read/importer.h"
#include "tessera/batching.h"
#include "tessera/combiners.h"
#include "tessera/convolution.h"
#include "tessera/windows.h"

namespace tessera::stablehlo {
namespace {

Arrays DotGeneral(ReadCall& c) {
  const char* const kDims = "dot_dimension_numbers";
  ops::DotParams params;
  params.contract.lhs = c.FieldIntegers(kDims, "lhs_contracting_dimensions");
  params.contract.rhs = c.FieldIntegers(kDims, "rhs_contracting_dimensions");
  params.batch.lhs = c.FieldIntegers(kDims, "lhs_batching_dimensions");
  params.batch.rhs = c.FieldIntegers(kDims, "rhs_batching_dimensions");
  return {c.Run(ops::kDotGeneral, ir::MakeParams(params), c.in)};
}

// The older form without dimension numbers: vectors and matrices.
Arrays Dot(ReadCall& c) {
  ops::DotParams params;
  params.contract.lhs = {api::Rank(c.In(0)) - 1};
  params.contract.rhs = {0};
  return {c.Run(ops::kDotGeneral, ir::MakeParams(params), c.in)};
}

// Returns pairs of low and high, one per dim.
std::vector<int64_t> PaddingOf(const ReadCall& c, size_t dims) {
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
ConvolutionDims DimsOf(const ReadCall& c, const Attribute& words, char first, char second) {
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

// The padding of a dynamic convolution is an operand, which must be a constant.
std::vector<int64_t> ConvolutionPadding(const ReadCall& c, size_t spatial) {
  if (c.in.size() < 3) return PaddingOf(c, spatial);
  const Operation* made = c.DefinitionOf(2);
  const Attribute* value = made ? made->Find("value") : nullptr;
  if (!value) c.Fail("padding that is not a constant is not supported");
  std::vector<int64_t> padding = IntegersOf(c.importer().module(), *value);
  if (padding.size() == 1) padding.resize(2 * spatial, padding[0]);
  if (padding.size() != 2 * spatial) c.Fail("padding must have a row per dim");
  return padding;
}

Arrays Convolution(ReadCall& c) {
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
                               PairsOf(ConvolutionPadding(c, spatial)), options, c.loc())};
}

// The first half of the operands are arrays, the second half their initial values.
struct Halves {
  Arrays arrays, inits;
};
Halves HalvesOf(const ReadCall& c) {
  const size_t n = c.in.size() / 2;
  if (c.in.size() != 2 * n || n == 0) c.Fail("it needs an initial value for each array");
  return {Arrays(c.in.begin(), c.in.begin() + static_cast<int64_t>(n)),
          Arrays(c.in.begin() + static_cast<int64_t>(n), c.in.end())};
}

// Whether the initial pair is the last that is chosen: the first element equals it or comes before.
bool IsLastChosen(const ReadCall& c, ChosenPair chosen) {
  const Operation *element = c.DefinitionOf(2), *number = c.DefinitionOf(3);
  if (!element || !number || NumberText(c.importer().module(), *number) != "0") return false;
  const std::string text = NumberText(c.importer().module(), *element);
  const ElementFormat format = FormatOf(element->result_types[0]->element);
  const bool larger = chosen == ChosenPair::kLarger;
  if (format.kind == ElementFormat::Kind::kFloat) return text == (larger ? "-inf" : "inf");
  const bool is_signed = format.kind == ElementFormat::Kind::kSigned;
  if (!is_signed && format.kind != ElementFormat::Kind::kUnsigned) return false;
  const uint64_t most = ~uint64_t{0} >> (64 - format.bits + (is_signed ? 1 : 0));
  if (!larger) return text == std::to_string(most);
  return text == (is_signed ? std::to_string(-static_cast<int64_t>(most) - 1) : "0");
}

// The largest or smallest elements along a dim and their numbers, if the region chooses them: else
// no result.
Arrays ArgReduce(const ReadCall& c, const Halves& halves) {
  const std::vector<int64_t> dims = c.Integers("dimensions");
  if (halves.arrays.size() != 2 || dims.size() != 1 || c.op().regions.size() != 1) return {};
  if (dims[0] < 0 || dims[0] >= api::Rank(halves.arrays[0])) return {};
  const ChosenPair chosen = ChosenPairOf(c.importer().module(), c.op().regions[0]);
  const Operation* numbers = c.DefinitionOf(1);
  if (chosen == ChosenPair::kNeither || !numbers || numbers->name != "stablehlo.iota") return {};
  const Attribute* along = numbers->Find("iota_dimension");
  if (!along || IntegerOf(c.importer().module(), *along) != dims[0]) return {};
  const int64_t size = base::At(api::ShapeOf(halves.arrays[0]), dims[0]);
  if (size == 0 || !IsLastChosen(c, chosen)) return {};
  const bool larger = chosen == ChosenPair::kLarger;
  const ir::ShapeAndDType values = c.Result(0), indices = c.Result(1);
  const auto run = [&](const ir::OpDef& op, ir::ParamsPtr params, const ir::ShapeAndDType& wanted) {
    return api::Run(op, std::move(params), {halves.arrays[0]}, c.call(), {.wanted = &wanted});
  };
  return {
      run(larger ? ops::kReduceMax : ops::kReduceMin, ir::MakeParams(ops::DimsParams{{dims}}),
          values),
      run(larger ? ops::kArgmax : ops::kArgmin, ir::MakeParams(ops::DimParams{{dims}}), indices)};
}

// The reductions of one array, and the function of two elements that each of them repeats.
struct KnownReduction {
  const char* function;
  Reduction reduction;
  const ir::OpDef *op, *running;  // over dims, and cumulative; null: there is none
  plan::ScalarOp scalar;
};
const KnownReduction kReductions[] = {
    {"add(l0,r0)", Reduction::kSum, &ops::kReduceSum, &ops::kCumsum, plan::ScalarOp::kAdd},
    {"multiply(l0,r0)", Reduction::kProd, &ops::kReduceProd, &ops::kCumprod, plan::ScalarOp::kMul},
    {"maximum(l0,r0)", Reduction::kMax, &ops::kReduceMax, &ops::kCummax, plan::ScalarOp::kMax},
    {"minimum(l0,r0)", Reduction::kMin, &ops::kReduceMin, &ops::kCummin, plan::ScalarOp::kMin},
    {"and(l0,r0)", Reduction::kAnd, &ops::kReduceAnd, nullptr, plan::ScalarOp::kAnd},
    {"or(l0,r0)", Reduction::kOr, &ops::kReduceOr, nullptr, plan::ScalarOp::kOr},
    {"xor(l0,r0)", Reduction::kXor, &ops::kReduceXor, nullptr, plan::ScalarOp::kXor},
};
// JAX compares complex numbers by their real parts, then by their imaginary parts. "": no extreme.
std::string ExtremeOfComplex(Reduction r) {
  if (r != Reduction::kMax && r != Reduction::kMin) return "";
  return fmt::format(
      "select(select(eq(real(l0),real(r0)),{0}(imag(l0),imag(r0)),"
      "{0}(real(l0),real(r0))),l0,r0)",
      r == Reduction::kMax ? "gt" : "lt");
}
const KnownReduction* KnownReductionOf(const ReadCall& c) {
  if (c.op().regions.size() != 1) return nullptr;
  const auto made =
      ExpressionsOf(c.importer().module(), c.op().regions[0], ComparedSides::kOneAfterTheOther);
  for (const KnownReduction& known : kReductions)
    if (made.size() == 1 && !made[0].empty() &&
        (made[0] == known.function || made[0] == ExtremeOfComplex(known.reduction)))
      return &known;
  return nullptr;
}

// Whether the initial value, operand 1, changes nothing.
bool BeginsWithIdentity(const ReadCall& c, Reduction reduction) {
  const Operation* made = c.DefinitionOf(1);
  const Attribute* value = made ? made->Find("value") : nullptr;
  if (!value || made->name != "stablehlo.constant" || value->kind != Attribute::Kind::kDense ||
      api::Rank(c.In(1)) != 0)
    return false;
  const DType dtype = api::TypeOf(c.In(1))->dtype();
  const base::ElementBits bits = NumberOf(c, *value, dtype);
  return bits == ir::As<ops::ConstantParams>(ops::IdentityOf(reduction, dtype).get()).value.bits;
}

bool AreDims(const std::vector<int64_t>& dims, int64_t rank) {
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k] < 0 || dims[k] >= rank ||
        std::count(dims.begin(), dims.begin() + static_cast<int64_t>(k), dims[k]))
      return false;
  return true;
}

// The reduction by an op, if there is one; else no result.
Arrays PlainReduce(const ReadCall& c) {
  if (c.in.size() != 2 || api::TypeOf(c.In(0))->dtype() != api::TypeOf(c.In(1))->dtype()) return {};
  const std::vector<int64_t> dims = c.Integers("dimensions");
  const KnownReduction* known = KnownReductionOf(c);
  if (!known || !AreDims(dims, api::Rank(c.In(0))) || !BeginsWithIdentity(c, known->reduction))
    return {};
  const ir::ShapeAndDType wanted = c.Result();
  return {api::Run(*known->op, ir::MakeParams(ops::DimsParams{{dims}}), {c.In(0)}, c.call(),
                   {.wanted = &wanted})};
}

Arrays Reduce(ReadCall& c) {
  const Halves halves = HalvesOf(c);
  Arrays known = ArgReduce(c, halves);
  if (known.empty()) known = PlainReduce(c);
  if (!known.empty()) return known;
  return reduce(c.RegionOfTwo(0, false), halves.arrays, halves.inits, c.Integers("dimensions"),
                c.loc());
}

// Returns the params of the cumulative reduction whose windows have all elements up to each one, or
// all from each one on; none for other windows. JAX writes cumulative reductions in this way.
std::optional<ops::CumulativeParams> CumulativeOf(const base::Shape& shape,
                                                  const std::vector<int64_t>& window,
                                                  const std::vector<int64_t>& padding) {
  std::optional<ops::CumulativeParams> found;
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t low = padding[2 * d], high = padding[2 * d + 1];
    if (window[d] == 1 && low == 0 && high == 0) continue;
    const bool up_to = low == shape[d] - 1 && high == 0, from = low == 0 && high == shape[d] - 1;
    if (found || window[d] != shape[d] || (!up_to && !from)) return std::nullopt;
    found = ops::CumulativeParams{{{static_cast<int64_t>(d)}}, from};
  }
  return found;
}

bool AreOnes(const std::vector<int64_t>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n == 1; });
}

Arrays ReduceWindow(ReadCall& c) {
  auto [arrays, inits] = HalvesOf(c);
  const std::vector<int64_t> window = c.Integers("window_dimensions");
  const size_t dims = window.size();
  const std::vector<int64_t> padding = PaddingOf(c, dims);
  const WindowOptions options{.strides = c.Integers("window_strides", dims, 1),
                              .padding = PairsOf(padding),
                              .base_dilation = c.Integers("base_dilations", dims, 1),
                              .window_dilation = c.Integers("window_dilations", dims, 1)};
  const ir::Type* type = api::TypeOf(arrays[0]);
  const bool is_plain = AreOnes(options.strides) && AreOnes(options.base_dilation) &&
                        AreOnes(options.window_dilation);
  const bool may_be = arrays.size() == 1 && is_plain && type->shape().size() == dims &&
                      type->shape() == c.ResultShape() && !type->dtype().is_bool();
  const KnownReduction* known = may_be ? KnownReductionOf(c) : nullptr;
  const auto params =
      known && known->running ? CumulativeOf(type->shape(), window, padding) : std::nullopt;
  if (params) {
    const Array made = api::Run(*known->running, ir::MakeParams(*params), arrays, c.call());
    if (BeginsWithIdentity(c, known->reduction)) return {made};
    const Array init = api::BroadcastTo(inits[0], type->shape(), c.call());
    return {api::Run(ops::Elementwise(known->scalar), nullptr, {init, made}, c.call())};
  }
  return reduce_window(c.RegionOfTwo(0, false), arrays, inits, window, options, c.loc());
}

// A source element goes to the place of the first largest or smallest element of its window: null
// for other functions.
const ir::OpDef* KnownPut(const ReadCall& c) {
  if (c.op().regions.size() != 2) return nullptr;
  const auto text_of = [&](size_t k) {
    const auto made =
        ExpressionsOf(c.importer().module(), c.op().regions[k], ComparedSides::kInTurn);
    return made.size() == 1 ? made[0] : std::string();
  };
  if (text_of(1) != "add(l0,r0)") return nullptr;
  const std::string select = text_of(0);
  return select == "ge(l0,r0)"   ? &ops::kWindowPutMax
         : select == "le(l0,r0)" ? &ops::kWindowPutMin
                                 : nullptr;
}

struct Windows {
  std::vector<int64_t> sizes, strides, padding;
};

Array PutByNumbers(const ReadCall& c, const Windows& w, const Array& init) {
  const Loc loc = c.loc();
  const Array &x = c.In(0), &source = c.In(1);
  const base::Shape& shape = api::ShapeOf(x);
  const int64_t size = base::Elements(shape);
  // Windows of pairs of an element and its number. Padding has the number -1 and is not selected.
  const Array numbers = reshape(arange(size, {.dtype = i32}, loc), Shape(shape), {}, loc);
  const ReadCall::OnTwo select = c.RegionOfTwo(0, false), combine = c.RegionOfTwo(1, false);
  const auto chosen = reduce_window(
      [&](const Arrays& a, const Arrays& b) {
        const Operand zero(0, loc);
        const Array stays = c.Only(select({a[0]}, {b[0]}));
        const Array left = logical_and(
            ge(a[1], zero, {}, loc), logical_or(lt(b[1], zero, {}, loc), stays, {}, loc), {}, loc);
        return Arrays{where(left, a[0], b[0], {}, loc), where(left, a[1], b[1], {}, loc)};
      },
      Arrays{x, numbers}, Arrays{init, api::StrongScalar(-1, i32, c.call())}, w.sizes,
      {.strides = w.strides, .padding = PairsOf(w.padding)}, loc);
  const Array flat = full({size}, init, {}, loc);
  const Array at = reshape(chosen[1], {base::Elements(api::ShapeOf(source)), 1}, {}, loc);
  const Array safe = where(lt(at, Operand(0, loc), {}, loc), size, at, {}, loc);
  const Array made = scatter(
      flat, safe, ravel(source, {}, loc),
      [&](const Array& a, const Array& b) { return c.Only(combine({a}, {b})); },
      {.window = {}, .inserted = {0}, .start = {0}}, {}, loc);
  return reshape(made, Shape(shape), {}, loc);
}

Arrays SelectAndScatter(ReadCall& c) {
  const Array &x = c.In(0), &source = c.In(1), &init = c.In(2);
  const size_t dims = base::Size(api::Rank(x));
  const Windows w{c.Integers("window_dimensions", dims, 1), c.Integers("window_strides", dims, 1),
                  PaddingOf(c, dims)};
  const ir::OpDef* put = KnownPut(c);
  if (!put) return {PutByNumbers(c, w, init)};
  ops::WindowParams params;
  params.sizes = w.sizes;
  params.strides = w.strides;
  for (size_t d = 0; d < dims; ++d) {
    params.low.push_back(w.padding[2 * d]);
    params.high.push_back(w.padding[2 * d + 1]);
  }
  params.base_dilation = params.window_dilation = std::vector<int64_t>(dims, 1);
  const Array sums = c.Run(*put, ir::MakeParams(params), {x, source});
  return {add(sums, init, {}, c.loc())};
}

// The comparator's arguments are a left and a right one of each array in turn.
Arrays Sort(ReadCall& c) {
  const int64_t rank = api::Rank(c.In(0)), dim = c.Integer("dimension", -1);
  const int64_t own = dim < 0 ? dim + rank : dim;
  std::vector<const TextType*> types(c.op().result_types.begin(), c.op().result_types.end());
  if (!c.op().regions.empty() && own >= 0 && own < rank)
    if (const auto keys = KeysOf(c.importer().module(), c.op().regions[0], types)) {
      const ops::SortParams params{{own}, keys->count, keys->descending};
      return api::RunAll(ops::kSort, ir::MakeParams(params), c.in, c.call());
    }
  return sort(
      c.in,
      [&c, f = c.RegionOfTwo(0, true)](const Arrays& a, const Arrays& b) {
        return c.Only(f(a, b));
      },
      static_cast<int>(dim), {}, c.loc());
}

Arrays Einsum(ReadCall& c) {
  return {einsum(c.Word("einsum_config"), c.in, {.dtype = c.ResultDType()}, c.loc())};
}

// A function of scalars on each element.
Arrays Map(ReadCall& c) {
  const base::Shape shape = c.ResultShape();
  Arrays flat;
  for (const Array& x : c.in) flat.push_back(ravel(x, {}, c.loc()));
  const Arrays made = vmap([&](const Arrays& scalars) { return c.RunRegion(0, scalars); })(flat);
  Arrays results;
  for (const Array& y : made) results.push_back(reshape(y, Shape(shape), {}, c.loc()));
  return results;
}

// ---- batch norm ---------------------------------------------------------------------------------

// The statistics of batch norm, over all dims except the features.
class BatchNorm {
 public:
  explicit BatchNorm(const ReadCall& c)
      : c_(c), feature_(c.Integer("feature_index")), epsilon_(c.Float("epsilon")) {
    const int64_t rank = api::Rank(c.In(0));
    if (feature_ < 0 || feature_ >= rank) c.Fail("there is no dim feature_index");
    for (int64_t d = 0; d < rank; ++d)
      if (d != feature_) others_.push_back(d);
    count_ = 1;
    for (int64_t d : others_) count_ *= base::At(api::ShapeOf(c.In(0)), d);
  }

  double count() const { return static_cast<double>(count_); }
  Array Sum(const Array& x) const { return reduce_sum(x, others_, {}, c_.loc()); }
  Array Mean(const Array& x) const { return Mul(Sum(x), 1 / count()); }
  // Returns a vector of features as large as the operand.
  Array Spread(const Array& v) const {
    const ir::ShapeAndDType wanted{api::ShapeOf(c_.In(0)), api::TypeOf(v)->dtype()};
    return api::Run(ops::kBroadcastInDim, ir::MakeParams(ops::BroadcastParams{{{feature_}}}), {v},
                    c_.call(), {.wanted = &wanted});
  }
  Array Deviation(const Array& variance) const {
    return sqrt(add(variance, Operand(epsilon_, c_.loc()), {}, c_.loc()), c_.loc());
  }
  Array Centred(const Array& x, const Array& mean) const {
    return sub(x, Spread(mean), {}, c_.loc());
  }
  Array Normalised(const Array& x, const Array& mean, const Array& variance) const {
    return div(Centred(x, mean), Spread(Deviation(variance)), {}, c_.loc());
  }
  Array Mul(const Array& a, Operand b) const { return mul(a, b, {}, c_.loc()); }
  Array Inference(const Array& x, const Array& scale, const Array& offset, const Array& mean,
                  const Array& variance) const {
    return add(Mul(Normalised(x, mean, variance), Spread(scale)), Spread(offset), {}, c_.loc());
  }

 private:
  const ReadCall& c_;
  int64_t feature_;
  double epsilon_;
  std::vector<int64_t> others_;
  int64_t count_ = 1;
};

Arrays BatchNormInference(ReadCall& c) {
  return {BatchNorm(c).Inference(c.In(0), c.In(1), c.In(2), c.In(3), c.In(4))};
}
Arrays BatchNormTraining(ReadCall& c) {
  const BatchNorm norm(c);
  const Array mean = norm.Mean(c.In(0)), rest = norm.Centred(c.In(0), mean);
  const Array variance = norm.Mean(norm.Mul(rest, rest));
  return {norm.Inference(c.In(0), c.In(1), c.In(2), mean, variance), mean, variance};
}
Arrays BatchNormGrad(ReadCall& c) {
  const BatchNorm norm(c);
  const Array &scale = c.In(1), &variance = c.In(3), &grad = c.In(4);
  const Array normal = norm.Normalised(c.In(0), c.In(2), variance);
  const Array grad_scale = norm.Sum(norm.Mul(grad, normal)), grad_offset = norm.Sum(grad);
  const Array parts =
      add(norm.Spread(grad_offset), norm.Mul(normal, norm.Spread(grad_scale)), {}, c.loc());
  const Array factor = div(scale, norm.Deviation(variance), {}, c.loc());
  const Array rest = sub(grad, norm.Mul(parts, 1 / norm.count()), {}, c.loc());
  return {norm.Mul(rest, norm.Spread(factor)), grad_scale, grad_offset};
}

}  // namespace

std::vector<OpReader> ContractionReaders() {
  return {
      {"stablehlo.batch_norm_grad", BatchNormGrad},
      {"stablehlo.batch_norm_inference", BatchNormInference},
      {"stablehlo.batch_norm_training", BatchNormTraining},
      {"stablehlo.convolution", Convolution},
      {"stablehlo.dot", Dot},
      {"stablehlo.dot_general", DotGeneral},
      {"stablehlo.dynamic_conv", Convolution},
      {"stablehlo.einsum", Einsum},
      {"stablehlo.map", Map},
      {"stablehlo.select_and_scatter", SelectAndScatter},
      {"stablehlo.unary_einsum", Einsum},
      {"stablehlo.reduce", Reduce},
      {"stablehlo.reduce_window", ReduceWindow},
      {"stablehlo.sort", Sort},
  };
}

}  // namespace tessera::stablehlo
