// The list of all reductions, for tables and loops.
#pragma once
#include <array>
#include <cstddef>

#include "tessera/reduction.h"

namespace tessera::base {

inline constexpr std::array kReductions = {Reduction::kSum,  Reduction::kMax, Reduction::kMin,
                                           Reduction::kProd, Reduction::kAnd, Reduction::kOr,
                                           Reduction::kXor};

// Returns the index of a reduction in a table with one entry per reduction.
constexpr size_t IndexOf(Reduction reduction) { return static_cast<size_t>(reduction); }

static_assert([] {
  for (size_t i = 0; i < kReductions.size(); ++i)
    if (IndexOf(kReductions[i]) != i) return false;
  return true;
}());

}  // namespace tessera::base
