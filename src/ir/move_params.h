// Parameters of the moves in device programs.
#pragma once
#include "ir/params.h"
#include "sharding/dim_map.h"

namespace tessera::ir {

struct MoveParams {
  const Type *from, *to;  // the place before and after
  friend bool operator==(const MoveParams&, const MoveParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("from", s.from);
    f("to", s.to);
  }
};

// Parameters of halo_exchange: the places, whose dims are in one order, and the elements that
// are read.
struct HaloParams {
  std::vector<const Type*> from;
  const Type* to;
  // [operand, dim, offset, stride, dilation]: along the dim, index o of the result reads index (o *
  // stride + offset) / dilation of the operand, if that is whole and in range. A sixth number is
  // added to the offset once for each shard that precedes index o. Along a dim without an entry,
  // index o reads index o.
  std::vector<std::vector<int64_t>> reads;
  int64_t fill = -1;  // the scalar operand that fills unread elements; -1: all are read
  // [dim, begin, end]: of a device's part of the result, only these positions are kept, one range
  // after the other. Dims without an entry are whole.
  std::vector<std::vector<int64_t>> keep = {};
  friend bool operator==(const HaloParams&, const HaloParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("from", s.from);
    f("to", s.to);
    f("reads", s.reads);
    f("fill", s.fill);
    f("keep", s.keep);
  }
};

// Returns an entry of HaloParams::reads, without its dim.
inline sharding::Access AccessOf(const std::vector<int64_t>& read) {
  return {.operand = static_cast<int32_t>(read[0]),
          .offset = read[2],
          .stride = read[3],
          .dilation = read[4],
          .per_shard = read.size() > 5 ? read[5] : 0};
}

// Parameters of mask_padding: the dims, and the reduction whose identity overwrites their padding.
struct MaskParams {
  OperandDims<0> dims;
  Reduction reduction = Reduction::kSum;
  friend bool operator==(const MaskParams&, const MaskParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dims", s.dims);
    f("reduction", s.reduction);
  }
};

// Parameters of sharding_constraint: the sharding that the user asks for over Auto axes, on the
// mesh without modes.
struct ConstraintParams {
  sharding::TensorSharding sharding;
  friend bool operator==(const ConstraintParams&, const ConstraintParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("sharding", s.sharding);
  }
};

}  // namespace tessera::ir
