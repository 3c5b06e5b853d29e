// Random programs of nested loops and branches: teams of workers, and meshes, against
// the reference interpreter.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cstring>
#include <functional>
#include <random>

#include "cli/html.h"
#include "fuzz.h"
#include "ir/interpret.h"
#include "ir/program.h"
#include "runtime/run.h"

namespace tessera::suite::random_control_test {
namespace {

using Arrays = std::vector<Array>;

// Makes one program per seed, however often it is traced. All values are i32[12,6].
class LoopMaker {
 public:
  LoopMaker(int seed, bool meshed) : engine_(static_cast<unsigned>(seed)), meshed_(meshed) {}

  Arrays Block(Arrays pool, int depth) {
    for (int k = 1 + Below(4); k > 0; --k) Statement(pool, depth);
    return {Pick(pool), pool.back(), Pick(pool)};
  }

 private:
  int Below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  const Array& Pick(const Arrays& pool) { return pool[Below(static_cast<int>(pool.size()))]; }
  Array Kept(Array x) { return meshed_ ? reshard(x % 101, P("x", None)) : x % 101; }
  void Add(Arrays& pool, const Arrays& more) { pool.insert(pool.end(), more.begin(), more.end()); }
  Array Whole(Array x) { return meshed_ ? reshard(x, P()) : x; }
  Array Number(const Array& x) { return sum(x) % 5; }

  void Statement(Arrays& pool, int depth) {
    Array a = Pick(pool), b = Pick(pool);
    switch (Below(depth > 0 ? 10 : 5)) {
      case 0:
        return pool.push_back((a * 3 + b) % 101);
      case 1:
        return pool.push_back(-a);
      case 2:
        return pool.push_back(Kept(a + sum(b, 0)));
      case 3:
        return pool.push_back(Kept(transpose(Whole(b)).reshape({12, 6}) + a));
      case 4:
        return pool.push_back(meshed_ ? reshard(reshard(a, P()) + 1, P("x", None)) : a + 1);
      case 5:
        return Add(pool, fori_loop(0, Below(4), Body(pool, depth), Arrays{a, b, Pick(pool)}));
      case 6:
        return Add(pool, fori_loop(0, Number(a), Body(pool, depth), Arrays{b, a, a}));
      case 7:
        return Add(pool,
                   cond(Number(a) < 2, Branch(depth), Branch(depth), Arrays{a, b, Pick(pool)}));
      case 8:
        return Add(pool,
                   switch_case(Number(b), std::tuple(Branch(depth), Branch(depth), Branch(depth)),
                               Arrays{b, a}));
      default:
        return Scan(pool, a, b, depth);
    }
  }

  std::function<Arrays(Array, Arrays)> Body(Arrays pool, int depth) {
    return [this, pool, depth](Array i, Arrays carry) {
      Arrays inner = pool;
      Add(inner, carry);
      inner.push_back(Kept(Pick(inner) + i));
      return Block(inner, depth - 1);
    };
  }
  std::function<Arrays(Arrays)> Branch(int depth) {
    return [this, depth](Arrays values) { return Block(values, depth - 1); };
  }
  void Scan(Arrays& pool, Array a, Array b, int depth) {
    auto [c, ys] = scan(
        [&](Array carry, NoneType) {
          Arrays out = Block({carry, b}, depth - 1);
          return std::pair(out[0], std::pair(out[1], out[2]));
        },
        a, None, {.length = 1 + Below(3), .reverse = Below(2) == 0});
    auto [d, zs] = scan(
        [&](Array carry, std::pair<Array, Array> x) {
          Arrays out = Block({carry, x.first, x.second}, depth - 1);
          return std::pair(out[0], out[1]);
        },
        c, ys, {.reverse = Below(2) == 0});
    Add(pool, {c, d, Kept(sum(zs, 0))});
  }

  std::mt19937 engine_;
  bool meshed_;
};

auto ProgramOf(int seed, bool meshed) {
  return jit([=](Array a, Array b) { return LoopMaker(seed, meshed).Block({a, b}, 3); });
}

std::vector<std::vector<int>> Read(const Arrays& arrays) {
  std::vector<std::vector<int>> out;
  for (const Array& x : arrays) out.push_back(x.to_vector<int>());
  return out;
}

std::vector<std::vector<int>> Interpreted(const Program& program, const Arrays& in) {
  std::vector<ir::HostTensor> tensors;
  for (const Array& x : in) {
    tensors.emplace_back(i32, x.shape());
    std::vector<int> data = x.to_vector<int>();
    std::memcpy(tensors.back().data.data(), data.data(), data.size() * sizeof(int));
  }
  std::vector<std::vector<int>> out;
  for (const ir::HostTensor& t : ir::Interpret(*program.program(), tensors)) {
    out.emplace_back();
    for (int64_t i = 0; i < t.size(); ++i) out.back().push_back(static_cast<int>(t.Int(i)));
  }
  return out;
}

void ExpectExplained(const Program& program) {
  for (const Explanation& e : explain_all(program)) EXPECT_NE(e.text, "") << e.value;
}

// Loops and branches whose arguments want different layouts over Auto axes.
TEST(RandomControl, EveryValueOverAutoAxesIsExplained) {
  MeshScope scope(make_mesh({{"x", 2, Auto}, {"y", 3, Auto}}));
  for (int seed = 0; seed < 20; ++seed) {
    auto program = jit([=](Array a, Array b) {
      a = with_sharding_constraint(a, seed % 2 ? P("x", Open()) : P("y", "x"));
      b = with_sharding_constraint(b, seed % 3 ? P(Open(), "x") : P("x", None).replicated("y"));
      return LoopMaker(seed, false).Block({a, b}, 3);
    });
    Array a = abstract_array("i32[12,6]");
    Program traced = program.trace(a, a);
    for (int stage = 0; stage < 4; ++stage)
      EXPECT_NE(cli::HtmlPage(traced, "random", static_cast<propagation::Stage>(stage)), "")
          << "seed " << seed;
  }
}

TEST(RandomControl, AgreesWithTheInterpreter) {
  std::vector<int> seeds = {135, 284};  // once lacked a barrier where storages swapped
  for (int seed = 0; seed < FuzzCount(20); ++seed) seeds.push_back(seed);
  for (int seed : seeds) {
    if (HasFailure()) return;
    Array a = astype(iota({12, 6}, 0) * 7 + iota({12, 6}, 1), i32), b = a * 5 % 101;
    auto wanted = Interpreted(ProgramOf(seed, false).trace(a, b), {a, b});
    EXPECT_EQ(Read(ProgramOf(seed, false)(a, b)), wanted) << "seed " << seed;
    for (int devices : {2, 3, 6}) {
      MeshScope scope(make_mesh({{"x", devices}}));
      Array x = reshard(a, P("x", None)), y = reshard(b, P("x", None));
      ExpectExplained(ProgramOf(seed, true).trace(x, y));
      for (bool share : {true, false}) {
        ReplicaSharing(share);
        for (int workers : {1, 2, 3}) {
          runtime::SetWorkerCount(workers);
          runtime::ForceParallel(workers > 1);
          EXPECT_EQ(Read(ProgramOf(seed, true)(x, y)), wanted)
              << "seed " << seed << ", " << devices << " devices, " << workers
              << " workers, sharing " << share;
        }
      }
      runtime::SetWorkerCount(0);
      runtime::ForceParallel(false);
      ReplicaSharing(true);
    }
  }
}

}  // namespace
}  // namespace tessera::suite::random_control_test
