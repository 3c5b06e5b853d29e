// Choices of an element of each window, by rows of the elements that have no windows.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/at.h"
#include "base/divide.h"
#include "base/shape.h"
#include "kernels/copy/copy_simd.h"
#include "kernels/parts.h"
#include "kernels/window/window.h"
#include "kernels/window/window_simd.h"
#include "kernels/window/windowed_dims.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kFewInner = 16;     // shorter rows join batch indices
constexpr int64_t kJoinedRow = 32;    // elements of joined rows
constexpr int64_t kChosen = 1 << 18;  // chosen positions of a unit: they stay in L2

// The elements of each window, or the windows over each element, along one dim. Positions whose
// lists differ only in the first index share a pattern, in which indices count from the first one.
struct CoveredDim {
  struct Position {
    int64_t pattern, first;
  };
  std::vector<Position> positions;
  std::vector<std::vector<WindowRow>> patterns;
  int64_t indices = 1;  // the size of the dim that WindowRow::index counts
  int64_t numbers = 1;  // elements of a window
};

struct WindowChoiceConfig {
  DType dtype;
  RowChooser chooser;
  bool puts = false;
  int64_t batch = 1, inner = 1, operands = 1, results = 1;  // positions per batch index
  std::vector<CoveredDim> by_result, by_operand;
  // Whether no element, and whether each element, is in two or more windows, and in one or more.
  bool disjoint = true, complete = true;
  int64_t joined = 1;                  // batch indices whose elements form rows; 1: none
  int64_t columns = 1, per_batch = 1;  // columns of a unit, units per batch index
  int64_t units = 0;
  int64_t turned[3] = {0, 0, 0}, chosen = 0;  // offsets in scratch, in bytes
};

CoveredDim Along(const WindowedDim& d, bool by_result) {
  std::vector<std::vector<WindowRow>> lists(base::Size(by_result ? d.result : d.operand));
  for (int64_t o = 0; o < d.result; ++o) {
    for (int64_t w = 0; w < d.window.size; ++w) {
      const int64_t i = d.Index(o, w);
      if (i >= 0) base::At(lists, by_result ? o : i).push_back({by_result ? i : o, w});
    }
  }
  CoveredDim out;
  out.indices = by_result ? d.operand : d.result;
  out.numbers = d.window.size;
  std::map<std::vector<std::pair<int64_t, int64_t>>, int64_t> known;
  for (std::vector<WindowRow>& list : lists) {
    const int64_t first = list.empty() ? 0 : list[0].index;
    std::vector<std::pair<int64_t, int64_t>> key;
    for (WindowRow& row : list) key.emplace_back(row.index -= first, row.number);
    const auto [it, is_new] = known.try_emplace(key, static_cast<int64_t>(out.patterns.size()));
    if (is_new) out.patterns.push_back(list);
    out.positions.push_back({it->second, first});
  }
  return out;
}

// Calls f(position, first index, list) for all positions of the dims, whose indices and numbers
// are row-major.
template <class F>
class CoveredWalk {
 public:
  CoveredWalk(const std::vector<CoveredDim>& dims, F f) : dims_(dims), f_(f) {}
  void Run() { At(0, 0, 0, 0); }

 private:
  void At(size_t d, int64_t position, int64_t first, int64_t pattern) {
    if (d == dims_.size()) {
      if (pattern != pattern_ || list_ == nullptr) list_ = &ListOf(pattern);
      pattern_ = pattern;
      return f_(position, first, *list_);
    }
    const CoveredDim& dim = dims_[d];
    position *= static_cast<int64_t>(dim.positions.size());
    for (const CoveredDim::Position& p : dim.positions)
      At(d + 1, position++, first * dim.indices + p.first,
         pattern * static_cast<int64_t>(dim.patterns.size()) + p.pattern);
  }
  // Returns the list of a pattern of all dims, which is made when it first occurs.
  const std::vector<WindowRow>& ListOf(int64_t pattern) {
    const auto [it, is_new] = lists_.try_emplace(pattern);
    if (!is_new) return it->second;
    int64_t count = 1;
    for (const CoveredDim& dim : dims_) count *= static_cast<int64_t>(dim.patterns.size());
    std::vector<WindowRow> list = {{0, 0}}, next;
    for (const CoveredDim& dim : dims_) {
      count /= static_cast<int64_t>(dim.patterns.size());
      next.clear();
      for (const WindowRow& outer : list)
        for (const WindowRow& row : base::At(dim.patterns, pattern / count))
          next.push_back(
              {outer.index * dim.indices + row.index, outer.number * dim.numbers + row.number});
      pattern %= count;
      std::swap(list, next);
    }
    return it->second = std::move(list);
  }

