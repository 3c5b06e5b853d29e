#include "api/propagate.h"

#include "api/concrete.h"
#include "api/explain.h"
#include "ir/infer.h"
#include "ir/move_params.h"
#include "ops/ops.h"

namespace tessera::api {
namespace {

using propagation::Direction;
using propagation::Graph;
using propagation::Op;
using sharding::TensorSharding;

const ir::ConstraintParams* ConstraintOf(const ir::Instruction& i) {
  return i.op == &ops::kShardingConstraint ? &ir::As<ir::ConstraintParams>(i.params.get())
                                           : nullptr;
}

// What a type says about the complete sharding; nothing where all axes are Auto.
std::optional<TensorSharding> GivenByType(const ir::Type* type) {
  const sharding::MeshDef* mesh = type->mesh();
  if (!mesh || (mesh->all_mode(AxisMode::Auto) && type->sharding().unreduced.empty()))
    return std::nullopt;
  TensorSharding s = type->sharding();
  s.mesh = mesh->WithoutModes();
  s.reduced.clear();
  if (!mesh->has_mode(AxisMode::Auto)) return s;
  sharding::AxisList used = s.unreduced;
  for (sharding::DimAxes& d : s.dims) {
    d.open = true;
    used.insert(used.end(), d.axes.begin(), d.axes.end());
  }
  for (int a = 0; a < mesh->rank(); ++a) {
    sharding::AxisRef axis = sharding::WholeAxis(*mesh, a);
    bool free = axis.size > 1 && mesh->axes()[static_cast<size_t>(a)].mode != AxisMode::Auto;
    if (free && !sharding::OverlapsAny(used, axis)) s.replicated.push_back(axis);
  }
  return s;
}

// An argument keeps the axes it lies over; one that lies whole on every device may be cut.
std::optional<TensorSharding> GivenByPlace(const ir::Type* place) {
  if (place->sharding().dims_empty()) return std::nullopt;
  return place->sharding();
}

// The Explicit axes of the type, then what the user asks for.
TensorSharding Asked(const ir::ConstraintParams& params, const ir::Type* type, Loc loc) {
  TensorSharding s =
      sharding::ParseSharding(params.sharding.text, type->mesh()->WithoutModes(), loc);
  std::optional<TensorSharding> given = GivenByType(type);
  if (!given) return s;
  for (size_t d = 0; d < s.dims.size(); ++d)
    s.dims[d].axes.insert(s.dims[d].axes.begin(), given->dims[d].axes.begin(),
                          given->dims[d].axes.end());
  s.replicated.insert(s.replicated.end(), given->replicated.begin(), given->replicated.end());
  s.unreduced.insert(s.unreduced.end(), given->unreduced.begin(), given->unreduced.end());
  SortAndMerge(s.replicated);
  SortAndMerge(s.unreduced);
  return s;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const ir::Program& program) : program_(program) {}

  Graph Run() {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const ir::Type *type = program_.values[v].type, *place = program_.place(static_cast<int>(v));
      std::optional<TensorSharding> given = place ? GivenByPlace(place) : std::nullopt;
      graph_.AddValue(type->shape(), given ? given : GivenByType(type));
    }
    for (const ir::Instruction& i : program_.instructions) Add(i);
    Op end;
    end.kind = Op::kNone;
    end.is_return = true;
    end.operands.assign(program_.outputs.begin(), program_.outputs.end());
    graph_.Add(std::move(end));
    for (ir::ValueId v : program_.outputs) graph_.returns.push_back(GivenByType(program_.type(v)));
    return std::move(graph_);
  }

 private:
  void Add(const ir::Instruction& i) {
    const ir::OpDef& def = *i.op;
    Op op;
    op.operands.assign(i.operands.begin(), i.operands.end());
    op.results.assign(i.results.begin(), i.results.end());
    const ir::Lowering& lowering = *def.lowering;
    op.constant = i.operands.empty();
    op.elementwise = std::holds_alternative<ir::Elementwise>(lowering);
    op.expands = std::holds_alternative<ir::Broadcast>(lowering);
    op.foldable = op.elementwise || op.expands || std::holds_alternative<ir::View>(lowering) ||
                  &def == &ops::kSlice;
    op.first = def.travel == ir::Travel::kEarly          ? Direction::kBoth
               : def.travel == ir::Travel::kEarlyForward ? Direction::kForward
                                                         : Direction::kNone;
    if (const ir::ConstraintParams* params = ConstraintOf(i)) {
      op.kind = Op::kConstraint;
      const ir::Type* type = program_.type(i.results[0]);
      graph_.values[static_cast<size_t>(i.results[0])].sharding = Asked(*params, type, i.loc);
    } else if (std::holds_alternative<ir::Move>(lowering)) {
      op.elementwise = true;
      op.rule = graph_.IdentityRule(program_.type(i.results[0])->shape(), 1);
    } else {
      op.rule = RuleOf(i);
    }
    graph_.Add(std::move(op));
  }

  propagation::RuleId RuleOf(const ir::Instruction& i) {
    std::vector<const ir::Type*> operands, results;
    for (ir::ValueId v : i.operands) operands.push_back(program_.type(v));
    for (ir::ValueId v : i.results) results.push_back(program_.type(v));
    return graph_.AddRule(ir::DimMapOf(*i.op, i.params.get(), operands, results));
  }

  const ir::Program& program_;
  Graph graph_;
};

