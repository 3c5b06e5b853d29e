// Writes the programs of a fused group: which value is in the accumulator when, what is spilled to
// slots, which values are made once per row, and which are kept for a later pass over the row.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/fused_config.h"

namespace tessera::kernels {
namespace {

using plan::Reduction;
using plan::ScalarOp;

// A value that costs more than this per element is kept for later passes if the row is short
// enough for the second level cache; else it is computed again.
constexpr float kWorthKeeping = 6;
constexpr int64_t kMostKeptBytes = 512 << 10;

struct Step {
  KernelPair kernel;
  Operand a, b;
  BlockFn block = nullptr;
  uint64_t info = 0;
};

// Memory of a call, and what is where for as long as a row lasts.
struct RowMemory {
  int64_t bytes = 0;
  std::vector<int64_t> slot, kept, sums, carry;  // per node; -1: none
  std::vector<const ConstantSlot*> constant;
  std::vector<int64_t> free_slots;

  int64_t Allocate(int64_t n) {
    const int64_t offset = bytes;
    bytes += (n + 63) / 64 * 64;
    return offset;
  }
};

// Whether op(a, b) = op(b, a) for every bit that can matter.
bool Commutes(uint8_t code) {
  using enum ScalarOp;
  for (ScalarOp op : {kAdd, kMul, kMax, kMin, kAnd, kOr, kXor, kEq, kNe})
    if (code == CodeOf(op)) return true;
  return false;
}

// Writes one program.
class Program {
 public:
  Program(const Graph& graph, FusedConfig& config, RowMemory& memory, bool per_row)
      : g_(graph), c_(config), t_(*config.table), m_(memory), per_row_(per_row) {
    uses_.assign(graph.nodes.size(), 0);
    temp_.assign(graph.nodes.size(), -1);
    need_.assign(graph.nodes.size(), -1);
    writes_.assign(graph.nodes.size(), false);
    reads_.assign(graph.nodes.size(), false);
  }

  // Values that this pass writes to their row buffers, and those that it reads from there.
  void KeepIn(const std::vector<int>& pass_of_node, int pass) {
    for (size_t i = 0; i < pass_of_node.size(); ++i) {
      writes_[i] = pass_of_node[i] == pass;
      reads_[i] = pass_of_node[i] >= 0 && pass_of_node[i] < pass;
    }
  }
  // Announces a use of the node; all uses must be before the first Evaluate.
  void Use(int node);
  // Leaves the node's value in the accumulator, for one of its uses.
  void Evaluate(int node);
  void Finish(int node) { Release(node); }

  void Accumulate(int node);
  void Init(int reduce, bool carried);
  void StoreOutput(int tensor, DType dtype, int node);
  void Fold(int reduce);

  const std::vector<size_t>& stored() const { return whole_; }
  std::vector<Instr> Tile(bool stream) const;
  std::vector<Instr> Vector() const;

 private:
  bool Half(Lane lane) const { return g_.wide && !IsWide(lane); }
  // Where the node's value can be read from, if it is in memory.
  bool InMemory(int node) const;
  Operand At(int node) const;
  Operand Slot(int64_t offset) const { return {kScratch, 0, offset}; }
  Operand Tensor(int tensor, bool steps) const {
    const TensorView& view = c_.layout.tensors[static_cast<size_t>(tensor)];
    return {kFirstTensor + static_cast<uint32_t>(tensor),
            steps ? static_cast<uint32_t>(view.itemsize) : 0, 0};
  }
  int IotaTensor(int node) const;
  bool IsStream(int node) const;

  int Need(int node);
  void Spill(int node);
  void Release(int node);
  void Operation(int node);
  void Input(int node);
  void Iota(int node);
  void Recast(int node);
  void Binary(const GraphNode& n, int k);
  void Select(const GraphNode& n, int k);
  int Prepare(const GraphNode& n);
  void Emit(const KernelPair& kernel, Operand a = {}, Operand b = {}) {
    steps_.push_back({kernel, a, b});
  }
  void EmitBlock(BlockFn block, Operand a = {}, Operand b = {}, uint64_t info = 0) {
    steps_.push_back({t_.block, a, b, block, info});
  }

