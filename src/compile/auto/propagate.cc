// Writes a program from the result of propagation: a place for every value, reshards at borders.
#include "compile/auto/propagate.h"

#include <algorithm>
#include <map>

#include "compile/auto/pins.h"
#include "ops/ops.h"
#include "propagation/border.h"
#include "propagation/propagate.h"

namespace tessera::compile {
namespace {

using propagation::OpId;
using propagation::RegionId;
using propagation::engine::kNoOp;
using propagation::engine::kNoRegion;
using propagation::engine::MaybeSharding;
using propagation::engine::Op;
using propagation::engine::OperandUse;
using sharding::TensorSharding;
using GraphValue = propagation::ValueId;
constexpr RegionId kProgram = RegionId::kOutermost;

// Writes the program with the places of a result.
class Placer {
 public:
  Placer(const ProgramGraph& built, const propagation::engine::EngineResult& result)
      : built_(built), result_(result), programs_(built.regions.size()) {
    now_.resize(result.graph.values.size());
    captured_.resize(built.regions.size());
    FindAskedFor();
    for (RegionId r : built.regions.ids()) Start(r);
    for (const ProgramGraph::RegionBorder& b : built.borders) {
      borders_[b.use] = &b;
      if (b.stacked_owner) stacked_.push_back(b.owner);
    }
  }

  ir::Program Run() {
    const ir::Program& from = *built_.regions[kProgram].program;
    for (ir::ValueId v : from.inputs) Enter(v);
    for (const ir::Capture& c : from.captures) Enter(c.value);
    for (OpId id : result_.graph.ops.ids()) {
      const Op& op = result_.graph.ops[id];
      if (op.is_return)
        Return(op);
      else if (op.origin != kNoOp && InfoOf(op).ends_region)
        EndRegion(op);
      else if (op.origin == kNoOp || InfoOf(op).instruction)
        Write(id);
    }
    return std::move(programs_[kProgram]);
  }

 private:
  const ProgramGraph::OpInfo& InfoOf(const Op& op) const { return built_.ops[op.origin]; }

  void Start(RegionId r) {
    const ProgramGraph::RegionInfo& info = built_.regions[r];
    const ir::Program& from = *info.program;
    ir::Program& out = programs_[r];
    out.mesh = from.mesh;
    out.values = from.values;
    out.names = from.names;
    out.inputs = from.inputs;
    out.captures = from.captures;
    for (ir::ValueId v : info.values.ids()) {
      const GraphValue g = info.values[v];
      Home& home = now_[g];
      if (home.region == kNoRegion) home = {r, v};
      out.SetPlace(v, Place(from.type(v), ClosedOf(g, from.type(v))));
    }
  }

  static const ir::Type* Place(const ir::Type* type, TensorSharding s) {
    s.reduced = type->sharding().reduced;
    s.varying = type->sharding().varying;
    if (!s.mesh && type->mesh()) s.mesh = type->mesh()->WithoutModes();
    return ir::Type::Get(type->shape(), type->dtype(), std::move(s), type->weak());
  }
  TensorSharding ClosedOf(GraphValue v, const ir::Type* type) const {
    if (const TensorSharding* s = result_.sharding(v)) return propagation::engine::Closed(*s);
    return sharding::Replicated(nullptr, type->rank());
  }
  // Arguments and results divide evenly. Parts of axes in types stay.
  static const ir::Type* AtBorder(const ir::Type* type, const TensorSharding& open) {
    return Place(type,
                 propagation::engine::Closed(propagation::engine::AtBorder(
                     open, type->shape(), propagation::engine::SubAxes::kCut, &type->sharding())));
  }

