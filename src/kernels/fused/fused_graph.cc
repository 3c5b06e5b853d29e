// Builds the graph of lanes of a fused group: conversions, roundings, and ops that take
// several steps.
#include "kernels/fused/fused_graph.h"

#include <bit>
#include <cstring>

#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "kernels/elements/scalar_elements.h"
#include "kernels/fused/fused_graph_builder.h"
#include "kernels/fused/scalar_functions.h"

namespace tessera::kernels {

using plan::FusedNode;
using plan::ScalarOp;

Lane LaneOf(DType dtype, bool wide) {
  switch (base::StoredAs(dtype).code()) {  // lanes hold the bits of f8
    case DType::kBool:
      return wide ? Lane::kU64 : Lane::kU32;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
      return Lane::kI32;
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
      return Lane::kU32;
    case DType::kI64:
      return Lane::kI64;
    case DType::kU64:
    case DType::kKey:
      return Lane::kU64;
    case DType::kF64:
    case DType::kC128:
      return Lane::kF64;
    default:
      return Lane::kF32;
  }
}

int LaneGraphBuilder::Append(LaneNode node) {
  for (int arg : node.args)
    if (arg >= 0) node.level = std::max(node.level, g_.nodes[arg].level);
  node.level += node.kind == LaneNode::kReduce;
  g_.nodes.push_back(node);
  return static_cast<int>(g_.nodes.size()) - 1;
}

int LaneGraphBuilder::Constant(Lane lane, uint64_t bits) {
  auto [it, is_new] = constants_.try_emplace({lane, bits}, -1);
  if (is_new) it->second = Append({.kind = LaneNode::kConstant, .lane = lane, .bits = bits});
  return it->second;
}

int LaneGraphBuilder::Number(Lane lane, double value) {
  switch (lane) {
    case Lane::kF32:
      return Constant(lane, std::bit_cast<uint32_t>(static_cast<float>(value)));
    case Lane::kF64:
      return Constant(lane, std::bit_cast<uint64_t>(value));
    case Lane::kI32:
    case Lane::kU32:
      return Constant(lane, static_cast<uint32_t>(static_cast<int64_t>(value)));
    default:
      return Constant(lane, static_cast<uint64_t>(static_cast<int64_t>(value)));
  }
}

int LaneGraphBuilder::Op(Lane lane, ScalarOp op, int a, int b, int c) {
  if (op == ScalarOp::kMul && a == b) return Coded(lane, kSquare, a);
  LaneNode node{.lane = lane, .op_lane = lane, .code = CodeOf(op)};
  node.args[0] = a, node.args[1] = b, node.args[2] = c;
  node.cost = plan::FactsOf(op).cost;
  if (base::At(table_.op, lane)[node.code].vector == nullptr) {
    node.block = base::At(table_.vector_math, lane)[node.code];
    if (node.block == nullptr)
      node.block = ScalarBlock(lane, op), node.cost = std::max(node.cost, 60.0f);
    if (node.block == nullptr) FailWithoutKernel();
  }
  return Append(node);
}

void LaneGraphBuilder::FailWithoutKernel() {
  ErrorDetail detail;
  detail.op = "fused";
  detail.reason = "a scalar function has no kernel for its dtype";
  base::ThrowInternal(std::move(detail));
}

int LaneGraphBuilder::Coded(Lane lane, uint8_t code, int a) {
  LaneNode node{.lane = lane, .op_lane = lane, .code = code};
  node.args[0] = a;
  node.cost = 1;
  return Append(node);
}

int LaneGraphBuilder::Block(Lane lane, BlockFn block, float cost, int a, int b) {
  LaneNode node{.lane = lane, .op_lane = lane, .block = block};
  node.args[0] = a, node.args[1] = b;
  node.cost = cost;
  return Append(node);
}

int LaneGraphBuilder::Select(int p, int a, int b) {
  const Lane lane = g_.nodes[a].lane;
  if (g_.wide && !IsWide(lane)) p = Block(Lane::kI32, ConvertBlock(Lane::kI64, Lane::kI32), 2, p);
  LaneNode node{.kind = LaneNode::kSelect, .lane = lane};
  node.args[0] = p, node.args[1] = a, node.args[2] = b;
  node.cost = 1;
  return Append(node);
}

int LaneGraphBuilder::Fit(DType dtype, int v) {
  if (dtype == f16) return Coded(Lane::kF32, kRoundF16, v);
  if (dtype == bf16) return Coded(Lane::kF32, kRoundBF16, v);
  if (!dtype.is_integer() || dtype.size() >= 4) return v;
  if (dtype.is_unsigned()) return LowBits(dtype, v);
  const int by = Number(Lane::kI32, 32 - dtype.bits());
  v = Op(Lane::kI32, ScalarOp::kShiftLeft, v, by);
  return Op(Lane::kI32, ScalarOp::kShiftRightArithmetic, v, by);
}

int LaneGraphBuilder::LowBits(DType dtype, int v) {
  if (dtype.size() >= 4) return v;
  const Lane lane = LaneOf(dtype, g_.wide);
  return Op(lane, ScalarOp::kAnd, v, Number(lane, (1 << dtype.bits()) - 1));
}

int LaneGraphBuilder::Saturate(DType to, int v) {
  if (!to.is_integer() || to.size() >= 4) return v;
  const Lane lane = LaneOf(to, g_.wide);
  const int bits = to.bits() - (to.is_signed() ? 1 : 0);
  const double most = static_cast<double>((1 << bits) - 1), least = to.is_signed() ? -most - 1 : 0;
  v = Op(lane, ScalarOp::kMin, v, Number(lane, most));
  return to.is_signed() ? Op(lane, ScalarOp::kMax, v, Number(lane, least)) : v;
}

int LaneGraphBuilder::WidenMask(Lane op_lane, int v) {
  if (!g_.wide || IsWide(op_lane)) return v;
  return Block(Lane::kU64, ConvertBlock(Lane::kI32, Lane::kI64), 2, v);
}

// Converts between lanes. `small`: on the way to floats of fewer than 32 bits.
int LaneGraphBuilder::ToLane(Lane from, Lane to, bool small, int v) {
  const bool vector = to == Lane::kF32 && (from == Lane::kI32 || from == Lane::kU32) && !small;
  if (!vector) return Block(to, small ? ConvertOddBlock(from) : ConvertBlock(from, to), 2, v);
  v = Coded(to, CodeOf(ScalarOp::kConvert), v);
  g_.nodes[v].op_lane = from;
  return v;
}

int LaneGraphBuilder::Convert(DType from, DType to, int v) {
  if (from == to) return v;
  if (from.is_float8()) return Convert(f32, to, ReadFloat8(from, v));
  if (from.is_complex() || to.is_complex()) return ConvertComplex(from, to, v);
  const Lane in = LaneOf(from, g_.wide), out = LaneOf(to, g_.wide);
  if (to.is_bool()) return Compare(ScalarOp::kNe, from, v, Number(in, 0));
  if (to.is_float8()) {
    const bool exact = from.is_bool() || in == Lane::kF32;
    return WriteFloat8(to, exact ? Convert(from, f32, v) : ToLane(in, Lane::kF32, true, v));
  }
  if (from.is_bool()) {
    // A select between 1 and 0, which every dtype can represent.
    return Select(v, Number(out, 1), Number(out, 0));
  }
  const bool small = to == f16 || to == bf16;
  if (in != out) v = ToLane(in, out, small, v);
  if (from.is_floating() && to.is_integer()) return Saturate(to, v);
  return Fit(to, v);
}

int LaneGraphBuilder::Bool(ScalarOp op, int a, int b) {
  using enum ScalarOp;
  const Lane lane = LaneOf(bool_, g_.wide);
  switch (op) {
    case kAdd:
    case kMax:
      return Op(lane, kOr, a, b);
    case kMul:
    case kMin:
      return Op(lane, kAnd, a, b);
    case kSub:
      return Op(lane, kXor, a, b);
    case kAbs:
    case kSign:
      return a;
    default:
      return Op(lane, op, a, b);
  }
}

int LaneGraphBuilder::Compare(ScalarOp op, DType dtype, int a, int b) {
  const Lane lane = LaneOf(dtype, g_.wide);
  const int v = Op(lane, op, a, b);
  g_.nodes[v].lane = IsWide(lane) ? Lane::kU64 : Lane::kU32;
  return WidenMask(lane, v);
}

// Lanes hold the bits of f8. Functions take and give f32.
int LaneGraphBuilder::ReadFloat8(DType dtype, int v) {
  return Block(Lane::kF32, ReadFloat8Block(dtype), 4, v);
}
int LaneGraphBuilder::WriteFloat8(DType dtype, int v) {
  return Block(Lane::kU32, WriteFloat8Block(dtype), 8, v);
}

// Adds the functions of integers of up to 16 bits that differ from the 32-bit function followed by
// a wrap.
int LaneGraphBuilder::SmallInteger(ScalarOp op, DType dtype, int a, int b) {
  using enum ScalarOp;
  const Lane lane = LaneOf(dtype, g_.wide);
  switch (op) {
    case kPopulationCount:
      return Fit(dtype, Op(lane, op, LowBits(dtype, a)));
    case kClz: {
      const int extra = Number(lane, 32 - dtype.bits());
      return Fit(dtype, Op(lane, kSub, Op(lane, op, LowBits(dtype, a)), extra));
    }
    case kMulHigh: {  // the whole product fits a lane
      const ScalarOp down = dtype.is_signed() ? kShiftRightArithmetic : kShiftRightLogical;
      return Op(lane, down, Op(lane, kMul, a, b), Number(lane, dtype.bits()));
    }
    case kShiftRightLogical:
      return Fit(dtype, Op(lane, op, LowBits(dtype, a), b));
    case kShiftRightArithmetic: {
      // The highest bit of an unsigned number is shifted in as well, so move it to the lane's
      // highest bit first.
      if (dtype.is_signed()) return Fit(dtype, Op(lane, op, a, b));
      const int extra = Number(lane, 32 - dtype.bits());
      const int top = Op(lane, op, Op(lane, kShiftLeft, a, extra), extra);
      return Fit(dtype, Op(lane, op, top, b));
    }
    default:
      return Fit(dtype, Op(lane, op, a, b));
  }
}

int LaneGraphBuilder::Scalar(const FusedNode& node) {
  using enum ScalarOp;
  const auto value = [&](int k) { return node.args[k] < 0 ? -1 : g_.node_of[node.args[k]]; };
  const DType operand = desc_.nodes[node.args[0]].dtype;
  if (node.op == kConvert) return Convert(operand, node.dtype, value(0));
  if (node.op == kSelect && !node.dtype.is_complex()) return Select(value(0), value(2), value(1));
  if (node.dtype.is_complex() || operand.is_complex()) return ComplexScalar(node);
  if (!operand.is_float8())
    return Function(node.op, operand, node.dtype, {value(0), value(1), value(2)});
  std::array<int, 3> read = {-1, -1, -1};
  for (int k = 0; k < 3; ++k)
    if (value(k) >= 0) read[k] = ReadFloat8(operand, value(k));
  if (!node.dtype.is_float8()) return Function(node.op, f32, node.dtype, read);
  return WriteFloat8(node.dtype, Function(node.op, f32, f32, read));
}

int LaneGraphBuilder::Function(ScalarOp op, DType operand, DType dtype, std::array<int, 3> values) {
  using enum ScalarOp;
  const plan::ScalarFacts facts = plan::FactsOf(op);
  const auto [a, b, c] = values;
  if (facts.compares) return Compare(op, operand, a, b);
  const Lane lane = LaneOf(operand, g_.wide);
  if (op == kIsFinite) {
    if (!operand.is_floating()) return Constant(LaneOf(bool_, g_.wide), ~uint64_t{0});
    return Compare(op, operand, a, -1);
  }
  if (op == kRelu) return Op(lane, kMax, a, Number(lane, 0));
  if (op == kClamp) {
    if (dtype.is_bool()) return Bool(kMin, Bool(kMax, b, a), c);
    return Op(lane, kMin, Op(lane, kMax, b, a), c);
  }
  if (dtype.is_bool()) return Bool(op, a, b);
  if (!dtype.is_floating() && (facts.rounds || (op == kAbs && dtype.is_unsigned()))) return a;
  if (dtype.is_integer() && dtype.size() < 4) return SmallInteger(op, dtype, a, b);
  if (op == kNextafter) return Block(lane, NextafterBlock(dtype), 10, a, b);
  const int v = Op(lane, op, a, b, c);
  if (op == kRandomBits32) return Convert(u64, dtype, v);
  return facts.exact ? v : Fit(dtype, v);
}

int LaneGraphBuilder::HeldConstant(const FusedNode& node) {
  if (node.dtype.is_complex()) return ComplexConstant(node);
  const Lane lane = LaneOf(node.dtype, g_.wide);
  return base::VisitDType(node.dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, bool>) {
      const uint64_t ones = g_.wide ? ~uint64_t{0} : uint64_t{0xffffffff};
      return Constant(lane, (node.bits.low & 0xff) != 0 ? ones : 0);
    } else {
      T v;
      std::memcpy(static_cast<void*>(&v), node.bits.data(), sizeof(T));
      const auto held = Widen(v);
      if constexpr (std::is_same_v<T, double>)
        return Constant(lane, std::bit_cast<uint64_t>(held));
      else if constexpr (std::is_floating_point_v<std::decay_t<decltype(held)>>)
        return Constant(lane, std::bit_cast<uint32_t>(static_cast<float>(held)));
      else if constexpr (sizeof(T) == 8)
        return Constant(lane, static_cast<uint64_t>(held));
      else
        return Constant(lane, static_cast<uint32_t>(held));
    }
  });
}

