// Reads through ops that only move elements: slices, pads, concatenations, rolls, transposes and
// broadcasts. Their results need not be in memory, since each box of them is a box of an operand.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "plan/fused.h"
#include "spmd/definitions.h"

namespace tessera::spmd {

// One dim of a source. Position p of a value reads index start + step * p[dim] along it; without a
// dim it reads index `start`.
struct ReadDim {
  int32_t dim = -1;
  int64_t start = 0, step = 0;
};
// The elements of a value in the box [begin, end) are elements of `source`.
struct ReadPart {
  base::Shape begin, end;
  ir::ValueId source = kNoValue;
  std::vector<ReadDim> dims;  // of the source
};
// Parts that cover a value and do not overlap.
using ReadParts = std::vector<ReadPart>;

// Parts of the values of a device program, through any number of instructions.
class Reads {
 public:
  explicit Reads(const ir::Program& device);

  // Returns the parts of v in the operands of the instruction that defines it. Null if v has none.
  const ReadParts* InOperands(ir::ValueId v);
  // Returns the parts of v. Their sources are computed, not moved. Null if v has no parts.
  const ReadParts* Of(ir::ValueId v);

  // Returns the part of v if v repeats the elements of another value over `space`, in their order;
  // else null. A fused group reads that value with steps of 0.
  const ReadParts* Repeated(ir::ValueId v, const base::Shape& space);
  // Returns the parts of v if a fused group over `space` can read them; else null. Reductions in
  // the group run over its last `reduced` dims.
  const ReadParts* For(ir::ValueId v, const base::Shape& space, int32_t reduced);
  // Returns the parts of v if copying them pays, because the copy skips values between v and their
  // sources; else null.
  const ReadParts* ForCopy(ir::ValueId v);
  // Returns the part of v if v is one element of another value; else null.
  const ReadParts* Element(ir::ValueId v);

 private:
  std::optional<ReadParts> Composed(ir::ValueId v);
  bool MayStayAlive(ir::ValueId source, int64_t elements) const;

  const ir::Program& device_;
  const ValueDefinitions definitions_;
  std::map<ir::ValueId, std::optional<ReadParts>> in_operands_, known_;
  int depth_ = 0;  // of the recursion
};

// Whether the part is all of a value over `space` that repeats the elements of `source`, in their
// order.
bool IsRepeat(const ReadPart& part, const base::Shape& source, const base::Shape& space);
// Returns a part as fused kernels take it. The caller sets its operand.
plan::FusedDesc::Part PartDesc(const ReadPart& part, const base::Shape& source);

}  // namespace tessera::spmd
