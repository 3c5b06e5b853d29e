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

// Of mask_padding: the dims, and the Reduction whose identity goes behind their end.
struct MaskParams {
  OperandDims<0> dims;
  int64_t reduction = 0;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dims", s.dims);
    f("reduction", s.reduction);
  }
};

// Of sharding_constraint: what the user asks for, over Auto axes, on the program's mesh.
struct ConstraintParams {
  ShardingText sharding;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("sharding", s.sharding);
  }
};

}  // namespace tessera::ir