  // An argument keeps its place, which is replicated if the argument has no mesh. Inside the
  // program it may be sharded further.
  void Enter(ir::ValueId v) {
    ir::Program& out = programs_[kProgram];
    const ProgramGraph::RegionInfo& info = built_.regions[kProgram];
    const ir::Type *decided = out.place(v), *given = info.program->place(v);
    const TensorSharding* open = result_.sharding(info.values[v]);
    if (!given && !out.type(v)->mesh())
      given = Place(out.type(v), sharding::Replicated(decided->mesh(), decided->rank()));
    const ir::Type* border = given ? given : open ? AtBorder(out.type(v), *open) : decided;
    if (border->sharding() == decided->sharding()) return;
    out.SetPlace(v, border);
    now_[info.values[v]].value = Move(kProgram, v, decided);
  }

  ir::ValueId Move(RegionId region, ir::ValueId v, const ir::Type* to) {
    ir::Program& out = programs_[region];
    if (out.place(v)->sharding() == to->sharding()) return v;
    Loc loc = out.values[v].loc;
    ir::ValueId moved = out.AddValue(out.type(v), loc);
    out.SetPlace(moved, to);
    out.instructions.push_back({&ops::kImpliedReshard, nullptr, {v}, {moved}, loc, {}});
    return moved;
  }

  // Returns the value of the program that stands for a value of the graph. A value that propagation
  // added to the graph gets a new one.
  ir::ValueId Define(RegionId region, GraphValue v, const ir::Type* type, Loc loc) {
    ir::Program& out = programs_[region];
    Home& home = now_[v];
    // A constant that only branches use is made there, by the copies of its op.
    if (home.region != region) home = {region, out.AddValue(type, loc)};
    out.SetPlace(home.value, Place(type, ClosedOf(v, type)));
    return home.value;
  }

  // Returns the id that a value has inside a region. A value from outside becomes an input of the
  // region, and of every region between it and the definition.
  ir::ValueId Local(RegionId region, GraphValue v) {
    const Home& home = now_[v];
    if (home.region == region) return home.value;
    auto& captured = captured_[region];
    for (const auto& [outer, inner] : captured)
      if (outer == v) return inner;
    const RegionId parent = built_.regions[region].parent;
    ir::ValueId outer = Local(parent, v);
    const ir::Program& from = programs_[parent];
    ir::Program& to = programs_[region];
    ir::ValueId inner = to.AddValue(from.type(outer), from.values[outer].loc);
    to.SetPlace(inner, from.place(outer));
    captured.emplace_back(v, inner);
    return inner;
  }

  void Write(OpId id) {
    const Op& op = result_.graph.ops[id];
    ir::Program& out = programs_[op.region];
    ir::Instruction next{.op = &ops::kImpliedReshard,
                         .params = nullptr,
                         .operands = {},
                         .results = {},
                         .loc = Loc::Unknown()};
    for (size_t k = 0; k < op.operands.size(); ++k) next.operands.push_back(Operand(op, k));
    std::vector<const ir::Type*> types;
    if (op.origin == kNoOp) {
      next.loc = out.values[next.operands[0]].loc;
      types.push_back(out.type(next.operands[0]));
    } else {
      const ir::Instruction& made = *InfoOf(op).instruction;
      next.op = made.op;
      if (made.op == &ops::kImpliedReshard && asked_for_[op.results[0]]) next.op = &ops::kReshard;
      next.params = made.params;
      next.loc = made.loc;
      ReorderForTies(made, next.operands);
      // The values of a copied op have the types of the original values.
      const auto home = InfoOf(op).region;
      const ir::Program& from = *built_.regions[home].program;
      for (ir::ValueId v : made.results) types.push_back(from.type(v));
      if (!made.regions.empty()) return WriteRegions(id, made, std::move(next));
    }
    // A value that an edge defines is still the result of its instruction.
    auto results = op.results;
    if (results.empty() && op.origin != kNoOp)
      for (ir::ValueId v : InfoOf(op).instruction->results)
        results.push_back(built_.regions[op.region].values[v]);
    for (size_t r = 0; r < results.size(); ++r)
      next.results.push_back(Define(op.region, results[r], types[r], next.loc));
    out.instructions.push_back(std::move(next));
  }

