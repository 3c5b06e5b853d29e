// Branches that some lanes take and others do not: all lanes compute all of them, and a predicate
// per lane says which results and derivatives count.
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ops/mapped.h"

namespace tessera::transforms {

// Returns a bool per lane: whether the lane's own index names branch k. A bool names
// the first where it is true; other indices are clamped to 0 and `last`.
ir::ValueId Names(ir::Builder& builder, ir::ValueId index, size_t k, size_t last);

// What lanes share counts where a lane takes the branch. A cotangent of it is a sum over lanes, to
// which the others must add zeros: they may have computed what is not finite, and a zero times that
// is NaN. (What is mapped needs nothing inside of the branch: it is ops::CountedWhere it enters.)
class Taken {
 public:
  // `lanes`: a bool per lane; -1 where all lanes count.
  Taken(ir::Builder& builder, const ir::MappedDim& dim, ir::ValueId lanes)
      : builder_(builder), dim_(dim), lanes_(lanes) {}
  ir::ValueId lanes() const { return lanes_; }
  bool IsAll() const { return lanes_ < 0; }
  // Returns the lanes of `some` that take the branch.
  ir::ValueId And(ir::ValueId some) const;
  // Returns `v`, which is mapped, counted where lanes take the branch.
  ir::ValueId Counted(ir::ValueId v) const {
    return IsAll() ? v : ops::CountedWhere(builder_, lanes_, v);
  }

  // An instruction with operands that may have derivatives (`active`).
  struct BranchCall {
    const ir::Instruction& from;
    ir::Types operand_types, result_types;  // of one lane
    const std::vector<bool>& active;
    std::vector<ir::ValueId> operands;
    std::vector<bool> mapped;
    bool counts_results = false;  // its results are to be CountedWhere lanes take the branch
  };
  // Changes operands of one of which no operand is mapped.
  void Shared(BranchCall& i) const;
  // The same where some are: by giving the lanes what they share, or by zeros for what is
  // multiplied with it.
  void Mixed(BranchCall& i) const;
  // Gives each lane its own of what is active.
  void GiveToLanes(BranchCall& i) const;

 private:
  ir::Builder& builder_;
  const ir::MappedDim& dim_;
  ir::ValueId lanes_;
};

}  // namespace tessera::transforms
