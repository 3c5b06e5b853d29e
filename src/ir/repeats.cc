// Instructions that repeat an earlier one are replaced by it.
#include "ir/repeats.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

namespace tessera::ir {
namespace {

struct Key {
  const OpDef* op;
  const Params* params;
  absl::InlinedVector<ValueId, 3> operands;
  const Type *type, *place;
  friend bool operator==(const Key& a, const Key& b) {
    return a.op == b.op && a.operands == b.operands && a.type == b.type && a.place == b.place &&
           (a.params == b.params || (a.params && b.params && a.params->Equals(*b.params)));
  }
  template <class H>
  friend H AbslHashValue(H h, const Key& k) {
    return H::combine(std::move(h), k.op, k.operands, k.type, k.place,
                      k.params ? k.params->Hash() : 0);
  }
};

}  // namespace

void RemoveRepeats(Program& p) {
  std::vector<ValueId> same(p.values.size());
  for (size_t v = 0; v < same.size(); ++v) same[v] = static_cast<ValueId>(v);
  absl::flat_hash_map<Key, Instruction*> seen;
  seen.reserve(p.instructions.size());
  for (Instruction& instruction : p.instructions) {
    for (ValueId& v : instruction.operands) v = base::At(same, v);
    // What is done twice behind a barrier is meant so.
    if (!instruction.regions.empty() || instruction.op->opaque) continue;
    const ValueId first = instruction.results[0];
    Key key{instruction.op, instruction.params.get(), instruction.operands, p.type(first),
            p.place(first)};
    auto [it, fresh] = seen.try_emplace(std::move(key), &instruction);
    if (fresh) continue;
    Instruction& earlier = *it->second;
    for (size_t r = 0; r < instruction.results.size(); ++r)
      base::At(same, instruction.results[r]) = earlier.results[r];
    // A move that the user wrote stays one in the report.
    if (instruction.cost && !instruction.cost->implied && earlier.cost->implied)
      earlier.cost = instruction.cost;
  }
  for (ValueId& v : p.outputs) v = base::At(same, v);
  for (auto& [name, v] : p.names) v = base::At(same, v);
}

}  // namespace tessera::ir