  const Graph& g_;
  FusedConfig& c_;
  const KernelTable& t_;
  RowMemory& m_;
  const bool per_row_;
  std::vector<Step> steps_;
  std::vector<int> uses_, need_;
  std::vector<int64_t> temp_;
  std::vector<bool> writes_, reads_;  // row buffers
  std::vector<size_t> whole_;  // tensors stored by whole vectors
  int acc_ = -1;
};

bool Program::IsStream(int node) const {
  const GraphNode& n = g_.nodes[static_cast<size_t>(node)];
  return n.kind == GraphNode::kInput && !per_row_ && IsNative(n.dtype) && !Half(n.lane) &&
         c_.layout.tensors[static_cast<size_t>(n.tensor)].kind == TensorView::kStream;
}

bool Program::InMemory(int node) const {
  const auto i = static_cast<size_t>(node);
  return g_.nodes[i].kind == GraphNode::kConstant || m_.slot[i] >= 0 || temp_[i] >= 0 ||
         reads_[i] || IsStream(node);
}

Operand Program::At(int node) const {
  const auto i = static_cast<size_t>(node);
  const GraphNode& n = g_.nodes[i];
  if (n.kind == GraphNode::kConstant)
    return {kAbsolute, 0, reinterpret_cast<intptr_t>(m_.constant[i])};
  if (temp_[i] >= 0) return Slot(temp_[i]);
  if (m_.slot[i] >= 0) return Slot(m_.slot[i]);
  if (IsStream(node)) {
    c_.layout.tensors[static_cast<size_t>(n.tensor)].reads_whole = true;
    return Tensor(n.tensor, true);
  }
  return {kScratch, IsWide(n.lane) ? 8u : 4u, m_.kept[i]};
}

void Program::Use(int node) {
  if (uses_[static_cast<size_t>(node)]++ > 0 || InMemory(node)) return;
  for (int arg : g_.nodes[static_cast<size_t>(node)].args)
    if (arg >= 0 && g_.nodes[static_cast<size_t>(node)].kind != GraphNode::kReduce) Use(arg);
}

// Slots that evaluating the node takes (Sethi and Ullman's number).
int Program::Need(int node) {
  const auto i = static_cast<size_t>(node);
  if (need_[i] >= 0) return need_[i];
  if (InMemory(node) || g_.nodes[i].kind == GraphNode::kReduce) return need_[i] = 0;
  int needs[3] = {0, 0, 0};
  for (int k = 0; k < 3; ++k)
    if (g_.nodes[i].args[k] >= 0) needs[k] = Need(g_.nodes[i].args[k]);
  std::sort(needs, needs + 3, std::greater<>());
  return need_[i] = std::max({1, needs[0], needs[1] + 1});
}

void Program::Spill(int node) {
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

void Program::Release(int node) {
  const auto i = static_cast<size_t>(node);
  if (--uses_[i] > 0 || temp_[i] < 0) return;
  m_.free_slots.push_back(temp_[i]);
  temp_[i] = -1;
}

void Program::Evaluate(int node) {
  const auto i = static_cast<size_t>(node);
  if (acc_ == node) return;
  if (InMemory(node)) {
    Emit(t_.load, At(node));
    acc_ = node;
    return;
  }
  const GraphNode& n = g_.nodes[i];
  switch (n.kind) {
    case GraphNode::kInput: Input(node); break;
    case GraphNode::kIota: Iota(node); break;
    case GraphNode::kReduce: {
      const bool carried = m_.carry[i] >= 0;
      const auto most = static_cast<int64_t>(IsWide(n.lane) ? kWideSums : kNarrowSums);
      const auto width = std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(c_.layout.n, 1, most)));
      const bool narrow_sum = n.lane == Lane::kF32 && n.reduction == Reduction::kSum;
      const BlockFn sums = carried ? t_.finish_f32_carried : t_.finish_f32;
      EmitBlock(narrow_sum ? sums : t_.finish[static_cast<size_t>(n.lane)][static_cast<size_t>(n.reduction)],
                Slot(m_.sums[i]), carried ? Slot(m_.carry[i]) : Operand{}, width);
      break;
    }
    case GraphNode::kRecast: Recast(node); break;
    default: Operation(node); break;
  }
  acc_ = node;
  if (writes_[i]) {
    Emit(t_.store, {kScratch, IsWide(n.lane) ? 8u : 4u, m_.kept[i]});
    reads_[i] = true;
  }
  if (per_row_ ? n.row : uses_[i] > 1) Spill(node);
}

void Program::Input(int node) {
  const GraphNode& n = g_.nodes[static_cast<size_t>(node)];
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
  } else {
    EmitBlock(LoadBlock(n.dtype, g_.wide), Tensor(n.tensor, steps));
  }
}

