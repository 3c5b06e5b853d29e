// A fused group of elementwise functions, broadcasts and reductions over trailing dims, which the
// fuser hands to the fused kernel. Plain data.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/element_bits.h"
#include "plan/plan.h"
#include "plan/scalar_op.h"
#include "tessera/dtype.h"
#include "tessera/reduction.h"

namespace tessera::plan {

struct FusedNode {
  enum Kind : uint8_t { kInput, kConstant, kIota, kScalar, kReduce };
  Kind kind = kInput;
  DType dtype;                            // dtype of the node's value
  int32_t input = -1;                     // kInput: index into FusedDesc::inputs
  int32_t iota = -1;                      // kIota: index into FusedDesc::iotas
  base::ElementBits bits = {};            // kConstant
  ScalarOp op = ScalarOp::kAdd;           // kScalar
  Reduction reduction = Reduction::kSum;  // kReduce: reduces args[0] over the reduced dims
  int32_t args[3] = {-1, -1, -1};         // earlier nodes
};

// Whether kReduce nodes reduce the dtype in this way: they reduce the parts of complex numbers
// separately.
constexpr bool ReducesInGroup(DType dtype, Reduction reduction) {
  return !dtype.is_complex() || reduction == Reduction::kSum;
}

// A fused group over one iteration space `dims` (outer dim first). kReduce nodes reduce over the
// last `reduced` dims. A node that depends only on kReduce nodes, constants, and inputs with
// stride 0 along the reduced dims has one value per row, which is broadcast where a per-element
// node uses it.
//
// Every node is rounded to its dtype, f16 and bf16 included, so a fused group gives the same bits
// as its ops run one by one. Float sums accumulate in f32 or wider: short rows in order, longer
// rows in fixed blocks whose order does not depend on `parts`.
struct FusedDesc {
  std::vector<int64_t> dims;
  int32_t reduced = 0;
  // A box of the iteration space. There the input is element offset + dot(position, strides) of
  // `operand`; slices, pads, concatenations and rolls become such boxes. The last dim has stride 1,
  // or all strides are 0 and one element fills the box.
  struct Part {
    std::vector<int64_t> begin, end, strides;
    int64_t offset = 0;
    int32_t operand = -1;
  };
  struct Tensor {
    DType dtype;
    std::vector<int64_t> strides;  // elements per step of each dim of `dims`; 0: broadcast
    int32_t node = -1;             // outputs: the node that is stored
    int32_t operand = -1;  // inputs: index of the kernel's operand; -1: the input's own index
    // Inputs: the index of the only element of the operand that is read; -1: all are read.
    int64_t element = -1;
    // Inputs assembled from several operands: boxes that do not overlap and together cover the
    // space. Along the reduced dims each box is complete and dense, and does not repeat
    // an element.
    std::vector<Part> parts = {};
  };
  // An output is [dims] with no two elements at one address, or one value per row, dense over the
  // dims that are not reduced. With reduced dims or parts all outputs are dense.
  std::vector<Tensor> inputs, outputs;
  // Numbers that are linear in the position in the iteration space.
  struct Iota {
    std::vector<int64_t> strides;  // per dim of `dims`
    std::vector<int64_t> offsets;  // per device: the value at position 0; empty: 0
  };
  std::vector<Iota> iotas;
  std::vector<FusedNode> nodes;
  bool streams = false;  // whether outputs belong to something larger than the caches
  // bytes from the data that a call reads to the data of the next call; 0: unknown
  int64_t ahead = 0;
};

}  // namespace tessera::plan
