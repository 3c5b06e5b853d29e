// Reductions over rows. Panels of columns are accumulated in L1 while rows stream past, several at
// a time, by small fused groups.
#include "kernels/reduce/reduce_columns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <tuple>

#include "base/at.h"
#include "base/dtype.h"
#include "kernels/copy/copy_simd.h"
#include "kernels/fused/fused.h"
#include "kernels/parts.h"
#include "kernels/reduce/reduce_elements.h"

namespace tessera::kernels {
namespace {

using plan::FusedNode;
using plan::ScalarOp;

constexpr int64_t kWidePanel = 2048, kNarrowPanel = 1024;  // columns
// If there are fewer columns, a panel joins the columns of several outer indices.
constexpr int64_t kFewColumns = 32, kJoined = 64, kLeastJoined = 16;
constexpr int64_t kLeastPanels = 8;  // of joined columns, to occupy the cores
constexpr int64_t kRowsAtOnce = 8;   // streams that the prefetcher can follow
// rows summed in f32 before the sum goes to f64; a multiple of kRowsAtOnce
constexpr int64_t kFoldRows = 128;

// Builds a fused group over one dim.
class Group {
 public:
  // `ahead`: bytes from the data of this call to the data of the next.
  explicit Group(int64_t n, int64_t ahead = 0) { desc_.dims = {n}, desc_.ahead = ahead; }
  int Input(DType dtype) {
    FusedNode node{};
    node.kind = FusedNode::kInput;
    node.dtype = dtype;
    node.input = static_cast<int32_t>(desc_.inputs.size());
    desc_.inputs.push_back({dtype, {1}, -1});
    return Add(node);
  }
  int Op(DType dtype, ScalarOp op, int a, int b = -1) {
    FusedNode node{};
    node.kind = FusedNode::kScalar;
    node.dtype = dtype;
    node.op = op;
    node.args[0] = a, node.args[1] = b;
    return Add(node);
  }
  plan::Kernel Output(DType dtype, int node) {
    desc_.outputs.push_back({dtype, {1}, node});
    return Fused(desc_);
  }

 private:
  int Add(const FusedNode& node) {
    desc_.nodes.push_back(node);
    return static_cast<int>(desc_.nodes.size()) - 1;
  }
  plan::FusedDesc desc_;
};

plan::Kernel Fold(int64_t n) {
  Group g(n);
  const int wide = g.Op(f64, ScalarOp::kConvert, g.Input(f32));
  return g.Output(f64, g.Op(f64, ScalarOp::kAdd, wide, g.Input(f64)));
}
plan::Kernel Convert(DType from, DType to, int64_t n) {
  Group g(n);
  const int in = g.Input(from);
  return g.Output(to, from == to ? in : g.Op(to, ScalarOp::kConvert, in));
}

// The groups for panels of n columns.
struct PanelKernels {
  plan::Kernel several, one, fold, finish;
};

struct ColumnsConfig {
  DType dtype, acc;
  Reduction reduction;
  int64_t outer, rows, columns;
  int64_t joined = 1;  // outer indices that a panel joins
  int64_t panel;       // columns of a panel
  int64_t units;       // panels in total
  bool carries;
  PanelKernels full, last;          // for full panels; for the last one
  std::vector<std::byte> identity;  // identity of the reduction for each column of a panel
  // offsets in scratch; the accumulators are at 0
  int64_t carry_offset = 0, turn_offset = 0, kernel_offset = 0;
};

// Makes acc = acc op rows. The panel's next rows are far from the current ones, so the hardware
// prefetcher does not reach them.
plan::Kernel Step(const ColumnsConfig& c, int64_t n, int64_t rows) {
  const auto [dtype, acc, reduction] = std::tuple(c.dtype, c.acc, c.reduction);
  Group g(n, c.joined > 1 ? 0 : rows * c.columns * dtype.size());
  int sum = -1;
  for (int64_t r = 0; r < rows; ++r) {
    const int row = g.Input(dtype);
    const int wide = dtype == acc ? row : g.Op(acc, ScalarOp::kConvert, row);
    sum = r == 0 ? wide : g.Op(acc, plan::ScalarOpOf(reduction), sum, wide);
  }
  return g.Output(acc, g.Op(acc, plan::ScalarOpOf(reduction), sum, g.Input(acc)));
}

PanelKernels MakePanel(const ColumnsConfig& c, int64_t n) {
  PanelKernels k;
  k.several = Step(c, n, kRowsAtOnce);
  k.one = Step(c, n, 1);
  if (c.carries) k.fold = Fold(n);
  k.finish = Convert(c.carries ? f64 : c.acc, c.dtype, n);
  return k;
}

class Panel {
 public:
  Panel(const ColumnsConfig& c, const plan::KernelArgs& call, int64_t unit)
      : c_(c),
        call_(call),
        size_(c.dtype.size()),
        acc_(call.scratch),
        carry_(call.scratch + c.carry_offset),
        turned_(call.scratch + c.turn_offset) {
    const int64_t per_outer = c.joined > 1 ? 1 : c.units / std::max<int64_t>(c.outer, 1);
    const int64_t outer = unit / per_outer * c.joined, first = unit % per_outer * c.panel;
    joined_ = std::min(c.joined, c.outer - outer);
    n_ = c.joined > 1 ? joined_ * c.columns : std::min(c.panel, c.columns - first);
    k_ = n_ == c.panel ? &c.full : &c.last;
    in_ = call.in[0] + (outer * c.rows * c.columns + first) * size_;
    out_ = call.out[0] + (outer * c.columns + first) * size_;
  }

