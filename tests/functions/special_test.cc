// Special functions beside 50 digits (accuracy.py), and random calls of them beside JAX
// (random_special.py).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "accuracy.h"
#include "conformance/compare.h"

namespace tessera::special_test {
namespace {

using Json = nlohmann::json;
using Arrays = std::vector<Array>;
using Call = Arrays (*)(const Arrays&);

Array Whole(const Array& x) { return astype(x, i64); }

#define ONE(name)                                                 \
  {                                                               \
#name, [](const Arrays& x) -> Arrays { return {name(x[0])}; } \
  }
#define TWO(name)                                                       \
  {                                                                     \
#name, [](const Arrays& x) -> Arrays { return {name(x[0], x[1])}; } \
  }
#define THREE(name)                                                           \
  {                                                                           \
#name, [](const Arrays& x) -> Arrays { return {name(x[0], x[1], x[2])}; } \
  }
#define PAIR(name)                                \
  {                                               \
#name, [](const Arrays& x) -> Arrays {          \
      auto [first, second] = name(x[0]);          \
      return {first, second};                     \
    } \
  }
const std::map<std::string, Call>& Calls() {
  static const std::map<std::string, Call> calls = {
      ONE(gamma),
      ONE(gammasgn),
      ONE(loggamma),
      TWO(betaln),
      TWO(beta),
      ONE(factorial),
      TWO(comb),
      TWO(poch),
      TWO(igamma),
      TWO(igammac),
      TWO(igamma_grad_a),
      TWO(random_gamma_grad),
      THREE(betainc),
      TWO(xlogy),
      TWO(xlog1py),
      ONE(logit),
      ONE(expit),
      ONE(entr),
      TWO(rel_entr),
      TWO(kl_div),
      TWO(boxcox),
      TWO(boxcox1p),
      ONE(ndtr),
      ONE(log_ndtr),
      ONE(ndtri),
      ONE(erfcx),
      ONE(dawsn),
      ONE(wofz),
      TWO(owens_t),
      ONE(i0),
      ONE(i1),
      ONE(expi),
      ONE(exp1),
      TWO(expn),
      ONE(spence),
      PAIR(sici),
      PAIR(fresnel),
      THREE(hyp1f1),
      {"hyp2f1", [](const Arrays& x) -> Arrays { return {hyp2f1(x[0], x[1], x[2], x[3])}; }},
      {"sph_harm_y",
       [](const Arrays& x) -> Arrays {
         return {sph_harm_y(Whole(x[0]), Whole(x[1]), x[2], x[3], {.n_max = 12})};
       }},
  };
  return calls;
}

// Returns the part of a function's results that a line of accuracy.jsonl is about: "wofz.re".
Array PartOf(const std::string& name, const Arrays& x) {
  const size_t dot = name.find('.');
  const std::string part = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (name.starts_with("wofz")) {
    const Array z = wofz(complex(x[0], x[1]));
    return part == "re" ? real(z) : imag(z);
  }
  const Arrays made = Calls().at(name.substr(0, dot))(x);
  if (part == "re") return real(made[0]);
  if (part == "im") return imag(made[0]);
  return part == "cosine" ? made[1] : made[0];
}

// Errors that are larger than 8 units, and than JAX's at the same point.
struct Bound {
  const char* name;
  DType dtype;
  double units;
  const char* why;
};
const Bound kBounds[] = {
    {"beta", f64, 40, "a quotient of three gamma functions"},
    {"poch", f64, 40, "a quotient of two gamma functions"},
    {"kl_div", f64, 400, "its terms cancel where p and q are close"},
    {"rel_entr", f64, 400, "its terms cancel where p and q are close"},
    {"ndtr", f64, 200, "x / sqrt(2) is rounded, and erfc is steep"},
    {"owens_t", f64, 200, "h / sqrt(2) is rounded, and erfc is steep"},
    {"wofz.re", f64, 2e6, "small beside the imaginary part"},
    {"wofz.re", f32, 16, "small beside the imaginary part"},
    {"wofz.im", f64, 200, "JAX's method with more terms; it rounds many times"},
    {"hyp1f1", f64, 200, "its series rounds each of hundreds of terms"},
    {"hyp2f1", f64, 2000, "its series rounds each of thousands of terms near x = 1"},
    {"log_ndtr", f32, 100, "as JAX: three terms of an asymptotic series, and steep tails"},
    {"log_ndtr", f64, 1e5, "as JAX: three terms of an asymptotic series"},
    {"sph_harm_y.re", f64, 1000, "its recurrence cancels near zeros"},
    {"sph_harm_y.im", f64, 1000, "its recurrence cancels near zeros"},
    {"betaln", f64, 100, "logarithms cancel"},
};
double BoundOf(const std::string& name, DType dtype) {
  for (const Bound& b : kBounds)
    if (name == b.name && dtype == b.dtype) return b.units;
  return 8;
}

TEST(SpecialFunctions, HaveEightUnitsOrTheErrorOfJax) {
  std::ifstream file(TESSERA_SOURCE_DIR "/tests/functions/accuracy.jsonl");
  ASSERT_TRUE(file);
  int lines = 0;
  for (std::string text; std::getline(file, text); ++lines) {
    const Json line = Json::parse(text);
    const std::string name = line["name"];
    const DType dtype = line["dtype"] == "f32" ? f32 : f64;
    Arrays operands;
    for (const Json& column : line["operands"])
      operands.push_back(astype(array(column.get<std::vector<double>>(), {.dtype = f64}), dtype));
    const Array made = PartOf(name, operands);
    EXPECT_EQ(made.dtype(), dtype) << name;
    const std::vector<double> got = astype(made, f64).to_vector<double>(),
                              want = line["wanted"].get<std::vector<double>>(),
                              jax = line["jax"].get<std::vector<double>>();
    ASSERT_EQ(got.size(), want.size()) << name;
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double units = Units(got[i], want[i], FormatOf(dtype), 0);
      if (!(got[i] == 0 && want[i] == 0) && units > jax[i] && units > worst) worst = units, at = i;
    }
    std::string point;
    for (const Json& column : line["operands"]) point += " " + column[at].dump();
    EXPECT_LE(worst, BoundOf(name, dtype))
        << name << " of " << dtype.name() << " at" << point << ": " << got[at] << ", not "
        << want[at] << "; JAX " << jax[at];
  }
  EXPECT_GE(lines, 85);
}

