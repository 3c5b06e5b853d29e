// Products that are much larger than their results run in blocks, for every form of attention.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>

#include "spmd/blocks/limits.h"

namespace tessera::large_products_test {
namespace {

// Largest scores: 2 x 2048 x 2048.
constexpr int64_t kHeads = 2, kLength = 2048, kWidth = 8;

Array Data(std::vector<int64_t> shape, float step, DType dtype = f32) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return astype(reshape(sin(astype(arange(n), f32) * step), shape), dtype);
}

Array Causal(const Array& scores) {
  const Array i = arange(kLength);
  return where(reshape(i, {kLength, 1}) >= reshape(i, {1, kLength}), scores, -INFINITY);
}
Array Attention(const Array& q, const Array& k, const Array& v) {
  const Array scores = einsum("hsd,htd->hst", {q, k});
  return einsum("hst,htd->hsd", {softmax(Causal(scores), -1), v});
}
// Heads after the sequence dim, as projections leave them, and a lower triangle as mask.
Array OfProjections(const Array& q, const Array& k, const Array& v) {
  const Array scores = einsum("shd,thd->hst", {q, k});
  const Array mask = tril(ones({kLength, kLength}));
  return einsum("hst,thd->shd", {softmax(where(mask > 0, scores, -1e30f), -1), v});
}

int CountLoops(const Lowered& lowered) {
  const std::string text = lowered.device_program().text();
  int n = 0;
  for (size_t at = text.find("= scan"); at != std::string::npos; at = text.find("= scan", at + 1))
    ++n;
  return n;
}

// Runs f in blocks and whole.
template <class F, class... A>
double Difference(const F& f, const A&... arguments) {
  const auto flat = [](const auto& result) {
    std::vector<float> values;
    tree_map(
        [&](const Array& x) {
          for (float y : astype(x, f32).template to_vector<float>()) values.push_back(y);
          return x;
        },
        result);
    return values;
  };
  const std::vector<float> blocks = flat(jit(f)(arguments...));
  const spmd::BlockLimitsScope no_blocks({.least = int64_t{1} << 40});
  const auto whole = jit([&f](const A&... a) { return f(a...); });
  EXPECT_EQ(CountLoops(whole.lower(arguments...)), 0);
  const std::vector<float> wanted = flat(whole(arguments...));
  double most = blocks.size() == wanted.size() ? 0 : INFINITY;
  for (size_t i = 0; i < wanted.size(); ++i)
    most = std::max<double>(most, std::abs(blocks[i] - wanted[i]));
  return most;
}

TEST(Blocks, OfAttentionKeepNoScores) {
  SetDeviceCount(1);
  const Array q = Data({kHeads, kLength, kWidth}, 0.37f),
              k = Data({kHeads, kLength, kWidth}, 0.61f), v = Data({kHeads, kLength, kWidth}, 1.3f);
  const auto gradient =
      grad<0, 1, 2>([](Array q, Array k, Array v) { return sum(square(Attention(q, k, v))); });
  for (int64_t bytes :
       {jit(Attention).lower(q, k, v).peak_bytes(), jit(gradient).lower(q, k, v).peak_bytes()})
    EXPECT_LT(bytes, kHeads * kLength * kLength * 4) << "the scores alone, of all heads";
  EXPECT_LT(Difference(Attention, q, k, v), 1e-5);
  EXPECT_LT(Difference(gradient, q, k, v), 1e-4);
}

TEST(Blocks, OfProjectedAttention) {
  SetDeviceCount(1);
  const Array q = Data({kLength, kHeads, kWidth}, 0.37f),
              k = Data({kLength, kHeads, kWidth}, 0.61f), v = Data({kLength, kHeads, kWidth}, 1.3f);
  const auto gradient =
      grad<0, 1, 2>([](Array q, Array k, Array v) { return sum(cos(OfProjections(q, k, v))); });
  EXPECT_EQ(CountLoops(jit(OfProjections).lower(q, k, v)), 2);
  EXPECT_LT(jit(OfProjections).lower(q, k, v).peak_bytes(), kLength * kLength * 4 * 3 / 2);
  EXPECT_LT(Difference(OfProjections, q, k, v), 1e-5);
  EXPECT_LT(Difference(gradient, q, k, v), 1e-4);
}

// Layers that share a mask are in loops of their own.
TEST(Blocks, OfLayersOneByOne) {
  SetDeviceCount(1);
  const Array x = Data({kHeads, kLength, kWidth}, 0.37f);
  const auto layers = [](Array x) {
    const Array i = arange(kLength);
    const Array seen = reshape(i, {kLength, 1}) >= reshape(i, {1, kLength});
    for (int k = 0; k < 3; ++k) {
      const Array scores = where(seen, einsum("hsd,htd->hst", {x, x}), -INFINITY);
      x = x + cos(einsum("hst,htd->hsd", {softmax(scores, -1), x}));
    }
    return x;
  };
  EXPECT_EQ(CountLoops(jit(layers).lower(x)), 3 * 9) << "over heads, and 8 over rows";
  EXPECT_LT(Difference(layers, x), 1e-4);
  const auto gradient = grad([&](Array x) { return sum(square(layers(x))); });
  EXPECT_LT(jit(gradient).lower(x).peak_bytes(), kHeads * kLength * kLength * 4);
}

TEST(Blocks, AddUpSmallFloatsInF32) {
  SetDeviceCount(1);
  const Array q = Data({kHeads, kLength, kWidth}, 0.37f, bf16),
              k = Data({kHeads, kLength, kWidth}, 0.61f, bf16),
              v = Data({kHeads, kLength, kWidth}, 1.3f, bf16);
  const auto gradient = grad<0, 1, 2>(
      [](Array q, Array k, Array v) { return sum(astype(square(Attention(q, k, v)), f32)); });
  EXPECT_GT(CountLoops(jit(gradient).lower(q, k, v)), 1);
  EXPECT_LT(Difference(gradient, q, k, v), 0.1);
}

// Sequence over devices: each has its rows of the scores, or its columns.
TEST(Blocks, OfShardsOfTheSequence) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2, Auto}}));
  const Array q = Data({kHeads, 2 * kLength, kWidth}, 0.37f),
              k = Data({kHeads, kLength, kWidth}, 0.61f), v = Data({kHeads, kLength, kWidth}, 1.3f);
  const auto attention = [](Array q, Array k, Array v) {
    q = with_sharding_constraint(q, P(None, "x", None));
    const Array scores = einsum("hsd,htd->hst", {q, k});
    return einsum("hst,htd->hsd", {softmax(scores, -1), v});
  };
  const auto gradient =
      grad<0, 1, 2>([&](Array q, Array k, Array v) { return sum(square(attention(q, k, v))); });
  EXPECT_GE(CountLoops(jit(attention).lower(q, k, v)), 1);
  EXPECT_LT(Difference(attention, q, k, v), 1e-5);
  EXPECT_LT(Difference(gradient, q, k, v), 1e-4);
}

