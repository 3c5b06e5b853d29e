// The registry of meshes, and the checks of new ones.
#include "sharding/mesh.h"

#include <absl/algorithm/container.h>
#include <absl/hash/hash.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/fork.h"
#include "base/near_names.h"
#include "base/reader.h"

namespace tessera::sharding {
namespace {

bool IsIota(const std::vector<int64_t>& ids) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != static_cast<int64_t>(i)) return false;
  return true;
}

bool SameAxes(const std::vector<MeshAxis>& a, const std::vector<MeshAxis>& b) {
  return absl::c_equal(a, b, [](const MeshAxis& x, const MeshAxis& y) {
    return x.name == y.name && x.size == y.size && x.mode == y.mode;
  });
}

size_t HashOf(const std::vector<MeshAxis>& axes, const std::vector<int64_t>& device_ids,
              MeshKind kind) {
  size_t hash = absl::HashOf(device_ids, kind);
  for (const MeshAxis& a : axes) hash = absl::HashOf(hash, a.name, a.size, a.mode);
  return hash;
}

// Meshes are never freed.
struct Registry {
  Registry() { base::HoldOverFork(mutex); }
  std::mutex mutex;
  std::unordered_multimap<size_t, std::unique_ptr<MeshDef>> meshes;  // by HashOf
};
Registry& TheRegistry() {
  static Registry* registry = new Registry;
  return *registry;
}

[[noreturn]] void Refuse(const char* op, int check, Loc loc, std::string reason, std::string hint) {
  base::ThrowSharding(
      base::Refusal(op, check, base::Where(loc), std::move(reason), {std::move(hint)}));
}

void CheckDeviceIds(const std::vector<int64_t>& ids, int64_t size, const char* op, Loc loc) {
  if (static_cast<int64_t>(ids.size()) != size)
    Refuse(op, 5, loc,
           fmt::format("device_ids needs {} entries for this mesh, not {}", size, ids.size()),
           "give one id per device, row-major over the axes");
  std::set<int64_t> distinct(ids.begin(), ids.end());
  if (distinct.size() != ids.size() || *distinct.begin() < 0)
    Refuse(op, 6, loc,
           fmt::format("device_ids [{}] are not distinct devices", fmt::join(ids, ", ")),
           "name each device once; they are counted from 0");
}

}  // namespace

const MeshDef* MeshDef::Intern(std::vector<MeshAxis> axes, std::vector<int64_t> device_ids,
                               MeshKind kind) {
  if (IsIota(device_ids)) device_ids.clear();
  Registry& registry = TheRegistry();
  const size_t hash = HashOf(axes, device_ids, kind);
  std::lock_guard lock(registry.mutex);
  const auto [begin, end] = registry.meshes.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const MeshDef& mesh = *it->second;
    if (mesh.kind_ == kind && mesh.device_ids_ == device_ids && SameAxes(mesh.axes_, axes))
      return &mesh;
  }
  std::unique_ptr<MeshDef> mesh(new MeshDef);
  mesh->axes_ = std::move(axes);
  mesh->device_ids_ = std::move(device_ids);
  mesh->kind_ = kind;
  mesh->strides_.resize(mesh->axes_.size());
  for (size_t i = mesh->axes_.size(); i-- > 0;) {
    mesh->strides_[i] = mesh->size_;
    mesh->size_ *= mesh->axes_[i].size;
  }
  return registry.meshes.emplace(hash, std::move(mesh))->second.get();
}

int MeshDef::Find(std::string_view name) const {
  for (size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].name == name) return static_cast<int>(i);
  return -1;
}

std::string MeshDef::DidYouMean(std::string_view name) const {
  std::vector<std::string> names;
  for (const MeshAxis& a : axes_) names.push_back(a.name);
  const std::vector<std::string> near = base::NearNames(std::move(names), name, 1);
  const auto lower = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  if (near.empty() || name.empty()) return "";
  const std::string a = lower(near[0]), b = lower(std::string(name));
  const bool is_near = a.starts_with(b) || b.starts_with(a) ||
                       base::EditDistance(a, b) <= (std::max(a.size(), b.size()) + 1) / 3;
  return is_near ? fmt::format("; did you mean \"{}\"?", near[0]) : "";
}

