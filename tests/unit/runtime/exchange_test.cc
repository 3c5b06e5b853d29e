// Exchanges of every kind against a loop, for every size of team.
#include "runtime/exchange.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "plans.h"
#include "tessera/error.h"

namespace tessera::runtime {
namespace {

// Runs one exchange of f32. `fed`: a step before it defines its operand, and a step after it reads
// its result.
Values RunExchange(int32_t devices, const plan::Exchange& e, int64_t in_bytes, int64_t out_bytes,
                   bool fed) {
  const auto results = static_cast<int32_t>(e.pieces.size());
  PlanBuilder b(devices);
  const auto layout = results == devices ? kPerDevice : b.AddLayout(MakeLayout(devices, results));
  auto x = b.Input(in_bytes, kPerDevice);
  if (fed) b.Segment(), x = b.Apply(AddValue, {x}, 1, in_bytes, kPerDevice);
  auto y = b.AddExchange(e, x, out_bytes, layout);
  if (fed) b.Segment(), y = b.Apply(AddValue, {y}, 0, out_bytes, layout);
  b.Output(y);
  auto executable = Prepare(std::move(b.plan));
  Buffers in = MakeInput(in_bytes, devices, fed ? 1 : 0);
  return Read(Run(*executable, {in})[0], results);
}

Values Want(int32_t devices, const plan::Exchange& e, int64_t in_bytes, int64_t out_bytes,
            bool fed) {
  Values in = Read(MakeInput(in_bytes, devices, fed ? 1 : 0), devices);
  for (auto& instance : in) {
    for (float& x : instance) x += fed ? 1.0f : 0.0f;
  }
  return NaiveExchange(e, in, out_bytes);
}

struct Case {
  std::string name;
  plan::Exchange exchange;
  int64_t in_bytes, out_bytes;
};

std::vector<Case> Cases(int32_t d, int64_t rows, int64_t cols) {
  const int64_t n = rows * cols * 4;
  std::vector<Case> cases = {
      {"all_reduce", AllReduce(d, 1, f32, rows * cols), n, n},
      {"all_reduce to all", AllReduce(d, d, f32, rows * cols), n, n},
      {"all_gather dim 0", AllGather(d, 1, f32, rows, cols, 0), n, n * d},
      {"all_gather dim 0 to all", AllGather(d, d, f32, rows, cols, 0), n, n * d},
      {"all_gather dim 1", AllGather(d, 1, f32, rows, cols, 1), n, n * d},
      {"reduce_scatter dim 0", ReduceScatter(d, f32, rows, cols, 0), n * d, n},
      {"reduce_scatter dim 1", ReduceScatter(d, f32, rows, cols, 1), n * d, n},
      {"all_to_all", AllToAll(d, f32, rows, cols), n * d, n * d},
  };
  std::vector<int32_t> ring(d), partial(d), reversed(d);
  for (int32_t i = 0; i < d; ++i) {
    ring[i] = (i + d - 1) % d;
    partial[i] = i - 1;
    reversed[i] = d - 1 - i;
  }
  cases.push_back({"ring", Permute(f32, rows * cols, ring), n, n});
  cases.push_back({"partial", Permute(f32, rows * cols, partial), n, n});
  cases.push_back({"broadcast", Permute(f32, rows * cols, std::vector<int32_t>(d, 0)), n, n});
  // Gathered in reverse, so the result is not one range of the operand.
  Case backwards{"gather reversed", AllGather(d, 1, f32, rows, cols, 0), n, n * d};
  for (int32_t i = 0; i < d; ++i) backwards.exchange.pieces[0][i].source = reversed[i];
  cases.push_back(std::move(backwards));
  return cases;
}

TEST(Exchange, EqualsALoopForEveryKindAndTeam) {
  for (const TeamCase& t : kTeams) {
    const Team team(t);
    for (int32_t d : {1, 2, 3, 4, 6, 8}) {
      for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {16, 16}, {40, 130}}) {
        for (const Case& c : Cases(d, rows, cols)) {
          for (bool fed : {false, true}) {
            SCOPED_TRACE(c.name + ", " + std::to_string(d) + " devices, " + Name(t) +
                         (fed ? ", fed" : ""));
            ASSERT_EQ(RunExchange(d, c.exchange, c.in_bytes, c.out_bytes, fed),
                      Want(d, c.exchange, c.in_bytes, c.out_bytes, fed));
          }
        }
      }
    }
  }
}

