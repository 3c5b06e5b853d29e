// How one tensor lies on a mesh: the axes of each dim, and the axes over which it is unreduced,
// reduced or must stay replicated. Axes of size 1 are never stored: they take part in nothing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/axes.h"
#include "tessera/sharding.h"

namespace tessera::sharding {

struct DimAxes {
  AxisList axes;          // major to minor
  bool open = false;      // propagation may append axes
  int32_t priority = -1;  // of propagation, 0 most urgent; -1: none given
  friend bool operator==(const DimAxes&, const DimAxes&) = default;
  template <class H>
  friend H AbslHashValue(H h, const DimAxes& d) {
    return H::combine(std::move(h), d.axes, d.open, d.priority);
  }
};

struct TensorSharding {
  const MeshDef* mesh = nullptr;  // null: the empty mesh
  absl::InlinedVector<DimAxes, 4> dims;
  AxisList replicated;               // may not be used by propagation; mesh order
  AxisList unreduced;                // partial values over these; mesh order
  AxisList reduced;                  // replicated, with unreduced cotangents; mesh order
  Reduction kind = Reduction::kSum;  // of `unreduced`

  int rank() const { return static_cast<int>(dims.size()); }
  // Whether no dim has axes.
  bool dims_empty() const;
  bool trivial() const { return dims_empty() && unreduced.empty() && reduced.empty(); }
  friend bool operator==(const TensorSharding&, const TensorSharding&) = default;
  template <class H>
  friend H AbslHashValue(H h, const TensorSharding& s) {
    return H::combine(std::move(h), s.mesh, s.dims, s.replicated, s.unreduced, s.reduced, s.kind);
  }
};

// Returns "sum", "max", ...
const char* ReductionName(Reduction reduction);

// Returns the sharding of rank `rank` with every dim unsharded.
TensorSharding Replicated(const MeshDef* mesh, int rank);

// What is wrong with a sharding: `reason` in the words of Shardy's verifier, with its number there.
struct Problem {
  std::string check;  // "unknown-axis", "duplicate-axis", ...
  std::string reason;
};

// Returns the first broken invariant (docs/propagation.md): repeated or overlapping
// axes, parts that could be merged, bad sub-axes, unordered sets, priorities of closed empty dims.
std::optional<Problem> Verify(const TensorSharding& sharding);

// Returns which dim the sharding does not divide, -1 if none.
int FirstUnevenDim(const TensorSharding& sharding, const std::vector<int64_t>& shape);

// A spec's names looked up on `mesh`, for a tensor of `rank`; a longer spec is a problem unless the
// rest is empty. Axes of size 1 are left out.
struct Resolved {
  TensorSharding sharding;
  std::optional<Problem> problem;
};
Resolved Resolve(const PartitionSpec& spec, const MeshDef* mesh, int rank);
// Returns the spec that names the same.
PartitionSpec ToSpec(const TensorSharding& sharding);

// Returns Shardy's text: `<@mesh, [{"x"}, {?}p1], replicated={"y"}, unreduced=max{"z"}>`.
// `reduced={...}` is Tessera's addition.
std::string Text(const TensorSharding& sharding);
// Returns the text of one dim: `{"x", ?}p1`.
std::string DimText(const MeshDef* mesh, const DimAxes& dim);
// Reads it back. Throws RuntimeError with the column of what is wrong, the verifier's checks
// included.
TensorSharding ParseSharding(std::string_view text, const MeshDef* mesh, Loc loc);

// Returns the part of JAX's type text after the dtype: `[8@x,4]{U:y}`.
std::string TypeSuffix(const std::vector<int64_t>& shape, const TensorSharding& sharding);

}  // namespace tessera::sharding
