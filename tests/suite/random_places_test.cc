// Places chosen for a whole program are never worse than those in types, and better where
// that shows.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "compile/run/lower.h"
#include "suite/random_program.h"

namespace tessera::suite::random_places_test {
namespace {

using Function = std::function<std::vector<Array>(const std::vector<Array>&)>;

template <class F>
Lowered LoweredAsTyped(const F& f, const std::vector<Array>& arguments) {
  return Lowered(compile::LowerProgram(jit(f).lower(arguments).impl()->program, {},
                                       {.skip = spmd::FindPass("choose_places")}));
}

bool Implied(const CommReport& comm) {
  return std::any_of(comm.events().begin(), comm.events().end(),
                     [](const CommEvent& e) { return e.implied; });
}

TEST(RandomPlaces, AreNeverWorse) {
  int better = 0;
  for (int seed = 0; seed < 300; ++seed) {
    for (AxisMode mode : {Auto, Explicit}) {
      const std::vector<Array> arguments = RandomArguments(seed);
      MeshScope scope(make_mesh({{"x", 2, mode}, {"y", 4, Auto}}));
      const auto f = [&](const std::vector<Array>& in) { return RandomProgram(seed, seed, in); };
      const Lowered chosen = jit(f).lower(arguments), typed = LoweredAsTyped(f, arguments);
      EXPECT_LE(chosen.comm().bytes(), typed.comm().bytes()) << "seed " << seed;
      EXPECT_LE(chosen.flops(), typed.flops()) << "seed " << seed;
      // A value that moves later may be fused differently.
      EXPECT_LE(chosen.peak_bytes(), typed.peak_bytes() * 11 / 10) << "seed " << seed;
      better += chosen.comm().bytes() < typed.comm().bytes();
    }
  }
  EXPECT_GT(better, 0);
}

Array Whole(const Array& x) { return reshard(x, P()); }

// Returns a program whose every move is asked for, from rows [8@x, 8].
Array Asking(int seed, std::vector<Array> values) {
  Dice dice(seed);
  const auto like = [](const Array& a, const Array& b) { return reshard(a, type_of(b).spec()); };
  for (int step = 0; step < 12; ++step) {
    const Array x = dice.Of(values);
    const int dims = static_cast<int>(x.shape().size());
    switch (dice.Below(8)) {
      case 0:
        values.push_back(exp(x));
        break;
      case 1:
        values.push_back(astype(x, dice.Below(2) ? bf16 : f32));
        break;
      case 2:
        values.push_back(transpose(x));
        break;
      case 3:
        if (dims > 1) values.push_back(sum(x, dice.Below(dims)));
        break;
      case 4:
      case 5:
        for (const Array& y : values)
          if (y.shape() == x.shape() && dice.Below(2)) {
            values.push_back(astype(x, f32) * like(astype(y, f32), x));
            break;
          }
        break;
      default:
        values.push_back(reshard(x, RandomSpec(dice, x.shape())));
    }
  }
  Array all = reshard(values[0], P());
  for (const Array& v : values)
    if (v.shape() == all.shape())
      all = all + reshard(astype(v, f32), P());
    else
      all = all + reshard(sum(astype(v, f32)), P());
  return all;
}

// A move that happens elsewhere than types say is reported at a line that asks for it.
TEST(RandomPlaces, AreAskedForWhereTypesAre) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  int better = 0;
  for (int seed = 0; seed < 400; ++seed) {
    const auto f = [&](const std::vector<Array>& in) { return std::vector{Asking(seed, in)}; };
    const Array rows = reshard(reshape(astype(arange(64), f32) * 0.01f, {8, 8}), P("x", None));
    const std::vector<Array> arguments = {rows, rows + 1.0f};
    const CommReport chosen = jit(Function(f)).lower(arguments).comm();
    const CommReport typed = LoweredAsTyped(f, arguments).comm();
    if (!Implied(typed)) {
      EXPECT_FALSE(Implied(chosen)) << "seed " << seed << "\n" << typed << chosen;
    }
    better += !Implied(typed) && chosen.bytes() < typed.bytes();
  }
  EXPECT_GT(better, 20);
}

// Programs of rows [64@x, 64], [64@x, 64] and [64, 64@x] that show why placements are
// chosen together.
struct Named {
  const char* name;
  std::vector<Array> (*run)(const std::vector<Array>& rows);
  int64_t bytes, as_typed;  // bytes that leave a device
};
const Named kNamed[] = {
    {"a_gather_then_a_slice_is_a_direct_move",
     [](const std::vector<Array>& rows) {
       return std::vector{reshard(exp(Whole(rows[0])), P(None, "x"))};
     },
     3072, 12288},
    {"both_ways_of_a_diamond_lie_alike",
     [](const std::vector<Array>& rows) {
       const Array whole = Whole(rows[0]);
       return std::vector{reshard(exp(whole) * (sin(whole) + 1.0f), P(None, "x"))};
     },
     3072, 12288},
    {"a_sum_is_gathered_instead_of_its_terms",
     [](const std::vector<Array>& rows) { return std::vector{Whole(rows[0]) + Whole(rows[1])}; },
     12288, 24576},
    {"what_is_converted_is_moved_as_the_smaller_of_both",
     [](const std::vector<Array>& rows) { return std::vector{astype(Whole(rows[0]), bf16)}; }, 6144,
     12288},
    {"a_sum_that_is_cut_later_is_scattered",
     [](const std::vector<Array>& rows) {
       return std::vector{reshard(exp(sum(rows[0], 0)), P("x"))};
     },
     192, 384},
    {"rows_that_are_summed_stay_where_they_are",
     [](const std::vector<Array>& rows) {
       return std::vector{reshard(sum(transpose(exp(Whole(rows[0])), {1, 0}), 0), P("x"))};
     },
     0, 12288},
    {"a_group_that_is_moved_twice_is_asked_for_still",
     [](const std::vector<Array>& rows) {
       return std::vector{astype(sum(Whole(rows[0]), 1), bf16)};
     },
     96, 12288},
    {"what_nobody_asks_for_is_implied_beside_what_is_asked_for",
     [](const std::vector<Array>& rows) {
       return std::vector{add(Whole(rows[0]), rows[2], {.out_sharding = P("x", None)})};
     },
     3072, 15360},
};

class NamedPlaces : public testing::TestWithParam<size_t> {};

TEST_P(NamedPlaces, SendFewerBytes) {
  const Named& c = kNamed[GetParam()];
  MeshScope scope(make_mesh({{"x", 4}}));
  const auto ramp = [](double first) {
    return reshard(reshape(astype(arange(64 * 64), f32) * 0.001f + first, {64, 64}), P("x", None));
  };
  const std::vector<Array> rows = {ramp(0), ramp(1), reshard(ramp(2), P(None, "x"))};
  const Lowered chosen = jit(Function(c.run)).lower(rows);
  const CommReport comm = chosen.comm();
  EXPECT_EQ(comm.bytes(), c.bytes) << comm;
  const CommReport as_typed = LoweredAsTyped(c.run, rows).comm();
  EXPECT_EQ(as_typed.bytes(), c.as_typed);
  EXPECT_EQ(Implied(comm), Implied(as_typed)) << comm;
  const Array got = jit(Function(c.run))(rows)[0], want = c.run(rows)[0];
  EXPECT_TRUE(all(Whole(got) == Whole(want)).item<bool>());
}

// A product whose sum is cut along the axis of the sum: no device sends more than a scatter of the
// sum, which is half of an all_reduce.
TEST(Places, OfProductsThatAreCutAreScattered) {
  constexpr int64_t kBytes = 98304;  // 3/4 of [8/2, 64, 128] floats
  for (AxisMode mode : {Explicit, Auto}) {
    MeshScope scope(make_mesh({{"data", 2, mode}, {"model", 4, mode}}));
    const auto place = [&](const Array& v, const PartitionSpec& spec) {
      return mode == Auto ? with_sharding_constraint(v, spec) : reshard(v, spec);
    };
    const auto numbers = [](std::vector<int64_t> shape) {
      const int64_t n =
          std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
      return sin(astype(arange(n), f32)).reshape(Shape(shape));
    };
    const Array x = numbers({8, 64, 128}), w = numbers({128, 128});
    const auto backward = [&](const std::vector<Array>& in) {
      const auto loss = [&](const Array& a) {
        return sum(sin(matmul(place(a, P("data", None, None)), place(in[1], P(None, "model")))));
      };
      return std::vector{
          place(grad(loss)(place(in[0], P("data", "model", None))), P("data", "model", None))};
    };
    const auto forward = [&](const std::vector<Array>& in) {
      DotOptions options;
      if (mode == Explicit) options.out_sharding = P("data", None, None);
      const Array product = matmul(place(in[0], P("data", None, "model")),
                                   transpose(place(in[1], P(None, "model"))), options);
      return std::vector{place(product, P("data", "model", None))};
    };
    for (const Function& f : {Function(backward), Function(forward)}) {
      const CommReport comm = jit(f).lower(std::vector{x, w}).comm();
      EXPECT_EQ(comm.count(CommKind::kAllReduce), 0) << comm;
      int64_t sent = 0;
      for (const CommEvent& e : comm.events())
        if (e.kind != CommKind::kAllGather) sent += e.bytes;
      EXPECT_LE(sent, kBytes) << comm;
      const Array whole = grad([&](const Array& a) { return sum(sin(matmul(a, w))); })(x);
      if (f.target_type() == Function(backward).target_type()) {
        EXPECT_TRUE(allclose(reshard(jit(f)(std::vector{x, w})[0], P(None, None, None)), whole,
                             {.rtol = 1e-4, .atol = 1e-4})
                        .item<bool>());
      }
    }
  }
}

// Each row meets all rows, so these are gathered. In the backward pass, each device holds a term of
// the gradient of all rows, which is scattered: 3/4 of [256, 64] floats leave a device, as for the
// gather. A sum on all devices would send twice as much.
TEST(Places, OfGradientsThroughGatheredRowsAreScattered) {
  constexpr int64_t kRows = 256, kWidth = 64, kBytes = kRows * kWidth * 4 * 3 / 4;
  for (AxisMode mode : {Explicit, Auto}) {
    MeshScope scope(make_mesh({{"x", 4, mode}}));
    const auto place = [&](Array v, PartitionSpec spec) {
      return mode == Auto ? with_sharding_constraint(v, spec) : reshard(v, spec);
    };
    const auto loss = [&](Array z) {
      z = place(z, P("x", None));
      const Array all = place(z, P());
      return mean(logsumexp(matmul(z, transpose(all)), -1) - sum(z * z, -1));
    };
    const auto step = [&](const std::vector<Array>& in) {
      return std::vector{place(grad(loss)(in[0]), P("x", None))};
    };
    const Array numbers = sin(astype(arange(kRows * kWidth), f32)).reshape({kRows, kWidth});
    const std::vector<Array> z = {mode == Auto ? numbers : reshard(numbers, P("x", None))};
    const CommReport comm = jit(Function(step)).lower(z).comm();
    EXPECT_EQ(comm.count(CommKind::kReduceScatter), 1) << comm;
    EXPECT_EQ(comm.bytes(), 2 * kBytes) << comm;
    EXPECT_EQ(LoweredAsTyped(step, z).comm().bytes(), 3 * kBytes);
    const Array got = jit(Function(step))(z)[0];
    EXPECT_TRUE(allclose(reshard(got, P()), grad(loss)(numbers), {.rtol = 1e-4}).item<bool>());
  }
}

TEST(Places, AreChosenInBodiesOfLoops) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array rows = reshard(zeros({64, 64}, f32), P("x", None));
  const auto loop = [](const std::vector<Array>& in) {
    return std::vector{fori_loop(
        0, 3,
        [](Array, Array x) {
          return reshard(reshard(exp(Whole(x)), P(None, "x")) * 0.5f, P("x", None));
        },
        in[0])};
  };
  const CommReport chosen = jit(Function(loop)).lower(std::vector{rows}).comm();
  EXPECT_LT(chosen.bytes(), LoweredAsTyped(loop, std::vector{rows}).comm().bytes()) << chosen;
  EXPECT_FALSE(Implied(chosen)) << chosen;
}

INSTANTIATE_TEST_SUITE_P(All, NamedPlaces, testing::Range(size_t{0}, std::size(kNamed)),
                         [](const auto& info) { return kNamed[info.param].name; });

}  // namespace
}  // namespace tessera::suite::random_places_test