// Returns the work of f in blocks and without blocks.
template <class F, class... A>
double Work(const F& f, const A&... arguments) {
  const auto flops = static_cast<double>(jit(f).lower(arguments...).flops());
  const spmd::BlockLimitsScope no_blocks({.least = int64_t{1} << 40});
  const auto whole =
      static_cast<double>(jit([&f](const A&... a) { return f(a...); }).lower(arguments...).flops());
  return flops / whole;
}

TEST(Blocks, DoLessWork) {
  SetDeviceCount(1);
  MeshScope scope(abstract_mesh({{"x", 1}}));
  const Array q = abstract_array("f32[2,2048,64]");
  EXPECT_NEAR(Work(Attention, q, q, q), 9 / 16., 0.02) << "columns behind the mask are left out";
  const auto gradient =
      grad<0, 1, 2>([](Array q, Array k, Array v) { return log(sum(square(Attention(q, k, v)))); });
  EXPECT_NEAR(Work(gradient, q, q, q), 7 / 6. * 9 / 16, 0.03)
      << "the scores are made again, with the same columns";
}

// A product that is needed whole is computed whole, and so are products that are not much larger
// than their operands, as in dense layers.
TEST(Blocks, AreNotForEverything) {
  SetDeviceCount(1);
  MeshScope scope(abstract_mesh({{"x", 1}}));
  const Array q = abstract_array("f32[2,2048,8]"), x = abstract_array("f32[4096,1024]"),
              w = abstract_array("f32[1024,4096]");
  const auto scores = [](Array q) { return exp(einsum("hsd,htd->hst", {q, q})); };
  EXPECT_EQ(CountLoops(jit(scores).lower(q)), 0);
  EXPECT_GT(CountLoops(jit([&](Array q) { return sum(scores(q), {2}); }).lower(q)), 0);
  const auto layer = [](Array x, Array w) { return matmul(tanh(matmul(x, w)), w.T()); };
  EXPECT_EQ(CountLoops(jit(layer).lower(x, w)), 0);
}

}  // namespace
}  // namespace tessera::large_products_test
