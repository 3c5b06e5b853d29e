// Which columns a mask hides in which iterations.
#include "spmd/blocks/skip_masked.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/at.h"
#include "base/divide.h"
#include "ir/control_params.h"
#include "spmd/blocks/find_blocks.h"
#include "spmd/blocks/visible_part.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using plan::ScalarOp;

constexpr int64_t kMostLoops = 8;

// One loop: its parts, and what they leave.
class MaskedLoop {
 public:
  MaskedLoop(ir::Program& p, const Instruction& loop, const ValueBounds& outside)
      : p_(p),
        out_(p),
        loop_(loop),
        params_(ir::As<ir::ScanParams>(loop.params.get())),
        columns_(*loop.regions[0]),
        outside_(outside) {}

  // Adds what does the same with fewer columns; false: there is none.
  bool Run() {
    if (params_.reverse || params_.length < 2) return false;
    const size_t before = p_.instructions.size();
    const ValueBounds all = BoundsOf(columns_.body(), InputsIn(0, params_.length));
    for (const Instruction& i : columns_.body().instructions) {
      const ScalarOp* op = ByElement(i);
      if (!op || !plan::FactsOf(*op).compares || !base::At(all, i.operands[0]) ||
          !base::At(all, i.operands[1]))
        continue;
      for (int d = columns_.body().type(i.results[0])->rank(); d-- > 0;) {
        if (!columns_.FollowFrom(i.results[0], d) || CarriesColumns()) continue;
        for (const Sides sides : {Sides{true, true}, Sides{false, true}, Sides{true, false}}) {
          if (FindParts(i.results[0], sides) && Build()) return true;
          p_.instructions.erase(p_.instructions.begin() + static_cast<long>(before),
                                p_.instructions.end());
        }
      }
    }
    return false;
  }

