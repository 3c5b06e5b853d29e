// Sets of values of a program.
#pragma once
#include "base/ids.h"
#include "ir/program.h"

namespace tessera::spmd {

// Disjoint sets of values, each with a root that stands for it.
class ValueSets {
 public:
  explicit ValueSets(size_t values) : parent_(values) {
    for (ir::ValueId v : parent_.ids()) parent_[v] = v;
  }
  ir::ValueId Root(ir::ValueId v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  void Join(ir::ValueId v, ir::ValueId w) { parent_[Root(v)] = Root(w); }

 private:
  base::IdVector<ir::ValueId, ir::ValueId> parent_;
};

}  // namespace tessera::spmd
