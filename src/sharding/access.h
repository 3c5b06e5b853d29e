// Finds the parts of an operand's shards that a shard of the result reads along the dim of a
// permute factor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sharding/partition.h"

namespace tessera::sharding {

// Result indices out, out + out_step, ... read indices in, in + in_step, ... of operand shard
// `shard`. All indices are local to their shards.
struct ShardRun {
  int64_t shard = 0;
  int64_t out = 0, out_step = 1;
  int64_t in = 0, in_step = 1;
  int64_t count = 0;
};

// The sizes of an operand's dim and of the result's dim that reads it.
struct AccessDim {
  int64_t operand_size = 0, operand_block = 0;  // of the dim and of one shard
  int64_t result_size = 0, result_block = 0;
};

using ShardRuns = std::vector<ShardRun>;

// Calls f with every combination of one run per dim; the last dim varies fastest.
template <class F>
void ForEachChoice(const std::vector<ShardRuns>& dims, F f) {
  for (const ShardRuns& runs : dims)
    if (runs.empty()) return;
  std::vector<size_t> at(dims.size(), 0);
  std::vector<const ShardRun*> choice(dims.size());
  size_t d = 0;
  do {
    for (size_t k = 0; k < dims.size(); ++k) choice[k] = &dims[k][at[k]];
    f(choice);
    for (d = dims.size(); d-- > 0; at[d] = 0)
      if (++at[d] < dims[d].size()) break;
  } while (d < dims.size());
}

// The part of an operand's dim that the windows of one shard of the result cover: `extent` indices.
// It includes the positions outside of the operand and between its elements. Shards of the result
// have that extent; `access` gives the elements that they read.
struct WindowView {
  int64_t extent = 0;
  Access access;
};
// Returns the view of an access with a window, for shards of `block` >= 1 results.
WindowView ViewOf(const Access& access, int64_t block);

// Returns the runs through which shard `shard` of the result reads the operand.
ShardRuns RunsOf(const Access& access, const AccessDim& dim, int64_t shard);

// Returns the runs of the shard's indices that read no element. Only `out`, `out_step` and
// `count` are set.
ShardRuns GapsOf(const Access& access, const AccessDim& dim, int64_t shard);

// Whether shards can exchange elements along the factor: `map` has an access of it for every
// operand that has it, but for the one whose indices they count.
bool MayExchange(const DimMap& map, size_t factor);

// A dim of an operand, or of the result (-1).
struct CountingDim {
  int32_t operand = -1;
  size_t dim = 0;
};
// Returns the dim whose indices the accesses along a factor count. It is a dim of the result or, if
// the factor is reduced, of the operand that is not read through windows.
CountingDim CountedBy(const DimMap& map, int32_t factor);

// Returns the most bytes that any device receives when the op reads operands laid out as `axes`
// say, whatever their own shardings are, along the permute factors that `axes` shard.
int64_t HaloBytes(const DimMap& map, const std::vector<PartitionTensor>& operands,
                  const Shape& result, const FactorAxes& axes);

}  // namespace tessera::sharding
