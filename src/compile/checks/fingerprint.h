// A few numbers that stand for an array, and do not depend on its layout.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/host_call.h"
#include "kernels/reduce/signed_sums.h"

namespace tessera::compile {

struct Fingerprint {
  kernels::SignedSums floats;    // of floating-point and complex numbers
  uint64_t exact = 0;            // of integers, bools and keys: a checksum
  bool replicas_differ = false;  // devices hold other bits where the type says equal
};

// Rows of the whole array that a shard holds, from element `begin` of its own on. Numbers of
// complex arrays count, not elements.
struct ShardRows {
  kernels::SignedRows rows;
  int64_t begin = 0;
};
// Returns the rows of the shard at a mesh position.
std::vector<ShardRows> RowsOf(const ir::Type& place, int64_t position);

// A part of a shard.
struct ShardPart {
  const std::byte* shard = nullptr;
  int64_t part = 0, parts = 1;
};
Fingerprint FingerprintOf(DType dtype, const std::vector<ShardRows>& rows, const ShardPart& part);
// Adds the fingerprint of other elements of the same array.
void Add(const Fingerprint& other, Fingerprint& to);

// Returns a hash of the bits of these elements.
uint64_t HashOf(DType dtype, const std::vector<ShardRows>& rows, const ShardPart& part);

// Whether devices hold other bits where the type says that they hold the same.
bool HasOtherReplicas(const ir::HostArgument& value);

// Returns the difference of two values per element, relative to their size: 0 if they are equal
// and infinity if numbers that are not finite, or integers, differ.
double DifferenceOf(const Fingerprint& a, const Fingerprint& b);

}  // namespace tessera::compile
