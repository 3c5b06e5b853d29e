// Arrays in files.
#pragma once
#include <string>

#include "tessera/array.h"

namespace tessera {

// Returns the array of a NumPy .npy file (versions 1 to 3, C or Fortran order, little endian).
// Throws RuntimeError if the file is missing, truncated, malformed or of another dtype.
Array load_npy(const std::string& path, OutOptions options = {}, Loc loc = Loc::Current());
// Writes the whole array; bf16, which NumPy lacks, as two-byte voids. Throws RuntimeError.
void save_npy(const std::string& path, const Array& x, Loc loc = Loc::Current());

}  // namespace tessera
