// Random collectives of shard_map, each with a plain version.
#pragma once
#include <functional>

#include "suite/random_program.h"

namespace tessera::suite {

using OfOne = std::function<Array(const Array&)>;

// A collective: `local` computes the result on a device, and `plain` computes it from the arrays of
// the group for one position in it.
struct Collective {
  const char* name;
  OfOne local;
  std::function<Array(const std::vector<Array>& members, size_t position)> plain;
};

// Returns a collective over the axes, whose groups have n devices. Results have the
// operand's shape.
Collective RandomCollective(Dice& dice, const AxisSet& axes, int n);

}  // namespace tessera::suite
