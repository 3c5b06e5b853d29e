// A fused group of elementwise functions, broadcasts and reductions over trailing dims: what the
// fuser hands to the fused kernel. Plain data.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/scalar_op.h"
#include "tessera/dtype.h"
#include "tessera/reduction.h"

namespace tessera::plan {

struct FusedNode {
  enum Kind : uint8_t { kInput, kConstant, kIota, kScalar, kReduce };
  Kind kind = kInput;
  DType dtype;                            // of the node's value
  int32_t input = -1;                     // kInput: index into FusedDesc::inputs
  int32_t iota = -1;                      // kIota: index into FusedDesc::iotas
  uint64_t bits = 0;                      // kConstant: the element's bits, low bytes first
  ScalarOp op = ScalarOp::kAdd;           // kScalar
  Reduction reduction = Reduction::kSum;  // kReduce: of args[0] over the reduced dims
  int32_t args[3] = {-1, -1, -1};         // earlier nodes
};

// One iteration space `dims` (outer first). The last `reduced` dims are what kReduce nodes reduce
// over; a node that depends only on kReduce nodes, constants and inputs without stride along the
// reduced dims is a value per row, and is broadcast where a per-element node uses it.
//
// Semantics: every node is rounded to its dtype, f16 and bf16 included, so that a fused group
// gives the bits of its ops run one by one. Sums accumulate floats in f32 or wider: of short rows
// in order, else in fixed blocks whose order does not depend on `parts`.
struct FusedDesc {
  std::vector<int64_t> dims;
  int32_t reduced = 0;
  // A box of the iteration space in which an input is read at element offset + position . strides
  // of an operand: what slices, pads, concatenations and rolls of operands make of them. Along the
  // last dim `strides` is 1; or it is 0 in all dims, and one element fills the box.
  struct Part {
    std::vector<int64_t> begin, end, strides;
    int64_t offset = 0;
    int32_t operand = -1;
  };
  struct Tensor {
    DType dtype;
    std::vector<int64_t> strides;  // elements per dim of `dims`; 0: broadcast along it
    int32_t node = -1;             // of an output: the node it stores
    int32_t operand = -1;          // of an input: the kernel's operand; -1: of its own position
    // Of an input that is one element of its operand: which; -1: it is the operand.
    int64_t element = -1;
    // Of an input: not one operand but these boxes, which are all of the space and do not overlap.
    // Each is whole along the reduced dims; there it is dense and no fill.
    std::vector<Part> parts = {};
  };
  // Outputs are [dims], where no two elements share a place, or, per row, [dims less reduced] and
  // dense. With reduced dims or parts all are dense.
  std::vector<Tensor> inputs, outputs;
  // Numbers that are linear in the position in the iteration space.
  struct Iota {
    std::vector<int64_t> strides;  // per dim of `dims`
    std::vector<int64_t> offsets;  // per device: the first one; empty: 0
  };
  std::vector<Iota> iotas;
  std::vector<FusedNode> nodes;
  bool streams = false;  // outputs are part of something larger than the caches
  int64_t ahead = 0;     // bytes from what a call reads to what the next one will; 0: unknown
};

}  // namespace tessera::plan
