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
  const PartitionSpec* At(const detail::Path& path) const;
  // Returns how many parts there are for those of the tree at `path`; 0 if one spec is for all.
  size_t PartsAt(const detail::Path& path) const;
  // Returns the specs of all parts.
  std::vector<PartitionSpec> All() const;

 private:
  // Returns the specs at `path` or above; null if the tree has parts that the specs lack.
  const Specs* Find(const detail::Path& path) const;
  PartitionSpec spec_;
  std::vector<Specs> parts_;
  bool given_ = false;
};

}  // namespace tessera
