// The memory that runs take beside the report of it. The arena rounds blocks up by at most 1/8. The
// scratch of kernels, one per thread, is not in the report.
#include <gtest/gtest.h>
#include <tessera/fft.h>
#include <tessera/linalg.h>
#include <tessera/tessera.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/arena.h"

namespace tessera::memory_used_test {
namespace {

constexpr double kRounding = 1.15;

// Runs it on meshes of 1 x 1 and 2 x 2. Every argument of `shapes` is sharded by its spec.
struct Case {
  std::string name;
  std::function<Array(Array, Array)> f;
  std::vector<int64_t> shapes[2];
  PartitionSpec specs[2];
};

std::vector<Case> Cases() {
  const auto attention = [](Array x, Array w) {
    const Array q = x.reshape({1, 1024, 2, 64}) * w[0];
    return dot_product_attention(q, q, q, {.is_causal = true});
  };
  const auto layers = [](Array x, Array w) {
    for (int k = 0; k < 6; ++k) x = tanh(matmul(x, w, {.out_sharding = P("x", None)})) + x;
    return sum(x * x);
  };
  return {
      {"a transform over three dims",
       [](Array x, Array) {
         return fft::fftn(x.astype(c64),
                          {.dims = {{1, 2, 3}}, .out_sharding = P(None, None, "x", "y")});
       },
       {{2, 64, 64, 64}, {1}},
       {P(None, "x", "y", None), P(None)}},
      {"a chain",
       [](Array x, Array w) {
         Array y = x;
         for (int k = 0; k < 5; ++k) y = y.T() * w + sin(y);
         return y;
       },
       {{512, 512}, {512}},
       {P(None, None), P(None)}},
      {"layers", layers, {{2048, 256}, {256, 256}}, {P("x", None), P(None, None)}},
      {"the gradient of layers",
       [layers](Array x, Array w) { return grad<1>(layers)(x, w); },
       {{2048, 256}, {256, 256}},
       {P("x", None), P(None, None)}},
      {"attention", attention, {{1024, 128}, {1}}, {P(None, "x"), P(None)}},
      {"a loop",
       [](Array x, Array w) {
         return fori_loop(
             0, 10, [&](Array, Array c) { return roll(c, 1, {0}) * w + x; }, x);
       },
       {{1024, 512}, {512}},
       {P("x", "y"), P("y")}},
      {"a sort",
       [](Array x, Array) { return sort(x, 1); },
       {{2048, 4096}, {1}},
       {P("x", None), P(None)}},
      {"a factorisation",
       [](Array x, Array) { return linalg::cholesky(matmul(x, x.T()) + 512 * eye(512)); },
       {{512, 512}, {1}},
       {P(None, None), P(None)}},
  };
}

class MemoryUsed : public testing::TestWithParam<int> {};

TEST_P(MemoryUsed, IsThatOfTheReport) {
  const int side = GetParam();
  SetDeviceCount(side * side);
  MeshScope scope(make_mesh({{"x", side}, {"y", side}}));
  runtime::Arena& arena = runtime::Arena::Get();
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const Array x = reshard(ones(c.shapes[0]), c.specs[0]),
                w = reshard(ones(c.shapes[1]), c.specs[1]);
    const auto f = jit(c.f);
    const Lowered lowered = f.lower(x, w);
    f(x, w);
    arena.TakeMostLive();
    const int64_t before = arena.live();
    const Array result = f(x, w);
    const auto used = static_cast<double>(arena.TakeMostLive() - before);
    const MemoryReport memory = lowered.memory();
    const int64_t arguments = memory.bytes(MemoryKind::kArgument)[0];
    const auto reported = static_cast<double>(side * side * (memory.peak_bytes() - arguments));
    RecordProperty(c.name, std::to_string(used / reported));
    EXPECT_LE(used, kRounding * reported) << c.name;
    EXPECT_GT(used, 0) << result;
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, MemoryUsed, testing::Values(1, 2));

}  // namespace
}  // namespace tessera::memory_used_test
