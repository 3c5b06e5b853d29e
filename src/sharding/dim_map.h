// DimMap states the dimension structure of an op once. Its factors are the dims of the op's
// iteration space; each dim of an operand or result consists of factors, major to minor. The map of
// a matmul is ([i, k], [k, j])->([i, j]). Typing, propagation, batching, local shapes, collectives
// and costs all derive from it.
#pragma once
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "sharding/tensor_sharding.h"

namespace tessera::sharding {

enum class FactorKind : uint8_t {
  kPass,       // in operands and results; computing on its shards needs no communication
  kReduce,     // only in operands; sharding it leaves a partial result over its axes
  kReplicate,  // must be unsharded where the op computes; the typing rule refuses its axes
  // The op takes two passes over its shards, and between them exchanges some elements of each: one,
  // if a result depends on all elements up to its own; as many as the results have, if they are
  // chosen from all (the factor is not in results); whole shards, a few times, if the op sorts. The
  // typing rule asks for an out_sharding.
  kScan,
  kPermute,  // the op reads by position; the typing rule keeps its axes if they divide the new size
  // like kPermute, but the op keeps the dim's size (a pad that cuts as much as it adds, an update
  // of a piece): axes propagate through it as through a pass factor
  kAcross,
};

struct Factor {
  int64_t size = 1;  // of the first dim that has it, where dims differ (kPermute)
  FactorKind kind = FactorKind::kPass;
  Reduction reduction = Reduction::kSum;  // of kReduce: how partial results combine
  // Whether no axis propagates through it.
  bool blocked = false;
  // Of kScan: the op orders the elements along it. Equal elements keep their order, by their
  // positions, which are exchanged as well.
  bool sorts = false, by_position = false;
  friend bool operator==(const Factor&, const Factor&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Factor& f) {
    return H::combine(std::move(h), f.size, f.kind, f.blocked, f.sorts, f.by_position);
  }
};

using FactorList = absl::InlinedVector<int32_t, 2>;

// The factors of each dim of one tensor. A dim without factors is related to no other dim.
using DimFactors = absl::InlinedVector<FactorList, 4>;

// The reductions with which an op commutes: their partial values may pass through it. An op that
// only moves elements commutes with all of them.
struct Kinds {
  bool sum = true, max = false, min = false;
  bool has(Reduction r) const {
    return r == Reduction::kMax ? max : r == Reduction::kMin ? min : sum;
  }
};
inline constexpr Kinds kAnyKind{true, true, true};

// Operands in which the op is jointly linear: it accepts them all unreduced at once. add has one
// group {0, 1}; mul has two, {0} and {1}.
struct LinearGroup {
  absl::InlinedVector<int32_t, 2> operands;
  Kinds kinds = {};
};

// How the result's dim of a permute factor reads an operand's dim: index o reads index
// (o * stride + offset) / dilation, if that is a whole number inside the operand. Several accesses
// of one operand read different parts of it. Either `stride` is 1 or -1, or `dilation` is 1, or
// there is a window.
struct Access {
  int32_t operand = 0;
  int32_t factor = 0;
  int64_t offset = 0, stride = 1, dilation = 1;
  bool at_run_time = false;  // the offset is only known at run time
  // Of an op that computes on windows: index o reads the indices (o * stride + w *
  // window_dilation + offset) / dilation for all w in [0, window), and `stride` is positive. 0: the
  // op only moves elements.
  int64_t window = 0, window_dilation = 1;
  // The factor of w, if another operand has it (the kernel of a convolution); else -1.
  int32_t window_factor = -1;
  // Added to the offset once for each shard of the result that precedes the shard of index o.
  int64_t per_shard = 0;
};

// Facts that do not follow from the rest of a map (docs/design.md gives the reasons).
struct Traits {
  // Operands that only select: predicates, indices, a padding value. The reduced axes of the
  // results do not depend on them. For a custom op they do not depend on integer and bool
  // operands either.
  std::vector<int32_t> selectors = {};
  // Whether the op is a product: its operands may be reduced over any axes, and its result is
  // reduced over none.
  bool product = false;
  bool custom = false;  // the map comes from a user, not from the op
};

struct DimMap {
  std::vector<Factor> factors;
  std::vector<DimFactors> operands, results;
  std::vector<LinearGroup> linear;
  // The reads along permute factors, if it is known which elements the op reads. Such a factor can
  // be sharded: devices exchange the elements that their shards lack.
  std::vector<Access> accesses;
  Traits traits;
  // The points that the op computes, for each point of the product of the factors: below 1 if it
  // computes only some of them (a row of a group meets one matrix), above 1 if it computes along
  // a factor of no dim (the steps of a factorisation, the elements of a window).
  double density = 1;

