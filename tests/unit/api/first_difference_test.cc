// first_difference names the value, its line, iteration, element and devices; recordings.
#include "tessera/first_difference.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "runtime/run.h"
#include "tessera/tessera.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Layers {
  Array first, second;
};
TESSERA_FIELDS(Layers, first, second);

Array Numbers(Shape shape, int seed) { return random::normal(random::key(seed), std::move(shape)); }

// A loop of three steps. In one of them, the given one, the product is wrong by `factor` in row 5.
Array Run(Layers w, Array x, int64_t wrong_step, double factor) {
  const auto body = [&](Array i, Array h) {
    const Array product = matmul(h, w.first);
    const Array row = arange(h.shape(0)).reshape({h.shape(0), 1});
    const Array fault = where((i == wrong_step) & (row == 5), factor, 1.0);
    const Array wrong = product * with_sharding_constraint(fault, P());
    return tanh(matmul(wrong, w.second));
  };
  return sum(fori_loop(0, 3, body, x));
}

const int kFaultLine = __LINE__ - 7;

std::tuple<Layers, Array> Arguments() {
  return {{Numbers({16, 32}, 1) / 4, Numbers({32, 16}, 2) / 6}, Numbers({8, 16}, 3)};
}

auto Step(int64_t wrong_step, double factor) {
  return [=](Layers w, Array x) {
    return jit([=](Layers own, Array y) { return Run(own, y, wrong_step, factor); })(w, x);
  };
}

RunPlace Alone() { return {make_mesh({{"d", 1, Auto}})}; }
RunPlace OnEight() { return {make_mesh({{"d", 8, Auto}}), {Specs(P()), Specs(P())}}; }

class FirstDifferences : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetDeviceCount(8); }
};

// A run of three steps. The last is wrong by the factor.
std::function<void()> On(const RunPlace& place, double factor) {
  return [&place, factor] {
    MeshScope scope(place.mesh);
    auto [w, x] = Arguments();
    Step(2, factor)(reshard(w, P()), reshard(x, P()));
  };
}

TEST_F(FirstDifferences, NoneOnOtherMeshes) {
  const FirstDifference d = first_difference(Step(-1, 1), Arguments(), Alone(), OnEight());
  EXPECT_FALSE(d.found) << d;
  EXPECT_GT(d.compared, 5);
  EXPECT_EQ(d.unmatched, 0);
  EXPECT_THAT(d.text(), HasSubstr("no difference in "));
}

TEST_F(FirstDifferences, NamesTheLiteralAndTheIteration) {
  const RunPlace place = OnEight();
  const FirstDifference d = first_difference(On(place, 1), On(place, 1.5));
  ASSERT_TRUE(d.found);
  EXPECT_EQ(d.op, "constant") << d;
  EXPECT_EQ(d.where, "first_difference_test.cc:" + std::to_string(kFaultLine));
  EXPECT_EQ(d.a.number, "1");
  EXPECT_EQ(d.b.number, "1.5");
  EXPECT_THAT(d.iterations, ElementsAre(2));
  EXPECT_THAT(d.text(), HasSubstr("in iteration 2 of the loop"));
}

// The results of a program correspond, whatever makes them.
TEST_F(FirstDifferences, NamesTheOpsThatMakeAResult) {
  const auto run = [](bool is_wrong) {
    return [is_wrong] {
      jit([=](Array x) {
        const Array y = matmul(x, x);
        return is_wrong ? exp(y) : tanh(y);
      })(Numbers({8, 8}, 1));
    };
  };
  const FirstDifference d = first_difference(run(false), run(true));
  ASSERT_TRUE(d.found) << d;
  EXPECT_EQ(d.a.op, "tanh") << d;
  EXPECT_EQ(d.b.op, "exp") << d;
  EXPECT_EQ(d.differing, 64) << d;
  EXPECT_THAT(d.text(), HasSubstr("; made by exp at first_difference_test.cc:"));
  ASSERT_EQ(d.operands.size(), 1u);
  EXPECT_EQ(d.operands[0].difference, 0) << d;
}

// A fault of the first call alone: a cache that was empty, a race.
TEST_F(FirstDifferences, SaysThatAValueDidNotDifferAgain) {
  int calls = 0;
  const auto run = [&](bool is_wrong) {
    return [&calls, is_wrong] {
      const double shift = is_wrong && calls++ == 0 ? 1 : 0;
      jit([=](Array x, Array own) { return tanh(matmul(x, x) + own); })(
          Numbers({8, 8}, 1), full({8, 8}, shift, {.dtype = f32}));
    };
  };
  const FirstDifference d = first_difference(run(false), run(true));
  ASSERT_TRUE(d.found) << d;
  EXPECT_FALSE(d.repeats) << d;
  EXPECT_EQ(d.op, "tanh") << d;
  EXPECT_THAT(d.text(), HasSubstr("  it did not differ when both ran again: "));
}

// A host function with a fault in one element of its result.
Array Copied(const Array& x, bool is_wrong) {
  return pure_callback(
      [is_wrong](Array own) {
        return is_wrong ? own.at({5, 3}).add(1) : own + 0;
      },
      abstract_array("f32[8,16]"), x);
}

TEST_F(FirstDifferences, NamesTheElementAndItsDevice) {
  MeshScope scope(make_mesh({{"d", 4}}));
  const Array x = reshard(Numbers({8, 16}, 1), P("d"));
  const auto run = [&](bool is_wrong) {
    return [&x, is_wrong] {
      jit([=](Array y) { return named(exp(reshard(Copied(y, is_wrong), P("d"))), "grown") * 2; })(
          x);
    };
  };
  const FirstDifference d = first_difference(run(false), run(true));
  ASSERT_TRUE(d.found);
  EXPECT_EQ(d.op, "pure_callback") << d;
  EXPECT_THAT(d.index, ElementsAre(5, 3));
  EXPECT_EQ(d.differing, 1);
  EXPECT_EQ(d.elements, 128);
  ASSERT_EQ(d.operands.size(), 1u);
  EXPECT_EQ(d.operands[0].difference, 0);
  EXPECT_THAT(d.text(), HasSubstr("from implied_reshard at first_difference_test.cc:"));
}