  // Marks operands of constraints that have the place of the constraint.
  void FindAskedFor() {
    const auto& values = result_.graph.values;
    asked_for_.resize(values.size());
    for (const Op& op : result_.graph.ops) {
      if (op.kind != Op::kConstraint) continue;
      const MaybeSharding& given = values[op.operands[0]].sharding;
      if (given && *values[op.results[0]].sharding == *given) asked_for_[op.operands[0]] = true;
    }
  }

  // Returns an operand of an op, resharded to the place at the border that it crosses.
  ir::ValueId Operand(const Op& op, size_t k) {
    ir::ValueId v = Local(op.region, op.operands[k]);
    if (op.origin == kNoOp) return v;
    auto it = borders_.find({op.origin, static_cast<int32_t>(k)});
    return it == borders_.end() ? v : Move(op.region, v, BorderType(*it->second, op.region, v));
  }

  const ir::Type* BorderType(const ProgramGraph::RegionBorder& b, RegionId region,
                             ir::ValueId v) const {
    const ir::Type* type = programs_[region].type(v);
    int rank = type->rank() + (b.stacked_owner ? 1 : 0) - (b.stacked ? 1 : 0);
    const TensorSharding* owner = result_.sharding(b.owner);
    TensorSharding s =
        owner ? propagation::engine::Closed(*owner) : sharding::Replicated(nullptr, rank);
    if (b.stacked) {
      s.dims.emplace_back();
      std::rotate(s.dims.begin(), s.dims.end() - 1, s.dims.end());
    }
    if (b.stacked_owner) s.dims.erase(s.dims.begin());
    return Place(type, std::move(s));
  }

  // EndRegion completes the instruction.
  void WriteRegions(OpId id, const ir::Instruction& made, ir::Instruction next) {
    const Op& op = result_.graph.ops[id];
    ir::Program& out = programs_[op.region];
    const ProgramGraph::RegionInfo& info = built_.regions[op.region];
    for (ir::ValueId v : made.results) {
      // Stacked values are not sharded along the steps.
      if (std::count(stacked_.begin(), stacked_.end(), info.values[v])) {
        TensorSharding s = out.place(v)->sharding();
        s.dims[0].axes.clear();
        out.SetPlace(v, Place(out.type(v), std::move(s)));
      }
      next.results.push_back(v);
    }
    next.regions.resize(made.regions.size());
    for (RegionId r : built_.regions.ids())
      if (result_.graph.regions[r].op == id) homes_[r] = {op.region, out.instructions.size()};
    out.instructions.push_back(std::move(next));
  }

  void EndRegion(const Op& op) {
    const RegionId r = op.region;
    for (size_t k = 0; k < op.operands.size(); ++k) programs_[r].outputs.push_back(Operand(op, k));
    auto [parent, at] = homes_.at(r);
    ir::Instruction& i = programs_[parent].instructions[at];
    // The regions of an op follow each other, but may end in any order.
    const RegionId first{base::Number(r) - built_.regions[r].number};
    if (++ended_[first] < i.regions.size()) return;
    const base::IdRange<RegionId> regions(
        first, RegionId{base::Number(first) + static_cast<int32_t>(i.regions.size())});
    if (IsBranch(i)) Capture(i, regions, parent);
    size_t k = 0;
    for (RegionId inner : regions) i.regions[k++] = ir::Shared(std::move(programs_[inner]));
  }

  // Every branch has the inputs that any of them uses.
  void Capture(ir::Instruction& i, base::IdRange<RegionId> regions, RegionId parent) {
    std::vector<GraphValue> used;
    for (RegionId r : regions) {
      programs_[r].inputs.clear();
      for (const auto& [outer, inner] : captured_[r])
        if (!std::count(used.begin(), used.end(), outer)) used.push_back(outer);
    }
    for (GraphValue v : used) {
      i.operands.push_back(Local(parent, v));
      for (RegionId r : regions) programs_[r].inputs.push_back(Local(r, v));
    }
  }