TEST(Exchange, StreamsLargeResults) {
  const Team team(2, true);
  for (const Case& c : Cases(2, 1500, 1430)) {
    if (c.out_bytes * static_cast<int64_t>(c.exchange.pieces.size()) < (16 << 20)) continue;
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(RunExchange(2, c.exchange, c.in_bytes, c.out_bytes, false) ==
                Want(2, c.exchange, c.in_bytes, c.out_bytes, false));
  }
}

TEST(Exchange, MovesColumnsOneElementWide) {
  const int32_t d = 4;
  for (int64_t rows : {1, 9, 5000}) {
    const plan::Exchange cases[] = {ReduceScatter(d, f32, rows, 1, 1), AllToAll(d, f32, rows, 1)};
    for (const plan::Exchange& e : cases) {
      const int64_t in = rows * 4 * d, out = e.combine ? rows * 4 : in;
      EXPECT_TRUE(RunExchange(d, e, in, out, false) == Want(d, e, in, out, false));
    }
  }
}

TEST(Exchange, KeepsTheOrderOfDimsThatAreTransposed) {
  // Each device's [4, 6, 5] goes to [6, 4 devices x 4, 5] in parts.
  plan::Exchange e = Dense(f32, 1);
  e.boxes = {{{4, 6, 5}, {30, 5, 1}, {5, 80, 1}}};
  e.pieces.resize(1);
  for (int32_t k = 0; k < 4; ++k) e.pieces[0].push_back({k, 0, k * 20});
  for (const TeamCase& t : kTeams) {
    const Team team(t);
    EXPECT_EQ(RunExchange(4, e, 480, 1920, true), Want(4, e, 480, 1920, true)) << Name(t);
  }
}

// Two operands with pieces of many sizes: reversed, strided, repeated and missing.
TEST(Exchange, AssemblesBoxesOfManySizesAndOperands) {
  const int32_t d = 4;
  const int64_t n = 600;
  plan::Exchange e = Dense(f32, 1);
  e.boxes = {{{100}, {1}, {1}},
             {{50}, {-1}, {1}},
             {{20, 3}, {6, 2}, {5, 1}},
             {{7}, {0}, {2}},
             {{0}, {1}, {1}}};
  e.pieces.resize(d);
  for (int32_t i = 0; i < d; ++i) {
    e.pieces[i].push_back({(i + 1) % d, 40, 0, 0, 0});
    e.pieces[i].push_back({i, 80, 100, 1, 1});
    e.pieces[i].push_back({d - 1 - i, 11, 151, 2, 0});
    if (i != 2) e.pieces[i].push_back({0, 5, 300 + i, 3, 1});
    e.pieces[i].push_back({i, 5, 400, 4, 1});
    for (int64_t k = 0; k < i; ++k) e.pieces[i].push_back({i, 60 + k, 330 + 50 * k, 1, 1});
    e.pieces[i].back().in_offset = 77;
  }
  for (bool covered : {false, true}) {
    if (covered) {
      e.boxes.push_back({{n}, {1}, {1}});
      for (auto& pieces : e.pieces) pieces = {{0, 0, 0, 5, 0}};
      e.pieces[1] = {{1, 0, 0, 0, 1}, {2, 3, 100, 0, 0}};
      e.boxes.push_back({{n - 200}, {1}, {1}});
      e.pieces[1].push_back({3, 9, 200, 6, 1});
    }
    for (const TeamCase& t : kTeams) {
      const Team team(t);
      PlanBuilder b(d);
      const auto x = b.Input(n * 4, kPerDevice), y = b.Input(n * 4, kPerDevice);
      b.Output(b.AddExchange(e, std::vector<plan::PlanValueId>{x, y}, n * 4, kPerDevice));
      const std::vector<Buffers> in = {MakeInput(n * 4, d, 1), MakeInput(n * 4, d, 2)};
      const Values want = NaiveExchange(e, {Read(in[0], d), Read(in[1], d)}, n * 4);
      EXPECT_EQ(Read(RunPlan(b.plan, in)[0], d), want) << Name(t) << covered;
    }
  }
}

// Sums that are not exact: their bits depend on the order.
TEST(Exchange, SumsInTheOrderOfThePiecesForAnyTeam) {
  const int32_t devices = 24;
  const int64_t n = 5003;
  Buffers in = Allocate(n * 4, devices);
  for (int32_t i = 0; i < devices; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      Elements<float>(in, i)[k] = 1.0f / static_cast<float>(1 + (k * 17 + i * 5) % 97);
    }
  }
  plan::Exchange e = AllReduce(devices, 1, f32, n);
  std::reverse(e.pieces[0].begin(), e.pieces[0].end());
  const Values want = NaiveExchange(e, Read(in, devices), n * 4);
  for (const TeamCase& t : kTeams) {
    const Team team(t);
    PlanBuilder b(devices);
    b.Output(b.AddExchange(e, b.Input(n * 4, kPerDevice), n * 4, kShared));
    EXPECT_EQ(Read(RunPlan(b.plan, {in})[0], 1), want) << Name(t);
  }
}

