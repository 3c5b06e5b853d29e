// Plans the programs of a fused group: the values computed once per row, the pass over the row that
// computes each other value, and the values kept for a later pass.
#include "kernels/fused/fused_assemble.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/at.h"
#include "kernels/fused/fused_write.h"

namespace tessera::kernels {
namespace {

// IsWide relies on the order of the lanes.
static_assert(!IsWide(Lane::kF32) && !IsWide(Lane::kI32) && !IsWide(Lane::kU32) &&
              IsWide(Lane::kF64) && IsWide(Lane::kI64) && IsWide(Lane::kU64));

// A value that costs more than this per element is kept for later passes if the row is short enough
// for L2. Otherwise it is computed again.
constexpr float kWorthKeeping = 6;
constexpr int64_t kMostKeptBytes = 512 << 10;

// Returns the bits of a reduction's identity in its lane.
template <class T>
uint64_t IdentityBits(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  T v = 0;
  if (reduction == Reduction::kProd) v = 1;
  if (reduction == Reduction::kMax)
    v = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (reduction == Reduction::kMin) v = Limits::has_infinity ? Limits::infinity() : Limits::max();
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(v);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(v);
  else
    return reduction == Reduction::kAnd ? ~uint64_t{0} : static_cast<uint64_t>(v);
}
uint64_t Identity(DType dtype, Reduction reduction) {
  switch (dtype.code()) {
    case DType::kI8:
      return IdentityBits<int8_t>(reduction);
    case DType::kI16:
      return IdentityBits<int16_t>(reduction);
    case DType::kI32:
      return IdentityBits<int32_t>(reduction);
    case DType::kI64:
      return IdentityBits<int64_t>(reduction);
    case DType::kU8:
      return IdentityBits<uint8_t>(reduction);
    case DType::kU16:
      return IdentityBits<uint16_t>(reduction);
    case DType::kBool:
    case DType::kU32:
      return IdentityBits<uint32_t>(reduction);
    case DType::kU64:
      return IdentityBits<uint64_t>(reduction);
    case DType::kF64:
      return IdentityBits<double>(reduction);
    default:
      return IdentityBits<float>(reduction);
  }
}

// Plans the passes, then writes the programs of each.
class Assembler {
 public:
  Assembler(const plan::FusedDesc& desc, LaneGraph& graph, FusedConfig& config)
      : desc_(desc), g_(graph), c_(config) {}
  void Run();

 private:
  LaneNode& At(int node) { return base::At(g_.nodes, node); }
  int OutputNode(size_t k) const { return base::At(g_.node_of, desc_.outputs[k].node); }
  const TensorView& OutputView(size_t k) const { return c_.layout.tensors[c_.inputs + k]; }
  // Returns the number of elements that each pass processes before the next pass starts.
  int64_t ElementsPerPass() const {
    return c_.layout.across ? c_.layout.n * static_cast<int64_t>(c_.tile) : c_.layout.n;
  }
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
  void WriteRow(int pass, StepWriter& p);
  void WriteElements(int pass, StepWriter& p);

