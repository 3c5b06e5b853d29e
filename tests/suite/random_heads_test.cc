// Attention with a random number of heads of a random size, few of which divide the mesh. Several
// devices give the result and the gradients that one device gives.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fuzz.h"
#include "suite/random_program.h"

namespace tessera::suite::random_heads_test {
namespace {

struct HeadSizes {
  int64_t batch, length, heads, size;
  int64_t width() const { return heads * size; }
};

struct Weights {
  Array q, k, v, out;
};
TESSERA_FIELDS(Weights, q, k, v, out);

// The axis `model` where it divides the heads, else the part of it that does.
DimSharding HeadAxis(const Mesh& mesh, int64_t heads) {
  const int64_t size = mesh.axis_size("model"), part = std::gcd(heads, size);
  if (part == 1) return None;
  return part == size ? AxisRef("model") : SubAxis("model", 1, part);
}

Array Attention(const HeadSizes& s, const Weights& w, const Array& x) {
  const auto split = [&](const Array& projection) {
    return matmul(x, projection).reshape({s.batch, s.length, s.heads, s.size});
  };
  const Array scores =
      einsum("bqhd,bkhd->bhqk", {split(w.q), split(w.k)}) / std::sqrt(static_cast<float>(s.size));
  const Array mixed = einsum("bhqk,bkhd->bqhd", {softmax(scores, -1), split(w.v)});
  const Array joined = mixed.reshape({s.batch, s.length, s.width()});
  const auto axes = current_mesh().axes();
  const bool is_explicit = !axes.empty() && axes[0].mode == Explicit;
  return is_explicit ? matmul(joined, w.out, {.out_sharding = P("data")}) : matmul(joined, w.out);
}

std::vector<std::vector<float>> Read(const std::vector<Array>& arrays) {
  std::vector<std::vector<float>> values;
  for (const Array& x : arrays) values.push_back(x.to_vector<float>());
  return values;
}

// Returns the value and the gradients.
std::vector<std::vector<float>> Step(const HeadSizes& s, const Weights& w, const Array& x) {
  const auto loss = [&](Weights w, Array x) { return sum(sin(Attention(s, w, x))); };
  const auto [value, gradients] = jit(value_and_grad<0, 1>(loss))(w, x);
  std::vector<Array> all = tree_leaves(std::get<0>(gradients));
  all.push_back(std::get<1>(gradients));
  all.push_back(value);
  return Read(all);
}

void ExpectNear(const std::vector<std::vector<float>>& got,
                const std::vector<std::vector<float>>& want) {
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got[k].size(), want[k].size());
    float largest = 1;
    for (float v : want[k]) largest = std::max(largest, std::fabs(v));
    for (size_t i = 0; i < want[k].size(); ++i)
      ASSERT_NEAR(got[k][i], want[k][i], 1e-4 * largest) << "result " << k << ", element " << i;
  }
}

void TryHeads(int seed) {
  Dice dice(seed);
  const HeadSizes s{2 * (1 + dice.Below(2)), 1 + dice.Below(9), 1 + dice.Below(12),
                    1 + dice.Below(20)};
  const std::vector<int64_t> model_sizes = {2, 3, 4, 6, 8};
  const int64_t model = dice.Of(model_sizes), data = model <= 4 ? 1 + dice.Below(2) : 1;
  SCOPED_TRACE(
      fmt::format("seed {}: {} heads of {} over {} x {}", seed, s.heads, s.size, data, model));
  const Array key = random::key(seed);
  const auto draw = [&](int n, Shape shape) {
    return random::normal(random::fold_in(key, n), std::move(shape)) * 0.3f;
  };
  const Weights w{draw(0, {s.width(), s.width()}), draw(1, {s.width(), s.width()}),
                  draw(2, {s.width(), s.width()}), draw(3, {s.width(), s.width()})};
  const Array x = draw(4, {s.batch, s.length, s.width()});
  const auto want = Step(s, w, x);
  for (const AxisMode mode : {Explicit, Auto}) {
    const Mesh mesh = make_mesh({{"data", data, mode}, {"model", model, mode}});
    MeshScope scope(mesh);
    if (mode == Explicit) {
      const DimSharding heads = HeadAxis(mesh, s.heads);
      const PartitionSpec columns = P(None, heads), rows = P(heads);
      ExpectNear(Step(s,
                      {reshard(w.q, columns), reshard(w.k, columns), reshard(w.v, columns),
                       reshard(w.out, rows)},
                      reshard(x, P("data"))),
                 want);
      continue;
    }
    // The whole axis over the columns: 12 heads need not divide it.
    const auto constrained = [&](const Weights& w) {
      const PartitionSpec columns = P(None, Open("model")), rows = P(Open("model"));
      return Weights{with_sharding_constraint(w.q, columns), with_sharding_constraint(w.k, columns),
                     with_sharding_constraint(w.v, columns), with_sharding_constraint(w.out, rows)};
    };
    ExpectNear(Step(s, dice.Below(2) ? constrained(w) : w, with_sharding_constraint(x, P("data"))),
               want);
  }
}

TEST(RandomHeads, AgreeWithOneDevice) {
  for (int seed = 0; seed < FuzzCount(40) && !HasFailure(); ++seed) try {
      TryHeads(seed);
    } catch (const Error& e) {
      ADD_FAILURE() << "seed " << seed << ": " << e.what();
    }
}

}  // namespace
}  // namespace tessera::suite::random_heads_test
