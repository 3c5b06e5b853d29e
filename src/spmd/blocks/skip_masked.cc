// Bounds the positions that a mask compares, and finds columns where the comparison never changes.
#include "spmd/blocks/skip_masked.h"

#include <absl/algorithm/container.h>
#include <absl/functional/function_ref.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include "base/divide.h"
#include "ir/control_params.h"
#include "plan/scalar_op.h"
#include "spmd/blocks/visible_part.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using plan::ScalarOp;

// The least number of loops, and the most: there are more only while twice as many skip a fifth
// more.
constexpr int64_t kFewLoops = 8, kMostLoops = 32;

// Returns the largest n in [0, most] for which `holds` is true. If it is true for n, it is for all
// smaller ones; it is for 0.
int64_t LargestFor(int64_t most, absl::FunctionRef<bool(int64_t)> holds) {
  int64_t least = 0;
  while (least < most) {
    const int64_t middle = (least + most + 1) / 2;
    if (holds(middle))
      least = middle;
    else
      most = middle - 1;
  }
  return least;
}

// Returns bounds on the inputs of a scan's body in iterations [begin, end).
std::vector<MaybeBounds> BoundsOfInputs(const Instruction& scan, const ValueBounds& outside,
                                        int64_t begin, int64_t end) {
  const auto& params = ir::As<ir::ScanParams>(scan.params.get());
  const auto constants = base::Size(params.constants), carries = base::Size(params.carries);
  std::vector<MaybeBounds> inputs(scan.operands.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ValueId v = scan.operands[k];
    if (!outside.Has(v)) continue;  // the value is newer than the bounds
    if (k < constants) inputs[k] = outside[v];
    if (k >= constants + carries) inputs[k] = BoundsOfSlices(outside[v], begin, end);
  }
  return inputs;
}

class MaskedLoop {
 public:
  MaskedLoop(ir::Program& p, const Instruction& loop, const ValueBounds& outside,
             const BlockLimits& limits)
      : out_(p),
        loop_(loop),
        params_(ir::As<ir::ScanParams>(loop.params.get())),
        columns_(loop),
        bounds_(columns_.body()),
        outside_(outside),
        line_(limits.line) {}

  // Adds loops that do the same with fewer columns. Returns false if there are none.
  bool TryReplace() {
    if (params_.reverse || params_.length < 2) return false;
    const std::vector<ValueId> masks = Masks();
    return std::any_of(masks.rbegin(), masks.rend(), [&](ValueId mask) { return TryMask(mask); });
  }

 private:
  // Returns comparisons of bounded integers, and bools computed from them, in program order. The
  // last ones hide most.
  std::vector<ValueId> Masks() const {
    const ValueBounds all = bounds_.Find(BoundsOfInputs(loop_, outside_, 0, params_.length));
    const ir::Program& body = columns_.body();
    base::IdVector<ValueId, bool> is_mask(body.values.size());
    std::vector<ValueId> masks;
    for (const Instruction& i : body.instructions) {
      const ScalarOp* op = ScalarOpOf(i);
      if (!op || !body.type(i.results[0])->dtype().is_bool()) continue;
      const auto is_known = [&](ValueId v) { return is_mask[v]; };
      is_mask[i.results[0]] = plan::FactsOf(*op).compares
                                  ? all[i.operands[0]] && all[i.operands[1]]
                                  : *op == ScalarOp::kAnd && absl::c_any_of(i.operands, is_known);
      if (is_mask[i.results[0]]) masks.push_back(i.results[0]);
    }
    return masks;
  }

  // A mask, and its value in the columns that it hides.
  struct Mask {
    ValueId value;
    bool hides;
  };

  // Iterations that run in one loop, with the bounds of the body's values in them.
  struct BoundedPart {
    LoopPart part;
    ValueBounds bounds;
  };

  bool TryMask(ValueId mask) {
    std::vector<Instruction>& instructions = out_.program().instructions;
    const auto before = static_cast<long>(instructions.size());
    for (int d = columns_.body().type(mask)->rank(); d-- > 0;) {
      if (!columns_.FollowFrom(mask, d)) continue;
      for (const bool hides : {false, true}) {
        const std::vector<BoundedPart> parts = FindParts({mask, hides});
        if (!parts.empty() && TryAddParts(parts)) return true;
        instructions.erase(instructions.begin() + before, instructions.end());
      }
    }
    return false;
  }

  static int64_t VisibleIn(const std::vector<BoundedPart>& parts) {
    int64_t visible = 0;
    for (const BoundedPart& p : parts) visible += p.part.visible.count() * p.part.iterations();
    return visible;
  }

  // Returns the parts of the loop; none if they skip less than a fifth of the columns.
  std::vector<BoundedPart> FindParts(Mask mask) const {
    if (columns_.count() < 2 * line_) return {};
    std::vector<BoundedPart> parts = FindParts(mask, std::min(kFewLoops, params_.length));
    if (5 * VisibleIn(parts) > 4 * columns_.count() * params_.length) return {};
    while (2 * std::ssize(parts) <= std::min(kMostLoops, params_.length)) {
      std::vector<BoundedPart> more = FindParts(mask, 2 * std::ssize(parts));
      if (5 * VisibleIn(more) > 4 * VisibleIn(parts)) break;
      parts = std::move(more);
    }
    return parts;
  }

