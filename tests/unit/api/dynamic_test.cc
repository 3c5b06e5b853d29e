// Slices of sharded arrays whose position is known at run time. Each device reads and writes the
// elements in its own shard.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <numeric>

#include "fuzz.h"

namespace tessera::dynamic_test {
namespace {

std::vector<double> Values(const Array& x) { return x.astype(f64).to_vector<double>(); }

// A case: an array, its sharding over 2 x 3 devices, and a slice of it.
struct Case {
  Shape shape, piece;
  PartitionSpec spec;
};

std::vector<Case> Cases() {
  return {{{12, 5}, {3, 5}, P("a")},
          {{12, 5}, {3, 5}, P({"b", "a"})},
          {{7, 6}, {7, 2}, P("a", "b")},
          {{7, 6}, {4, 5}, P("b", "a")},
          {{5, 3, 4}, {1, 3, 1}, P("a", "b")},
          {{4, 9}, {4, 9}, P("a", "b")},
          {{12}, {0}, P("a")},
          {{8, 64}, {1, 64}, P({"a", "b"})}};
}

class Dynamic : public testing::TestWithParam<DType> {
 protected:
  static Array Numbers(const Shape& shape, int step) {
    const std::vector<int64_t>& dims = shape.dims();
    const int64_t n = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    return (step * reshape(arange(1, n + 1), shape)).astype(GetParam());
  }
};

TEST_P(Dynamic, ShardsAgreeWithOneDevice) {
  SetDeviceCount(6);
  const Mesh mesh = make_mesh({{"a", 2, Auto}, {"b", 3, Auto}});
  for (const Case& c : Cases()) {
    const auto rank = c.shape.dims().size();
    const Array x = Numbers(c.shape, 1), u = Numbers(c.piece, -1);
    const auto run = [&](bool sharded, Array start) {
      return jit([&](Array x, Array u, Array start) {
        const auto placed = [&](Array v) {
          return sharded ? with_sharding_constraint(v, c.spec) : v;
        };
        const std::vector<Array> starts(rank, start);
        const Array updated = placed(dynamic_update_slice(placed(x), u, starts));
        return std::tuple(updated, dynamic_slice(placed(x), starts, c.piece),
                          dynamic_slice(updated, starts, c.piece));
      })(x, u, start);
    };
    for (int64_t start = -3; start < 13; start += start < 8 ? 1 : 4) {
      const auto [updated, was, is] = run(false, array(start));
      MeshScope scope(mesh);
      const auto [updated_on_6, was_on_6, is_on_6] = run(true, array(start));
      ASSERT_EQ(Values(updated_on_6), Values(updated)) << type_of(x) << " at " << start;
      ASSERT_EQ(Values(was_on_6), Values(was)) << type_of(x) << " at " << start;
      ASSERT_EQ(Values(is_on_6), Values(is)) << type_of(x) << " at " << start;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEverySize, Dynamic, testing::Values(bool_, i8, bf16, f32, i64, f64),
                         [](const auto& info) { return std::string(info.param.name()); });

// One token into a cache that is sharded along its sequence, and attention over it.
TEST(DynamicCache, OneStepOfDecodingSendsItsReductionsOnly) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 8, Auto}}));
  const auto step = [](Array keys, Array values, Array token, Array at) {
    const Array zero = zeros({}, {.dtype = i32});
    const auto write = [&](Array cache) {
      cache = with_sharding_constraint(cache, P(None, "x"));
      return with_sharding_constraint(dynamic_update_slice(cache, token, {zero, at, zero}),
                                      P(None, "x"));
    };
    keys = write(keys), values = write(values);
    const Array scores = einsum("hqd,hkd->hqk", {token, keys}) / 8;
    const Array seen = where(iota(scores.shape(), 2, {.dtype = i32}) <= at, scores, -1e30);
    return std::tuple(einsum("hqk,hkd->hqd", {softmax(seen, -1), values}), keys, values);
  };
  const Array cache = abstract_array("f32[8,8192,64]");
  const CommReport report =
      jit(step).lower(cache, cache, abstract_array("f32[8,1,64]"), abstract_array("i32[]")).comm();
  EXPECT_EQ(report.count(CommKind::kAllReduce), std::ssize(report.events())) << report;
  EXPECT_LE(report.bytes(), 4096) << report;
}

}  // namespace
}  // namespace tessera::dynamic_test
