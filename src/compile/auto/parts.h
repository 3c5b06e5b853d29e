// The pass choose_parts: shards dims that their axes do not divide over a part of these axes.
#pragma once
#include <memory>
#include <vector>

#include "ir/program.h"

namespace tessera::compile {

// A size, and axes that do not divide it: 12 over model=8.
struct UnevenDim {
  sharding::AxisList axes;
  int64_t size;
  friend bool operator==(const UnevenDim&, const UnevenDim&) = default;
};

// Returns a place with each of these dims over the major part of its axes that divides it: 12@model
// over model=8 becomes 12@model:(1)4.
sharding::TensorSharding OverParts(const sharding::TensorSharding& place, const ir::Shape& shape,
                                   const std::vector<UnevenDim>& dims);

struct PartsOfProgram {
  std::shared_ptr<const ir::Program> program;
  std::vector<UnevenDim> dims;  // dims over parts of their axes
};
// Returns the propagated program with each uneven dim padded, or over the part of its axes that
// divides it, whichever costs a device less. Padded shards are smaller, but are resharded where
// they meet even ones.
PartsOfProgram PaddedOrOverParts(std::shared_ptr<const ir::Program> placed);

}  // namespace tessera::compile
