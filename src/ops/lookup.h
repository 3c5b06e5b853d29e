// Shared parts of gather and scatter: slices of an operand, at positions that indices give.
#pragma once
#include <absl/algorithm/container.h>
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/op.h"
#include "kernels/index/lookup.h"
#include "ops/params.h"

namespace tessera::ops {

struct LookupShapes {
  const base::Shape &operand, &indices, &slices;
};

// The role of a dim of the operand.
struct DimRole {
  std::optional<size_t> window;  // the dim of the slices that runs along it
  std::optional<size_t> entry;   // the entry of an index vector at which slices begin; none: at 0
};
// The role of a dim of the slices (a gather's result, a scatter's updates).
struct SliceRole {
  std::optional<size_t> query;    // the dim of the indices that it is, unless it is a window
  std::optional<size_t> operand;  // the dim of the operand that it runs along or is batched with
};
struct LookupRoles {
  std::vector<DimRole> operand;
  std::vector<SliceRole> slices;
  // Whether dim d of the operand is a batch dim.
  bool is_batch(size_t d) const {
    return absl::c_any_of(slices, [&](const SliceRole& s) { return s.query && s.operand == d; });
  }
};
LookupRoles RolesOf(const LookupNumbers& n, const LookupShapes& s);

// C12: dims must exist, and be named once. C17: all dims must be accounted for. C18: sizes must
// fit. `slices`: their name in messages.
void CheckLookup(const ir::TypeCall& c, const LookupNumbers& n, const LookupShapes& s,
                 const char* slices);

// Returns the dimension map. Operands are the operand, the indices and, for a scatter, the updates.
// `query`: the factor of dims that only indices and slices have.
sharding::DimMap LookupDims(const LookupRoles& roles, const LookupShapes& s, bool scatters,
                            sharding::Factor query);

// Returns the scatter that puts back the slices of a gather, and the gather that reads the slices
// of a scatter, with zeros out of range.
ScatterParams AsScatter(const GatherParams& p);
GatherParams AsGather(const ScatterParams& p, DType dtype);
// Returns the gather of elements along one dim at indices [..., 1]. All other dims are batch dims.
GatherParams AlongDim(int64_t rank, int64_t dim, DType dtype);

// Describes a lookup in local buffers. `partial`: mesh axes over which devices' results
// are combined.
kernels::LookupDesc LocalLookup(const LookupRoles& roles, const ir::LocalTensor& operand,
                                const ir::LocalTensor& indices, const ir::LocalTensor& slices,
                                LookupMode mode, const sharding::MeshDef* mesh,
                                const sharding::AxisList& partial);

// Calls f(element of the slices, element of the operand) for each element of each slice, in order.
// The latter is -1 where the slice is out of range.
void ForEachLookup(const LookupNumbers& n, const LookupShapes& s, const ir::HostTensor& indices,
                   LookupMode mode, absl::FunctionRef<void(int64_t, int64_t)> f);

}  // namespace tessera::ops
