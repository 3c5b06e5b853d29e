// What ops that only move elements (slices, pads, concatenations, rolls, transposes, broadcasts)
// make of their operands, as boxes: a fused group reads the operands themselves.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "ir/program.h"
#include "plan/fused.h"
#include "sharding/dim_map.h"

namespace tessera::spmd {

// Along a dim of a source, the index that position p of a value's dim `dim` reads is
// start + step * p; without a dim it is `start`.
struct ReadDim {
  int32_t dim = -1;
  int64_t start = 0, step = 0;
};
// The elements in a box of a value are elements of `source`.
struct ReadPart {
  base::Shape begin, end;
  ir::ValueId source = -1;
  std::vector<ReadDim> dims;  // of the source
};
// All of a value; parts do not overlap.
using ReadParts = std::vector<ReadPart>;

// Returns what the instruction's result consists of, found from its dimension map; none if the op
// computes anything, or takes elements from places that the map does not know.
std::optional<ReadParts> PartsOf(const ir::Program& device, const ir::Instruction& instruction);

// What each value of a device program can be read as, in place of its own buffer.
class Reads {
 public:
  explicit Reads(const ir::Program& device);

  // Returns the parts of v, of values that are not moved themselves; null if v is no such value.
  const ReadParts* Of(ir::ValueId v);

  // Returns the parts, if a fused group over `space`, whose last `reduced` dims are reduced, may
  // read v by them; else null.
  const ReadParts* For(ir::ValueId v, const base::Shape& space, int32_t reduced);
  // Returns the part of another value that v is, if it is one element of it; else null.
  const ReadParts* Element(ir::ValueId v);

 private:
  std::optional<ReadParts> Composed(ir::ValueId v);
  bool IsKept(ir::ValueId source, int64_t elements) const;

  const ir::Program& device_;
  std::vector<const ir::Instruction*> maker_;  // per value
  std::map<ir::ValueId, std::optional<ReadParts>> known_;
  int depth_ = 0;  // of moves that are being composed
};

// Returns a part as the fused kernel takes it, but for its operand.
plan::FusedDesc::Part PartDesc(const ReadPart& part, const base::Shape& source);

}  // namespace tessera::spmd