  void Run() {
    Reset();
    if (c_.carries) std::memset(carry_, 0, base::Size(n_) * sizeof(double));
    for (int64_t r = 0; r < c_.rows;) {
      const int64_t count = c_.rows - r >= kRowsAtOnce ? kRowsAtOnce : 1;
      Add(r, count);
      r += count;
      if (c_.carries && (r == c_.rows || (r % kFoldRows == 0 && count == kRowsAtOnce))) Fold();
    }
    const std::byte* in[] = {c_.carries ? carry_ : acc_};
    Call(k_->finish, in, c_.joined > 1 ? turned_ : out_);
    if (c_.joined > 1)
      TransposeFn()(out_, c_.columns * size_, turned_, joined_ * size_, c_.columns, joined_);
  }

 private:
  // Transposes between [outer index, column] and [column, outer index].
  TransposeTileFn TransposeFn() const {
    return Simd().transpose[std::countr_zero(static_cast<uint64_t>(size_))];
  }
  void Reset() { std::memcpy(acc_, c_.identity.data(), base::Size(n_ * c_.acc.size())); }
  void Add(int64_t row, int64_t count) {
    const std::byte* in[kRowsAtOnce + 1];
    const std::byte* first = in_ + row * c_.columns * size_;
    if (c_.joined > 1) {
      TransposeFn()(turned_, joined_ * size_, first, c_.rows * c_.columns * size_, joined_,
                    count * c_.columns);
      first = turned_;
    }
    for (int64_t k = 0; k < count; ++k) in[k] = first + k * c_.columns * joined_ * size_;
    in[count] = acc_;
    Call(count == 1 ? k_->one : k_->several, in, acc_);
  }
  void Fold() {
    const std::byte* in[] = {acc_, carry_};
    Call(k_->fold, in, carry_);
    Reset();
  }
  void Call(const plan::Kernel& kernel, const std::byte* const* in, std::byte* out) {
    plan::KernelArgs call;
    call.config = kernel.config.get();
    call.in = in;
    call.out = &out;
    call.scratch = call_.scratch + c_.kernel_offset;
    kernel.fn(call);
  }