// Writes the program that the result describes.
class Placer {
 public:
  Placer(const ir::Program& from, const propagation::Result& result)
      : from_(from), result_(result) {
    out_.mesh = from.mesh;
    out_.values = from.values;
    out_.names = from.names;
    now_.resize(result.graph.values.size());
    for (size_t v = 0; v < now_.size(); ++v) now_[v] = static_cast<ir::ValueId>(v);
  }

  ir::Program Run() {
    for (size_t v = 0; v < from_.values.size(); ++v)
      out_.SetPlace(static_cast<ir::ValueId>(v), Decided(static_cast<ir::ValueId>(v)));
    out_.inputs = from_.inputs;
    out_.captures = from_.captures;
    for (ir::ValueId v : from_.inputs) Enter(v);
    for (const ir::Capture& c : from_.captures) Enter(c.value);
    for (const Op& op : result_.graph.ops) op.is_return ? Return(op) : Write(op);
    return std::move(out_);
  }

 private:
  const ir::Type* Place(const ir::Type* type, TensorSharding s) const {
    s.reduced = type->sharding().reduced;
    if (!s.mesh && type->mesh()) s.mesh = type->mesh()->WithoutModes();
    return ir::Type::Get(type->shape(), type->dtype(), std::move(s), type->weak());
  }
  TensorSharding ClosedOf(propagation::ValueId v, const ir::Type* type) const {
    if (const TensorSharding* s = result_.sharding(v)) return propagation::Closed(*s);
    return sharding::Replicated(nullptr, type->rank());
  }
  const ir::Type* TypeOf(ir::ValueId v) const { return out_.type(v); }
  const ir::Type* Decided(ir::ValueId v) const { return Place(TypeOf(v), ClosedOf(v, TypeOf(v))); }
  // Arguments and results divide evenly.
  const ir::Type* AtBorder(ir::ValueId v, const TensorSharding& open) const {
    const ir::Type* type = TypeOf(v);
    return Place(type, propagation::Closed(propagation::AtBorder(open, type->shape(), false)));
  }

  // An argument lies where it does; inside it may be cut further.
  void Enter(ir::ValueId v) {
    const ir::Type *decided = out_.place(v), *given = from_.place(v);
    const TensorSharding* open = result_.sharding(v);
    const ir::Type* border = given ? given : open ? AtBorder(v, *open) : decided;
    if (border->sharding() == decided->sharding()) return;
    out_.SetPlace(v, border);
    now_[static_cast<size_t>(v)] = Move(v, decided, from_.values[static_cast<size_t>(v)].loc);
  }

  ir::ValueId Move(ir::ValueId v, const ir::Type* to, Loc loc) {
    ir::ValueId moved = out_.AddValue(TypeOf(v), loc);
    out_.SetPlace(moved, to);
    out_.instructions.push_back({&ops::kReshard, nullptr, {v}, {moved}, loc});
    return moved;
  }

  // Graph values beyond the program's are copies: they get a program value of their own.
  ir::ValueId Define(propagation::ValueId v, const ir::Type* type, Loc loc) {
    ir::ValueId made = v;
    if (static_cast<size_t>(v) >= from_.values.size()) made = out_.AddValue(type, loc);
    out_.SetPlace(made, Place(type, ClosedOf(v, type)));
    return now_[static_cast<size_t>(v)] = made;
  }
  void Write(const Op& op) {
    ir::Instruction next{&ops::kReshard, nullptr, {}, {}, Loc::Unknown()};
    for (propagation::ValueId v : op.operands)
      next.operands.push_back(now_[static_cast<size_t>(v)]);
    std::vector<const ir::Type*> types;
    if (op.origin >= 0) {
      const ir::Instruction& made = from_.instructions[static_cast<size_t>(op.origin)];
      next.op = made.op;
      next.params = made.params;
      next.loc = made.loc;
      for (ir::ValueId v : made.results) types.push_back(from_.type(v));
    } else {
      next.loc = out_.values[static_cast<size_t>(next.operands[0])].loc;
      types.push_back(TypeOf(next.operands[0]));
    }
    for (size_t r = 0; r < op.results.size(); ++r)
      next.results.push_back(Define(op.results[r], types[r], next.loc));
    out_.instructions.push_back(std::move(next));
  }

  void Return(const Op& op) {
    for (size_t r = 0; r < op.operands.size(); ++r) {
      ir::ValueId v = now_[static_cast<size_t>(op.operands[r])];
      const TensorSharding* value = result_.sharding(op.operands[r]);
      const std::optional<TensorSharding>& returned = result_.returns[r];
      const TensorSharding* open = returned ? &*returned : value;
      const ir::Type* border = open ? AtBorder(v, *open) : out_.place(v);
      bool same = border->sharding() == out_.place(v)->sharding();
      out_.outputs.push_back(same ? v : Move(v, border, out_.values[static_cast<size_t>(v)].loc));
    }
  }

  const ir::Program& from_;
  const propagation::Result& result_;
  ir::Program out_;
  std::vector<ir::ValueId> now_;  // by graph value: the program's
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
  return false;
}

Graph GraphOf(const ir::Program& program) { return GraphBuilder(program).Run(); }

Propagated PropagateProgram(const ir::Program& program, const propagation::Options& options) {
  Graph graph = GraphOf(program);
  if (!PinnedShardings().empty()) Pin(program, PinnedShardings(), graph);
  propagation::Result result = propagation::Propagate(std::move(graph), options);
  auto placed = std::make_shared<const ir::Program>(Placer(program, result).Run());
  return {std::move(placed), std::move(result)};
}

}  // namespace tessera::api
