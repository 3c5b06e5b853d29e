// Choices of an element of each window, by rows: of the dims after those with windows, or of
// neighbouring windows along the last of these. For the second, the lines of that dim are split
// into runs of every `stride`-th element, in which the elements of neighbouring windows are
// contiguous.
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

constexpr int64_t kFewInner = 16;     // shorter rows are too short
constexpr int64_t kLeastRun = 24;     // elements of a row of windows that are enough
constexpr int64_t kJoinedRow = 32;    // elements of joined rows
constexpr int64_t kChosen = 1 << 18;  // chosen positions of a unit: they stay in L2

// The elements of each window, or the windows over each element, along one dim. Positions whose
// lists differ only in the first index share a pattern, in which indices count from the first one.
struct CoveredDim {
  // `count` neighbouring positions, from place `place` on. The indices of each are one more than
  // those of the one before.
  struct Positions {
    int64_t pattern, first, place, count;
  };
  std::vector<Positions> positions;
  std::vector<std::vector<WindowRow>> patterns;
  int64_t places = 1;   // the size of the dim that has the positions
  int64_t indices = 1;  // the size of the dim that WindowRow::index counts
  int64_t numbers = 1;  // elements of a window
};

// How the operand's elements along the last dim with windows are stored: element i is in run
// i % step, at place i / step.
struct Line {
  int64_t size = 1, step = 1;
  int64_t Run() const { return base::CeilDiv(size, step); }
  int64_t Places() const { return step * Run(); }
  int64_t Place(int64_t i) const { return i % step * Run() + i / step; }
};

struct WindowChoiceConfig {
  DType dtype;
  RowChooser chooser;
  bool puts = false;
  int64_t batch = 1, inner = 1, operands = 1, results = 1;  // positions per batch index
  std::vector<CoveredDim> by_result, by_operand;
  Line line;
  ElementPairs pairs;
  // Whether no element, and whether each element, is in two or more windows, and in one or more.
  bool disjoint = true, complete = true;
  int64_t joined = 1;                  // batch indices whose elements form rows; 1: none
  int64_t columns = 1, per_batch = 1;  // columns of a unit, units per batch index
  int64_t units = 0;
  int64_t turned[3] = {0, 0, 0}, chosen = 0;  // offsets in scratch, in bytes

  bool splits() const { return line.step > 1; }
};

using PlaceLists = std::vector<std::vector<WindowRow>>;

// Returns the list of each place of the result, or of the operand.
PlaceLists ListsAlong(const WindowedDim& d, const Line& line, bool by_result) {
  PlaceLists lists(base::Size(by_result ? d.result : line.Places()));
  for (int64_t o = 0; o < d.result; ++o) {
    for (int64_t w = 0; w < d.window.size; ++w) {
      const int64_t i = d.Index(o, w);
      if (i < 0) continue;
      const int64_t place = line.Place(i);
      base::At(lists, by_result ? o : place).push_back({by_result ? place : o, w});
    }
  }
  return lists;
}

// `joins`: whether neighbouring positions are taken together.
CoveredDim Along(const WindowedDim& d, const Line& line, bool by_result, bool joins) {
  PlaceLists lists = ListsAlong(d, line, by_result);
  CoveredDim out;
  out.places = static_cast<int64_t>(lists.size());
  out.indices = by_result ? line.Places() : d.result;
  out.numbers = d.window.size;
  std::map<std::vector<std::pair<int64_t, int64_t>>, int64_t> known;
  for (int64_t place = 0; place < out.places; ++place) {
    std::vector<WindowRow>& list = base::At(lists, place);
    const int64_t first = list.empty() ? 0 : list[0].index;
    std::vector<std::pair<int64_t, int64_t>> key;
    for (WindowRow& row : list) key.emplace_back(row.index -= first, row.number);
    const auto [it, is_new] = known.try_emplace(key, static_cast<int64_t>(out.patterns.size()));
    if (is_new) out.patterns.push_back(list);
    if (joins && !out.positions.empty()) {
      CoveredDim::Positions& last = out.positions.back();
      if (last.pattern == it->second && (list.empty() || last.first + last.count == first)) {
        ++last.count;
        continue;
      }
    }
    out.positions.push_back({it->second, first, place, 1});
  }
  return out;
}