  void Return(const Op& op) {
    ir::Program& out = programs_[kProgram];
    for (size_t r = 0; r < op.operands.size(); ++r) {
      ir::ValueId v = Local(kProgram, op.operands[r]);
      const MaybeSharding& returned = result_.returns[r];
      const TensorSharding* open = returned ? &*returned : result_.sharding(op.operands[r]);
      const ir::Type* border =
          open ? AtBorder(out.type(v), ClosedAs(built_.results[r], *open)) : out.place(v);
      out.outputs.push_back(Move(kProgram, v, border));
    }
  }
  static TensorSharding ClosedAs(const MaybeSharding& given, TensorSharding s) {
    for (size_t d = 0; given && d < s.dims.size(); ++d) s.dims[d].open &= given->dims[d].open;
    return s;
  }

  const ProgramGraph& built_;
  const propagation::engine::EngineResult& result_;
  base::IdVector<RegionId, ir::Program> programs_;
  // For each value of the graph: the region that defines it or that it enters first, and its
  // id there.
  struct Home {
    RegionId region = kNoRegion;
    ir::ValueId value = ir::kNoValue;
  };
  base::IdVector<GraphValue, Home> now_;
  base::IdVector<GraphValue, bool> asked_for_;
  // Per region: the values that it uses from outside, and their ids inside.
  base::IdVector<RegionId, std::vector<std::pair<GraphValue, ir::ValueId>>> captured_;
  absl::flat_hash_map<OperandUse, const ProgramGraph::RegionBorder*> borders_;
  std::vector<GraphValue> stacked_;                        // values that loops stack
  std::map<RegionId, std::pair<RegionId, size_t>> homes_;  // by region: its instruction
  std::map<RegionId, size_t> ended_;                       // by the first region of an op
};

}  // namespace

bool HasAutoAxes(const ir::Program& program) {
  if (program.mesh && program.mesh->has_mode(AxisMode::Auto)) return true;
  const sharding::MeshDef* last = nullptr;
  for (const ir::Value& v : program.values) {
    if (v.type->mesh() == last) continue;
    last = v.type->mesh();
    if (last && last->has_mode(AxisMode::Auto)) return true;
  }
  for (const ir::Instruction& i : program.instructions)
    for (const ir::RegionPtr& r : i.regions)
      if (HasAutoAxes(*r)) return true;
  return false;
}

void AddPropagation(const propagation::engine::EngineOptions& options, Propagated& out,
                    spmd::OuterPasses& passes) {
  passes.propagate = [options, &out](std::shared_ptr<const ir::Program> program) {
    out.source = std::move(program);
    out.built = GraphOf(*out.source);
    if (!PinnedShardings().empty()) Pin(PinnedShardings(), out.built);
    out.result = propagation::engine::Propagate(std::move(out.built.graph), options);
    out.program = ir::Shared(Placer(out.built, out.result).Run());
    return out.program;
  };
  // A pinned program stays as it is pinned.
  if (!PinnedShardings().empty()) return;
  passes.choose_parts = [&out](std::shared_ptr<const ir::Program> program) {
    PartsOfProgram parts = PaddedOrOverParts(std::move(program));
    out.over_parts = std::move(parts.dims);
    return out.program = std::move(parts.program);
  };
}

Propagated PropagateProgram(const ir::Program& program,
                            const propagation::engine::EngineOptions& options) {
  Propagated out;
  spmd::OuterPasses outer;
  AddPropagation(options, out, outer);
  spmd::PassState passes{
      .program = std::shared_ptr<const ir::Program>(std::shared_ptr<void>(), &program),
      .outer = &outer};
  spmd::RunPasses(passes, spmd::PassStage::kPropagated);
  return out;
}

}  // namespace tessera::compile
