// What gather and scatter have in common: slices of an operand, at places that indices name.
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

// C12: dims are there, and named once. C17: they are all accounted for. C18: sizes fit. `slices`:
// what these are called.
void CheckLookup(const ir::TypeCall& c, const LookupNumbers& n, const LookupShapes& s,
                 const char* slices);

// Operands are operand, indices and, of a scatter, the updates. `query`: what a dim of indices and
// slices alone is.
sharding::DimMap LookupDims(const LookupRoles& roles, const LookupShapes& s, bool scatters,
                            sharding::Factor query);

// The scatter that puts back what a gather looks up, and the gather that looks up what a scatter
// wrote, with zeros where that is outside.
ScatterParams AsScatter(const GatherParams& p);
GatherParams AsGather(const ScatterParams& p, DType dtype);
// The gather of the elements that indices [..., 1] name along one dim, the others going together.
GatherParams AlongDim(int64_t rank, int64_t dim, DType dtype);

// Where slices lie in local buffers. `partial`: axes of the mesh over which the devices' results
// are combined.
kernels::LookupDesc LocalLookup(const LookupRoles& roles, const ir::LocalTensor& operand,
                                const ir::LocalTensor& indices, const ir::LocalTensor& slices,
                                LookupMode mode, const sharding::MeshDef* mesh,
                                const sharding::AxisList& partial);

// Calls f(element of the slices, element of the operand) for each element of each slice, in
// order; the latter is -1 where the slice is outside.
void ForEachLookup(const LookupNumbers& n, const LookupShapes& s, const ir::HostTensor& indices,
                   LookupMode mode, const std::function<void(int64_t, int64_t)>& f);

}  // namespace tessera::ops
