// Reductions of windows, one dim after the other. A dim whose following dims are large is reduced
// by rows of them. Otherwise lines are copied, with their padding, so that the elements of all
// windows are contiguous.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/at.h"
#include "base/divide.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/parts.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_elements.h"
#include "kernels/window/window.h"
#include "kernels/window/window_simd.h"
#include "kernels/window/windowed_dims.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kLeastRow = 32;         // elements of a row that are worth a call
constexpr int64_t kUnitElements = 8192;   // elements of the first dim's results in a unit
constexpr int64_t kPanelElements = 8192;  // elements of lines that are copied together
constexpr int64_t kPanelColumns = 256;
constexpr int64_t kAhead = 2048;  // bytes from the rows that are read to those that are fetched
constexpr int64_t kLeastDoubled = 8;
constexpr int64_t kLeastLine = 16;  // elements of a line's results that are worth a call

// The reduction of one dim: from [lines, operand, inner] to [lines, result, inner].
struct WindowStage {
  WindowedDim dim;
  int64_t inner = 1;
  bool by_rows = false;
  std::vector<int64_t> indices;  // by_rows: per window and element, its index or -1
  // Whether windows of 2, 4, 8... elements are reduced from windows of half the size, for windows
  // that overlap by much.
  bool doubles = false;
  // A line's elements with even, odd... positions are apart, so that those of neighbouring windows
  // are contiguous. Position p is in run slot[p % stride], or nowhere if slot is -1.
  std::vector<int64_t> slot;
  int64_t slots = 1;

  bool Copies() const { return !by_rows || doubles; }
  // Returns the positions that `windows` neighbouring windows span.
  int64_t Span(int64_t windows) const {
    return (windows - 1) * dim.window.stride + (dim.window.size - 1) * dim.window.window_dilation +
           1;
  }
  int64_t Columns() const { return doubles ? std::min(inner, kPanelColumns) : inner; }
  // Returns the positions of a run of a line.
  int64_t RunLength(int64_t windows) const {
    if (doubles) return Span(windows);
    return windows + (dim.window.size - 1) * dim.window.window_dilation / dim.window.stride;
  }
  int64_t LineElements(int64_t windows) const { return slots * RunLength(windows) * Columns(); }
};

// A unit is all windows of `batches` batch indices, or `windows` windows of the first dim of one.
struct WindowUnits {
  int64_t batches = 1, windows = 1, per_batch = 1, count = 0;
};

struct ReduceWindowConfig {
  DType dtype;
  RowCombiner combiner;
  ElementPairs pairs;                  // of accumulators
  uint64_t identity = 0, element = 0;  // the identity as accumulator and as element
  int64_t batch = 1, operands = 1, results = 1;
  std::vector<WindowStage> stages;  // none if there are no operands
  WindowUnits units;
  // offsets in scratch, in bytes
  int64_t between[2] = {0, 0}, panel = 0, sums = 0, line = 0;
};

// Some lines that a stage reads, from elements or accumulators, and some of their windows.
struct StageCall {
  const std::byte* in;
  bool in_elements, out_elements;
  int64_t lines, first, windows;
  std::byte* out;
};

void FillWithBits(std::byte* out, int64_t n, int64_t size, uint64_t bits) {
  const auto fill = [&]<class T>(T v) { std::fill_n(reinterpret_cast<T*>(out), n, v); };
  if (size == 1) return fill(static_cast<uint8_t>(bits));
  if (size == 2) return fill(static_cast<uint16_t>(bits));
  if (size == 4) return fill(static_cast<uint32_t>(bits));
  fill(bits);
}

class WindowRun {
 public:
  WindowRun(const ReduceWindowConfig& c, const plan::KernelArgs& call)
      : c_(c), call_(call), size_(c.dtype.size()), wide_(c.combiner.accumulator.size()) {}

  void Unit(int64_t unit) {
    const WindowUnits& u = c_.units;
    const WindowedDim& dim = c_.stages[0].dim;
    const int64_t batch = unit / u.per_batch * u.batches;
    StageCall s{};
    s.first = unit % u.per_batch * u.windows;
    s.windows = std::min(u.windows, dim.result - s.first);
    s.lines = std::min(u.batches, c_.batch - batch);
    s.in = call_.in[0] + batch * c_.operands * size_;
    std::byte* result =
        call_.out[0] + (batch * c_.results + s.first * (c_.results / dim.result)) * size_;
    for (size_t k = 0; k < c_.stages.size(); ++k) {
      const WindowStage& stage = c_.stages[k];
      s.in_elements = k == 0, s.out_elements = k + 1 == c_.stages.size();
      s.out = s.out_elements ? result : call_.scratch + c_.between[k % 2];
      if (k > 0) {
        // The result of the stage before is [lines, windows, dims...].
        const WindowStage& before = c_.stages[k - 1];
        s.lines = s.lines * s.windows * before.inner / (stage.dim.operand * stage.inner);
        s.first = 0, s.windows = stage.dim.result;
      }
      Run(stage, s);
      s.in = s.out;
    }
  }

