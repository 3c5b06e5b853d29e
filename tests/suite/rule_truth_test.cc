// The rule truth test: on one and two mesh axes, every placement of every operand and every
// out_sharding (of samples with thousands of cases a few hundred, and all of them in
// scripts/nightly fuzz). A case that the typing rule accepts runs, with the numbers, collectives
// and memory that follow from the dimension map. refused.txt lists the cases that it refuses
// although no data would have to move.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "base/shape.h"
#include "fuzz.h"
#include "ir/program_text.h"
#include "sharding/access.h"
#include "sharding/explicit_rule.h"
#include "sharding/local.h"
#include "sharding/partition.h"
#include "sharding/reshard.h"
#include "spmd/moves.h"
#include "spmd/pipeline.h"
#include "suite/compare.h"
#include "suite/placements.h"
#include "suite/run.h"
#include "suite/table.h"

namespace tessera::suite::rule_truth_test {
namespace {

using ir::HostTensor;
using sharding::AxisList;
using sharding::DimMap;
using sharding::FactorKind;
using sharding::MeshDef;
using sharding::StepKind;
using sharding::TensorSharding;

// ---- the cases --------------------------------------------------------------------------------

// Partial bool values do not add up.
PlacementOptions OptionsFor(DType dtype, size_t operands, const MeshDef& mesh) {
  bool sets = !dtype.is_bool() && (operands < 3 || mesh.rank() == 1);
  return {.unreduced = sets, .reduced = sets && dtype.is_inexact()};
}

struct Choices {
  std::vector<std::vector<const ir::Type*>> operands;
  std::vector<TensorSharding> outs;

