// The tensors of one op seen over its factors, and back. See docs/propagation.md.
#pragma once
#include <absl/types/span.h>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

// The axes that shard one factor in one tensor.
struct FactorState {
  AxisList axes;
  AxisList overflow;        // axes behind `axes` that the factor cannot hold; they block others
  bool present = false;     // the tensor has the factor
  bool closed = false;      // nothing may be appended
  bool minor_most = false;  // the last factor of its dim: it may hold axes that do not divide
};

struct TensorState {
  absl::InlinedVector<FactorState, 6> factors;  // by factor
  AxisList replicated, unreduced;
};

struct OpState {
  absl::InlinedVector<TensorState, 4> tensors;  // operands, then results
  size_t operands = 0;
};

// Returns the state of an op's tensors; a null sharding is fully open.
OpState Project(const DimMap& map, absl::Span<const TensorSharding* const> tensors);

// Returns `old` (of `rank` dims, null: none) with the dims that `state` says. A dim takes the axes
// of a factor only if its more major factors are full: else a shard would be strided.
TensorSharding Unproject(const DimMap& map, const sharding::DimFactors& dims,
                         const TensorState& state, const TensorSharding* old, const MeshDef* mesh);

// Whether `a` is a strict prefix of `b`, whose element at the end of `a` may be a larger part.
bool IsStrictPrefix(const AxisList& a, const AxisList& b);

// Returns the part of `x` more major than all of `axes`; nothing if there is none.
std::optional<AxisPart> WithoutOverlap(AxisPart x, const AxisList& axes);

// Returns the axes that shard factor `f` in all of its tensors, as far as they agree from the first
// axis on; other factors are not looked at.
AxisList CompatibleAxes(const OpState& projection, int32_t f, Direction direction);

// Returns what tensor `t` can take of axis `x` for factor `f`, whose axes before x make `before`
// shards. Nothing: the axis conflicts.
std::optional<AxisPart> FitsFactor(const TensorState& t, int32_t f, int64_t factor_size, AxisPart x,
                                   int64_t before);
// The same with regard to the other factors of the tensor.
std::optional<AxisPart> FitsOthers(const TensorState& t, int32_t f, AxisPart x);

// Cuts `axes` at the first one that `fits(axis, shards before it)` refuses or shortens.
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
