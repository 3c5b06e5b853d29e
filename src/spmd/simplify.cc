// Instructions that repeat an earlier one are replaced by it; what nothing uses goes.
#include "spmd/simplify.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

#include "base/at.h"
#include "ir/uses.h"

namespace tessera::spmd {
namespace {

struct Key {
  const ir::OpDef* op;
  const ir::Params* params;
  absl::InlinedVector<ir::ValueId, 3> operands;
  const ir::Type* place;
  friend bool operator==(const Key& a, const Key& b) {
    return a.op == b.op && a.operands == b.operands && a.place == b.place &&
           (a.params == b.params || (a.params && b.params && a.params->Equals(*b.params)));
  }
  template <class H>
  friend H AbslHashValue(H h, const Key& k) {
    return H::combine(std::move(h), k.op, k.operands, k.place, k.params ? k.params->Hash() : 0);
  }
};

void Deduplicate(ir::Program& p) {
  std::vector<ir::ValueId> same(p.values.size());
  for (size_t v = 0; v < same.size(); ++v) same[v] = static_cast<ir::ValueId>(v);
  absl::flat_hash_map<Key, ir::Instruction*> seen;
  seen.reserve(p.instructions.size());
  for (ir::Instruction& instruction : p.instructions) {
    for (ir::ValueId& v : instruction.operands) v = base::At(same, v);
    // Regions are simplified, but not compared; what is done twice behind a barrier is meant so.
    if (!instruction.regions.empty() || instruction.op->opaque) continue;
    Key key{instruction.op, instruction.params.get(), instruction.operands,
            p.place(instruction.results[0])};
    auto [it, fresh] = seen.try_emplace(std::move(key), &instruction);
    if (fresh) continue;
    ir::Instruction& earlier = *it->second;
    for (size_t r = 0; r < instruction.results.size(); ++r)
      base::At(same, instruction.results[r]) = earlier.results[r];
    // A move that the user wrote stays one in the report.
    if (!instruction.cost->implied && earlier.cost->implied) earlier.cost = instruction.cost;
  }
  for (ir::ValueId& v : p.outputs) v = base::At(same, v);
}

}  // namespace

void Simplify(ir::Program& device) {
  Deduplicate(device);
  ir::RemoveDead(device);
}

}  // namespace tessera::spmd
