// Options with one leaf for each array of a tree, such as a spec or a dim, nested like the tree.
#pragma once
#include <absl/functional/function_ref.h>

#include "api/core/operands.h"
#include "tessera/batching.h"
#include "tessera/specs.h"
#include "trace/tree.h"

namespace tessera::api {

// An option and the tree that it is for, in messages.
struct Said {
  const char* option;                    // ".in_specs"
  const char* tree = trace::kArguments;  // the name of the tree
  const char* leaf = "spec";
  const char* other = "P()";  // the code of a leaf, offered for an array without one
  bool of_dims = false;       // the leaves are dims, not specs: errors are ShapeErrors
};

// Throws for the first array that has no leaf, or that has several. `text` is the code of the whole
// option; `parts` returns the number of its parts at a path.
[[noreturn]] void FailLeaf(detail::TreeRef tree, const detail::Path& array, Said said,
                           const std::string& text,
                           absl::FunctionRef<size_t(const detail::Path&)> parts, Call call);
[[noreturn]] void FailParts(detail::TreeRef tree, const detail::Path& node, size_t given,
                            size_t parts, Said said, Call call);

inline std::string LeafCode(const PartitionSpec& spec) { return spec.text(); }
std::string LeafCode(const MapDim& dim);

// Returns the leaf of each array of the tree. Throws if the option has more leaves or fewer.
template <class Leaf>
std::vector<Leaf> LeavesFor(const PerArray<Leaf>& option, detail::TreeRef tree, Said said,
                            Call call) {
  const detail::Outline outline = detail::OutlineOf(tree);
  const auto parts_at = [&](const detail::Path& path) { return option.PartsAt(path); };
  for (const auto& [path, parts] : outline.nodes)
    if (const size_t given = option.PartsAt(path); given > parts)
      FailParts(tree, path, given, parts, said, call);
  std::vector<Leaf> leaves;
  for (const detail::Path& path : outline.arrays) {
    const Leaf* leaf = option.At(path);
    if (!leaf)
      FailLeaf(tree, path, said, option.Text([](const Leaf& l) { return LeafCode(l); }), parts_at,
               call);
    leaves.push_back(*leaf);
  }
  return leaves;
}

// Returns the code of `specs` with `spec` for one array of the tree, and the other arrays as they
// are. Returns "" if that is a long list.
std::string CodeWith(const Specs& specs, detail::TreeRef tree, const detail::Path& array,
                     const PartitionSpec& spec);

// Returns the name of an array in a sentence: "the result" for a whole tree, "result[1].w" and
// "argument 0" for parts.
std::string InSentence(const std::string& name);
// Returns the code of a reshard to `spec` before the call: "x.w = ..." for "argument 0.w".
std::string ReshardCode(const std::string& name, const PartitionSpec& spec);

}  // namespace tessera::api