 private:
  CombineRowsFn Function(bool from_elements, bool to_elements) const {
    const RowCombiner& f = c_.combiner;
    if (from_elements) return to_elements ? f.elements : f.widen;
    return to_elements ? f.narrow : f.accumulators;
  }
  void Combine(bool from_elements, bool to_elements, std::byte* out, int64_t n) {
    Function(from_elements, to_elements)(rows_.data(), static_cast<int64_t>(rows_.size()), out, n,
                                         from_elements ? kAhead : 0);
  }
  void Copy(bool from_elements, bool to_elements, const std::byte* in, std::byte* out, int64_t n) {
    Function(from_elements, to_elements)(&in, 1, out, n, 0);
  }
  // Sets n accumulators, or elements, to the identity.
  void Fill(std::byte* out, int64_t n, bool elements) {
    FillWithBits(out, n, elements ? size_ : wide_, elements ? c_.element : c_.identity);
  }

  void Run(const WindowStage& stage, const StageCall& s) {
    if (!stage.Copies()) return Rows(stage, s);
    const int64_t columns = stage.Columns();
    const int64_t together =
        columns < stage.inner
            ? 1
            : std::clamp<int64_t>(kPanelElements / stage.LineElements(s.windows), 1, s.lines);
    for (int64_t line = 0; line < s.lines; line += together)
      for (int64_t column = 0; column < stage.inner; column += columns)
        Lines(stage, s, line, std::min(together, s.lines - line), column,
              std::min(columns, stage.inner - column));
  }

  // Reduces rows of `inner` elements in place.
  void Rows(const WindowStage& stage, const StageCall& s) {
    const int64_t in_row = stage.inner * (s.in_elements ? size_ : wide_);
    std::byte* out = s.out;
    for (int64_t line = 0; line < s.lines; ++line) {
      const std::byte* in = s.in + line * stage.dim.operand * in_row;
      const int64_t* index = stage.indices.data() + s.first * stage.dim.window.size;
      for (int64_t o = 0; o < s.windows; ++o, index += stage.dim.window.size) {
        rows_.clear();
        for (int64_t w = 0; w < stage.dim.window.size; ++w)
          if (index[w] >= 0) rows_.push_back(in + index[w] * in_row);
        if (rows_.empty())
          Fill(out, stage.inner, s.out_elements);
        else
          Combine(s.in_elements, s.out_elements, out, stage.inner);
        out += stage.inner * (s.out_elements ? size_ : wide_);
      }
    }
  }

  // Reduces `lines` lines, all columns or some columns of one line, from a copy in accumulators:
  // [slots, lines, run, columns].
  void Lines(const WindowStage& stage, const StageCall& s, int64_t line, int64_t lines,
             int64_t column, int64_t columns) {
    std::byte* panel = call_.scratch + c_.panel;
    const int64_t run = stage.RunLength(s.windows);
    const int64_t in_size = s.in_elements ? size_ : wide_;
    const std::byte* in = s.in + (line * stage.dim.operand * stage.inner + column) * in_size;
    LoadLines(stage, s, in, lines, columns, panel);
    const int64_t out_size = s.out_elements ? size_ : wide_;
    std::byte* out = s.out + (line * s.windows * stage.inner + column) * out_size;
    if (!stage.doubles) return Slots(stage, s, lines, columns, out);
    Double(stage, lines * run, columns);
    for (int64_t k = 0; k < lines; ++k) {
      const std::byte* sums = call_.scratch + c_.sums + k * run * columns * wide_;
      const int64_t step = stage.dim.window.stride * columns * wide_;
      if (stage.dim.window.stride == 1 && columns == stage.inner) {
        Copy(false, s.out_elements, sums, out, s.windows * columns);
        out += s.windows * columns * out_size;
        continue;
      }
      for (int64_t o = 0; o < s.windows; ++o, out += stage.inner * out_size)
        Copy(false, s.out_elements, sums + o * step, out, columns);
    }
  }

