// Operations of chlo: special functions, functions of arrays that broadcast, and the largest
// elements.
#include <absl/container/flat_hash_map.h>

#include <limits>

#include "base/at.h"
#include "stablehlo/read/importer.h"
#include "tessera/control.h"
#include "tessera/ragged.h"

namespace tessera::stablehlo {
namespace {

using enum plan::ScalarOp;
using plan::ScalarOp;

template <ScalarOp kOp>
Arrays Special(ReadCall& c) {
  c.CheckOneShape();
  return {c.Run(ops::Elementwise(kOp), nullptr, c.in)};
}

Arrays Square(ReadCall& c) { return {c.Run(ops::Elementwise(kMul), nullptr, {c.In(0), c.In(0)})}; }

Arrays Conj(ReadCall& c) {
  return api::TypeOf(c.In(0))->dtype().is_complex() ? Special<kConj>(c) : Arrays{c.In(0)};
}

// Whether elements are infinite, of the sign if it is not 0.
template <int kSign>
Arrays IsInfinite(ReadCall& c) {
  const Array x = kSign == 0 ? abs(c.In(0), c.loc()) : c.In(0);
  const double infinity = std::numeric_limits<double>::infinity();
  const Array bound = api::FilledWith(kSign < 0 ? -infinity : infinity, api::TypeOf(x), c.call());
  return {c.Run(ops::Elementwise(kEq), nullptr, {x, bound})};
}

Arrays Polygamma(ReadCall& c) { return {polygamma(c.In(0), c.In(1), c.loc())}; }

// Inverse functions are angles between z and this number: cos(re s) cosh(im s) + i |im s|, where s
// is asin(z). For a real z it is sqrt(1 - z^2).
Arrays AsinAcosKernel(ReadCall& c) {
  const Loc loc = c.loc();
  const Array& z = c.In(0);
  if (!api::TypeOf(z)->dtype().is_complex()) {
    const Array one = ones_like(z, {}, loc);
    return {sqrt(mul(sub(one, z, {}, loc), add(one, z, {}, loc), {}, loc), loc)};
  }
  const Array s = asin(z, loc), im = abs(imag(s, loc), loc);
  return {complex(mul(cos(real(s, loc), loc), cosh(im, loc), {}, loc), im, {}, loc)};
}

Arrays LargestElements(ReadCall& c) {
  const Array& x = c.In(0);
  if (api::Rank(x) == 0 || c.ResultShape().empty()) c.Fail("a scalar has no largest elements");
  const int64_t k = c.ResultShape().back();
  return api::RunAll(ops::kTopK, ir::MakeParams(ops::TopKParams{k}), {x}, c.call());
}

Arrays RaggedDot(ReadCall& c) {
  const char* const kDims = "ragged_dot_dimension_numbers";
  RaggedDotDims dims;
  dims.dot = {c.FieldIntegers(kDims, "lhs_contracting_dimensions"),
              c.FieldIntegers(kDims, "rhs_contracting_dimensions"),
              c.FieldIntegers(kDims, "lhs_batching_dimensions"),
              c.FieldIntegers(kDims, "rhs_batching_dimensions")};
  const std::vector<int64_t> ragged = c.FieldIntegers(kDims, "lhs_ragged_dimensions"),
                             groups = c.FieldIntegers(kDims, "rhs_group_dimensions");
  if (ragged.size() != 1 || groups.size() > 1) c.Fail("it needs one ragged dim and one group dim");
  dims.lhs_ragged = ragged[0];
  if (!groups.empty()) dims.rhs_group = groups[0];
  return {ragged_dot_general(c.In(0), c.In(1), c.In(2), dims, {.dtype = c.ResultDType()}, c.loc())};
}

// ---- functions that broadcast -------------------------------------------------------------------

// Returns x as large as the result. `broadcast_dimensions` are the result's dims of the operand of
// the lower rank; without them the last dims correspond.
Array AsLargeAsResult(const ReadCall& c, const Array& x) {
  const base::Shape shape = c.ResultShape();
  if (api::ShapeOf(x) == shape) return x;
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> dims;
  if (c.Has("broadcast_dimensions") && api::Rank(x) < rank)
    dims = c.Integers("broadcast_dimensions");
  if (dims.size() != base::Size(api::Rank(x))) {
    dims.clear();
    for (int64_t d = rank - api::Rank(x); d < rank; ++d) dims.push_back(d);
  }
  const ir::ShapeAndDType wanted{shape, api::TypeOf(x)->dtype()};
  return api::Run(ops::kBroadcastInDim, ir::MakeParams(ops::BroadcastParams{{dims}}), {x}, c.call(),
                  {.wanted = &wanted});
}

// Returns the reader of the operation that has the same name without `chlo.broadcast_`, and
// operands of one shape.
ReadOp PlainReader(std::string_view name);

Arrays Broadcasted(ReadCall& c) {
  for (Array& x : c.in) x = AsLargeAsResult(c, x);
  return PlainReader(c.op().name)(c);
}

// ---- constants ----------------------------------------------------------------------------------

Arrays ConstantLike(ReadCall& c) {
  const Attribute* value = c.op().Find("value");
  if (!value) c.Fail("it has no value");
  const Module& module = c.importer().module();
  const bool is_float =
      value->type && FormatOf(value->type->text).kind == ElementFormat::Kind::kFloat;
  const double number =
      is_float ? FloatOf(module, *value) : static_cast<double>(IntegerOf(module, *value));
  return {api::FilledWith(number, api::TypeOf(c.In(0)), c.call())};
}

// ---- scan ---------------------------------------------------------------------------------------

// Returns x with `dim` in front, or the other way around.
Array Fronted(const Array& x, int64_t dim, bool to_front, Loc loc) {
  if (dim == 0) return x;
  const auto at = static_cast<int>(dim);
  return to_front ? moveaxis(x, at, 0, loc) : moveaxis(x, 0, at, loc);
}

// Slices along a dim and a carry give slices and the next carry.
Arrays Scan(ReadCall& c) {
  const int64_t dim = c.Integer("dimension");
  const std::vector<int64_t> operands = c.Integers("operandSegmentSizes");
  if (operands.size() != 2 || operands[0] + operands[1] != static_cast<int64_t>(c.in.size()))
    c.Fail("its operands are not inputs and initial values");
  const auto inputs = static_cast<ptrdiff_t>(operands[0]);
  Arrays xs(c.in.begin(), c.in.begin() + inputs), carry(c.in.begin() + inputs, c.in.end());
  for (Array& x : xs) x = Fronted(x, dim, true, c.loc());
  const size_t carries = carry.size();
  auto [last, ys] = scan(
      [&](const Arrays& state, const Arrays& slices) {
        Arrays arguments = slices;
        arguments.insert(arguments.end(), state.begin(), state.end());
        const Arrays made = c.RunRegion(0, arguments);
        if (made.size() < carries) c.Fail("its region has too few results");
        const auto outputs = static_cast<ptrdiff_t>(made.size() - carries);
        return std::pair(Arrays(made.begin() + outputs, made.end()),
                         Arrays(made.begin(), made.begin() + outputs));
      },
      carry, xs, {.reverse = c.Flag("is_reverse")}, c.loc());
  Arrays results;
  for (const Array& y : ys) results.push_back(Fronted(y, dim, false, c.loc()));
  results.insert(results.end(), last.begin(), last.end());
  return results;
}

// Their attributes, if they have any, follow from the result's type.
constexpr OpReader kPlain[] = {
    {"chlo._asin_acos_kernel", AsinAcosKernel},
    {"chlo.acos", Special<kAcos>},
    {"chlo.acosh", Special<kAcosh>},
    {"chlo.asin", Special<kAsin>},
    {"chlo.asinh", Special<kAsinh>},
    {"chlo.atan", Special<kAtan>},
    {"chlo.atanh", Special<kAtanh>},
    {"chlo.bessel_i1e", Special<kBesselI1e>},
    {"chlo.conj", Conj},
    {"chlo.cosh", Special<kCosh>},
    {"chlo.digamma", Special<kDigamma>},
    {"chlo.erf", Special<kErf>},
    {"chlo.erf_inv", Special<kErfInv>},
    {"chlo.erfc", Special<kErfc>},
    {"chlo.is_inf", IsInfinite<0>},
    {"chlo.is_neg_inf", IsInfinite<-1>},
    {"chlo.is_pos_inf", IsInfinite<1>},
    {"chlo.lgamma", Special<kLgamma>},
    {"chlo.mulhi", Special<kMulHigh>},
    {"chlo.next_after", Special<kNextafter>},
    {"chlo.polygamma", Polygamma},
    {"chlo.sinh", Special<kSinh>},
    {"chlo.square", Square},
    {"chlo.tan", Special<kTan>},
    {"chlo.top_k", LargestElements},
    {"chlo.zeta", Special<kZeta>},
};
constexpr OpReader kOthers[] = {
    {"chlo.constant_like", ConstantLike},
    {"chlo.ragged_dot", RaggedDot},
    {"chlo.scan", Scan},
};
constexpr const char* kBroadcasting[] = {
    "chlo.broadcast_add",
    "chlo.broadcast_and",
    "chlo.broadcast_atan2",
    "chlo.broadcast_compare",
    "chlo.broadcast_complex",
    "chlo.broadcast_divide",
    "chlo.broadcast_maximum",
    "chlo.broadcast_minimum",
    "chlo.broadcast_multiply",
    "chlo.broadcast_next_after",
    "chlo.broadcast_or",
    "chlo.broadcast_polygamma",
    "chlo.broadcast_power",
    "chlo.broadcast_remainder",
    "chlo.broadcast_select",
    "chlo.broadcast_shift_left",
    "chlo.broadcast_shift_right_arithmetic",
    "chlo.broadcast_shift_right_logical",
    "chlo.broadcast_subtract",
    "chlo.broadcast_xor",
    "chlo.broadcast_zeta",
};

ReadOp PlainReader(std::string_view name) {
  static const auto* const readers = [] {
    auto* all = new absl::flat_hash_map<std::string_view, ReadOp>;
    for (const OpReader& r : ElementwiseReaders()) all->emplace(r.name, r.read);
    for (const OpReader& r : kPlain) all->emplace(r.name, r.read);
    return all;
  }();
  const std::string plain(name.substr(std::string_view("chlo.broadcast_").size()));
  const auto found = readers->find("stablehlo." + plain);
  return found != readers->end() ? found->second : readers->at("chlo." + plain);
}

}  // namespace

ReadOp ReaderOfChlo(std::string_view name) {
  for (const OpReader& r : kPlain)
    if (name == r.name) return r.read;
  return nullptr;
}

std::vector<OpReader> SpecialReaders() {
  std::vector<OpReader> readers(std::begin(kPlain), std::end(kPlain));
  readers.insert(readers.end(), std::begin(kOthers), std::end(kOthers));
  for (const char* name : kBroadcasting) readers.push_back({name, Broadcasted});
  return readers;
}

}  // namespace tessera::stablehlo
