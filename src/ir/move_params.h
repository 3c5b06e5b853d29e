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

// Of halo_exchange: the global types, whose dims are the same in order, and which elements are
// read.
struct HaloParams {
  std::vector<TypeText> from;
  TypeText to;
  // [operand, dim, offset, stride, dilation]: along the dim, index o of the result reads index
  // (o * stride + offset) / dilation of the operand where that is whole and inside it. Along a dim
  // of an operand without an entry index o reads index o.
  std::vector<std::vector<int64_t>> reads;
  int64_t fill = -1;  // the operand, a scalar, that stands where nothing is read; -1: all is read
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("from", s.from);
    f("to", s.to);
    f("reads", s.reads);
    f("fill", s.fill);
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
