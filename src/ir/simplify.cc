// Instructions that repeat an earlier one are replaced by it; what nothing uses goes.
#include "ir/simplify.h"

#include <absl/container/flat_hash_set.h>

#include "ir/uses.h"

namespace tessera::ir {
namespace {

// Instructions that give the same: op, fields, operands, type and place.
struct Hash {
  const Program& p;
  size_t operator()(const Instruction* i) const {
    size_t h = i->params ? i->params->Hash() : 0;
    h = MixHash(h, reinterpret_cast<uintptr_t>(i->op));
    h = MixHash(h, reinterpret_cast<uintptr_t>(p.type(i->results[0])));
    for (ValueId v : i->operands) h = FieldHash(h, int64_t{v});
    return h;
  }
};
struct Equal {
  const Program& p;
  bool operator()(const Instruction* a, const Instruction* b) const {
    const ValueId x = a->results[0], y = b->results[0];
    return a->op == b->op && a->operands == b->operands && p.type(x) == p.type(y) &&
           p.place(x) == p.place(y) &&
           (a->params == b->params || (a->params && b->params && a->params->Equals(*b->params)));
  }
};

}  // namespace

void Simplify(Program& p) {
  std::vector<ValueId> same(p.values.size());
  for (size_t v = 0; v < same.size(); ++v) same[v] = static_cast<ValueId>(v);
  absl::flat_hash_set<Instruction*, Hash, Equal> seen(p.instructions.size(), {p}, {p});
  for (Instruction& instruction : p.instructions) {
    for (ValueId& v : instruction.operands) v = base::At(same, v);
    // What is done twice behind a barrier is meant so, and so is what acts on the outside.
    if (!instruction.regions.empty() || instruction.op->opaque ||
        instruction.op->effect != Effect::kNone)
      continue;
    const auto [it, fresh] = seen.insert(&instruction);
    if (fresh) continue;
    Instruction& earlier = **it;
    for (size_t r = 0; r < instruction.results.size(); ++r)
      base::At(same, instruction.results[r]) = earlier.results[r];
    // A move that the user wrote stays one in the report.
    if (instruction.cost && !instruction.cost->implied && earlier.cost->implied)
      earlier.cost = instruction.cost;
  }
  for (ValueId& v : p.outputs) v = base::At(same, v);
  for (auto& [name, v] : p.names) v = base::At(same, v);
  RemoveDead(p);
}

}  // namespace tessera::ir
