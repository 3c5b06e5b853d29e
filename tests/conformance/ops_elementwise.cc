// Elementwise ops, selections and conversions.
#include <utility>

#include "ops.h"

namespace tessera::conformance {
namespace {

using Unary = Array (*)(Operand, Loc);
using Binary = Array (*)(Operand, Operand, OutOptions, Loc);

OpFunction FromUnary(Unary f) {
  return [f](const Call& c) {
    if (c.size() > 1) throw Unsupported("several operands");  // of optimization_barrier
    return std::vector{f(c.in(0), c.loc())};
  };
}

OpFunction FromBinary(Binary f) {
  return [f](const Call& c) { return std::vector{f(c.operand(0), c.operand(1), {}, c.loc())}; };
}

void AddUnary(OpTable& table) {
  const std::pair<const char*, Unary> lax[] = {{"abs", abs},
                                               {"real", real},
                                               {"imag", imag},
                                               {"conj", conj},
                                               {"neg", neg},
                                               {"sign", sign},
                                               {"ceil", ceil},
                                               {"floor", floor},
                                               {"exp", exp},
                                               {"exp2", exp2},
                                               {"expm1", expm1},
                                               {"log", log},
                                               {"log1p", log1p},
                                               {"sqrt", sqrt},
                                               {"rsqrt", rsqrt},
                                               {"cbrt", cbrt},
                                               {"square", square},
                                               {"reciprocal", reciprocal},
                                               {"sin", sin},
                                               {"cos", cos},
                                               {"tan", tan},
                                               {"asin", asin},
                                               {"acos", acos},
                                               {"atan", atan},
                                               {"sinh", sinh},
                                               {"cosh", cosh},
                                               {"tanh", tanh},
                                               {"asinh", asinh},
                                               {"acosh", acosh},
                                               {"atanh", atanh},
                                               {"erf", erf},
                                               {"erfc", erfc},
                                               {"erf_inv", erf_inv},
                                               {"lgamma", lgamma},
                                               {"digamma", digamma},
                                               {"bessel_i0e", bessel_i0e},
                                               {"bessel_i1e", bessel_i1e},
                                               {"logistic", logistic},
                                               {"clz", clz},
                                               {"not", bitwise_not},
                                               {"population_count", population_count},
                                               {"is_finite", is_finite},
                                               {"optimization_barrier", optimization_barrier}};
  for (auto [name, f] : lax) table[name] = FromUnary(f);
  const std::pair<const char*, Unary> numpy[] = {{"np.abs", abs},
                                                 {"np.real", real},
                                                 {"np.imag", imag},
                                                 {"np.conj", conj},
                                                 {"np.conjugate", conj},
                                                 {"np.angle", angle},
                                                 {"np.isreal", isreal},
                                                 {"np.absolute", abs},
                                                 {"np.negative", neg},
                                                 {"np.sign", sign},
                                                 {"np.ceil", ceil},
                                                 {"np.floor", floor},
                                                 {"np.exp", exp},
                                                 {"np.exp2", exp2},
                                                 {"np.expm1", expm1},
                                                 {"np.log", log},
                                                 {"np.log2", log2},
                                                 {"np.log10", log10},
                                                 {"np.log1p", log1p},
                                                 {"np.sqrt", sqrt},
                                                 {"np.cbrt", cbrt},
                                                 {"np.square", square},
                                                 {"np.reciprocal", reciprocal},
                                                 {"np.sin", sin},
                                                 {"np.cos", cos},
                                                 {"np.tan", tan},
                                                 {"np.arcsin", asin},
                                                 {"np.arccos", acos},
                                                 {"np.arctan", atan},
                                                 {"np.asin", asin},
                                                 {"np.acos", acos},
                                                 {"np.atan", atan},
                                                 {"np.sinh", sinh},
                                                 {"np.cosh", cosh},
                                                 {"np.tanh", tanh},
                                                 {"np.arcsinh", asinh},
                                                 {"np.arccosh", acosh},
                                                 {"np.arctanh", atanh},
                                                 {"np.isfinite", isfinite},
                                                 {"np.isnan", isnan},
                                                 {"np.isinf", isinf},
                                                 {"np.logical_not", logical_not},
                                                 {"np.invert", bitwise_not},
                                                 {"np.bitwise_not", bitwise_not},
                                                 {"np.bitwise_invert", bitwise_not},
                                                 {"nn.relu", relu},
                                                 {"nn.silu", silu},
                                                 {"nn.swish", silu},
                                                 {"nn.sigmoid", logistic},
                                                 {"nn.softplus", softplus}};
  for (auto [name, f] : numpy) table[name] = FromUnary(f);
}

void AddBinary(OpTable& table) {
  const std::pair<const char*, Binary> lax[] = {{"add", add},
                                                {"sub", sub},
                                                {"mul", mul},
                                                {"div", div},
                                                {"rem", rem},
                                                {"pow", pow},
                                                {"max", maximum},
                                                {"min", minimum},
                                                {"atan2", atan2},
                                                {"complex", complex},
                                                {"zeta", zeta},
                                                {"nextafter", nextafter},
                                                {"eq", eq},
                                                {"ne", ne},
                                                {"lt", lt},
                                                {"le", le},
                                                {"gt", gt},
                                                {"ge", ge},
                                                {"and", bitwise_and},
                                                {"or", bitwise_or},
                                                {"xor", bitwise_xor},
                                                {"mulhi", mulhi},
                                                {"shift_left", shift_left},
                                                {"shift_right_arithmetic", shift_right_arithmetic},
                                                {"shift_right_logical", shift_right_logical}};
  for (auto [name, f] : lax) table[name] = FromBinary(f);
  const std::pair<const char*, Binary> numpy[] = {{"np.add", add},
                                                  {"np.subtract", sub},
                                                  {"np.multiply", mul},
                                                  {"np.divide", divide},
                                                  {"np.true_divide", divide},
                                                  {"np.floor_divide", floor_divide},
                                                  {"np.mod", remainder},
                                                  {"np.remainder", remainder},
                                                  {"np.power", pow},
                                                  {"np.pow", pow},
                                                  {"np.maximum", maximum},
                                                  {"np.minimum", minimum},
                                                  {"np.arctan2", atan2},
                                                  {"np.atan2", atan2},
                                                  {"np.hypot", hypot},
                                                  {"np.nextafter", nextafter},
                                                  {"np.equal", eq},
                                                  {"np.not_equal", ne},
                                                  {"np.less", lt},
                                                  {"np.less_equal", le},
                                                  {"np.greater", gt},
                                                  {"np.greater_equal", ge},
                                                  {"np.logical_and", logical_and},
                                                  {"np.logical_or", logical_or},
                                                  {"np.logical_xor", logical_xor},
                                                  {"np.bitwise_and", bitwise_and},
                                                  {"np.bitwise_or", bitwise_or},
                                                  {"np.bitwise_xor", bitwise_xor},
                                                  {"np.left_shift", shift_left},
                                                  {"np.bitwise_left_shift", shift_left}};
  for (auto [name, f] : numpy) table[name] = FromBinary(f);
  table["np.right_shift"] = [](const Call& c) {
    return std::vector{c.in(0).scalar() ? c.in(0) >> c.array(1) : c.array(0) >> c.in(1)};
  };
  table["np.bitwise_right_shift"] = table["np.right_shift"];
}

void AddSelections(OpTable& table) {
  table["select_n"] = [](const Call& c) {
    return std::vector{select_n(c.in(0), c.arrays(1), {}, c.loc())};
  };
  table["select"] = [](const Call& c) {  // the case for true comes first
    return std::vector{select_n(c.in(0), {c.array(2), c.array(1)}, {}, c.loc())};
  };
  table["np.where"] = [](const Call& c) {
    return std::vector{where(c.in(0), c.in(1), c.in(2), {}, c.loc())};
  };
  table["clamp"] = [](const Call& c) {
    return std::vector{clamp(c.strict(0), c.strict(1), c.strict(2), c.loc())};
  };
  table["np.clip"] = [](const Call& c) {
    return std::vector{clip(c.in(0), c.in(1), c.in(2), c.loc())};
  };
}

void AddConversions(OpTable& table) {
  table["convert_element_type"] = [](const Call& c) {
    return std::vector{convert_element_type(c.in(0), c.dtype("new_dtype"), c.loc())};
  };
  table["bitcast_convert_type"] = [](const Call& c) {
    return std::vector{bitcast_convert_type(c.in(0), c.dtype("new_dtype"), c.loc())};
  };
  table["np.astype"] = [](const Call& c) {
    return std::vector{astype(c.in(0), c.dtype(), c.loc())};
  };
  // JAX keeps the operand's unreduced and reduced axes where the given placement has none.
  table["np.array"] = [](const Call& c) {
    DType dtype = c.dtype();
    std::optional<PartitionSpec> spec = c.spec();
    Array x = dtype.is_default() ? c.array(0) : astype(c.in(0), dtype, c.loc());
    if (spec) {
      PartitionSpec old = type_of(x, c.loc()).spec();
      if (spec->unreduced_axes().empty()) *spec = spec->unreduced(old.unreduced_axes());
      if (spec->reduced_axes().empty()) *spec = spec->reduced(old.reduced_axes());
      x = reshard(x, *spec, c.loc());
    }
    return std::vector{x};
  };
  table["np.asarray"] = table["np.array"];
  table["np.copy"] = table["np.array"];
}

}  // namespace

void AddElementwise(OpTable& table) {
  AddUnary(table);
  AddBinary(table);
  AddSelections(table);
  AddConversions(table);
  table["round"] = [](const Call& c) {
    return std::vector{
        round(c.in(0), {.away_from_zero = c.integer("rounding_method", 0) == 0}, c.loc())};
  };
  table["reduce_precision"] = [](const Call& c) {
    return std::vector{reduce_precision(c.in(0), static_cast<int>(c.integer("exponent_bits")),
                                        static_cast<int>(c.integer("mantissa_bits")), c.loc())};
  };
  table["integer_pow"] = [](const Call& c) {
    return std::vector{integer_pow(c.in(0), c.integer("y"), c.loc())};
  };
  table["nn.gelu"] = [](const Call& c) {
    return std::vector{gelu(c.in(0), {.approximate = c.flag("approximate", true)}, c.loc())};
  };
}

}  // namespace tessera::conformance
