// Every row of the table of functions: values and gradients as JAX has them, eager, under jit and
// vmap, and with sharded operands.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "conformance/compare.h"
#include "functions/arrays.h"
#include "functions/rows.h"

namespace tessera::functions {

std::vector<const Row*> AllRows() {
  std::vector<const Row*> all;
  for (const Rows* part : {&NnRows(), &ArithmeticRows(), &PieceRows(), &SetRows(), &StatisticRows(),
                           &PolynomialRows(), &NumpyNameRows(), &SpecialRows(), &DistributionRows(),
                           &LaxNameRows(), &LinalgRows(), &MaskedRows(), &SignalRows()})
    for (const Row& row : *part) all.push_back(&row);
  return all;
}

namespace {

using Json = nlohmann::json;

// The line of values.jsonl of each row.
const std::map<std::string, Json>& Values() {
  static const auto* values = [] {
    auto* read = new std::map<std::string, Json>;
    std::ifstream file(TESSERA_SOURCE_DIR "/tests/functions/values.jsonl");
    for (std::string line; std::getline(file, line);) {
      const Json json = Json::parse(line);
      (*read)[json["name"]] = json;
    }
    return read;
  }();
  return *values;
}

std::vector<Array> AllFromJson(const Json& list) {
  std::vector<Array> arrays;
  for (const Json& one : list) arrays.push_back(FromJson(one));
  return arrays;
}

void ExpectData(const char* kind, const std::vector<Array>& got, const Json& want,
                double tolerance) {
  ASSERT_EQ(got.size(), want.size()) << kind;
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].is_null()) continue;  // the gradient of an int
    const ArrayType type = type_of(got[i]);
    EXPECT_EQ(ArrayType(type).dtype().name(),
              ArrayType::Parse(want[i]["type"].get<std::string>()).dtype().name())
        << kind << " " << i;
    ASSERT_EQ(type.shape(), ArrayType::Parse(want[i]["type"].get<std::string>()).shape())
        << kind << " " << i;
    const auto problem = conformance::CompareData(
        got[i], want[i]["data"], tolerance > 0 ? std::optional(tolerance) : std::nullopt);
    EXPECT_FALSE(problem) << kind << " " << i << ": " << *problem;
  }
}

class Functions : public testing::TestWithParam<const Row*> {
 protected:
  void SetUp() override {
    const auto found = Values().find(std::string(row().name));
    ASSERT_NE(found, Values().end()) << "run tests/functions/values.py";
    want_ = found->second;
    ASSERT_EQ(want_["jax"], row().jax) << "run tests/functions/values.py";
    ASSERT_EQ(want_["operands"], row().operands) << "run tests/functions/values.py";
    operands_ = AllFromJson(want_["arguments"]);
    cotangents_ = AllFromJson(want_["cotangents"]);
  }
  const Row& row() const { return *GetParam(); }
  bool is_differentiable() const { return want_.contains("gradients"); }
  bool IsSmooth(const Array& x) const { return x.dtype().is_inexact(); }

  // The sum of the results' elements, each times its cotangent, and the results.
  std::pair<Array, R> Weighted(A xs) const {
    R made = row().call(xs);
    Array total = array(0.0, {.dtype = f64});
    for (size_t i = 0, next = 0; i < made.size(); ++i)
      if (IsSmooth(made[i])) total += astype(sum(real(made[i] * cotangents_[next++])), f64);
    return {total, made};
  }
  // Expects the values and the gradients of these operands under jit.
  void ExpectJitted(A xs) const {
    if (!is_differentiable())
      return ExpectData("result", jit([this](A v) { return row().call(v); })(xs), want_["results"],
                        row().tolerance);
    const auto both =
        jit([this](A v) { return value_and_grad([this](A w) { return Weighted(w); })(v); });
    const auto [value, gradients] = both(xs);
    ExpectData("result", value.second, want_["results"], row().tolerance);
    ExpectData("gradient", gradients, want_["gradients"], row().tolerance);
  }

  DefaultDtypes wide_{i64, f64};
  Json want_;
  std::vector<Array> operands_, cotangents_;
};

TEST_P(Functions, HaveTheValuesOfJax) {
  ExpectData("result", row().call(operands_), want_["results"], row().tolerance);
}

TEST_P(Functions, HaveTheGradientsOfJaxUnderJit) { ExpectJitted(operands_); }

// The functions that have operands.
class FunctionsOfArrays : public Functions {};

std::vector<const Row*> RowsWithOperands() {
  std::vector<const Row*> rows;
  for (const Row* row : AllRows()) {
    const auto found = Values().find(std::string(row->name));
    if (found == Values().end() || !found->second["arguments"].empty()) rows.push_back(row);
  }
  return rows;
}

TEST_P(FunctionsOfArrays, AreMappedOverARow) {
  std::vector<Array> both;
  for (const Array& x : operands_) both.push_back(stack({x, x}));
  R made = vmap([this](A v) { return row().call(v); })(both);
  for (Array& y : made) {
    EXPECT_EQ(y.shape()[0], 2);
    y = y[1];
  }
  ExpectData("result", made, want_["results"], row().tolerance);
}

// Returns up to three layouts over one axis, in which an operand is sharded along one dim.
std::vector<std::vector<PartitionSpec>> Layouts(const std::vector<Array>& operands) {
  std::vector<std::vector<PartitionSpec>> layouts;
  for (size_t i = 0; i < operands.size(); ++i)
    for (int d = 0; d < operands[i].rank() && layouts.size() < 3; ++d) {
      if (operands[i].shape()[static_cast<size_t>(d)] % 2 != 0) continue;
      std::vector<DimSharding> dims(static_cast<size_t>(d) + 1);
      dims.back() = "x";
      layouts.emplace_back(operands.size(), P());
      layouts.back()[i] = PartitionSpec(dims);
    }
  return layouts;
}

TEST_P(Functions, OfShardsAreThoseOfTheWhole) {
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
    MeshScope scope(make_mesh({{"x", 2, mode}}));
    for (const auto& layout : Layouts(operands_)) {
      std::vector<Array> placed;
      std::string text;
      for (size_t i = 0; i < operands_.size(); ++i) {
        placed.push_back(
            jit([](Array x) { return x; }, {.out_shardings = layout[i]})(operands_[i]));
        text += " " + layout[i].text();
      }
      SCOPED_TRACE(text);
      try {
        ExpectJitted(placed);
      } catch (const ShardingError& e) {
        EXPECT_EQ(mode, AxisMode::Explicit) << e.what();
      }
      if (mode == AxisMode::Auto) break;
    }
  }
}

std::string NameOf(const testing::TestParamInfo<const Row*>& info) {
  return std::regex_replace(std::string(info.param->name), std::regex("[^A-Za-z0-9_]"), "_");
}
INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(AllRows()), NameOf);
INSTANTIATE_TEST_SUITE_P(All, FunctionsOfArrays, testing::ValuesIn(RowsWithOperands()), NameOf);

TEST(FunctionRows, AreAllTheValuesThatThereAre) {
  std::map<std::string, int> names;
  for (const Row* row : AllRows()) EXPECT_EQ(names[std::string(row->name)]++, 0) << row->name;
  for (const auto& [name, json] : Values()) EXPECT_EQ(names[name], 1) << name << " has no row";
}

}  // namespace
}  // namespace tessera::functions

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  tessera::SetDeviceCount(2);
  return RUN_ALL_TESTS();
}