int LaneGraphBuilder::Node(const FusedNode& node) {
  const Lane lane = LaneOf(node.dtype, g_.wide);
  switch (node.kind) {
    case FusedNode::kInput: {
      if (node.dtype.is_complex()) return ComplexInput(node);
      LaneNode n{.kind = LaneNode::kInput, .lane = lane};
      n.dtype = node.dtype, n.tensor = node.input;
      n.cost = IsNative(node.dtype) ? 0 : 2;
      return Append(n);
    }
    case FusedNode::kIota: {
      LaneNode n{.kind = LaneNode::kIota, .lane = lane};
      n.dtype = node.dtype, n.tensor = IndexTensor(node);
      n.cost = 2;
      if (node.dtype.is_complex()) return Pair({Append(n), Number(lane, 0)});
      return Fit(node.dtype, Append(n));
    }
    case FusedNode::kConstant:
      return HeldConstant(node);
    case FusedNode::kScalar:
      return CountsUnderOneKey(node) ? RandomBits(node) : Scalar(node);
    default:
      break;
  }
  if (node.dtype.is_complex()) return ComplexSum(node);
  LaneNode n{.kind = LaneNode::kReduce, .lane = lane, .dtype = node.dtype};
  n.reduction = node.reduction;
  using enum Reduction;
  if (node.dtype.is_bool()) {
    const bool any = n.reduction == kSum || n.reduction == kMax || n.reduction == kOr;
    if (n.reduction != kXor) n.reduction = any ? kOr : kAnd;
  }
  n.args[0] = g_.node_of[node.args[0]];
  n.cost = 1;
  const int v = Append(n);
  const bool exact = n.reduction != kSum && n.reduction != kProd;
  return exact ? v : Fit(node.dtype, v);
}

