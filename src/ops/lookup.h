// Shared parts of gather and scatter: slices of an operand, at positions that indices give.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "ir/op.h"
#include "kernels/index/lookup.h"
#include "ops/params.h"

namespace tessera::ops {

struct LookupShapes {
  const base::Shape &operand, &indices, &slices;
};

// The dims of operand, indices and slices (a gather's result, a scatter's updates), matched.
struct LookupRoles {
  // Per dim of the operand, -1 where there is none: the dim of the slices along it; the entry of
  // an index vector that says where a slice begins; the dim of the slices that it goes with.
  std::vector<int64_t> slice_of, entry_of, batch_of;
  // Per dim of the slices: the dim of the indices; -1 of those along the operand.
  std::vector<int64_t> query_of;
};
LookupRoles RolesOf(const LookupNumbers& n, const LookupShapes& s);

// C12: dims exist and are named once. C17: all dims are accounted for. C18: sizes fit.
// `slices`: their name in messages.
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

// Describes a lookup in local buffers. `partial`: mesh axes over which
// devices' results are combined.
kernels::LookupDesc LocalLookup(const LookupRoles& roles, const ir::LocalTensor& operand,
                                const ir::LocalTensor& indices, const ir::LocalTensor& slices,
                                LookupMode mode, const sharding::MeshDef* mesh,
                                const sharding::AxisList& partial);

// Calls f(element of the slices, element of the operand) for each element of each slice, in order.
// The latter is -1 where the slice is out of range.
void ForEachLookup(const LookupNumbers& n, const LookupShapes& s, const ir::HostTensor& indices,
                   LookupMode mode, const std::function<void(int64_t, int64_t)>& f);

}  // namespace tessera::ops
