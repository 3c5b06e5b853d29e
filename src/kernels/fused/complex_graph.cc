// The nodes of complex numbers in the graph of lanes: each number is two nodes, its parts.
#include <cstring>
#include <numbers>

#include "base/at.h"
#include "base/dtype.h"
#include "kernels/fused/complex_functions.h"
#include "kernels/fused/fused_graph_builder.h"

namespace tessera::kernels {

using plan::FusedNode;
using plan::ScalarOp;

int LaneGraphBuilder::Pair(Parts parts) {
  LaneNode node{.kind = LaneNode::kPair, .lane = base::At(g_.nodes, parts.re).lane};
  node.args[0] = parts.re, node.args[1] = parts.im;
  return Append(node);
}

LaneGraphBuilder::Parts LaneGraphBuilder::PartsOf(DType dtype, int v) {
  if (!dtype.is_complex()) return {v, Number(LaneOf(dtype, g_.wide), 0)};
  const LaneNode& pair = base::At(g_.nodes, v);
  return {pair.args[0], pair.args[1]};
}

int LaneGraphBuilder::ComplexInput(const FusedNode& node) {
  LaneNode n{.kind = LaneNode::kInput, .lane = LaneOf(node.dtype, g_.wide)};
  n.dtype = node.dtype, n.tensor = node.input;
  n.cost = 1;
  const int re = Append(n);
  n.part = 1;
  return Pair({re, Append(n)});
}

int LaneGraphBuilder::ComplexConstant(const FusedNode& node) {
  const Lane lane = LaneOf(node.dtype, g_.wide);
  const auto size = static_cast<size_t>(node.dtype.size() / 2);
  uint64_t re = 0, im = 0;
  std::memcpy(&re, node.bits.data(), size);
  std::memcpy(&im, node.bits.data() + size, size);
  return Pair({Constant(lane, re), Constant(lane, im)});
}

int LaneGraphBuilder::ComplexSum(const FusedNode& node) {
  if (!plan::ReducesInGroup(node.dtype, node.reduction)) FailWithoutKernel();
  const auto [re, im] = PartsOf(node.dtype, base::At(g_.node_of, node.args[0]));
  const auto sum = [&](int part) {
    LaneNode n{.kind = LaneNode::kReduce,
               .lane = LaneOf(node.dtype, g_.wide),
               .dtype = base::PartOf(node.dtype)};
    n.reduction = node.reduction;
    n.args[0] = part;
    n.cost = 1;
    return Append(n);
  };
  const int sum_re = sum(re);
  return Pair({sum_re, sum(im)});
}

int LaneGraphBuilder::ConvertComplex(DType from, DType to, int v) {
  const auto [re, im] = PartsOf(from, v);
  if (to.is_bool())
    return Bool(ScalarOp::kAdd, Convert(base::PartOf(from), to, re),
                Convert(base::PartOf(from), to, im));
  const int real = Convert(base::PartOf(from), base::PartOf(to), re);
  if (!to.is_complex()) return real;
  if (!from.is_complex()) return Pair({real, Number(LaneOf(to, g_.wide), 0)});
  return Pair({real, Convert(base::PartOf(from), base::PartOf(to), im)});
}

int LaneGraphBuilder::CompareComplex(ScalarOp op, Lane lane, Parts a, Parts b) {
  const DType part = IsWide(lane) ? f64 : f32;
  return Bool(op == ScalarOp::kEq ? ScalarOp::kMul : ScalarOp::kAdd, Compare(op, part, a.re, b.re),
              Compare(op, part, a.im, b.im));
}

// As XLA: an infinite factor may give NaN.
int LaneGraphBuilder::ComplexProduct(Lane lane, Parts a, Parts b) {
  using enum ScalarOp;
  const int re = Op(lane, kSub, Op(lane, kMul, a.re, b.re), Op(lane, kMul, a.im, b.im));
  return Pair({re, Op(lane, kAdd, Op(lane, kMul, a.re, b.im), Op(lane, kMul, a.im, b.re))});
}

// Compares real parts, and imaginary parts if the real parts are equal. As in JAX, NaN is neither
// smaller nor larger.
int LaneGraphBuilder::ComplexExtreme(ScalarOp op, DType dtype, int a, int b) {
  const auto [a_re, a_im] = PartsOf(dtype, a);
  const auto [b_re, b_im] = PartsOf(dtype, b);
  const DType part = base::PartOf(dtype);
  const ScalarOp order = op == ScalarOp::kMax ? ScalarOp::kGt : ScalarOp::kLt;
  const int equal = Compare(ScalarOp::kEq, part, a_re, b_re);
  const int first =
      Select(equal, Compare(order, part, a_im, b_im), Compare(order, part, a_re, b_re));
  const int re = Select(first, a_re, b_re);
  return Pair({re, Select(first, a_im, b_im)});
}

// e^x (cos y + i sin y). Two factors e^(x/2), so that the result may be finite although e^x is not.
int LaneGraphBuilder::ComplexExp(Lane lane, Parts z) {
  using enum ScalarOp;
  const int root = Op(lane, kExp, Op(lane, kMul, z.re, Number(lane, 0.5)));
  const int re = Op(lane, kMul, Op(lane, kMul, root, Op(lane, kCos, z.im)), root);
  const int im = Op(lane, kMul, Op(lane, kMul, root, Op(lane, kSin, z.im)), root);
  // An infinite number on the real axis stays on it.
  const int on_axis = Compare(kEq, IsWide(lane) ? f64 : f32, z.im, Number(lane, 0));
  return Pair({re, Select(on_axis, z.im, im)});
}

// large sqrt(1 + (small / large)^2), so no square leaves the range.
int LaneGraphBuilder::ComplexAbs(Lane lane, Parts z) {
  using enum ScalarOp;
  const DType part = IsWide(lane) ? f64 : f32;
  const int re = Op(lane, kAbs, z.re), im = Op(lane, kAbs, z.im);
  const int large = Op(lane, kMax, re, im), small = Op(lane, kMin, re, im);
  const int ratio = Op(lane, kDiv, small, large);
  const int root = Op(lane, kSqrt, Op(lane, kAdd, Op(lane, kMul, ratio, ratio), Number(lane, 1)));
  // Without a ratio: 0 / 0, and infinities.
  const int equal = Compare(kEq, part, small, large);
  const int diagonal = Op(lane, kMul, large, Number(lane, std::numbers::sqrt2));
  return Select(equal, diagonal, Op(lane, kMul, large, root));
}

// Gives a number that is not negative the sign of another.
int LaneGraphBuilder::CopySign(Lane lane, int size, int sign) {
  const Lane bits = IsWide(lane) ? Lane::kU64 : Lane::kU32;
  const int sign_bit = Constant(bits, IsWide(lane) ? uint64_t{1} << 63 : uint64_t{1} << 31);
  const int v = Op(bits, ScalarOp::kOr, size, Op(bits, ScalarOp::kAnd, sign, sign_bit));
  base::At(g_.nodes, v).lane = lane;
  return v;
}

// log |z| = log(large) + log1p((small / large)^2) / 2, and the angle from the arc tangent of the
// same ratio.
int LaneGraphBuilder::ComplexLog(Lane lane, Parts z) {
  using enum ScalarOp;
  const DType part = IsWide(lane) ? f64 : f32;
  const auto number = [&](double v) { return Number(lane, v); };
  const int re = Op(lane, kAbs, z.re), im = Op(lane, kAbs, z.im);
  const int large = Op(lane, kMax, re, im), small = Op(lane, kMin, re, im);
  // Without a ratio: 0 / 0, and infinities.
  const int equal = Select(Compare(kEq, part, large, number(0)), number(0), number(1));
  const int ratio = Select(Compare(kEq, part, small, large), equal, Op(lane, kDiv, small, large));
  const int rest = Op(lane, kLog1p, Op(lane, kMul, ratio, ratio));
  const int size = Op(lane, kAdd, Op(lane, kLog, large), Op(lane, kMul, rest, number(0.5)));
  int angle = Op(lane, kAtan, ratio);
  const int steep = Compare(kGt, part, im, re);
  angle = Select(steep, Op(lane, kSub, number(std::numbers::pi / 2), angle), angle);
  const int left = Compare(kLt, part, CopySign(lane, number(1), z.re), number(0));
  angle = Select(left, Op(lane, kSub, number(std::numbers::pi), angle), angle);
  return Pair({size, CopySign(lane, angle, z.im)});
}

int LaneGraphBuilder::ComplexBlocks(const FusedNode& node) {
  const DType operand = base::At(desc_.nodes, node.args[0]).dtype;
  const Lane lane = LaneOf(operand, g_.wide);
  const ComplexFunction function = ComplexFunctionOf(operand, node.op);
  if (function.block[0] == nullptr) FailWithoutKernel();
  LaneNode n{.lane = lane, .op_lane = lane};
  n.cost = 60;
  for (int k = 0; k < 2 && node.args[k] >= 0; ++k) {
    const auto [re, im] = PartsOf(operand, base::At(g_.node_of, node.args[k]));
    n.args[2 * k] = re, n.args[2 * k + 1] = im;
  }
  n.block = function.block[0];
  const int re = Append(n);
  if (!node.dtype.is_complex()) return re;
  n.block = function.block[1];
  const int im = Append(n);
  g_.nodes[static_cast<size_t>(re)].twin = im;
  g_.nodes[static_cast<size_t>(im)].twin = re;
  return Pair({re, im});
}

int LaneGraphBuilder::ComplexScalar(const FusedNode& node) {
  using enum ScalarOp;
  const auto value = [&](int k) { return node.args[k] < 0 ? -1 : g_.node_of[node.args[k]]; };
  const auto parts = [&](int k) {
    return PartsOf(base::At(desc_.nodes, node.args[k]).dtype, value(k));
  };
  const DType operand = desc_.nodes[node.args[0]].dtype;
  const Lane lane = LaneOf(node.op == kSelect ? node.dtype : operand, g_.wide);
  switch (node.op) {
    case kConvert:
      return Convert(operand, node.dtype, value(0));
    case kComplex:
      return Pair({value(0), value(1)});
    case kReal:
      return parts(0).re;
    case kImag:
      return parts(0).im;
    case kConj:
      return Pair({parts(0).re, Op(lane, kNeg, parts(0).im)});
    case kNeg: {
      const int re = Op(lane, kNeg, parts(0).re);
      return Pair({re, Op(lane, kNeg, parts(0).im)});
    }
    case kAdd:
    case kSub: {
      const int re = Op(lane, node.op, parts(0).re, parts(1).re);
      return Pair({re, Op(lane, node.op, parts(0).im, parts(1).im)});
    }
    case kMul:
      return ComplexProduct(lane, parts(0), parts(1));
    case kExp:
      return ComplexExp(lane, parts(0));
    case kLog:
      return ComplexLog(lane, parts(0));
    case kAbs:
      return ComplexAbs(lane, parts(0));
    case kMax:
    case kMin:
      return ComplexExtreme(node.op, operand, value(0), value(1));
    case kClamp:
      return ComplexExtreme(kMin, operand, ComplexExtreme(kMax, operand, value(0), value(1)),
                            value(2));
    case kSelect: {
      const int re = Select(value(0), parts(2).re, parts(1).re);
      return Pair({re, Select(value(0), parts(2).im, parts(1).im)});
    }
    case kEq:
    case kNe:
      return CompareComplex(node.op, lane, parts(0), parts(1));
    case kIsFinite: {
      const DType part = base::PartOf(operand);
      const int re = Compare(kIsFinite, part, parts(0).re, -1);
      return Bool(kMul, re, Compare(kIsFinite, part, parts(0).im, -1));
    }
    default:
      return ComplexBlocks(node);
  }
}

}  // namespace tessera::kernels
