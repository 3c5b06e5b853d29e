// Visits candidates in program order, then counts how often values leave the loop and come back.
#include "spmd/blocks/block_members.h"

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <set>
#include <utility>

#include "spmd/blocks/block_types.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::DimFactors;
using sharding::DimMap;
using sharding::FactorKind;

// Whether an iota counts along dim d and along another dim: its blocks are then not iotas.
bool CountsAlongSeveral(const ir::Program& p, const Instruction& instruction, int d) {
  if (!std::holds_alternative<ir::AsIota>(*instruction.op->lowering)) return false;
  const std::vector<int64_t> steps = IotaSteps(p, instruction);
  return base::At(steps, d) != 0 &&
         absl::c_count_if(steps, [](int64_t step) { return step != 0; }) > 1;
}

class MemberFinder {
 public:
  MemberFinder(ProductFacts& facts, const WideValues& wide, int dim)
      : facts_(facts),
        wide_(wide),
        members_{.dim = dim, .order = {}, .calls = {}, .is_member = {}, .is_core = {}} {
    const size_t n = facts.program().instructions.size();
    members_.is_member.assign(n, false);
    members_.is_core.assign(n, false);
  }

  std::optional<BlockMembers> Run() {
    AddCore();
    for (; !pending_.empty(); pending_.erase(pending_.begin()))
      if (!Visit(*pending_.begin())) return {};
    return std::move(members_);
  }

 private:
  void AddCore() {
    for (const auto& [v, labels] : wide_.labels) {
      const std::vector<InstructionId>& users = facts_.UsersOf(v);
      if (facts_.DependsOnProduct(v)) pending_.insert(users.begin(), users.end());
      if (facts_.DefinitionOf(v) != kNoInstruction) pending_.insert(facts_.DefinitionOf(v));
    }
    for (InstructionId i : pending_) members_.is_core[i] = true;
  }

  // Makes the instruction a member if it can be one. Returns false if it must be one and cannot.
  bool Visit(InstructionId i) {
    const Instruction& instruction = facts_.at(i);
    const bool is_core = members_.is_core[i], is_light = IsLight(facts_, wide_, i);
    if (!MayRunInBlocks(instruction)) return true;
    if (!is_core && (IsLiteralOrIota(instruction) || IsKernel(instruction))) return true;
    std::optional<DimOfCall> call = FindDims(i);
    if (!call) return !is_core || is_light;
    if ((!is_core && call->result == kNoDim) || (call->sums && is_light)) return true;
    const bool has_users_inside = !call->sums && !is_light;
    members_.is_member[i] = true;
    members_.order.push_back(i);
    members_.calls.emplace(i, *std::move(call));
    const std::vector<InstructionId>& users = facts_.UsersOf(facts_.ResultOf(i));
    if (has_users_inside) pending_.insert(users.begin(), users.end());
    return true;
  }

  // Returns the dim of v, kNoDim if v does not have it; none if that is not known. The result of a
  // sum over the dim is known only after the loop.
  std::optional<int> KnownDim(ValueId v) const {
    if (wide_.Has(v)) return wide_.DimOf(v, members_.dim);
    const auto call = members_.calls.find(facts_.DefinitionOf(v));
    if (call == members_.calls.end() || call->second.sums) return {};
    return call->second.result;
  }

  // Returns the factor of the dim, -1 if no value is known to have the dim; none if a value has it
  // without a factor of its own.
  std::optional<int32_t> FactorOfDim(const Instruction& instruction, const DimMap& map) const {
    int32_t factor = -1;
    const auto learn = [&](ValueId v, const DimFactors& dims) {
      const int d = KnownDim(v).value_or(kNoDim);
      if (d != kNoDim && factor < 0) factor = FactorOf(dims, d);
      return d == kNoDim || factor >= 0;
    };
    const ValueId result = instruction.results[0];
    if (wide_.Has(result) && !learn(result, map.results[0])) return {};
    for (size_t k = 0; k < instruction.operands.size(); ++k)
      if (!learn(instruction.operands[k], map.operands[k])) return {};
    return factor;
  }

