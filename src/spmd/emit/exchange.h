// Exchanges of plans.
#pragma once
#include <vector>

#include "ir/move_params.h"
#include "ops/manual.h"
#include "spmd/emit/kernel_factories.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Returns the instances of a layout on so many devices.
plan::Layout MakeLayout(const LayoutKey& key, int32_t devices);

// What a move reads or makes, and where its elements are in the buffers.
struct MoveEnd {
  const ir::Type* type;  // global
  const plan::Layout* layout;
  std::vector<int64_t> strides;  // of one device's part, in elements per dim
  int64_t offset = 0;            // of its first element
};

// Returns the exchange, but for its values, that makes `to`: of one operand of another sharding,
// or, with `halo`, of what it says is read of the operands.
plan::Exchange MakeExchange(const std::vector<MoveEnd>& from, const MoveEnd& to,
                            const KernelFactories& kernels, const ir::HaloParams* halo = nullptr);
// The same, in which each device gets another's array, and zeros where none is named.
plan::Exchange MakePermutation(const MoveEnd& from, const MoveEnd& to,
                               const KernelFactories& kernels, const ops::PermuteParams& params);

// Makes an exchange that only copies compute each element of its result by a group over any space,
// of one operand and one result.
void ComputeOnTheWay(plan::FusedDesc each, const MoveEnd& to, const KernelFactories& kernels,
                     plan::Exchange& e);

}  // namespace tessera::spmd
