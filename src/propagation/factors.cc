// Finds the axes of each factor in the tensors of an op, and the axes that other tensors can take.
#include "propagation/factors.h"

#include <numeric>

namespace tessera::propagation::engine {
namespace {

// Distributes a dim's axes over its factors, major to minor. Each factor takes the axes that divide
// it; the last one takes all that are left.
void ProjectDim(const DimMap& map, const sharding::FactorList& factors,
                const sharding::DimAxes* dim, TensorState& state) {
  AxisList axes = dim ? dim->axes : AxisList{};
  bool closed = dim && !dim->open;
  size_t at = 0;
  bool overflows = false;
  for (int32_t f : factors) {
    FactorState& s = state.factors[f];
    s.present = true;
    s.minor_most = f == factors.back();
    s.closed = closed || overflows;
    // The factors after this one count as absent from the tensor.
    if (overflows) return;
    if (s.minor_most) {
      for (; at < axes.size(); ++at) AppendMerged(s.axes, axes[at]);
      return;
    }
    int64_t room = map.factors[f].size;
    while (at < axes.size()) {
      int64_t common = std::gcd(room, axes[at].size);
      if (common <= 1) break;
      AppendMerged(s.axes, {axes[at].axis, axes[at].pre, common});
      if (axes[at].size > common) {
        axes[at] = {axes[at].axis, axes[at].pre * common, axes[at].size / common};
        room /= common;
      } else {
        room /= axes[at++].size;
      }
    }
    if (room > 1 && at < axes.size()) {
      s.overflow.assign(axes.begin() + static_cast<ptrdiff_t>(at), axes.end());
      overflows = true;
    }
  }
}

bool IsMajorPart(AxisPart part, AxisPart whole) {
  return part.axis == whole.axis && part.pre == whole.pre && part.size < whole.size;
}

// Joins one more tensor's axes on a factor into `axes`.
void JoinAxes(AxisList& axes, const AxisList& other, bool& can_expand) {
  AxisList joined;
  size_t i = 0;
  for (; i < axes.size() && i < other.size(); ++i) {
    AxisPart a = axes[i], b = other[i];
    if (a == b) {
      joined.push_back(a);
    } else if (IsMajorPart(b, a) && i + 1 == other.size()) {
      joined.push_back(a);
    } else if (IsMajorPart(a, b) && can_expand && i + 1 == axes.size()) {
      joined.push_back(b);
    } else {
      if (IsMajorPart(b, a)) joined.push_back(b);
      if (IsMajorPart(a, b)) joined.push_back(a);
      axes = std::move(joined);
      can_expand = false;
      return;
    }
  }
  joined.insert(joined.end(), axes.begin() + static_cast<ptrdiff_t>(std::min(i, axes.size())),
                axes.end());
  if (can_expand)
    joined.insert(joined.end(), other.begin() + static_cast<ptrdiff_t>(std::min(i, other.size())),
                  other.end());
  axes = std::move(joined);
}

}  // namespace

OpState Project(const DimMap& map, absl::Span<const TensorSharding* const> tensors) {
  OpState p;
  p.operands = map.operands.size();
  p.tensors.resize(tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    const sharding::DimFactors& dims = DimsOf(map, t);
    TensorState& state = p.tensors[t];
    state.factors.resize(map.factors.size());
    if (tensors[t]) {
      state.replicated = tensors[t]->replicated;
      state.unreduced = tensors[t]->unreduced;
    }
    for (size_t d = 0; d < dims.size(); ++d)
      ProjectDim(map, dims[d], tensors[t] ? &tensors[t]->dims[d] : nullptr, state);
  }
  return p;
}

TensorSharding Unproject(const DimMap& map, const sharding::DimFactors& dims,
                         const TensorState& state, const TensorSharding* old, const MeshDef* mesh) {
  TensorSharding out;
  if (old) out = *old;
  out.mesh = mesh;
  out.dims.assign(dims.size(), {});
  for (size_t d = 0; d < dims.size(); ++d) {
    bool closed = false;
    for (int32_t f : dims[d]) {
      const FactorState& s = state.factors[f];
      closed |= s.closed;
      for (AxisPart a : s.axes) AppendMerged(out.dims[d].axes, a);
      for (AxisPart a : s.overflow) AppendMerged(out.dims[d].axes, a);
      if (!s.overflow.empty() || SizeOf(s.axes) < map.factors[f].size) break;
    }
    out.dims[d].open = !closed;
  }
  return out;
}

bool IsStrictPrefix(const AxisList& a, const AxisList& b) {
  if (a.empty()) return !b.empty();
  if (a.size() > b.size()) return false;
  for (size_t i = 0; i + 1 < a.size(); ++i)
    if (a[i] != b[i]) return false;
  size_t last = a.size() - 1;
  return a[last] == b[last] ? a.size() < b.size() : IsMajorPart(a[last], b[last]);
}

std::optional<AxisPart> WithoutOverlap(AxisPart x, const AxisList& axes) {
  std::optional<AxisPart> out = x;
  for (AxisPart a : axes) {
    if (a.axis == x.axis) out = PrefixWithoutOverlap(*out, a);
    if (!out) return out;
  }
  return out;
}

AxisList CompatibleAxes(const OpState& projection, int32_t f, Direction direction) {
  AxisList axes;
  if (direction == Direction::kNone) return axes;
  bool can_expand = true;
  auto join = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const FactorState& s = projection.tensors[t].factors[f];
      if (s.present) JoinAxes(axes, s.axes, can_expand);
    }
  };
  const size_t operands = projection.operands, all = projection.tensors.size();
  const bool operands_first = direction != Direction::kBackward;
  operands_first ? join(0, operands) : join(operands, all);
  // Axes pass in one direction only: the other tensors may shorten the axes, but add none.
  if (direction != Direction::kBoth) can_expand = false;
  operands_first ? join(operands, all) : join(0, operands);
  return axes;
}

std::optional<AxisPart> FitsFactor(const TensorState& t, int32_t f, int64_t factor_size, AxisPart x,
                                   int64_t before) {
  const FactorState& s = t.factors[f];
  std::optional<AxisPart> part = WithoutOverlap(x, t.replicated);
  if (part) part = WithoutOverlap(*part, t.unreduced);
  if (!part) return part;
  for (AxisPart a : s.axes)
    if (Contains(a, *part)) return part;
  if (!s.closed && s.overflow.empty()) {
    if (s.minor_most) return part;
    if (factor_size % before == 0) {
      int64_t common = std::gcd(factor_size / before, part->size);
      if (common == part->size) return part;
      if (common != 1) return AxisPart{part->axis, part->pre, common};
    }
  }
  if (!s.axes.empty() && IsMajorPart(s.axes.back(), *part)) return s.axes.back();
  return std::nullopt;
}

std::optional<AxisPart> FitsOthers(const TensorState& t, int32_t f, AxisPart x) {
  std::optional<AxisPart> part = x;
  for (size_t g = 0; g < t.factors.size() && part; ++g) {
    if (static_cast<int32_t>(g) == f) continue;
    part = WithoutOverlap(*part, t.factors[g].overflow);
    if (part) part = WithoutOverlap(*part, t.factors[g].axes);
  }
  return part;
}

}  // namespace tessera::propagation::engine