  // Combines the runs of all elements of a window.
  void Slots(const WindowStage& stage, const StageCall& s, int64_t lines, int64_t columns,
             std::byte* out) {
    const WindowDim& w = stage.dim.window;
    const int64_t run = stage.RunLength(s.windows), n = s.windows * columns;
    rows_.clear();
    for (int64_t k = 0; k < w.size; ++k) {
      const int64_t at = k * w.window_dilation;
      const int64_t slot = base::At(stage.slot, at % w.stride);
      rows_.push_back(call_.scratch + c_.panel +
                      (slot * lines * run + at / w.stride) * columns * wide_);
    }
    if (run == s.windows) return Combine(false, s.out_elements, out, lines * n);
    const int64_t out_line = n * (s.out_elements ? size_ : wide_), line = run * columns * wide_;
    if (n >= kLeastLine) {
      for (int64_t k = 0; k < lines; ++k, out += out_line) {
        Combine(false, s.out_elements, out, n);
        for (const std::byte*& row : rows_) row += line;
      }
      return;
    }
    // Short lines are combined as one, and the results between them are of no use.
    std::byte* sums = call_.scratch + c_.sums;
    Combine(false, false, sums, (lines * run - (run - s.windows)) * columns);
    for (int64_t k = 0; k < lines; ++k, out += out_line, sums += line)
      Copy(false, s.out_elements, sums, out, n);
  }

  // Reduces windows of 1, 2, 4... elements at all positions in place, and combines those whose
  // sizes add up to the window's.
  void Double(const WindowStage& stage, int64_t positions, int64_t columns) {
    std::byte *panel = call_.scratch + c_.panel, *sums = call_.scratch + c_.sums;
    const int64_t step = stage.dim.window.window_dilation, size = stage.dim.window.size;
    int64_t done = 0;
    for (int64_t width = 1;; width *= 2) {
      if ((size & width) != 0) {
        rows_ = {panel + done * step * columns * wide_};
        if (done > 0) rows_.insert(rows_.begin(), sums);
        Combine(false, false, sums, (positions - done * step) * columns);
        done += width;
      }
      if (done == size) return;
      rows_ = {panel, panel + width * step * columns * wide_};
      Combine(false, false, panel, std::max<int64_t>(positions - width * step, 0) * columns);
    }
  }

  // Copies the positions of the windows of some lines into runs: [slots, lines, run, columns].
  void LoadLines(const WindowStage& stage, const StageCall& s, const std::byte* in, int64_t lines,
                 int64_t columns, std::byte* out) {
    const WindowDim& w = stage.dim.window;
    const int64_t size = stage.dim.operand;
    const int64_t in_row = stage.inner * (s.in_elements ? size_ : wide_);
    const int64_t begin = s.first * w.stride - w.low, span = stage.Span(s.windows);
    // elements with positions in [begin, begin + span)
    const int64_t first = std::clamp<int64_t>(base::CeilDiv(begin, w.base_dilation), 0, size);
    const int64_t last =
        std::clamp<int64_t>(base::CeilDiv(begin + span, w.base_dilation), first, size);
    const int64_t at = first * w.base_dilation - begin, end = last * w.base_dilation - begin;
    const int64_t run = stage.RunLength(s.windows), next = lines * run * columns;
    const int64_t step = stage.doubles ? 1 : w.stride;
    // Positions after the last window's may be copied too.
    if (begin == 0 && w.base_dilation == 1 && span <= size && run * step == size)
      return Scatter(stage, s.in_elements, in, in_row, lines * size, 0, columns, out, next);
    in += first * in_row;
    const int64_t filled = w.base_dilation > 1 ? span : std::min(at, span);
    const int64_t fills_from = w.base_dilation > 1 ? span : std::max<int64_t>(end, 0);
    for (int64_t k = 0; k < lines; ++k, in += size * in_row, out += run * columns * wide_) {
      FillPositions(stage, 0, filled, columns, out, next);
      FillPositions(stage, fills_from, span, columns, out, next);
      Scatter(stage, s.in_elements, in, in_row, last - first, at, columns, out, next);
    }
  }

  // Fills the positions [begin, end) of a line.
  void FillPositions(const WindowStage& stage, int64_t begin, int64_t end, int64_t columns,
                     std::byte* out, int64_t next) {
    if (begin >= end) return;
    const int64_t step = stage.doubles ? 1 : stage.dim.window.stride;
    if (step == 1) return Fill(out + begin * columns * wide_, (end - begin) * columns, false);
    for (int64_t at = begin; at < end; ++at) {
      const int64_t slot = base::At(stage.slot, at % step);
      if (slot >= 0) Fill(out + (slot * next + at / step * columns) * wide_, columns, false);
    }
  }