Array OfJson(const Json& json) {
  const ArrayType type = ArrayType::Parse(json["type"].get<std::string>());
  if (type.dtype().is_complex()) {
    std::vector<std::complex<double>> data;
    for (const Json& v : json["data"]) data.push_back(conformance::ComplexNumber(v));
    return astype(array(data, {.shape = type.shape()}), type.dtype());
  }
  std::vector<double> data;
  for (const Json& v : json["data"]) data.push_back(conformance::Number(v));
  return astype(array(data, {.shape = type.shape()}), type.dtype());
}
Arrays AllOfJson(const Json& list) {
  Arrays arrays;
  for (const Json& one : list) arrays.push_back(OfJson(one));
  return arrays;
}

// Returns how arrays differ from those of a line, or "".
std::string DifferenceOf(const char* kind, const Arrays& got, const Json& want, double tolerance) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].is_null()) continue;
    const ArrayType wanted = ArrayType::Parse(want[i]["type"].get<std::string>());
    if (got[i].dtype() != wanted.dtype() || got[i].shape() != wanted.shape())
      return fmt::format("{}: {} and not {}", kind, ArrayType(type_of(got[i])).text(),
                         wanted.text());
    if (const auto problem = conformance::CompareData(got[i], want[i]["data"], tolerance))
      return fmt::format("{} {}: {}", kind, i, *problem);
  }
  return "";
}

// The call of a line, and its gradients, of operands that may be sharded.
std::string ProblemOf(const Json& line, const Arrays& operands) {
  const Call call = Calls().at(line["call"]);
  const double tolerance = line["tolerance"];
  const Arrays weights = AllOfJson(line["cotangents"]);
  const auto loss = [&](const Arrays& xs) {
    const Arrays made = call(xs);
    Array total = array(0.0, {.dtype = f64});
    for (size_t i = 0; i < made.size(); ++i) total += astype(sum(real(made[i] * weights[i])), f64);
    return total;
  };
  const std::string values =
      DifferenceOf("result", jit(call)(operands), line["results"], tolerance);
  if (!values.empty() || !line.contains("gradients")) return values;
  return DifferenceOf("gradient", jit([&](const Arrays& xs) { return grad(loss)(xs); })(operands),
                      line["gradients"], tolerance);
}

// TESSERA_SPECIAL_CALLS names a file that random_special.py has written.
TEST(SpecialFunctions, OfRandomCallsAreThoseOfJax) {
  const char* path = std::getenv("TESSERA_SPECIAL_CALLS");
  if (!path) GTEST_SKIP() << "TESSERA_SPECIAL_CALLS is not set";
  const DefaultDtypes wide(i64, f64);
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  int number = 0;
  for (std::string text; std::getline(file, text); ++number) {
    const Json line = Json::parse(text);
    const Arrays operands = AllOfJson(line["arguments"]);
    EXPECT_EQ(ProblemOf(line, operands), "") << text.substr(0, 600);
    for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
      MeshScope scope(make_mesh({{"x", 2, mode}}));
      const size_t which = static_cast<size_t>(number) % operands.size();
      if (operands[which].rank() == 0 || operands[which].shape()[0] % 2 != 0) continue;
      Arrays placed = operands;
      for (size_t i = 0; i < placed.size(); ++i)
        placed[i] =
            jit([](Array x) { return x; }, {.out_shardings = i == which ? P("x") : P()})(placed[i]);
      EXPECT_EQ(ProblemOf(line, placed), "") << "on shards: " << text.substr(0, 600);
    }
  }
  EXPECT_GT(number, 0);
}

}  // namespace
}  // namespace tessera::special_test
