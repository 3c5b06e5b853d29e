// The order of a plan's nodes: where messages to other processes start, and where they are awaited.
#include "runtime/flow.h"

#include <gtest/gtest.h>

#include "plans.h"

namespace tessera::runtime {
namespace {

constexpr int64_t kRowBytes = 256;

// Returns a word for each node of the part of process 0 of 2.
std::string NodesOf(const plan::Plan& whole) {
  const plan::Plan plan = plan::Localise(whole, {.process = 0, .process_of_device = {0, 1}});
  std::string words;
  for (const FlowNode& node : Analyse(plan).nodes) {
    if (!words.empty()) words += ' ';
    words += node.control              ? "control"
             : !node.starts.empty()    ? "start"
             : node.started != kNoNode ? "await"
             : !node.exchanges.empty() ? "copy"
             : node.host               ? "call"
                                       : "steps";
  }
  return words;
}

// A plan that gathers a value.
struct Gathers : PlanBuilder {
  Gathers() : PlanBuilder(2) {
    in = Input(kRowBytes, kPerDevice);
    all = AddExchange(AllGather(2, 1, f32, 1, kRowBytes / 4, 0), in, 2 * kRowBytes, kShared);
  }
  plan::PlanValueId Work(plan::PlanValueId of, int64_t bytes, plan::PlanLayoutId layout) {
    Segment();
    return Apply(AddValue, {of}, 1, bytes, layout);
  }
  plan::PlanValueId in{}, all{};
};

TEST(Messages, AreAwaitedWhereTheirResultIsRead) {
  Gathers b;
  b.Output(b.Work(b.in, kRowBytes, kPerDevice));
  b.Output(b.Work(b.all, 2 * kRowBytes, kShared));
  EXPECT_EQ(NodesOf(b.plan), "start copy steps await steps");
}

TEST(Messages, AreAwaitedAtTheEnd) {
  Gathers b;
  b.Output(b.all);
  b.Output(b.Work(b.in, kRowBytes, kPerDevice));
  EXPECT_EQ(NodesOf(b.plan), "start copy steps await");
}

TEST(Messages, AreAwaitedBeforeALoop) {
  Gathers b;
  plan::Loop loop;
  loop.trips = 2;
  std::vector<plan::Node> outer = std::exchange(b.plan.nodes, {});
  b.Work(b.in, kRowBytes, kPerDevice);
  loop.body = std::exchange(b.plan.nodes, std::move(outer));
  b.plan.nodes.emplace_back(std::move(loop));
  b.Output(b.all);
  EXPECT_EQ(NodesOf(b.plan), "start copy await control steps control");
}

TEST(Messages, AreAwaitedBeforeAHostCall) {
  Gathers b;
  plan::HostCall call;
  call.in.push_back(b.in);
  call.function = [](const plan::HostBuffers&) {};
  b.plan.nodes.emplace_back(std::move(call));
  b.Output(b.all);
  EXPECT_EQ(NodesOf(b.plan), "start copy await call");
}

}  // namespace
}  // namespace tessera::runtime