bool MeshDef::has_mode(AxisMode mode) const {
  return absl::c_any_of(axes_, [mode](const MeshAxis& a) { return a.mode == mode; });
}

bool MeshDef::all_mode(AxisMode mode) const {
  return absl::c_all_of(axes_, [mode](const MeshAxis& a) { return a.mode == mode; });
}

const MeshDef* MeshDef::WithModes(const std::vector<AxisMode>& modes) const {
  std::vector<MeshAxis> axes = axes_;
  for (size_t i = 0; i < axes.size(); ++i) axes[i].mode = modes[i];
  return Intern(std::move(axes), device_ids_, kind_);
}

const MeshDef* MeshDef::WithoutModes() const {
  if (all_mode(AxisMode::Explicit)) return this;
  return WithModes(std::vector<AxisMode>(axes_.size(), AxisMode::Explicit));
}

std::string MeshDef::text() const {
  std::string out = "<[";
  for (const MeshAxis& a : axes_)
    out += fmt::format("{}\"{}\"={}", out.size() > 2 ? ", " : "", a.name, a.size);
  out += "]";
  if (!device_ids_.empty()) out += fmt::format(", device_ids=[{}]", fmt::join(device_ids_, ", "));
  return out + ">";
}

std::string MeshDef::FullText(const MeshDef& other) const {
  if (text() != other.text()) return text();
  constexpr const char* kModes[] = {"Explicit", "Auto", "Manual"};
  static_assert(static_cast<int>(AxisMode::Auto) == 1 && static_cast<int>(AxisMode::Manual) == 2);
  std::string modes;
  for (const MeshAxis& a : axes_)
    modes +=
        fmt::format("{}{} {}", modes.empty() ? "" : ", ", a.name, kModes[static_cast<int>(a.mode)]);
  return fmt::format("{} ({}{})", text(), is_abstract() ? "abstract; " : "", modes);
}

const MeshDef* MakeMesh(std::vector<MeshAxis> axes, MeshOptions options, MeshKind kind,
                        const char* op, Loc loc) {
  int64_t size = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    MeshAxis& axis = axes[i];
    if (options.mode) axis.mode = *options.mode;
    if (axis.name.empty() || axis.name.find_first_of("\"\\\n ,(){}[]:@") != std::string::npos)
      Refuse(op, 1, loc, fmt::format("\"{}\" is not a valid name for an axis", axis.name),
             "an axis name is not empty and has no spaces, quotes or brackets");
    for (size_t j = 0; j < i; ++j)
      if (axes[j].name == axis.name)
        Refuse(op, 2, loc, fmt::format("axis \"{}\" is given twice", axis.name),
               "every axis of a mesh has its own name");
    if (axis.size < 1)
      Refuse(op, 3, loc, fmt::format("axis \"{}\" has size {}", axis.name, axis.size),
             "sizes are 1 or more");
    if (__builtin_mul_overflow(size, axis.size, &size) || size > (int64_t{1} << 40))
      Refuse(op, 4, loc, "the mesh has more than 2^40 devices", "check the axis sizes");
  }
  if (!options.device_ids.empty()) CheckDeviceIds(options.device_ids, size, op, loc);
  return MeshDef::Intern(std::move(axes), std::move(options.device_ids), kind);
}

const MeshDef* ParseMesh(std::string_view text, Loc loc) {
  base::Reader in(text, "mesh", loc);
  std::vector<MeshAxis> axes;
  MeshOptions options;
  in.Expect("<");
  in.List("[", "]", [&] {
    std::string name = in.Quoted();
    in.Expect("=");
    axes.push_back({std::move(name), in.Integer()});
  });
  if (in.Accept(",")) {
    in.Expect("device_ids");
    in.Expect("=");
    in.List("[", "]", [&] { options.device_ids.push_back(in.Integer()); });
  }
  in.Expect(">");
  in.ExpectEnd();
  return MakeMesh(std::move(axes), std::move(options), MeshKind::kConcrete, "ParseMesh", loc);
}

}  // namespace tessera::sharding