// The lists of all dims together, whose places, indices and numbers are row-major.
class CoveredLists {
 public:
  explicit CoveredLists(const std::vector<CoveredDim>& dims) : dims_(dims) {}

  // Calls f(place, count, first index, list) for all positions. Only the last dim's positions are
  // taken together.
  template <class F>
  void ForEach(F f) {
    At(0, {0, 0, 0, 1}, f);
  }

 private:
  using Lists = std::vector<std::vector<WindowRow>>;

  template <class F>
  void At(size_t d, const CoveredDim::Positions& outer, F& f) {
    const CoveredDim& dim = dims_[d];
    const bool is_last = d + 1 == dims_.size();
    const Lists* lists = is_last ? &ListsOf(outer.pattern) : nullptr;
    const auto patterns = static_cast<int64_t>(dim.patterns.size());
    for (const CoveredDim::Positions& p : dim.positions) {
      const CoveredDim::Positions inner = {outer.pattern * patterns + p.pattern,
                                           outer.first * dim.indices + p.first,
                                           outer.place * dim.places + p.place, p.count};
      if (is_last)
        f(inner.place, inner.count, inner.first, base::At(*lists, p.pattern));
      else
        At(d + 1, inner, f);
    }
  }
  // Returns the lists of the last dim's patterns, for a pattern of all dims before. They are made
  // when that first occurs.
  const Lists& ListsOf(int64_t outer) {
    const auto [it, is_new] = lists_.try_emplace(outer);
    if (!is_new) return it->second;
    int64_t count = 1;
    for (size_t d = 0; d + 1 < dims_.size(); ++d)
      count *= static_cast<int64_t>(dims_[d].patterns.size());
    std::vector<WindowRow> list = {{0, 0}};
    for (size_t d = 0; d + 1 < dims_.size(); ++d) {
      count /= static_cast<int64_t>(dims_[d].patterns.size());
      list = Crossed(list, dims_[d], base::At(dims_[d].patterns, outer / count));
      outer %= count;
    }
    for (const std::vector<WindowRow>& pattern : dims_.back().patterns)
      it->second.push_back(Crossed(list, dims_.back(), pattern));
    return it->second;
  }
  static std::vector<WindowRow> Crossed(const std::vector<WindowRow>& outer, const CoveredDim& dim,
                                        const std::vector<WindowRow>& pattern) {
    std::vector<WindowRow> list;
    for (const WindowRow& o : outer)
      for (const WindowRow& row : pattern)
        list.push_back({o.index * dim.indices + row.index, o.number * dim.numbers + row.number});
    return list;
  }

  const std::vector<CoveredDim>& dims_;
  std::unordered_map<int64_t, Lists> lists_;
};

// Rows of a buffer, one per place.
struct PlaceRows {
  std::byte* first;
  int64_t next;  // bytes from one row to the next
  std::byte* At(int64_t place) const { return first + place * next; }
};

class WindowChoiceRun {
 public:
  WindowChoiceRun(const WindowChoiceConfig& c, const plan::KernelArgs& call)
      : c_(c),
        call_(call),
        size_(c.dtype.size()),
        by_result_(c.by_result),
        by_operand_(c.by_operand) {}

  void Unit(int64_t unit) {
    if (c_.joined > 1) return Joined(unit);
    const int64_t values = c_.puts ? c_.results : c_.operands;
    const int64_t outs = c_.puts ? c_.operands : c_.results;
    const int64_t batch = unit / c_.per_batch, column = unit % c_.per_batch * c_.columns;
    const auto rows = [&](const std::byte* buffer, int64_t positions) {
      return PlaceRows{
          const_cast<std::byte*>(buffer) + (batch * positions * c_.inner + column) * size_,
          c_.inner * size_};
    };
    PlaceRows operand = rows(call_.in[0], c_.operands), other = rows(call_.in[1], values);
    const PlaceRows result = rows(call_.out[0], outs);
    PlaceRows out = result;
    if (c_.splits()) {
      Split(operand, 0);
      if (c_.puts)
        out.first = call_.scratch + c_.turned[2];
      else
        Split(other, 1);
    }
    Choose(operand, other, out, std::min(c_.columns, c_.inner - column));
    if (c_.splits() && c_.puts) Join(out.first, result.first);
  }

