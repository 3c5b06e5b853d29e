// Loads OpenBLAS without its threads, and chooses its core for the CPU.
#include "kernels/gemm/openblas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/fork.h"

namespace tessera::kernels {
namespace {

struct OpenBlas {
  void* handle = nullptr;
  // A build without locks gives two threads that call it at the same time one work buffer, and both
  // get wrong numbers. Calls then take turns.
  bool takes_turns = false;
};

// Debian's OpenBLAS knows CPUs by model number and treats new ones as the slowest core. So we
// choose the core by the CPU's features, unless the user has chosen one.
void ChooseCore() {
  __builtin_cpu_init();
  const char* core = nullptr;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    core = "SkylakeX";
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    core = "Haswell";
  constexpr int kKeep = 0;
  if (core != nullptr) setenv("OPENBLAS_CORETYPE", core, kKeep);
}

// Opens the library such that it starts no threads: the workers are ours.
void* OpenWithoutThreads() {
  constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
  const char* now = getenv(kThreads);
  const std::optional<std::string> wanted = now ? std::optional<std::string>(now) : std::nullopt;
  setenv(kThreads, "1", /*replace=*/1);
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (wanted)
    setenv(kThreads, wanted->c_str(), /*replace=*/1);
  else
    unsetenv(kThreads);
  if (library == nullptr) return library;
  if (auto set = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads")))
    set(1);
  return library;
}

OpenBlas LoadOpenBlas() {
  ChooseCore();
  OpenBlas library{OpenWithoutThreads()};
  if (library.handle == nullptr) return library;
  auto config = reinterpret_cast<char* (*)()>(dlsym(library.handle, "openblas_get_config"));
  library.takes_turns =
      config == nullptr || std::string_view(config()).find("SINGLE_THREADED") != std::string::npos;
  return library;
}

const OpenBlas& LoadedOpenBlas() {
  static const OpenBlas library = LoadOpenBlas();
  return library;
}

}  // namespace

void* OpenBlasSymbol(const char* name) {
  return LoadedOpenBlas().handle == nullptr ? nullptr : dlsym(LoadedOpenBlas().handle, name);
}

std::unique_lock<base::Mutex> OpenBlasTurn() {
  static auto& mutex = base::NewForkMutex();
  std::unique_lock lock(mutex, std::defer_lock);
  if (LoadedOpenBlas().takes_turns) lock.lock();
  return lock;
}

}  // namespace tessera::kernels
