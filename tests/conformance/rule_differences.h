// Where the rules of our ops differ from Shardy's on purpose, as rule_differences.json lists them.
#pragma once
#include <string>
#include <vector>

#include "case.h"
#include "sharding/dim_map.h"

namespace tessera::conformance {

class RuleDifferences {
 public:
  // An entry is {"family", "argued", "ops", "differs"}: the rules of these ops may
  // differ in "kinds", or "no rule" (where Shardy has none). Throws std::runtime_error
  // for a malformed file.
  static RuleDifferences Load(const std::string& path);
  // Returns the name of the family that allows this difference, an empty text if none does.
  std::string Find(const std::string& op, const std::string& recorded,
                   const sharding::DimMap& ours) const;

 private:
  struct Entry {
    std::string family;
    std::vector<std::string> ops;
    bool kinds = false, no_rule = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace tessera::conformance