  const plan::FusedDesc& desc_;
  LaneGraph& g_;
  FusedConfig& c_;
  RowMemory m_;
  std::vector<bool> live_;
  std::vector<int> kept_in_;  // per node: the pass that keeps it; -1: none
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
    LaneNode& n = g_.nodes[i];
    switch (n.kind) {
      case LaneNode::kConstant:
        m_.constant[i] = Constant(n.lane, n.bits);
        break;
      case LaneNode::kInput:
      case LaneNode::kIota:
      case LaneNode::kRandomBits:
        if (n.kind == LaneNode::kRandomBits) m_.constant[i] = Constant(Lane::kU64, n.bits);
        n.row = base::At(c_.layout.tensors, n.tensor).kind == TensorView::kScalar;
        break;
      case LaneNode::kReduce:
        n.row = true;
        break;
      default:
        n.row = true;
        for (int arg : n.args)
          if (arg >= 0) n.row &= At(arg).row || At(arg).kind == LaneNode::kConstant;
    }
  }
}

void Assembler::MarkLive(int node) {
  if (base::At(live_, node)) return;
  base::At(live_, node) = true;
  for (int arg : base::At(g_.nodes, node).args)
    if (arg >= 0) MarkLive(arg);
}

// Returns the nodes that the element program of a pass must evaluate. Output 0 comes last, so that
// it may overwrite an input.
std::vector<int> Assembler::Roots(int pass) {
  std::vector<int> roots;
  for (size_t i = 0; i < g_.nodes.size(); ++i)
    if (live_[i] && g_.nodes[i].kind == LaneNode::kReduce && g_.nodes[i].level == pass + 1)
      roots.push_back(g_.nodes[i].args[0]);
  for (size_t k = desc_.outputs.size(); k-- > 0;)
    if (!OutputView(k).per_row && At(OutputNode(k)).level == pass) roots.push_back(OutputNode(k));
  return roots;
}

void Assembler::Touch(int node, int pass, std::vector<bool>& seen, float& cost) {
  const LaneNode& n = base::At(g_.nodes, node);
  const bool known = base::At(kept_in_, node) >= 0 && base::At(kept_in_, node) < pass;
  if (base::At(seen, node) || n.row || n.kind == LaneNode::kConstant || known) return;
  base::At(seen, node) = true;
  cost += n.cost;
  for (int arg : n.args)
    if (arg >= 0) Touch(arg, pass, seen, cost);
}

float Assembler::SubtreeCost(int node, std::vector<bool>& seen) {
  float cost = 0;
  Touch(node, 0, seen, cost);
  return cost;
}

// Keeps values that this pass computes and a later pass needs for a node that this pass does not
// compute, if recomputing them is expensive.
void Assembler::KeepValues(const std::vector<std::vector<bool>>& touched, int pass) {
  const auto p = static_cast<size_t>(pass);
  for (size_t q = p + 1; q < touched.size(); ++q) {
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      if (!touched[q][i] || touched[p][i]) continue;
      for (int arg : g_.nodes[i].args) {
        if (arg < 0 || !base::At(touched[p], arg) || base::At(kept_in_, arg) >= 0) continue;
        const bool full = g_.wide == IsWide(At(arg).lane);
        std::vector<bool> seen(g_.nodes.size(), false);
        if (!full || SubtreeCost(arg, seen) < kWorthKeeping) continue;
        base::At(kept_in_, arg) = pass;
        const int64_t bytes =
            ElementsPerPass() * (g_.wide ? 8 : 4) + static_cast<int64_t>(kSlotBytes);
        base::At(m_.kept, arg) = m_.Allocate(bytes);
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
    if (ElementsPerPass() * 8 <= kMostKeptBytes) KeepValues(touched, pass);
  }
  c_.cost = cost;
}

void Assembler::AllocateSums() {
  for (size_t i = 0; i < g_.nodes.size(); ++i) {
    const LaneNode& n = g_.nodes[i];
    if (!live_[i] || n.kind != LaneNode::kReduce) continue;
    m_.sums[i] = m_.Allocate(kSlotStride);
    // Across rows the accumulators already hold one value per row.
    if (c_.layout.across) m_.slot[i] = m_.sums[i];
    const bool carried = n.lane == Lane::kF32 && n.reduction == Reduction::kSum &&
                         c_.layout.n > static_cast<int64_t>(kBlock);
    if (carried) m_.carry[i] = m_.Allocate(kNarrowSums * sizeof(double));
  }
}

// Writes the program for the values per row of this level that element programs, outputs or later
// passes use.
void Assembler::WriteRow(int pass, StepWriter& p) {
  std::vector<int> wanted;
  for (size_t i = 0; i < g_.nodes.size(); ++i)
    if (live_[i] && g_.nodes[i].row && g_.nodes[i].level == pass &&
        g_.nodes[i].kind != LaneNode::kPair && !p.IsInMemory(static_cast<int>(i)))
      wanted.push_back(static_cast<int>(i));
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
    if (live_[i] && g_.nodes[i].kind == LaneNode::kReduce && g_.nodes[i].level == pass + 1)
      p.Init(static_cast<int>(i), m_.carry[i] >= 0);
}

void Assembler::WriteElements(int pass, StepWriter& p) {
  for (int root : Roots(pass)) p.Use(root);
  for (size_t i = 0; i < g_.nodes.size(); ++i)
    if (live_[i] && g_.nodes[i].kind == LaneNode::kReduce && g_.nodes[i].level == pass + 1)
      p.Accumulate(static_cast<int>(i));
  for (size_t k = desc_.outputs.size(); k-- > 0;)
    if (!OutputView(k).per_row && At(OutputNode(k)).level == pass)
      p.StoreOutput(static_cast<int>(c_.inputs + k), desc_.outputs[k].dtype, OutputNode(k));
}

Pass Assembler::Write(int pass) {
  Pass out;
  StepWriter row(g_, c_, m_, true);
  WriteRow(pass, row);
  out.row = c_.layout.across ? row.Tile(false) : row.Vector();
  StepWriter elements(g_, c_, m_, false);
  elements.KeepIn(kept_in_, pass);
  WriteElements(pass, elements);
  out.tile = elements.Tile(false);
  out.tile_stream = elements.Tile(true);
  out.vector = elements.Vector();
  out.stored = elements.stored();
  StepWriter fold(g_, c_, m_, true);
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
    if (g_.nodes[i].kind == LaneNode::kReduce)
      m_.constant[i] =
          Constant(g_.nodes[i].lane, Identity(g_.nodes[i].dtype, g_.nodes[i].reduction));
  AllocateSums();
  PlanKept();
  for (int pass = 0; pass < passes_; ++pass) c_.passes.push_back(Write(pass));
  c_.last_pass_stores_first = !OutputView(0).per_row && At(OutputNode(0)).level == passes_ - 1;
  c_.scratch_bytes = m_.bytes;
}

}  // namespace

void Assemble(const plan::FusedDesc& desc, LaneGraph& graph, FusedConfig& config) {
  Assembler(desc, graph, config).Run();
}

}  // namespace tessera::kernels
