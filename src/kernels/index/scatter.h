// Slices combined into places that index vectors say.
#pragma once
#include <optional>

#include "kernels/index/lookup.h"

namespace tessera::kernels {

// in[0] [operand], in[1] [queries..., entries], in[2] slices -> the operand with slices combined
// into it, in the order of the queries; without a reduction they are set. What other devices hold
// is left out. Devices that do not lead combine them into the reduction's identity instead.
plan::Kernel Scatter(const LookupDesc& desc, std::optional<Reduction> reduction);

}  // namespace tessera::kernels
