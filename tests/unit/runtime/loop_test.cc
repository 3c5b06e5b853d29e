// Loops and switches in hand-written plans.
#include <gmock/gmock.h>

#include "plans.h"
#include "runtime/assign.h"
#include "runtime/executable.h"
#include "tessera/error.h"

namespace tessera::runtime {
namespace {

constexpr int32_t kDevices = 4;
constexpr int64_t kCarryBytes = 400;

void CopyFloats(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const MapConfig*>(call.config);
  auto [begin, end] = Share(call, config.elements);
  if (call.in[0] != call.out[0]) {
    std::memcpy(call.out[0] + begin * 4, call.in[0] + begin * 4, (end - begin) * 4);
  }
}

// out = in[0][0] < value
void IsLess(const plan::KernelArgs& call) {
  float x;
  std::memcpy(&x, call.in[0], sizeof x);
  if (call.part == 0)
    *call.out[0] = std::byte{x < static_cast<const MapConfig*>(call.config)->value};
}

// Sets `outer` as the builder's nodes and returns those added so far.
std::vector<plan::Node> Taken(PlanBuilder& b, std::vector<plan::Node> outer) {
  return std::exchange(b.plan.nodes, std::move(outer));
}

template <class F>
Values Mapped(Values values, F f) {
  for (auto& instance : values) {
    for (float& v : instance) v = f(v);
  }
  return values;
}

// carry = f(carry), `trips` times. The kernel may or may not work in place.
struct Counted {
  PlanBuilder b{kDevices};
  plan::PlanValueId in = b.Input(kCarryBytes, kPerDevice), value = plan::kNoPlanValue;
  plan::Loop loop;

