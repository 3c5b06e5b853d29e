// Parameters of the moves in device programs.
#pragma once
#include "ir/params.h"

namespace tessera::ir {

struct MoveParams {
  TypeText from, to;  // global types before and after
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("from", s.from);
    f("to", s.to);
  }
};

}  // namespace tessera::ir