  std::vector<BoundedPart> FindParts(Mask mask, int64_t loops) const {
    std::vector<BoundedPart> parts;
    for (int64_t k = 0; k < loops; ++k) {
      const int64_t begin = k * params_.length / loops, end = (k + 1) * params_.length / loops;
      ValueBounds bounds = bounds_.Find(BoundsOfInputs(loop_, outside_, begin, end));
      const Columns columns = VisibleColumns(mask, bounds);
      parts.push_back({{.begin = begin, .end = end, .visible = columns}, std::move(bounds)});
    }
    return parts;
  }

  // Returns all columns without those on either side that the mask hides in all rows.
  Columns VisibleColumns(Mask mask, const ValueBounds& bounds) const {
    const int64_t n = columns_.count();
    const auto is_hidden = [&](int64_t begin, int64_t end) {
      return columns_.KnownBool(mask.value, bounds, {begin, end}) == mask.hides;
    };
    Columns visible{LargestFor(n, [&](int64_t c) { return is_hidden(0, c); }), n};
    visible.end = n - LargestFor(n, [&](int64_t c) { return is_hidden(n - c, n); });
    // Whole lines of memory, and at least one column: a maximum over none does not exist.
    visible.begin = visible.begin / line_ * line_;
    visible.end = std::min(n, base::CeilDiv(visible.end, line_) * line_);
    if (visible.begin >= visible.end) {
      visible.begin = std::min(visible.begin, std::max<int64_t>(0, n - line_));
      visible.end = std::min(n, visible.begin + line_);
    }
    return visible;
  }

  // Adds a loop per part and joins their stacked results. Each loop takes the carries of the one
  // before. Returns false if a part cannot skip its hidden columns.
  bool TryAddParts(const std::vector<BoundedPart>& parts) {
    ir::Program& p = out_.program();
    const auto carries = base::Size(params_.carries);
    const auto first = loop_.operands.begin() + params_.constants;
    std::vector<ValueId> carried(first, first + params_.carries);
    std::vector<std::vector<ValueId>> stacked(loop_.results.size() - carries);
    for (const auto& [part, bounds] : parts) {
      const auto results = AddPart(out_, loop_, columns_, part, bounds, carried);
      if (!results) return false;
      carried.assign(results->begin(), results->begin() + params_.carries);
      for (size_t r = carries; r < results->size(); ++r)
        stacked[r - carries].push_back((*results)[r]);
    }
    for (size_t r = 0; r < carries; ++r) Rename(carried[r], loop_.results[r]);
    ops::DimParams along;
    along.dim.push_back(0);
    for (size_t r = 0; r < stacked.size(); ++r)
      p.instructions.push_back({.op = &ops::kConcatenate,
                                .params = ir::MakeParams(along),
                                .operands = {stacked[r].begin(), stacked[r].end()},
                                .results = {loop_.results[carries + r]},
                                .loc = loop_.loc,
                                .cost = std::make_shared<const ir::Cost>()});
    return true;
  }

  // Renames a result of the newest instructions.
  void Rename(ValueId from, ValueId to) {
    for (Instruction& i : std::views::reverse(out_.program().instructions)) {
      const auto result = absl::c_find(i.results, from);
      if (result == i.results.end()) continue;
      *result = to;
      return;
    }
  }

  Writer out_;
  const Instruction& loop_;
  const ir::ScanParams& params_;
  LoopColumns columns_;
  const BoundsFinder bounds_;   // on the values of the body
  const ValueBounds& outside_;  // on the values around the loop
  const int64_t line_;
};

bool IsScan(const Instruction& i) {
  const auto* regions = std::get_if<ir::AsRegions>(&*i.op->lowering);
  return regions && regions->kind == ir::AsRegions::kScan && !i.regions.empty();
}

void SkipMaskedIn(ir::Program& p, const std::vector<MaybeBounds>& inputs,
                  const BlockLimits& limits) {
  if (absl::c_none_of(p.instructions, IsScan)) return;
  const ValueBounds bounds = BoundsFinder(p).Find(inputs);
  std::vector<Instruction> from = std::exchange(p.instructions, {});
  for (Instruction& i : from) {
    if (!IsScan(i)) {
      p.instructions.push_back(std::move(i));
      continue;
    }
    const int64_t length = ir::As<ir::ScanParams>(i.params.get()).length;
    ir::Program body = *i.regions[0];
    SkipMaskedIn(body, BoundsOfInputs(i, bounds, 0, length), limits);
    i.regions[0] = std::make_shared<const ir::Program>(std::move(body));
    if (!MaskedLoop(p, i, bounds, limits).TryReplace()) p.instructions.push_back(std::move(i));
  }
}

}  // namespace

void SkipMasked(ir::Program& device, const BlockLimits& limits) {
  SkipMaskedIn(device, {}, limits);
}

}  // namespace tessera::spmd