  const std::vector<CoveredDim>& dims_;
  F f_;
  std::unordered_map<int64_t, std::vector<WindowRow>> lists_;
  int64_t pattern_ = -1;  // of the last position
  const std::vector<WindowRow>* list_ = nullptr;
};

template <class F>
void ForEachCovered(const std::vector<CoveredDim>& dims, F f) {
  CoveredWalk<F>(dims, f).Run();
}

// Rows of a buffer, one per position.
struct PositionRows {
  std::byte* first;
  int64_t next;  // bytes from one row to the next
  std::byte* At(int64_t position) const { return first + position * next; }
};

class WindowChoiceRun {
 public:
  WindowChoiceRun(const WindowChoiceConfig& c, const plan::KernelArgs& call)
      : c_(c), call_(call), size_(c.dtype.size()) {}

  void Unit(int64_t unit) {
    const int64_t values = c_.puts ? c_.results : c_.operands;
    const int64_t outs = c_.puts ? c_.operands : c_.results;
    auto* const operand = const_cast<std::byte*>(call_.in[0]);
    auto* const other = const_cast<std::byte*>(call_.in[1]);
    if (c_.joined == 1) {
      const int64_t batch = unit / c_.per_batch, column = unit % c_.per_batch * c_.columns;
      const auto rows = [&](std::byte* buffer, int64_t positions) {
        return PositionRows{buffer + (batch * positions * c_.inner + column) * size_,
                            c_.inner * size_};
      };
      const int64_t n = std::min(c_.columns, c_.inner - column);
      return Choose(rows(operand, c_.operands), rows(other, values), rows(call_.out[0], outs), n);
    }
    const int64_t batch = unit * c_.joined, joined = std::min(c_.joined, c_.batch - batch);
    const int64_t n = joined * c_.inner;
    const auto rows = [&](int k) { return PositionRows{call_.scratch + c_.turned[k], n * size_}; };
    Turn(rows(0).first, joined, operand + batch * c_.operands * c_.inner * size_, c_.operands);
    Turn(rows(1).first, joined, other + batch * values * c_.inner * size_, values);
    Choose(rows(0), rows(1), rows(2), n);
    TransposeFn()(call_.out[0] + batch * outs * c_.inner * size_, outs * c_.inner * size_,
                  rows(2).first, joined * size_, outs * c_.inner, joined);
  }

 private:
  TransposeTileFn TransposeFn() const {
    return Simd().transpose[std::countr_zero(static_cast<uint64_t>(size_))];
  }
  // Transposes [batch, element] to [element, batch].
  void Turn(std::byte* out, int64_t joined, const std::byte* in, int64_t positions) {
    const int64_t elements = positions * c_.inner;
    TransposeFn()(out, joined * size_, in, elements * size_, joined, elements);
  }

  void Choose(PositionRows operand, PositionRows other, PositionRows out, int64_t n) {
    using List = std::vector<WindowRow>;
    const auto rows = [&](const List& list, int64_t first, PositionRows rows, PositionRows values) {
      return ChosenRows{{rows.At(first), rows.next},
                        {values.At(first), values.next},
                        list.data(),
                        static_cast<int64_t>(list.size()),
                        n};
    };
    if (!c_.puts) {
      ForEachCovered(c_.by_result, [&](int64_t position, int64_t first, const List& list) {
        if (list.empty())
          std::memset(out.At(position), 0, base::Size(n * size_));
        else
          c_.chooser.take(rows(list, first, operand, other), out.At(position));
      });
      return;
    }
    if (c_.disjoint) {
      ForEachCovered(c_.by_result, [&](int64_t position, int64_t first, const List& list) {
        if (list.empty()) return;
        ChosenRows c = rows(list, first, operand, operand);
        c.values = {other.At(position), 0};
        c_.chooser.put(c, out.At(first));
      });
      if (c_.complete) return;
      ForEachCovered(c_.by_operand, [&](int64_t position, int64_t, const List& list) {
        if (list.empty()) std::memset(out.At(position), 0, base::Size(n * size_));
      });
      return;
    }
    const PositionRows chosen{call_.scratch + c_.chosen, n * c_.chooser.number_size};
    ForEachCovered(c_.by_result, [&](int64_t position, int64_t first, const List& list) {
      if (!list.empty())
        c_.chooser.choose(rows(list, first, operand, operand), chosen.At(position));
    });
    ForEachCovered(c_.by_operand, [&](int64_t position, int64_t first, const List& list) {
      c_.chooser.add(rows(list, first, chosen, other), out.At(position));
    });
  }

