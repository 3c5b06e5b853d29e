// Reshards and constraints of public functions.
#pragma once
#include "api/core/operands.h"

namespace tessera::api {

// C7: throws ShardingError if a dim of an array of type `from` does not divide into the shards of
// `to`.
void CheckDivides(const ir::Type* from, const sharding::TensorSharding& to, Call call);
// Return x resharded to `to`. Throw ShardingError if x cannot have that sharding.
Array ReshardTo(const Array& x, const sharding::TensorSharding& to, Call call);
Array ReshardTo(const Array& x, const PartitionSpec& to, Call call);
// Returns the operands of an elementwise function laid out as a result with this out_sharding, if
// one is given: dims of size 1, which broadcast, stay whole. Formulas of such operands need no
// other options.
std::vector<Operand> LaidOut(std::vector<Operand> xs, const std::optional<PartitionSpec>& out,
                             Call call);
// As above, for an array of a tree. Errors show `name()`, such as "result[1].w".
Array ReshardNamed(const Array& x, const PartitionSpec& to, Call call,
                   absl::FunctionRef<std::string()> name);
enum class SpecPart : uint8_t { kTyped, kHints };
// Returns the part of a spec that is about Auto axes (hints), or about the others (in types). The
// mesh has all axes of the spec.
PartitionSpec PartOfSpec(const PartitionSpec& spec, const sharding::MeshDef* mesh, SpecPart which);
// As with_sharding_constraint, but errors name `call`.
Array Constrained(const Array& x, const PartitionSpec& spec, Call call);

}  // namespace tessera::api