TEST_F(FirstDifferences, NamesTheBackwardPass) {
  const auto run = [](double factor) {
    return [factor] {
      const auto loss = [factor](Array x) {
        const auto scaled =
            custom_vjp([](Array v) { return v * 3; }, [](Array v) { return std::pair(v * 3, v); },
                       [factor](Array, Array g) { return g * 3 * factor; });
        return sum(tanh(scaled(x)));
      };
      jit(grad(loss))(Numbers({4, 4}, 1));
    };
  };
  const FirstDifference d = first_difference(run(1), run(2));
  ASSERT_TRUE(d.found);
  EXPECT_NE(d.where, "") << d;
  EXPECT_FALSE(first_difference(run(2), run(2)).found);
}

// The sum that a device forgets is claimed to be the same everywhere.
TEST_F(FirstDifferences, NamesReplicasThatDiffer) {
  MeshScope scope(make_mesh({{"d", 4}}));
  const Array x = reshard(Numbers({8}, 1), P("d"));
  const auto run = [&](bool sums) {
    return [&x, sums] {
      jit(shard_map(
          [sums](Array own) {
            const Array part = sum(own);
            return sums ? psum(part, "d") : assume_invariant(part, "d");
          },
          {.in_specs = P("d"), .out_specs = P()}))(x);
    };
  };
  const FirstDifference d = first_difference(run(true), run(false));
  ReplicaSharing(true);
  ASSERT_TRUE(d.found) << d;
  EXPECT_TRUE(d.replicas_differ) << d;
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Large arrays are summed in parts, by as many threads as there are at that moment.
TEST_F(FirstDifferences, ARecordingDoesNotDependOnTheThreads) {
  const std::string path = testing::TempDir() + "threads.run";
  const Array x = Numbers({600, 600}, 5);
  const auto record = [&](const std::function<void(int call)>& before) {
    record_run(
        [&] {
          const auto f = jit([](Array v) { return tanh(matmul(tanh(v), v)); });
          for (int call = 0; call < 4; ++call) before(call), f(x);
        },
        path);
    return BytesOf(path);
  };
  SetWorkerCount(1);
  const std::string alone = record([](int) {});
  const std::string changing = record([](int call) {
    runtime::ForceParallel(call > 0);
    SetWorkerCount(call == 0 ? 1 : 3);
    runtime::DissolveTeamsAfter(call == 2 ? 2 : 0);
  });
  runtime::ForceParallel(false);
  runtime::DissolveTeamsAfter(0);
  SetWorkerCount(0);
  EXPECT_EQ(alone, changing);
  std::remove(path.c_str());
}

// Values that a run has not completed when it fails are not mixed with those of the next one.
TEST_F(FirstDifferences, AfterARunThatFails) {
  const RunPlace place = OnEight();
  const auto run = [&](int failures) {
    return [&place, failures] {
      MeshScope scope(place.mesh);
      auto calls = std::make_shared<int>(0);
      const Array x = reshard(Numbers({8, 16}, 3), P());
      const auto f = jit([=](Array v) {
        const Array y = matmul(v, v.T());
        debug_callback(
            [=](const std::vector<Array>&) {
              if ((*calls)++ < failures) throw std::runtime_error("not yet");
            },
            {y});
        return tanh(matmul(y, v));
      });
      for (int k = 0; k < failures; ++k) EXPECT_ANY_THROW(f(x));
      f(x);
    };
  };
  const FirstDifference d = first_difference(run(0), run(2));
  EXPECT_FALSE(d.found) << d;
  EXPECT_GT(d.compared, 1);
}

// Devices whose arrays are equal may share one buffer, or have one each.
TEST_F(FirstDifferences, NoneWhereDevicesShareBuffers) {
  const auto run = [](bool shares) {
    return [shares] {
      ReplicaSharing(shares);
      MeshScope scope(make_mesh({{"d", 8}}));
      const auto each = [](Array w, Array x) {
        const Array own = pcast(w, {"d"}, Variance::kVarying);
        return matmul(x, own);
      };
      jit(shard_map(each, {.out_specs = P("d")}))(Numbers({16, 16}, 1),
                                                  reshard(Numbers({8, 16}, 2), P("d")));
    };
  };
  const FirstDifference d = first_difference(run(true), run(false));
  ReplicaSharing(true);
  EXPECT_FALSE(d.found) << d;
  EXPECT_GT(d.compared, 0);
}

TEST_F(FirstDifferences, OfARecording) {
  const std::string path = testing::TempDir() + "first_difference.run";
  const RunPlace place = OnEight();
  record_run(On(place, 1), path);
  const FirstDifference same = first_difference(path, On(place, 1));
  EXPECT_FALSE(same.found) << same;
  EXPECT_GT(same.compared, 5);
  const FirstDifference other = first_difference(path, On(place, 1.5));
  ASSERT_TRUE(other.found);
  EXPECT_THAT(other.iterations, ElementsAre(2)) << other;
  // Any byte less is an error, and no crash.
  const std::string bytes = BytesOf(path);
  for (size_t n = 0; n < bytes.size(); n += 1 + bytes.size() / 50) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, n);
    EXPECT_THROW(first_difference(path, [] {}), RuntimeError) << n;
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tessera
