// PerArray: specs, or other settings, for each array of a tree.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.h"
#include "tessera/sharding.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {

// A setting for a tree of arrays: one leaf for the whole tree, or one for each of its parts
// (arguments, elements, fields), nested in the same way: P("x"), {P("x"), {P(), P("y")}}.
// PerArray{} sets nothing.
template <class Leaf>
class PerArray {
 public:
  PerArray() = default;
  template <class T>
  requires std::is_convertible_v<T, Leaf> PerArray(T leaf) : leaf_(std::move(leaf)), given_(true) {}
  PerArray(std::initializer_list<PerArray> parts) : parts_(parts), given_(true) {}
  explicit PerArray(std::vector<PerArray> parts) : parts_(std::move(parts)), given_(true) {}
  bool given() const { return given_; }
  // Returns the leaf for the array at `path`; null if the tree has parts without a leaf.
  const Leaf* At(const detail::Path& path) const {
    const PerArray* at = Find(path);
    return at && at->parts_.empty() ? &at->leaf_ : nullptr;
  }
  // Returns the number of parts for the node at `path`; 0 if one leaf applies to all of it.
  size_t PartsAt(const detail::Path& path) const {
    const PerArray* at = Find(path);
    return at ? at->parts_.size() : 0;
  }
  // Returns the leaves of all parts.
  std::vector<Leaf> All() const {
    if (parts_.empty()) return {leaf_};
    std::vector<Leaf> all;
    for (const PerArray& part : parts_)
      for (Leaf& leaf : part.All()) all.push_back(std::move(leaf));
    return all;
  }
  // Returns the text of the leaves, each printed by `leaf`, with braces around parts.
  template <class F>
  std::string Text(F leaf) const {
    if (parts_.empty()) return given_ ? leaf(leaf_) : "";
    std::string text;
    for (const PerArray& part : parts_) text += (text.empty() ? "{" : ", ") + part.Text(leaf);
    return text + "}";
  }

 private:
  // Returns the setting at `path` or the nearest one above; null if the tree has parts that
  // this lacks.
  const PerArray* Find(const detail::Path& path) const {
    const PerArray* at = this;
    for (size_t i : path) {
      if (at->parts_.empty()) break;
      if (i >= at->parts_.size()) return nullptr;
      at = &at->parts_[i];
    }
    return at;
  }
  Leaf leaf_ = {};
  std::vector<PerArray> parts_;
  bool given_ = false;
};

using Specs = PerArray<PartitionSpec>;

// Chooses the spec of an array of a tree by its name, as tree_names gives it, and the array.
using ParameterSpecs = std::function<PartitionSpec(const std::string& name, const Array& array)>;
// Returns specs by name: each array has the spec of the first row whose pattern matches its whole
// name, where * matches any text. The result throws ShardingError for a name that no row matches.
//   spec_by_name({{"*.qkv", P(None, "model")}, {"*.out", P("model", None)}, {"*", P()}})
ParameterSpecs spec_by_name(std::vector<std::pair<std::string, PartitionSpec>> rows,
                            Loc loc = Loc::Current());

namespace detail {
void ReshardTree(TreeRef tree, const Specs& specs, Loc loc);
void ReshardTree(TreeRef tree, const ParameterSpecs& specs, Loc loc);
}  // namespace detail

// Returns the tree with its arrays resharded on the current mesh: with one spec for all, or one for
// each, nested like the tree. Without specs each array keeps the spec of its type; this moves a
// tree from another mesh or from axes of other modes. Throws ShardingError as reshard of an array
// does, with the name of the array in the tree.
template <Tree T>
requires(!std::is_same_v<T, Array> && !Number<T>) T
    reshard(T tree, Specs specs = {}, Loc loc = Loc::Current()) {
  detail::ReshardTree(tree, specs, loc);
  return tree;
}

// Same, with specs by name: reshard(params, spec_by_name({{"*.w", P("x")}, {"*", P()}})).
template <Tree T, std::same_as<ParameterSpecs> S>
requires(!std::is_same_v<T, Array> && !Number<T>) T
    reshard(T tree, const S& specs, Loc loc = Loc::Current()) {
  detail::ReshardTree(tree, specs, loc);
  return tree;
}

}  // namespace tessera
