// The two parts of a split program while they are built.
#pragma once
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ir/builder.h"
#include "transforms/memo.h"
#include "transforms/regions.h"
#include "transforms/split.h"
#include "transforms/types.h"

namespace tessera::transforms {

// Remembers which outputs of a region are unknown, for each set of unknown inputs.
using UnknownMemo = RegionMemo<std::vector<bool>>;
using UnknownValues = base::IdVector<ir::ValueId, bool>;

// Returns the values that depend on unknown inputs.
UnknownValues FindUnknown(const ir::Program& program, const std::vector<bool>& inputs,
                          UnknownMemo& memo);
// Returns the unknown inputs and outputs of an instruction's bodies.
RegionFlags UnknownIn(const ir::Instruction& instruction, const UnknownValues& is_unknown,
                      UnknownMemo& memo);

// Splits a region. `wanted` as in MakeSplit.
Split SplitRegion(const ir::Program& region, const std::vector<bool>& unknown_inputs,
                  const std::vector<bool>& wanted, UnknownMemo& memo);

// The two parts of a split. Inputs and captures are set from the start, other values in
// program order.
class SplitParts {
 public:
  SplitParts(const ir::Program& from, UnknownValues is_unknown);

  ir::Builder& known() { return known_builder_; }
  ir::Builder& unknown() { return unknown_builder_; }
  void set_loc(Loc loc) {
    known_builder_.set_loc(loc);
    unknown_builder_.set_loc(loc);
  }
  const ir::Program& from() const { return from_; }
  const UnknownValues& is_unknown() const { return is_unknown_; }

  // Set records the value that stands for `v` in its own part; Get returns it.
  void Set(ir::ValueId v, ir::ValueId made) { made_[v] = made; }
  ir::ValueId Get(ir::ValueId v) const { return made_[v]; }
  // Returns the value of the second part that stands for `v`.
  ir::ValueId InUnknown(ir::ValueId v) { return is_unknown_[v] ? made_[v] : Residual(made_[v]); }
  // Returns the value of the second part that stands for a value of the first part: a residual, or
  // a copy if the value is marked.
  ir::ValueId Residual(ir::ValueId made);

  // Marks a value of the first part that the second part computes again, from residuals: zeros, or
  // the only result of the first part's last instruction.
  void MarkZeros(ir::ValueId made) { Entry(recomputed_, made, kStored) = kZeros; }
  void MarkRecomputed(ir::ValueId made);
  bool IsMarked(ir::ValueId made) { return Entry(recomputed_, made, kStored) != kStored; }

  // Returns the parts, without unused residuals.
  Split Finish(const std::vector<bool>& wanted) &&;

 private:
  // The index of the instruction that computes a value, or one of these constants.
  static constexpr int kStored = -1, kZeros = -2;

  ir::ValueId AddInput(ir::ValueId v);
  ir::ValueId Recomputed(ir::ValueId made);
  // Returns the entry of `v`, for a program that still grows.
  template <class T>
  static T& Entry(base::IdVector<ir::ValueId, T>& map, ir::ValueId v, T none) {
    if (!map.Has(v)) map.resize(2 * base::Size(base::Number(v)) + 1, none);
    return map[v];
  }

  const ir::Program& from_;
  const UnknownValues is_unknown_;
  ir::Program known_, unknown_;
  ir::Builder known_builder_{known_, Loc::Unknown()}, unknown_builder_{unknown_, Loc::Unknown()};
  base::IdVector<ir::ValueId, ir::ValueId> made_;               // by value of `from_`
  std::vector<std::pair<ir::ValueId, ir::ValueId>> residuals_;  // in the first, the second part
  // By value of the first part: its copy in the second part, and the instruction to compute it.
  base::IdVector<ir::ValueId, ir::ValueId> copies_;
  base::IdVector<ir::ValueId, int> recomputed_;
};

// Splits an instruction with regions, some of whose operands are unknown.
void SplitRegions(const ir::Instruction& i, SplitParts& parts, UnknownMemo& memo);

}  // namespace tessera::transforms
