// Writes trees of arrays to safetensors files, and reads each device's shard back from them.
#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_set.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "api/io/safetensors_file.h"
#include "base/at.h"
#include "base/pattern.h"
#include "base/shape.h"
#include "compile/run/executor.h"
#include "runtime/buffers.h"
#include "sharding/local.h"
#include "tessera/io.h"
#include "trace/scopes.h"
#include "trace/tree.h"

namespace tessera {

using namespace api;

namespace {

using compile::Concrete;

constexpr char kTreeName[] = "tree";  // in messages

// Returns the names of a tree's arrays. Throws RuntimeError if a name is empty or not unique.
std::vector<std::string> UniqueNames(const std::string& path, detail::TreeRef tree, Call call) {
  std::vector<std::string> names = detail::NamesOf(tree);
  absl::flat_hash_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty()) FailFile(call, path, "an array has no name: put it into a map or a struct");
    if (name == "__metadata__") FailFile(call, path, "an array cannot be named " + ShownName(name));
    if (!seen.insert(name).second)
      FailFile(call, path, "two arrays of the tree are named " + ShownName(name));
  }
  return names;
}

// Reads a tensor with the sharding and the dtype of `like`. On an abstract mesh the array
// is abstract.
Array LoadLike(const SafetensorsFile& file, const StoredTensor& tensor, const Array& like,
               Call call) {
  const ir::Type* type = TypeOf(like);
  const bool concrete = like.impl()->kind() == trace::ArrayImpl::kConcrete;
  const ir::Type* placed =
      concrete ? static_cast<const Concrete&>(*like.impl()).placed() : like.impl()->place();
  if (!concrete && type->mesh() && type->mesh()->is_abstract())
    return Array(std::make_shared<trace::AbstractArray>(type, placed, call.loc));
  if (!placed) placed = compile::WithoutModes(type);
  const DType stored = tensor.type->dtype();
  const Array read = file.Read(tensor, type->WithDType(stored), placed->WithDType(stored));
  if (stored == type->dtype()) return read;
  const trace::MeshDefScope mesh(type->mesh());
  const Array converted = Convert(read, type->dtype(), call);
  return type->weak() ? Weak(converted) : converted;
}

// ---- which arrays -------------------------------------------------------------------------------

bool MatchesOne(const std::vector<std::string>& patterns, const std::string& name) {
  return absl::c_any_of(patterns,
                        [&](const std::string& pattern) { return base::Matches(pattern, name); });
}

// Returns the name with * in place of parts that are numbers: "layers.*.w".
std::string WithoutNumbers(const std::string& name) {
  std::vector<std::string> parts = absl::StrSplit(name, '.');
  for (std::string& part : parts)
    if (!part.empty() && absl::c_all_of(part, [](unsigned char c) { return std::isdigit(c); }))
      part = "*";
  return absl::StrJoin(parts, ".");
}

// Returns patterns, few if that is possible, that match all of these names and none of the others.
// The names are sorted. A pattern stands for a whole part of a tree, or for a name in all layers.
std::vector<std::string> PatternsFor(const std::vector<std::string>& names,
                                     const std::vector<std::string>& others) {
  const auto matches_others = [&](const std::string& pattern) {
    return absl::c_any_of(others,
                          [&](const std::string& name) { return base::Matches(pattern, name); });
  };
  if (names.size() == 1) return names;
  const std::string &first = names.front(), &last = names.back();
  const auto differ = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
  std::string common(first.begin(), differ);
  common.resize(common.rfind('.') + 1);  // to 0 without a dot
  if (!common.empty() && !matches_others(common + "*")) return {common + "*"};
  std::set<std::string> of_layers;
  for (const std::string& name : names) of_layers.insert(WithoutNumbers(name));
  const bool is_named = !of_layers.contains("*");  // "*" alone would match any mistake
  if (is_named && of_layers.size() < names.size() && absl::c_none_of(of_layers, matches_others))
    return {of_layers.begin(), of_layers.end()};
  std::vector<std::string> patterns;
  for (size_t i = 0; i < names.size();) {
    const std::string part = names[i].substr(0, names[i].find('.', common.size()) + 1);
    std::vector<std::string> inside = {names[i++]};
    while (!part.empty() && i < names.size() && names[i].starts_with(part))
      inside.push_back(names[i++]);
    for (std::string& pattern : PatternsFor(inside, others)) patterns.push_back(std::move(pattern));
  }
  return patterns;
}

