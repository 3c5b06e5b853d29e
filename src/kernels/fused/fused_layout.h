// The iteration space of a fused group, divided into rows.
#pragma once
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {

RowLayout MakeLayout(const plan::FusedDesc& desc, bool has_rows);

}  // namespace tessera::kernels
