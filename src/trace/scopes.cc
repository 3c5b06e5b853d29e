// This thread's current mesh, trace and nesting depth, and the public functions that set meshes up.
#include "trace/scopes.h"

#include <fmt/format.h>

#include <atomic>

#include "base/error.h"
#include "ir/program.h"
#include "trace/array.h"

namespace tessera {
namespace trace {
namespace {
thread_local const sharding::MeshDef* current_mesh = nullptr;
thread_local Trace* current_trace = nullptr;
thread_local int nesting = 0;
std::atomic<int> mesh_scopes{0};
std::atomic<int> devices{1};
}  // namespace

const sharding::MeshDef* CurrentMesh() { return current_mesh; }
Trace* CurrentTrace() { return current_trace; }
int Devices() { return devices; }

TraceScope::TraceScope(Trace* trace) : old_(current_trace) { current_trace = trace; }
TraceScope::~TraceScope() { current_trace = old_; }
MeshDefScope::MeshDefScope(const sharding::MeshDef* mesh) : old_(current_mesh) {
  current_mesh = mesh;
}
MeshDefScope::~MeshDefScope() { current_mesh = old_; }

NestingScope::NestingScope(const char* op, Loc loc) {
  if (nesting >= ir::kMostNested)
    base::ThrowTrace(base::Refusal(
        op, "nested", base::Where(loc),
        fmt::format("functions are traced inside one another more than {} levels deep",
                    ir::kMostNested),
        {"write what the levels repeat as a loop"}));
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
        fmt::format("the mesh {} needs {} devices; this process has {}", mesh.text(), needed,
                    devices.load()),
        {fmt::format("call SetDeviceCount({}) at the start, or use abstract_mesh", needed)}));
}

}  // namespace trace

Mesh current_mesh() { return Mesh(trace::current_mesh); }

MeshScope::MeshScope(Mesh mesh, Loc loc) : old_(trace::current_mesh) {
  if (mesh.def()) trace::CheckDevices(*mesh.def(), "MeshScope", loc);
  trace::current_mesh = mesh.def();
  ++trace::mesh_scopes;
}
MeshScope::~MeshScope() {
  trace::current_mesh = old_;
  --trace::mesh_scopes;
}

int DeviceCount() { return trace::devices; }

void SetDeviceCount(int n, Loc loc) {
  auto fail = [&](int check, std::string reason, std::string hint) {
    base::ThrowRuntime(base::Refusal("SetDeviceCount", check, base::Where(loc), std::move(reason),
                                     {std::move(hint)}));
  };
  constexpr int kMost = 1 << 16;
  if (n < 1)
    fail(1, fmt::format("a program needs at least one device, not {}", n),
         "call SetDeviceCount(8)");
  if (n > kMost)
    fail(2, fmt::format("{} simulated devices are more than the limit of {}", n, kMost),
         "use abstract_mesh for larger meshes: it needs no devices");
  if (n == trace::devices) return;
  if (trace::current_trace)
    fail(3, "a function is being traced", "set the number of devices at the start");
  if (trace::mesh_scopes > 0) fail(4, "a mesh is in scope", "leave all MeshScopes first");
  if (trace::LiveShardedArrays() > 0)
    fail(5, fmt::format("{} arrays still lie on the current devices", trace::LiveShardedArrays()),
         "destroy all arrays on meshes first");
  trace::devices = n;
}

Mesh make_mesh(std::vector<MeshAxis> axes, MeshOptions options, Loc loc) {
  const sharding::MeshDef* mesh =
      sharding::MakeMesh(std::move(axes), std::move(options), false, "make_mesh", loc);
  trace::CheckDevices(*mesh, "make_mesh", loc);
  return Mesh(mesh);
}

}  // namespace tessera
