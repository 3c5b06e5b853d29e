// Who runs programs.
#pragma once

namespace tessera::compile {

// Lists the ops and readies the kernels, once. Whatever makes arrays or programs calls it.
void Install();

}  // namespace tessera::compile