  int32_t AddFactor(Factor f) {
    factors.push_back(f);
    return static_cast<int32_t>(factors.size()) - 1;
  }
};

using base::Shape;
using Shapes = absl::InlinedVector<const Shape*, 4>;

// Returns the map of an op whose operands and results have one shape, where scalars (rank 0) and
// dims of size 1 broadcast.
DimMap Pointwise(const Shapes& operands, const Shape& result, int num_results = 1);

// Returns the map of a reshape. It walks both shapes from the major end and cuts common factors.
// Where there is none, operand and result get factors of their own, which cannot be sharded.
// Nothing propagates between arrays without elements.
// See docs/propagation.md, "Factors of a reshape".
DimMap ReshapeMap(const Shape& operand, const Shape& result);

// Returns the map with a factor of size 1 for every dim without factors, operands first.
DimMap Completed(DimMap map);

// Returns the map for propagation. For typing, the update of a dynamic_update_slice shares a factor
// with the dim that it updates, so that both are laid out alike. Here the smaller of the two has a
// factor of its own, which any device may need whole.
DimMap WithPiecesApart(DimMap map, const Shapes& operands);
// Returns the map with which devices compute. It is the map for propagation, but devices work on
// shards of a dim whose piece has an offset known only at run time:
// an update writes the elements that fall into its shard: the dim's factor passes;
// a slice gives the elements that its shard has, and zeros elsewhere: the factor is reduced.
DimMap OnShards(DimMap map, const Shapes& operands, const Shapes& results);

// Returns the map by which devices compute sums of floats in one order: every device that computes
// a sum, or a running one, has all of its terms. Maxima are the same in any order.
DimMap WithWholeSums(DimMap map);

// Returns the map for propagation, as Shardy has it: a dim that is read through the windows of
// another operand has the window's factor too. The larger is major, and together they fill no more
// than the dim. See docs/propagation.md, "Windows".
DimMap WithWindowsInside(DimMap map, const Shapes& operands);

// Whether the factor's dim is looked up: it is a reduce or replicate factor of an op with
// selectors. Typing then asks for an out_sharding.
bool LooksUp(const DimMap& map, size_t factor);
// Returns the scalar operand that fills the elements which no access reads (the value of a
// pad); -1 if there is none. Next to an unreduced operand it counts as unreduced: zero on all
// devices but one.
int32_t FillOf(const DimMap& map);
// Whether all results have the dims of the first one, so that one out_sharding is for all.
bool AreResultsAlike(const DimMap& map);
// Whether the op only repeats its operand. An out_sharding may then ask for any unreduced
// and reduced axes.
bool Repeats(const DimMap& map);

// Returns the points that the op computes, which its FLOPs count.
double PointsOf(const DimMap& map);
// Sets the density of the map, so that the op computes so many points.
void SetPoints(DimMap& map, double points);

// Whether one of the dims has the factor.
bool HasFactor(const DimFactors& dims, int32_t factor);
// Returns for each factor whether one of the tensors has it.
std::vector<bool> FactorsOf(const DimMap& map, const std::vector<DimFactors>& tensors);

// Returns the symbol of a factor: `i` to `z`, then `z_1`, `z_2`, ...
std::string FactorSymbol(int32_t f);
// Returns Shardy's rule text, `([i, jk])->([i, j, k]) {i=2, j=4, k=2} reduction={..} ...`, which
// ParseRule reads back. A dim without factors is `1`.
std::string Text(const DimMap& map);
// Returns the same text, and then `across={..}` and the traits, which Shardy's text cannot express.
std::string FullText(const DimMap& map);

}  // namespace tessera::sharding
