// Branches that some lanes take and others do not: all lanes compute all of them, and a predicate
// per lane says which results and derivatives count.
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ops/batching.h"
#include "transforms/types.h"

namespace tessera::transforms {

// Returns a bool per lane: whether the lane takes branch k by its own index. A bool index takes
// branch 0 if it is true; other indices are clamped to [0, last].
ir::ValueId LanesOfBranch(ir::Builder& builder, ir::ValueId index, size_t k, size_t last);

// The lanes that take a branch, for derivatives. The cotangent of a value that all lanes share is a
// sum over the lanes. Lanes that do not take the branch must add zeros to it, but they may have
// computed inf or NaN, and 0 * inf is NaN. Mapped values need no care inside the branch: they are
// ops::CountedWhere the branch receives them.
class Taken {
 public:
  // `lanes`: a bool per lane; kNoValue if all lanes count.
  Taken(ir::Builder& builder, const ir::MappedDim& dim, ir::ValueId lanes)
      : builder_(builder), dim_(dim), lanes_(lanes) {}
  ir::Builder& builder() const { return builder_; }
  ir::ValueId lanes() const { return lanes_; }
  bool IsAll() const { return lanes_ == kNoValue; }
  // Returns the lanes of `some` that take the branch.
  ir::ValueId And(ir::ValueId some) const;
  // Returns the mapped value `v`, with a derivative only in lanes that take the branch.
  ir::ValueId Counted(ir::ValueId v) const {
    return IsAll() ? v : ops::CountedWhere(builder_, lanes_, v);
  }

  // An instruction in the branch. `active`: its operands that may have derivatives.
  struct BranchCall {
    const ir::Instruction& from;
    ir::Types operand_types, result_types;  // of one lane
    const std::vector<bool>& active;
    std::vector<ir::ValueId> operands;
    std::vector<bool> mapped;
    bool counts_results = false;  // set if its results must be Counted
  };
  // Edits the operands of an instruction without mapped operands.
  void CountShared(BranchCall& i) const;
  // Edits the operands of an instruction with some mapped operands: repeats shared operands for all
  // lanes, or puts zeros in the operands that multiply them.
  void CountMixed(BranchCall& i) const;
  // Repeats the active operands for all lanes.
  void GiveToLanes(BranchCall& i) const;

 private:
  ir::Builder& builder_;
  const ir::MappedDim& dim_;
  ir::ValueId lanes_;
};

}  // namespace tessera::transforms
