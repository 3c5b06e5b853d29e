// The meshes of a text, and shardings on them as shardings of the program's mesh.
#pragma once
#include <absl/container/flat_hash_map.h>

#include <string_view>

#include "sharding/tensor_sharding.h"
#include "stablehlo/text/tree.h"
#include "tessera/stablehlo.h"

namespace tessera::stablehlo {

class TextMeshes {
 public:
  // The program's mesh is the one of the options, or the first mesh of the module that has axes.
  TextMeshes(const Module& module, const ImportOptions& options);

  // The program's mesh; null if there is none.
  const sharding::MeshDef* mesh() const { return mesh_; }
  // Returns a sharding on the program's mesh, without modes. An axis of another mesh over the same
  // devices becomes axes, or parts of axes, of this one. Throws a RuntimeError if it cannot.
  sharding::TensorSharding ShardingOf(const Attribute& attribute) const;
  // Same, for a value with `rank` dims. Throws if the sharding has not as many.
  sharding::TensorSharding ShardingOf(const Attribute& attribute, size_t rank) const;
  // The body of a manual computation is of one device of the text's mesh. Fail if a mesh is given
  // that has another size of a manual axis, or that numbers its devices in another way.
  void CheckSizes(const std::vector<std::string>& manual_axes, size_t place) const;
  void CheckDevices(size_t place) const;

 private:
  // Returns the mesh that the text states, in any modes; null if there is none.
  const sharding::MeshDef* MeshOfText() const;
  // Returns the modes that export_stablehlo noted, Auto where there are none.
  std::vector<AxisMode> NotedModes(const sharding::MeshDef& mesh) const;
  [[noreturn]] void FailToLower(size_t place, const std::string& reason) const;
  const sharding::MeshDef* Named(std::string_view name, size_t place) const;
  void MoveTo(const sharding::MeshDef& from, size_t place, sharding::AxisList& axes) const;

  const Module& module_;
  absl::flat_hash_map<std::string_view, const sharding::MeshDef*> by_name_;
  const sharding::MeshDef* mesh_ = nullptr;
  bool is_given_ = false;
};

}  // namespace tessera::stablehlo