 private:
  // Chooses for the elements of some batch indices, which are copied to [element, batch].
  void Joined(int64_t unit) {
    const int64_t values = c_.puts ? c_.results : c_.operands;
    const int64_t outs = c_.puts ? c_.operands : c_.results;
    const int64_t batch = unit * c_.joined, joined = std::min(c_.joined, c_.batch - batch);
    const int64_t n = joined * c_.inner;
    const auto rows = [&](int k) { return PlaceRows{call_.scratch + c_.turned[k], n * size_}; };
    Turn(rows(0).first, joined, call_.in[0] + batch * c_.operands * c_.inner * size_, c_.operands);
    Turn(rows(1).first, joined, call_.in[1] + batch * values * c_.inner * size_, values);
    Choose(rows(0), rows(1), rows(2), n);
    TransposeFn()(call_.out[0] + batch * outs * c_.inner * size_, outs * c_.inner * size_,
                  rows(2).first, joined * size_, outs * c_.inner, joined);
  }
  TransposeTileFn TransposeFn() const {
    return Simd().transpose[std::countr_zero(static_cast<uint64_t>(size_))];
  }
  // Transposes [batch, element] to [element, batch].
  void Turn(std::byte* out, int64_t joined, const std::byte* in, int64_t positions) {
    const int64_t elements = positions * c_.inner;
    TransposeFn()(out, joined * size_, in, elements * size_, joined, elements);
  }

  // Calls f(line, its runs, bytes of a run) for all lines of an operand and its copy in runs.
  template <class F>
  void ForEachLine(std::byte* lines, std::byte* runs, F f) const {
    const int64_t bytes = c_.inner * size_;
    for (int64_t k = 0; k < c_.operands; k += c_.line.size) {
      f(lines, runs, c_.line.Run() * bytes);
      lines += c_.line.size * bytes, runs += c_.line.Places() * bytes;
    }
  }
  // Copies the lines of an operand to runs, which replace it.
  void Split(PlaceRows& operand, int k) const {
    std::byte* const copy = call_.scratch + c_.turned[k];
    ForEachLine(operand.first, copy, [&](std::byte* in, std::byte* out, int64_t run) {
      int64_t i = 0;
      if (c_.line.step == 2 && c_.inner == 1) {
        c_.pairs.split(in, out, out + run, c_.line.size / 2);
        i = c_.line.size / 2 * 2;
      }
      for (; i < c_.line.size; ++i)
        CopyPosition(out + c_.line.Place(i) * operand.next, in + i * operand.next);
    });
    operand.first = copy;
  }
  // Copies runs to lines.
  void Join(std::byte* runs, std::byte* lines) const {
    const int64_t next = c_.inner * size_;
    ForEachLine(lines, runs, [&](std::byte* out, const std::byte* in, int64_t run) {
      int64_t i = 0;
      if (c_.line.step == 2 && c_.inner == 1) {
        c_.pairs.join(in, in + run, out, c_.line.size / 2);
        i = c_.line.size / 2 * 2;
      }
      for (; i < c_.line.size; ++i) CopyPosition(out + i * next, in + c_.line.Place(i) * next);
    });
  }
  void CopyPosition(std::byte* out, const std::byte* in) const {
    for (int64_t k = 0; k < c_.inner; ++k, out += size_, in += size_) {
      if (size_ == 4)
        std::memcpy(out, in, 4);
      else
        std::memcpy(out, in, base::Size(size_));
    }
  }