  // Copies n elements of `columns`, whose first is at position `at`.
  void Scatter(const WindowStage& stage, bool in_elements, const std::byte* in, int64_t in_row,
               int64_t n, int64_t at, int64_t columns, std::byte* out, int64_t next) {
    const WindowDim& w = stage.dim.window;
    const int64_t step = stage.doubles ? 1 : w.stride;
    if (step == 1 && w.base_dilation == 1 && columns == stage.inner)
      return Copy(in_elements, false, in, out + at * columns * wide_, n * columns);
    if (in_elements && wide_ != size_) {
      if (columns < stage.inner) {
        for (int64_t i = 0; i < n; ++i, at += w.base_dilation, in += in_row)
          Copy(true, false, in, out + at * columns * wide_, columns);
        return;
      }
      Copy(true, false, in, call_.scratch + c_.line, n * columns);
      in = call_.scratch + c_.line, in_row = columns * wide_;
    }
    if (columns == 1 && step == 2 && stage.slots == 2 && w.base_dilation == 1)
      return Split(in, n, at, out, out + next * wide_);
    int64_t phase = at % step, row = at / step;
    const int64_t bytes = columns * wide_;
    for (int64_t i = 0; i < n; ++i, in += in_row) {
      const int64_t slot = stage.doubles ? 0 : base::At(stage.slot, phase);
      if (slot >= 0) CopyFew(out + (slot * next + row * columns) * wide_, in, bytes);
      phase += w.base_dilation;
      for (; phase >= step; phase -= step) ++row;
    }
  }
  static void CopyFew(std::byte* out, const std::byte* in, int64_t bytes) {
    constexpr int64_t kWord = 4;
    if (bytes % kWord != 0 || bytes > 8 * kWord) {
      std::memcpy(out, in, base::Size(bytes));
      return;
    }
    for (int64_t k = 0; k < bytes; k += kWord) std::memcpy(out + k, in + k, kWord);
  }

  // Copies n elements, whose first is at position `at`, to the runs of even and of odd positions.
  void Split(const std::byte* in, int64_t n, int64_t at, std::byte* even, std::byte* odd) {
    if (n == 0) return;
    if (at % 2 != 0) {
      std::memcpy(odd + at / 2 * wide_, in, base::Size(wide_));
      in += wide_, ++at, --n;
    }
    c_.pairs.split(in, even + at / 2 * wide_, odd + at / 2 * wide_, n / 2);
    if (n % 2 != 0)
      std::memcpy(even + (at + n - 1) / 2 * wide_, in + (n - 1) * wide_, base::Size(wide_));
  }

  const ReduceWindowConfig& c_;
  const plan::KernelArgs& call_;
  const int64_t size_, wide_;  // bytes of an element and of an accumulator
  std::vector<const std::byte*> rows_;
};

void RunReduceWindow(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const ReduceWindowConfig*>(call.config);
  const Range units = Share(c.units.count, 1, call.part, call.parts);
  if (c.stages.empty())
    return FillWithBits(call.out[0] + units.begin * c.results * c.dtype.size(),
                        (units.end - units.begin) * c.results, c.dtype.size(), c.element);
  WindowRun run(c, call);
  for (int64_t u = units.begin; u < units.end; ++u) run.Unit(u);
}

WindowStage MakeStage(const WindowedDim& dim, int64_t inner) {
  WindowStage stage{.dim = dim, .inner = inner, .indices = {}, .slot = {}};
  const WindowDim& w = dim.window;
  stage.by_rows = inner >= kLeastRow;
  const int64_t steps = 2 * std::bit_width(static_cast<uint64_t>(w.size));
  stage.doubles = w.size >= kLeastDoubled && w.size / steps >= w.stride;
  if (stage.doubles) return stage;
  if (stage.by_rows) {
    for (int64_t o = 0; o < dim.result; ++o)
      for (int64_t k = 0; k < w.size; ++k) stage.indices.push_back(dim.Index(o, k));
    return stage;
  }
  stage.slot.assign(base::Size(w.stride), -1);
  for (int64_t k = 0; k < w.size; ++k) base::At(stage.slot, k * w.window_dilation % w.stride) = 0;
  stage.slots = 0;
  for (int64_t& slot : stage.slot)
    if (slot == 0) slot = stage.slots++;
  return stage;
}

