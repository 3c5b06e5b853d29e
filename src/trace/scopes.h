// The scopes of this thread: mesh, trace, nesting depth, and checks.
#pragma once
#include "sharding/mesh.h"
#include "tessera/mesh.h"

namespace tessera::trace {

class Trace;

const sharding::MeshDef* CurrentMesh();

// Returns the trace that this thread records into, or null.
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

// Scope: sets the current mesh, given its definition.
class MeshDefScope {
 public:
  explicit MeshDefScope(const sharding::MeshDef* mesh);
  ~MeshDefScope();
  MeshDefScope(const MeshDefScope&) = delete;

 private:
  const sharding::MeshDef* old_;
};

// Scope: sets the current mesh to the one around it with other axes Auto. Arrays of the mesh around
// it may be used inside (apply.h: Enter).
class AutoMeshScope {
 public:
  explicit AutoMeshScope(const sharding::MeshDef* inner);
  ~AutoMeshScope();
  AutoMeshScope(const AutoMeshScope&) = delete;

  // Returns the innermost scope around which `mesh` is the current one, or null.
  static const AutoMeshScope* Inside(const sharding::MeshDef* mesh);
  const sharding::MeshDef* inner() const { return inner_; }
  // The trace around the scope.
  Trace* trace() const { return trace_; }

 private:
  const sharding::MeshDef *inner_, *around_;
  Trace* trace_;
  const AutoMeshScope* before_;
};

// Scope: a function that runs or is traced inside another. Throws TraceError if more than
// ir::kMostNested are nested, since tracing and passes recurse.
class NestingScope {
 public:
  NestingScope(const char* op, Loc loc);
  ~NestingScope();
  NestingScope(const NestingScope&) = delete;
};

// Throws RuntimeError if the mesh has more devices than there are. Abstract meshes need none.
void CheckDevices(const sharding::MeshDef& mesh, const char* op, Loc loc);

// Whether indices out of bounds are errors (CheckedIndices).
bool ChecksIndices();
void SetChecksIndices(bool on);
// Whether `check` adds to programs (Checks).
bool MakesChecks();
void SetMakesChecks(bool on);

// Returns the number of simulated devices.
int Devices();
void SetDevices(int n);

// Makes `mesh` the current one, and returns the one that was current before. LeaveMesh undoes it.
const sharding::MeshDef* EnterMesh(const sharding::MeshDef* mesh);
void LeaveMesh(const sharding::MeshDef* outer);
// How many meshes all threads have entered and not left.
int MeshScopes();

}  // namespace tessera::trace
