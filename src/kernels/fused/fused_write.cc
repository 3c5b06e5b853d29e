// Orders the steps of one fused program so that few values leave the accumulator.
#include "kernels/fused/fused_write.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace tessera::kernels {
namespace {

using plan::ScalarOp;

// Whether op(a, b) = op(b, a) for every bit that can matter.
bool Commutes(uint8_t code) {
  using enum ScalarOp;
  for (ScalarOp op : {kAdd, kMul, kMax, kMin, kAnd, kOr, kXor, kEq, kNe})
    if (code == CodeOf(op)) return true;
  return false;
}

}  // namespace

bool StepWriter::IsStream(int node) const {
  const LaneNode& n = g_.nodes[static_cast<size_t>(node)];
  return n.kind == LaneNode::kInput && !per_row_ && IsNative(n.dtype) && !Half(n.lane) &&
         c_.layout.tensors[static_cast<size_t>(n.tensor)].kind == TensorView::kStream;
}

bool StepWriter::InMemory(int node) const {
  const auto i = static_cast<size_t>(node);
  return g_.nodes[i].kind == LaneNode::kConstant || m_.slot[i] >= 0 || temp_[i] >= 0 || reads_[i] ||
         IsStream(node);
}

Operand StepWriter::At(int node) const {
  const auto i = static_cast<size_t>(node);
  const LaneNode& n = g_.nodes[i];
  if (n.kind == LaneNode::kConstant)
    return {kAbsolute, 0, reinterpret_cast<intptr_t>(m_.constant[i])};
  if (temp_[i] >= 0) return Slot(temp_[i]);
  if (m_.slot[i] >= 0) return Slot(m_.slot[i]);
  if (IsStream(node)) {
    c_.layout.tensors[static_cast<size_t>(n.tensor)].reads_whole = true;
    return Tensor(n.tensor, true);
  }
  return {kScratch, IsWide(n.lane) ? 8u : 4u, m_.kept[i]};
}

void StepWriter::Use(int node) {
  if (uses_[static_cast<size_t>(node)]++ > 0 || InMemory(node)) return;
  for (int arg : g_.nodes[static_cast<size_t>(node)].args)
    if (arg >= 0 && g_.nodes[static_cast<size_t>(node)].kind != LaneNode::kReduce) Use(arg);
}

// Slots that evaluating the node takes (Sethi and Ullman's number).
int StepWriter::Need(int node) {
  const auto i = static_cast<size_t>(node);
  if (need_[i] >= 0) return need_[i];
  if (InMemory(node) || g_.nodes[i].kind == LaneNode::kReduce) return need_[i] = 0;
  int needs[3] = {0, 0, 0};
  for (int k = 0; k < 3; ++k)
    if (g_.nodes[i].args[k] >= 0) needs[k] = Need(g_.nodes[i].args[k]);
  std::sort(needs, needs + 3, std::greater<>());
  return need_[i] = std::max({1, needs[0], needs[1] + 1});
}

void StepWriter::Spill(int node) {
  const auto i = static_cast<size_t>(node);
  if (InMemory(node)) return;
  if (per_row_) {
    m_.slot[i] = m_.Allocate(kSlotStride);
    Emit(IsWide(g_.nodes[i].lane) ? t_.broadcast8 : t_.broadcast4, Slot(m_.slot[i]));
    return;
  }
  if (m_.free_slots.empty()) m_.free_slots.push_back(m_.Allocate(kSlotStride));
  temp_[i] = m_.free_slots.back();
  m_.free_slots.pop_back();
  Emit(t_.store, Slot(temp_[i]));
}

void StepWriter::Release(int node) {
  const auto i = static_cast<size_t>(node);
  if (--uses_[i] > 0 || temp_[i] < 0) return;
  m_.free_slots.push_back(temp_[i]);
  temp_[i] = -1;
}

void StepWriter::Evaluate(int node) {
  const auto i = static_cast<size_t>(node);
  if (acc_ == node) return;
  if (InMemory(node)) {
    Emit(t_.load, At(node));
    acc_ = node;
    return;
  }
  const LaneNode& n = g_.nodes[i];
  switch (n.kind) {
    case LaneNode::kInput:
      Input(node);
      break;
    case LaneNode::kIota:
      Iota(node);
      break;
    case LaneNode::kReduce:
      EndReduction(node);
      break;
    default:
      Operation(node);
      break;
  }
  acc_ = node;
  if (writes_[i]) {
    Emit(t_.store, {kScratch, IsWide(n.lane) ? 8u : 4u, m_.kept[i]});
    reads_[i] = true;
  }
  if (per_row_ ? n.row : uses_[i] > 1) Spill(node);
}