// Results of at most 1 KiB run from a table of their own, alone or between larger ones.
TEST(Exchange, SumsManySizesAsOneStep) {
  const int32_t devices = 6;
  const std::vector<int64_t> small = {256, 1, 17, 100}, mixed = {3, 257, 256, 5000, 1, 64};
  for (const std::vector<int64_t>& sizes : {small, mixed}) {
    for (int32_t results : {1, devices}) {
      for (const TeamCase& t : kTeams) {
        SCOPED_TRACE(Name(t));
        const Team team(t);
        PlanBuilder b(devices);
        std::vector<Buffers> in;
        std::vector<plan::PlanValueId> inputs;
        for (int64_t n : sizes) {
          inputs.push_back(b.Input(n * 4, kPerDevice));
          in.push_back(MakeInput(n * 4, devices, static_cast<int>(n)));
        }
        std::vector<Values> want;
        for (size_t k = 0; k < sizes.size(); ++k) {
          plan::Exchange e = AllReduce(devices, results, f32, sizes[k]);
          e.joined = k > 0;
          e.pieces[0].pop_back();  // not all instances have the same number of pieces
          b.Output(b.AddExchange(e, inputs[k], sizes[k] * 4, results == 1 ? kShared : kPerDevice));
          want.push_back(NaiveExchange(e, Read(in[k], devices), sizes[k] * 4));
        }
        const std::vector<Buffers> out = RunPlan(b.plan, in);
        for (size_t k = 0; k < sizes.size(); ++k) EXPECT_EQ(Read(out[k], results), want[k]) << k;
      }
    }
  }
}

TEST(Exchange, HandsBuffersOverWhereItCan) {
  const int32_t d = 4;
  const int64_t n = 256;
  struct {
    std::string name;
    plan::Exchange exchange;
    int64_t in_bytes, out_bytes;
    int32_t results;
    bool alias;
  } const cases[] = {
      {"permute", Permute(f32, n, {3, 0, 1, 2}), n * 4, n * 4, d, true},
      {"gather", AllGather(d, 1, f32, 16, 16, 0), n * 4, n * 4 * d, 1, true},
      {"gather dim 1", AllGather(d, 1, f32, 16, 16, 1), n * 4, n * 4 * d, 1, false},
      {"broadcast", Permute(f32, n, {0, 0, 0, 0}), n * 4, n * 4, d, false},
      {"partial", Permute(f32, n, {-1, 0, 1, 2}), n * 4, n * 4, d, true},
      {"nothing", Permute(f32, n, {-1, -1, -1, -1}), n * 4, n * 4, d, true},
  };
  for (const auto& c : cases) {
    PlanBuilder b(d);
    const auto x = b.Input(c.in_bytes, kPerDevice);
    b.Output(b.AddExchange(c.exchange, x, c.out_bytes, c.results == d ? kPerDevice : kShared));
    Buffers in = MakeInput(c.in_bytes, d);
    const Buffers out = RunPlan(b.plan, {in})[0];
    EXPECT_EQ(out.storage == in.storage, c.alias) << c.name;
    EXPECT_EQ(Read(out, c.results), NaiveExchange(c.exchange, Read(in, d), c.out_bytes)) << c.name;
  }
}

TEST(Exchange, SlicesAndJoinsRangesWithoutCopies) {
  // 2 instances of 64 elements -> 4 of 32 -> 1 of 128, each a range of the one before.
  plan::Exchange slice = Dense(f32, 32), join = Dense(f32, 32);
  slice.pieces = {{{0, 0, 0}}, {{0, 32, 0}}, {{1, 0, 0}}, {{1, 32, 0}}};
  join.pieces = {{{0, 0, 0}, {1, 0, 32}, {2, 0, 64}, {3, 0, 96}}};
  PlanBuilder b(4);
  const auto pairs = b.AddLayout(MakeLayout(4, 2));
  const auto x = b.Input(256, pairs);
  const auto parts = b.AddExchange(slice, x, 128, kPerDevice);
  b.Output(parts);
  b.Output(b.AddExchange(join, parts, 512, kShared));
  Buffers in = MakeInput(256, 2);
  const auto out = RunPlan(b.plan, {in});
  EXPECT_EQ(out[0].storage, in.storage);
  EXPECT_EQ(out[1].storage, in.storage);
  EXPECT_EQ(Read(out[0], 4), NaiveExchange(slice, Read(in, 2), 128));
  EXPECT_EQ(Read(out[1], 1), NaiveExchange(join, Read(out[0], 4), 512));
}

