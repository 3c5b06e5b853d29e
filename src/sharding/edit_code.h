// The code of edits that errors offer: calls of this library or, for a program that JAX made, of
// JAX.
#pragma once
#include <string>
#include <string_view>

#include "sharding/tensor_sharding.h"

namespace tessera::sharding {

// Scope: errors of this thread are read by a user of JAX.
class JaxEditScope {
 public:
  JaxEditScope();
  ~JaxEditScope();
  JaxEditScope(const JaxEditScope&) = delete;

 private:
  bool old_;
};
bool EditsAreOfJax();
// Whether the reader can write the spec: JAX has no name for a part of an axis.
bool CanWrite(const PartitionSpec& spec);

// Returns `reshard(x, P("x", None))`; in JAX `jax.reshard(x, P("x", None))`.
std::string ReshardCode(std::string_view name, const PartitionSpec& spec);
// Returns `.out_sharding = P("x", None)`; in JAX `out_sharding=P("x", None)`.
std::string OutShardingCode(const PartitionSpec& spec);
// Whether code is an option, which is added to a call.
bool IsOptionCode(std::string_view code);
// Returns `psum(x, "x")`; in JAX `jax.lax.psum(x, "x")`.
std::string PsumCode(std::string_view name, const MeshDef* mesh, const AxisList& axes);
// Returns `pcast(x, "x", Variance::kVarying)`, or with kReduced; in JAX
// `jax.lax.pcast(x, "x", to="varying")`.
std::string PcastCode(std::string_view name, const MeshDef* mesh, const AxisList& axes,
                      bool to_varying);

}  // namespace tessera::sharding
