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

// Scope: a function that is run or traced inside of another. Throws TraceError where that is more
// than ir::kMostNested deep: what handles programs recurses.
class NestingScope {
 public:
  NestingScope(const char* op, Loc loc);
  ~NestingScope();
  NestingScope(const NestingScope&) = delete;
};

// Throws RuntimeError if this process has fewer devices than the mesh, unless that is abstract.
void CheckDevices(const sharding::MeshDef& mesh, const char* op, Loc loc);

// Number of simulated devices.
int Devices();
void SetDevices(int n);

// Makes `mesh` the current one, and returns the one that was current before. LeaveMesh undoes it.
const sharding::MeshDef* EnterMesh(const sharding::MeshDef* mesh);
void LeaveMesh(const sharding::MeshDef* outer);
// How many meshes all threads have entered and not left.
int MeshScopes();

}  // namespace tessera::trace