WindowUnits ChooseWindowUnits(const WindowStage& first, int64_t batch) {
  WindowUnits u;
  const WindowedDim& dim = first.dim;
  int64_t most = std::max<int64_t>(kUnitElements / std::max<int64_t>(first.inner, 1), 1);
  // Units that overlap read their common elements twice.
  if (first.doubles) most = std::max(most, 2 * dim.window.size / dim.window.stride);
  if (dim.result <= most) {
    u.windows = dim.result;
    u.batches = std::max<int64_t>(most / dim.result, 1);
    u.count = base::CeilDiv(batch, u.batches);
  } else {
    u.windows = most;
    u.per_batch = base::CeilDiv(dim.result, most);
    u.count = batch * u.per_batch;
  }
  return u;
}

int64_t PlanScratch(ReduceWindowConfig& c) {
  const int64_t wide = c.combiner.accumulator.size();
  int64_t bytes = 0;
  const auto take = [&](int64_t elements) {
    const int64_t at = bytes;
    bytes += (elements * wide + 63) / 64 * 64;
    return at;
  };
  int64_t lines = std::min(c.units.batches, c.batch), windows = c.units.windows;
  int64_t between[2] = {0, 0}, panel = 0, line = 0;
  for (size_t k = 0; k < c.stages.size(); ++k) {
    const WindowStage& s = c.stages[k];
    if (k > 0) {
      lines = lines * windows * c.stages[k - 1].inner / (s.dim.operand * s.inner);
      windows = s.dim.result;
    }
    if (k + 1 < c.stages.size())
      between[k % 2] = std::max(between[k % 2], lines * windows * s.inner);
    if (!s.Copies()) continue;
    panel = std::max({panel, kPanelElements, s.LineElements(windows)});
    line = std::max({line, panel, s.Span(windows) * s.Columns()});
  }
  for (int k = 0; k < 2; ++k) c.between[k] = take(between[k]);
  c.panel = take(panel), c.sums = take(panel), c.line = take(line);
  return bytes;
}

// Whether every dim has one window, which has all elements and no padding, or no windows.
bool IsPlain(const WindowsDesc& desc, std::vector<int64_t>* reduced) {
  for (size_t d = 0; d < desc.dims.size(); ++d) {
    const WindowedDim dim{desc.operand[d], desc.result[d], desc.dims[d]};
    if (dim.IsWhole()) continue;
    const WindowDim& w = dim.window;
    if (dim.result != 1 || w.size != dim.operand || w.low != 0) return false;
    if (w.size > 1 && (w.base_dilation > 1 || w.window_dilation > 1)) return false;
    reduced->push_back(static_cast<int64_t>(d));
  }
  return true;
}

}  // namespace

plan::Kernel ReduceWindow(const WindowsDesc& desc, Reduction reduction) {
  if (std::vector<int64_t> reduced; IsPlain(desc, &reduced))
    return Reduce(desc.dtype, desc.operand, reduced, reduction);
  auto c = std::make_shared<ReduceWindowConfig>();
  const WindowedDims dims(desc);
  c->dtype = desc.dtype;
  c->combiner = RowCombinerOf(desc.dtype, reduction);
  c->pairs = PairsOfSize(c->combiner.accumulator.size());
  base::VisitDType(desc.dtype, [&](auto t) {
    using T = decltype(t);
    const auto identity = ReductionIdentity<Compute<T>>(reduction);
    const T element = Narrow<T>(identity);
    std::memcpy(&c->identity, &identity, sizeof identity);
    std::memcpy(&c->element, &element, sizeof element);
  });
  c->batch = dims.batch, c->operands = dims.Operands(), c->results = dims.Results();
  const auto in = static_cast<double>(base::Elements(desc.operand));
  const auto out = static_cast<double>(base::Elements(desc.result));
  plan::Kernel kernel;
  kernel.fn = &RunReduceWindow;
  kernel.flops = out * static_cast<double>(dims.WindowSize());
  kernel.bytes = (in + out) * desc.dtype.size();
  if (out > 0 && in > 0) {
    int64_t inner = c->operands;
    for (const WindowedDim& d : dims.dims) {
      inner /= d.operand;
      if (!d.IsWhole() || dims.dims.size() == 1) c->stages.push_back(MakeStage(d, inner));
    }
    c->units = ChooseWindowUnits(c->stages[0], c->batch);
    kernel.scratch_bytes = PlanScratch(*c);
  } else if (out > 0) {
    c->units.count = c->batch;
  }
  kernel.max_parts = MaxParts(2 * kernel.bytes, c->units.count);
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
