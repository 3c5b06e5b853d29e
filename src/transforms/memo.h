// What a transform made of regions: loops are asked again and again what depends on what, so
// without it nested ones would be transformed exponentially often.
#pragma once
#include <map>
#include <tuple>
#include <vector>

#include "ir/program.h"

namespace tessera::transforms {

// Of one transform of one program, whose regions live as long.
template <class Made>
class RegionMemo {
 public:
  // Returns what was made of this region for these inputs and outputs, and one more input of this
  // type if that is not null, by make() the first time.
  template <class F>
  const Made& Get(const ir::Program& region, const std::vector<bool>& inputs,
                  const std::vector<bool>& outputs, F make, const ir::Type* more = nullptr) {
    const Key key{&region, inputs, outputs, more};
    auto it = made_.find(key);
    if (it == made_.end()) it = made_.emplace(key, make()).first;
    return it->second;
  }

 private:
  using Key = std::tuple<const ir::Program*, std::vector<bool>, std::vector<bool>, const ir::Type*>;
  std::map<Key, Made> made_;  // what is made meanwhile moves nothing
};

}  // namespace tessera::transforms
