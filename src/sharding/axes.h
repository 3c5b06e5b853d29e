// Mesh axes and their parts (sub-axes). The part (pre)size of an axis of size n is the middle
// coordinate of the axis seen as pre x size x n/(pre*size), major to minor; the whole axis is (1)n.
// Parts of different axes never overlap, contain, merge or collide.
// The algebra is Shardy's: docs/propagation.md, "Axes and their parts".
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
  int64_t next() const { return pre * size; }  // `pre` of the next more minor part
  friend bool operator==(const AxisPart&, const AxisPart&) = default;
  template <class H>
  friend H AbslHashValue(H h, const AxisPart& a) {
    return H::combine(std::move(h), a.axis, a.pre, a.size);
  }
};

// The axes of one dim, major to minor; or a set of axes, in mesh order.
using AxisList = absl::InlinedVector<AxisPart, 2>;

inline AxisPart WholeAxis(const MeshDef& mesh, int axis) { return {axis, 1, mesh.axis_size(axis)}; }
inline bool IsWhole(const MeshDef& mesh, AxisPart a) { return a.size == mesh.axis_size(a.axis); }

bool Contains(AxisPart a, AxisPart b);  // b is a part of a
bool Overlaps(AxisPart a, AxisPart b);
// Whether the axis can be cut so that both a and b consist of whole pieces.
bool CanCoexist(AxisPart a, AxisPart b);
// Return the part of a that is more major (for Suffix: more minor) than b; a itself if they do not
// overlap; nothing if there is no such part or they cannot coexist.
std::optional<AxisPart> PrefixWithoutOverlap(AxisPart a, AxisPart b);
std::optional<AxisPart> SuffixWithoutOverlap(AxisPart a, AxisPart b);
// Whether a followed by b is one part: b begins where a ends. A whole axis never merges.
bool CanMerge(AxisPart a, AxisPart b);
// Whether a and b cannot both be in one sharding: they overlap, or cannot coexist.
bool Collide(AxisPart a, AxisPart b);
// Whether a comes before b: in the mesh's order of axes, then the more major part,
// then the smaller.
bool MeshOrder(AxisPart a, AxisPart b);

// Returns the product of the sizes.
int64_t SizeOf(const AxisList& axes);
bool ContainsAxis(const AxisList& axes, AxisPart a);
bool OverlapsAny(const AxisList& axes, AxisPart a);
bool CollidesWithAny(const AxisList& axes, AxisPart a);
// Appends a. Merges it with the last element if the two are one part.
void AppendMerged(AxisList& axes, AxisPart a);
// Sorts by MeshOrder and merges neighbouring parts.
void SortAndMerge(AxisList& axes);
// Adds the parts of `axes` that `set` lacks; `set` stays in mesh order.
void AddTo(AxisList& set, const AxisList& axes);
// Returns the parts of `a` that no element of `b` covers, in a's order. Cuts parts where needed.
AxisList Difference(const AxisList& a, const AxisList& b);
// Whether `prefix` is `list` or begins it. The last element of `prefix` may be a major part of its
// counterpart in `list`.
bool IsPrefix(const AxisList& prefix, const AxisList& list);

// Returns the longest prefix of `axes` that divides a dim of that size. Its last element may
// be a major part.
AxisList PrefixThatDivides(const AxisList& axes, int64_t size);

// Returns the text of one axis in types: x or x:(1)2.
std::string PlainAxisText(const MeshDef& mesh, AxisPart a);
// Returns the text of several axes in types: x for one, (x,y) for two, nothing for none.
std::string PlainAxesText(const MeshDef& mesh, const AxisList& axes);
// Returns the text of one axis in Shardy's quotes: "x" or "x":(1)2.
std::string AxisText(const MeshDef& mesh, AxisPart a);
// Reads the part that may follow an axis's name, `:(1)2`; without one returns the whole axis. Fails
// for numbers that no part of the axis has.
AxisPart ReadPart(base::Reader& in, const MeshDef& mesh, int axis);

}  // namespace tessera::sharding
