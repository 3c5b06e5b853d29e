// Collectives as exchanges: boxes of elements that are copied between buffers.
#pragma once
#include <vector>

#include "ir/move_params.h"
#include "ops/manual.h"
#include "spmd/emit/kernel_factories.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Returns the layout of a plan for `devices` devices.
plan::Layout MakeLayout(const LayoutKey& key, int32_t devices);

// An operand or the result of a move, and the positions of its elements in a buffer.
struct MoveEnd {
  const ir::Type* type;  // global
  const plan::Layout* layout;
  std::vector<int64_t> strides;  // of a shard, in elements per dim
  int64_t offset = 0;            // of the shard's first element
};

// Returns an exchange whose result is `to`: the operand in another sharding, or, with `halo`, the
// elements of the operands that `halo` names. The caller sets the values of the plan (in, out).
plan::Exchange MakeExchange(const std::vector<MoveEnd>& from, const MoveEnd& to,
                            const KernelFactories& kernels, const ir::HaloParams* halo = nullptr);
// Returns an exchange in which each device receives the array of another one, or zeros.
plan::Exchange MakePermutation(const MoveEnd& from, const MoveEnd& to,
                               const KernelFactories& kernels, const ops::PermuteParams& params);

// Changes an exchange that only copies: it now computes each element of its result with the group
// `each`, which has one operand and one result. The iteration space of `each` does not matter.
void ComputeOnTheWay(plan::FusedDesc each, const MoveEnd& to, const KernelFactories& kernels,
                     plan::Exchange& e);

}  // namespace tessera::spmd