TEST(Exchange, CopiesAGatherOfBuffersThatArePermuted) {
  const int32_t d = 4;
  const plan::Exchange ring = Permute(f32, 64, {1, 2, 3, 0});
  const plan::Exchange gather = AllGather(d, 1, f32, 1, 64, 0);
  PlanBuilder first(d), second(d), both(d);
  first.Output(first.AddExchange(ring, first.Input(256, kPerDevice), 256, kPerDevice));
  second.Output(second.AddExchange(gather, second.Input(256, kPerDevice), 1024, kShared));
  const auto moved = both.AddExchange(ring, both.Input(256, kPerDevice), 256, kPerDevice);
  both.Output(both.AddExchange(gather, moved, 1024, kShared));
  Buffers in = MakeInput(256, d);
  const Values want = NaiveExchange(gather, NaiveExchange(ring, Read(in, d), 256), 1024);
  EXPECT_EQ(Read(RunPlan(both.plan, {in})[0], 1), want);
  EXPECT_EQ(Read(RunPlan(second.plan, RunPlan(first.plan, {in}))[0], 1), want);
}

// Instances that no device sent are zero and have no storage: they are read and composed, but
// never written.
TEST(Exchange, KeepsZerosThatNobodySent) {
  const int32_t d = 4;
  const int64_t bytes = 4096;
  const plan::Exchange shift = Permute(f32, bytes / 4, {-1, 0, 1, 2});
  PlanBuilder shifts(d), adds(d);
  const auto once = shifts.AddExchange(shift, shifts.Input(bytes, kPerDevice), bytes, kPerDevice);
  shifts.Output(shifts.AddExchange(shift, once, bytes, kPerDevice));
  adds.Segment();
  adds.Output(adds.Apply(AddValue, {adds.Input(bytes, kPerDevice, true)}, 1, bytes, kPerDevice, 1));
  auto given = RunPlan(shifts.plan, {MakeInput(bytes, d)});
  const Values shifted =
      NaiveExchange(shift, NaiveExchange(shift, Read(MakeInput(bytes, d), d), bytes), bytes);
  EXPECT_EQ(Read(given[0], d), shifted);
  const Buffers sum = RunPlan(adds.plan, std::move(given))[0];  // donated, and not overwritten
  for (int32_t i = 0; i < d; ++i) EXPECT_EQ(Read(sum, d)[i][5], shifted[i][5] + 1);
  EXPECT_EQ(Read(RunPlan(shifts.plan, {sum})[0], d)[1][7], 0);
}

TEST(Exchange, ComposesPermutations) {
  const int32_t d = 6;
  const plan::Exchange ring = Permute(f32, 10, {5, 0, 1, 2, 3, 4});
  PlanBuilder b(d);
  auto x = b.Input(40, kPerDevice);
  for (int k = 0; k < 4; ++k) x = b.AddExchange(ring, x, 40, kPerDevice);
  b.Output(x);
  auto executable = Prepare(b.plan);
  Buffers in = MakeInput(40, d);
  auto out = RunPlan(*executable, RunPlan(*executable, RunPlan(*executable, {in})));
  EXPECT_EQ(Read(out[0], d), Read(in, d));  // 12 steps around a ring of 6
  EXPECT_EQ(out[0].storage, in.storage);
}

TEST(Exchange, OfEmptyArraysDoesNothing) {
  for (const TeamCase& t : kTeams) {
    const Team team(t);
    for (const Case& c : Cases(4, 0, 5)) {
      EXPECT_EQ(RunExchange(4, c.exchange, c.in_bytes, c.out_bytes, true),
                Values(c.exchange.pieces.size()))
          << c.name;
    }
  }
}

TEST(Exchange, RefusesMalformedReductions) {
  plan::Exchange short_box = AllReduce(2, 1, f32, 5);
  plan::Exchange empty = AllReduce(2, 1, f32, 10);
  empty.pieces[0].clear();
  for (const plan::Exchange& e : {short_box, empty}) {
    PlanBuilder b(2);
    b.Output(b.AddExchange(e, b.Input(40, kPerDevice), 40, kShared));
    EXPECT_THROW(Prepare(b.plan), InternalError);
  }
}

}  // namespace
}  // namespace tessera::runtime
