// Profiles of runs: their counts, their text, and the file for Perfetto.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace tessera::profile_test {
namespace {

using testing::HasSubstr;

TEST(Profile, CountsCallsBytesAndFlopsOfEachLine) {
  SetDeviceCount(4);
  MeshScope mesh(make_mesh({{"d", 4}}));
  const Array x = reshard(ones({8, 16}, f32), P("d", None)), w = ones({16, 16}, f32);
  const auto f = jit([](Array a, Array b) {
    const Array y = fori_loop(
        0, 3, [&](Array, Array v) { return matmul(v, b); }, a);
    return sum(y);
  });
  const Profile profile = f.lower(x, w).profile(x, w);
  const auto find = [&](const std::string& name) {
    for (const ProfileStep& step : profile.steps())
      if (step.name.starts_with(name)) return step;
    return ProfileStep{};
  };
  const ProfileStep dot = find("dot_general at profile_test.cc:");
  EXPECT_EQ(dot.calls, 4 * 3);
  EXPECT_EQ(dot.flops, 3 * 2 * 8 * 16 * 16);
  EXPECT_EQ(dot.bytes, 3 * 4 * (2 * 16 + 16 * 16 + 2 * 16) * 4);
  EXPECT_FALSE(dot.exchange);
  EXPECT_GT(dot.seconds, 0);
  EXPECT_GT(dot.of_limit, 0);
  const ProfileStep reduce = find("all_reduce at profile_test.cc:");
  EXPECT_TRUE(reduce.exchange);
  EXPECT_GE(reduce.calls, 1);
  EXPECT_GE(profile.workers(), 1);
  EXPECT_GT(profile.seconds(), 0);
  EXPECT_GT(profile.bytes_per_second(), 1e8);
  EXPECT_GT(profile.flops_per_second(), 1e8);
  for (size_t k = 1; k < profile.steps().size(); ++k)
    EXPECT_GE(profile.steps()[k - 1].seconds, profile.steps()[k].seconds);
  EXPECT_THAT(profile.text(), HasSubstr("of limit"));
  EXPECT_THAT(profile.text(), HasSubstr(dot.name));
  EXPECT_THAT(profile.text(), HasSubstr("(exchange)"));
}

// Devices that run differently: each as a run of its own, whose steps count once.
TEST(Profile, CountsBranchesThatDevicesTakeForThemselves) {
  SetDeviceCount(8);
  MeshScope mesh(make_mesh({{"d", 8}}));
  const Array x = reshard(ones({512, 64}, f32), P("d", None)), w = ones({64, 64}, f32);
  const auto some = [](Array a, Array b) {
    const auto twice = [&](Array v) { return matmul(matmul(v, b), b); };
    return cond(
        axis_index("d") < 3, twice, [](Array v) { return v; }, a);
  };
  const Profile profile =
      jit(shard_map(some, {.out_specs = P("d", None)})).lower(x, w).profile(x, w);
  std::map<std::string, int64_t> calls;
  for (const ProfileStep& step : profile.steps())
    calls[step.name.substr(0, step.name.find(' '))] += step.calls;
  EXPECT_EQ(calls["dot_general"], 3 * 2);
  EXPECT_EQ(calls["cond"], 5);  // copies of v
  const auto path = std::filesystem::temp_directory_path() / "tessera_branches_test.json";
  profile.write(path);
  std::ifstream file(path);
  std::multiset<int> devices;
  std::map<int, double> compared;  // when
  const auto events = nlohmann::json::parse(file);
  const auto of = [](const auto& event, const char* op) {
    return event["name"].template get<std::string>().starts_with(op);
  };
  for (const auto& event : events)
    if (of(event, "lt")) compared[event["args"]["device"].get<int>()] = event["ts"].get<double>();
  for (const auto& event : events) {
    if (!of(event, "dot_general")) continue;
    const int device = event["args"]["device"].get<int>();
    devices.insert(device);
    EXPECT_GT(event["ts"].get<double>(), compared.at(device));
  }
  EXPECT_THAT(devices, testing::ElementsAre(0, 0, 1, 1, 2, 2));
  std::filesystem::remove(path);
}

// Returns the events of a trace that have a phase: "X", steps; "C", counters.
std::vector<nlohmann::json> EventsOf(const std::filesystem::path& path, const std::string& phase) {
  std::ifstream file(path);
  std::vector<nlohmann::json> events;
  for (const auto& event : nlohmann::json::parse(file))
    if (event["ph"] == phase) events.push_back(event);
  return events;
}

TEST(Profile, CountsTheMemoryOfADeviceOverTime) {
  SetDeviceCount(4);
  MeshScope mesh(make_mesh({{"d", 4}}));
  const Array x = reshard(ones({64, 64}, f32), P("d", None)), w = ones({64, 64}, f32);
  const auto f = jit([](Array a, Array b) {
    const Array y = fori_loop(
        0, 3, [&](Array, Array v) { return matmul(tanh(matmul(v, b)), b); }, a);
    return grad([&](Array v) { return sum(tanh(matmul(y, v))); })(b);
  });
  const Lowered lowered = f.lower(x, w);
  const auto path = std::filesystem::temp_directory_path() / "tessera_memory_test.json";
  lowered.profile(x, w).write(path);
  const auto counters = EventsOf(path, "C");
  std::filesystem::remove(path);
  // One for each step of the program, and zeros at the end.
  ASSERT_EQ(counters.size(), lowered.memory().steps().size());
  std::vector<int64_t> wanted = lowered.memory().bytes();
  wanted.erase(wanted.begin());  // the time before the first step
  wanted.push_back(0);
  double time = 0;
  for (size_t k = 0; k < counters.size(); ++k) {
    int64_t bytes = 0;
    for (const auto& [use, held] : counters[k]["args"].items()) bytes += held.get<int64_t>();
    EXPECT_EQ(bytes, wanted[k]) << k;
    EXPECT_GE(counters[k]["ts"].get<double>(), time);
    time = counters[k]["ts"].get<double>();
  }
  EXPECT_EQ(counters[0]["args"]["arguments"], (16 * 64 + 64 * 64) * 4);
  EXPECT_EQ(counters.back()["args"]["arguments"], 0);  // the run has ended
}

// Branches that devices take for themselves record no event of the program.
TEST(Profile, CountsTheMemoryOfStepsWithoutEvents) {
  SetDeviceCount(4);
  MeshScope mesh(make_mesh({{"d", 4}}));
  const Array x = reshard(ones({32, 64}, f32), P("d"));
  const auto some = [](Array a) {
    const auto large = [](Array v) { return v + sum(matmul(v.T(), v)); };
    return cond(
        axis_index("d") < 1, large, [](Array v) { return v; }, a);
  };
  const auto f = jit([=](Array a) { return tanh(shard_map(some, {.out_specs = P("d")})(a)); });
  const Lowered lowered = f.lower(x);
  const auto path = std::filesystem::temp_directory_path() / "tessera_memory_test.json";
  lowered.profile(x).write(path);
  int64_t most = 0;
  for (const auto& counter : EventsOf(path, "C")) {
    int64_t bytes = 0;
    for (const auto& [use, held] : counter["args"].items()) bytes += held.get<int64_t>();
    most = std::max(most, bytes);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(most, lowered.memory().peak_bytes());
}

TEST(Profile, WritesATraceThatParses) {
  SetDeviceCount(1);
  const Array x = ones({64, 64}, f32);
  const auto f = jit([](Array a) { return matmul(a, a) + 1; });
  const Profile profile = f.lower(x).profile(x);
  const auto path = std::filesystem::temp_directory_path() / "tessera_profile_test.json";
  profile.write(path);
  const auto events = EventsOf(path, "X");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[0]["name"].get<std::string>(), HasSubstr("dot_general at profile_test.cc:"));
  EXPECT_EQ(events[0]["args"]["FLOPs"], 2 * 64 * 64 * 64);
  EXPECT_GE(events[1]["ts"].get<double>(), events[0]["ts"].get<double>());
  std::filesystem::remove(path);
  EXPECT_THROW(profile.write("/no/such/folder/trace.json"), RuntimeError);
}

TEST(Profile, RefusesOtherArguments) {
  SetDeviceCount(1);
  const Array x = ones({4}, f32);
  const Lowered lowered = jit([](Array a) { return a + 1; }).lower(x);
  EXPECT_THROW(lowered.profile(), ShapeError);
  EXPECT_THROW(lowered.profile(ones({5}, f32)), ShapeError);
  EXPECT_THROW(lowered.profile(ones({4}, i32)), ShapeError);
  EXPECT_THROW(jit([&](Array a) {
                 lowered.profile(a);
                 return a;
               })(x),
               TraceError);
  EXPECT_EQ(lowered.profile(x).steps().size(), 1u);
}

}  // namespace
}  // namespace tessera::profile_test
