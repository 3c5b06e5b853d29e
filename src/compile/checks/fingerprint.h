// A few numbers that stand for an array, and do not depend on its layout.
#pragma once
#include <cstdint>
#include <string>

#include "ir/host_call.h"
#include "kernels/reduce/signed_sums.h"

namespace tessera::compile {

struct Fingerprint {
  kernels::SignedSums floats;    // of floating-point and complex numbers
  uint64_t exact = 0;            // of integers, bools and keys: a checksum
  bool replicas_differ = false;  // devices hold other bits where the type says equal
};

// Returns the fingerprint of the shards of this process.
Fingerprint FingerprintOf(const ir::HostArgument& value);

// Returns the difference of two values per element, relative to their size: 0 if they are equal
// and infinity if numbers that are not finite, or integers, differ.
double DifferenceOf(const Fingerprint& a, const Fingerprint& b);

}  // namespace tessera::compile
