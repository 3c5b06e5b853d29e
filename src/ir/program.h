// Programs: SSA code over typed values, with control flow in the regions of instructions. All
// stages share this structure; a device program has local shapes, and collectives between devices.
#pragma once
#include <absl/container/inlined_vector.h>
#include <absl/types/span.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/at.h"
#include "base/ids.h"
#include "ir/op.h"

namespace tessera::ir {

struct Value {
  const Type* type;
  // The user's line of the instruction or argument that defines the value.
  Loc loc;
  // The global type with the complete sharding, on the mesh without modes. Set for arguments that
  // have a layout over Auto axes, for every value after propagation, and for every value of a
  // device program, whose `type` is one device's part. Null: not known, or `type` says it all.
  const Type* place = nullptr;
};

// The cost of one run of an instruction of a device program, on one device.
struct Cost {
  double flops = 0;
  double whole_flops = 0;        // if one device did all the work
  int64_t bytes = 0;             // of a move: payload bytes that leave the device
  sharding::AxisList axes = {};  // of a move
  bool implied = true;           // of a move: the user did not ask for it
};
using CostPtr = std::shared_ptr<const Cost>;

struct Instruction {
  const OpDef* op;
  ParamsPtr params;  // null if the op has none
  absl::InlinedVector<ValueId, 3> operands;
  absl::InlinedVector<ValueId, 1> results;
  Loc loc;
  // Programs with their own values and without captures. Each outside value that they use is an
  // operand of the instruction and an input of the region.
  std::vector<RegionPtr> regions = {};
  CostPtr cost = nullptr;  // of all instructions of lowered programs
};

// An outside array that a program uses. Its value is an extra parameter, bound at each run.
struct Capture {
  ValueId value;
  std::shared_ptr<const void> array;  // owned by the tracer; null in parsed text
};

// A set of values of a program, as a flag per value.
using ValueSet = base::IdVector<ValueId, bool>;

// How deep traced functions, and regions, may be nested. Tracing, parsing and passes recurse.
inline constexpr int kMostNested = 64;

struct Program {
  const sharding::MeshDef* mesh = nullptr;
  base::IdVector<ValueId, Value> values;
  std::vector<ValueId> inputs, outputs;
  std::vector<std::pair<std::string, ValueId>> names;  // given by the user, with named()
  std::vector<Capture> captures;
  std::vector<Instruction> instructions;  // definitions come before uses
  bool per_device = false;                // shapes are local

  const Type* type(ValueId v) const { return values[v].type; }
  const Type* place(ValueId v) const { return values[v].place; }
  void SetPlace(ValueId v, const Type* place) { values[v].place = place; }
  // Reserves room for that many more instructions of one result each.
  void Reserve(size_t more) {
    if (instructions.size() + more > instructions.capacity())
      instructions.reserve(std::max(instructions.size() + more, 2 * instructions.capacity()));
    if (values.size() + more > values.capacity())
      values.reserve(std::max(values.size() + more, 2 * values.capacity()));
  }
  ValueId AddValue(const Type* type, Loc loc, const Type* place = nullptr) {
    return values.Add({type, loc, place});
  }
};

// The position of an instruction in its program.
enum class InstructionId : int32_t {};
inline constexpr InstructionId kNoInstruction{-1};

// A set of instructions of a program, as a flag per instruction.
using InstructionSet = base::IdVector<InstructionId, bool>;

inline base::IdRange<InstructionId> InstructionIds(const Program& p) {
  return base::IdRange<InstructionId>(p.instructions.size());
}
inline const Instruction& InstructionAt(const Program& p, InstructionId i) {
  return p.instructions[base::Size(base::Number(i))];
}
inline Instruction& InstructionAt(Program& p, InstructionId i) {
  return p.instructions[base::Size(base::Number(i))];
}
// Returns the id of the instruction that is added next.
inline InstructionId NextInstruction(const Program& p) {
  return InstructionId{static_cast<int32_t>(p.instructions.size())};
}

// Freezes a program: a region, or the function of a call.
inline RegionPtr Shared(Program program) {
  return std::make_shared<const Program>(std::move(program));
}

}  // namespace tessera::ir