// Matches the arrays of a tree with the tensors of a file.
class Pairing {
 public:
  Pairing(const std::string& path, const SafetensorsFile& file, const LoadLikeOptions& options,
          Call call)
      : path_(path), file_(file), options_(options), call_(call) {}

  // Returns the tensors of the file for these names of a tree, null for an array that stays as it
  // is. Throws if the file lacks a name, or has an extra one, that the options do not allow.
  std::vector<const StoredTensor*> TensorsFor(const std::vector<std::string>& names) const {
    std::vector<const StoredTensor*> tensors;
    std::vector<std::string> missing, unexpected, paired;
    for (const std::string& name : names) {
      tensors.push_back(TensorFor(name));
      if (tensors.back())
        paired.push_back(name);
      else if (!MatchesOne(options_.keep, name))
        missing.push_back(name);
    }
    const absl::flat_hash_set<std::string_view> wanted(names.begin(), names.end());
    for (const auto& [name, tensor] : file_.tensors())
      if (!wanted.contains(name) && !MatchesOne(options_.ignore, name)) unexpected.push_back(name);
    CheckNames(missing, unexpected, paired);
    return tensors;
  }

  // Throws if the tensor cannot be read into an array of this type.
  void CheckType(const std::string& name, const StoredTensor& tensor, const ir::Type& type) const {
    const bool same = tensor.type->dtype() == type.dtype();
    if (tensor.type->shape() == type.shape() && (same || options_.cast)) return;
    std::vector<std::string> notes;
    if (tensor.type->shape() == type.shape()) notes = {"{.cast = true} converts it"};
    FailFile(call_, path_,
             fmt::format("{} is {} in the file and {} in the tree", ShownName(name),
                         tensor.type->text(), type.text()),
             notes);
  }

 private:
  const StoredTensor* TensorFor(const std::string& name) const {
    const auto found = file_.tensors().find(name);
    return found == file_.tensors().end() || MatchesOne(options_.ignore, name) ? nullptr
                                                                               : &found->second;
  }
  // Throws if a name of the tree is missing in the file, or one of the file unexpected. `paired`
  // are the names that both have.
  void CheckNames(const std::vector<std::string>& missing,
                  const std::vector<std::string>& unexpected,
                  const std::vector<std::string>& paired) const {
    if (missing.empty() && unexpected.empty()) return;
    std::vector<std::string> notes;
    std::string reason;
    const std::string renamed = RenamedNote(missing, unexpected);
    if (!missing.empty()) {
      reason = "the file lacks " + List(missing);
      notes.push_back(Option("keep", missing, paired) + " keeps the values of the tree");
    }
    if (!unexpected.empty()) {
      reason += fmt::format("{}the tree lacks {}", missing.empty() ? "" : "; ", List(unexpected));
      notes.push_back(Option("ignore", unexpected, paired) + (unexpected.size() == 1
                                                                  ? " leaves it in the file"
                                                                  : " leaves them in the file"));
    }
    if (!renamed.empty()) notes = {renamed};  // the others would drop the arrays
    FailFile(call_, path_, reason, notes);
  }
  // Returns how to load arrays whose names differ by their beginning: all that the file lacks are
  // there under other names, or all that the tree lacks. Empty if that is not so.
  static std::string RenamedNote(const std::vector<std::string>& missing,
                                 const std::vector<std::string>& unexpected) {
    const bool few_missing = missing.size() <= unexpected.size();
    const std::vector<std::string>& few = few_missing ? missing : unexpected;
    const std::set<std::string> many = few_missing ? std::set(unexpected.begin(), unexpected.end())
                                                   : std::set(missing.begin(), missing.end());
    if (few.empty()) return "";
    for (const std::string& other : many) {
      const auto [own, begin] = Beginnings(few[0], other);
      const bool fits =
          own != begin && absl::c_all_of(few, [&, &own = own, &begin = begin](const auto& name) {
            return name.starts_with(own) && many.contains(begin + name.substr(own.size()));
          });
      if (!fits) continue;
      const std::string &in_tree = few_missing ? own : begin, &in_file = few_missing ? begin : own;
      return fmt::format(
          "names of the {} have {} in front: load_safetensors returns a map, whose arrays can be "
          "renamed",
          in_tree.empty() ? "file" : "tree", ShownName(in_tree.empty() ? in_file : in_tree));
    }
    return "";
  }
  // Returns the parts in front of the name that two names share; one of them is empty. Both are
  // empty if neither name ends as the other.
  static std::pair<std::string, std::string> Beginnings(const std::string& a,
                                                        const std::string& b) {
    if (b.ends_with('.' + a)) return {"", b.substr(0, b.size() - a.size())};
    if (a.ends_with('.' + b)) return {a.substr(0, a.size() - b.size()), ""};
    return {};
  }
  static constexpr size_t kShown = 4, kMostPatterns = 12;
  static std::string List(const std::vector<std::string>& of, size_t most = kShown) {
    std::string text;
    for (size_t i = 0; i < of.size() && i < most; ++i) text += (i ? ", " : "") + ShownName(of[i]);
    return of.size() > most ? fmt::format("{} and {} more", text, of.size() - most) : text;
  }
  // Returns the code of an option that names these arrays and none of the others.
  static std::string Option(const char* name, std::vector<std::string> of,
                            const std::vector<std::string>& others) {
    absl::c_sort(of);
    const std::vector<std::string> patterns = of.size() > kShown ? PatternsFor(of, others) : of;
    return fmt::format("{{.{} = {{{}}}}}", name, List(patterns, kMostPatterns));
  }

