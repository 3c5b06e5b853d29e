// Optimisers and schedules have optax's numbers after 3 and 100 steps, on one device and on shards.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "optimisers/problem.h"
#include "optimisers/rows.h"

namespace tessera::optimisers_test {
namespace {

using Values = std::vector<std::vector<double>>;

// Returns the values of a row, which must be those of its code.
Values ValuesOf(std::string_view name, std::string_view optax) {
  static const auto lines = [] {
    std::map<std::string, nlohmann::json> by_name;
    std::ifstream file(TESSERA_SOURCE_DIR "/tests/optimisers/values.jsonl");
    for (std::string line; std::getline(file, line);) {
      nlohmann::json row = nlohmann::json::parse(line);
      by_name[row["name"].get<std::string>()] = row;
    }
    return by_name;
  }();
  const auto found = lines.find(std::string(name));
  if (found == lines.end() || found->second["optax"] != optax) {
    ADD_FAILURE() << name << " has no values: run tests/optimisers/values.py";
    return {};
  }
  return found->second["values"].get<Values>();
}

DType DTypeOf(std::string_view name) { return name == "f64" ? f64 : name == "bf16" ? bf16 : f32; }

enum class Mode { kOneDevice, kExplicit, kAuto, kManual };

Specs SpecsOf(const std::map<std::string, Array>& arrays) {
  std::vector<Specs> specs;
  for (const auto& [name, x] : arrays) specs.emplace_back(type_of(x).spec());
  return Specs(specs);
}
Specs SpecsOf(const State& s) { return {SpecsOf(s.params), SpecsOf(s.optimiser), P()}; }
Specs SpecsOf(const Problem& p) {
  return {SpecsOf(p.start), SpecsOf(p.target), SpecsOf(p.slope), SpecsOf(p.index)};
}

// Checks the parameters after some steps, and that no array of the state changes its type.
void CheckRow(const OptimiserRow& row, Mode mode) {
  SCOPED_TRACE(row.name);
  const Values values = ValuesOf(row.name, row.optax);
  if (values.empty()) return;
  const bool shards = mode == Mode::kExplicit || mode == Mode::kManual;
  const Problem problem = MakeProblem(DTypeOf(row.dtype), shards);
  const Optimiser optimiser = row.make(mode == Mode::kManual ? AxisSet("x") : AxisSet());
  State state = Start(optimiser, problem);
  const std::function<State(State, Problem)> on_device = [&](State s, Problem p) {
    return Step(optimiser, s, p);
  };
  std::function<State(State, Problem)> step = on_device;
  if (mode == Mode::kManual)
    step = shard_map(on_device,
                     {.in_specs = {SpecsOf(state), SpecsOf(problem)}, .out_specs = SpecsOf(state)});
  const auto jitted = jit(step, {.donate = {0}});
  std::map<std::string, std::string> types;
  for (const auto& [name, x] : state.optimiser) types[name] = type_of(x).text();
  for (int i = 1; i <= 100; ++i) {
    state = jitted(std::move(state), problem);
    if (i == 3 || i == 100) {
      EXPECT_THAT(NumbersOf(state.params),
                  testing::Pointwise(testing::DoubleNear(row.tolerance), values[i == 100]))
          << "after " << i << " steps";
    }
  }
  for (const auto& [name, x] : state.optimiser) EXPECT_EQ(type_of(x).text(), types[name]) << name;
}

TEST(Optimisers, HaveTheNumbersOfOptax) {
  for (const OptimiserRow& row : OptimiserRows()) CheckRow(row, Mode::kOneDevice);
}

TEST(Optimisers, HaveTheSameNumbersOnExplicitShards) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 8}}));
  for (const OptimiserRow& row : OptimiserRows()) CheckRow(row, Mode::kExplicit);
}

TEST(Optimisers, HaveTheSameNumbersOverAutoAxes) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 8, Auto}}));
  for (const OptimiserRow& row : OptimiserRows()) CheckRow(row, Mode::kAuto);
}

TEST(Optimisers, HaveTheSameNumbersInShardMap) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 8}}));
  for (const OptimiserRow& row : OptimiserRows())
    if (!row.whole) CheckRow(row, Mode::kManual);
}

TEST(Schedules, HaveTheNumbersOfOptax) {
  for (const ScheduleRow& row : ScheduleRows()) {
    SCOPED_TRACE(row.name);
    const Values values = ValuesOf(row.name, row.optax);
    ASSERT_EQ(values.size(), 1u);
    const RateSchedule schedule = row.make();
    const auto jitted = jit([&](Array step) { return schedule(step); });
    for (size_t i = 0; i < values[0].size(); ++i)
      EXPECT_NEAR(jitted(array(static_cast<int>(i))).item<double>(), values[0][i], 5e-7) << i;
  }
}

TEST(Schedules, MayBeFunctionsOrArrays) {
  const auto f = [](Array step) { return 0.5 / (step + 1.0); };
  EXPECT_FLOAT_EQ(RateSchedule(f)(array(3)).item<float>(), 0.125f);
  EXPECT_FLOAT_EQ(RateSchedule(array(0.5))(array(3)).item<float>(), 0.5f);
  const Optimiser sgd = optimisers::sgd(f);
  OptimiserState state = sgd.init(ones({2}));
  const auto [updates, next] = sgd.update(ones({2}), state, ones({2}));
  EXPECT_EQ(updates.to_vector<float>(), (std::vector<float>{-0.5f, -0.5f}));
  EXPECT_EQ(next.at("count").item<int>(), 1);
}

}  // namespace
}  // namespace tessera::optimisers_test