// Whether the op makes 32 random bits from an index under a key that is the same for the whole row.
// Then neither key nor index is held in lanes, which would have to be 64 bits wide.
bool LaneGraphBuilder::CountsUnderOneKey(const FusedNode& node) const {
  if (node.kind != FusedNode::kScalar || node.op != ScalarOp::kRandomBits32) return false;
  const FusedNode &key = base::At(desc_.nodes, node.args[0]),
                  &counter = base::At(desc_.nodes, node.args[1]);
  if (counter.kind != FusedNode::kIota) return false;
  if (key.kind == FusedNode::kConstant) return true;
  return key.kind == FusedNode::kInput &&
         base::At(layout_.tensors, key.input).kind == TensorView::kScalar;
}

int LaneGraphBuilder::RandomBits(const FusedNode& node) {
  const FusedNode& key = base::At(desc_.nodes, node.args[0]);
  LaneNode n{.kind = LaneNode::kRandomBits, .lane = Lane::kU32};
  n.tensor = IndexTensor(base::At(desc_.nodes, node.args[1]));
  n.bits = key.bits.low;
  n.key = key.input;
  n.cost = plan::FactsOf(node.op).cost;
  return Append(n);
}

// Returns which nodes are held in lanes: all but keys and indices that are used only for
// random bits.
std::vector<bool> LaneGraphBuilder::NodesInLanes() const {
  std::vector<bool> held(desc_.nodes.size(), false);
  for (const auto& output : desc_.outputs) base::At(held, output.node) = true;
  for (size_t i = held.size(); i-- > 0;) {
    if (!held[i] || CountsUnderOneKey(desc_.nodes[i])) continue;
    for (int arg : desc_.nodes[i].args)
      if (arg >= 0) base::At(held, arg) = true;
  }
  return held;
}

LaneGraph LaneGraphBuilder::Build() {
  const std::vector<bool> held = NodesInLanes();
  for (size_t i = 0; i < held.size(); ++i)
    if (held[i] && base::PartOf(desc_.nodes[i].dtype).size() == 8) g_.wide = true;
  for (size_t i = 0; i < held.size(); ++i)
    g_.node_of.push_back(held[i] ? Node(desc_.nodes[i]) : -1);
  return std::move(g_);
}

LaneGraph BuildLaneGraph(const plan::FusedDesc& desc, const RowLayout& layout,
                         const KernelTable& table) {
  return LaneGraphBuilder(desc, layout, table).Build();
}

}  // namespace tessera::kernels