  const ColumnsConfig& c_;
  const plan::KernelArgs& call_;
  const int64_t size_;
  std::byte *acc_, *carry_, *turned_;
  int64_t joined_, n_;
  const PanelKernels* k_;
  const std::byte* in_;
  std::byte* out_;
};

void RunReduceColumns(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const ColumnsConfig*>(call.config);
  const Range units = Share(c.units, 1, call.part, call.parts);
  for (int64_t u = units.begin; u < units.end; ++u) Panel(c, call, u).Run();
}

std::vector<std::byte> IdentityRow(DType acc, Reduction reduction, int64_t n) {
  std::vector<std::byte> row(base::Size(n * acc.size()));
  base::VisitElement(acc, [&](auto t) {
    using T = decltype(t);
    const T v = Narrow<T>(ReductionIdentity<Compute<T>>(reduction));
    for (size_t k = 0; k < row.size(); k += sizeof(T)) std::memcpy(row.data() + k, &v, sizeof(T));
  });
  return row;
}

int64_t MapScratch(ColumnsConfig& c) {
  const auto lines = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  c.carry_offset = lines(c.panel * c.acc.size());
  c.turn_offset = c.carry_offset + (c.carries ? lines(c.panel * f64.size()) : 0);
  c.kernel_offset =
      c.turn_offset + (c.joined > 1 ? lines(kRowsAtOnce * c.panel * c.dtype.size()) : 0);
  int64_t most = 0;
  for (const PanelKernels* p : {&c.full, &c.last})
    for (const plan::Kernel* k : {&p->several, &p->one, &p->fold, &p->finish})
      most = std::max(most, k->scratch_bytes);
  return c.kernel_offset + most;
}

// Chooses the columns of a panel. Wide panels read longer runs of memory; narrow ones give
// more parts.
int64_t PanelWidth(int64_t outer, int64_t columns) {
  static const int64_t cores = std::max(std::thread::hardware_concurrency(), 1u);
  return outer * (columns / kWidePanel) >= cores ? kWidePanel : kNarrowPanel;
}

// Chooses the panels; returns the columns of the last ones, or 0 if all are equal.
int64_t ChoosePanels(ColumnsConfig& c) {
  if (c.columns > 0 && c.columns < kFewColumns && c.outer >= kLeastJoined) {
    c.joined = std::clamp(c.outer / kLeastPanels, kLeastJoined, kJoined);
    c.panel = c.joined * c.columns;
    c.units = (c.outer + c.joined - 1) / c.joined;
    return c.outer % c.joined * c.columns;
  }
  c.panel = PanelWidth(c.outer, c.columns);
  c.units = c.outer * ((c.columns + c.panel - 1) / c.panel);
  return c.columns % c.panel;
}

}  // namespace

plan::Kernel ReduceColumns(DType dtype, Reduction reduction, int64_t outer, int64_t rows,
                           int64_t columns) {
  auto c = std::make_shared<ColumnsConfig>();
  c->dtype = dtype;
  const bool rounds = reduction == Reduction::kSum || reduction == Reduction::kProd;
  c->acc = rounds && dtype.is_floating() && dtype.size() == 2 ? f32 : dtype;
  c->reduction = reduction;
  c->outer = outer, c->rows = rows, c->columns = columns;
  const int64_t rest = ChoosePanels(*c);
  c->carries = reduction == Reduction::kSum && c->acc == f32 && rows > kFoldRows;
  c->full = MakePanel(*c, c->panel);
  c->last = rest == 0 ? c->full : MakePanel(*c, rest);
  c->identity = IdentityRow(c->acc, reduction, c->panel);

  plan::Kernel kernel;
  kernel.fn = &RunReduceColumns;
  kernel.scratch_bytes = MapScratch(*c);
  const auto elements = static_cast<double>(outer * rows * columns);
  kernel.flops = elements;
  kernel.bytes = (elements + static_cast<double>(outer * columns)) * dtype.size();
  kernel.max_parts = MaxParts(2 * elements, c->units);
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
