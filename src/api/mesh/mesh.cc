// The public functions for meshes, mesh scopes and the devices of the process.
#include "tessera/mesh.h"

#include <fmt/format.h>

#include <ostream>

#include "api/processes/launched.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/host/processes.h"
#include "sharding/mesh.h"
#include "trace/array.h"
#include "trace/scopes.h"

namespace tessera {

std::vector<MeshAxis> Mesh::axes() const { return def_ ? def_->axes() : std::vector<MeshAxis>{}; }
int64_t Mesh::size() const { return def_ ? def_->size() : 1; }
bool Mesh::is_abstract() const { return def_ && def_->is_abstract(); }
std::string Mesh::text() const { return def_ ? def_->text() : "<[]>"; }

namespace {
int FindAxis(const sharding::MeshDef* def, std::string_view name, const char* op, Loc loc) {
  int axis = def ? def->Find(name) : -1;
  if (axis >= 0) return axis;
  base::ThrowSharding(base::Refusal(
      op, "unknown-axis", base::Where(loc),
      fmt::format("there is no axis \"{}\"{}", name, def ? def->DidYouMean(name) : ""),
      {"mesh: " + (def ? def->text() : "none")}));
}
}  // namespace

int64_t Mesh::axis_size(std::string_view name, Loc loc) const {
  return def_->axis_size(FindAxis(def_, name, "axis_size", loc));
}
AxisMode Mesh::mode(std::string_view name, Loc loc) const {
  return base::At(def_->axes(), FindAxis(def_, name, "mode", loc)).mode;
}
Mesh Mesh::with_mode(std::string_view name, AxisMode mode, Loc loc) const {
  int axis = FindAxis(def_, name, "with_mode", loc);
  std::vector<AxisMode> modes;
  for (const MeshAxis& a : def_->axes()) modes.push_back(a.mode);
  base::At(modes, axis) = mode;
  return Mesh(def_->WithModes(modes));
}
std::vector<int64_t> Mesh::device_ids() const {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < size(); ++i) ids.push_back(def_ ? def_->Device(i) : i);
  return ids;
}

std::ostream& operator<<(std::ostream& os, const Mesh& mesh) { return os << mesh.text(); }

Mesh abstract_mesh(std::vector<MeshAxis> axes, MeshOptions options, Loc loc) {
  return Mesh(sharding::MakeMesh(std::move(axes), std::move(options), sharding::MeshKind::kAbstract,
                                 "abstract_mesh", loc));
}

Mesh current_mesh() { return Mesh(trace::CurrentMesh()); }

MeshScope::MeshScope(Mesh mesh, Loc loc) {
  if (mesh.def()) trace::CheckDevices(*mesh.def(), "MeshScope", loc);
  if (mesh.def() && !mesh.def()->is_abstract()) api::WarnIfAlone();
  outer_ = trace::EnterMesh(mesh.def());
}
MeshScope::~MeshScope() { trace::LeaveMesh(outer_); }

int DeviceCount() { return trace::Devices(); }

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
  if (const int processes = compile::Processes(); n % processes != 0)
    fail(6,
         n < processes
             ? fmt::format("{} devices are too few for {} processes", n, processes)
             : fmt::format("{} devices do not divide evenly over {} processes", n, processes),
         fmt::format("call SetDeviceCount({}), or start another number of processes",
                     (n + processes - 1) / processes * processes));
  if (n == trace::Devices()) return;
  if (trace::CurrentTrace())
    fail(3, "a function is being traced", "set the number of devices at the start");
  if (trace::MeshScopes() > 0) fail(4, "a mesh is in scope", "leave all MeshScopes first");
  if (const trace::LiveArrays live = trace::LiveShardedArrays(); live.count > 0)
    fail(5,
         live.count == 1 ? std::string("an array is still on the current devices")
                         : fmt::format("{} arrays are still on the current devices", live.count),
         fmt::format("destroy all arrays on meshes first: {} was made at {}",
                     live.count == 1 ? "it" : "the oldest", base::Where(*live.oldest_made_at)));
  trace::SetDevices(n);
}

Mesh make_mesh(std::vector<MeshAxis> axes, MeshOptions options, Loc loc) {
  const sharding::MeshDef* mesh = sharding::MakeMesh(
      std::move(axes), std::move(options), sharding::MeshKind::kConcrete, "make_mesh", loc);
  trace::CheckDevices(*mesh, "make_mesh", loc);
  return Mesh(mesh);
}

}  // namespace tessera
