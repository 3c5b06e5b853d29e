// Specs of the arrays of a tree, and other leaves that are nested like one.
#pragma once
#include "api/core/operands.h"
#include "tessera/specs.h"

namespace tessera::api {

// What leaves are called in messages, and the option that has them.
struct Said {
  const char* option;
  const char* leaf = "spec";
  bool of_dims = false;  // dims and not specs: what is wrong with them is a ShapeError
};
[[noreturn]] void FailLeaf(size_t parts, Said said, Call call);
[[noreturn]] void FailParts(size_t given, size_t parts, Said said, Call call);

// Returns the leaf of the array at `path`, of an option that gives one for all or one for each.
template <class Leaf>
const Leaf& LeafOf(const PerArray<Leaf>& leaves, const detail::Path& path, Said said, Call call) {
  if (const Leaf* leaf = leaves.At(path)) return *leaf;
  FailLeaf(leaves.PartsAt(path), said, call);
}
// Throws for leaves that are left over: a mistake about what the function takes or returns.
template <class Leaf>
void CheckParts(const PerArray<Leaf>& leaves, const detail::Outline& tree, Said said, Call call) {
  for (const auto& [path, parts] : tree.nodes)
    if (size_t given = leaves.PartsAt(path); given > parts) FailParts(given, parts, said, call);
}

}  // namespace tessera::api
