// The columns of a loop's body: one dim of what a mask is made for.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "base/at.h"
#include "ir/program.h"
#include "spmd/blocks/factors.h"
#include "spmd/blocks/index_bounds.h"

namespace tessera::spmd {

struct Columns {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
  friend bool operator==(const Columns&, const Columns&) = default;
};

// Returns the scalar op of an elementwise instruction, else null.
const plan::ScalarOp* ByElement(const ir::Instruction& i);

// Which dim of each value of a loop's body the columns are, and what is known of its masks.
class LoopColumns {
 public:
  explicit LoopColumns(const ir::Program& body);

  const ir::Program& body() const { return p_; }
  int64_t count() const { return count_; }
  int dim(ir::ValueId v) const { return base::At(dim_, v); }
  bool Has(ir::ValueId v) const { return dim(v) != kNoDim; }
  bool Touches(const ir::Instruction& i) const {
    const auto has = [&](ir::ValueId v) { return Has(v); };
    return std::any_of(i.operands.begin(), i.operands.end(), has) ||
           std::any_of(i.results.begin(), i.results.end(), has);
  }
  // Whether an instruction adds up, or otherwise reduces, the columns.
  bool Reduces(const ir::Instruction& i) const { return !Has(i.results[0]) && Touches(i); }
  // Null for inputs.
  const ir::Instruction* Maker(ir::ValueId v) const {
    const int32_t at = base::At(made_by_, v);
    return at < 0 ? nullptr : &base::At(p_.instructions, at);
  }

  // Finds the columns in all values, from those of a comparison. False: some instruction needs all
  // of them, or they leave the loop.
  bool FollowFrom(ir::ValueId mask, int dim);

  // Whether `v` is true, or false, in all of those columns and all rows; none: not known.
  std::optional<bool> State(ir::ValueId v, const ValueBounds& bounds, Columns at) const;

 private:
  std::optional<bool> StateOf(plan::ScalarOp op, const ir::Instruction& made,
                              const ValueBounds& bounds, Columns at) const;
  bool Follow(const ir::Instruction& i, bool& more);
  bool MayCut(const ir::Instruction& i, const sharding::Factor& factor) const;

  const ir::Program& p_;
  std::vector<int> dim_;          // per value: of the columns
  std::vector<int32_t> made_by_;  // per value: the instruction, or -1
  int64_t count_ = 0;
};

}  // namespace tessera::spmd
