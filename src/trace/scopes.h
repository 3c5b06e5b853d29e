// What the scopes of this thread say.
#pragma once
#include "sharding/mesh.h"
#include "tessera/mesh.h"

namespace tessera::trace {

class Trace;

const sharding::MeshDef* CurrentMesh();

// The trace that this thread records into; null outside of all.
Trace* CurrentTrace();

// Scope: records into `trace`.
class TraceScope {
 public:
  explicit TraceScope(Trace* trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;

 private:
  Trace* old_;
};

// Scope: a mesh, by definition.
class MeshDefScope {
 public:
  explicit MeshDefScope(const sharding::MeshDef* mesh);
  ~MeshDefScope();
  MeshDefScope(const MeshDefScope&) = delete;

 private:
  const sharding::MeshDef* old_;
};

// Number of simulated devices, and of MeshScopes alive in the process.
int Devices();
int LiveMeshScopes();

}  // namespace tessera::trace
