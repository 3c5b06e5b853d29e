// Shardings on any mesh of a text.
#include "stablehlo/read/meshes.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "sharding/text.h"
#include "stablehlo/read/older_shardings.h"

namespace tessera::stablehlo {

using sharding::AxisList;
using sharding::AxisPart;
using sharding::MeshDef;

TextMeshes::TextMeshes(const Module& module, const ImportOptions& options)
    : module_(module), is_given_(options.mesh.has_value()) {
  for (const TextMesh& m : module.meshes)
    by_name_.emplace(m.name, sharding::ParseMesh(m.mesh.text, module.file()));
  mesh_ = options.mesh ? options.mesh->def() : MeshOfText();
  if (!mesh_ || (options.modes == AxisModes::kAsWritten && options.mesh)) return;
  const AxisMode mode = options.modes == AxisModes::kExplicit ? AxisMode::Explicit : AxisMode::Auto;
  mesh_ = mesh_->WithModes(options.modes == AxisModes::kAsWritten
                               ? NotedModes(*mesh_)
                               : std::vector<AxisMode>(base::Size(mesh_->rank()), mode));
}

std::vector<AxisMode> TextMeshes::NotedModes(const MeshDef& mesh) const {
  std::vector<AxisMode> modes(base::Size(mesh.rank()), AxisMode::Auto);
  const Attribute* const notes = Find(module_.attributes, "mhlo.frontend_attributes");
  const Attribute* const noted = notes ? notes->Find("tessera.modes") : nullptr;
  if (!noted) return modes;
  // "x=Auto, y=Explicit"
  for (size_t begin = 0; begin < noted->text.size();) {
    const size_t end = std::min(noted->text.find(", ", begin), noted->text.size());
    const std::string_view note = noted->text.substr(begin, end - begin);
    begin = end + 2;
    const size_t equals = note.find('=');
    const int axis = mesh.Find(note.substr(0, equals));
    const std::string_view mode = equals == note.npos ? "" : note.substr(equals + 1);
    if (axis < 0 || (mode != "Auto" && mode != "Explicit" && mode != "Manual"))
      module_.Fail(module_.PlaceOf(noted->text),
                   fmt::format("tessera.modes has \"{}\", not an axis of the mesh and its mode, "
                               "as \"x=Explicit\"",
                               note));
    if (mode == "Explicit") modes[base::Size(axis)] = AxisMode::Explicit;
  }
  return modes;
}

const MeshDef* TextMeshes::MeshOfText() const {
  for (const TextMesh& m : module_.meshes)
    if (const MeshDef* mesh = by_name_.at(m.name); mesh->rank() > 0) return mesh;
  return module_.meshes.empty() ? MeshOfOlderShardings(module_) : nullptr;
}

void TextMeshes::CheckSizes(const std::vector<std::string>& manual_axes, size_t place) const {
  const MeshDef* const own = is_given_ ? MeshOfText() : nullptr;
  for (const std::string& name : manual_axes) {
    const int was = own ? own->Find(name) : -1, is = mesh_->Find(name);
    if (was >= 0 && is >= 0 && own->axis_size(was) != mesh_->axis_size(is))
      FailToLower(place, fmt::format("is for size {} of its manual axis \"{}\"",
                                     own->axis_size(was), name));
  }
}

void TextMeshes::CheckDevices(size_t place) const {
  const MeshDef* const own = is_given_ ? MeshOfText() : nullptr;
  if (!own) return;
  const auto same = [](const MeshAxis& a, const MeshAxis& b) {
    return a.name == b.name && a.size == b.size;
  };
  if (!absl::c_equal(own->axes(), mesh_->axes(), same))
    FailToLower(place, fmt::format("has device numbers of the mesh {}", own->text()));
}

void TextMeshes::FailToLower(size_t place, const std::string& reason) const {
  std::vector<std::string> sizes, names;
  for (const MeshAxis& axis : mesh_->axes()) {
    sizes.push_back(std::to_string(axis.size));
    names.push_back(fmt::format("\"{}\"", axis.name));
  }
  const char* const comma = sizes.size() == 1 ? "," : "";
  module_.Fail(place, fmt::format("the body of this shard_map {}. For {}, lower the program again "
                                  "in JAX with jax.make_mesh(({}{}), ({}{}))",
                                  reason, mesh_->text(), fmt::join(sizes, ", "), comma,
                                  fmt::join(names, ", "), comma));
}

const MeshDef* TextMeshes::Named(std::string_view name, size_t place) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) module_.Fail(place, fmt::format("there is no mesh @{}", name));
  return found->second;
}

// Devices are numbered row-major over both meshes, so an axis is a factor of the device number:
// its digits between two strides.
void TextMeshes::MoveTo(const MeshDef& from, size_t place, AxisList& axes) const {
  AxisList moved;
  for (const AxisPart& part : axes) {
    // The digits [low, high) of the device number.
    const int64_t whole = from.axis_size(part.axis), high_stride = from.stride(part.axis) * whole;
    const int64_t high = high_stride / part.pre, low = high / part.size;
    int64_t reached = high;
    for (int a = 0; a < mesh_->rank() && reached > low; ++a) {
      const int64_t least = mesh_->stride(a), most = least * mesh_->axis_size(a);
      if (most <= low || least >= reached) continue;
      const int64_t end = std::max(least, low), pre = most / reached;
      if (most % reached != 0 || reached % end != 0)
        module_.Fail(place, fmt::format("the meshes {} and {} have no common axes", from.text(),
                                        mesh_->text()));
      sharding::AppendMerged(moved, {a, pre, reached / end});
      reached = end;
    }
  }
  axes = std::move(moved);
}

sharding::TensorSharding TextMeshes::ShardingOf(const Attribute& attribute) const {
  const size_t place = module_.PlaceOf(attribute.text);
  const std::string_view text = attribute.text;
  const size_t begin = text.find('@'), end = text.find_first_of(",> ", begin);
  const std::string_view name = begin == std::string_view::npos
                                    ? std::string_view()
                                    : text.substr(begin + 1, end - begin - 1);
  const MeshDef* own = is_given_ ? mesh_->WithoutModes() : Named(name, place);
  const auto parsed = [&] {
    try {
      return sharding::ParseSharding(text, own, module_.file());
    } catch (const RuntimeError& e) {
      module_.Fail(place,
                   fmt::format("the sharding {}: {}{}", text, e.detail().reason,
                               is_given_ ? "; the mesh that is given is " + own->text() : ""));
    }
  };
  sharding::TensorSharding s = parsed();
  const MeshDef* to = mesh_->WithoutModes();
  if (own == to) return s;
  if (own->rank() == 0) {
    s.mesh = to;
    return s;
  }
  if (own->size() != to->size() || own->device_ids() != to->device_ids())
    module_.Fail(place, fmt::format("the meshes {} and {} are of different devices", own->text(),
                                    to->text()));
  s.mesh = to;
  for (sharding::DimAxes& d : s.dims) MoveTo(*own, place, d.axes);
  for (AxisList* set : {&s.replicated, &s.unreduced}) {
    MoveTo(*own, place, *set);
    sharding::SortAndMerge(*set);
  }
  return s;
}

sharding::TensorSharding TextMeshes::ShardingOf(const Attribute& attribute, size_t rank) const {
  sharding::TensorSharding s = ShardingOf(attribute);
  if (s.dims.size() != rank)
    module_.Fail(module_.PlaceOf(attribute.text),
                 fmt::format("the sharding {} has {}, but the value has {}", attribute.text,
                             base::CountText(s.dims.size(), "dim"), rank));
  return s;
}

}  // namespace tessera::stablehlo
