// Failures, many callers, many devices, and the cost of a steady state.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "plans.h"
#include "tessera/error.h"

namespace tessera::runtime {
namespace {

// Segment, all_reduce, segment. The step fails on one device, before or after the exchange.
plan::Plan Failing(int32_t devices, int32_t bad_device, bool late) {
  const int64_t bytes = 4000;
  PlanBuilder b(devices);
  const auto x = b.Input(bytes, kPerDevice);
  auto step = [&](plan::PlanValueId in, bool fails) {
    const auto out = b.Value(bytes, kPerDevice);
    b.Segment();
    b.AddStep(MakeKernel(AddValue, {bytes / 4, 1, fails ? bad_device : -1}), {in}, out);
    return out;
  };
  const auto y = step(x, !late);
  const auto sum = b.AddExchange(AllReduce(devices, devices, f32, bytes / 4), y, bytes, kPerDevice);
  b.Output(step(sum, late));
  return b.plan;
}

TEST(Failure, ReachesTheCallerAndReleasesEverything) {
  for (const TeamCase& t : kTeams) {
    const Team team(t);
    for (int32_t devices : {8, 64}) {
      for (int32_t bad : {0, devices / 2, devices - 1}) {
        for (bool late : {false, true}) {
          SCOPED_TRACE(Name(t) + ", device " + std::to_string(bad) + (late ? ", late" : ""));
          const auto executable = Prepare(Failing(devices, bad, late));
          Buffers in = MakeInput(4000, devices);
          const int64_t live = LiveBytes();
          for (int k = 0; k < 3; ++k) {
            EXPECT_THROW(RunPlan(*executable, {in}), std::runtime_error);
            EXPECT_EQ(LiveBytes(), live);
          }
          const auto good = RunPlan(Failing(devices, -1, late), {in});
          float sum = 1;
          for (int32_t i = 0; i < devices; ++i) sum += Elements<float>(in, i)[5] + 1;
          EXPECT_EQ(Elements<float>(good[0], devices - 1)[5], sum);
        }
      }
    }
  }
}

// With one instance the step is split between the workers, and one part fails.
void FailsInLastPart(const plan::KernelArgs& call) {
  if (call.part == call.parts - 1) throw std::bad_alloc();
}

TEST(Failure, OfOnePartOfASplitStepIsFound) {
  for (const TeamCase& t : kTeams) {
    const Team team(t);
    PlanBuilder b(8);
    b.Segment();
    const auto x = b.Apply(AddValue, {b.Input(400, kShared)}, 1, 400, kShared);
    const auto y = b.Value(400, kShared);
    b.AddStep(MakeKernel(FailsInLastPart, {100}), {x}, y);
    b.Output(b.Apply(AddValue, {y}, 1, 400, kShared));
    EXPECT_THROW(RunPlan(b.plan, {MakeInput(400, 1)}), std::bad_alloc) << Name(t);
  }
}

TEST(Failure, OfMemoryLeavesTheRuntimeUsable) {
  const int64_t huge = int64_t{1} << 44;
  PlanBuilder b(2);
  b.Segment();
  const auto x = b.Apply(AddValue, {b.Input(400, kPerDevice)}, 1, huge, kPerDevice);
  b.Output(b.Apply(AddValue, {x}, 1, 400, kPerDevice));
  Buffers in = MakeInput(400, 2);
  const int64_t live = LiveBytes();
  EXPECT_THROW(RunPlan(b.plan, {in}), RuntimeError);
  EXPECT_EQ(LiveBytes(), live);
}

TEST(Team, RunsOfManyThreadsTakeTurns) {
  for (bool forced : {false, true}) {
    const Team team(2, forced);
    const auto executable = Prepare(Failing(8, -1, false));
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int c = 0; c < 4; ++c) {
      callers.emplace_back([&, c] {
        Buffers in = MakeInput(4000, 8, c);
        const auto want = Read(RunPlan(*executable, {in})[0], 8);
        for (int k = 0; k < 50; ++k) {
          wrong += !(Read(RunPlan(*executable, {in})[0], 8) == want);
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Team, WorkerCountIsSetAndReset) {
  SetWorkerCount(3);
  EXPECT_EQ(WorkerCount(), 3);
  SetWorkerCount(0);
  EXPECT_GE(WorkerCount(), 1);
}

int64_t Resident() {
  std::ifstream in("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  in >> pages >> resident;
  return resident * 4096;
}

TEST(Steady, ManyDevicesWithTinyArraysStaySmall) {
  const int64_t before = Resident();
  PlanBuilder b(512);
  auto x = b.Input(8, kPerDevice);
  for (int k = 0; k < 20; ++k) {
    b.Segment();
    x = b.Apply(AddValue, {x}, 1, 8, kPerDevice);
    b.Output(b.AddExchange(AllReduce(512, 1, f32, 2), x, 8, kShared));
  }
  b.Output(x);
  Buffers in = MakeInput(8, 512);
  const auto out = RunPlan(b.plan, {in});
  EXPECT_EQ(Elements<float>(out.back(), 511)[1], Elements<float>(in, 511)[1] + 20);
  EXPECT_LE(Resident() - before, 8 << 20);
}

int64_t Faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// A training step: donated weights, temporaries of some MiB, all_reduce.
TEST(Steady, StepsTakeNoPageFault) {
  const int64_t bytes = int64_t{3} << 20;
  const int32_t d = 4;
  for (const TeamCase& t : {TeamCase{1, false}, TeamCase{2, false}}) {
    const Team team(t);
    PlanBuilder b(d);
    const auto weights = b.Input(bytes, kPerDevice, true), data = b.Input(bytes, kPerDevice);
    b.Segment();
    const auto a = b.Apply(MulAdd, {weights, data}, 0.5f, bytes, kPerDevice);
    const auto c = b.Apply(MulAdd, {a, data}, 0.5f, bytes, kPerDevice);
    const auto sum = b.AddExchange(AllReduce(d, 1, f32, bytes / 4), c, bytes, kShared);
    b.Segment();
    b.Output(b.Apply(MulAdd, {weights, sum}, 0.5f, bytes, kPerDevice));
    const auto executable = Prepare(b.plan);
    const Buffers in = MakeInput(bytes, d);
    std::vector<Buffers> state;
    state.push_back(MakeInput(bytes, d));
    int64_t faults = 0;
    for (int k = 0; k < 12; ++k) {
      const int64_t before = Faults();
      std::vector<Buffers> inputs;
      inputs.push_back(std::move(state[0])), inputs.push_back(in);
      state = RunPlan(*executable, std::move(inputs));
      if (k >= 6) faults += Faults() - before;
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(faults, 0) << Name(t);
#endif
  }
}

}  // namespace
}  // namespace tessera::runtime
