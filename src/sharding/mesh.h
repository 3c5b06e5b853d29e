// Meshes: named axes over devices. Equal meshes are one pointer, and are never freed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/mesh.h"

namespace tessera::sharding {

// Whether a mesh has devices to run on.
enum class MeshKind : uint8_t { kConcrete, kAbstract };

class MeshDef {
 public:
  // Returns the one mesh with these axes, which MakeMesh has validated. Empty `device_ids` stand
  // for 0, 1, 2, ...; ids in this order are stored as empty.
  static const MeshDef* Intern(std::vector<MeshAxis> axes, std::vector<int64_t> device_ids,
                               MeshKind kind);

  const std::vector<MeshAxis>& axes() const { return axes_; }
  const std::vector<int64_t>& device_ids() const { return device_ids_; }
  bool is_abstract() const { return kind_ == MeshKind::kAbstract; }
  int64_t size() const { return size_; }
  int rank() const { return static_cast<int>(axes_.size()); }
  int64_t axis_size(int axis) const { return axes_[axis].size; }
  // Returns the axis with that name, -1 if there is none.
  int Find(std::string_view name) const;
  // Returns `; did you mean "model"?` if an axis has a name much like this one, else "".
  std::string DidYouMean(std::string_view name) const;
  bool has_mode(AxisMode mode) const;
  bool all_mode(AxisMode mode) const;
  // Returns the coordinate along `axis` of the device at row-major position `index` of the mesh.
  int64_t Coordinate(int64_t index, int axis) const {
    return index / strides_[axis] % axes_[axis].size;
  }
  // Returns the distance in row-major positions between neighbours along `axis`.
  int64_t stride(int axis) const { return strides_[axis]; }
  // Returns the device at row-major position `index`.
  int64_t Device(int64_t index) const { return device_ids_.empty() ? index : device_ids_[index]; }
  // Returns the mesh with these modes, one per axis.
  const MeshDef* WithModes(const std::vector<AxisMode>& modes) const;
  // Returns the mesh with every axis Explicit, on which complete shardings are.
  const MeshDef* WithoutModes() const;
  // Returns `<["x"=2, "y"=4], device_ids=[...]>`.
  std::string text() const;
  // Returns text(). If `other` has the same text, adds the modes and whether the mesh is abstract.
  std::string FullText(const MeshDef& other) const;

 private:
  MeshDef() = default;
  std::vector<MeshAxis> axes_;
  std::vector<int64_t> device_ids_, strides_;
  int64_t size_ = 1;
  MeshKind kind_ = MeshKind::kConcrete;
};

// Returns the mesh after checking names, sizes and device ids. Throws ShardingError; its message
// names the function `op`.
const MeshDef* MakeMesh(std::vector<MeshAxis> axes, MeshOptions options, MeshKind kind,
                        const char* op, Loc loc);

// Returns the mesh written as `<["x"=2, "y"=4], device_ids=[1, 0]>`, with every axis Explicit.
// Throws RuntimeError with the place in the text.
const MeshDef* ParseMesh(std::string_view text, Loc loc);

}  // namespace tessera::sharding
