// Trees of arrays in safetensors files, and back onto devices, each of which reads its part.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/at.h"
#include "base/shape.h"
#include "compile/executor.h"
#include "frontend/elements.h"
#include "frontend/operands.h"
#include "frontend/safetensors_file.h"
#include "runtime/buffers.h"
#include "sharding/local.h"
#include "tessera/io.h"
#include "trace/scopes.h"

namespace tessera {

using namespace frontend;

namespace {

using compile::Concrete;

// The names of a tree's arrays, all different.
std::vector<std::string> UniqueNames(const std::string& path, detail::TreeRef tree, Call call) {
  std::vector<std::string> names = detail::NamesOf(tree);
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) FailFile(call, path, "an array has no name: put it into a map or a struct");
    if (name == "__metadata__") FailFile(call, path, "an array cannot be named " + ShownName(name));
    if (!seen.insert(name).second)
      FailFile(call, path, "two arrays of the tree are named " + ShownName(name));
  }
  return names;
}

// Elements of bool have no other value than 0 and 1; any byte but 0 is true.
void Normalize(DType dtype, std::byte* data, int64_t elements) {
  if (dtype.is_bool())
    std::for_each(data, data + elements, [](std::byte& b) { b = std::byte{b != std::byte{}}; });
}

// Reads the part of each device, or of those that share it, once.
Array Load(const SafetensorsFile& file, const StoredTensor& tensor, const ir::Type* type,
           const ir::Type* placed, Call call) {
  compile::Install();
  const sharding::TensorSharding& s = placed->sharding();
  const bool shares = !s.mesh || compile::SharesReplicas();
  Concrete layout(type, placed, call.loc, {}, shares);
  const int64_t devices = s.mesh ? s.mesh->size() : 1;
  std::vector<int64_t> device_of;  // of each instance: one that holds it
  for (int64_t position = 0; position < devices; ++position) {
    const auto instance = base::Size(compile::InstanceAt(layout, position));
    if (instance >= device_of.size()) device_of.resize(instance + 1);
    device_of[instance] = position;
  }
  const base::Shape local = sharding::LocalShape(type->shape(), s);
  const int64_t elements = base::Elements(local), bytes = elements * type->dtype().size();
  auto array = std::make_shared<Concrete>(
      type, placed, call.loc,
      compile::AtLine(
          call.loc,
          [&] { return runtime::Allocate(bytes, static_cast<int32_t>(device_of.size())); }),
      shares);
  for (size_t i = 0; i < device_of.size(); ++i) {
    std::byte* out = array->buffers.at(static_cast<int32_t>(i));
    // Of partial sums one device has the sum, and the others nothing.
    if (s.kind == Reduction::kSum && !s.unreduced.empty() &&
        sharding::ShardIndex(*s.mesh, s.unreduced, device_of[i]) != 0) {
      std::fill_n(out, bytes, std::byte{});
      continue;
    }
    base::Shape first(local.size());
    for (size_t d = 0; s.mesh && d < first.size(); ++d)
      first[d] = sharding::ShardIndex(*s.mesh, s.dims[d].axes, device_of[i]) * local[d];
    file.Read(tensor, first, local, out);
    Normalize(type->dtype(), out, elements);
  }
  return Array(std::move(array));
}

// The same with the layout of `like`; abstract on an abstract mesh.
Array LoadLike(const SafetensorsFile& file, const StoredTensor& tensor, const Array& like,
               Call call) {
  const ir::Type* type = TypeOf(like);
  const bool concrete = like.impl()->kind() == trace::ArrayImpl::kConcrete;
  if (!concrete && type->mesh() && type->mesh()->is_abstract())
    return Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, call.loc));
  const ir::Type* placed =
      concrete ? static_cast<const Concrete&>(*like.impl()).placed() : compile::WithoutModes(type);
  return Load(file, tensor, type, placed, call);
}

