// Operations element by element, constants and iota.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/dtype.h"
#include "ops/params.h"
#include "stablehlo/write/exporter.h"
#include "stablehlo/write/numbers.h"

namespace tessera::stablehlo {
namespace {

// The names of ops that StableHLO has as well.
struct SameOp {
  std::string_view op, stablehlo;
};
constexpr SameOp kSameOps[] = {
    {"neg", "stablehlo.negate"},
    {"abs", "stablehlo.abs"},
    {"exp", "stablehlo.exponential"},
    {"expm1", "stablehlo.exponential_minus_one"},
    {"log", "stablehlo.log"},
    {"log1p", "stablehlo.log_plus_one"},
    {"sqrt", "stablehlo.sqrt"},
    {"rsqrt", "stablehlo.rsqrt"},
    {"cbrt", "stablehlo.cbrt"},
    {"sin", "stablehlo.sine"},
    {"cos", "stablehlo.cosine"},
    {"tan", "stablehlo.tan"},
    {"asin", "chlo.asin"},
    {"acos", "chlo.acos"},
    {"atan", "chlo.atan"},
    {"sinh", "chlo.sinh"},
    {"cosh", "chlo.cosh"},
    {"tanh", "stablehlo.tanh"},
    {"asinh", "chlo.asinh"},
    {"acosh", "chlo.acosh"},
    {"atanh", "chlo.atanh"},
    {"erf", "chlo.erf"},
    {"erfc", "chlo.erfc"},
    {"erf_inv", "chlo.erf_inv"},
    {"lgamma", "chlo.lgamma"},
    {"digamma", "chlo.digamma"},
    {"logistic", "stablehlo.logistic"},
    {"bessel_i1e", "chlo.bessel_i1e"},
    {"real", "stablehlo.real"},
    {"imag", "stablehlo.imag"},
    {"bitwise_not", "stablehlo.not"},
    {"population_count", "stablehlo.popcnt"},
    {"clz", "stablehlo.count_leading_zeros"},
    {"add", "stablehlo.add"},
    {"sub", "stablehlo.subtract"},
    {"mul", "stablehlo.multiply"},
    {"div", "stablehlo.divide"},
    {"rem", "stablehlo.remainder"},
    {"pow", "stablehlo.power"},
    {"atan2", "stablehlo.atan2"},
    {"nextafter", "chlo.next_after"},
    {"complex", "stablehlo.complex"},
    {"zeta", "chlo.zeta"},
    {"bitwise_and", "stablehlo.and"},
    {"bitwise_or", "stablehlo.or"},
    {"bitwise_xor", "stablehlo.xor"},
    {"mulhi", "chlo.mulhi"},
    {"shift_left", "stablehlo.shift_left"},
    {"shift_right_arithmetic", "stablehlo.shift_right_arithmetic"},
    {"shift_right_logical", "stablehlo.shift_right_logical"},
    {"clamp", "stablehlo.clamp"},
};

std::string_view StableName(std::string_view op) {
  return absl::c_find_if(kSameOps, [&](const SameOp& same) { return same.op == op; })->stablehlo;
}

// Returns the operands in the shape of the result. Numbers that are stored in few bits are computed
// with in more.
OutValues Operands(const WriteCall& c) {
  OutValues in;
  for (const OutValue& x : c.in)
    in.push_back(c.w.SpreadTo(c.w.Convert(x, base::ComputedIn(x.type.dtype)), c.out().shape));
  return in;
}
OutType Computed(const WriteCall& c) { return {c.out().shape, base::ComputedIn(c.out().dtype)}; }
OutValues Rounded(const WriteCall& c, const OutValue& x);

OutValues Same(const WriteCall& c) {
  return Rounded(c, c.w.One(StableName(c.name()), Operands(c), Computed(c)));
}

OutValues Extreme(const WriteCall& c) {
  const OutValues in = Operands(c);
  const auto reduction = c.name() == "maximum" ? Reduction::kMax : Reduction::kMin;
  return Rounded(c, c.w.Combine(ReductionOp(reduction), in[0], in[1]));
}

// Counts of bits, and shifts to the right. Integers of few bits are computed with in more, where
// the bits above their own must be zeros, or copies of their highest one.
OutValues ByBits(const WriteCall& c) {
  const int own = c.in[0].type.dtype.bits();
  OutValues in = Operands(c);
  OutValue& x = in[0];
  const int above = x.type.dtype.bits() - own;
  if (above == 0) return Same(c);
  if (c.name() == "shift_right_arithmetic") {
    const OutValue amount = c.w.Whole(x.type, above);
    x = c.w.Binary("stablehlo.shift_right_arithmetic",
                   c.w.Binary("stablehlo.shift_left", x, amount), amount);
  } else {
    x = c.w.Binary("stablehlo.and", x, c.w.Whole(x.type, (1 << own) - 1));
  }
  const OutValue made = c.w.One(StableName(c.name()), in, Computed(c));
  return Rounded(c, c.name() == "clz"
                        ? c.w.Binary("stablehlo.subtract", made, c.w.Whole(made.type, above))
                        : made);
}

OutValues Abs(const WriteCall& c) {
  const DType t = c.in[0].type.dtype;
  return t.is_unsigned() || t.is_bool() ? c.in : Same(c);
}
OutValues Round(const WriteCall& c) {
  const DType t = c.in[0].type.dtype;
  if (!t.is_inexact()) return c.in;
  const std::string_view op = c.name() == "floor"   ? "stablehlo.floor"
                              : c.name() == "ceil"  ? "stablehlo.ceil"
                              : c.name() == "round" ? "stablehlo.round_nearest_even"
                                                    : "stablehlo.round_nearest_afz";
  return Rounded(c, c.w.Unary(op, Operands(c)[0]));
}

OutValues Relu(const WriteCall& c) {
  const OutValue x = Operands(c)[0];
  return Rounded(c, c.w.Binary("stablehlo.maximum", x, c.w.Whole(x.type, 0)));
}

OutValues Sign(const WriteCall& c) {
  const OutValue x = Operands(c)[0];
  const DType t = x.type.dtype;
  if (!t.is_unsigned()) return Rounded(c, c.w.Unary("stablehlo.sign", x));
  return Rounded(c, c.w.Convert(c.w.Compare("NE", x, c.w.Whole(x.type, 0)), t));
}

OutValues Exp2(const WriteCall& c) {
  const OutValue x = Operands(c)[0];
  return Rounded(c, c.w.Binary("stablehlo.power", c.w.Number(x.type, 2), x));
}

OutValue Part(TextWriter& w, std::string_view op, const OutValue& z) {
  return w.One(op, {z}, {z.type.shape, base::PartOf(z.type.dtype)});
}

OutValues Conj(const WriteCall& c) {
  const OutValue& z = c.in[0];
  const OutValue imag = c.w.Unary("stablehlo.negate", Part(c.w, "stablehlo.imag", z));
  return {c.w.One("stablehlo.complex", {Part(c.w, "stablehlo.real", z), imag}, z.type)};
}

OutValues IsFinite(const WriteCall& c) {
  const auto finite = [&](const OutValue& x) {
    return c.w.One("stablehlo.is_finite", {x}, {x.type.shape, bool_});
  };
  const OutValue x = Operands(c)[0];
  if (!x.type.dtype.is_complex()) return {finite(x)};
  return {c.w.Binary("stablehlo.and", finite(Part(c.w, "stablehlo.real", x)),
                     finite(Part(c.w, "stablehlo.imag", x)))};
}

// Sums a Chebyshev series (Clenshaw) at y; the first coefficient belongs to the highest degree.
OutValue Chebyshev(TextWriter& w, const OutValue& y, std::span<const double> coefficients) {
  OutValue b0 = w.Number(y.type, 0), b1 = b0, b2 = b0;
  for (const double c : coefficients) {
    b2 = b1;
    b1 = b0;
    b0 = w.Binary("stablehlo.add",
                  w.Binary("stablehlo.subtract", w.Binary("stablehlo.multiply", y, b1), b2),
                  w.Number(y.type, c));
  }
  return w.Binary("stablehlo.multiply", w.Number(y.type, 0.5),
                  w.Binary("stablehlo.subtract", b0, b2));
}

// e^-|x| I_0(x), by the series of the Cephes library: i0.c.
OutValues BesselI0e(const WriteCall& c) {
  constexpr double kNear[] = {
      -4.41534164647933937950E-18, 3.33079451882223809783E-17,  -2.43127984654795469359E-16,
      1.71539128555513303061E-15,  -1.16853328779934516808E-14, 7.67618549860493561688E-14,
      -4.85644678311192946090E-13, 2.95505266312963983461E-12,  -1.72682629144155570723E-11,
      9.67580903537323691224E-11,  -5.18979560163526290666E-10, 2.65982372468238665035E-9,
      -1.30002500998624804212E-8,  6.04699502254191894932E-8,   -2.67079385394061173391E-7,
      1.11738753912010371815E-6,   -4.41673835845875056359E-6,  1.64484480707288970893E-5,
      -5.75419501008210370398E-5,  1.88502885095841655729E-4,   -5.76375574538582365885E-4,
      1.63947561694133579842E-3,   -4.32430999505057594430E-3,  1.05464603945949983183E-2,
      -2.37374148058994688156E-2,  4.93052842396707084878E-2,   -9.49010970480476444210E-2,
      1.71620901522208775349E-1,   -3.04682672343198398683E-1,  6.76795274409476084995E-1};
  constexpr double kFar[] = {
      -7.23318048787475395456E-18, -4.83050448594418207126E-18, 4.46562142029675999901E-17,
      3.46122286769746109310E-17,  -2.82762398051658348494E-16, -3.42548561967721913462E-16,
      1.77256013305652638360E-15,  3.81168066935262242075E-15,  -9.55484669882830764870E-15,
      -4.15056934728722208663E-14, 1.54008621752140982691E-14,  3.85277838274214270114E-13,
      7.18012445138366623367E-13,  -1.79417853150680611778E-12, -1.32158118404477131188E-11,
      -3.14991652796324136454E-11, 1.18891471078464383424E-11,  4.94060238822496958910E-10,
      3.39623202570838634515E-9,   2.26666899049817806459E-8,   2.04891858946906374183E-7,
      2.89137052083475648297E-6,   6.88975834691682398426E-5,   3.36911647825569408990E-3,
      8.04490411014108831608E-1};
  TextWriter& w = c.w;
  const OutValue given = Operands(c)[0];
  const DType wide = given.type.dtype == f64 ? f64 : f32;
  const OutValue x = w.Unary("stablehlo.abs", w.Convert(given, wide));
  const auto number = [&](double v) { return w.Number(x.type, v); };
  const OutValue near = Chebyshev(
      w, w.Binary("stablehlo.subtract", w.Binary("stablehlo.multiply", number(0.5), x), number(2)),
      kNear);
  const OutValue far = w.Binary(
      "stablehlo.divide",
      Chebyshev(
          w, w.Binary("stablehlo.subtract", w.Binary("stablehlo.divide", number(32), x), number(2)),
          kFar),
      w.Unary("stablehlo.sqrt", x));
  return Rounded(c, w.Select(w.Compare("LE", x, number(8)), near, far));
}

OutValues CompareAll(const WriteCall& c) {
  constexpr SameOp kDirections[] = {{"eq", "EQ"}, {"ne", "NE"}, {"lt", "LT"},
                                    {"le", "LE"}, {"gt", "GT"}, {"ge", "GE"}};
  const auto* row = absl::c_find_if(kDirections, [&](const SameOp& s) { return s.op == c.name(); });
  if (!c.is_key(0)) {
    const OutValues in = Operands(c);
    return {c.w.Compare(row->stablehlo, in[0], in[1])};
  }
  // Keys are equal if both words are.
  const base::Shape& shape = c.type_out()->shape();
  const auto compared = [&](int64_t k) {
    return c.w.Compare(row->stablehlo, c.w.Word(c.in[0], k, shape), c.w.Word(c.in[1], k, shape));
  };
  return {
      c.w.Binary(c.name() == "eq" ? "stablehlo.and" : "stablehlo.or", compared(0), compared(1))};
}

OutValues Select(const WriteCall& c) {
  const OutType out = c.out();
  OutValue p = c.w.SpreadTo(c.in[0], c.type_out()->shape());
  if (p.type.shape != out.shape) {  // both numbers of a key
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < p.type.rank(); ++d) dims.push_back(d);
    p = c.w.Spread(p, out.shape, dims);
  }
  const auto spread = [&](const OutValue& x) {
    if (!c.type_out()->dtype().is_key()) return c.w.SpreadTo(x, out.shape);
    return x.type.rank() == 1 ? c.w.Spread(x, out.shape, {out.rank() - 1})
                              : c.w.SpreadTo(x, out.shape);
  };
  return {c.w.Select(p, spread(c.in[2]), spread(c.in[1]))};
}

// Returns floats as integers of few bits: floats of a larger integer's range come first.
OutValue ToSmallInteger(TextWriter& w, const OutValue& x, DType to) {
  const int digits = to.bits() - (to.is_signed() ? 1 : 0);
  const double highest = std::ldexp(1.0, digits) - 1;
  const double lowest = to.is_signed() ? -std::ldexp(1.0, digits) : 0;
  const OutValue limited =
      w.One("stablehlo.clamp", {w.Number(x.type, lowest), x, w.Number(x.type, highest)}, x.type);
  const OutValue no_number = w.Compare("NE", x, x);
  const OutValue whole =
      w.Convert(w.Select(no_number, w.Number(x.type, 0), limited), to.is_signed() ? i8 : u8);
  return w.Convert(whole, to);
}

OutValue Converted(TextWriter& w, OutValue x, DType to) {
  const DType from = x.type.dtype;
  if (from == to) return x;
  if (to.is_bool()) return w.Compare("NE", x, w.Whole(x.type, 0));
  if (from.is_complex() && !to.is_complex()) return Converted(w, Part(w, "stablehlo.real", x), to);
  if (from.is_inexact() && to.is_integer() && to.bits() < 8)
    return ToSmallInteger(w, w.Convert(x, from == f64 ? f64 : f32), to);
  return w.Convert(x, to);
}

OutValues ConvertTo(const WriteCall& c) { return {Converted(c.w, c.in[0], c.out().dtype)}; }

OutValues Rounded(const WriteCall& c, const OutValue& x) {
  return {Converted(c.w, x, c.out().dtype)};
}

OutValues ReducePrecision(const WriteCall& c) {
  const auto& p = c.params<ops::PrecisionParams>();
  const OutValue x = Operands(c)[0];
  return Rounded(c, c.w.One("stablehlo.reduce_precision", {x}, x.type,
                            fmt::format("exponent_bits = {} : i32, mantissa_bits = {} : i32",
                                        p.exponent_bits, p.mantissa_bits)));
}

OutValues Constant(const WriteCall& c) {
  const ir::Literal& value = c.params<ops::ConstantParams>().value;
  const std::span<const std::byte> bytes(value.bits.data(),
                                         static_cast<size_t>(value.dtype.size()));
  return {value.dtype.is_key() ? c.w.Key(bytes) : c.w.Constant(c.out(), bytes)};
}

// Over several dims, the index is a sum.
OutValues Iota(const WriteCall& c) {
  const auto& dims = c.params<ops::IotaParams>().dim;
  if (dims.size() == 1) return {c.w.Iota(c.out(), dims[0])};
  OutValue sum = c.w.Whole(c.out(), 0);
  int64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    sum = c.w.Binary(
        "stablehlo.add", sum,
        c.w.Binary("stablehlo.multiply", c.w.Iota(c.out(), dims[k]), c.w.Whole(c.out(), stride)));
    stride *= c.out().shape[static_cast<size_t>(dims[k])];
  }
  return {sum};
}

}  // namespace

std::vector<OpWriter> ElementwiseWriters() {
  std::vector<OpWriter> writers = {
      {"abs", Abs},
      {"bessel_i0e", BesselI0e},
      {"ceil", Round},
      {"clz", ByBits},
      {"conj", Conj},
      {"constant", Constant},
      {"convert_element_type", ConvertTo},
      {"eq", CompareAll},
      {"exp2", Exp2},
      {"floor", Round},
      {"ge", CompareAll},
      {"gt", CompareAll},
      {"iota", Iota},
      {"is_finite", IsFinite},
      {"le", CompareAll},
      {"lt", CompareAll},
      {"maximum", Extreme},
      {"minimum", Extreme},
      {"ne", CompareAll},
      {"population_count", ByBits},
      {"reduce_precision", ReducePrecision},
      {"relu", Relu},
      {"round", Round},
      {"round_away", Round},
      {"select_n", Select},
      {"shift_right_arithmetic", ByBits},
      {"shift_right_logical", ByBits},
      {"sign", Sign},
  };
  for (const SameOp& same : kSameOps)
    if (absl::c_none_of(writers, [&](const OpWriter& w) { return w.name == same.op; }))
      writers.push_back({same.op, Same});
  return writers;
}

}  // namespace tessera::stablehlo
