// Values and two derivatives of functions where formulas fail, beside mpmath (points.py): at 0, at
// the ends of domains, at the largest and smallest numbers of each dtype, and at special points.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "accuracy.h"
#include "special_functions.h"

namespace tessera::special_test {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

#define ONE(name)                                              \
  {                                                            \
#name, [](const Arrays& x) -> Array { return name(x[0]); } \
  }
#define TWO(name)                                                    \
  {                                                                  \
#name, [](const Arrays& x) -> Array { return name(x[0], x[1]); } \
  }

using Elementwise = Array (*)(const Arrays&);
const std::map<std::string, Elementwise>& ElementwiseFunctions() {
  static const std::map<std::string, Elementwise> calls = {
      ONE(exp),
      ONE(exp2),
      ONE(expm1),
      ONE(log),
      ONE(log2),
      ONE(log10),
      ONE(log1p),
      ONE(sqrt),
      ONE(rsqrt),
      ONE(cbrt),
      ONE(sin),
      ONE(cos),
      ONE(tan),
      ONE(asin),
      ONE(acos),
      ONE(atan),
      ONE(sinh),
      ONE(cosh),
      ONE(tanh),
      ONE(asinh),
      ONE(acosh),
      ONE(atanh),
      ONE(erf),
      ONE(erfc),
      ONE(erf_inv),
      ONE(lgamma),
      ONE(digamma),
      ONE(logistic),
      ONE(bessel_i0e),
      ONE(bessel_i1e),
      ONE(square),
      ONE(reciprocal),
      ONE(sinc),
      ONE(softplus),
      ONE(silu),
      ONE(gelu),
      ONE(mish),
      ONE(log_sigmoid),
      ONE(soft_sign),
      ONE(log1mexp),
      TWO(logaddexp),
      TWO(hypot),
      TWO(pow),
      TWO(atan2),
      {"elu", [](const Arrays& x) -> Array { return elu(x[0], 1.0); }},
      {"squareplus", [](const Arrays& x) -> Array { return squareplus(x[0], 4.0); }},
      {"gelu_exact", [](const Arrays& x) -> Array { return gelu(x[0], {.approximate = false}); }},
      {"wofz.re", [](const Arrays& x) -> Array { return real(wofz(complex(x[0], 0 * x[0]))); }},
      {"wofz.im", [](const Arrays& x) -> Array { return imag(wofz(complex(x[0], 0 * x[0]))); }},
      {"sici.cosine", [](const Arrays& x) -> Array { return sici(x[0]).second; }},
      {"fresnel.cosine", [](const Arrays& x) -> Array { return fresnel(x[0]).second; }},
      {"bessel_jn.0", [](const Arrays& x) -> Array { return bessel_jn(x[0], 3)[{0}]; }},
      {"bessel_jn.1", [](const Arrays& x) -> Array { return bessel_jn(x[0], 3)[{1}]; }},
      {"bessel_jn.3", [](const Arrays& x) -> Array { return bessel_jn(x[0], 3)[{3}]; }},
  };
  return calls;
}

// Returns the function that a line is about: its name up to a '.', unless the whole name is in the
// table.
Array Call(const std::string& name, const Arrays& x) {
  const std::string first = name.substr(0, name.find('.'));
  for (const std::string& key : {name, first})
    if (const auto at = ElementwiseFunctions().find(key); at != ElementwiseFunctions().end())
      return at->second(x);
  return SpecialFunctions().at(first)(x)[0];
}

double NumberIn(const Json& v) {
  return v.is_string() ? std::stod(v.get<std::string>()) : v.get<double>();
}

DType Named(const std::string& name) {
  return name == "f64" ? f64 : name == "f32" ? f32 : name == "f16" ? f16 : bf16;
}

std::string Text(double x) {
  return Json(x).is_null() || !std::isfinite(x) ? std::to_string(x) : Json(x).dump();
}

// The largest errors: relative to a result, and, where a function approaches a constant, in full.
struct Allowed {
  double relative, absolute;
};
Allowed AllowedIn(DType dtype) {
  if (dtype == f64) return {1e-9, 2e-14};
  if (dtype == f32) return {1e-4, 1e-6};
  return dtype == f16 ? Allowed{2e-2, 2e-3} : Allowed{1e-1, 2e-2};
}

bool IsRight(double got, double want, DType dtype, double floor) {
  if (std::isnan(want)) return std::isnan(got);
  const Allowed allowed = AllowedIn(dtype);
  const double end = std::min(std::ldexp(1.0L, FormatOf(dtype).end), 0x1p1023L * 1.99L);
  const double a = std::clamp(got, -end, end), b = std::clamp(want, -end, end);
  const double least = std::ldexp(1.0, FormatOf(dtype).least + FormatOf(dtype).digits - 5);
  return std::fabs(a / 2 - b / 2) <=
         std::max({allowed.relative * std::fabs(b), allowed.absolute * floor, least}) / 2;
}

// The value and derivatives of a function of one operand, forward and in reverse.
struct Made {
  const char* what;
  size_t order;
  Numbers numbers;
};
std::vector<Made> MadeBy(const std::function<Array(Array)>& f, const Array& x, int orders) {
  const Array ones = ones_like(x);
  const auto forward = [&](auto g) { return [=](Array v) { return jvp(g, v, ones).second; }; };
  const auto reverse = [](auto g) { return grad([=](Array v) { return sum(g(v)); }); };
  const auto numbers = [](const Array& a) { return astype(a, f64).to_vector<double>(); };
  std::vector<Made> made{{"value", 0, numbers(f(x))}, {"value in jit", 0, numbers(jit(f)(x))}};
  if (orders >= 1) {
    made.push_back({"jvp", 1, numbers(forward(f)(x))});
    made.push_back({"grad", 1, numbers(reverse(f)(x))});
  }
  if (orders >= 2) {
    made.push_back({"jvp of jvp", 2, numbers(forward(forward(f))(x))});
    made.push_back({"grad of grad", 2, numbers(reverse(reverse(f))(x))});
    made.push_back({"jvp of grad", 2, numbers(forward(reverse(f))(x))});
  }
  return made;
}

// Returns a line per wrong result.
std::string WrongOf(const Json& line) {
  const std::string name = line["name"];
  const DType dtype = Named(line["dtype"]);
  Numbers points;
  for (const Json& p : line["points"]) points.push_back(NumberIn(p));
  const auto at = line["operand"].get<size_t>();
  Arrays others;
  for (const Json& v : line["others"])
    others.push_back(astype(full({}, NumberIn(v), {.dtype = f64}), dtype));
  const auto f = [&](Array x) {
    Arrays all = others;
    all.insert(all.begin() + static_cast<long>(at), x);
    return Call(name, all);
  };
  std::string wrong;
  const Array x = astype(array(points, {.dtype = f64}), dtype);
  for (const Made& made : MadeBy(f, x, line["orders"].get<int>()))
    for (size_t i = 0; i < points.size(); ++i) {
      const Json& want = line["wanted"][i][made.order];
      if (want.is_null()) continue;
      const Json& slope = line["wanted"][i][1];
      double floor = line["floor"].get<double>();
      if (made.order == 2 && !slope.is_null()) floor = std::max(floor, std::fabs(NumberIn(slope)));
      if (std::isinf(floor)) continue;  // the slope is beyond the range
      if (IsRight(made.numbers[i], NumberIn(want), dtype, floor)) continue;
      wrong += name + " " + dtype.name() + " " + made.what + " at " + line["points"][i].dump() +
               ": " + Text(made.numbers[i]) + ", not " + want.dump() + "\n";
    }
  return wrong;
}

TEST(Functions, AreRightAtTheirSpecialPoints) {
  std::ifstream file(TESSERA_SOURCE_DIR "/tests/functions/points.jsonl");
  ASSERT_TRUE(file);
  int lines = 0;
  for (std::string text; std::getline(file, text); ++lines) {
    const Json line = Json::parse(text);
    EXPECT_EQ(WrongOf(line), "");
  }
  EXPECT_GE(lines, 570);
}

}  // namespace
}  // namespace tessera::special_test
