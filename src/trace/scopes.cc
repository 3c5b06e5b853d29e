// This thread's current mesh, trace, nesting depth and checks of indices, and the devices of the
// process.
#include "trace/scopes.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "trace/array.h"

namespace tessera {
namespace trace {
namespace {
thread_local const sharding::MeshDef* current_mesh = nullptr;
thread_local Trace* current_trace = nullptr;
thread_local const AutoMeshScope* auto_scope = nullptr;  // the innermost
thread_local int nesting = 0;
thread_local bool checks_indices = false;
thread_local bool makes_checks = true;
std::atomic<int> mesh_scopes{0};
std::atomic<int> devices{1};
}  // namespace

const sharding::MeshDef* CurrentMesh() { return current_mesh; }
Trace* CurrentTrace() { return current_trace; }
bool ChecksIndices() { return checks_indices; }
void SetChecksIndices(bool on) { checks_indices = on; }
bool MakesChecks() { return makes_checks; }
void SetMakesChecks(bool on) { makes_checks = on; }
int Devices() { return devices; }
void SetDevices(int n) { devices = n; }
int MeshScopes() { return mesh_scopes; }

const sharding::MeshDef* EnterMesh(const sharding::MeshDef* mesh) {
  ++mesh_scopes;
  return std::exchange(current_mesh, mesh);
}
void LeaveMesh(const sharding::MeshDef* outer) {
  --mesh_scopes;
  current_mesh = outer;
}

TraceScope::TraceScope(Trace* trace) : old_(current_trace) { current_trace = trace; }
TraceScope::~TraceScope() { current_trace = old_; }
MeshDefScope::MeshDefScope(const sharding::MeshDef* mesh) : old_(current_mesh) {
  current_mesh = mesh;
}
MeshDefScope::~MeshDefScope() { current_mesh = old_; }

AutoMeshScope::AutoMeshScope(const sharding::MeshDef* inner)
    : inner_(inner), around_(current_mesh), trace_(current_trace), before_(auto_scope) {
  current_mesh = inner;
  auto_scope = this;
}
AutoMeshScope::~AutoMeshScope() {
  current_mesh = around_;
  auto_scope = before_;
}
const AutoMeshScope* AutoMeshScope::Inside(const sharding::MeshDef* mesh) {
  const AutoMeshScope* scope = auto_scope;
  while (scope && scope->around_ != mesh) scope = scope->before_;
  return scope;
}

NestingScope::NestingScope(const char* op, Loc loc) {
  if (nesting >= ir::kMostNested)
    base::ThrowTrace(base::Refusal(
        op, "nested", base::Where(loc),
        fmt::format("functions are traced inside one another more than {} levels deep",
                    ir::kMostNested),
        {"write the repeated levels as a loop"}));
  ++nesting;
}
NestingScope::~NestingScope() { --nesting; }

void CheckDevices(const sharding::MeshDef& mesh, const char* op, Loc loc) {
  if (mesh.is_abstract()) return;
  int64_t needed = mesh.size();
  for (int64_t id : mesh.device_ids()) needed = std::max(needed, id + 1);
  if (needed > devices)
    base::ThrowRuntime(base::Refusal(
        op, 7, base::Where(loc),
        fmt::format("the mesh {} needs {} devices; DeviceCount() is {}", mesh.text(), needed,
                    devices.load()),
        {fmt::format("call SetDeviceCount({}) at the start, or use abstract_mesh", needed)}));
}

}  // namespace trace
}  // namespace tessera
