// The names of the values that a place of a function can use.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tessera::stablehlo {

// The values that a name stands for: `count` of them, numbered from `first`.
struct ValueRange {
  uint32_t first = 0, count = 0;
};

// Names of a region may be those of a region beside or around it.
class TextNames {
 public:
  void Clear();
  void OpenRegion() { regions_.push_back(hidden_.size()); }
  void CloseRegion();
  // Returns false if this region has the name already.
  bool Define(std::string_view name, ValueRange values);
  // Returns an empty range if the name is not defined.
  ValueRange Find(std::string_view name) const;

 private:
  struct Meaning {
    ValueRange values;
    size_t depth = 0;  // of its region
  };
  struct Hidden {
    std::string_view name;
    Meaning meaning;  // around the region; its range is empty if there is none
  };
  absl::flat_hash_map<std::string_view, Meaning> meanings_;
  std::vector<Hidden> hidden_;
  std::vector<size_t> regions_;  // where the names of each open region begin in hidden_
};

}  // namespace tessera::stablehlo