  Choices(const Sample& sample, const MeshDef* mesh,
          const std::vector<const ir::Type*>& whole_results) {
    size_t ranked = 0;
    for (const SampleOperand& o : sample.operands) ranked += o.shape.empty() ? 0 : 1;
    for (const SampleOperand& o : sample.operands) {
      operands.emplace_back();
      for (TensorSharding& s : Placements(mesh, o.shape, OptionsFor(o.dtype, ranked, *mesh)))
        operands.back().push_back(ir::Type::Get(o.shape, o.dtype, std::move(s)));
    }
    if (sample.op != &ops::kReshard && !sample.op->out_sharding) return;
    const ir::Type* result = whole_results[0];
    outs = Placements(mesh, result->shape(), OptionsFor(result->dtype(), ranked, *mesh));
  }
};

constexpr int64_t kEvery = std::numeric_limits<int64_t>::max();

// Calls f for every choice of operand types and out_sharding, or for about `most` of them.
template <class F>
void ForEachCase(const Sample& sample, const MeshDef* mesh, int64_t most, F f) {
  std::vector<const ir::Type*> whole = ResultTypes(Unsharded(sample));
  Choices choices(sample, mesh, whole);
  bool moves = sample.op == &ops::kReshard;
  std::vector<size_t> counts;
  for (const auto& types : choices.operands) counts.push_back(types.size());
  counts.push_back(choices.outs.size() + (moves ? 0 : 1));
  int64_t all = 1, index = 0;
  for (size_t n : counts) all *= static_cast<int64_t>(n);
  ForEachChoice(counts, [&](const std::vector<size_t>& choice) {
    if (!IsTried(index++, all, most)) return;
    Case c{.sample = &sample, .mesh = mesh};
    for (size_t i = 0; i < choices.operands.size(); ++i)
      c.operands.push_back(choices.operands[i][choice[i]]);
    if (moves)
      c.result = whole[0]->WithSharding(choices.outs[choice.back()]);
    else if (choice.back() > 0)
      c.out = &choices.outs[choice.back() - 1];
    f(c);
  });
}

// Unreduced and reduced values, and cases with an out_sharding, are typed over halves of
// an axis as over two axes.
TEST(RuleTruth, HalvesOfAnAxisAreTypedAsTwoAxes) {
  for (const Sample& sample : Samples()) {
    if (!sample.truth || sample.op == &ops::kReshape) continue;
    ForEachCase(sample, MeshOf({2, 2}), 3000, [&](const Case& c) {
      Case halves{.sample = &sample, .mesh = MeshOf({4})};
      for (const ir::Type* t : c.operands)
        halves.operands.push_back(t->WithSharding(AsHalves(t->sharding())));
      if (c.result) halves.result = c.result->WithSharding(AsHalves(c.result->sharding()));
      TensorSharding out;
      if (c.out) out = AsHalves(*c.out), halves.out = &out;
      std::string want, got;
      for (const ir::Type* t : ResultTypes(c))
        want += t->WithSharding(AsHalves(t->sharding()))->text();
      for (const ir::Type* t : ResultTypes(halves)) got += t->text();
      EXPECT_EQ(got, want) << c.name();
    });
  }
}

// ---- predictions from the dimension map
// ----------------------------------------------------------

struct Event {
  StepKind kind;
  AxisList axes;
  int64_t bytes;
};

void AddEvents(const ir::Type& t, const TensorSharding& from, const TensorSharding& to,
               std::vector<Event>& out) {
  for (const sharding::ReshardStep& s :
       sharding::PlanReshard(t.shape(), t.dtype().size(), from, to))
    if (s.bytes > 0) out.push_back({s.kind, s.axes, s.bytes});
}

std::string EventsText(const std::vector<Event>& events, const MeshDef& mesh) {
  std::string out;
  for (const Event& e : events) {
    out += fmt::format(" {}", Name(e.kind));
    for (sharding::AxisPart a : e.axes) out += " " + AxisText(mesh, a);
    out += fmt::format(" {} B;", e.bytes);
  }
  return out.empty() ? " none" : out;
}

DimMap MapOf(const Case& c, const std::vector<const ir::Type*>& results) {
  return ir::DeviceMapOf(*c.sample->op, c.sample->params.get(), c.operands, results);
}

sharding::PartitionTensor TensorOf(const ir::Type* t) {
  return {&t->shape(), t->dtype().size(), &t->sharding()};
}

sharding::Partition PartitionOf(const Case& c, const std::vector<const ir::Type*>& results) {
  std::vector<sharding::PartitionTensor> ins, outs;
  for (const ir::Type* t : c.operands) ins.push_back(TensorOf(t));
  for (const ir::Type* t : results) outs.push_back(TensorOf(t));
  return sharding::ChoosePartition(MapOf(c, results), ins, outs, c.sample->op->flops_per_point);
}

// Returns the axes that shard a factor of this kind on some operand.
AxisList AxesOn(const Case& c, const DimMap& map, FactorKind kind) {
  AxisList axes;
  for (size_t i = 0; i < c.operands.size(); ++i)
    for (size_t d = 0; d < map.operands[i].size(); ++d)
      for (int32_t f : map.operands[i][d])
        if (map.factors[static_cast<size_t>(f)].kind == kind)
          for (sharding::AxisPart a : c.operands[i]->sharding().dims[d].axes) axes.push_back(a);
  return axes;
}

std::vector<Event> Predicted(const Case& c, const std::vector<const ir::Type*>& results) {
  std::vector<Event> events;
  if (c.result) {
    AddEvents(*c.result, c.operands[0]->sharding(), c.result->sharding(), events);
    return events;
  }
  DimMap map = MapOf(c, results);
  auto* kernel = std::get_if<ir::AsKernel>(&*c.sample->op->lowering);
  AxisList reduced = AxesOn(c, map, FactorKind::kReduce);
  if (kernel && kernel->sharded && !reduced.empty()) {
    // Two reductions: the extreme, then its least index.
    for (DType dtype : {c.operands[0]->dtype(), results[0]->dtype()}) {
      TensorSharding partial = results[0]->sharding();
      partial.unreduced = reduced;
      sharding::SortAndMerge(partial.unreduced);
      AddEvents(*results[0]->WithDType(dtype), partial, results[0]->sharding(), events);
    }
    return events;
  }
  sharding::Partition p = PartitionOf(c, results);
  for (size_t i = 0; i < c.operands.size(); ++i)
    AddEvents(*c.operands[i], c.operands[i]->sharding(), p.operands[i], events);
  if (p.halo_bytes > 0) events.push_back({StepKind::kHaloExchange, p.halo_axes, p.halo_bytes});
  if (p.scan_bytes > 0) events.push_back({StepKind::kAllGather, p.scan_axes, p.scan_bytes});
  for (size_t i = 0; i < results.size(); ++i)
    AddEvents(*results[i], p.results[i], results[i]->sharding(), events);
  return events;
}

std::vector<Event> Lowered(const ir::Program& device) {
  std::vector<Event> events;
  for (const ir::Instruction& i : device.instructions)
    if (i.cost->bytes > 0) events.push_back({spmd::KindOf(*i.op), i.cost->axes, i.cost->bytes});
  return events;
}

// Whether only pass factors are sharded, and each result has the operands' axes. Nothing may move
// then. (JAX's type of a reshape that joins dims does not keep the axes.)
bool OnlyPasses(const Case& c, const std::vector<const ir::Type*>& results) {
  if (c.out || c.result) return false;
  DimMap map = MapOf(c, results);
  for (FactorKind kind : {FactorKind::kReduce, FactorKind::kReplicate, FactorKind::kScan,
                          FactorKind::kPermute, FactorKind::kAcross})
    if (!AxesOn(c, map, kind).empty()) return false;
  for (size_t r = 0; r < results.size(); ++r) {
    sharding::FactorAxes want =
        Project(map, map.results[r], results[r]->sharding(), sharding::AxisCut::kAllowed).axes;
    for (size_t i = 0; i < c.operands.size(); ++i) {
      sharding::FactorAxes have =
          Project(map, map.operands[i], c.operands[i]->sharding(), sharding::AxisCut::kAllowed)
              .axes;
      for (size_t f = 0; f < have.size(); ++f)
        if (!have[f].empty() && have[f] != want[f]) return false;
    }
  }
  return true;
}

// ---- memory of the device program
// ----------------------------------------------------------------

int64_t LocalElements(const ir::Type& t) {
  return sharding::LocalElements(t.shape(), t.sharding());
}

// Whether an operand has the factor below another one in the same dim.
bool IsMinor(const DimMap& map, int32_t factor) {
  for (const sharding::DimFactors& dims : map.operands)
    for (const sharding::FactorList& dim : dims)
      for (size_t k = 1; k < dim.size(); ++k)
        if (dim[k] == factor) return true;
  return false;
}

// Returns the most elements a device may hold of result r: the local part of its type, or the part
// that the sharded operands give before it is resharded. A view is no larger than its operand.
int64_t ResultLimit(const Case& c, const DimMap& map, const std::vector<const ir::Type*>& results,
                    size_t r) {
  // A dim that is sorted or read through windows may be computed whole: nothing is exchanged then.
  // So may a dim that an operand has below another factor: it cannot be split before that one.
  TensorSharding split = results[r]->sharding();
  for (size_t d = 0; d < split.dims.size() && c.out && c.sample->op->flops_per_point > 0; ++d)
    for (int32_t f : map.results[r][d])
      if (base::At(map.factors, f).kind == FactorKind::kPermute || base::At(map.factors, f).sorts ||
          IsMinor(map, f))
        split.dims[d].axes.clear();
  int64_t limit = sharding::LocalElements(results[r]->shape(), split);
  if (std::holds_alternative<ir::AsView>(*c.sample->op->lowering))
    limit = std::max(limit, LocalElements(*c.operands[0]) * results[r]->elements() /
                                std::max<int64_t>(c.operands[0]->elements(), 1));
  for (size_t i = 0; i < c.operands.size(); ++i) {
    if (c.operands[i]->sharding().dims_empty()) continue;
    sharding::FactorAxes axes =
        Project(map, map.operands[i], c.operands[i]->sharding(), sharding::AxisCut::kAllowed).axes;
    limit = std::max(limit, sharding::LocalElements(results[r]->shape(),
                                                    Unproject(map, map.results[r], axes, c.mesh)));
  }
  return limit;
}

// Returns the elements of the view of operand i that the sample's op reads, if its result has this
// place.
int64_t ElementsOfView(const DimMap& map, size_t i, const ir::Type* operand,
                       const ir::Type* result) {
  const base::Shape block = sharding::LocalShape(result->shape(), result->sharding());
  base::Shape view = sharding::LocalShape(operand->shape(), operand->sharding());
  for (const sharding::Access& a : map.accesses) {
    if (base::Size(a.operand) != i) continue;
    size_t from = 0, to = 0;
    while (!sharding::HasFactor({map.operands[i][from]}, a.factor)) ++from;
    while (!sharding::HasFactor({map.results[0][to]}, a.factor)) ++to;
    if (!result->sharding().dims[to].axes.empty())
      view[from] = sharding::ViewOf(a, block[to]).extent;
  }
  return base::Elements(view);
}

// Checks that operands are no larger than the local part of their type unless gathered, and that
// results stay within their limit unless operands were gathered or the result is partial. Moves
// come in chains; those of operands come before the op.
std::string TooLarge(const Case& c, const ir::Program& device,
                     const std::vector<const ir::Type*>& results) {
  std::map<ir::ValueId, int64_t> allowed;  // by value
  std::set<ir::ValueId> grown;
  std::map<ir::ValueId, ir::ValueId> views;  // of values that a halo exchange reads
  for (size_t i = 0; i < c.operands.size(); ++i)
    allowed[device.inputs[i]] = LocalElements(*c.operands[i]);
  for (const ir::Instruction& instruction : device.instructions) {
    bool move = std::holds_alternative<ir::AsMove>(*instruction.op->lowering);
    bool gathers = move && spmd::KindOf(*instruction.op) == StepKind::kAllGather;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const ir::ValueId v = instruction.operands[i];
      if (views.count(v) && instruction.op == c.sample->op) {
        const int64_t wants = ElementsOfView(MapOf(c, results), i, device.place(views[v]),
                                             device.place(instruction.results[0]));
        if (device.type(v)->elements() != wants)
          return fmt::format("a view has {} elements, not {}", device.type(v)->elements(), wants);
        continue;
      }
      gathers = gathers || grown.count(v);
      int64_t n = device.type(v)->elements();
      auto limit = allowed.find(v);
      if (!move && limit != allowed.end() && !grown.count(v) && n > limit->second)
        return fmt::format("an operand of {} has {} elements, its local type {}",
                           instruction.op->name, n, limit->second);
    }
    if (move && spmd::KindOf(*instruction.op) == StepKind::kHaloExchange)
      views[instruction.results[0]] = instruction.operands[0];
    for (size_t r = 0; r < instruction.results.size(); ++r) {
      ir::ValueId v = instruction.results[r];
      if (gathers) grown.insert(v);
      auto from = move ? allowed.find(instruction.operands[0]) : allowed.end();
      if (from != allowed.end()) allowed[v] = from->second;
      bool partial = !device.place(v)->sharding().unreduced.empty();
      if (move || gathers || partial || instruction.op != c.sample->op) continue;
      int64_t n = device.type(v)->elements();
      if (int64_t limit = ResultLimit(c, MapOf(c, results), results, r); n > limit)
        return fmt::format("a result of {} has {} elements, not at most {}", instruction.op->name,
                           n, limit);
    }
  }
  return "";
}

// ---- the tests ----------------------------------------------------------------------------------

std::vector<const ir::OpDef*> Ops() {
  ops::Install();
  std::vector<const ir::OpDef*> list;
  for (const ir::OpDef* op : ir::AllOps())
    if (std::holds_alternative<ir::DimMapFn>(*op->dims) || op == &ops::kReshard) list.push_back(op);
  return list;
}

std::vector<const MeshDef*> Meshes() { return {MeshOf({2}), MeshOf({2, 2})}; }

class RuleTruth : public testing::TestWithParam<const ir::OpDef*> {
 protected:
  template <class F>
  void ForEachAccepted(F f) {
    for (const Sample* sample : SamplesOf(*GetParam())) {
      if (!sample->truth) continue;
      for (const MeshDef* mesh : Meshes())
        ForEachCase(*sample, mesh, 4000, [&](const Case& c) {
          if (HasFailure()) return;
          std::vector<const ir::Type*> results = ResultTypes(c);
          if (!results.empty()) f(c, results);
        });
    }
  }
};

TEST_P(RuleTruth, HasASmallSample) {
  bool any = false;
  for (const Sample* sample : SamplesOf(*GetParam())) any = any || sample->truth;
  EXPECT_TRUE(any) << "mark a small sample with truth";
}

TEST_P(RuleTruth, TheDeviceProgramHasThePredictedCollectives) {
  ForEachAccepted([&](const Case& c, const std::vector<const ir::Type*>& results) {
    ir::Program device = spmd::Lower(*ProgramOf(c, results));
    std::vector<Event> got = Lowered(device), want = Predicted(c, results);
    EXPECT_EQ(EventsText(got, *c.mesh), EventsText(want, *c.mesh)) << c.name();
    if (OnlyPasses(c, results)) {
      EXPECT_EQ(EventsText(got, *c.mesh), " none") << c.name();
    }
    EXPECT_EQ(TooLarge(c, device, results), "") << c.name() << "\n" << ir::Text(device);
  });
}

// Partial values change the order of additions.
Tolerance ToleranceOf(const Case& c, const std::vector<const ir::Type*>& results) {
  auto partial = [](const ir::Type* t) { return !t->sharding().unreduced.empty(); };
  bool any = std::any_of(c.operands.begin(), c.operands.end(), partial) ||
             std::any_of(results.begin(), results.end(), partial);
  if (!any) return c.sample->sharded;
  return {std::max(c.sample->sharded.eps, 8.0), std::max(c.sample->sharded.magnitude, 200.0)};
}

TEST_P(RuleTruth, AcceptedPlacementsGiveTheNumbers) {
  const Sample* sample = nullptr;
  std::vector<HostTensor> data, want;
  ForEachAccepted([&](const Case& c, const std::vector<const ir::Type*>& results) {
    if (c.sample != sample) {
      sample = c.sample;
      data = MakeData(*sample);
      want = RunEager(Unsharded(*sample), data);
    }
    EXPECT_THAT(RunEager(c, data), AreClose(want, ToleranceOf(c, results))) << c.name();
  });
}

// ---- refusals -----------------------------------------------------------------------------------

std::optional<sharding::Conflict> ConflictOf(const Case& c,
                                             const std::vector<const ir::Type*>& whole) {
  const ir::OpDef& op = *c.sample->op;
  ir::DimsCall dims{.op = op, .operands = {}, .results = {}, .params = c.sample->params.get()};
  std::vector<sharding::RuleOperand> operands;
  for (const ir::Type* t : c.operands) {
    dims.operands.push_back(&t->shape());
    operands.push_back({&t->sharding(), &t->shape(), t->dtype().is_inexact()});
  }
  for (const ir::Type* t : whole) dims.results.push_back(&t->shape());
  dims.to_float = whole[0]->dtype().is_inexact();
  DimMap map = std::get<ir::DimMapFn>(*op.dims)(dims);
  return sharding::ExplicitRule(map, operands, dims.results, c.out).conflict;
}

// Whether partial operands may pass through the op.
bool PartialsPass(const Case& c, const DimMap& map) {
  const TensorSharding* carrier = nullptr;
  for (const sharding::LinearGroup& g : map.linear)
    for (int32_t i : g.operands) {
      const TensorSharding& s = c.operands[static_cast<size_t>(i)]->sharding();
      if (carrier || s.unreduced.empty()) continue;
      carrier = &s;
      if (!g.kinds.has(s.kind)) return false;
    }
  return true;
}

// Whether some layout of the results could be computed without moving data.
bool CouldBeFree(const Case& c, const DimMap& map) {
  std::vector<sharding::PartitionTensor> ins;
  for (const ir::Type* t : c.operands) ins.push_back(TensorOf(t));
  return PartialsPass(c, map) && sharding::ChoosePartition(map, ins, {}).bytes == 0;
}

// Returns the lines of refused.txt: "C5 dot_general"; "C4 *" for every op of several operands.
std::set<std::string> ListedRefusals() {
  std::ifstream in(TESSERA_SOURCE_DIR "/tests/suite/refused.txt");
  std::set<std::string> listed;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string check;
    words >> check;
    for (std::string op; words >> op;) listed.insert(check + " " + op);
  }
  return listed;
}

