// What must agree where trees meet: their arrays, whatever else is in them, and the meshes.
#pragma once
#include <functional>

#include "api/core/operands.h"
#include "trace/tree.h"

namespace tessera::api {

// Throws TraceError unless two trees are the same but for their arrays' values. `what`: "the body
// returns". One that is returned for another must be the same in all; one that has nothing but
// arrays to give must have those.
void CheckTree(Call call, const trace::Leaves& wanted, const trace::Leaves& came, const char* what);
void CheckArrays(Call call, int check, const std::vector<std::string>& wanted,
                 const std::vector<std::string>& came, const char* what,
                 std::vector<std::string> notes);

// C10: throws ShardingError for an array on another mesh than the current one, which every op would
// refuse; those from outside of a shard_map enter it. `names`: of the arrays.
void CheckMeshes(const std::vector<Array>& arrays, const std::vector<std::string>& names,
                 Call call);
// The same of a call's arguments, a tuple; `current`: the mesh that counts as the current one.
void CheckMeshes(detail::TreeRef arguments, Call call);
void CheckMeshes(detail::TreeRef arguments, const sharding::MeshDef* current, Call call);

}  // namespace tessera::api
