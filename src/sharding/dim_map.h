// DimMap: the dimension structure of an op, stated once. Its factors are the dims of the op's
// iteration space; each dim of an operand or result is made of factors, major to minor. Typing,
// propagation, batching, local shapes, collectives and costs are all derived from it.
#pragma once
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "sharding/tensor_sharding.h"

namespace tessera::sharding {

enum class FactorKind : uint8_t {
  kPass,       // of operands and results; local compute needs no communication
  kReduce,     // of operands only; sharding it leaves a partial result over those axes
  kReplicate,  // must be whole where it is computed: refused by the typing rule
  kPermute,    // position along it matters; the typing rule keeps its axes if the new size divides
  kAcross,  // the same, of a dim whose size the op keeps (padding by as much as it cuts, an update
            // in part): axes propagate through it as through a pass factor
};

struct Factor {
  int64_t size = 1;  // of the first tensor dim that has it, where dims differ (permute)
  FactorKind kind = FactorKind::kPass;
  Reduction reduction = Reduction::kSum;  // of reduce factors: how partial results combine
  // Nothing propagates through it.
  bool blocked = false;
  friend bool operator==(const Factor&, const Factor&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Factor& f) {
    return H::combine(std::move(h), f.size, f.kind, f.blocked);
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
};

// How the results' dim of a permute factor reads an operand's: index o reads index
// (o * stride + offset) / dilation of the operand where that is whole and inside. Several of one
// operand read different parts of it. Either `stride` is 1 or -1, or `dilation` is 1.
struct Access {
  int32_t operand = 0;
  int32_t factor = 0;
  int64_t offset = 0, stride = 1, dilation = 1;
  bool at_run_time = false;  // the offset is known only then
};

// What the rest of a map cannot say (docs/design.md lists it with the reasons).
struct Traits {
  // Operands beside those that are worked on (predicates, indices, a padding value): they take no
  // part in what is reduced. Of a custom op, its integer and bool operands do not either.
  std::vector<int32_t> selectors = {};
  // A product of operands that may be reduced over anything: its result is reduced over nothing.
  bool product = false;
  bool custom = false;  // the map is given by a user, not by the op
};

struct DimMap {
  std::vector<Factor> factors;
  std::vector<DimFactors> operands, results;
  std::vector<LinearGroup> linear;
  // Of permute factors, where it is known which elements are read: the factor may then be sharded
  // by exchanging what lies on other devices.
  std::vector<Access> accesses;
  Traits traits;

  int32_t AddFactor(Factor f) {
    factors.push_back(f);
    return static_cast<int32_t>(factors.size()) - 1;
  }
};

using base::Shape;
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

// Returns the map for propagation. Typing wants a piece of a dim (the update of a
// dynamic_update_slice) laid out like the dim, so both have one factor; here the piece, the smaller
// of the two, has a factor of its own, which any device may need whole.
DimMap WithPiecesApart(DimMap map, const Shapes& operands);
// Returns the map as devices compute it: in addition, where a piece lies at run time devices work
// on shards of the whole. Each writes what falls into its own (the whole's factor passes), or gives
// what it has of the piece and zeros beside it (the factor is looked up).
DimMap OnShards(DimMap map, const Shapes& operands, const Shapes& results);

// Whether the factor's dim is looked up: reduced, though what the user wrote is no reduction.
// Typing then wants an out_sharding.
bool LooksUp(const DimMap& map, size_t factor);
// Returns the operand, a scalar, that stands where no access reads; -1 if none does. It selects and
// is worked on: beside a partial value it counts as one, zero on all devices but one.
int32_t FillOf(const DimMap& map);
// Whether the op only repeats its operand. The result may then be unreduced or reduced over
// whatever an out_sharding says.
bool Repeats(const DimMap& map);

// Returns, per factor, whether some operand (some result) has it.
std::vector<bool> FactorsOf(const DimMap& map, const std::vector<DimFactors>& tensors);

// Returns the letter of a factor in texts: `i` to `z`, then `z_1`, `z_2`, ...
std::string FactorSymbol(int32_t f);
// Returns `([i, jk])->([i, j, k]) {i=2, j=4, k=2} reduction={..} ...`, Shardy's rule text;
// ParseRule reads it back. A dim without factors is written `1`.
std::string Text(const DimMap& map);
// Returns the same and what Shardy's text has no words for: `across={..}` and the traits.
std::string FullText(const DimMap& map);

}  // namespace tessera::sharding
