// Programs: SSA code over typed values; control flow is in the regions of an instruction. The same
// structure serves every stage; a device program has local shapes and the collectives that join the
// devices.
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
#include "ir/op.h"

namespace tessera::ir {

struct Value {
  const Type* type;
  // Where it was made: the caller's line of the instruction, or of the argument.
  Loc loc;
  // The global type with the complete sharding. Over Auto axes, on the mesh without modes: of
  // arguments that have one, and after propagation of every value. In a device program of every
  // value, whose `type` is one device's part. Null: not known, or `type` says it all.
  const Type* place = nullptr;
};

// What an instruction of a device program costs one device each time.
struct Cost {
  double flops = 0;
  double whole_flops = 0;        // of one device that does all of it
  int64_t bytes = 0;             // of a move: payload that leaves the device
  sharding::AxisList axes = {};  // of a move
  bool implied = true;           // a move that the user did not ask for
};
using CostPtr = std::shared_ptr<const Cost>;

struct Instruction {
  const OpDef* op;
  ParamsPtr params;  // null without fields
  absl::InlinedVector<ValueId, 3> operands;
  absl::InlinedVector<ValueId, 1> results;
  Loc loc;
  // Programs with values of their own and without captures: what they use of the outside is an
  // operand of the instruction and an input of the region.
  std::vector<RegionPtr> regions = {};
  CostPtr cost = nullptr;  // of every instruction of a lowered program
};

// An array of the outside that a program uses: its value is an extra parameter, fed at each run.
struct Capture {
  ValueId value;
  std::shared_ptr<const void> array;  // owned by whoever traced; null in parsed text
};

// How deep functions may be traced inside of one another, and regions be nested: tracing, parsing
// and the passes recurse.
inline constexpr int kMostNested = 64;

struct Program {
  const sharding::MeshDef* mesh = nullptr;
  std::vector<Value> values;
  std::vector<ValueId> inputs, outputs;
  std::vector<std::pair<std::string, ValueId>> names;  // that the user gave, with named()
  std::vector<Capture> captures;
  std::vector<Instruction> instructions;  // in an order that defines before use
  bool per_device = false;                // shapes are local

  const Type* type(ValueId v) const { return base::At(values, v).type; }
  const Type* place(ValueId v) const { return base::At(values, v).place; }
  void SetPlace(ValueId v, const Type* place) { base::At(values, v).place = place; }
  // Makes room for so many more instructions of one result.
  void Reserve(size_t more) {
    if (instructions.size() + more > instructions.capacity())
      instructions.reserve(std::max(instructions.size() + more, 2 * instructions.capacity()));
    if (values.size() + more > values.capacity())
      values.reserve(std::max(values.size() + more, 2 * values.capacity()));
  }
  ValueId AddValue(const Type* type, Loc loc, const Type* place = nullptr) {
    values.push_back({type, loc, place});
    return static_cast<ValueId>(values.size()) - 1;
  }
};

// Returns the program as one that nobody changes any more: a region, or what is called.
inline RegionPtr Shared(Program program) {
  return std::make_shared<const Program>(std::move(program));
}

}  // namespace tessera::ir
