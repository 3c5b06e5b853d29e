// The instances of all processes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/at.h"
#include "base/ids.h"
#include "plan/localise/localise.h"
#include "plan/plan.h"

namespace tessera::plan {

// A layout of all processes.
struct WholeLayout {
  std::vector<std::vector<int32_t>> hosts;  // of each instance, ascending
  std::vector<int32_t> local;               // number of each instance here, or kElsewhere

  bool Has(int32_t process, int32_t instance) const {
    const std::vector<int32_t>& of_instance = base::At(hosts, instance);
    return std::binary_search(of_instance.begin(), of_instance.end(), process);
  }
  // Returns the number that an instance has on a process that hosts it.
  int32_t NumberOn(int32_t process, int32_t instance) const {
    int32_t number = 0;
    for (int32_t i = 0; i < instance; ++i) number += Has(process, i) ? 1 : 0;
    return number;
  }
};

using WholeLayouts = base::IdVector<PlanLayoutId, WholeLayout>;

inline int64_t ElementsOf(const Box& box) {
  int64_t elements = 1;
  for (int64_t extent : box.extents) elements *= extent;
  return elements;
}

// Returns the layout of a value that only an exchange of this process uses.
Layout PrivateLayout(const Layout& like, size_t instances);

}  // namespace tessera::plan
