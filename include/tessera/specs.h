// Specs of the arrays of a tree.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tessera/array.h"
#include "tessera/sharding.h"
#include "tessera/tree.h"

namespace tessera {

// A spec for a whole tree of arrays, or one for each of its parts (arguments, elements, fields),
// nested alike: P("x"), {P("x"), {P(), P("y")}}. Specs{}: none is given.
class Specs {
 public:
  Specs() = default;
  Specs(PartitionSpec spec) : spec_(std::move(spec)), given_(true) {}
  Specs(std::initializer_list<Specs> parts) : parts_(parts), given_(true) {}
  explicit Specs(std::vector<Specs> parts) : parts_(std::move(parts)), given_(true) {}
  bool given() const { return given_; }
  // Returns the spec of the array at `path`; null if the tree has parts that the specs lack.
  const PartitionSpec* At(const tree::Path& path) const;
  // Returns how many parts there are for those of the tree at `path`; 0 if one spec is for all.
  size_t PartsAt(const tree::Path& path) const;
  // Returns the specs of all parts.
  std::vector<PartitionSpec> All() const;

 private:
  // Returns the specs at `path` or above; null if the tree has parts that the specs lack.
  const Specs* Find(const tree::Path& path) const;
  PartitionSpec spec_;
  std::vector<Specs> parts_;
  bool given_ = false;
};

namespace trace {

// The arrays of a tree and where they are in it.
struct PlacedLeaves {
  std::vector<Array> arrays;
  std::vector<tree::Path> paths;
  std::vector<std::pair<tree::Path, size_t>> nodes;  // of the tree, with the number of their parts
};
template <class T>
PlacedLeaves Placed(T& t) {
  tree::Outline outline = tree::OutlineOf(t);
  return {tree_leaves(t), std::move(outline.arrays), std::move(outline.nodes)};
}

// Whether arrays enter a jitted function or leave it.
enum class JitSide : uint8_t { kIn, kOut };
// Throws if a spec names what the current mesh does not have.
void CheckAxes(const Specs& specs, Loc loc);
// Returns the arrays laid out as jit's options say.
std::vector<Array> LayOut(const Specs& specs, const PlacedLeaves& leaves, JitSide side, Loc loc);

}  // namespace trace
}  // namespace tessera
