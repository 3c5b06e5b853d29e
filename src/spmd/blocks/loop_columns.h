// The columns of a loop's body: the dim along which a mask hides part of a row.
#pragma once
#include <absl/algorithm/container.h>

#include <optional>
#include <vector>

#include "ir/control_params.h"
#include "spmd/blocks/factors.h"
#include "spmd/blocks/index_bounds.h"

namespace tessera::spmd {

// Columns [begin, end).
struct Columns {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
  friend bool operator==(const Columns&, const Columns&) = default;
};

// Returns the scalar op of an elementwise instruction; null for other instructions.
const plan::ScalarOp* ScalarOpOf(const ir::Instruction& i);

// Finds the dim of each value of a loop's body that holds the columns.
class LoopColumns {
 public:
  explicit LoopColumns(const ir::Instruction& scan);

  const ir::Program& body() const { return p_; }
  int64_t count() const { return count_; }
  // Returns the dim of v that holds the columns, or kNoDim.
  int dim(ir::ValueId v) const { return dim_[v]; }
  bool HasColumns(ir::ValueId v) const { return dim(v) != kNoDim; }
  bool Touches(const ir::Instruction& i) const {
    const auto has = [&](ir::ValueId v) { return HasColumns(v); };
    return absl::c_any_of(i.operands, has) || absl::c_any_of(i.results, has);
  }
  // Whether an instruction reduces over the columns.
  bool Reduces(const ir::Instruction& i) const { return !HasColumns(i.results[0]) && Touches(i); }
  // Returns the instruction that defines v; null for inputs.
  const ir::Instruction* DefinitionOf(ir::ValueId v) const {
    return definitions_[v] == kNoInstruction ? nullptr : &InstructionAt(p_, definitions_[v]);
  }

  // Finds the columns in all values, starting with dim `dim` of a mask. Returns false if an
  // instruction cannot run on some of the columns, or if the loop returns them other than as sums
  // over its iterations.
  bool FollowFrom(ir::ValueId mask, int dim);

  // Returns the value that each iteration adds to carry k: the body returns carry + value, and
  // reads the carry nowhere else. None for other carries.
  std::optional<ir::ValueId> AddedTo(int64_t k) const;

  // Returns the value of a bool if it is known to be the same in these columns of all rows.
  std::optional<bool> KnownBool(ir::ValueId v, const ValueBounds& bounds, Columns at) const;

 private:
  std::optional<bool> KnownLogic(plan::ScalarOp op, const ir::Instruction& i,
                                 const ValueBounds& bounds, Columns at) const;
  bool Follow(const ir::Instruction& i, bool& more);
  bool CanRunOnSome(const ir::Instruction& i, const sharding::Factor& factor) const;

  const ir::Program& p_;
  const ir::ScanParams& params_;
  const ValueDefinitions definitions_;
  base::IdVector<ir::ValueId, int> dim_;
  int64_t count_ = 0;
};

}  // namespace tessera::spmd