  const WindowChoiceConfig& c_;
  const plan::KernelArgs& call_;
  const int64_t size_;
};

void RunWindowChoice(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const WindowChoiceConfig*>(call.config);
  const Range units = Share(c.units, 1, call.part, call.parts);
  WindowChoiceRun run(c, call);
  for (int64_t u = units.begin; u < units.end; ++u) run.Unit(u);
}

void ChooseColumns(WindowChoiceConfig& c) {
  if (c.inner < kFewInner && c.batch > 1) {
    c.joined = std::min(base::CeilDiv(kJoinedRow, std::max<int64_t>(c.inner, 1)), c.batch);
    c.columns = c.joined * c.inner;
    c.units = base::CeilDiv(c.batch, c.joined);
    return;
  }
  const int64_t most = std::max(kChosen / std::max<int64_t>(c.results, 1) / kJoinedRow, int64_t{1});
  c.columns = std::clamp<int64_t>(most * kJoinedRow, 1, std::max<int64_t>(c.inner, 1));
  c.per_batch = base::CeilDiv(c.inner, c.columns);
  c.units = c.batch * c.per_batch;
}

int64_t PlanScratch(WindowChoiceConfig& c) {
  int64_t bytes = 0;
  const auto take = [&](int64_t positions, int64_t size) {
    const int64_t at = bytes;
    bytes += (positions * c.columns * size + 63) / 64 * 64;
    return at;
  };
  if (c.puts && !c.disjoint) c.chosen = take(c.results, c.chooser.number_size);
  if (c.joined == 1) return bytes;
  c.turned[0] = take(c.operands, c.dtype.size());
  c.turned[1] = take(c.puts ? c.results : c.operands, c.dtype.size());
  c.turned[2] = take(c.puts ? c.operands : c.results, c.dtype.size());
  return bytes;
}

plan::Kernel WindowChoice(const WindowsDesc& desc, Reduction reduction, bool puts) {
  auto c = std::make_shared<WindowChoiceConfig>();
  const WindowedDims dims(desc);
  c->dtype = desc.dtype;
  c->chooser = RowChooserOf(desc.dtype, reduction);
  c->puts = puts;
  c->batch = dims.batch, c->inner = dims.inner;
  for (const WindowedDim& d : dims.dims) {
    c->operands *= d.operand, c->results *= d.result;
    c->by_result.push_back(Along(d, true));
    if (!puts) continue;
    c->by_operand.push_back(Along(d, false));
    for (const std::vector<WindowRow>& windows : c->by_operand.back().patterns) {
      c->disjoint = c->disjoint && windows.size() <= 1;
      c->complete = c->complete && !windows.empty();
    }
  }
  ChooseColumns(*c);
  const auto operand = static_cast<double>(base::Elements(desc.operand));
  const auto result = static_cast<double>(base::Elements(desc.result));
  plan::Kernel kernel;
  kernel.fn = &RunWindowChoice;
  kernel.scratch_bytes = PlanScratch(*c);
  kernel.flops = result * static_cast<double>(dims.WindowSize());
  kernel.bytes = (2 * operand + result) * desc.dtype.size();
  kernel.max_parts = MaxParts(2 * kernel.bytes, c->units);
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace

plan::Kernel WindowTake(const WindowsDesc& desc, Reduction reduction) {
  return WindowChoice(desc, reduction, false);
}
plan::Kernel WindowPut(const WindowsDesc& desc, Reduction reduction) {
  return WindowChoice(desc, reduction, true);
}

}  // namespace tessera::kernels
