// vmap of every op on every sample: the whole batch against one element at a time, for all choices
// of mapped operands, on several devices against one, and its program as text.
#include <gtest/gtest.h>

#include "ir/program_text.h"
#include "ops/batching.h"
#include "ops/params.h"
#include "suite/compare.h"
#include "suite/lanes.h"
#include "suite/placements.h"
#include "suite/run.h"
#include "suite/table.h"
#include "tessera/batching.h"
#include "trace/scopes.h"

namespace tessera::suite::vmap_test {
namespace {

using ir::HostTensor;
using sharding::MeshDef;
// One sample with some mapped operands.
struct Try : Lanes {
  Try(const Sample& s, std::vector<bool> m) : Lanes(s, std::move(m), MakeData(s)) {}
  auto Function(const Case& c) const {
    std::vector<MapDims> dims;
    for (bool m : mapped) dims.push_back(m ? MapDims(0) : MapDims(None));
    return vmap([&c](const std::vector<Array>& xs) { return Apply(c, xs); },
                {.in_dims = MapDims(std::vector{MapDims(std::move(dims))})});
  }
  // `c`: for one lane.
  std::vector<Array> Placed(const Case& c, const ir::MappedDim& dim) const {
    std::vector<Array> arrays;
    for (size_t i = 0; i < data.size(); ++i)
      arrays.push_back(
          Place(data[i], mapped[i] ? ops::WithDim(c.operands[i], dim) : c.operands[i], c.mesh));
    return arrays;
  }
};

std::vector<const ir::OpDef*> Ops() {
  ops::Install();
  std::vector<const ir::OpDef*> list;
  for (const ir::OpDef* op : ir::AllOps()) {
    const auto samples = SamplesOf(*op);
    if (!samples.empty() && !samples[0]->operands.empty()) list.push_back(op);
  }
  return list;
}

class Mapping : public testing::TestWithParam<const ir::OpDef*> {
 protected:
  static void ForEachTry(const std::function<void(const Try&)>& f) {
    for (const Sample* sample : SamplesOf(*GetParam()))
      for (const std::vector<bool>& mapped : LaneChoices(*sample)) {
        const Try t(*sample, mapped);
        SCOPED_TRACE(t.name());
        f(t);
        if (HasFailure()) return;
      }
  }
};

TEST_P(Mapping, EqualsLaneByLane) {
  ForEachTry([](const Try& t) {
    const Case c = Unsharded(t.sample);
    EXPECT_THAT(ReadAll(t.Function(c)(t.Placed(c, {.size = kLanes}))),
                AreClose(t.LaneByLane(), t.sample.sharded));
  });
}

// Lanes are sharded over one axis, the mapped operands over the other. Types are those of one lane
// with the batch dim, and the program can be written as text.
TEST_P(Mapping, ShardedEqualsUnsharded) {
  const MeshDef* mesh = MeshOf({2, 2});
  const ir::MappedDim dim{.size = kLanes, .mesh = mesh, .axes = {sharding::WholeAxis(*mesh, 0)}};
  const trace::MeshDefScope scope(mesh);
  ForEachTry([&](const Try& t) {
    std::vector<std::vector<sharding::TensorSharding>> placements;
    std::vector<size_t> counts;
    for (const SampleOperand& o : t.sample.operands) {
      placements.push_back(Placements(mesh, o.shape));
      std::erase_if(placements.back(), [&](const sharding::TensorSharding& s) {
        for (const sharding::DimAxes& d : s.dims)
          if (sharding::OverlapsAny(d.axes, dim.axes[0])) return true;
        return false;
      });
      if (!t.sample.truth) placements.back().resize(1);
      counts.push_back(placements.back().size());
    }
    const std::vector<HostTensor> want = t.LaneByLane();
    ForEachChoice(counts, [&](const std::vector<size_t>& choice) {
      Case c{.sample = &t.sample, .mesh = mesh};
      for (size_t i = 0; i < choice.size(); ++i)
        c.operands.push_back(ir::Type::Get(t.sample.operands[i].shape, t.sample.operands[i].dtype,
                                           placements[i][choice[i]]));
      if (t.sample.op == &ops::kReshard) c.result = c.operands[0];
      const std::vector<const ir::Type*> results = ResultTypes(c);
      if (results.empty() || testing::Test::HasFailure()) return;
      SCOPED_TRACE(c.name());
      const auto f = t.Function(c);
      const std::vector<Array> placed = t.Placed(c, dim), got = f(placed);
      for (size_t r = 0; r < got.size(); ++r)
        EXPECT_EQ(type_of(got[r]).text(), ops::WithDim(results[r], dim)->text());
      EXPECT_THAT(ReadAll(got), AreClose(want, t.sample.sharded));
      const std::string text = f.trace(placed).text();
      EXPECT_EQ(ir::Text(ir::ParseProgram(text, Loc::Unknown())), text);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(EveryOp, Mapping, testing::ValuesIn(Ops()),
                         [](const auto& op) { return std::string(op.param->name); });

// All other rules are derived. Each of these ops becomes another op where a number that was
// one for all differs by lane:
//   pad                   the padding value: no op takes an array of them
//   dynamic_slice         the starts: a lookup
//   dynamic_update_slice  the same
// A convolution becomes another one: lanes become groups, or parts of the batch or of the features.
TEST(MappingCoverage, FiveOpsHaveARuleOfTheirOwnBesideCallsOfTheHost) {
  std::set<std::string_view> own;
  for (const ir::OpDef* op : ir::AllOps())
    if (op->batch && op->effect == ir::Effect::kNone) own.insert(op->name);
  EXPECT_EQ(own,
            (std::set<std::string_view>{"pad", "dynamic_slice", "dynamic_update_slice",
                                        "conv_general_dilated", "sharded_like", "pure_callback"}));
}

}  // namespace
}  // namespace tessera::suite::vmap_test
