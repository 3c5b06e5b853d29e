// Checks that trees have the same structure, and that their arrays are on the current mesh.
#pragma once
#include <functional>

#include "api/core/operands.h"
#include "trace/tree.h"

namespace tessera::api {

// Throw TraceError if two trees differ. CheckTree compares everything but the values of arrays;
// CheckNames compares only the names of the arrays. The text, such as "the body returns", starts
// the message.
void CheckTree(Call call, const trace::Leaves& wanted, const trace::Leaves& came, const char* what);
void CheckNames(Call call, int check, const std::vector<std::string>& wanted,
                const std::vector<std::string>& came, const char* what,
                std::vector<std::string> notes);

// Throw TraceError for an array that cannot be used (trace::Use), or (C10) ShardingError for an
// array on another mesh than the current one, which every op would refuse. Arrays from outside a
// shard_map may enter it. `names` are the names of the arrays. `current` replaces the current mesh.
void CheckArrays(const std::vector<Array>& arrays, const std::vector<std::string>& names,
                 Call call);
void CheckArrays(const std::vector<Array>& arrays, const std::vector<std::string>& names,
                 const sharding::MeshDef* current, Call call);
// As above, for the arguments of a call, which are a tuple.
void CheckArrays(detail::TreeRef arguments, Call call);
void CheckArrays(detail::TreeRef arguments, const sharding::MeshDef* current, Call call);

}  // namespace tessera::api
