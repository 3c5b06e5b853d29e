// Comparison of tensors: both types, and the first element that differs.
#pragma once
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "suite/samples.h"

namespace tessera::suite {

// Returns the first difference, or "". NaN equals NaN. Zeros of different sign differ only
// if there is no tolerance.
std::string Difference(const ir::HostTensor& got, const ir::HostTensor& want, Tolerance tolerance);

MATCHER_P2(AreClose, want, tolerance, "are the tensors computed otherwise") {
  if (arg.size() != want.size()) {
    *result_listener << "which are " << arg.size() << " tensors, not " << want.size();
    return false;
  }
  for (size_t i = 0; i < want.size(); ++i) {
    std::string difference = Difference(arg[i], want[i], tolerance);
    if (difference.empty()) continue;
    *result_listener << "whose result " << i << " differs: " << difference;
    return false;
  }
  return true;
}

MATCHER_P(AreSameBits, want, "are the tensors computed otherwise, bit by bit") {
  return testing::ExplainMatchResult(AreClose(want, Tolerance{}), arg, result_listener);
}

}  // namespace tessera::suite

namespace tessera::ir {
// Tests print the difference, not whole tensors.
inline void PrintTo(const HostTensor& t, std::ostream* os) { *os << t.dtype.name() << " tensor"; }
}  // namespace tessera::ir
