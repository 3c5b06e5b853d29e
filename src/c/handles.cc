// The numbers of handles.
#include "c/handles.h"

#include <atomic>

namespace tessera::c {
namespace {

std::atomic<uint64_t> last_handle{0};

}  // namespace

uint64_t NextHandle() { return ++last_handle; }

bool WasHandle(uint64_t handle) { return handle != 0 && handle <= last_handle; }

}  // namespace tessera::c