void StepWriter::EndReduction(int node) {
  const auto i = static_cast<size_t>(node);
  const LaneNode& n = g_.nodes[i];
  const bool carried = m_.carry[i] >= 0;
  const auto most = static_cast<int64_t>(IsWide(n.lane) ? kWideSums : kNarrowSums);
  const auto used = static_cast<uint64_t>(std::clamp<int64_t>(c_.layout.n, 1, most));
  const bool narrow_sum = n.lane == Lane::kF32 && n.reduction == Reduction::kSum;
  const BlockFn sums = carried ? t_.finish_f32_carried : t_.finish_f32;
  const auto lane = static_cast<size_t>(n.lane), kind = static_cast<size_t>(n.reduction);
  EmitBlock(narrow_sum ? sums : t_.finish[lane][kind], Slot(m_.sums[i]),
            carried ? Slot(m_.carry[i]) : Operand{}, std::bit_ceil(used));
}

void StepWriter::Input(int node) {
  const LaneNode& n = g_.nodes[static_cast<size_t>(node)];
  TensorView& view = c_.layout.tensors[static_cast<size_t>(n.tensor)];
  if (!per_row_ && view.kind == TensorView::kGather) {
    c_.gathers.push_back(view.gather);
    EmitBlock(GatherBlock(view.itemsize), Tensor(n.tensor, false), {},
              reinterpret_cast<uintptr_t>(&c_.gathers.back()));
    if (IsNative(n.dtype)) return;
    const int64_t raw = m_.Allocate(kSlotStride);
    Emit(t_.store, Slot(raw));
    EmitBlock(LoadBlock(n.dtype, g_.wide), Slot(raw));
    return;
  }
  const bool steps = !per_row_ && view.kind == TensorView::kStream;
  if (steps && IsNative(n.dtype)) {  // half of the lanes of a wide program
    view.reads_whole = true;
    Emit(t_.load_half, Tensor(n.tensor, true));
  } else if (steps && !g_.wide) {
    view.reads_whole = true;
    Emit(t_.load_stored[n.dtype.code()], Tensor(n.tensor, true));
  } else {
    EmitBlock(LoadBlock(n.dtype, g_.wide), Tensor(n.tensor, steps));
  }
}

int StepWriter::IotaTensor(int node) const {
  return static_cast<int>(c_.inputs + c_.outputs) + g_.nodes[static_cast<size_t>(node)].tensor;
}

void StepWriter::Iota(int node) {
  const LaneNode& n = g_.nodes[static_cast<size_t>(node)];
  const int tensor = IotaTensor(node);
  const TensorView& view = c_.layout.tensors[static_cast<size_t>(tensor)];
  if (view.kind == TensorView::kGather) {
    c_.gathers.push_back(view.gather);
    EmitBlock(GatherIotaBlock(n.lane), Tensor(tensor, false), {},
              reinterpret_cast<uintptr_t>(&c_.gathers.back()));
    return;
  }
  const bool fixed = per_row_ || view.kind == TensorView::kScalar;
  EmitBlock(IotaBlock(n.lane), Tensor(tensor, false), {fixed ? kScratch : kAbsolute, 0, 0});
}

// Brings the operands into memory but for one, in the accumulator, whose number it returns.
int StepWriter::Prepare(const LaneNode& n) {
  std::vector<int> pending;
  int count = 0;
  for (; count < 3 && n.args[count] >= 0; ++count) {
    const int arg = n.args[count];
    if (!InMemory(arg) && std::find(pending.begin(), pending.end(), arg) == pending.end())
      pending.push_back(arg);
  }
  std::stable_sort(pending.begin(), pending.end(), [&](int a, int b) { return Need(a) > Need(b); });
  for (size_t k = 0; k < pending.size(); ++k) {
    Evaluate(pending[k]);
    if (k + 1 < pending.size()) Spill(pending[k]);
  }
  int held = 0;
  const auto in_acc = [&](int k) { return n.args[k] == acc_; };
  if (pending.empty())
    while (held < count && !in_acc(held)) ++held;
  else
    while (!in_acc(held)) ++held;
  if (held == count) {
    held = 0;
    Evaluate(n.args[0]);
  }
  for (int k = 0; k < count; ++k)
    if (k != held && n.args[k] == n.args[held]) Spill(n.args[held]);
  return held;
}

