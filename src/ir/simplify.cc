// Merges repeated instructions, and removes unused ones.
#include "ir/simplify.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_set.h>

#include "ir/infer.h"
#include "ir/same.h"
#include "ir/uses.h"

namespace tessera::ir {
namespace {

// Hash and equality of instructions that compute the same values: op, params, operands, regions,
// types and places.
struct Hash {
  const Program& p;
  size_t operator()(const Instruction* i) const {
    size_t h = i->params ? i->params->Hash() : 0;
    h = MixHash(h, reinterpret_cast<uintptr_t>(i->op));
    h = MixHash(h, reinterpret_cast<uintptr_t>(p.type(i->results[0])));
    for (ValueId v : i->operands) h = FieldHash(h, int64_t{base::Number(v)});
    for (const RegionPtr& region : i->regions) h = MixHash(h, HashOf(*region));
    return h;
  }
};
struct Equal {
  const Program& p;
  bool operator()(const Instruction* a, const Instruction* b) const {
    const auto alike = [&](ValueId x, ValueId y) {
      return p.type(x) == p.type(y) && p.place(x) == p.place(y);
    };
    const auto same = [](const RegionPtr& x, const RegionPtr& y) { return SameProgram(*x, *y); };
    return a->op == b->op && a->operands == b->operands &&
           absl::c_equal(a->results, b->results, alike) &&
           (a->params == b->params || (a->params && b->params && a->params->Equals(*b->params))) &&
           absl::c_equal(a->regions, b->regions, same);
  }
};

}  // namespace

ValueId OnlyChoice(const Program& program, const Instruction& i) {
  if (!std::holds_alternative<AsElementwise>(*i.op->lowering) || i.operands.size() < 3)
    return kNoValue;
  if (absl::c_count(i.operands, i.operands.back()) < 2) return kNoValue;
  absl::InlinedVector<const Type*, 3> operands;
  for (ValueId v : i.operands) operands.push_back(program.type(v));
  const Type* result = program.type(i.results[0]);
  for (const sharding::LinearGroup& g : LinearGroupsOf(*i.op, i.params, operands, {&result, 1})) {
    const auto& [sum, min, max] = g.kinds;
    if (!sum || !min || !max || g.operands.size() < 2) continue;
    const ValueId first = i.operands[g.operands[0]];
    if (absl::c_all_of(g.operands, [&](int32_t k) { return i.operands[k] == first; }) &&
        SameType(program.type(first), result) &&
        program.place(first) == program.place(i.results[0]))
      return first;
  }
  return kNoValue;
}

void Simplify(Program& p) {
  base::IdVector<ValueId, ValueId> same(p.values.size());
  for (ValueId v : same.ids()) same[v] = v;
  absl::flat_hash_set<Instruction*, Hash, Equal> seen(p.instructions.size(), {p}, {p});
  for (Instruction& instruction : p.instructions) {
    for (ValueId& v : instruction.operands) v = same[v];
    // Opaque ops and effects are repeated on purpose.
    if (instruction.results.empty() || instruction.op->opaque ||
        EffectOf(instruction) != Effect::kNone)
      continue;
    if (const ValueId only = OnlyChoice(p, instruction); only != kNoValue) {
      same[instruction.results[0]] = only;
      continue;
    }
    const auto [it, fresh] = seen.insert(&instruction);
    if (fresh) continue;
    Instruction& earlier = **it;
    for (size_t r = 0; r < instruction.results.size(); ++r)
      same[instruction.results[r]] = earlier.results[r];
    // The report shows the merged move as asked for if the user asked for either of the two.
    if (instruction.cost && !instruction.cost->implied && earlier.cost->implied)
      earlier.cost = instruction.cost;
  }
  for (ValueId& v : p.outputs) v = same[v];
  for (auto& [name, v] : p.names) v = same[v];
  RemoveDead(p);
}

}  // namespace tessera::ir