// Returns the line that should list such a refusal.
std::string LineOf(int check, const Sample& sample, const std::set<std::string>& listed) {
  const std::string number = fmt::format("C{} ", check);
  const bool any = sample.operands.size() > 1 && listed.count(number + "*");
  return number + (any ? "*" : std::string(sample.op->name));
}

TEST(RuleTruthRefusals, AreThoseThatJaxRefusesToo) {
  const std::set<std::string> listed = ListedRefusals();
  std::map<std::string, std::string> found;  // with an example
  for (const Sample& sample : Samples()) {
    if (!sample.truth || sample.op == &ops::kReshard) continue;
    std::vector<const ir::Type*> whole = ResultTypes(Unsharded(sample));
    for (const MeshDef* mesh : Meshes())
      ForEachCase(sample, mesh, kEvery, [&](const Case& c) {
        if (c.out) return;
        auto conflict = ConflictOf(c, whole);
        if (conflict && CouldBeFree(c, MapOf(c, whole)))
          found.try_emplace(LineOf(static_cast<int>(conflict->check), sample, listed),
                            c.name() + ": " + conflict->reason);
      });
  }
  for (const auto& [line, example] : found)
    EXPECT_TRUE(listed.count(line)) << line << ", as " << example;
  for (const std::string& line : listed)
    EXPECT_TRUE(found.count(line)) << line << " is not refused any more";
}

INSTANTIATE_TEST_SUITE_P(EveryOp, RuleTruth, testing::ValuesIn(Ops()),
                         [](const auto& op) { return std::string(op.param->name); });

}  // namespace
}  // namespace tessera::suite::rule_truth_test
