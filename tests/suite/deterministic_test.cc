// In a Deterministic scope the bits of a result depend on its operands alone: not on the mesh, the
// layout, or the other lanes of a batch. Of every op, on every sample.
#include <gtest/gtest.h>

#include "fuzz.h"
#include "suite/compare.h"
#include "suite/lanes.h"
#include "suite/placements.h"
#include "suite/run.h"
#include "suite/table.h"
#include "tessera/tessera.h"

namespace tessera::suite::deterministic_test {
namespace {

using ir::HostTensor;
using sharding::MeshDef;

class InOneOrder : public testing::TestWithParam<const ir::OpDef*> {};

TEST_P(InOneOrder, EveryMeshGivesTheBitsOfOneDevice) {
  const Deterministic scope;
  for (const Sample* sample : SamplesOf(*GetParam())) {
    const std::vector<HostTensor> data = MakeData(*sample);
    const std::vector<HostTensor> want = RunEager(Unsharded(*sample), data);
    for (const MeshDef* mesh : {AutoMeshOf({2}), AutoMeshOf({3}), AutoMeshOf({4, 2})})
      ForEachAutoPlacement(*sample, mesh, FuzzCount(sample->truth ? 8 : 3), [&](const Case& c) {
        EXPECT_THAT(RunEager(c, data), AreSameBits(want)) << c.name();
      });
  }
}

TEST_P(InOneOrder, LanesHaveTheBitsOfEachAlone) {
  const Deterministic scope;
  for (const Sample* sample : SamplesOf(*GetParam())) {
    if (sample->operands.empty()) continue;
    for (const std::vector<bool>& mapped : LaneChoices(*sample)) {
      const Lanes lanes(*sample, mapped, MakeData(*sample));
      std::vector<MapDims> dims;
      for (const bool m : mapped) dims.push_back(m ? MapDims(0) : MapDims(None));
      const Case c = Unsharded(*sample);
      const auto f = vmap([&](const std::vector<Array>& xs) { return Apply(c, xs); },
                          {.in_dims = MapDims(std::vector{MapDims(std::move(dims))})});
      std::vector<Array> arrays;
      for (const HostTensor& t : lanes.data)
        arrays.push_back(Place(t, ir::Type::Get(t.shape, t.dtype, {})));
      EXPECT_THAT(ReadAll(f(arrays)), AreSameBits(lanes.LaneByLane())) << lanes.name();
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, InOneOrder, testing::ValuesIn(OpsWithRules()),
                         [](const auto& op) { return std::string(op.param->name); });

// Rows of a product at sizes where libraries change their kernels.
TEST(DeterministicProducts, HaveTheSameBitsWhateverTheirRowsAndColumns) {
  const Deterministic scope;
  for (const DType dtype : {f32, f64, bf16, f16, c64})
    for (const int64_t k : {1, 7, 300, 1031}) {
      const auto numbers = [&](uint64_t seed, const std::vector<int64_t>& shape) {
        return astype(random::normal(random::key(seed), shape), dtype);
      };
      const Array a = numbers(1, {130, k}), b = numbers(2, {k, 530});
      const Array whole = matmul(a, b);
      for (const int64_t m : {1, 5, 64, 129})
        for (const int64_t n : {1, 17, 512}) {
          const Array part = matmul(slice(a, {0, 0}, {m, k}), slice(b, {0, 0}, {k, n}));
          EXPECT_TRUE(array_equal(part, slice(whole, {0, 0}, {m, n})).item<bool>())
              << dtype.name() << " " << m << "x" << k << "x" << n;
          const Array turned =
              matmul(transpose(slice(b, {0, 0}, {k, n})), transpose(slice(a, {0, 0}, {m, k})));
          EXPECT_TRUE(array_equal(transpose(turned), part).item<bool>())
              << dtype.name() << " " << n << "x" << k << "x" << m;
        }
    }
}

// A step of training and its loss, for `batch` rows.
std::vector<Array> Step(const Array& x, const Array& w1, const Array& w2) {
  const auto loss = [](Array a, Array b, Array rows) {
    const Array logits = matmul(gelu(matmul(rows, a)), b);
    return mean(logsumexp(logits, -1) - sum(logits * softmax(logits), -1));
  };
  const auto [value, slopes] = value_and_grad<0, 1>(loss)(w1, w2, x);
  return {value, std::get<0>(slopes), std::get<1>(slopes)};
}

TEST(DeterministicPrograms, AStepHasTheSameBitsInEveryLayout) {
  const Deterministic scope;
  const Array x = random::normal(random::key(0), {32, 48});
  const Array w1 = random::normal(random::key(1), {48, 64}) * 0.2f;
  const Array w2 = random::normal(random::key(2), {64, 40}) * 0.2f;
  const auto step = jit(Step);
  const std::vector<Array> want = step(x, w1, w2);
  const Mesh mesh = make_mesh({{"data", 4, Auto}, {"model", 2, Auto}});
  const Mesh row = make_mesh({{"data", 8, Auto}});
  struct Layout {
    Mesh mesh;
    PartitionSpec x, w1, w2;
  };
  for (const Layout& l :
       {Layout{mesh, P("data"), P(None, "model"), P("model")},
        Layout{mesh, P("data", "model"), P(), P()},
        Layout{mesh, P(), P("data", "model"), P("model", "data")},
        Layout{row, P("data"), P("data"), P()}, Layout{row, P(), P(), P(None, "data")}}) {
    const MeshScope in(l.mesh);
    const std::vector<Array> got =
        step(with_sharding_constraint(x, l.x), with_sharding_constraint(w1, l.w1),
             with_sharding_constraint(w2, l.w2));
    for (size_t r = 0; r < want.size(); ++r)
      EXPECT_EQ(got[r].to_vector<float>(), want[r].to_vector<float>())
          << r << " on " << l.mesh.text();
  }
}

// The gradient of a reduced table is unreduced, and rows with the same id add up.
TEST(DeterministicPrograms, GradientsOfReducedTablesHaveTheSameBits) {
  const MeshScope in(make_mesh({{"x", 8}}));
  const Deterministic scope;
  const Array table = random::normal(random::key(0), {4, 3});
  const Array ids = random::randint(random::key(1), {64, 5}, 0, 4);
  const Array v = random::normal(random::key(2), {64, 5, 3});
  const auto slope = jit([](Array t, Array i, Array by) {
    const auto f = [&](Array own) { return sum(take(own, i, 0) * by) + sum(own[0] * by); };
    return reshard(grad(f)(t), P());
  });
  const std::vector<float> want = slope(table, ids, v).to_vector<float>();
  const Array sharded_ids = reshard(ids, P("x")), sharded_v = reshard(v, P("x"));
  EXPECT_EQ(slope(table, sharded_ids, sharded_v).to_vector<float>(), want);
  EXPECT_EQ(slope(reshard(table, P().reduced("x")), sharded_ids, sharded_v).to_vector<float>(),
            want);
}

TEST(DeterministicPrograms, ARowHasTheSameBitsInEveryBatch) {
  const Deterministic scope;
  const Array x = random::normal(random::key(0), {64, 300});
  const Array w = random::normal(random::key(1), {300, 70}) * 0.1f;
  const auto f = jit([](Array rows, Array weights) {
    const Array h = tanh(matmul(rows, weights));
    return softmax(h / (1 + sum(h * h, -1, {.keepdims = true})));
  });
  const std::vector<float> all = f(x, w).to_vector<float>();
  for (const int64_t batch : {1, 2, 7, 33}) {
    const std::vector<float> some = f(slice(x, {0, 0}, {batch, 300}), w).to_vector<float>();
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << batch;
  }
}

TEST(DeterministicPrograms, SumsOverShardedDimsHaveTheSameBits) {
  const Deterministic scope;
  const Array x = random::normal(random::key(0), {2400, 8});
  const Array segments = random::randint(random::key(1), {2400}, 0, 5);
  const auto f = jit([](Array v, Array ids) {
    return std::vector{sum(exp(v), 0), cumsum(v, 0), segment_sum(v, ids, {.num_segments = 5}),
                       var(v, 0), norm(v)};
  });
  const std::vector<Array> want = f(x, segments);
  const Mesh mesh = make_mesh({{"x", 8, Auto}});
  const MeshScope in(mesh);
  for (const PartitionSpec& spec : {P("x"), P(None, "x")}) {
    const std::vector<Array> got = f(with_sharding_constraint(x, spec), segments);
    for (size_t r = 0; r < want.size(); ++r)
      EXPECT_EQ(got[r].to_vector<float>(), want[r].to_vector<float>()) << r;
  }
}

}  // namespace
}  // namespace tessera::suite::deterministic_test
