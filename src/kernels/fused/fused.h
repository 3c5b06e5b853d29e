// Fused groups of elementwise functions and row reductions.
#pragma once
#include "kernels/kernel.h"
#include "plan/fused.h"

namespace tessera::kernels {

// An elementwise group, with or without row reductions (see plan/fused.h).
plan::Kernel Fused(const plan::FusedDesc& desc);

}  // namespace tessera::kernels
