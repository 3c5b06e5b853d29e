// How one tensor is laid out on a mesh: the axes of each dim, and the axes over which it is
// unreduced, reduced, varying or must stay replicated. Axes of size 1 are never stored: they
// have no effect.
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
  int32_t priority = -1;  // for propagation, 0 is most urgent; -1: none
  friend bool operator==(const DimAxes&, const DimAxes&) = default;
  template <class H>
  friend H AbslHashValue(H h, const DimAxes& d) {
    return H::combine(std::move(h), d.axes, d.open, d.priority);
  }
};

struct TensorSharding {
  const MeshDef* mesh = nullptr;  // null: the empty mesh
  absl::InlinedVector<DimAxes, 4> dims;
  AxisList replicated;  // propagation may not use these; mesh order
  AxisList unreduced;   // values are partial over these; mesh order
  AxisList reduced;     // replicated, and cotangents are unreduced; mesh order
  // Manual axes along which each device has an array of its own; mesh order. Along the other Manual
  // axes the array is unreduced, reduced, or invarying: the same on all devices.
  AxisList varying;
  Reduction kind = Reduction::kSum;  // of `unreduced`

  int rank() const { return static_cast<int>(dims.size()); }
  // Copies the unreduced, reduced and varying axes of `other`.
  void TakeSets(const TensorSharding& other) {
    unreduced = other.unreduced;
    reduced = other.reduced;
    varying = other.varying;
    kind = other.kind;
  }
  // Whether no dim has axes.
  bool dims_empty() const;
  bool trivial() const { return dims_empty() && no_sets(); }
  bool no_sets() const { return unreduced.empty() && reduced.empty() && varying.empty(); }
  friend bool operator==(const TensorSharding&, const TensorSharding&) = default;
  template <class H>
  friend H AbslHashValue(H h, const TensorSharding& s) {
    return H::combine(std::move(h), s.mesh, s.dims, s.replicated, s.unreduced, s.reduced, s.varying,
                      s.kind);
  }
};

// Returns the sharding of rank `rank` with every dim unsharded.
TensorSharding Replicated(const MeshDef* mesh, int rank);

// Returns the sharding of rank `rank` with every dim unsharded and open.
TensorSharding FullyOpen(const MeshDef* mesh, int rank);

// A broken invariant of a sharding: its label, and the reason in the words of Shardy's verifier.
struct Problem {
  std::string check;  // "unknown-axis", "duplicate-axis", ...
  std::string reason;
};

// Returns the first broken invariant (docs/propagation.md): repeated or overlapping axes, parts
// that cannot coexist, parts that could be merged, bad sub-axes, unordered sets, priorities of
// closed empty dims.
std::optional<Problem> Verify(const TensorSharding& sharding);

// Returns the first dim that its axes do not divide, -1 if there is none.
int FirstUnevenDim(const TensorSharding& sharding, const std::vector<int64_t>& shape);

// A spec resolved on `mesh` for a tensor of `rank`. It is a problem if dims beyond the rank have
// axes. Axes of size 1 are left out.
struct Resolved {
  TensorSharding sharding;
  std::optional<Problem> problem;
};
Resolved Resolve(const PartitionSpec& spec, const MeshDef* mesh, int rank);
// Returns the spec with the same axes.
PartitionSpec ToSpec(const TensorSharding& sharding);
// Returns the C++ code of the axes, as PartitionSpec::text writes it: "x", or {"x", "y"}.
std::string AxesCode(const MeshDef* mesh, const AxisList& axes);

}  // namespace tessera::sharding
