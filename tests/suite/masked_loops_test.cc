// Loops over blocks skip columns that a mask hides, and give the results of whole products, also if
// hidden numbers count, and in rows with hidden columns only.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "fuzz.h"
#include "spmd/blocks/limits.h"
#include "suite/random_program.h"

namespace tessera::suite::masked_loops_test {
namespace {

constexpr spmd::BlockLimits kSmall{.least = 1, .block = 512, .ratio = 0, .line = 1},
    kUnskipped{.least = 1, .block = 512, .ratio = 0, .line = 1 << 20},
    kWhole{.least = int64_t{1} << 40};

using Function = std::function<Array(Array, Array, Array)>;

constexpr int64_t kRows = 64;

Array Rows() { return expand_dims(arange(kRows), 1); }
Array Columns() { return expand_dims(arange(kRows), 0); }
Array Scores(const Array& q, const Array& k) { return einsum("hqd,hkd->hqk", {q, k}); }
Array Weighted(const Array& scores, const Array& v) {
  return einsum("hqk,hkd->hqd", {softmax(scores, -1), v});
}

struct Masked {
  const char* name;
  Function run;
  double flops;         // at most this share of the whole product's
  double gradient = 0;  // the same for its gradient; 0: it has none
};
const Masked kMasked[] = {
    {"causal",
     [](Array q, Array k, Array v) {
       return Weighted(where(Rows() >= Columns(), Scores(q, k), -INFINITY), v);
     },
     0.7, 0.8},
    {"causal_by_a_number",
     [](Array q, Array k, Array v) {
       return Weighted(where(Rows() >= Columns(), Scores(q, k), -1e30), v);
     },
     0.7, 0.8},
    // Hidden columns have a weight.
    {"hidden_columns_count",
     [](Array q, Array k, Array v) {
       return Weighted(where(Rows() >= Columns(), Scores(q, k), 0.5), v);
     },
     0.7, 0.8},
    {"the_other_way",
     [](Array q, Array k, Array v) {
       return Weighted(where(Columns() > Rows(), -INFINITY, Scores(q, k)), v);
     },
     0.7, 0.8},
    {"nothing_before",
     [](Array q, Array k, Array v) {
       return Weighted(where(Rows() < Columns() + 1, Scores(q, k), -INFINITY), v);
     },
     0.7, 0.8},
    // Some rows have only hidden columns: NaN.
    {"rows_without_columns",
     [](Array q, Array k, Array v) {
       return Weighted(where(Rows() >= Columns() + 20, Scores(q, k), -INFINITY), v);
     },
     0.6, 0.65},
    {"a_maximum",
     [](Array q, Array k, Array) {
       return max(where(Rows() - 3 >= Columns(), Scores(q, k), -2.0), -1);
     },
     0.7, 1.1},
    {"a_sum",
     [](Array q, Array k, Array) {
       return sum(square(where(Rows() >= Columns(), Scores(q, k), 3.0)), -1);
     },
     0.7, 1.02},
    {"both_sides_of_a_product_are_hidden",
     [](Array q, Array k, Array) {
       const Array x = where(Rows() >= Columns(), Scores(q, k), 0.25);
       return einsum("hqk,hqk->hq", {x, x * 2});
     },
     0.7, 1.02},
    // A band that is narrower, and one that is wider, than the rows of a loop.
    {"a_narrow_band",
     [](Array q, Array k, Array v) {
       const Array seen = (Rows() >= Columns() - 3) & (Rows() <= Columns() + 3);
       return Weighted(where(seen, Scores(q, k), -INFINITY), v);
     },
     0.35, 0.6},
    {"a_wide_band",
     [](Array q, Array k, Array v) {
       const Array seen = (Rows() >= Columns() - 20) & (Rows() <= Columns() + 20);
       return Weighted(where(seen, Scores(q, k), -1e30), v);
     },
     0.8, 1.02},
    // Numbers added after the mask differ by column.
    {"a_bias_behind_the_mask",
     [](Array q, Array k, Array v) {
       const Array seen = where(Rows() >= Columns(), Scores(q, k), -5.0);
       return Weighted(seen + astype(Columns(), f32) * 0.01, v);
     },
     1.02, 1.1},
    {"whole_numbers",
     [](Array q, Array k, Array v) {
       const Array x = astype(Scores(q, k) * 9, i8), seen = where(Rows() >= Columns(), x, 3);
       return einsum("hqk,hkd->hqd", {seen, astype(v * 9, i8)}) + sum(seen, -1, {.keepdims = true});
     },
     1.02},
    {"another_mask",
     [](Array q, Array k, Array v) {
       const Array both = (Rows() >= Columns()) & (Columns() != 7);
       return Weighted(where(both, Scores(q, k), -INFINITY), v);
     },
     1.02, 1.1},
};

class MaskedLoops : public testing::TestWithParam<size_t> {};

std::vector<Array> Arguments() {
  std::vector<Array> all;
  for (double first : {1.0, 2.0, 3.0})
    all.push_back(reshape(sin(astype(arange(2 * kRows * 8), f32) * first + first), {2, kRows, 8}));
  return all;
}

TEST_P(MaskedLoops, AreAsTheWhole) {
  const Masked& c = kMasked[GetParam()];
  const std::vector<Array> in = Arguments();
  const auto lowered = [&](const spmd::BlockLimits& limits) {
    const spmd::BlockLimitsScope scope(limits);
    return jit(Function(c.run)).lower(in[0], in[1], in[2]);
  };
  EXPECT_LE(lowered(kSmall).flops(), c.flops * lowered(kWhole).flops());
  const auto value = [&](const spmd::BlockLimits& limits) {
    const spmd::BlockLimitsScope scope(limits);
    return jit(Function(c.run))(in[0], in[1], in[2]);
  };
  const Array got = value(kSmall), want = value(kWhole);
  EXPECT_TRUE(all(isclose(got, want, {.rtol = 1e-5, .atol = 1e-6, .equal_nan = true})).item<bool>())
      << max(abs(got - want)).item<float>();
}

Function GradientOf(const Masked& c) {
  return [run = c.run](Array q, Array k, Array v) {
    const auto f = [&](Array x, Array y, Array z) {
      const Array result = run(x, y, z);
      return sum(result * sin(astype(arange(result.size()), f32)).reshape(result.shape()));
    };
    const auto [dq, dk, dv] = grad<0, 1, 2>(f)(q, k, v);
    return stack({dq, dk, dv});
  };
}

class MaskedGradients : public MaskedLoops {};

TEST_P(MaskedGradients, AreThoseOfTheWhole) {
  const Masked& c = kMasked[GetParam()];
  const std::vector<Array> in = Arguments();
  const auto run = [&](const spmd::BlockLimits& limits) {
    const spmd::BlockLimitsScope scope(limits);
    const auto f = jit(GradientOf(c));
    const auto flops = static_cast<double>(f.lower(in[0], in[1], in[2]).flops());
    return std::pair(f(in[0], in[1], in[2]), flops);
  };
  const auto [got, flops] = run(kSmall);
  const Array want = run(kWhole).first;
  EXPECT_TRUE(all(isclose(got, want, {.rtol = 1e-4, .atol = 1e-5, .equal_nan = true})).item<bool>())
      << max(abs(got - want)).item<float>();
  EXPECT_LE(flops, c.gradient * run(kUnskipped).second);
}

std::vector<size_t> WithGradients() {
  std::vector<size_t> cases;
  for (size_t i = 0; i < std::size(kMasked); ++i)
    if (kMasked[i].gradient > 0) cases.push_back(i);
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, MaskedGradients, testing::ValuesIn(WithGradients()),
                         [](const auto& info) { return kMasked[info.param].name; });
INSTANTIATE_TEST_SUITE_P(All, MaskedLoops, testing::Range(size_t{0}, std::size(kMasked)),
                         [](const auto& info) { return kMasked[info.param].name; });

// A hidden element is multiplied by no number that the whole product does not multiply it with.
TEST(MaskedLoopValues, KeepWhatIsNoNumber) {
  for (float odd : {std::nanf(""), std::numeric_limits<float>::infinity(), 3e38f}) {
    std::vector<Array> in = Arguments();
    const Array last = expand_dims(arange(kRows), 1) >= kRows - 3;
    in[2] = where(last, odd, in[2]);
    const auto value = [&](const spmd::BlockLimits& limits) {
      const spmd::BlockLimitsScope scope(limits);
      return jit(Function(kMasked[0].run))(in[0], in[1], in[2]);
    };
    const Array got = value(kSmall), want = value(kWhole);
    EXPECT_TRUE(
        all(isclose(got, want, {.rtol = 1e-5, .atol = 1e-6, .equal_nan = true})).item<bool>())
        << odd;
    if (odd == 3e38f) continue;  // products with it overflow, and products of their mean do not
    const auto gradient = [&](const spmd::BlockLimits& limits) {
      const spmd::BlockLimitsScope scope(limits);
      return jit(GradientOf(kMasked[0]))(in[0], in[1], in[2]);
    };
    EXPECT_TRUE(all(isclose(gradient(kSmall), gradient(kWhole),
                            {.rtol = 1e-4, .atol = 1e-5, .equal_nan = true}))
                    .item<bool>())
        << odd;
  }
}

// Rows are over Auto axes: the program does not know which rows a device has.
TEST(MaskedLoopValues, SmallFloatsAndDevices) {
  const std::vector<Array> in = Arguments();
  const MeshScope mesh(make_mesh({{"h", 2}, {"s", 4, Auto}}));
  for (DType dtype : {bf16, f32}) {
    const auto value = [&](const spmd::BlockLimits& limits, bool cuts_rows) {
      const spmd::BlockLimitsScope scope(limits);
      const auto attention = [&](const Array& q, const Array& k, const Array& v) {
        const auto laid_out = [&](const Array& x) { return reshard(astype(x, dtype), P("h")); };
        Array rows = laid_out(q);
        if (cuts_rows) rows = with_sharding_constraint(rows, P(Open(), "s"));
        return reshard(kMasked[0].run(rows, laid_out(k), laid_out(v)), P());
      };
      return astype(jit(attention)(in[0], in[1], in[2]), f32);
    };
    const Array want = value(kWhole, false);
    const double rtol = dtype == bf16 ? 2e-2 : 1e-5;
    for (bool cuts_rows : {false, true}) {
      const Array got = value(kSmall, cuts_rows);
      EXPECT_TRUE(all(isclose(got, want, {.rtol = rtol, .atol = 1e-3})).item<bool>());
    }
  }
}

}  // namespace
}  // namespace tessera::suite::masked_loops_test
