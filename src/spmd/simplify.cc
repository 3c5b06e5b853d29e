// Dead code and common subexpressions.
#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

#include "spmd/device_program.h"

namespace tessera::spmd {
namespace {

struct Key {
  const ir::OpDef* op;
  const ir::Params* params;
  absl::InlinedVector<ir::ValueId, 3> operands;
  const ir::Type* placed;
  friend bool operator==(const Key& a, const Key& b) {
    return a.op == b.op && a.operands == b.operands && a.placed == b.placed &&
           (a.params == b.params || (a.params && b.params && a.params->Equals(*b.params)));
  }
  template <class H>
  friend H AbslHashValue(H h, const Key& k) {
    return H::combine(std::move(h), k.op, k.operands, k.placed, k.params ? k.params->Hash() : 0);
  }
};

void Deduplicate(DeviceProgram& device) {
  ir::Program& p = device.program;
  std::vector<ir::ValueId> same(p.values.size());
  for (size_t v = 0; v < same.size(); ++v) same[v] = static_cast<ir::ValueId>(v);
  absl::flat_hash_map<Key, size_t> seen;
  seen.reserve(p.instructions.size());
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    ir::Instruction& instruction = p.instructions[i];
    for (ir::ValueId& v : instruction.operands) v = same[static_cast<size_t>(v)];
    if (!instruction.regions.empty()) continue;  // regions are simplified, but not compared
    ir::ValueId first = instruction.results[0];
    Key key{instruction.op, instruction.params.get(), instruction.operands,
            device.placed[static_cast<size_t>(first)]};
    auto [it, fresh] = seen.try_emplace(std::move(key), i);
    if (fresh) continue;
    const ir::Instruction& earlier = p.instructions[it->second];
    for (size_t r = 0; r < instruction.results.size(); ++r)
      same[static_cast<size_t>(instruction.results[r])] = earlier.results[r];
    // A move that the user wrote stays one in the report.
    device.notes[it->second].implied &= device.notes[i].implied;
  }
  for (ir::ValueId& v : p.outputs) v = same[static_cast<size_t>(v)];
}

void RemoveDead(DeviceProgram& device) {
  ir::Program& p = device.program;
  std::vector<bool> used(p.values.size());
  for (ir::ValueId v : p.outputs) used[static_cast<size_t>(v)] = true;
  std::vector<bool> live(p.instructions.size());
  for (size_t i = p.instructions.size(); i-- > 0;) {
    for (ir::ValueId v : p.instructions[i].results)
      live[i] = live[i] || used[static_cast<size_t>(v)];
    if (!live[i]) continue;
    for (ir::ValueId v : p.instructions[i].operands) used[static_cast<size_t>(v)] = true;
  }
  size_t kept = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    if (!live[i]) continue;
    if (kept != i) {
      p.instructions[kept] = std::move(p.instructions[i]);
      device.notes[kept] = std::move(device.notes[i]);
    }
    ++kept;
  }
  p.instructions.erase(p.instructions.begin() + static_cast<long>(kept), p.instructions.end());
  device.notes.resize(kept);
}

}  // namespace

void Simplify(DeviceProgram& device) {
  Deduplicate(device);
  RemoveDead(device);
}

}  // namespace tessera::spmd
