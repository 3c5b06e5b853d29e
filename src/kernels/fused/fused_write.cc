// Orders the steps of one fused program so that few values leave the accumulator.
#include "kernels/fused/fused_write.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "base/at.h"
#include "kernels/fused/kernel_table.h"

namespace tessera::kernels {
namespace {

using plan::ScalarOp;

// Whether op(a, b) = op(b, a) in every bit that matters.
bool Commutes(uint8_t code) {
  using enum ScalarOp;
  for (ScalarOp op : {kAdd, kMul, kMax, kMin, kAnd, kOr, kXor, kEq, kNe})
    if (code == CodeOf(op)) return true;
  return false;
}

}  // namespace

bool StepWriter::IsStream(int node) const {
  const LaneNode& n = base::At(g_.nodes, node);
  return n.kind == LaneNode::kInput && IsNative(n.dtype) && !IsHalf(n.lane) &&
         (across_ || HasStep(n.tensor));
}

bool StepWriter::IsInMemory(int node) const {
  return base::At(g_.nodes, node).kind == LaneNode::kConstant || base::At(m_.slot, node) >= 0 ||
         base::At(temp_, node) >= 0 || base::At(reads_, node) || IsStream(node);
}

Address StepWriter::At(int node) const {
  const LaneNode& n = base::At(g_.nodes, node);
  if (n.kind == LaneNode::kConstant)
    return {kAbsolute, 0, reinterpret_cast<intptr_t>(base::At(m_.constant, node))};
  if (base::At(temp_, node) >= 0) return Slot(base::At(temp_, node));
  if (base::At(m_.slot, node) >= 0) return Slot(base::At(m_.slot, node));
  if (IsStream(node)) {
    base::At(c_.layout.tensors, n.tensor).reads_whole = true;
    return TensorElement(n.tensor);
  }
  return {kScratch, IsWide(n.lane) ? 8u : 4u, base::At(m_.kept, node)};
}

void StepWriter::Use(int node) {
  if (base::At(uses_, node)++ > 0 || IsInMemory(node)) return;
  for (int arg : base::At(g_.nodes, node).args)
    if (arg >= 0 && base::At(g_.nodes, node).kind != LaneNode::kReduce) Use(arg);
}

// Returns the number of slots that evaluating the node needs (the Sethi-Ullman number).
int StepWriter::SlotsNeeded(int node) {
  const LaneNode& n = base::At(g_.nodes, node);
  if (base::At(need_, node) >= 0) return base::At(need_, node);
  if (IsInMemory(node) || n.kind == LaneNode::kReduce) return base::At(need_, node) = 0;
  int needs[kLaneArgs] = {};
  for (int k = 0; k < kLaneArgs; ++k)
    if (n.args[k] >= 0) needs[k] = SlotsNeeded(n.args[k]);
  std::sort(needs, needs + kLaneArgs, std::greater<>());
  return base::At(need_, node) = std::max({1, needs[0], needs[1] + 1});
}

void StepWriter::Spill(int node) {
  if (IsInMemory(node)) return;
  if (per_row_) {
    base::At(m_.slot, node) = m_.Allocate(kSlotStride);
    const KernelPair& one = IsWide(base::At(g_.nodes, node).lane) ? t_.broadcast8 : t_.broadcast4;
    Emit(across_ ? t_.store : one, Slot(base::At(m_.slot, node)));
    return;
  }
  if (m_.free_slots.empty()) m_.free_slots.push_back(m_.Allocate(kSlotStride));
  base::At(temp_, node) = m_.free_slots.back();
  m_.free_slots.pop_back();
  Emit(t_.store, Slot(base::At(temp_, node)));
}

void StepWriter::Release(int node) {
  if (--base::At(uses_, node) > 0 || base::At(temp_, node) < 0) return;
  m_.free_slots.push_back(base::At(temp_, node));
  base::At(temp_, node) = -1;
}

void StepWriter::Evaluate(int node) {
  if (acc_ == node) return;
  if (IsInMemory(node)) {
    Emit(t_.load, At(node));
    acc_ = node;
    return;
  }
  const LaneNode& n = base::At(g_.nodes, node);
  switch (n.kind) {
    case LaneNode::kInput:
      EmitInput(node);
      break;
    case LaneNode::kIota:
      EmitIota(node);
      break;
    case LaneNode::kRandomBits:
      EmitRandomBits(node);
      break;
    case LaneNode::kReduce:
      EmitReduction(node);
      break;
    default:
      EmitOperation(node);
      break;
  }
  acc_ = node;
  if (base::At(writes_, node)) {
    Emit(t_.store, {kScratch, IsWide(n.lane) ? 8u : 4u, base::At(m_.kept, node)});
    base::At(reads_, node) = true;
  }
  if (per_row_ ? n.row : base::At(uses_, node) > 1) Spill(node);
}

void StepWriter::EmitReduction(int node) {
  const LaneNode& n = base::At(g_.nodes, node);
  if (c_.layout.n <= kShortRow) {
    steps_.push_back({base::At(base::At(t_.finish_in_order, n.lane), n.reduction),
                      Slot(base::At(m_.sums, node)),
                      {},
                      nullptr,
                      static_cast<uint64_t>(std::max<int64_t>(c_.layout.n, 1))});
    return;
  }
  const bool carried = base::At(m_.carry, node) >= 0;
  const auto most = static_cast<int64_t>(IsWide(n.lane) ? kWideSums : kNarrowSums);
  const auto used = static_cast<uint64_t>(std::clamp<int64_t>(c_.layout.n, 1, most));
  const bool narrow_sum = n.lane == Lane::kF32 && n.reduction == Reduction::kSum;
  const KernelPair& sums = carried ? t_.finish_f32_carried : t_.finish_f32;
  steps_.push_back({narrow_sum ? sums : base::At(base::At(t_.finish, n.lane), n.reduction),
                    Slot(base::At(m_.sums, node)),
                    carried ? Slot(base::At(m_.carry, node)) : Address{}, nullptr,
                    std::bit_ceil(used)});
}

// Emits the load of one part of complex numbers.
void StepWriter::EmitPart(const LaneNode& n) {
  TensorView& view = base::At(c_.layout.tensors, n.tensor);
  const int size = view.itemsize / 2;
  const auto part = [&](Address at) {
    at.offset += int64_t{size} * n.part;
    return at;
  };
  if (!per_row_ && !across_ && view.kind == TensorView::kGather) {
    c_.gathers.push_back(view.gather);
    EmitBlock(GatherPartBlock(size), part(TensorOrigin(n.tensor)), {},
              reinterpret_cast<uintptr_t>(&c_.gathers.back()));
  } else if ((HasStep(n.tensor) || across_) && !IsHalf(n.lane)) {
    view.reads_whole = true;
    Emit(t_.load_part[IsWide(n.lane)][n.part], TensorElement(n.tensor));
  } else {
    EmitBlock(LoadPartBlock(size), part(TensorElement(n.tensor)));
  }
}

void StepWriter::EmitInput(int node) {
  const LaneNode& n = base::At(g_.nodes, node);
  if (n.dtype.is_complex()) return EmitPart(n);
  TensorView& view = base::At(c_.layout.tensors, n.tensor);
  if (!per_row_ && !across_ && view.kind == TensorView::kGather) {
    c_.gathers.push_back(view.gather);
    EmitBlock(GatherBlock(view.itemsize), TensorOrigin(n.tensor), {},
              reinterpret_cast<uintptr_t>(&c_.gathers.back()));
    if (IsNative(n.dtype)) return;
    const int64_t raw = m_.Allocate(kSlotStride);
    Emit(t_.store, Slot(raw));
    EmitBlock(LoadBlock(n.dtype, g_.wide), Slot(raw));
    return;
  }
  const bool whole = HasStep(n.tensor) || across_;
  if (whole && IsNative(n.dtype)) {  // a 32-bit value fills half of the lanes of a wide program
    view.reads_whole = true;
    Emit(t_.load_half, TensorElement(n.tensor));
  } else if (whole && !g_.wide) {
    view.reads_whole = true;
    Emit(t_.load_stored[n.dtype.code()], TensorElement(n.tensor));
  } else {
    EmitBlock(LoadBlock(n.dtype, g_.wide), TensorElement(n.tensor));
  }
}

void StepWriter::EmitIota(int node) {
  const LaneNode& n = base::At(g_.nodes, node);
  const TensorView& view = base::At(c_.layout.tensors, n.tensor);
  if (across_) {
    EmitBlock(IndexBlock(n.lane), TensorElement(n.tensor));
    return;
  }
  if (view.kind == TensorView::kGather) {
    c_.gathers.push_back(view.gather);
    EmitBlock(GatherIotaBlock(n.lane), TensorOrigin(n.tensor), {},
              reinterpret_cast<uintptr_t>(&c_.gathers.back()));
    return;
  }
  const bool fixed = per_row_ || view.kind == TensorView::kScalar;
  EmitBlock(IotaBlock(n.lane), TensorOrigin(n.tensor), {fixed ? kScratch : kAbsolute, 0, 0});
}

void StepWriter::EmitRandomBits(int node) {
  const LaneNode& n = base::At(g_.nodes, node);
  const TensorView& view = base::At(c_.layout.tensors, n.tensor);
  const Address key =
      n.key >= 0 ? TensorOrigin(n.key)
                 : Address{kAbsolute, 0, reinterpret_cast<intptr_t>(base::At(m_.constant, node))};
  if (view.kind == TensorView::kGather) {
    c_.gathers.push_back(view.gather);
    EmitBlock(t_.random_bits_gathered, TensorOrigin(n.tensor), key,
              reinterpret_cast<uintptr_t>(&c_.gathers.back()));
    return;
  }
  const bool fixed = per_row_ || view.kind == TensorView::kScalar;
  EmitBlock(t_.random_bits, TensorOrigin(n.tensor), key, uint64_t{fixed});
}

// Evaluates the operands: one into the accumulator, the others into memory. Returns the number of
// the operand in the accumulator.
int StepWriter::PlaceOperands(const LaneNode& n) {
  std::vector<int> pending;
  int count = 0;
  for (; count < kLaneArgs && n.args[count] >= 0; ++count) {
    const int arg = n.args[count];
    if (!IsInMemory(arg) && !absl::c_linear_search(pending, arg)) pending.push_back(arg);
  }
  absl::c_stable_sort(pending, [&](int a, int b) { return SlotsNeeded(a) > SlotsNeeded(b); });
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

// A node with a block alone has code 0, the code of a unary op: no kernel of it takes a number.
static_assert(CodeOf(ScalarOp::kNeg) == 0);

// Whether operand k, which is in memory, is a number that a kernel reads once for all elements.
bool StepWriter::IsReadAsNumber(const LaneNode& n, int k) const {
  if (n.args[k] < 0 || IsHalf(n.op_lane) || !(k == 1 || Commutes(n.code))) return false;
  return IsNumber(n.args[k]) && base::At(t_.number, n.op_lane)[n.code].tile != nullptr;
}

bool StepWriter::IsNumber(int node) const {
  const LaneNode& n = base::At(g_.nodes, node);
  const bool of_row = !per_row_ && !across_ && n.row && base::At(m_.slot, node) >= 0;
  return of_row || n.kind == LaneNode::kConstant;
}

void StepWriter::EmitBinary(const LaneNode& n, int k) {
  const auto lane = n.op_lane;
  if (k == 1) {
    const KernelPair& reversed = base::At(t_.reversed, lane)[n.code];
    if (Commutes(n.code) || reversed.vector != nullptr) {
      const KernelPair& kernel = IsReadAsNumber(n, 0) ? base::At(t_.number, lane)[n.code]
                                 : Commutes(n.code)   ? base::At(t_.op, lane)[n.code]
                                                      : reversed;
      Emit(kernel, At(n.args[0]));
      return;
    }
    Spill(n.args[1]);
    Evaluate(n.args[0]);
  }
  const Address other = n.args[1] >= 0 ? At(n.args[1]) : Address{};
  if (IsReadAsNumber(n, 1))
    Emit(base::At(t_.number, lane)[n.code], other);
  else
    Emit(base::At(t_.op, lane)[n.code], other);
}

// A block that computes both parts of a complex number stores the other part, if it is needed and
// not yet known.
int64_t StepWriter::SlotOfTwin(const LaneNode& n) {
  if (per_row_ || n.twin < 0 || base::At(uses_, n.twin) == 0 || IsInMemory(n.twin) ||
      base::At(writes_, n.twin))
    return 0;
  if (m_.free_slots.empty()) m_.free_slots.push_back(m_.Allocate(kSlotStride));
  base::At(temp_, n.twin) = m_.free_slots.back();
  m_.free_slots.pop_back();
  for (int arg : n.args)
    if (arg >= 0) Release(arg);
  return base::At(temp_, n.twin);
}

void StepWriter::EmitBlockOf(const LaneNode& n, int k) {
  if (k != 0) {
    Spill(n.args[k]);
    Evaluate(n.args[0]);
  }
  const auto at = [&](int arg) { return n.args[arg] >= 0 ? At(n.args[arg]) : Address{}; };
  PendingInstr step{t_.block, at(1), at(2), n.block, 0, at(3)};
  step.info = static_cast<uint64_t>(SlotOfTwin(n));
  steps_.push_back(step);
}

void StepWriter::EmitSelect(const LaneNode& n, int k) {
  const int first = k == 0 ? 1 : 0, second = k == 2 ? 1 : 2;
  Emit(t_.select[k], At(n.args[first]), At(n.args[second]));
}

// If operand k of the node is a product of a value in memory and a constant, and nothing else uses
// it, returns which factor is the value; else -1.
int StepWriter::FactorInMemory(const LaneNode& n, int k) const {
  const int at = n.args[k];
  const LaneNode& product = base::At(g_.nodes, at);
  if (product.kind != LaneNode::kOp || product.code != CodeOf(ScalarOp::kMul) || product.block ||
      product.op_lane != n.op_lane || IsHalf(n.op_lane) || base::At(uses_, at) != 1 ||
      IsInMemory(at) || base::At(writes_, at))
    return -1;
  for (int m : {0, 1}) {
    const int other = product.args[1 - m];
    if (base::At(g_.nodes, other).kind == LaneNode::kConstant && IsInMemory(product.args[m]) &&
        base::At(g_.nodes, product.args[m]).kind != LaneNode::kConstant)
      return m;
  }
  return -1;
}

// Writes the node as one step if one of its operands is a product with a constant. Returns whether
// it did.
bool StepWriter::TryEmitScaled(const LaneNode& n) {
  if (per_row_ || n.kind != LaneNode::kOp || n.block || n.args[1] < 0 || n.args[2] >= 0)
    return false;
  for (int k : {1, 0}) {
    const auto& kernels = k == 1 ? t_.scaled : t_.scaled_reversed;
    const KernelPair& kernel = base::At(kernels, n.op_lane)[n.code];
    const int m = kernel.tile && n.args[0] != n.args[1] ? FactorInMemory(n, k) : -1;
    if (m < 0) continue;
    const LaneNode& product = base::At(g_.nodes, n.args[k]);
    Evaluate(n.args[1 - k]);
    Emit(kernel, At(product.args[m]), At(product.args[1 - m]));
    for (int arg : {product.args[0], product.args[1], n.args[0], n.args[1]}) Release(arg);
    return true;
  }
  return false;
}

// Whether the predicate is a comparison in lanes of the select's size that nothing else uses.
bool StepWriter::IsOnlyCompared(int predicate, const LaneNode& select) const {
  const LaneNode& p = base::At(g_.nodes, predicate);
  return p.kind == LaneNode::kOp && !p.block && p.args[1] >= 0 && !IsHalf(p.op_lane) &&
         IsWide(p.op_lane) == IsWide(select.lane) && base::At(uses_, predicate) == 1 &&
         !IsInMemory(predicate) && !base::At(writes_, predicate);
}

// Writes a select by a comparison as one step, so that no mask goes through memory. Returns whether
// it did.
bool StepWriter::TryEmitSelectByComparison(const LaneNode& n) {
  if (per_row_ || n.kind != LaneNode::kSelect || !IsOnlyCompared(n.args[0], n)) return false;
  const LaneNode& p = base::At(g_.nodes, n.args[0]);
  using enum ScalarOp;
  uint8_t code = p.code;
  const bool is_ne = code == CodeOf(kNe), swaps = code == CodeOf(kLt) || code == CodeOf(kLe);
  if (is_ne) code = CodeOf(kEq);
  if (swaps) code = code == CodeOf(kLt) ? CodeOf(kGt) : CodeOf(kGe);
  const SelectsByComparison& kernels = base::At(t_.select_by, p.op_lane)[code];
  if (kernels.holds.tile == nullptr) return false;
  const auto bring = [&](int arg) {
    if (IsInMemory(arg)) return;
    Evaluate(arg);
    Spill(arg);
  };
  const int x = p.args[swaps ? 1 : 0], y = p.args[swaps ? 0 : 1], yes = n.args[1], no = n.args[2];
  bring(x), bring(y);
  const bool holds_yes = IsInMemory(no) && !IsInMemory(yes);
  const int held = holds_yes ? yes : no, other = holds_yes ? no : yes;
  bring(other);
  Evaluate(held);
  const bool holds = holds_yes != is_ne, number = IsNumber(y);
  Emit(holds ? (number ? kernels.holds_number : kernels.holds)
             : (number ? kernels.fails_number : kernels.fails),
       At(x), At(y), At(other));
  for (int arg : {x, y, n.args[0], yes, no}) Release(arg);
  return true;
}

void StepWriter::EmitOperation(int node) {
  const LaneNode& n = base::At(g_.nodes, node);
  if (TryEmitScaled(n) || TryEmitSelectByComparison(n)) return;
  const int k = PlaceOperands(n);
  if (n.kind == LaneNode::kSelect)
    EmitSelect(n, k);
  else if (n.block != nullptr)
    EmitBlockOf(n, k);
  else
    EmitBinary(n, k);
  for (int arg : n.args)
    if (arg >= 0) Release(arg);
}

void StepWriter::Accumulate(int node) {
  const LaneNode& n = base::At(g_.nodes, node);
  Evaluate(n.args[0]);
  const auto& accumulate = IsHalf(n.lane) ? t_.accumulate_half : t_.accumulate;
  Address sums = Slot(base::At(m_.sums, node));
  sums.step = across_ ? 0 : IsWide(n.lane) ? 8 : 4;
  Emit(base::At(base::At(accumulate, n.lane), n.reduction), sums);
  Release(n.args[0]);
}

void StepWriter::Fold(int reduce) {
  EmitBlock(t_.fold_f32, Slot(base::At(m_.sums, reduce)), Slot(base::At(m_.carry, reduce)));
}

// Stores a complex number, whose parts become operands as those of an operation.
void StepWriter::StoreParts(int tensor, int node) {
  const LaneNode& n = base::At(g_.nodes, node);
  TensorView& view = base::At(c_.layout.tensors, tensor);
  const int k = PlaceOperands(n);
  const Address other = At(n.args[1 - k]);
  if ((per_row_ && !across_) || IsHalf(n.lane)) {
    EmitBlock(StorePartsBlock(view.itemsize / 2, k), TensorElement(tensor), other);
  } else {
    view.writes_whole = true;
    whole_.push_back(base::Size(tensor));
    Emit(t_.store_parts[IsWide(n.lane)][k], TensorElement(tensor), other);
  }
  for (int part : {n.args[0], n.args[1], node}) Release(part);
}

void StepWriter::StoreOutput(int tensor, DType dtype, int node) {
  if (dtype.is_complex()) return StoreParts(tensor, node);
  Evaluate(node);
  TensorView& view = base::At(c_.layout.tensors, tensor);
  const Lane lane = base::At(g_.nodes, node).lane;
  const bool native = IsNative(dtype);
  if ((per_row_ && !across_) || (!native && g_.wide)) {
    EmitBlock(StoreBlock(dtype, g_.wide), TensorElement(tensor));
  } else {
    view.writes_whole = true;
    whole_.push_back(base::Size(tensor));
    const KernelPair& whole = IsHalf(lane) ? t_.store_half : t_.store;
    Emit(native ? whole : t_.store_stored[dtype.code()], TensorElement(tensor));
  }
  Release(node);
}

namespace {
// Replaces two adjacent steps by one kernel that does both. The second step stays in the program:
// the kernel reads its operands there.
void JoinPairs(std::vector<Instr>& code, const KernelTable& t) {
  for (size_t k = 0; k + 1 < code.size(); ++k) {
    for (const KernelsInOne& pair : t.pairs) {
      if (code[k].kernel != pair.first || code[k + 1].kernel != pair.second) continue;
      code[k++].kernel = pair.both;
      break;
    }
  }
}

// Returns the kernel of a store that uses non-temporal stores; null if there is none.
const void* StreamOf(const void* store, const KernelTable& t) {
  if (store == t.store.tile) return t.stream.tile;
  for (int wide : {0, 1})
    for (int part : {0, 1})
      if (store == t.store_parts[wide][part].tile) return t.stream_parts[wide][part].tile;
  return nullptr;
}

std::vector<Instr> Link(const std::vector<PendingInstr>& steps, const KernelTable& t, size_t tile,
                        bool vector, bool stream) {
  std::vector<Instr> code;
  for (const PendingInstr& s : steps) {
    const void* kernel = vector ? s.kernel.vector : s.kernel.tile;
    if (stream && s.a.base >= kFirstTensor)
      if (const void* streamed = StreamOf(s.kernel.tile, t)) kernel = streamed;
    code.push_back({kernel, s.a, s.b, s.c, s.block, s.info, tile});
  }
  if (!code.empty())
    code.push_back({.kernel = vector ? t.stop.vector : t.stop.tile, .a = {}, .b = {}});
  if (!vector) JoinPairs(code, t);
  return code;
}

}  // namespace

std::vector<Instr> StepWriter::Tile(bool stream) const {
  return Link(steps_, t_, c_.tile, false, stream);
}
std::vector<Instr> StepWriter::Vector() const { return Link(steps_, t_, c_.tile, true, false); }

void StepWriter::Init(int reduce, bool carried) {
  Emit(t_.load, {kAbsolute, 0, reinterpret_cast<intptr_t>(base::At(m_.constant, reduce))});
  const KernelPair& fill = IsWide(base::At(g_.nodes, reduce).lane) ? t_.fill8 : t_.fill4;
  Emit(across_ ? t_.store : fill, Slot(base::At(m_.sums, reduce)));
  acc_ = -1;
  if (!carried) return;
  // The identity of sums is 0 in f64 as well.
  Emit(t_.fill8, Slot(base::At(m_.carry, reduce)));
  Emit(t_.fill8, Slot(base::At(m_.carry, reduce) + static_cast<int64_t>(kSlotBytes)));
}

}  // namespace tessera::kernels
