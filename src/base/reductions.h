// The list of reductions, for tables and loops over all of them.
#pragma once
#include <array>
#include <cstddef>

#include "tessera/reduction.h"

namespace tessera::base {

inline constexpr std::array kReductions = {Reduction::kSum,  Reduction::kMax, Reduction::kMin,
                                           Reduction::kProd, Reduction::kAnd, Reduction::kOr};

// Returns the place of a reduction in a table that has one entry per reduction.
constexpr size_t IndexOf(Reduction reduction) { return static_cast<size_t>(reduction); }

static_assert([] {
  for (size_t i = 0; i < kReductions.size(); ++i)
    if (IndexOf(kReductions[i]) != i) return false;
  return true;
}());

}  // namespace tessera::base
