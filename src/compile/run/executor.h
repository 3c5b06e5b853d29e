// The executor, which compiles and runs programs.
#pragma once

namespace tessera::compile {

// Lists the ops and initialises the kernels, once. Every function that makes arrays or programs
// calls it.
void Install();

}  // namespace tessera::compile
