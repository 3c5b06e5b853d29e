// DimMap: the dimension structure of an op, stated once. Its factors are the dims of the op's
// iteration space; each dim of an operand or result is made of factors, major to minor. Typing,
// propagation, batching, local shapes, collectives and costs are all derived from it.
#pragma once
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/tensor_sharding.h"

namespace tessera::sharding {

enum class FactorKind : uint8_t {
  kPass,       // of operands and results; local compute needs no communication
  kReduce,     // of operands only; sharding it leaves a partial result over those axes
  kReplicate,  // must be whole where it is computed: refused by the typing rule
  kPermute,    // position along it matters; the typing rule keeps its axes if the new size divides
};

struct Factor {
  int64_t size = 1;  // of the first tensor dim that has it, where dims differ (permute)
  FactorKind kind = FactorKind::kPass;
  Reduction reduction = Reduction::kSum;  // of reduce factors: how partial results combine
  // The typing rule wants an out_sharding where this is sharded, though the op could reduce it or
  // have it whole (lookups: what is sent is not what the user sees in the source).
  bool asks = false;
  // Nothing propagates through it.
  bool blocked = false;
  // Axes propagate as early as through a pass factor, whatever has to be done about them then.
  bool early = false;
  // The typing rule wants it laid out like that factor, of whose dim it is a piece (the updated
  // one).
  int32_t piece_of = -1;
  friend bool operator==(const Factor&, const Factor&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Factor& f) {
    return H::combine(std::move(h), f.size, f.kind, f.blocked, f.early);
  }
};

using FactorList = absl::InlinedVector<int32_t, 2>;

// The factors of each dim of one tensor. A dim without factors stands for itself.
using DimFactors = absl::InlinedVector<FactorList, 4>;

// The reductions whose partial values may pass through an op. An op that only moves elements
// commutes with all of them.
struct Kinds {
  bool sum = true, max = false, min = false;
  bool has(Reduction r) const {
    return r == Reduction::kMax ? max : r == Reduction::kMin ? min : sum;
  }
};
inline constexpr Kinds kAnyKind{true, true, true};

// Operands in which the op is jointly linear: it may take them all unreduced at once.
struct LinearGroup {
  absl::InlinedVector<int32_t, 2> operands;
  Kinds kinds = {};
  // A rank-0 member that is replicated counts as unreduced (all but one device hold zero).
  bool casts_scalars = false;
};

// How the results' dim of a permute factor reads an operand's: index o reads index
// (o * stride + offset) / dilation of the operand where that is whole and inside. Several of one
// operand read different parts of it. Either `stride` is 1 or -1, or `dilation` is 1.
struct Access {
  int32_t operand = 0;
  int32_t factor = 0;
  int64_t offset = 0, stride = 1, dilation = 1;
};

struct DimMap {
  std::vector<Factor> factors;
  std::vector<DimFactors> operands, results;
  std::vector<LinearGroup> linear;
  // Of permute factors, where it is known which elements are read: the factor may then be sharded
  // by exchanging what lies on other devices.
  std::vector<Access> accesses;
  int32_t fill = -1;  // the operand, a scalar, that stands where no access reads
  // Operands beside those that are worked on (predicates, indices, a padding value): they take no
  // part in what is reduced. Of a custom op, its integer and bool operands do not either.
  std::vector<int32_t> selectors;
  // An out_sharding may also change what is unreduced or reduced, as a reshard would.
  bool relayouts = false;
  // A product of operands that may be reduced over anything: its result is reduced over nothing.
  bool product = false;
  bool custom = false;  // given by a user, not by the op

  int32_t AddFactor(Factor f) {
    factors.push_back(f);
    return static_cast<int32_t>(factors.size()) - 1;
  }
};

using Shape = std::vector<int64_t>;
using Shapes = absl::InlinedVector<const Shape*, 4>;

// Returns the map of an op whose operands and results have one shape, with scalars (rank 0) and
// dims of size 1 broadcast.
DimMap Pointwise(const Shapes& operands, const Shape& result, int num_results = 1);

// Returns the map of a reshape: both shapes walked major to minor, cutting common factors. Where
// they have none, operand and result get factors of their own, which cannot be sharded. Nothing
// propagates between arrays without elements.
// See docs/propagation.md, "Factors of a reshape".
DimMap ReshapeMap(const Shape& operand, const Shape& result);

// Returns the map with a factor of size 1 for every dim without factors: operands, then results.
DimMap Completed(DimMap map);

// Returns the map as typing sees it: pieces of a dim have the factor of that dim.
DimMap WithPiecesJoined(DimMap map);

// Returns, per factor, whether some operand (some result) has it.
std::vector<bool> FactorsOf(const DimMap& map, const std::vector<DimFactors>& tensors);

// Returns the letter of a factor in texts: `i` to `z`, then `z_1`, `z_2`, ...
std::string FactorSymbol(int32_t f);
// Returns `([i, jk])->([i, j, k]) {i=2, j=4, k=2} reduction={..} ...`, Shardy's rule text;
// ParseRule reads it back. A dim without factors is written `1`.
std::string Text(const DimMap& map);

}  // namespace tessera::sharding