 private:
  // What is known of the body's inputs in those iterations.
  ValueBounds InputsIn(int64_t begin, int64_t end) const {
    ValueBounds inputs(loop_.operands.size());
    const auto constants = base::Size(params_.constants), carries = base::Size(params_.carries);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto v = base::Size(loop_.operands[k]);
      if (v >= outside_.size()) continue;
      if (k < constants) inputs[k] = outside_[v];
      if (k >= constants + carries) inputs[k] = BoundsOfSlices(outside_[v], begin, end);
    }
    return inputs;
  }

  bool CarriesColumns() const {
    const std::vector<ValueId>& inputs = columns_.body().inputs;
    for (int64_t k = 0; k < params_.carries; ++k)
      if (columns_.Has(base::At(inputs, params_.constants + k))) return true;
    return false;
  }

  // Where a mask that is the same in many columns may hide them: what it takes there decides.
  struct Sides {
    bool before, behind;
  };

  // Cuts the iterations where that saves a fifth of the columns or more.
  bool FindParts(ValueId mask, Sides sides) {
    if (columns_.count() < 2 * Limits().line) return false;
    parts_.clear();
    bounds_.clear();
    const int64_t loops = std::min(kMostLoops, params_.length);
    int64_t needed = 0;
    for (int64_t k = 0; k < loops; ++k) {
      LoopPart part{.begin = k * params_.length / loops, .end = (k + 1) * params_.length / loops};
      bounds_.push_back(BoundsOf(columns_.body(), InputsIn(part.begin, part.end)));
      part.needed = NeededBy(mask, sides, bounds_.back());
      needed += part.needed.count() * (part.end - part.begin);
      parts_.push_back(part);
    }
    return 5 * needed <= 4 * columns_.count() * params_.length;
  }

  // All columns but those before and behind in which the mask does not change.
  Columns NeededBy(ValueId mask, Sides sides, const ValueBounds& bounds) const {
    const int64_t n = columns_.count();
    const auto is_known = [&](int64_t begin, int64_t end) {
      return columns_.State(mask, bounds, {begin, end}).has_value();
    };
    // Known of some columns, it is known of fewer.
    const auto longest = [&](const auto& is_hidden) {
      int64_t least = 0, most = n;
      while (least < most) {
        const int64_t middle = (least + most + 1) / 2;
        if (is_hidden(middle))
          least = middle;
        else
          most = middle - 1;
      }
      return least;
    };
    Columns needed{0, n};
    if (sides.before) needed.begin = longest([&](int64_t c) { return is_known(0, c); });
    if (sides.behind) needed.end = n - longest([&](int64_t c) { return is_known(n - c, n); });
    // Whole lines of memory; and one column at least, of which there is a largest.
    const int64_t line = Limits().line;
    needed.begin = needed.begin / line * line;
    needed.end = std::min(n, base::CeilDiv(needed.end, line) * line);
    if (needed.begin >= needed.end) {
      needed.begin = std::min(needed.begin, std::max<int64_t>(0, n - line));
      needed.end = std::min(n, needed.begin + line);
    }
    return needed;
  }

  bool Build() {
    const auto carries = base::Size(params_.carries);
    std::vector<ValueId> carried(loop_.operands.begin() + params_.constants,
                                 loop_.operands.begin() + params_.constants + params_.carries);
    std::vector<std::vector<ValueId>> stacked(loop_.results.size() - carries);
    for (size_t k = 0; k < parts_.size(); ++k) {
      const auto made = AddPart(out_, loop_, columns_, parts_[k], bounds_[k], carried);
      if (!made) return false;
      carried.assign(made->begin(), made->begin() + params_.carries);
      for (size_t r = carries; r < made->size(); ++r) stacked[r - carries].push_back((*made)[r]);
    }
    for (size_t r = 0; r < carries; ++r) p_.instructions.back().results[r] = loop_.results[r];
    ops::DimParams along;
    along.dim.push_back(0);
    for (size_t r = 0; r < stacked.size(); ++r)
      p_.instructions.push_back({.op = &ops::kConcatenate,
                                 .params = ir::MakeParams(along),
                                 .operands = {stacked[r].begin(), stacked[r].end()},
                                 .results = {loop_.results[carries + r]},
                                 .loc = loop_.loc,
                                 .cost = Costing({})});
    return true;
  }

  ir::Program& p_;
  Writer out_;
  const Instruction& loop_;
  const ir::ScanParams& params_;
  LoopColumns columns_;
  const ValueBounds& outside_;  // of the values around the loop
  std::vector<LoopPart> parts_;
  std::vector<ValueBounds> bounds_;  // per part
};

bool IsScan(const Instruction& i) {
  const auto* regions = std::get_if<ir::AsRegions>(&*i.op->lowering);
  return regions && regions->kind == ir::AsRegions::kScan && !i.regions.empty();
}

void Skip(ir::Program& p, const ValueBounds& inputs) {
  if (std::none_of(p.instructions.begin(), p.instructions.end(), IsScan)) return;
  const ValueBounds bounds = BoundsOf(p, inputs);
  std::vector<Instruction> from = std::exchange(p.instructions, {});
  for (Instruction& i : from) {
    if (!IsScan(i)) {
      p.instructions.push_back(std::move(i));
      continue;
    }
    const auto& params = ir::As<ir::ScanParams>(i.params.get());
    ValueBounds inside(i.operands.size());
    for (size_t k = 0; k < inside.size(); ++k) {
      const auto& outside = base::At(bounds, i.operands[k]);
      if (k < base::Size(params.constants)) inside[k] = outside;
      if (k >= base::Size(params.constants + params.carries))
        inside[k] = BoundsOfSlices(outside, 0, params.length);
    }
    ir::Program body = *i.regions[0];
    Skip(body, inside);
    i.regions[0] = std::make_shared<const ir::Program>(std::move(body));
    if (!MaskedLoop(p, i, bounds).Run()) p.instructions.push_back(std::move(i));
  }
}

}  // namespace

void SkipMasked(ir::Program& device) { Skip(device, {}); }

}  // namespace tessera::spmd