  const std::string& path_;
  const SafetensorsFile& file_;
  const LoadLikeOptions& options_;
  const Call call_;
};

}  // namespace

void detail::SaveSafetensors(const std::string& path, TreeRef tree,
                             const SafetensorsOptions& options, Loc loc) {
  const Call call{"save_safetensors", loc};
  const std::vector<std::string> names = UniqueNames(path, tree, call);
  trace::UseAll(tree, kTreeName, call.name, loc);
  const trace::Leaves leaves = trace::TakeArrays(tree, kTreeName);
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < names.size(); ++i) {
    const ir::Type* type = OnDevices(leaves.arrays[i], call, leaves.names[i]).type();
    if (SafetensorsName(type->dtype()).empty())
      FailFile(call, path,
               fmt::format("{} is {}, which the format cannot store", ShownName(names[i]),
                           type->text()));
    arrays.push_back({names[i], leaves.arrays[i]});
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
    arrays.emplace_hint(
        arrays.end(), name,
        mesh && mesh->is_abstract()
            ? Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, loc))
            : file.Read(tensor, type, compile::WithoutModes(type)));
  }
  return arrays;
}

void detail::LoadSafetensorsLike(const std::string& path, TreeRef like,
                                 const LoadLikeOptions& options, Loc loc) {
  const Call call{"load_safetensors_like", loc};
  const std::vector<std::string> names = UniqueNames(path, like, call);
  trace::UseAll(like, kTreeName, call.name, loc);
  const trace::Leaves leaves = trace::TakeArrays(like, kTreeName);
  std::vector<Array> arrays = leaves.arrays;
  for (size_t i = 0; i < names.size(); ++i)
    if (arrays[i].impl()->kind() == trace::ArrayImpl::kTraced)
      OnDevices(arrays[i], call, leaves.names[i]);
  const SafetensorsFile file(path, call);
  const Pairing pairs(path, file, options, call);
  const std::vector<const StoredTensor*> tensors = pairs.TensorsFor(names);
  for (size_t i = 0; i < names.size(); ++i)
    if (tensors[i]) pairs.CheckType(names[i], *tensors[i], *TypeOf(arrays[i]));
  for (size_t i = 0; i < names.size(); ++i)
    if (tensors[i]) arrays[i] = LoadLike(file, *tensors[i], arrays[i], call);
  Replace(like, arrays);
}

void detail::MakeAbstract(TreeRef tree, Loc loc) {
  trace::UseAll(tree, kTreeName, "abstract_like", loc);
  std::vector<Array> arrays = LeavesOf(tree);
  for (Array& array : arrays) {
    array =
        Array(std::make_shared<trace::AbstractArray>(TypeOf(array), array.impl()->place(), loc));
  }
  Replace(tree, arrays);
}

std::map<std::string, std::string> load_safetensors_metadata(const std::string& path, Loc loc) {
  return SafetensorsFile(path, {"load_safetensors_metadata", loc}).metadata();
}

}  // namespace tessera