// Says which names are in one and not in the other.
void CheckNames(const std::string& path, const SafetensorsFile& file,
                const std::vector<std::string>& names, Call call) {
  constexpr size_t kShown = 4;
  const auto list = [](const std::vector<std::string>& of) {
    std::string text;
    for (size_t i = 0; i < of.size() && i < kShown; ++i) text += (i ? ", " : "") + ShownName(of[i]);
    return of.size() > kShown ? fmt::format("{} and {} more", text, of.size() - kShown) : text;
  };
  std::vector<std::string> missing, unexpected;
  for (const std::string& name : names)
    if (!file.tensors().contains(name)) missing.push_back(name);
  const std::set<std::string> wanted(names.begin(), names.end());
  for (const auto& [name, tensor] : file.tensors())
    if (!wanted.contains(name)) unexpected.push_back(name);
  if (missing.empty() && unexpected.empty()) return;
  std::string reason;
  if (!missing.empty()) reason = "the file lacks " + list(missing);
  if (!unexpected.empty())
    reason += fmt::format("{}the tree lacks {}", missing.empty() ? "" : "; ", list(unexpected));
  FailFile(call, path, reason);
}

}  // namespace

void detail::SaveSafetensors(const std::string& path, TreeRef tree,
                             const SafetensorsOptions& options, Loc loc) {
  const Call call{"save_safetensors", loc};
  const std::vector<std::string> names = UniqueNames(path, tree, call);
  const std::vector<Array> leaves = LeavesOf(tree);
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const ir::Type* type = OnDevices(leaves[i], call).type();
    if (SafetensorsName(type->dtype()).empty())
      FailFile(call, path,
               fmt::format("{} is {}, which the format cannot store", ShownName(names[i]),
                           type->text()));
    arrays.push_back({names[i], leaves[i]});
  }
  WriteSafetensors(path, std::move(arrays), options.metadata, call);
}

std::map<std::string, Array> load_safetensors(const std::string& path, Loc loc) {
  const Call call{"load_safetensors", loc};
  const SafetensorsFile file(path, call);
  std::map<std::string, Array> arrays;
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  for (const auto& [name, tensor] : file.tensors()) {
    const ir::Type* type = ir::Type::Get(tensor.type->shape(), tensor.type->dtype(), mesh);
    arrays[name] =
        mesh && mesh->is_abstract()
            ? Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, loc))
            : Load(file, tensor, type, compile::WithoutModes(type), call);
  }
  return arrays;
}

void detail::LoadSafetensorsLike(const std::string& path, TreeRef like, Loc loc) {
  const Call call{"load_safetensors_like", loc};
  const std::vector<std::string> names = UniqueNames(path, like, call);
  std::vector<Array> arrays = LeavesOf(like);
  for (const Array& array : arrays)
    if (trace::Use(array, call.name, loc)->kind() == trace::ArrayImpl::kTraced)
      OnDevices(array, call);
  const SafetensorsFile file(path, call);
  CheckNames(path, file, names, call);
  for (size_t i = 0; i < names.size(); ++i) {
    const ir::Type *stored = file.tensors().at(names[i]).type, *type = TypeOf(arrays[i]);
    if (stored->shape() != type->shape() || stored->dtype() != type->dtype())
      FailFile(call, path,
               fmt::format("{} is {} in the file and {} in the tree", ShownName(names[i]),
                           stored->text(), type->text()));
  }
  for (size_t i = 0; i < names.size(); ++i)
    arrays[i] = LoadLike(file, file.tensors().at(names[i]), arrays[i], call);
  Replace(like, arrays);
}

void detail::MakeAbstract(TreeRef tree, Loc loc) {
  std::vector<Array> arrays = LeavesOf(tree);
  for (Array& array : arrays) {
    const ir::Type* type = trace::Use(array, "abstract_like", loc)->type();
    array = Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, loc));
  }
  Replace(tree, arrays);
}

std::map<std::string, std::string> load_safetensors_metadata(const std::string& path, Loc loc) {
  return SafetensorsFile(path, {"load_safetensors_metadata", loc}).metadata();
}

}  // namespace tessera
