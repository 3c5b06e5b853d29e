// Follows predicates from the operands of a mapped branch to the choice between its results.
#include "compile/checks/counted_lanes.h"

#include <algorithm>
#include <optional>

#include "base/at.h"
#include "ir/control_params.h"
#include "ir/infer.h"
#include "ir/regions.h"
#include "ops/batching.h"
#include "plan/scalar_op.h"

namespace tessera::compile {
namespace {

using ir::Instruction;

void Add(ir::ValueId v, Predicates& to) {
  if (std::find(to.begin(), to.end(), v) == to.end()) to.push_back(v);
}

ir::Types TypesOf(const ir::Program& program, const std::vector<ir::ValueId>& values,
                  std::vector<const ir::Type*>& types) {
  for (ir::ValueId v : values) types.push_back(program.type(v));
  return types;
}

// How the operands of an instruction enter its regions: those in [first, constants) are the same in
// all iterations, and those in [first, ends) have the shapes of the region's inputs.
struct RegionOperands {
  explicit RegionOperands(const Instruction& i) : constants(i.operands.size()), ends(constants) {
    switch (std::get<ir::AsRegions>(*i.op->lowering).kind) {
      case ir::AsRegions::kScan: {
        const auto& p = ir::As<ir::ScanParams>(i.params.get());
        constants = base::Size(p.constants);
        ends = constants + base::Size(p.carries);
        break;
      }
      case ir::AsRegions::kWhile:
        constants = base::Size(ir::As<ir::WhileParams>(i.params.get()).constants);
        break;
      case ir::AsRegions::kSwitch:
        first = 1;
        break;
      case ir::AsRegions::kCall:
        first = ends;
        break;
    }
  }
  std::optional<size_t> PlaceAmongConstants(const Instruction& i, ir::ValueId v) const {
    for (size_t k = first; k < constants; ++k)
      if (i.operands[k] == v) return k;
    return {};
  }

  size_t first = 0, constants, ends;
};

}  // namespace

bool HasLanes(const ir::Type* type, const ir::Type* predicate) {
  const base::Shape &shape = type->shape(), &lanes = predicate->shape();
  return shape.size() >= lanes.size() && std::equal(lanes.begin(), lanes.end(), shape.begin());
}

CountedLanes::CountedLanes(const ir::Program& program, const std::vector<Predicates>& inputs)
    : program_(program), maker_(program.values.size()), of_(program.values.size()) {
  for (size_t k = 0; k < inputs.size(); ++k) of_[program.inputs[k]] = inputs[k];
  for (const Instruction& i : program.instructions)
    for (ir::ValueId v : i.results) {
      maker_[v] = &i;
      of_[v] = Made(i, v);
    }
}

const Predicates& CountedLanes::Of(ir::ValueId v) const { return of_[v]; }

Predicates CountedLanes::Made(const Instruction& i, ir::ValueId result) const {
  if (ops::IsChoice(i)) return Chosen(i);
  Predicates made;
  for (size_t k = 0; k < i.operands.size(); ++k)
    for (ir::ValueId predicate : Of(i.operands[k]))
      if (Stays(i, k, result, predicate)) Add(predicate, made);
  return made;
}

// The choice at the start of a branch, between a value and itself, marks the value. Any other
// choice counts in lanes in which both cases count.
Predicates CountedLanes::Chosen(const Instruction& i) const {
  const ir::ValueId no = i.operands[1], yes = i.operands[2];
  if (ops::IsCountedWhere(i, maker_[no])) {
    Predicates marked = Of(yes);
    AddParts(i.operands[0], marked);
    return marked;
  }
  Predicates both;
  for (ir::ValueId predicate : Of(no))
    if (std::count(Of(yes).begin(), Of(yes).end(), predicate) > 0) both.push_back(predicate);
  return both;
}

// Adds the predicate, seen through broadcasts, and, if it is an `and`, its operands: an inner
// branch is taken only if the outer one is.
void CountedLanes::AddParts(ir::ValueId predicate, Predicates& to) const {
  const Instruction* maker = maker_[predicate];
  while (maker && std::holds_alternative<ir::AsBroadcast>(*maker->op->lowering)) {
    predicate = maker->operands[0];
    maker = maker_[predicate];
  }
  Add(predicate, to);
  const auto* op = maker ? std::get_if<ir::AsElementwise>(&*maker->op->lowering) : nullptr;
  if (op && op->op == plan::ScalarOp::kAnd)
    for (ir::ValueId part : maker->operands) AddParts(part, to);
}

// Whether the operand and the result have the same lanes.
bool CountedLanes::Stays(const Instruction& i, size_t operand, ir::ValueId result,
                         ir::ValueId predicate) const {
  const ir::Type* lanes = program_.type(predicate);
  if (!HasLanes(program_.type(result), lanes)) return false;
  if (!std::holds_alternative<ir::DimMapFn>(*i.op->dims)) return true;
  std::vector<const ir::Type*> in, out;
  TypesOf(program_, {i.operands.begin(), i.operands.end()}, in);
  TypesOf(program_, {i.results.begin(), i.results.end()}, out);
  const sharding::DimMap map = ir::DimMapOf(*i.op, i.params.get(), in, out);
  const auto r =
      base::Size(std::find(i.results.begin(), i.results.end(), result) - i.results.begin());
  for (size_t d = 0; d < lanes->shape().size(); ++d)
    if (d >= map.operands[operand].size() || map.operands[operand][d] != map.results[r][d])
      return false;
  return true;
}

Instruction CountedLanes::WithPredicates(const Instruction& i) const {
  const RegionOperands of(i);
  Predicates more;
  for (size_t k = of.first; k < of.ends; ++k)
    for (ir::ValueId predicate : Of(i.operands[k]))
      if (!of.PlaceAmongConstants(i, predicate)) Add(predicate, more);
  if (more.empty()) return i;
  Instruction with = i;
  with.operands.insert(with.operands.begin() + static_cast<long>(of.first), more.begin(),
                       more.end());
  with.params = ir::WithCounts(i, of.constants + more.size(), of.ends - of.constants);
  for (ir::RegionPtr& region : with.regions) {
    ir::Program program = *region;
    std::vector<ir::ValueId> inputs;
    for (ir::ValueId predicate : more)
      inputs.push_back(program.AddValue(program_.type(predicate), i.loc));
    program.inputs.insert(program.inputs.begin(), inputs.begin(), inputs.end());
    region = ir::Shared(std::move(program));
  }
  return with;
}

std::vector<Predicates> CountedLanes::InputsOf(const Instruction& i,
                                               const ir::Program& region) const {
  std::vector<Predicates> inputs(region.inputs.size());
  const RegionOperands of(i);
  for (size_t k = of.first; k < of.ends; ++k)
    for (ir::ValueId predicate : Of(i.operands[k]))
      if (const auto place = of.PlaceAmongConstants(i, predicate))
        inputs[k - of.first].push_back(region.inputs[*place - of.first]);
  return inputs;
}

}  // namespace tessera::compile
