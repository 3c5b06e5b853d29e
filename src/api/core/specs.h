// Options with one leaf for each array of a tree, such as a spec or a dim, nested like the tree.
#pragma once
#include "api/core/operands.h"
#include "tessera/specs.h"

namespace tessera::api {

// The name of an option and of its leaves, for messages.
struct Said {
  const char* option;
  const char* leaf = "spec";
  bool of_dims = false;  // the leaves are dims, not specs: errors are ShapeErrors
};
[[noreturn]] void FailLeaf(size_t parts, Said said, Call call);
[[noreturn]] void FailParts(size_t given, size_t parts, Said said, Call call);

// Returns the leaf for the array at `path`. An option has one leaf for all arrays or one for each.
template <class Leaf>
const Leaf& LeafOf(const PerArray<Leaf>& leaves, const detail::Path& path, Said said, Call call) {
  if (const Leaf* leaf = leaves.At(path)) return *leaf;
  FailLeaf(leaves.PartsAt(path), said, call);
}
// Throws if an option has more leaves than the tree has arrays.
template <class Leaf>
void CheckParts(const PerArray<Leaf>& leaves, const detail::Outline& tree, Said said, Call call) {
  for (const auto& [path, parts] : tree.nodes)
    if (size_t given = leaves.PartsAt(path); given > parts) FailParts(given, parts, said, call);
}

}  // namespace tessera::api
