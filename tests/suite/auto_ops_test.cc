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
using sharding::TensorSharding;

std::vector<const ir::OpDef*> OpsWithRules() {
  ops::Install();
  std::vector<const ir::OpDef*> list;
  for (const ir::OpDef* op : ir::AllOps())
    if (std::holds_alternative<ir::DimMapFn>(*op->dims)) list.push_back(op);
  return list;
}

const MeshDef* AutoMeshOf(const std::vector<int64_t>& sizes, std::vector<int64_t> ids = {}) {
  return MeshOf(sizes, std::move(ids))
      ->WithModes(std::vector<AxisMode>(sizes.size(), AxisMode::Auto));
}

class AutoOps : public testing::TestWithParam<const ir::OpDef*> {
 protected:
  // Calls f for placements of all operands, at most `most`, evenly spread.
  template <class F>
  void ForEachPlaced(const Sample& sample, const MeshDef* mesh, int64_t most, F f) {
    std::vector<std::vector<TensorSharding>> placements;
    int64_t all = 1;
    for (const SampleOperand& o : sample.operands) {
      placements.push_back(Placements(mesh->WithoutModes(), o.shape, {.uneven = true}));
      all *= static_cast<int64_t>(placements.back().size());
    }
    for (int64_t k = 0; k < std::min(all, most) && !HasFailure(); ++k) {
      auto choice = static_cast<size_t>(all <= most ? k : k * all / most);
      Case c{.sample = &sample, .mesh = mesh};
      for (size_t i = 0; i < placements.size(); ++i) {
        const SampleOperand& o = sample.operands[i];
        c.operands.push_back(
            ir::Type::Get(o.shape, o.dtype, placements[i][choice % placements[i].size()]));
        choice /= placements[i].size();
      }
      f(c);
    }
  }
};

TEST_P(AutoOps, ComputeWhatTheReferenceComputes) {
  for (const Sample* sample : SamplesOf(*GetParam())) {
    Case whole = Unsharded(*sample);
    std::vector<HostTensor> data = MakeData(*sample);
    std::vector<HostTensor> want = ir::Interpret(*ProgramOf(whole, ResultTypes(whole)), data);
    Tolerance tolerance{std::max(sample->forward.eps, sample->sharded.eps),
                        std::max(sample->forward.magnitude, sample->sharded.magnitude)};
    for (const MeshDef* mesh : {AutoMeshOf({2}), AutoMeshOf({3}), AutoMeshOf({2, 2}, {3, 1, 0, 2}),
                                AutoMeshOf({2, 3}), AutoMeshOf({4, 2})})
      ForEachPlaced(*sample, mesh, FuzzCount(sample->truth ? 40 : 4), [&](const Case& c) {
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
    ForEachPlaced(*sample, AutoMeshOf({2, 3}), 20, [&](const Case& c) {
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
