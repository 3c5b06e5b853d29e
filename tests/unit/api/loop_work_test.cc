// Work that loops do not repeat: reductions of their sums, values that are the same in every
// iteration, and equal loops.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>

namespace tessera::loop_work_test {
namespace {

Array Data(std::vector<int64_t> shape, PartitionSpec spec) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return reshard(reshape(sin(astype(arange(n), f32)), shape), std::move(spec));
}

// Returns the sum of x^T y over batches. Each batch is sharded over the devices.
Array Accumulated(Array start, Array xs, Array ys) {
  return std::get<0>(scan(
      [](Array c, std::pair<Array, Array> batch) {
        const auto& [x, y] = batch;
        return std::pair(c + einsum("bi,bj->ij", {x, y}, {.out_sharding = P({}, {})}), sum(x, {0}));
      },
      start, std::pair(xs, ys)));
}

TEST(LoopReductions, GradientsThatAreAddedUpAreReducedOnce) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array xs = Data({6, 8, 3}, P({}, "x", {})), ys = Data({6, 8, 5}, P({}, "x", {}));
  const Array start = Data({3, 5}, P({}, {}));
  auto sums = jit(Accumulated);
  Array wanted = start;
  for (int k = 0; k < 6; ++k)
    wanted = wanted + einsum("bi,bj->ij", {xs[k], ys[k]}, {.out_sharding = P({}, {})});
  EXPECT_LT(max(abs(sums(start, xs, ys) - wanted)).item<float>(), 1e-5);
  const CommReport report = sums.lower(start, xs, ys).comm();
  ASSERT_EQ(report.events().size(), 1u) << report.text();
  EXPECT_EQ(report.events()[0].times, 1) << report.text();
}