  // `n` columns of a place.
  void Choose(PlaceRows operand, PlaceRows other, PlaceRows out, int64_t n) {
    using List = std::vector<WindowRow>;
    const auto rows = [&](const List& list, int64_t first, int64_t count, PlaceRows rows,
                          PlaceRows values) {
      return ChosenRows{{rows.At(first), rows.next},
                        {values.At(first), values.next},
                        list.data(),
                        static_cast<int64_t>(list.size()),
                        count * n};
    };
    const auto clear = [&](int64_t place, int64_t count) {
      std::memset(out.At(place), 0, base::Size(count * n * size_));
    };
    if (!c_.puts) {
      by_result_.ForEach([&](int64_t place, int64_t count, int64_t first, const List& list) {
        if (list.empty()) return clear(place, count);
        c_.chooser.take(rows(list, first, count, operand, other), out.At(place));
      });
      return;
    }
    if (c_.disjoint) {
      by_result_.ForEach([&](int64_t place, int64_t count, int64_t first, const List& list) {
        if (list.empty()) return;
        ChosenRows c = rows(list, first, count, operand, operand);
        c.values = {other.At(place), 0};
        c_.chooser.put(c, out.At(first));
      });
      if (c_.complete) return;
      by_operand_.ForEach([&](int64_t place, int64_t count, int64_t, const List& list) {
        if (list.empty()) clear(place, count);
      });
      return;
    }
    const PlaceRows chosen{call_.scratch + c_.chosen, n * c_.chooser.number_size};
    by_result_.ForEach([&](int64_t place, int64_t count, int64_t first, const List& list) {
      if (!list.empty())
        c_.chooser.choose(rows(list, first, count, operand, operand), chosen.At(place));
    });
    by_operand_.ForEach([&](int64_t place, int64_t count, int64_t first, const List& list) {
      c_.chooser.add(rows(list, first, count, chosen, other), out.At(place));
    });
  }

  const WindowChoiceConfig& c_;
  const plan::KernelArgs& call_;
  const int64_t size_;
  CoveredLists by_result_, by_operand_;
};

void RunWindowChoice(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const WindowChoiceConfig*>(call.config);
  const Range units = Share(c.units, 1, call.part, call.parts);
  WindowChoiceRun run(c, call);
  for (int64_t u = units.begin; u < units.end; ++u) run.Unit(u);
}

void ChooseColumns(WindowChoiceConfig& c, const WindowedDim& last) {
  c.line = {last.operand, 1};
  if (c.inner < kFewInner && last.result * c.inner >= kLeastRun && last.window.base_dilation == 1) {
    c.line.step = last.window.stride;
    c.columns = c.inner;
    c.units = c.batch;
    return;
  }
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
  if (c.joined == 1 && !c.splits()) return bytes;
  const int64_t operands = c.operands / std::max<int64_t>(c.line.size, 1) * c.line.Places();
  c.turned[0] = take(operands, c.dtype.size());
  c.turned[1] = take(c.puts ? c.results : operands, c.dtype.size());
  c.turned[2] = take(c.puts ? operands : c.results, c.dtype.size());
  return bytes;
}

// Lists the elements of all windows, and for puts the windows over all elements.
void CoverDims(WindowChoiceConfig& c, const std::vector<WindowedDim>& dims) {
  // Neighbouring rows are contiguous if a unit has all columns.
  const bool joins = c.joined > 1 || c.columns == c.inner;
  for (size_t k = 0; k < dims.size(); ++k) {
    const WindowedDim& d = dims[k];
    const bool is_last = k + 1 == dims.size();
    const Line line = is_last ? c.line : Line{d.operand, 1};
    c.by_result.push_back(Along(d, line, true, joins && is_last));
    if (!c.puts) continue;
    c.by_operand.push_back(Along(d, line, false, joins && is_last));
    for (const std::vector<WindowRow>& windows : c.by_operand.back().patterns) {
      c.disjoint = c.disjoint && windows.size() <= 1;
      c.complete = c.complete && !windows.empty();
    }
  }
}

plan::Kernel WindowChoice(const WindowsDesc& desc, Reduction reduction, bool puts) {
  auto c = std::make_shared<WindowChoiceConfig>();
  const WindowedDims dims(desc);
  c->dtype = desc.dtype;
  c->chooser = RowChooserOf(desc.dtype, reduction);
  c->pairs = PairsOfSize(desc.dtype.size());
  c->puts = puts;
  c->batch = dims.batch, c->inner = dims.inner;
  for (const WindowedDim& d : dims.dims) c->operands *= d.operand, c->results *= d.result;
  ChooseColumns(*c, dims.dims.back());
  CoverDims(*c, dims.dims);
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
