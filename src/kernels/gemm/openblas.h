// The library OpenBLAS, which has BLAS and LAPACK, loaded at run time.
#pragma once
#include <mutex>

#include "base/mutex.h"

namespace tessera::kernels {

// Returns the address of a function of OpenBLAS, or null if the library or the function is missing.
// The first call loads the library.
void* OpenBlasSymbol(const char* name);
template <class F>
F OpenBlasFunction(const char* name) {
  return reinterpret_cast<F>(OpenBlasSymbol(name));
}

// Returns a lock to hold while calling the library; it is only locked if the library needs it.
std::unique_lock<base::Mutex> OpenBlasTurn();

}  // namespace tessera::kernels
