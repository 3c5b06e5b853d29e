// Random collectives of shard_map, each with its plain version.
#pragma once
#include <functional>

#include "suite/random_program.h"

namespace tessera::suite {

using OfOne = std::function<Array(const Array&)>;

// What a collective gives: to a device; and from the arrays of its group, at a position in it.
struct Collective {
  const char* name;
  OfOne local;
  std::function<Array(const std::vector<Array>& members, size_t position)> plain;
};

// Returns a collective over the axes, whose groups have n devices. Results are of the operand's
// shape.
Collective RandomCollective(Dice& dice, const AxisSet& axes, int n);

}  // namespace tessera::suite
