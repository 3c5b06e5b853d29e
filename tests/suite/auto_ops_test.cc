// Every op over Auto axes, with operands in every layout, against the reference interpreter.
#include <gtest/gtest.h>

#include <optional>

#include "fuzz.h"
#include "ir/interpret.h"
#include "suite/compare.h"
#include "suite/placements.h"
#include "suite/run.h"
#include "suite/table.h"
#include "tessera/processes.h"

namespace tessera::suite::auto_ops_test {
namespace {

using ir::HostTensor;
using sharding::MeshDef;

class AutoOps : public testing::TestWithParam<const ir::OpDef*> {};

TEST_P(AutoOps, ComputeWhatTheReferenceComputes) {
  for (const Sample* sample : SamplesOf(*GetParam())) {
    Case whole = Unsharded(*sample);
    std::vector<HostTensor> data = MakeData(*sample);
    std::vector<HostTensor> want = ir::Interpret(*ProgramOf(whole, ResultTypes(whole)), data);
    Tolerance tolerance{std::max(sample->forward.eps, sample->sharded.eps),
                        std::max(sample->forward.magnitude, sample->sharded.magnitude)};
    for (const MeshDef* mesh : {AutoMeshOf({2}), AutoMeshOf({3}), AutoMeshOf({2, 2}, {3, 1, 0, 2}),
                                AutoMeshOf({2, 3}), AutoMeshOf({4, 2})})
      ForEachAutoPlacement(*sample, mesh, FuzzCount(sample->truth ? 16 : 3), [&](const Case& c) {
        std::vector<HostTensor> got = RunEager(c, data);
        if (sample->align) sample->align(data, want, got);
        EXPECT_THAT(got, AreClose(want, tolerance)) << c.name();
      });
  }
}

TEST_P(AutoOps, ACopyPerDeviceHasTheSameBits) {
  std::optional<Deterministic> in_order;  // several processes add their own shards first
  if (process_count() > 1) in_order.emplace();
  for (const Sample* sample : SamplesOf(*GetParam())) {
    if (!sample->truth) continue;
    std::vector<HostTensor> data = MakeData(*sample);
    ForEachAutoPlacement(*sample, AutoMeshOf({2, 3}), 20, [&](const Case& c) {
      std::vector<HostTensor> shared = RunEager(c, data);
      ReplicaSharing(false);
      std::vector<HostTensor> copied = RunEager(c, data);
      ReplicaSharing(true);
      EXPECT_THAT(copied, AreSameBits(shared)) << c.name();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, AutoOps, testing::ValuesIn(OpsWithRules()),
                         [](const auto& op) { return std::string(op.param->name); });

}  // namespace
}  // namespace tessera::suite::auto_ops_test