void StepWriter::Binary(const LaneNode& n, int k) {
  const auto lane = static_cast<size_t>(n.op_lane);
  if (k == 1) {
    const KernelPair& reversed = t_.reversed[lane][n.code];
    if (n.block == nullptr && (Commutes(n.code) || reversed.vector != nullptr)) {
      Emit(Commutes(n.code) ? t_.op[lane][n.code] : reversed, At(n.args[0]));
      return;
    }
    Spill(n.args[1]);
    Evaluate(n.args[0]);
  }
  const Operand other = n.args[1] >= 0 ? At(n.args[1]) : Operand{};
  if (n.block != nullptr)
    EmitBlock(n.block, other);
  else
    Emit(t_.op[lane][n.code], other);
}

void StepWriter::Select(const LaneNode& n, int k) {
  const int first = k == 0 ? 1 : 0, second = k == 2 ? 1 : 2;
  Emit(t_.select[k], At(n.args[first]), At(n.args[second]));
}

void StepWriter::Operation(int node) {
  const LaneNode& n = g_.nodes[static_cast<size_t>(node)];
  const int k = Prepare(n);
  if (n.kind == LaneNode::kSelect)
    Select(n, k);
  else
    Binary(n, k);
  for (int arg : n.args)
    if (arg >= 0) Release(arg);
}

void StepWriter::Accumulate(int node) {
  const LaneNode& n = g_.nodes[static_cast<size_t>(node)];
  const auto lane = static_cast<size_t>(n.lane), kind = static_cast<size_t>(n.reduction);
  Evaluate(n.args[0]);
  Emit(Half(n.lane) ? t_.accumulate_half[lane][kind] : t_.accumulate[lane][kind],
       Slot(m_.sums[static_cast<size_t>(node)]));
  Release(n.args[0]);
}

void StepWriter::Fold(int reduce) {
  const auto i = static_cast<size_t>(reduce);
  EmitBlock(t_.fold_f32, Slot(m_.sums[i]), Slot(m_.carry[i]));
}

void StepWriter::StoreOutput(int tensor, DType dtype, int node) {
  Evaluate(node);
  TensorView& view = c_.layout.tensors[static_cast<size_t>(tensor)];
  const Lane lane = g_.nodes[static_cast<size_t>(node)].lane;
  const bool native = IsNative(dtype);
  if (per_row_ || (!native && g_.wide)) {
    EmitBlock(StoreBlock(dtype, g_.wide), Tensor(tensor, !per_row_));
  } else {
    view.writes_whole = true;
    whole_.push_back(static_cast<size_t>(tensor));
    const KernelPair& whole = Half(lane) ? t_.store_half : t_.store;
    Emit(native ? whole : t_.store_stored[dtype.code()], Tensor(tensor, true));
  }
  Release(node);
}

namespace {
std::vector<Instr> Link(const std::vector<Step>& steps, const KernelTable& t, size_t tile,
                        bool vector, bool stream) {
  std::vector<Instr> code;
  for (const Step& s : steps) {
    const void* kernel = vector ? s.kernel.vector : s.kernel.tile;
    const bool store = s.kernel.tile == t.store.tile && s.a.base >= kFirstTensor;
    if (stream && store) kernel = t.stream.tile;
    code.push_back({kernel, s.a, s.b, s.block, s.info, tile});
  }
  if (!code.empty()) code.push_back({vector ? t.stop.vector : t.stop.tile, {}, {}, nullptr, 0, 0});
  return code;
}

}  // namespace

std::vector<Instr> StepWriter::Tile(bool stream) const {
  return Link(steps_, t_, c_.tile, false, stream);
}
std::vector<Instr> StepWriter::Vector() const { return Link(steps_, t_, c_.tile, true, false); }

void StepWriter::Init(int reduce, bool carried) {
  const auto i = static_cast<size_t>(reduce);
  Emit(t_.load, {kAbsolute, 0, reinterpret_cast<intptr_t>(m_.constant[i])});
  Emit(IsWide(g_.nodes[i].lane) ? t_.broadcast8 : t_.broadcast4, Slot(m_.sums[i]));
  acc_ = -1;
  if (!carried) return;
  // The identity of sums is 0 in f64 too.
  Emit(t_.broadcast8, Slot(m_.carry[i]));
  Emit(t_.broadcast8, Slot(m_.carry[i] + static_cast<int64_t>(kSlotBytes)));
}

}  // namespace tessera::kernels