  explicit Counted(int64_t trips) {
    loop.trips = trips;
    b.Segment();
    value = b.Apply(CopyFloats, {in}, 0, kCarryBytes, kPerDevice, 1);
  }
  // Begins the body.
  std::vector<plan::Node> Body() {
    auto outer = Taken(b, {});
    b.Segment();
    return outer;
  }
  void End(std::vector<plan::Node> outer) {
    loop.body = Taken(b, std::move(outer));
    b.plan.nodes.emplace_back(loop);
    b.Segment();
  }
};

TEST(Loop, CarriesInPlaceAndByChangingPlaces) {
  ForAllTeams([] {
    for (int64_t trips : {0, 1, 2, 5, 6}) {
      for (bool in_place : {true, false}) {
        Counted c(trips);
        auto outer = c.Body();
        const auto next = c.b.Apply(AddValue, {c.value}, 1, kCarryBytes, kPerDevice, in_place);
        c.loop.carries = {{c.value, next}};
        c.End(std::move(outer));
        c.b.Output(c.value);
        c.b.Output(c.b.Apply(AddValue, {c.value}, 100, kCarryBytes, kPerDevice));
        Buffers in = MakeInput(kCarryBytes, kDevices);
        Values want = Read(in, kDevices);
        const auto out = RunPlan(c.b.plan, {in});
        for (auto& instance : want) {
          for (float& v : instance) v += static_cast<float>(trips);
        }
        EXPECT_EQ(Read(out[0], kDevices), want) << trips << in_place;
        EXPECT_EQ(Read(out[1], kDevices), Mapped(want, [](float v) { return v + 100; }));
      }
    }
  });
}

// The host sees the results of each iteration, for all instances, in place or not, for any team.
TEST(Loop, CallsTheHostInEachIteration) {
  ForAllTeams([] {
    for (bool in_place : {true, false}) {
      std::vector<Values> seen;
      std::vector<std::vector<int64_t>> iterations;
      Counted c(3);
      auto outer = c.Body();
      const auto see = [&](const plan::HostBuffers& buffers) {
        iterations.push_back(buffers.iterations);
        seen.emplace_back();
        for (const std::byte* instance : buffers.in[0]) {
          const auto* data = reinterpret_cast<const float*>(instance);
          seen.back().emplace_back(data, data + kCarryBytes / 4);
        }
      };
      c.b.plan.nodes.emplace_back(plan::HostCall{.in = {c.value}, .function = see});
      c.b.Segment();
      const auto next = c.b.Apply(AddValue, {c.value}, 1, kCarryBytes, kPerDevice, in_place);
      c.b.plan.nodes.emplace_back(plan::HostCall{.in = {next}, .function = see});
      c.loop.carries = {{c.value, next}};
      c.End(std::move(outer));
      c.b.Output(c.value);
      Buffers in = MakeInput(kCarryBytes, kDevices);
      Values want = Read(in, kDevices);
      RunPlan(c.b.plan, {in});
      ASSERT_EQ(seen.size(), 6);
      for (size_t call = 0; call < seen.size(); ++call) {
        const auto added = static_cast<float>((call + 1) / 2);
        EXPECT_EQ(seen[call], Mapped(want, [&](float v) { return v + added; })) << call;
        EXPECT_EQ(iterations[call], std::vector<int64_t>{static_cast<int64_t>(call / 2)});
      }
    }
  });
}

TEST(Loop, TwoCarriesAndATemporary) {
  ForAllTeams([] {
    Counted c(5);
    const auto other = c.b.Apply(AddValue, {c.in}, 1, kCarryBytes, kPerDevice);
    auto outer = c.Body();
    const auto t = c.b.Apply(MulAdd, {c.value, other}, 2, kCarryBytes, kPerDevice, 3);
    const auto first = c.b.Apply(CopyFloats, {other}, 0, kCarryBytes, kPerDevice, 1);
    const auto second = c.b.Apply(AddValue, {t}, -1, kCarryBytes, kPerDevice, 1);
    c.loop.carries = {{c.value, first}, {other, second}};
    c.End(std::move(outer));
    c.b.Output(c.value);
    c.b.Output(other);
    Buffers in = MakeInput(kCarryBytes, kDevices);
    Values x = Read(in, kDevices), y = Mapped(x, [](float v) { return v + 1; });
    for (int k = 0; k < 5; ++k) {
      for (size_t i = 0; i < x.size(); ++i) {
        for (size_t j = 0; j < x[i].size(); ++j) {
          x[i][j] = std::exchange(y[i][j], x[i][j] * 2 + y[i][j] - 1);
        }
      }
    }
    const auto out = RunPlan(c.b.plan, {in});
    EXPECT_EQ(Read(out[0], kDevices), x);
    EXPECT_EQ(Read(out[1], kDevices), y);
  });
}

TEST(Loop, RunsExchangesInside) {
  ForAllTeams([] {
    Counted c(4);
    auto outer = c.Body();
    const auto sum = c.b.AddExchange(AllReduce(kDevices, 1, f32, kCarryBytes / 4), c.value,
                                     kCarryBytes, kShared);
    c.b.Segment();
    const auto part = c.b.Apply(MulAdd, {c.value, sum}, 0, kCarryBytes, kPerDevice);
    const auto moved =
        c.b.AddExchange(Permute(f32, kCarryBytes / 4, {1, 2, 3, 0}), part, kCarryBytes, kPerDevice);
    c.b.Segment();
    const auto next = c.b.Apply(DeviceNumber, {moved}, 0.5, kCarryBytes, kPerDevice);
    const auto last = c.b.Apply(MulAdd, {next, moved}, 1, kCarryBytes, kPerDevice);
    c.loop.carries = {{c.value, last}};
    c.End(std::move(outer));
    c.b.Output(c.value);
    Values want = Read(MakeInput(kCarryBytes, kDevices), kDevices);
    for (int k = 0; k < 4; ++k) {
      for (size_t j = 0; j < want[0].size(); ++j) {
        float total = 0;
        for (const auto& instance : want) total += instance[j];
        for (size_t d = 0; d < want.size(); ++d) want[d][j] = total + static_cast<float>(d) + 0.5f;
      }
    }
    EXPECT_EQ(Read(RunPlan(c.b.plan, {MakeInput(kCarryBytes, kDevices)})[0], kDevices), want);
  });
}

// With `reversed`, the first iteration is the last slice. Slices of 12 bytes are not aligned.
TEST(Loop, ReadsAndWritesSlices) {
  ForAllTeams([] {
    for (int64_t bytes : {int64_t{12}, kCarryBytes}) {
      for (bool reverse : {false, true}) {
        PlanBuilder b(kDevices);
        const auto xs = b.Input(3 * bytes, kPerDevice), start = b.Input(bytes, kPerDevice);
        b.Segment();
        const auto value = b.Apply(CopyFloats, {start}, 0, bytes, kPerDevice, 1);
        plan::Loop loop;
        loop.trips = 3;
        loop.reverse = reverse;
        const auto x = b.Value(bytes, kPerDevice), ys = b.Value(3 * bytes, kPerDevice),
                   y = b.Value(bytes, kPerDevice);
        loop.reads = {{xs, x}};
        loop.writes = {{ys, y}};
        auto outer = Taken(b, {});
        b.Segment();
        b.AddStep(MakeKernel(MulAdd, {bytes / 4, 2}), {value, x}, y);
        loop.carries = {{value, b.Apply(AddValue, {y}, 1, bytes, kPerDevice)}};
        loop.body = Taken(b, std::move(outer));
        b.plan.nodes.emplace_back(loop);
        b.Output(ys);
        b.Output(value);
        Buffers in[] = {MakeInput(3 * bytes, kDevices), MakeInput(bytes, kDevices, 1)};
        Values a = Read(in[0], kDevices), c = Read(in[1], kDevices), want = a;
        const size_t n = bytes / 4;
        for (size_t k = 0; k < 3; ++k) {
          const size_t at = (reverse ? 2 - k : k) * n;
          for (size_t d = 0; d < c.size(); ++d) {
            for (size_t j = 0; j < n; ++j) {
              want[d][at + j] = c[d][j] * 2 + a[d][at + j];
              c[d][j] = want[d][at + j] + 1;
            }
          }
        }
        const auto out = RunPlan(b.plan, {in[0], in[1]});
        EXPECT_EQ(Read(out[0], kDevices), want);
        EXPECT_EQ(Read(out[1], kDevices), c);
      }
    }
  });
}

plan::Plan UntilTen(int32_t bad_device = -1) {
  PlanBuilder b(kDevices);
  const auto in = b.Input(kCarryBytes, kShared);
  b.Segment();
  const auto value = b.Apply(CopyFloats, {in}, 0, kCarryBytes, kShared, 1);
  plan::Loop loop;
  auto outer = Taken(b, {});
  b.Segment();
  loop.predicate = b.Apply(IsLess, {value}, 10, 1, kShared);
  loop.condition = Taken(b, {});
  b.Segment();
  const auto next = b.Value(kCarryBytes, kShared);
  b.AddStep(MakeKernel(AddValue, {kCarryBytes / 4, 3, bad_device}), {value}, next);
  loop.carries = {{value, next}};
  loop.body = Taken(b, std::move(outer));
  b.plan.nodes.emplace_back(loop);
  b.Segment();
  b.Output(b.Apply(AddValue, {value}, 1000, kCarryBytes, kPerDevice));
  return b.plan;
}

TEST(Loop, RunsUntilItsPredicateIsFalse) {
  ForAllTeams([] {
    for (float start : {0.f, 9.f, 10.f, 55.f}) {
      Buffers in = Allocate(kCarryBytes, 1);
      for (float& v : Elements<float>(in, 0)) v = start;
      const float want = 1000 + (start == 0 ? 12 : start == 9 ? 12 : start);
      const auto out = RunPlan(UntilTen(), {in});
      for (int32_t d = 0; d < kDevices; ++d) {
        EXPECT_THAT(Elements<float>(out[0], d), testing::Each(want)) << start;
      }
    }
  });
}

TEST(Loop, AFailureInsideEndsTheRun) {
  ForAllTeams([] {
    Buffers in = Allocate(kCarryBytes, 1);
    for (float& v : Elements<float>(in, 0)) v = 0;
    const int64_t live = LiveBytes();
    EXPECT_THROW(RunPlan(UntilTen(0), {in}), std::runtime_error);
    EXPECT_EQ(LiveBytes(), live);
    EXPECT_EQ(Elements<float>(RunPlan(UntilTen(), {in})[0], 0)[0], 1012);
  });
}

TEST(Switch, RunsTheBranchThatTheIndexNames) {
  ForAllTeams([] {
    PlanBuilder b(kDevices);
    const auto index = b.Input(4, kShared), x = b.Input(kCarryBytes, kPerDevice);
    plan::Switch node;
    node.index = index;
    node.dtype = i32;
    const auto result = b.Value(kCarryBytes, kPerDevice);
    node.results = {result};
    for (int k = 0; k < 3; ++k) {
      b.Segment();
      const auto t = b.Apply(AddValue, {x}, static_cast<float>(k), kCarryBytes, kPerDevice);
      b.AddStep(MakeKernel(MulAdd, {kCarryBytes / 4, 10}), {t, x}, result);
      node.branches.push_back(Taken(b, {}));
    }
    b.plan.nodes.emplace_back(node);
    b.Segment();
    b.Output(b.Apply(AddValue, {result}, 0.5, kCarryBytes, kPerDevice));
    const auto executable = Prepare(b.plan);
    Buffers in = MakeInput(kCarryBytes, kDevices);
    for (int32_t i = -2; i < 5; ++i) {
      Buffers at = Allocate(4, 1);
      Elements<int32_t>(at, 0)[0] = i;
      Values want = Read(in, kDevices);
      for (auto& instance : want) {
        for (float& v : instance) v = (v + static_cast<float>(std::clamp(i, 0, 2))) * 10 + v + 0.5f;
      }
      EXPECT_EQ(Read(RunPlan(*executable, {at, in})[0], kDevices), want) << i;
    }
  });
}

TEST(Loop, PeakBytesCountBothPlacesOfACarryOnce) {
  for (bool in_place : {true, false}) {
    Counted c(100);
    auto outer = c.Body();
    c.loop.carries = {
        {c.value, c.b.Apply(AddValue, {c.value}, 1, kCarryBytes, kPerDevice, in_place)}};
    c.End(std::move(outer));
    c.b.Output(c.value);
    EXPECT_EQ(Prepare(c.b.plan)->peak_bytes, in_place ? kCarryBytes : 2 * kCarryBytes);
  }
}

// Returns the barriers of one iteration, with all work treated as large.
int Barriers(const plan::Plan& plan) {
  const auto executable = Prepare(plan);
  Assignment assignment;
  AssignWork(*executable, 2, true, assignment);
  EXPECT_TRUE(assignment.parallel);
  int barriers = 0;
  bool inside = false;
  for (size_t n = 0; n < assignment.nodes.size(); ++n) {
    const auto& control = executable->nodes[n].control;
    barriers += inside && assignment.nodes[n].barrier;
    if (control) inside = control->kind != Control::kRepeat;
  }
  return barriers;
}

TEST(Loop, TakesBarriersForExchangesOnly) {
  for (bool in_place : {true, false}) {
    Counted c(100);
    auto outer = c.Body();
    c.loop.carries = {
        {c.value, c.b.Apply(AddValue, {c.value}, 1, kCarryBytes, kPerDevice, in_place)}};
    c.End(std::move(outer));
    c.b.Output(c.value);
    EXPECT_EQ(Barriers(c.b.plan), 0) << in_place;
  }
  Counted c(100);
  auto outer = c.Body();
  const auto sum =
      c.b.AddExchange(AllReduce(kDevices, 1, f32, kCarryBytes / 4), c.value, kCarryBytes, kShared);
  c.b.Segment();
  c.loop.carries = {{c.value, c.b.Apply(MulAdd, {c.value, sum}, 1, kCarryBytes, kPerDevice)}};
  c.End(std::move(outer));
  c.b.Output(c.value);
  EXPECT_EQ(Barriers(c.b.plan), 2);
}

}  // namespace
}  // namespace tessera::runtime
