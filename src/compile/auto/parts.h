// Dims that the devices do not divide, over a part of their axes that does.
#pragma once
#include <memory>
#include <vector>

#include "ir/program.h"

namespace tessera::compile {

// A size, and axes that do not divide it.
struct UnevenDim {
  sharding::AxisList axes;
  int64_t size;
  friend bool operator==(const UnevenDim&, const UnevenDim&) = default;
};

// Returns where a value lies that shares such dims out evenly over what begins their axes: with 12
// over model=8 among them, 12@model becomes 12@model:(1)4.
sharding::TensorSharding OverParts(const sharding::TensorSharding& place, const ir::Shape& shape,
                                   const std::vector<UnevenDim>& dims);

struct PartsOfProgram {
  std::shared_ptr<const ir::Program> program;
  std::vector<UnevenDim> dims;  // those that are over parts of their axes
};
// Returns the propagated program, its uneven dims padded or over the part of their axes that
// divides, if there is one: whichever costs a device less. Padded shards hold less, but must be
// moved wherever even ones meet them.
PartsOfProgram PaddedOrOverParts(std::shared_ptr<const ir::Program> placed);

}  // namespace tessera::compile