  // Returns where the instruction has the dim; none if it cannot run in blocks of it.
  std::optional<DimOfCall> FindDims(InstructionId i) {
    const Instruction& instruction = facts_.at(i);
    const DimMap& map = facts_.MapOf(i);
    const std::optional<int32_t> factor = FactorOfDim(instruction, map);
    if (!factor) return {};
    DimOfCall call;
    if (*factor < 0) {
      call.operands.assign(instruction.operands.size(), kNoDim);
      return call;
    }
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      if (IsMixed(map.operands[k], *factor)) return {};
      call.operands.push_back(DimOf(map.operands[k], *factor));
      if (KnownDim(instruction.operands[k]).value_or(call.operands.back()) != call.operands.back())
        return {};
    }
    const ValueId result = instruction.results[0];
    if (IsMixed(map.results[0], *factor)) return {};
    call.result = DimOf(map.results[0], *factor);
    if (wide_.Has(result) && wide_.DimOf(result, members_.dim) != call.result) return {};
    call.sums = call.result == kNoDim;
    const sharding::Factor& f = base::At(map.factors, *factor);
    const bool fits = call.sums
                          ? f.kind == FactorKind::kReduce && f.reduction == Reduction::kSum &&
                                instruction.op->flops_per_point > 0
                          : f.kind == FactorKind::kPass &&
                                !CountsAlongSeveral(facts_.program(), instruction, call.result);
    return fits ? std::optional(call) : std::nullopt;
  }

  ProductFacts& facts_;
  const WideValues& wide_;
  BlockMembers members_;
  std::set<InstructionId> pending_;
};

// Keeps core members, and members whose results a kept member reads; `may_read` says whether a
// reader counts.
void KeepUsed(const ProductFacts& facts, BlockMembers& members,
              absl::FunctionRef<bool(InstructionId reader, InstructionId read)> may_read) {
  const std::vector<InstructionId> all = std::exchange(members.order, {});
  for (InstructionId i : all) members.is_member[i] = false;
  for (size_t k = all.size(); k-- > 0;) {
    const InstructionId i = all[k];
    const bool is_read = absl::c_any_of(facts.UsersOf(facts.ResultOf(i)), [&](InstructionId user) {
      return members.is_member[user] && may_read(user, i);
    });
    if (!members.is_core[i] && !is_read) {
      members.calls.erase(i);
      continue;
    }
    members.is_member[i] = true;
    members.order.push_back(i);
  }
  absl::c_reverse(members.order);
}

// Returns the ids [first, last].
base::IdRange<InstructionId> InstructionRange(InstructionId first, InstructionId last) {
  return {first, InstructionId{base::Number(last) + 1}};
}

BlockLevels CountLevels(const ProductFacts& facts, const WideValues& wide,
                        const BlockMembers& members) {
  BlockLevels levels{.first = *absl::c_find_if(
                         members.order, [&](InstructionId i) { return !IsLight(facts, wide, i); }),
                     .numbers = {}};
  for (InstructionId i : InstructionRange(levels.first, members.order.back())) {
    int32_t level = 0;
    for (ValueId v : facts.at(i).operands) {
      const InstructionId definition = facts.DefinitionOf(v);
      if (definition < levels.first) continue;
      const bool leaves =
          members.is_member[definition] && (!members.is_member[i] || members.Sums(definition));
      level = std::max(level, levels.Of(definition) + leaves);
    }
    levels.numbers.push_back(level);
    if (members.is_member[i]) levels.last = std::max(levels.last, level);
  }
  return levels;
}

}  // namespace

std::optional<BlockMembers> FindMembers(ProductFacts& facts, const WideValues& wide, int dim) {
  std::optional<BlockMembers> members = MemberFinder(facts, wide, dim).Run();
  if (members) KeepUsed(facts, *members, [](InstructionId, InstructionId) { return true; });
  return members;
}

bool IsLight(const ProductFacts& facts, const WideValues& wide, InstructionId i) {
  const Instruction& instruction = facts.at(i);
  if (instruction.results.empty()) return false;
  const ValueId v = instruction.results[0];
  return !facts.DependsOnProduct(v) && wide.Has(v);
}

std::optional<BlockLevels> AssignLevels(const ProductFacts& facts, const WideValues& wide,
                                        BlockMembers& members) {
  constexpr int32_t kMostLevels = 3, kMostRounds = 8;
  for (int32_t round = 0; round < kMostRounds; ++round) {
    BlockLevels levels = CountLevels(facts, wide, members);
    const size_t before = members.order.size();
    KeepUsed(facts, members, [&](InstructionId reader, InstructionId read) {
      return levels.Of(reader) == levels.Of(read);
    });
    if (members.order.size() == before)
      return levels.last < kMostLevels ? std::optional(std::move(levels)) : std::nullopt;
  }
  return {};
}

}  // namespace tessera::spmd
