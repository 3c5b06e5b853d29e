// Runs of hand-written plans: layouts, donated inputs, reuse of memory, and equal bits for
// any team.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "plans.h"
#include "runtime/arena.h"
#include "runtime/executable.h"
#include "runtime/memory_text.h"
#include "tessera/error.h"

namespace tessera::runtime {
namespace {

using testing::Each;

constexpr int64_t kBytes = 400;

Values Plus(Values values, float x) {
  for (auto& instance : values) {
    for (float& v : instance) v += x;
  }
  return values;
}

TEST(Run, CallsEachStepOncePerInstance) {
  ForAllTeams([] {
    for (int32_t d : {1, 2, 3, 4, 6, 8}) {
      PlanBuilder b(d);
      b.Segment();
      const auto x = b.Input(kBytes, kPerDevice);
      const auto y = b.Apply(AddValue, {x}, 1, kBytes, kPerDevice);
      b.Output(b.Apply(MulAdd, {y, x}, 2, kBytes, kPerDevice));
      Buffers in = MakeInput(kBytes, d);
      Values want = Read(in, d);
      for (auto& instance : want) {
        for (float& v : instance) v = (v + 1) * 2 + v;
      }
      EXPECT_EQ(Read(RunPlan(b.plan, {in})[0], d), want) << d;
    }
  });
}

void Refuse(const plan::KernelArgs&) {
  ErrorDetail detail;
  detail.reason = "it refuses all data";
  throw RuntimeError(detail);
}

// The line of a step is a field of its own, so it may contain any text.
TEST(Run, ErrorsOfKernelsGetTheLineOfTheirStep) {
  PlanBuilder b(1);
  b.Segment();
  const auto x = b.Input(kBytes, kPerDevice);
  b.Output(b.Apply(Refuse, {x}, 0, kBytes, kPerDevice));
  b.LastStep().note = b.plan.notes.Add({"refuse", "work at home/model.cc:12"});
  try {
    RunPlan(b.plan, {MakeInput(kBytes, 1)});
    FAIL();
  } catch (const RuntimeError& e) {
    EXPECT_EQ(e.where(), "work at home/model.cc:12");
  }
}

TEST(Run, GivesKernelsTheirRepresentativeDeviceAndScratch) {
  ForAllTeams([] {
    PlanBuilder b(8);
    const auto pairs = b.AddLayout(MakeLayout(8, 4));
    const auto cyclic = b.AddLayout(MakeLayout(8, 4, true));
    b.Segment();
    b.Output(b.Apply(DeviceNumber, {}, 0, kBytes, pairs));
    b.Output(b.Apply(DeviceNumber, {}, 0.5, kBytes, cyclic));
    const auto out = RunPlan(b.plan, {});
    for (int i = 0; i < 4; ++i) {
      EXPECT_THAT(Elements<float>(out[0], i), Each(2.0f * static_cast<float>(i)));
      EXPECT_THAT(Elements<float>(out[1], i), Each(static_cast<float>(i) + 0.5f));
    }
  });
}

// A value of one instance feeds one of 8 instances through one of 4, in three segments or in one.
TEST(Run, ReadsOperandsOfOtherLayouts) {
  ForAllTeams([] {
    for (bool one_segment : {false, true}) {
      PlanBuilder b(8);
      const auto cyclic = b.AddLayout(MakeLayout(8, 4, true));
      b.Segment();
      const auto shared = b.Apply(AddValue, {b.Input(kBytes, kShared)}, 1, kBytes, kShared);
      if (!one_segment) b.Segment();
      const auto device = b.Apply(DeviceNumber, {}, 0, kBytes, cyclic);
      const auto four = b.Apply(MulAdd, {device, shared}, 1, kBytes, cyclic);
      if (!one_segment) b.Segment();
      const auto eight = b.Apply(DeviceNumber, {}, 0, kBytes, kPerDevice);
      b.Output(b.Apply(MulAdd, {eight, four}, 100, kBytes, kPerDevice));
      Buffers in = MakeInput(kBytes, 1);
      const auto out = RunPlan(b.plan, {in});
      for (int d = 0; d < 8; ++d) {
        const Values want = Plus(Read(in, 1), static_cast<float>(100 * d + d % 4 + 1));
        EXPECT_EQ(Read(out[0], 8)[d], want[0]) << d;
      }
    }
  });
}

TEST(Run, ReadsConstants) {
  ForAllTeams([] {
    // 12 bytes apart: not the spacing of the arena.
    auto data = std::make_shared<std::vector<float>>();
    for (int i = 0; i < 12; ++i) data->push_back(static_cast<float>(i));
    PlanBuilder b(4);
    const auto c = b.Value(12, kPerDevice, plan::ValueKind::kConstant);
    b.plan.values[c].data = {data, reinterpret_cast<const std::byte*>(data->data())};
    const auto whole = b.Value(12, kShared, plan::ValueKind::kConstant);
    b.plan.values[whole].data = b.plan.values[c].data;
    b.Segment();
    b.Output(b.Apply(MulAdd, {c, whole}, 10, 12, kPerDevice));
    b.Output(c);
    const auto executable = Prepare(b.plan);
    for (int k = 0; k < 2; ++k) {
      const auto out = RunPlan(*executable, {});
      EXPECT_THAT(Read(out[0], 4)[2], testing::ElementsAre(60, 71, 82));
      EXPECT_THAT(Read(out[1], 4)[3], testing::ElementsAre(9, 10, 11));
    }
  });
}

TEST(Run, AnOutputMayBeAnInputOrComeTwice) {
  PlanBuilder b(4);
  const auto x = b.Input(kBytes, kPerDevice);
  b.Segment();
  const auto y = b.Apply(AddValue, {x}, 1, kBytes, kPerDevice);
  for (auto v : {x, y, y, x}) b.Output(v);
  Buffers in = MakeInput(kBytes, 4);
  const auto out = RunPlan(b.plan, {in});
  EXPECT_EQ(out[0].storage, in.storage);
  EXPECT_EQ(out[3].storage, in.storage);
  EXPECT_EQ(out[1].storage, out[2].storage);
  EXPECT_EQ(Read(out[2], 4), Plus(Read(in, 4), 1));
}

// Ten values, two of which live at any time, passed through exchanges: all memory is reused.
TEST(Run, KeepsValuesApartWhileTheyLive) {
  ForAllTeams([] {
    const int32_t d = 6;
    PlanBuilder b(d);
    const auto x = b.Input(kBytes, kPerDevice);
    auto a = x, c = x;
    Values want_a, want_c;
    Buffers in = MakeInput(kBytes, d);
    want_a = want_c = Read(in, d);
    for (int k = 0; k < 10; ++k) {
      b.Segment();
      const auto sum = b.Apply(MulAdd, {a, c}, 0.5, kBytes, kPerDevice);
      for (int i = 0; i < d; ++i) {
        for (size_t e = 0; e < want_a[i].size(); ++e) {
          want_a[i][e] = want_a[i][e] * 0.5f + want_c[i][e];
        }
      }
      std::swap(want_a, want_c);
      plan::Exchange ring = Permute(f32, kBytes / 4, {5, 0, 1, 2, 3, 4});
      if (k % 2) ring.pieces[0].clear();  // must be copied
      a = b.AddExchange(ring, c, kBytes, kPerDevice);
      std::rotate(want_a.begin(), want_a.end() - 1, want_a.end());
      if (k % 2) std::fill(want_a[0].begin(), want_a[0].end(), 0.0f);
      c = sum;
    }
    b.Segment();
    b.Output(b.Apply(MulAdd, {a, c}, 1, kBytes, kPerDevice));
    for (int i = 0; i < d; ++i) {
      for (size_t e = 0; e < want_a[i].size(); ++e) want_c[i][e] += want_a[i][e];
    }
    const auto executable = Prepare(b.plan);
    for (int k = 0; k < 5; ++k) ASSERT_EQ(Read(RunPlan(*executable, {in})[0], d), want_c);
  });
}

TEST(Run, ConsumesADonatedInputThatNobodyElseHolds) {
  ForAllTeams([] {
    for (uint64_t in_place : {0, 1}) {
      PlanBuilder b(4);
      const auto x = b.Input(kBytes, kPerDevice, true);
      b.Segment();
      const auto y = b.Apply(AddValue, {x}, 1, kBytes, kPerDevice);
      b.Output(b.Apply(AddValue, {y}, 1, kBytes, kPerDevice, in_place));
      const auto executable = Prepare(b.plan);
      Buffers in = MakeInput(kBytes, 4);
      const Values want = Plus(Read(in, 4), 2);
      std::byte* base = in.base;
      std::vector<Buffers> inputs;
      inputs.push_back(std::move(in));
      const auto out = RunPlan(*executable, std::move(inputs));
      EXPECT_EQ(out[0].base, base);
      EXPECT_EQ(Read(out[0], 4), want);
    }
  });
}

TEST(Run, LeavesADonatedInputThatSomebodyElseHolds) {
  PlanBuilder b(4);
  const auto x = b.Input(kBytes, kPerDevice, true);
  b.Segment();
  b.Output(b.Apply(AddValue, {x}, 1, kBytes, kPerDevice, 1));
  Buffers in = MakeInput(kBytes, 4);
  const Values before = Read(in, 4);
  const auto out = RunPlan(b.plan, {in});
  EXPECT_NE(out[0].base, in.base);
  EXPECT_EQ(Read(in, 4), before);
  EXPECT_EQ(Read(out[0], 4), Plus(before, 1));
}

// Cases in which the buffer of x must not be taken.
TEST(Run, DoesNotTakeADonatedInputThatIsStillRead) {
  const plan::Exchange ring = Permute(f32, kBytes / 4, {3, 0, 1, 2});
  struct {
    const char* name;
    void (*build)(PlanBuilder&, plan::PlanValueId x, const plan::Exchange& ring);
  } const cases[] = {
      {"the kernel may not work in place",
       [](PlanBuilder& b, plan::PlanValueId x, const plan::Exchange&) {
         b.Segment();
         b.Output(b.Apply(AddValue, {x}, 1, kBytes, kPerDevice, 0));
       }},
      {"read by a later step",
       [](PlanBuilder& b, plan::PlanValueId x, const plan::Exchange&) {
         b.Segment();
         const auto y = b.Apply(AddValue, {x}, 1, kBytes, kPerDevice, 1);
         b.Output(y);
         b.Output(b.Value(4, kPerDevice));
         b.AddStep(MakeKernel(MulAdd, {1, 0}), {x, y}, b.plan.outputs.back());
       }},
      {"read by other instances in the same segment",
       [](PlanBuilder& b, plan::PlanValueId x, const plan::Exchange& ring) {
         const auto moved = b.AddExchange(ring, x, kBytes, kPerDevice);
         b.Segment();
         b.Output(b.Apply(MulAdd, {x, moved}, 1, kBytes, kPerDevice, 1));
       }},
      {"an output",
       [](PlanBuilder& b, plan::PlanValueId x, const plan::Exchange&) {
         b.Segment();
         b.Output(b.Apply(AddValue, {x}, 1, kBytes, kPerDevice, 1));
         b.Output(x);
       }},
  };
  for (const auto& c : cases) {
    PlanBuilder b(4);
    c.build(b, b.Input(kBytes, kPerDevice, true), ring);
    PlanBuilder faithful(4);
    c.build(faithful, faithful.Input(kBytes, kPerDevice, false), ring);
    std::vector<Buffers> given, kept;
    given.push_back(MakeInput(kBytes, 4));
    kept.push_back(MakeInput(kBytes, 4));
    const std::byte* base = given[0].base;
    const auto out = RunPlan(b.plan, std::move(given));
    const auto want = RunPlan(faithful.plan, kept);
    EXPECT_NE(out[0].base, base) << c.name;
    for (size_t k = 0; k < out.size(); ++k) EXPECT_EQ(Read(out[k], 4), Read(want[k], 4)) << c.name;
  }
}

TEST(Run, ReusesTemporariesInPlace) {
  PlanBuilder plain(1), in_place(1);
  for (PlanBuilder* b : {&plain, &in_place}) {
    auto x = b->Input(kBytes, kPerDevice);
    for (int k = 0; k < 4; ++k) {
      b->Segment();
      x = b->Apply(AddValue, {x}, 1, kBytes, kPerDevice, b == &in_place);
    }
    b->Segment();
    b->Output(b->Apply(AddValue, {x}, 1, 4, kPerDevice));
  }
  EXPECT_EQ(Prepare(plain.plan)->peak_bytes, 2 * kBytes);
  EXPECT_EQ(Prepare(in_place.plan)->peak_bytes, kBytes + 4);
  Buffers in = MakeInput(kBytes, 1);
  EXPECT_EQ(Read(RunPlan(in_place.plan, {in})[0], 1), Read(RunPlan(plain.plan, {in})[0], 1));
}

TEST(PeakBytes, CountsFramesCrossingValuesAndOutputs) {
  PlanBuilder b(8);
  const auto x = b.Input(1000, kPerDevice);
  b.Segment();
  const auto a = b.Apply(AddValue, {x}, 1, 2000, kPerDevice);  // frame
  const auto c = b.Apply(AddValue, {a}, 1, 1000, kPerDevice);  // crosses
  const auto sum = b.AddExchange(AllReduce(8, 1, f32, 250), c, 1000, kShared);
  b.Segment();
  b.Output(b.Apply(AddValue, {sum}, 1, 1000, kShared));
  EXPECT_EQ(Prepare(b.plan)->peak_bytes, 3000);
}

// The output is allocated for the whole run, and a value that dies before it is made is in it.
TEST(Run, KeepsValuesInBuffersOfLaterOutputs) {
  PlanBuilder b(4);
  auto x = b.Input(kBytes, kPerDevice);
  for (int k = 0; k < 4; ++k) {
    b.Segment();
    x = b.Apply(AddValue, {x}, k, kBytes, kPerDevice);
  }
  b.Output(x);
  const auto executable = Prepare(b.plan);
  EXPECT_EQ(executable->peak_bytes, 2 * kBytes);
  EXPECT_EQ(executable->block_bytes, 4 * RoundUp(kBytes, kLine));
  EXPECT_THAT(MemoryText(b.plan), testing::HasSubstr("in the buffers of v4 before it is made, +0"));
}

// Dead values of the same segment give their buffers to later ones of their size.
TEST(Run, KeepsValuesWhereOthersOfTheSegmentDied) {
  PlanBuilder b(4);
  const auto x = b.Input(kBytes, kPerDevice);
  b.Segment();
  const auto crosses = b.Apply(AddValue, {x}, 1, kBytes, kPerDevice);
  b.Segment();
  const auto half = b.Apply(AddValue, {crosses}, 1, kBytes / 2, kPerDevice);
  b.Output(b.Apply(AddValue, {half}, 1, kBytes, kPerDevice));
  EXPECT_THAT(MemoryText(b.plan), testing::HasSubstr("v3: in place of v1"));
  EXPECT_EQ(Prepare(b.plan)->peak_bytes, kBytes + kBytes / 2);
}

TEST(Run, RefusesOtherInputs) {
  PlanBuilder b(2);
  b.Output(b.Input(kBytes, kPerDevice));
  EXPECT_THROW(RunPlan(b.plan, {}), InternalError);
  EXPECT_THROW(RunPlan(b.plan, {MakeInput(kBytes * 2, 2)}), InternalError);
}

// A long chain over exchanges and layouts, in which every barrier matters.
TEST(Run, GivesTheSameBitsForAnyTeam) {
  const int32_t d = 8;
  const int64_t bytes = 4096;
  PlanBuilder b(d);
  const auto half = b.AddLayout(MakeLayout(d, 4, true));
  auto x = b.Input(bytes, kPerDevice);
  for (int k = 0; k < 12; ++k) {
    b.Segment();
    const auto scaled = b.Apply(MulAdd, {x, x}, 0.37f, bytes, kPerDevice, 1);
    const auto sum = b.AddExchange(AllReduce(d, 1, f32, bytes / 4), scaled, bytes, kShared);
    b.Segment();
    const auto small = b.Apply(AddValue, {sum}, 0.001f, bytes, kShared, 1);
    b.Segment();
    const auto some = b.Apply(MulAdd, {small, scaled}, 0.01f, bytes, half);
    const auto more = b.Apply(MulAdd, {scaled, small}, 0.3f, bytes, kPerDevice, 1);
    b.Segment();
    const auto mixed = b.Apply(MulAdd, {some, more}, -0.2f, bytes, kPerDevice, 2);
    x = b.AddExchange(AllToAll(d, f32, 16, 8), mixed, bytes, kPerDevice);
  }
  b.Output(x);
  const auto executable = Prepare(b.plan);
  Buffers in = MakeInput(bytes, d);
  Values want;
  for (const TeamCase& t : kTeams) {
    const Team team(t);
    for (int k = 0; k < 20; ++k) {
      const Values got = Read(RunPlan(*executable, {in})[0], d);
      if (want.empty()) want = got;
      ASSERT_TRUE(got == want) << Name(t) << ", run " << k;
    }
  }
}

std::atomic<int> others_done;
// Device 0 finishes only after all others, or after a timeout.
void WaitForTheOthers(const plan::KernelArgs& call) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  if (call.device != 0) ++others_done;
  while (call.device == 0 && others_done < 7 && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  std::fill_n(reinterpret_cast<float*>(call.out[0]), kBytes / 4,
              static_cast<float>(others_done.load()));
}

// While one worker is busy with a slow device, the other does all the rest.
TEST(Run, DevicesThatTakeDifferentTimesAreClaimed) {
  const Team team(2, /*forced=*/true);
  PlanBuilder b(8);
  b.Segment();
  b.Output(b.Apply(WaitForTheOthers, {}, 0, kBytes, kPerDevice));
  b.LastStep().kernel.run_seconds = 1;
  others_done = 0;
  EXPECT_THAT(Read(RunPlan(b.plan, {})[0], 8)[0], Each(7));
}

}  // namespace
}  // namespace tessera::runtime
