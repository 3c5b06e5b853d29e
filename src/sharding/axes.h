// Mesh axes and their parts. A sub-axis of an axis of size n is n seen as [pre, size,
// n/(pre*size)], the middle part; a whole axis is the part with pre 1 and size n. Two parts are of
// one axis only if their `axis` is equal; relations below need that and are false otherwise.
// The algebra is Shardy's; see docs/propagation.md, "Axes and their parts".
#pragma once
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>

#include "base/reader.h"
#include "sharding/mesh.h"

namespace tessera::sharding {

struct AxisPart {
  int32_t axis = 0;
  int64_t pre = 1, size = 1;
  int64_t next() const { return pre * size; }  // the pre-size of the part just minor to this one
  friend bool operator==(const AxisPart&, const AxisPart&) = default;
  template <class H>
  friend H AbslHashValue(H h, const AxisPart& a) {
    return H::combine(std::move(h), a.axis, a.pre, a.size);
  }
};

// Axes of one dim, major to minor; or a set, in mesh order.
using AxisList = absl::InlinedVector<AxisPart, 2>;

inline AxisPart WholeAxis(const MeshDef& mesh, int axis) { return {axis, 1, mesh.axis_size(axis)}; }
inline bool IsWhole(const MeshDef& mesh, AxisPart a) { return a.size == mesh.axis_size(a.axis); }

bool Contains(AxisPart a, AxisPart b);  // b lies inside a
bool Overlaps(AxisPart a, AxisPart b);
// Whether the axis can be cut so that a and b are both made of whole pieces.
bool CanCoexist(AxisPart a, AxisPart b);
// Returns the part of a more major (more minor) than all of b; a itself if they do not overlap;
// nothing if no such part exists or they cannot coexist.
std::optional<AxisPart> PrefixWithoutOverlap(AxisPart a, AxisPart b);
std::optional<AxisPart> SuffixWithoutOverlap(AxisPart a, AxisPart b);
// Whether b continues a: a is the part just major to b. A whole axis never merges.
bool CanMerge(AxisPart a, AxisPart b);
// Whether a and b cannot both lay out one value: they overlap, or no grid has both as cells.
bool Collide(AxisPart a, AxisPart b);
// Order of the mesh's axes, then major parts first, then smaller sizes.
bool MeshOrder(AxisPart a, AxisPart b);

// Product of the sizes.
int64_t SizeOf(const AxisList& axes);
bool ContainsAxis(const AxisList& axes, AxisPart a);
bool OverlapsAny(const AxisList& axes, AxisPart a);
bool CollidesWithAny(const AxisList& axes, AxisPart a);
// Appends a, joined with the last element where that is the part just major to it.
void AppendMerged(AxisList& axes, AxisPart a);
// Sorts by MeshOrder and joins neighbouring parts.
void SortAndMerge(AxisList& axes);
// Adds to a set, in mesh order, what of `axes` is not in it.
void AddTo(AxisList& set, const AxisList& axes);
// Returns what is in `a` but in no element of `b`, in a's order; parts are cut where needed.
AxisList Difference(const AxisList& a, const AxisList& b);
// Returns whether `prefix` is `list` or begins it; its last element may be a major part.
bool IsPrefix(const AxisList& prefix, const AxisList& list);

// Returns what begins `axes` and divides a dim of that size: its last element may be a major part.
AxisList PrefixThatDivides(const AxisList& axes, int64_t size);

// Text of one axis as types have it: x or x:(1)2.
std::string PlainAxisText(const MeshDef& mesh, AxisPart a);
// Several: (x,y). Nothing for no axes.
std::string PlainAxesText(const MeshDef& mesh, const AxisList& axes);
// The text of one axis, quoted as Shardy writes it: "x" or "x":(1)2.
std::string AxisText(const MeshDef& mesh, AxisPart a);
// Reads what follows the name of an axis: nothing, or `:(1)2`. Fails for numbers that no part of
// the axis has.
AxisPart ReadPart(base::Reader& in, const MeshDef& mesh, int axis);

}  // namespace tessera::sharding