int Program::IotaTensor(int node) const {
  return static_cast<int>(c_.inputs + c_.outputs) + g_.nodes[static_cast<size_t>(node)].tensor;
}

void Program::Iota(int node) {
  const GraphNode& n = g_.nodes[static_cast<size_t>(node)];
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

void Program::Recast(int node) {
  const GraphNode& n = g_.nodes[static_cast<size_t>(node)];
  Evaluate(n.args[0]);
  const int64_t raw = m_.Allocate(kSlotStride);
  EmitBlock(StoreBlock(n.from, g_.wide), Slot(raw));
  EmitBlock(LoadBlock(n.dtype, g_.wide), Slot(raw));
  Release(n.args[0]);
}

// Brings the operands into memory but for one, in the accumulator, whose number it returns.
int Program::Prepare(const GraphNode& n) {
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

void Program::Binary(const GraphNode& n, int k) {
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
  if (n.block != nullptr) EmitBlock(n.block, other);
  else Emit(t_.op[lane][n.code], other);
}

void Program::Select(const GraphNode& n, int k) {
  const int first = k == 0 ? 1 : 0, second = k == 2 ? 1 : 2;
  Emit(t_.select[k], At(n.args[first]), At(n.args[second]));
}

void Program::Operation(int node) {
  const GraphNode& n = g_.nodes[static_cast<size_t>(node)];
  const int k = Prepare(n);
  if (n.kind == GraphNode::kSelect) Select(n, k);
  else Binary(n, k);
  for (int arg : n.args)
    if (arg >= 0) Release(arg);
}

void Program::Accumulate(int node) {
  const GraphNode& n = g_.nodes[static_cast<size_t>(node)];
  const auto lane = static_cast<size_t>(n.lane), kind = static_cast<size_t>(n.reduction);
  Evaluate(n.args[0]);
  Emit(Half(n.lane) ? t_.accumulate_half[lane][kind] : t_.accumulate[lane][kind],
       Slot(m_.sums[static_cast<size_t>(node)]));
  Release(n.args[0]);
}

void Program::Fold(int reduce) {
  const auto i = static_cast<size_t>(reduce);
  EmitBlock(t_.fold_f32, Slot(m_.sums[i]), Slot(m_.carry[i]));
}

void Program::StoreOutput(int tensor, DType dtype, int node) {
  Evaluate(node);
  TensorView& view = c_.layout.tensors[static_cast<size_t>(tensor)];
  const Lane lane = g_.nodes[static_cast<size_t>(node)].lane;
  if (per_row_ || !IsNative(dtype)) {
    EmitBlock(StoreBlock(dtype, g_.wide), Tensor(tensor, !per_row_));
  } else {
    view.writes_whole = true;
    whole_.push_back(static_cast<size_t>(tensor));
    Emit(Half(lane) ? t_.store_half : t_.store, Tensor(tensor, true));
  }
  Release(node);
}

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

std::vector<Instr> Program::Tile(bool stream) const {
  return Link(steps_, t_, c_.tile, false, stream);
}
std::vector<Instr> Program::Vector() const { return Link(steps_, t_, c_.tile, true, false); }

// The identity of a reduction as the lanes hold it.
template <class T>
uint64_t IdentityBits(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  T v = 0;
  if (reduction == Reduction::kProd) v = 1;
  if (reduction == Reduction::kMax) v = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (reduction == Reduction::kMin) v = Limits::has_infinity ? Limits::infinity() : Limits::max();
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<uint32_t>(v);
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<uint64_t>(v);
  else return reduction == Reduction::kAnd ? ~uint64_t{0} : static_cast<uint64_t>(v);
}
uint64_t Identity(DType dtype, Reduction reduction) {
  switch (dtype.code()) {
    case DType::kI8: return IdentityBits<int8_t>(reduction);
    case DType::kI16: return IdentityBits<int16_t>(reduction);
    case DType::kI32: return IdentityBits<int32_t>(reduction);
    case DType::kI64: return IdentityBits<int64_t>(reduction);
    case DType::kU8: return IdentityBits<uint8_t>(reduction);
    case DType::kU16: return IdentityBits<uint16_t>(reduction);
    case DType::kBool:
    case DType::kU32: return IdentityBits<uint32_t>(reduction);
    case DType::kU64: return IdentityBits<uint64_t>(reduction);
    case DType::kF64: return IdentityBits<double>(reduction);
    default: return IdentityBits<float>(reduction);
  }
}

// Plans the passes, then writes the programs of each.
class Assembler {
 public:
  Assembler(const plan::FusedDesc& desc, Graph& graph, FusedConfig& config)
      : desc_(desc), g_(graph), c_(config) {}
  void Run();

 private:
  GraphNode& At(int node) { return g_.nodes[static_cast<size_t>(node)]; }
  int OutputNode(size_t k) const { return g_.node_of[static_cast<size_t>(desc_.outputs[k].node)]; }
  const TensorView& OutputView(size_t k) const { return c_.layout.tensors[c_.inputs + k]; }
  const ConstantSlot* Constant(Lane lane, uint64_t bits);
  void MarkRows();
  void MarkLive(int node);
  std::vector<int> Roots(int pass);
  void Touch(int node, int pass, std::vector<bool>& seen, float& cost);
  void KeepValues(const std::vector<std::vector<bool>>& touched, int pass);
  float SubtreeCost(int node, std::vector<bool>& seen);
  void PlanKept();
  void AllocateSums();
  Pass Write(int pass);
  void WriteRow(int pass, Program& p);
  void WriteElements(int pass, Program& p);

  const plan::FusedDesc& desc_;
  Graph& g_;
  FusedConfig& c_;
  RowMemory m_;
  std::vector<bool> live_;
  std::vector<int> kept_in_;   // per node: the pass that keeps it, or -1
  int passes_ = 1;
};

const ConstantSlot* Assembler::Constant(Lane lane, uint64_t bits) {
  ConstantSlot& slot = c_.constants.emplace_back();
  const size_t size = IsWide(lane) ? 8 : 4;
  for (size_t k = 0; k < kSlotBytes; k += size) std::memcpy(slot.bytes + k, &bits, size);
  return &slot;
}

void Assembler::MarkRows() {
  for (size_t i = 0; i < g_.nodes.size(); ++i) {
    GraphNode& n = g_.nodes[i];
    switch (n.kind) {
      case GraphNode::kConstant: m_.constant[i] = Constant(n.lane, n.bits); break;
      case GraphNode::kInput:
        n.row = c_.layout.tensors[static_cast<size_t>(n.tensor)].kind == TensorView::kScalar;
        break;
      case GraphNode::kIota: {
        const size_t t = c_.inputs + c_.outputs + static_cast<size_t>(n.tensor);
        n.row = c_.layout.tensors[t].kind == TensorView::kScalar;
        break;
      }
      case GraphNode::kReduce: n.row = true; break;
      default:
        n.row = true;
        for (int arg : n.args)
          if (arg >= 0) n.row &= At(arg).row || At(arg).kind == GraphNode::kConstant;
    }
  }
}

void Assembler::MarkLive(int node) {
  const auto i = static_cast<size_t>(node);
  if (live_[i]) return;
  live_[i] = true;
  for (int arg : g_.nodes[i].args)
    if (arg >= 0) MarkLive(arg);
}

// What the element program of a pass must evaluate; output 0 comes last, so that it may be written
// over an input.
std::vector<int> Assembler::Roots(int pass) {
  std::vector<int> roots;
  for (size_t i = 0; i < g_.nodes.size(); ++i)
    if (live_[i] && g_.nodes[i].kind == GraphNode::kReduce && g_.nodes[i].level == pass + 1)
      roots.push_back(g_.nodes[i].args[0]);
  for (size_t k = desc_.outputs.size(); k-- > 0;)
    if (!OutputView(k).per_row && At(OutputNode(k)).level == pass) roots.push_back(OutputNode(k));
  return roots;
}

void Assembler::Touch(int node, int pass, std::vector<bool>& seen, float& cost) {
  const auto i = static_cast<size_t>(node);
  const GraphNode& n = g_.nodes[i];
  const bool known = kept_in_[i] >= 0 && kept_in_[i] < pass;
  if (seen[i] || n.row || n.kind == GraphNode::kConstant || known) return;
  seen[i] = true;
  cost += n.cost;
  for (int arg : n.args)
    if (arg >= 0) Touch(arg, pass, seen, cost);
}

float Assembler::SubtreeCost(int node, std::vector<bool>& seen) {
  float cost = 0;
  Touch(node, 0, seen, cost);
  return cost;
}

// Keeps what this pass computes and a later one uses for something that this one has not, if
// computing it again is dear.
void Assembler::KeepValues(const std::vector<std::vector<bool>>& touched, int pass) {
  const auto p = static_cast<size_t>(pass);
  for (size_t q = p + 1; q < touched.size(); ++q) {
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      if (!touched[q][i] || touched[p][i]) continue;
      for (int arg : g_.nodes[i].args) {
        if (arg < 0 || !touched[p][static_cast<size_t>(arg)] || kept_in_[static_cast<size_t>(arg)] >= 0)
          continue;
        const bool full = g_.wide == IsWide(At(arg).lane);
        std::vector<bool> seen(g_.nodes.size(), false);
        if (!full || SubtreeCost(arg, seen) < kWorthKeeping) continue;
        kept_in_[static_cast<size_t>(arg)] = pass;
        const int64_t bytes = c_.layout.n * (g_.wide ? 8 : 4) + static_cast<int64_t>(kSlotBytes);
        m_.kept[static_cast<size_t>(arg)] = m_.Allocate(bytes);
      }
    }
  }
}

void Assembler::PlanKept() {
  float cost = 0;
  for (int pass = 0; pass < passes_; ++pass) {
    std::vector<std::vector<bool>> touched;
    for (int q = 0; q < passes_; ++q) {
      std::vector<bool>& seen = touched.emplace_back(g_.nodes.size(), false);
      float ignored = 0;
      for (int root : Roots(q)) Touch(root, q, seen, q == pass ? cost : ignored);
    }
    if (c_.layout.n * 8 <= kMostKeptBytes) KeepValues(touched, pass);
  }
  c_.cost = cost;
}

void Assembler::AllocateSums() {
  for (size_t i = 0; i < g_.nodes.size(); ++i) {
    const GraphNode& n = g_.nodes[i];
    if (!live_[i] || n.kind != GraphNode::kReduce) continue;
    m_.sums[i] = m_.Allocate(kSlotStride);
    const bool carried = n.lane == Lane::kF32 && n.reduction == Reduction::kSum &&
                         c_.layout.n > static_cast<int64_t>(kBlock);
    if (carried) m_.carry[i] = m_.Allocate(kNarrowSums * sizeof(double));
  }
}

// Values per row of this level that element programs, outputs or later passes use.
void Assembler::WriteRow(int pass, Program& p) {
  std::vector<int> wanted;
  for (size_t i = 0; i < g_.nodes.size(); ++i)
    if (live_[i] && g_.nodes[i].row && g_.nodes[i].level == pass) wanted.push_back(static_cast<int>(i));
  for (int node : wanted) p.Use(node);
  for (int node : wanted) {
    p.Evaluate(node);
    p.Finish(node);
  }
  for (size_t k = 0; k < desc_.outputs.size(); ++k) {
    if (!OutputView(k).per_row || At(OutputNode(k)).level != pass) continue;
    p.Use(OutputNode(k));
    p.StoreOutput(static_cast<int>(c_.inputs + k), desc_.outputs[k].dtype, OutputNode(k));
  }
  for (size_t i = 0; i < g_.nodes.size(); ++i)
    if (live_[i] && g_.nodes[i].kind == GraphNode::kReduce && g_.nodes[i].level == pass + 1)
      p.Init(static_cast<int>(i), m_.carry[i] >= 0);
}

void Program::Init(int reduce, bool carried) {
  const auto i = static_cast<size_t>(reduce);
  Emit(t_.load, {kAbsolute, 0, reinterpret_cast<intptr_t>(m_.constant[i])});
  Emit(IsWide(g_.nodes[i].lane) ? t_.broadcast8 : t_.broadcast4, Slot(m_.sums[i]));
  acc_ = -1;
  if (!carried) return;
  // The identity of sums is 0 in f64 too.
  Emit(t_.broadcast8, Slot(m_.carry[i]));
  Emit(t_.broadcast8, Slot(m_.carry[i] + static_cast<int64_t>(kSlotBytes)));
}

void Assembler::WriteElements(int pass, Program& p) {
  for (int root : Roots(pass)) p.Use(root);
  for (size_t i = 0; i < g_.nodes.size(); ++i)
    if (live_[i] && g_.nodes[i].kind == GraphNode::kReduce && g_.nodes[i].level == pass + 1)
      p.Accumulate(static_cast<int>(i));
  for (size_t k = desc_.outputs.size(); k-- > 0;)
    if (!OutputView(k).per_row && At(OutputNode(k)).level == pass)
      p.StoreOutput(static_cast<int>(c_.inputs + k), desc_.outputs[k].dtype, OutputNode(k));
}

Pass Assembler::Write(int pass) {
  Pass out;
  Program row(g_, c_, m_, true);
  WriteRow(pass, row);
  out.row = row.Vector();
  Program elements(g_, c_, m_, false);
  elements.KeepIn(kept_in_, pass);
  WriteElements(pass, elements);
  out.tile = elements.Tile(false);
  out.tile_stream = elements.Tile(true);
  out.vector = elements.Vector();
  out.stored = elements.stored();
  Program fold(g_, c_, m_, true);
  for (size_t i = 0; i < g_.nodes.size(); ++i)
    if (m_.carry[i] >= 0 && g_.nodes[i].level == pass + 1) fold.Fold(static_cast<int>(i));
  out.fold = fold.Vector();
  return out;
}

void Assembler::Run() {
  const size_t n = g_.nodes.size();
  m_.bytes = c_.scratch_bytes;
  for (auto* v : {&m_.slot, &m_.kept, &m_.sums, &m_.carry}) v->assign(n, -1);
  m_.constant.assign(n, nullptr);
  live_.assign(n, false);
  kept_in_.assign(n, -1);
  for (size_t k = 0; k < desc_.outputs.size(); ++k) {
    MarkLive(OutputNode(k));
    passes_ = std::max(passes_, At(OutputNode(k)).level + 1);
  }
  MarkRows();
  for (size_t i = 0; i < n; ++i)
    if (g_.nodes[i].kind == GraphNode::kReduce)
      m_.constant[i] = Constant(g_.nodes[i].lane, Identity(g_.nodes[i].dtype, g_.nodes[i].reduction));
  AllocateSums();
  PlanKept();
  for (int pass = 0; pass < passes_; ++pass) c_.passes.push_back(Write(pass));
  c_.last_pass_stores_first = !OutputView(0).per_row && At(OutputNode(0)).level == passes_ - 1;
  c_.scratch_bytes = m_.bytes;
}

}  // namespace

void Assemble(const plan::FusedDesc& desc, Graph& graph, FusedConfig& config) {
  Assembler(desc, graph, config).Run();
}

}  // namespace tessera::kernels
