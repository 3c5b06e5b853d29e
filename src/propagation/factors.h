// Projects the tensors of an op onto its factors, and back. See docs/propagation.md.
#pragma once
#include <absl/types/span.h>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

// The axes of one factor in one tensor.
struct FactorState {
  AxisList axes;
  AxisList overflow;        // axes after `axes` that the factor cannot hold; they block others
  bool present = false;     // the tensor has the factor
  bool closed = false;      // no axis may be appended
  bool minor_most = false;  // the last factor of its dim, which may hold axes that do not divide
};

struct TensorState {
  absl::InlinedVector<FactorState, 6> factors;  // by factor
  AxisList replicated, unreduced;
};

// Returns the factors of the dims of tensor `t` of an op: operands, then results.
inline const sharding::DimFactors& DimsOf(const DimMap& map, size_t t) {
  return t < map.operands.size() ? map.operands[t] : map.results[t - map.operands.size()];
}

struct OpState {
  absl::InlinedVector<TensorState, 4> tensors;  // operands, then results
  size_t operands = 0;
};

// Returns the state of an op's tensors. A null sharding is fully open.
OpState Project(const DimMap& map, absl::Span<const TensorSharding* const> tensors);

// Returns `old` (null: none) with the dims of `state`. A dim takes the axes of a factor only if its
// more major factors are full, as shards would be strided otherwise.
TensorSharding Unproject(const DimMap& map, const sharding::DimFactors& dims,
                         const TensorState& state, const TensorSharding* old, const MeshDef* mesh);

// Whether `a` is a strict prefix of `b`. The last element of `a` may be a major part of
// its counterpart.
bool IsStrictPrefix(const AxisList& a, const AxisList& b);

// Returns the part of `x` that is more major than all of `axes`; nothing if there is none.
std::optional<AxisPart> WithoutOverlap(AxisPart x, const AxisList& axes);

// Returns the axes that shard factor `f` in all tensors that have it, up to the first disagreement.
// Ignores other factors.
AxisList CompatibleAxes(const OpState& projection, int32_t f, Direction direction);

// Returns the part of axis `x` that factor `f` of tensor `t` can take after axes that make `before`
// shards; nothing if the axis conflicts.
std::optional<AxisPart> FitsFactor(const TensorState& t, int32_t f, int64_t factor_size, AxisPart x,
                                   int64_t before);
// Returns the part of `x` that the other factors of the tensor leave free.
std::optional<AxisPart> FitsOthers(const TensorState& t, int32_t f, AxisPart x);

// Cuts `axes` at the first axis that `fits(axis, shards before it)` refuses or shortens.
template <class Fits>
void Truncate(AxisList& axes, const Fits& fits) {
  int64_t before = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<AxisPart> part = fits(axes[i], before);
    if (!part) {
      axes.resize(i);
    } else if (*part != axes[i]) {
      axes[i] = *part;
      axes.resize(i + 1);
    } else {
      before *= part->size;
    }
  }
}

}  // namespace tessera::propagation::engine
