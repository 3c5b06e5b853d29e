// The op suite: properties of every op, tested on every sample.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "fuzz.h"
#include "ir/interpret.h"
#include "ir/program_text.h"
#include "sharding/reshard.h"
#include "spmd/pipeline.h"
#include "suite/compare.h"
#include "suite/placements.h"
#include "suite/run.h"
#include "suite/table.h"

namespace tessera::suite::op_suite_test {
namespace {

using ir::HostTensor;
using sharding::MeshDef;
using sharding::TensorSharding;

// Ops that users do not write, except reshard: lowering emits them.
bool IsMove(const ir::OpDef& op) { return std::holds_alternative<ir::NoRule>(*op.dims); }
// control_test.cc tests these.
bool HasRegions(const ir::OpDef& op) { return std::holds_alternative<ir::AsRegions>(*op.lowering); }

// Meshes of 1, 2, 3, 4, 6 and 8 devices, two of them with another device order.
std::vector<const MeshDef*> Meshes() {
  return {MeshOf({1}),
          MeshOf({2}),
          MeshOf({3}),
          MeshOf({2, 2}),
          MeshOf({2, 2}, {3, 1, 0, 2}),
          MeshOf({2, 3}),
          MeshOf({2, 4}),
          MeshOf({4, 2}, {5, 2, 7, 0, 1, 6, 3, 4})};
}

// One test per op that a user can apply.
std::vector<const ir::OpDef*> Ops() {
  ops::Install();
  std::vector<const ir::OpDef*> list;
  for (const ir::OpDef* op : ir::AllOps())
    if (!HasRegions(*op) && (!IsMove(*op) || op == &ops::kReshard)) list.push_back(op);
  return list;
}

class OpSuite : public testing::TestWithParam<const ir::OpDef*> {
 protected:
  // Calls f for placements of the operands, at most about 100 and for samples without `truth` 16
  // (all of them with TESSERA_FUZZ), until a test fails.
  template <class F>
  void ForEachPlaced(const Sample& sample, const MeshDef* mesh, F f) {
    std::vector<std::vector<TensorSharding>> placements;
    std::vector<size_t> counts;
    int64_t all = 1, index = 0;
    for (const SampleOperand& o : sample.operands) {
      placements.push_back(Placements(mesh, o.shape));
      counts.push_back(placements.back().size());
      all *= static_cast<int64_t>(counts.back());
    }
    ForEachChoice(counts, [&](const std::vector<size_t>& choice) {
      if (HasFailure() || !IsTried(index++, all, sample.truth ? 100 : 16)) return;
      Case c{.sample = &sample, .mesh = mesh};
      for (size_t i = 0; i < choice.size(); ++i)
        c.operands.push_back(ir::Type::Get(sample.operands[i].shape, sample.operands[i].dtype,
                                           placements[i][choice[i]]));
      if (sample.op != &ops::kReshard) return f(c);
      for (const TensorSharding& to : placements[0]) {
        c.result = c.operands[0]->WithSharding(to);
        f(c);
      }
    });
  }
};

TEST(OpTable, EveryOpOfASampleIsListed) {
  ops::Install();
  for (const Sample& sample : Samples())
    EXPECT_EQ(ir::FindOp(sample.op->name), sample.op)
        << sample.op->name << " is not in the array of its file in src/ops";
}

TEST_P(OpSuite, HasSamples) {
  EXPECT_FALSE(SamplesOf(*GetParam()).empty()) << "add rows to the sample table";
}

TEST_P(OpSuite, ComputesWhatTheReferenceComputes) {
  for (const Sample* sample : SamplesOf(*GetParam())) {
    SCOPED_TRACE(sample->name());
    Case c = Unsharded(*sample);
    auto program = ProgramOf(c, ResultTypes(c));
    std::vector<HostTensor> data = MakeData(*sample);
    std::vector<HostTensor> got = RunEager(c, data);
    const std::vector<HostTensor> want = ir::Interpret(*program, data);
    if (sample->align) sample->align(data, want, got);
    EXPECT_THAT(got, AreClose(want, sample->forward));
  }
}

TEST_P(OpSuite, TextPrintsAndParses) {
  for (const Sample* sample : SamplesOf(*GetParam())) {
    SCOPED_TRACE(sample->name());
    for (const MeshDef* mesh : {MeshOf({1}), MeshOf({2, 2}, {3, 1, 0, 2})})
      ForEachPlaced(*sample, mesh, [&](const Case& c) {
        std::vector<const ir::Type*> results = ResultTypes(c);
        if (results.empty()) return;
        auto program = ProgramOf(c, results);
        std::string text = ir::Text(*program);
        EXPECT_EQ(ir::Text(ir::ParseProgram(text, Loc::Unknown())), text);
        std::string device_text = ir::Text(spmd::Lower(*program));
        EXPECT_EQ(ir::Text(ir::ParseProgram(device_text, Loc::Unknown())), device_text);
      });
  }
}

TEST_P(OpSuite, JittedEqualsEager) {
  for (const Sample* sample : SamplesOf(*GetParam())) {
    SCOPED_TRACE(sample->name());
    std::vector<HostTensor> data = MakeData(*sample);
    Case whole = Unsharded(*sample);
    EXPECT_THAT(RunJitted(whole, data), AreSameBits(RunEager(whole, data)));
    if (!sample->truth) continue;
    ForEachPlaced(*sample, MeshOf({2, 2}), [&](const Case& c) {
      if (ResultTypes(c).empty()) return;
      EXPECT_THAT(RunJitted(c, data), AreSameBits(RunEager(c, data))) << c.name();
    });
  }
}

TEST_P(OpSuite, ShardedEqualsUnsharded) {
  for (const Sample* sample : SamplesOf(*GetParam())) {
    std::vector<HostTensor> data = MakeData(*sample);
    std::vector<HostTensor> want = RunEager(Unsharded(*sample), data);
    for (const MeshDef* mesh : Meshes())
      ForEachPlaced(*sample, mesh, [&](const Case& c) {
        if (ResultTypes(c).empty()) return;
        EXPECT_THAT(RunEager(c, data), AreClose(want, sample->sharded)) << c.name();
      });
  }
}

// Types and numbers over parts of an axis equal those over axes of these sizes.
TEST_P(OpSuite, HalvesOfAnAxisAreAsTwoAxes) {
  for (const Sample* sample : SamplesOf(*GetParam())) {
    std::vector<HostTensor> data = MakeData(*sample);
    std::vector<HostTensor> want = RunEager(Unsharded(*sample), data);
    ForEachPlaced(*sample, MeshOf({2, 2}), [&](const Case& c) {
      const std::vector<const ir::Type*> typed = ResultTypes(c);
      if (typed.empty()) return;
      Case halves{.sample = sample, .mesh = MeshOf({4})};
      for (const ir::Type* t : c.operands)
        halves.operands.push_back(t->WithSharding(AsHalves(t->sharding())));
      if (c.result) halves.result = c.result->WithSharding(AsHalves(c.result->sharding()));
      const std::vector<const ir::Type*> got = ResultTypes(halves);
      // A reshape that splits a dim gives it whole axes only.
      if (got.empty() && sample->op == &ops::kReshape) return;
      ASSERT_EQ(got.size(), typed.size()) << halves.name();
      for (size_t r = 0; r < got.size(); ++r)
        EXPECT_EQ(got[r]->text(), typed[r]->WithSharding(AsHalves(typed[r]->sharding()))->text())
            << halves.name();
      EXPECT_THAT(RunEager(halves, data), AreClose(want, sample->sharded)) << halves.name();
    });
  }
}

TEST_P(OpSuite, ACopyPerDeviceHasTheSameBits) {
  const Deterministic scope;  // processes with copies of one term may sum in another order
  for (const Sample* sample : SamplesOf(*GetParam())) {
    if (!sample->truth) continue;
    std::vector<HostTensor> data = MakeData(*sample);
    for (const MeshDef* mesh : {MeshOf({2, 2}), MeshOf({4, 2}, {5, 2, 7, 0, 1, 6, 3, 4})})
      ForEachPlaced(*sample, mesh, [&](const Case& c) {
        if (ResultTypes(c).empty()) return;
        std::vector<HostTensor> shared = RunEager(c, data);
        ReplicaSharing(false);
        std::vector<HostTensor> copied = RunEager(c, data);
        ReplicaSharing(true);
        EXPECT_THAT(copied, AreSameBits(shared)) << c.name();
      });
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, OpSuite, testing::ValuesIn(Ops()),
                         [](const auto& op) { return std::string(op.param->name); });

// The collectives have no samples of their own. Reshards between all placements cover them.
TEST(OpSuiteCoverage, ReshardsMeetEveryCollective) {
  std::set<std::string_view> seen;
  const MeshDef* mesh = MeshOf({2, 4});
  auto placements = Placements(mesh, {24, 8}, {.unreduced = true});
  for (const TensorSharding& from : placements)
    for (const TensorSharding& to : placements) {
      if (!to.unreduced.empty() && (to.kind != Reduction::kSum || from.kind != Reduction::kSum))
        continue;
      Case c{.sample = SamplesOf(ops::kReshard)[0],
             .mesh = mesh,
             .operands = {ir::Type::Get({24, 8}, f32, from)}};
      c.result = c.operands[0]->WithSharding(to);
      for (const ir::Instruction& i : spmd::Lower(*ProgramOf(c, {c.result})).instructions)
        seen.insert(i.op->name);
    }
  for (int kind = 0; kind <= static_cast<int>(sharding::StepKind::kShardedToUnreduced); ++kind)
    EXPECT_EQ(seen.count(sharding::Name(static_cast<sharding::StepKind>(kind))), 1u) << kind;
}

// Ops of manual computation, and the ops that lowering makes of them.
bool IsManual(const ir::OpDef& op) {
  return std::holds_alternative<ir::AsManualMove>(*op.lowering) ||
         std::holds_alternative<ir::AsPermute>(*op.lowering) || &op == &ops::kAxisIndex ||
         &op == &ops::kSeenAs;
}

// Nothing overrides the dimension map.
TEST(OpSuiteCoverage, EveryOpButTheMovesStatesItsDimensions) {
  for (const ir::OpDef* op : ir::AllOps())
    EXPECT_EQ(IsMove(*op), std::holds_alternative<ir::AsMove>(*op->lowering) || IsManual(*op) ||
                               std::holds_alternative<ir::AsHostCall>(*op->lowering) ||
                               op == &ops::kMaskPadding || op == &ops::kCustomLinear)
        << op->name;
}

}  // namespace
}  // namespace tessera::suite::op_suite_test
