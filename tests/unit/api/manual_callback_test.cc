// debug_callback, print_shards, NanWatch and pictures inside of shard_map, also where devices run
// by themselves.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <sstream>

#include "runtime/run.h"

namespace tessera::manual_callback_test {
namespace {

using testing::HasSubstr;

// Runs a function of each shard of arange(8) on 2 x 2 devices, eagerly and compiled.
template <class F>
void OnFour(F f) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}, {.device_ids = {3, 2, 1, 0}}));
  const Array a = reshard(arange(8.0), P({"x", "y"}));
  auto mapped = shard_map(f, {.out_specs = P({"x", "y"})});
  mapped(a);
  jit(mapped)(a);
}

TEST(DebugCallback, IsCalledForEachDeviceInsideOfShardMap) {
  using Call = std::pair<double, double>;
  std::vector<Call> seen;
  std::string type;
  const auto look = [&](Array v, Array at) {
    type = type_of(v).text();
    seen.emplace_back(sum(v).astype(f64).item<double>(), at.astype(f64).item<double>());
  };
  OnFour([&](Array v) {
    debug_callback(look, {v, axis_index({"x", "y"})}, {.ordered = true});
    return v;
  });
  const std::vector<Call> each = {{1, 0}, {5, 1}, {9, 2}, {13, 3}};
  std::vector<Call> twice = each;
  twice.insert(twice.end(), each.begin(), each.end());
  EXPECT_EQ(seen, twice);
  EXPECT_EQ(type, "f32[2]");
  seen.clear();
  OnFour([&](Array v) {
    debug_callback(look, {psum(v, "y"), axis_index("x")}, {.ordered = true});
    debug_callback(look, {psum(v, {"x", "y"}), 7}, {.ordered = true});
    return v;
  });
  const std::vector<Call> rows = {{6, 0}, {22, 1}, {28, 7}, {6, 0}, {22, 1}, {28, 7}};
  EXPECT_EQ(seen, rows) << "once for devices that have the same";
}

TEST(DebugCallback, IsCalledByDevicesThatRunByThemselves) {
  using Call = std::pair<double, double>;
  std::vector<Call> seen;
  const auto f = [&](Array v) {
    const Array at = axis_index({"x", "y"});
    return while_loop([&](Array u) { return sum(u) < 11; },
                      [&](Array u) {
                        debug_callback(
                            [&](Array w, Array d) {
                              seen.emplace_back(sum(w).astype(f64).item<double>(),
                                                d.astype(f64).item<double>());
                            },
                            {u, at}, {.ordered = true});
                        return u + 2;
                      },
                      v);
  };
  const std::vector<Call> once = {{1, 0}, {5, 0}, {9, 0}, {5, 1}, {9, 1}, {9, 2}};
  std::vector<Call> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  runtime::ForceParallel(true);
  SetWorkerCount(2);
  OnFour(f);
  SetWorkerCount(0);
  runtime::ForceParallel(false);
  EXPECT_EQ(seen, twice);
  seen.clear();
  ReplicaSharing(false);
  OnFour([&](Array v) {
    return cond(
               axis_index("x") == 1,
               [&](Array u) {
                 debug_callback(
                     [&](Array w) { seen.emplace_back(sum(w).astype(f64).item<double>(), 0); },
                     {u});
                 return u;
               },
               [](Array u) { return u; }, psum(v, "y")) +
           v;
  });
  ReplicaSharing(true);
  const std::vector<Call> rows = {{22, 0}, {22, 0}};
  EXPECT_EQ(seen, rows) << "once for devices that do the same";
}

TEST(PrintShards, PrintsInsideOfShardMap) {
  testing::internal::CaptureStdout();
  OnFour([](Array v) {
    print_shards(v);
    return v;
  });
  const std::string once = "device 3 [0:2]\ndevice 2 [0:2]\ndevice 1 [0:2]\ndevice 0 [0:2]\n";
  EXPECT_EQ(testing::internal::GetCapturedStdout(), once + once);
  testing::internal::CaptureStdout();
  OnFour([](Array v) {
    return cond(
        axis_index({"x", "y"}) % 2 == 1,
        [](Array u) {
          print_shards(u);
          return u;
        },
        [](Array u) { return u; }, v);
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "device 2 [0:2]\ndevice 0 [0:2]\ndevice 2 [0:2]\ndevice 0 [0:2]\n");
}

TEST(VisualizeSharding, DrawsInsideOfShardMap) {
  std::vector<std::string> drawn;
  OnFour([&](Array v) {
    drawn.push_back(visualize_sharding(psum(v, "x"), {.color = false}));
    return v;
  });
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_EQ(drawn[0],
            "f32[2]{V:y}\n"
            "y=0\n+------+\n| 1,3  |\n+------+\n"
            "y=1\n+------+\n| 0,2  |\n+------+\n");
  EXPECT_EQ(drawn[1], drawn[0]);
}

TEST(VisualizeSharding, DrawsAnyRank) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  EXPECT_EQ(visualize_sharding(reshard(zeros({2, 2, 2}), P("x", None, "y")), {.color = false}),
            "f32[2@x,2,2@y]\n"
            "[0:1, :, :]\n+------+------+\n|  0   |  1   |\n+------+------+\n"
            "[1:2, :, :]\n+------+------+\n|  2   |  3   |\n+------+------+\n");
  EXPECT_EQ(visualize_sharding(reshard(zeros({}), P()), {.color = false}),
            "f32[]\n+------+\n| 0-3  |\n+------+\n");
}

std::string Found(const std::function<void()>& program) {
  NanWatch watch;
  try {
    program();
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(NanWatch, NamesTheDeviceInsideOfShardMap) {
  const auto f = [](Array v) { return log(v - 6.f * (axis_index({"x", "y"}) == 2)); };
  EXPECT_THAT(Found([&] { OnFour(f); }),
              HasSubstr("element [0] of its result f32[2]{V:(x,y)} is nan, on device 1"));
  EXPECT_THAT(Found([&] {
                OnFour([&](Array v) {
                  return cond(
                      axis_index("x") == 1, f, [](Array u) { return u; }, v);
                });
              }),
              HasSubstr("element [0] of its result f32[2] is nan, on device 1"));
}

TEST(Printing, SaysWhenEachDeviceHasValuesOfItsOwn) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  std::ostringstream out;
  shard_map([&](Array v) { return out << v << "; " << psum(v, "x"), v; },
            {.out_specs = P("x")})(reshard(arange(2.0), P("x")));
  EXPECT_EQ(out.str(),
            "f32[1]{V:x}, and each device has its own (see debug_callback); "
            "f32[1]\n[1]");
}

}  // namespace
}  // namespace tessera::manual_callback_test
