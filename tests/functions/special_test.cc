// Special functions beside 50 digits (accuracy.py).
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "accuracy.h"
#include "special_functions.h"

namespace tessera::special_test {
namespace {

using Json = nlohmann::json;

// Returns the part of a function's results that a line of accuracy.jsonl is about: "wofz.re".
Array PartOf(const std::string& name, const Arrays& x) {
  const size_t dot = name.find('.');
  const std::string part = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (name.starts_with("wofz")) {
    const Array z = wofz(complex(x[0], x[1]));
    return part == "re" ? real(z) : imag(z);
  }
  const Arrays made = SpecialFunctions().at(name.substr(0, dot))(x);
  if (part == "re") return real(made[0]);
  if (part == "im") return imag(made[0]);
  return part == "cosine" ? made[1] : made[0];
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
    // At 8000 more points of their ranges, hyp1f1 errs by at most 8.4 units of f64, where JAX errs
    // by more, and sph_harm_y by at most 2.7.
    EXPECT_LE(worst, 8) << name << " of " << dtype.name() << " at" << point << ": " << got[at]
                        << ", not " << want[at] << "; JAX " << jax[at];
  }
  EXPECT_GE(lines, 92);
}

// JAX has eight digits of betaln where one operand is 8 or more, so these are mpmath's.
// As in SciPy. JAX gives infinity for the relative entropy of NaN.
TEST(SpecialFunctions, OfInfinityAndNan) {
  const double infinite = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const auto f : {rel_entr, kl_div}) {
    const auto of = [&](double p, double q) {
      return f(Array(p), Array(q), Loc::Current()).item<double>();
    };
    EXPECT_TRUE(std::isnan(of(nan, 1)));
    EXPECT_TRUE(std::isnan(of(0, nan)));
    EXPECT_EQ(of(-1, infinite), infinite);
    EXPECT_EQ(of(infinite, 0), infinite);
  }
  EXPECT_EQ(rel_entr(array({0.0}), array({infinite})).to_vector<double>(), std::vector<double>{0});
  EXPECT_EQ(poch(array({1.0, 2.0}), array({infinite, infinite})).to_vector<double>(),
            (std::vector<double>{infinite, infinite}));
}

TEST(SpecialFunctions, BetalnOfLargeAndSmallOperands) {
  const std::vector<double> got =
      betaln(array(std::vector<double>{20, 0.1, 1e6}), array(std::vector<double>{30, 9, 1e7}))
          .to_vector<double>();
  EXPECT_NEAR(got[0], -33.968820791977382963, 1e-13);
  EXPECT_NEAR(got[1], 2.0380632293690225171, 1e-14);
  EXPECT_NEAR(got[2] / -3351003.0120031909289, 1, 1e-14);
}

}  // namespace
}  // namespace tessera::special_test
