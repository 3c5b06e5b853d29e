// Results of a transform by region. The transform of a loop asks for the same region again and
// again until its flags are stable, so without a memo nested loops would take exponential time.
#pragma once
#include <map>
#include <tuple>
#include <vector>

#include "ir/program.h"

namespace tessera::transforms {

// The memo of one transform of one program. The program owns the regions, so it must stay alive.
template <class Made>
class RegionMemo {
 public:
  // Returns the result for this region with these flags of its inputs and outputs, and with one
  // more input of type `more` unless that is null. Calls make() if there is none yet.
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
  std::map<Key, Made> made_;  // references stay valid while make() adds to it
};

}  // namespace tessera::transforms
