// Devices, meshes of named axes, and the current mesh.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.h"

namespace TESSERA_PUBLIC tessera {

namespace sharding {
class MeshDef;
}

// Sets the number of simulated devices, of all processes together (initially one for each process).
// It may be changed again. Throws RuntimeError for n < 1, for more devices than memory allows, if
// they do not divide evenly over the processes, and while a mesh is in scope, a function is being
// traced, or the program holds an array on a mesh. Arrays that only cached programs hold do not
// count; such a program runs again when there are enough devices.
void SetDeviceCount(int n, Loc loc = Loc::Current());
// Returns the number of simulated devices.
int DeviceCount();

// Explicit: part of the type, checked while tracing. Auto: not in the type, chosen by propagation.
// Manual: code inside of shard_map sees the array of one device.
enum class AxisMode : uint8_t { Explicit, Auto, Manual };
inline constexpr AxisMode Explicit = AxisMode::Explicit, Auto = AxisMode::Auto,
                          Manual = AxisMode::Manual;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  AxisMode mode = AxisMode::Explicit;
};

struct MeshOptions {
  std::vector<int64_t> device_ids = {};  // row-major over the axes; default: 0, 1, 2, ...
  std::optional<AxisMode> mode = {};     // overrides the mode of every axis
};

// One or several axis names: "x" or {"x", "y"}.
class AxisNames {
 public:
  AxisNames() = default;
  AxisNames(std::initializer_list<std::string_view> names) : names_(names.begin(), names.end()) {}
  AxisNames(const char* name) : names_{name} {}
  AxisNames(std::string name) : names_{std::move(name)} {}
  AxisNames(std::vector<std::string> names) : names_(std::move(names)) {}
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// An arrangement of devices along named axes. It is a handle and compares by content.
class Mesh {
 public:
  Mesh() = default;  // the empty mesh
  explicit Mesh(const sharding::MeshDef* def) : def_(def) {}
  std::vector<MeshAxis> axes() const;  // major to minor
  // Returns the number of devices; 1 for the empty mesh.
  int64_t size() const;
  // These throw ShardingError if the mesh does not have the axis.
  int64_t axis_size(std::string_view name, Loc loc = Loc::Current()) const;
  AxisMode mode(std::string_view name, Loc loc = Loc::Current()) const;
  // Returns the mesh with this axis in another mode.
  Mesh with_mode(std::string_view name, AxisMode mode, Loc loc = Loc::Current()) const;
  std::vector<int64_t> device_ids() const;  // row-major over the axes
  bool is_abstract() const;                 // from abstract_mesh: it has no devices
  bool empty() const { return def_ == nullptr; }
  // Returns `<["x"=2, "y"=4]>`, followed by `, device_ids=[...]` unless they are 0, 1, 2, ...
  std::string text() const;
  friend bool operator==(Mesh a, Mesh b) { return a.def_ == b.def_; }
  const sharding::MeshDef* def() const { return def_; }

 private:
  const sharding::MeshDef* def_ = nullptr;
};
std::ostream& operator<<(std::ostream& os, const Mesh& mesh);

// Returns a mesh over the devices. Throws ShardingError for a repeated or empty name, a
// size below 1, or device ids that are not distinct or not one per device; RuntimeError if there
// are fewer devices than the mesh needs.
Mesh make_mesh(std::vector<MeshAxis> axes, MeshOptions options = {}, Loc loc = Loc::Current());
// Returns a mesh of any size without devices: for types, programs and reports. Nothing runs on it.
Mesh abstract_mesh(std::vector<MeshAxis> axes, MeshOptions options = {}, Loc loc = Loc::Current());

// Returns the mesh of the innermost scope of this thread, or the empty mesh outside of all scopes.
Mesh current_mesh();

// Scope: makes a mesh current. It needs a name: `MeshScope scope(mesh);`. Throws RuntimeError if
// the mesh has more devices than the process has now.
class [[nodiscard]] MeshScope {
 public:
  [[nodiscard]] explicit MeshScope(Mesh mesh, Loc loc = Loc::Current());
  ~MeshScope();
  MeshScope(const MeshScope&) = delete;
  MeshScope& operator=(const MeshScope&) = delete;

 private:
  const sharding::MeshDef* outer_;
};

}  // namespace tessera
