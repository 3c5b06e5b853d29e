// Slices combined into positions given by index vectors.
#pragma once
#include <optional>

#include "kernels/index/lookup.h"

namespace tessera::kernels {

// in[0] [operand], in[1] [queries..., entries], in[2] slices -> the operand with slices combined
// into it in the order of the queries. Without a reduction slices replace elements. Slices that
// other devices hold are skipped. Devices that do not lead start from the reduction's identity
// instead of the operand.
plan::Kernel Scatter(const LookupDesc& desc, std::optional<Reduction> reduction);

}  // namespace tessera::kernels
