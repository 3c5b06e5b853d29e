// Bounds on the integers of a device program: positions, and numbers computed from them.
#pragma once
#include <optional>
#include <vector>

#include "spmd/definitions.h"

namespace tessera::spmd {

// On every device, element p of the value is between least + p . strides and most + p . strides.
// An iota over rows on two devices of 4 rows each, say: least 0, most 4, strides [1].
struct IndexBounds {
  int64_t least = 0, most = 0;
  std::vector<int64_t> strides;  // per dim; 0 where its size is 1
};
using MaybeBounds = std::optional<IndexBounds>;
using ValueBounds = base::IdVector<ir::ValueId, MaybeBounds>;

// Finds bounds on the values of one program, for several bounds on its inputs.
class BoundsFinder {
 public:
  explicit BoundsFinder(const ir::Program& device);
  // Returns bounds on all values. `inputs`: bounds on the inputs, in order; inputs beyond its end
  // have none.
  ValueBounds Find(const std::vector<MaybeBounds>& inputs) const;

 private:
  const ir::Program& device_;
  // Bounds on iotas, which depend on no input. They are found once: an iota has an offset per
  // device, and there may be very many.
  ValueBounds iotas_;
};

// Returns bounds on the slices [begin, end) along the first dim of a value. Slices lack that dim.
MaybeBounds BoundsOfSlices(const MaybeBounds& whole, int64_t begin, int64_t end);

// Returns the result of comparing x and y if it is the same at all positions of `shape` with an
// index in [begin, end) along `dim`. x and y may have dims of size 1, or lack leading dims.
std::optional<bool> CompareBounds(plan::ScalarOp op, const IndexBounds& x, const IndexBounds& y,
                                  const base::Shape& shape, int dim, int64_t begin, int64_t end);

}  // namespace tessera::spmd
