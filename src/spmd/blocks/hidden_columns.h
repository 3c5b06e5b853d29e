// The columns that a mask hides on one side, in the body of a loop for the visible ones.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <optional>
#include <vector>

#include "spmd/blocks/loop_columns.h"
#include "spmd/blocks/writer.h"

namespace tessera::spmd {

// Inputs of a body, and the operands of its loop for them.
struct LoopInputs {
  std::vector<ir::ValueId> values = {}, operands = {};
  void Add(ir::ValueId value, ir::ValueId operand) {
    values.push_back(value);
    operands.push_back(operand);
  }
};

// The body of a loop that runs on the visible columns, while it is made.
struct PartBody {
  Writer &out, &in;             // outside of the new loop, and in its body
  const ir::Instruction& loop;  // the one that it is a part of
  const LoopColumns& columns;
  const ValueBounds& bounds;  // on the values of the body
  // The values of the new body that stand for those of the old one: with the visible columns, or
  // the same if they have no columns.
  base::IdVector<ir::ValueId, ir::ValueId>& visible;
  LoopInputs& constants;  // of the new loop

  // Returns the place of v with so many columns.
  const ir::Type* PlaceOf(ir::ValueId v, int64_t count) const;
  // Returns the cost of an instruction on so many columns.
  ir::Cost CostOf(const ir::Instruction& i, int64_t count) const;
};

// Converts floats below 32 bits to f32, in which they are summed.
ir::ValueId Widened(Writer& at, ir::ValueId v, Loc loc);

// Broadcasts an operand of an elementwise op, a scalar or one with dims of size 1, to its result.
ir::ValueId BroadcastOperand(Writer& at, ir::ValueId v, const ir::Type* place, Loc loc);

// Adjacent hidden columns: those before the visible ones, or those after them.
class HiddenColumns {
 public:
  HiddenColumns(const PartBody& body, Columns columns) : body_(body), columns_(columns) {}
  Columns columns() const { return columns_; }

  // Returns v with one column that equals each of the hidden ones; none if they differ.
  std::optional<ir::ValueId> Column(ir::ValueId v);
  // Returns the mean over the hidden columns of v, with one column, in at least f32. None unless v
  // is linear in inputs that are the same in all iterations.
  std::optional<ir::ValueId> Mean(ir::ValueId v);
  // Returns a reduction of one hidden column, or in a sum of the mean of the hidden ones.
  std::optional<ir::ValueId> Reduced(const ir::Instruction& i, bool sums);
  // Returns a product over one hidden column of each operand. If the hidden columns of one operand
  // differ, their mean takes the place of a column.
  std::optional<ir::ValueId> Product(const ir::Instruction& i);

 private:
  using Operands = absl::InlinedVector<ir::ValueId, 3>;
  const ir::Program& Body() const { return body_.columns.body(); }
  std::optional<ir::ValueId> ComputeColumn(const ir::Instruction& i);
  std::optional<ir::ValueId> ComputeMean(const ir::Instruction& i);
  std::optional<ir::ValueId> MeanOfInput(ir::ValueId v);
  bool IsLinear(const ir::Instruction& i);
  ir::ValueId EmitWidened(const ir::Instruction& i, Operands operands, const ir::Type* place);

  const PartBody body_;
  const Columns columns_;
  // Values of the body with one column, or none: for all hidden columns, and their means.
  absl::flat_hash_map<ir::ValueId, std::optional<ir::ValueId>> known_, means_;
};

}  // namespace tessera::spmd
