// Work that processes do one after the other.
#pragma once
#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::api {

// Calls f(i) for each turn i of this process. process_of[i] is the process whose turn it is. Turn
// i begins when turn i - 1 has ended, and the first process returns when the last turn has ended.
// All processes of the list call it with the same list. If f throws, the turns of other processes
// go on.
void TakeTurns(const std::vector<int32_t>& process_of, absl::FunctionRef<void(size_t turn)> f);

}  // namespace tessera::api
