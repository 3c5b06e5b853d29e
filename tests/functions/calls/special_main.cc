// special_calls FILE: runs the calls that random_special.py wrote, whole and on shards, prints
// those that differ from JAX, and counts.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "conformance/compare.h"
#include "functions/special_functions.h"

namespace tessera::special_test {
namespace {

using Json = nlohmann::json;

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
  const SpecialFunction call = SpecialFunctions().at(line["call"]);
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

// Returns the arrays with the first dim of one of them on two devices; nothing if it has no halves.
Arrays Sharded(const Arrays& operands, size_t which) {
  if (operands[which].rank() == 0 || operands[which].shape()[0] % 2 != 0) return {};
  Arrays placed;
  for (size_t i = 0; i < operands.size(); ++i)
    placed.push_back(
        jit([](Array x) { return x; }, {.out_shardings = i == which ? P("x") : P()})(operands[i]));
  return placed;
}

int Run(const char* path) {
  const DefaultDtypes wide(i64, f64);
  SetDeviceCount(2);
  std::ifstream file(path);
  size_t number = 0, differing = 0;
  const auto tell = [&](const char* where, const std::string& problem, const std::string& text) {
    if (problem.empty()) return;
    ++differing;
    fmt::print("{}{}: {}\n", problem, where, text.substr(0, 400));
  };
  for (std::string text; std::getline(file, text); ++number) {
    const Json line = Json::parse(text);
    const Arrays operands = AllOfJson(line["arguments"]);
    tell("", ProblemOf(line, operands), text);
    for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
      MeshScope scope(make_mesh({{"x", 2, mode}}));
      const Arrays placed = Sharded(operands, number % operands.size());
      if (!placed.empty()) tell(" on shards", ProblemOf(line, placed), text);
    }
  }
  fmt::print("{} calls, {} differ\n", number, differing);
  return number > 0 && differing == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::special_test

int main(int argc, char** argv) {
  if (argc == 2) return tessera::special_test::Run(argv[1]);
  fmt::print(stderr, "special_calls FILE\n");
  return 2;
}