TEST(LoopReductions, HoldForWhatIsLinearInTheCarriedValue) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = Data({8, 5}, P("x", {}));
  const Array start = Data({5}, P({}));
  struct Row {
    const char* name;
    std::function<Array(Array, Array)> body;  // of the carried value and 8 x 5 elements
    bool waits;
  };
  const Row rows[] = {
      {"sum", [](Array c, Array v) { return c + sum(v, {0}); }, true},
      {"difference", [](Array c, Array v) { return sum(v, {0}) - c; }, true},
      {"momentum", [](Array c, Array v) { return 0.9f * c + sum(v, {0}); }, true},
      {"two", [](Array c, Array v) { return sum(v, {0}) + (c - sum(v * v, {0})); }, true},
      {"momentum of two", [](Array c, Array v) { return 0.9f * c + sum(v, {0}) - sum(v * v, {0}); },
       true},
      {"max", [](Array c, Array v) { return maximum(c, max(v, {0})); }, false},
      {"max of a sum", [](Array c, Array v) { return maximum(c, sum(v, {0})); }, false},
      {"product", [](Array c, Array v) { return c * sum(v, {0}); }, false},
      {"square", [](Array c, Array v) { return c * c + sum(v, {0}); }, false},
      {"factor of reductions", [](Array c, Array v) { return c + sum(v, {0}) * sum(cos(v), {0}); },
       false},
      {"factor of the carried", [](Array c, Array v) { return c * sum(v, {0}) + sum(cos(v), {0}); },
       false},
      {"both kinds", [](Array c, Array v) { return c + sum(v, {0}) + max(v, {0}); }, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    auto loop = [&](Array c, Array v) {
      return fori_loop(
          0, 4, [&](Array i, Array c) { return row.body(c, v * astype(i + 1, f32)); }, c);
    };
    const Lowered lowered = jit(loop).lower(start, x);
    int64_t times = 0;
    for (const CommEvent& e : lowered.comm().events()) times = std::max(times, e.times);
    EXPECT_EQ(times, row.waits ? 1 : 4) << lowered.device_program();
    const std::vector<float> got = jit(loop)(start, x).to_vector<float>();
    Array c = start;
    for (int i = 0; i < 4; ++i) c = row.body(c, x * static_cast<float>(i + 1));
    const std::vector<float> wanted = c.to_vector<float>();
    for (size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(got[k], wanted[k], 1e-5 * (1 + std::abs(wanted[k])));
  }
}

// Microbatches of microbatches: the sums of each level are reduced after the outermost loop.
TEST(LoopReductions, LeaveAllLoopsThatOnlyHandThemOn) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = Data({8, 5}, P("x", {})), start = Data({5}, P({}));
  const auto inner = [](Array c, Array v, float factor) {
    return fori_loop(
        0, 3, [&](Array, Array now) { return factor * now + 0.1f * sum(v * now, {0}); }, c);
  };
  struct Row {
    const char* name;
    std::function<Array(Array, Array)> body;  // of the outer loop
    bool waits;
  };
  const auto add = [](Array c, Array v) {
    return fori_loop(
        0, 3, [&](Array i, Array now) { return now + sum(v * i, {0}); }, c);
  };
  const Row rows[] = {
      {"loop", add, true},
      {"loop of loops",
       [&](Array c, Array v) {
         return fori_loop(
             0, 2, [&](Array, Array now) { return add(now, v); }, c);
       },
       true},
      {"loop and more", [&](Array c, Array v) { return add(c, v) + sum(cos(v), {0}); }, true},
      {"loop of a multiple", [&](Array c, Array v) { return add(2.0f * c, v); }, true},
      {"loop that is added", [&](Array c, Array v) { return c + add(zeros({5}, f32), v); }, true},
      {"loop after loop", [&](Array c, Array v) { return add(add(c, v), 2.0f * v); }, true},
      {"loop and its start", [&](Array c, Array v) { return add(c, v) * c; }, false},
      {"loop that reads what it adds to", [&](Array c, Array v) { return inner(c, v, 0.5f); },
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto outer = [&](Array c, Array v) {
      return fori_loop(
          0, 4, [&](Array i, Array now) { return row.body(now, v * astype(i + 1, f32)); }, c);
    };
    const CommReport report = jit(outer).lower(start, x).comm();
    int64_t times = 0;
    for (const CommEvent& event : report.events()) times += event.times;
    if (row.waits)
      EXPECT_EQ(times, 1) << report.text();
    else
      EXPECT_GE(times, 4) << report.text();
    const Array got = jit(outer)(start, x), wanted = outer(start, reshard(x, P({}, {})));
    EXPECT_LT(max(abs(got - wanted) / (1.0f + abs(wanted))).item<float>(), 1e-5);
  }
}

TEST(LoopInvariants, AreComputedOnce) {
  SetDeviceCount(1);
  const Array w = reshape(sin(astype(arange(64), f32)), {8, 8}), x = ones({8});
  const auto loop = [](int trips) {
    return [trips](Array w, Array x) {
      return fori_loop(
          0, trips,
          [&](Array, Array c) {
            Array heavy = tanh(matmul(w, w));        // the same in every iteration
            Array wide = reshape(x, {8, 1}) * w[0];  // larger than its operands: recomputed
            return tanh(matmul(heavy + wide, c));
          },
          x);
    };
  };
  const auto flops = [&](int trips) { return jit(loop(trips)).lower(w, x).flops(); };
  EXPECT_GT(flops(2), 2 * 8 * 8 * 8);
  EXPECT_LT(flops(12) - flops(2), 10 * 600) << "2 * 8^3 = 1024 more where it is not";
  Array wanted = x;
  for (int i = 0; i < 5; ++i)
    wanted = tanh(matmul(tanh(matmul(w, w)) + reshape(x, {8, 1}) * w[0], wanted));
  EXPECT_LT(max(abs(jit(loop(5))(w, x) - wanted)).item<float>(), 1e-6);
}

// Loops and branches that are equal to earlier ones are not run again.
TEST(EqualRegions, RunOnce) {
  SetDeviceCount(1);
  const auto powers = [](Array x, float by) {
    return fori_loop(
        0, 5, [&](Array, Array c) { return c * by; }, x);
  };
  const auto count = [](const std::string& program, std::string_view op) {
    int n = 0;
    for (size_t at = program.find(op); at != std::string::npos; at = program.find(op, at + 1)) ++n;
    return n;
  };
  const Array x = ones({3});
  auto same = jit([&](Array v) { return powers(v, 2) + powers(v, 2); });
  auto other = jit([&](Array v) { return powers(v, 2) + powers(v, 3); });
  EXPECT_EQ(count(same.lower(x).device_program().text(), "scan"), 1);
  EXPECT_EQ(count(other.lower(x).device_program().text(), "scan"), 2);
  EXPECT_EQ(same(x).to_vector<float>()[1], 64);
  EXPECT_EQ(other(x).to_vector<float>()[1], 32 + 243);
  int calls = 0;
  auto acts = jit([&](Array v) {
    const auto step = [&](Array, Array c) {
      debug_callback([&calls] { ++calls; }, {});
      return c * 2;
    };
    return fori_loop(0, 3, step, v) + fori_loop(0, 3, step, v);
  });
  EXPECT_EQ(acts(x).to_vector<float>()[0], 16);
  EXPECT_EQ(calls, 6);
}

}  // namespace
}  // namespace tessera::loop_work_test
