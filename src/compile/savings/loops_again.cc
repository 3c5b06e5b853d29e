// Backward loops compute the values of an iteration again, from the carries that it begins with.
#include "compile/savings/loops_again.h"

#include <absl/algorithm/container.h>

#include <optional>
#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/control_params.h"
#include "ir/inline.h"
#include "ir/regions.h"
#include "ir/uses.h"
#include "ops/tangents.h"

namespace tessera::compile {
namespace {

using LoopValues = std::vector<ir::ValueId>;

const ir::ScanParams* ScanOf(const ir::Instruction& i) {
  const auto* region = std::get_if<ir::AsRegions>(&*i.op->lowering);
  return region && region->kind == ir::AsRegions::kScan ? &ir::As<ir::ScanParams>(i.params.get())
                                                        : nullptr;
}

// Operands of a scan, or inputs of its region, by their kind.
struct LoopOperands {
  LoopOperands(absl::Span<const ir::ValueId> all, const ir::ScanParams& params)
      : constants(all.begin(), all.begin() + params.constants),
        carries(all.begin() + params.constants, all.begin() + params.constants + params.carries),
        xs(all.begin() + params.constants + params.carries, all.end()) {}
  LoopValues constants, carries, xs;
};

void Append(LoopValues& to, const LoopValues& more) {
  to.insert(to.end(), more.begin(), more.end());
}

class LoopAgain {
 public:
  LoopAgain(const ir::Program& source, const std::string& line) : out_(source), line_(line) {}

  std::optional<ir::Program> Run() {
    bool changes = false;
    for (ir::Instruction& i : out_.instructions)
      for (ir::RegionPtr& region : i.regions)
        if (std::optional<ir::Program> changed = LoopAgain(*region, line_).Run()) {
          region = ir::Shared(*std::move(changed));
          changes = true;
        }
    for (size_t f = 0; f < out_.instructions.size(); ++f) {
      const ir::Instruction& forward = out_.instructions[f];
      if (!ScanOf(forward) || forward.loc.is_backward() || base::Where(forward.loc) != line_ ||
          ir::EffectOf(forward) != ir::Effect::kNone)
        continue;
      for (size_t b = f + 1; b < out_.instructions.size(); ++b)
        if (ReadsSlices(out_.instructions[b], forward)) {
          Compute(f, b);
          changes = true;
          break;
        }
    }
    if (!changes) return {};
    ir::RemoveDead(out_);
    return std::move(out_);
  }

 private:
  // Returns the position among the results of a scan, if v is one that has a slice for each
  // iteration; else the number of its results.
  static size_t SlicesOf(const ir::Instruction& scan, ir::ValueId v) {
    const auto first = scan.results.begin() + ScanOf(scan)->carries;
    return base::Size(std::find(first, scan.results.end(), v) - scan.results.begin());
  }
  bool ReadsSlices(const ir::Instruction& i, const ir::Instruction& forward) const {
    const ir::ScanParams *params = ScanOf(i), *of_forward = ScanOf(forward);
    if (!params || !i.loc.is_backward() || params->length != of_forward->length) return false;
    return absl::c_any_of(LoopOperands(i.operands, *params).xs, [&](ir::ValueId v) {
      return SlicesOf(forward, v) < forward.results.size();
    });
  }

  // Makes the carries with which iterations begin results of the forward scan. Returns them.
  LoopValues KeepCarries(size_t f) {
    ir::Instruction& forward = out_.instructions[f];
    const ir::ScanParams params = *ScanOf(forward);
    ir::Program body = *forward.regions[0];
    LoopValues kept;
    for (ir::ValueId carry : LoopOperands(body.inputs, params).carries) {
      kept.push_back(out_.AddValue(ir::Stacked(body.type(carry), params.length), forward.loc));
      forward.results.push_back(kept.back());
      body.outputs.push_back(carry);
    }
    forward.regions[0] = ir::Shared(std::move(body));
    return kept;
  }

  // Changes a backward scan `b` of the forward scan `f`.
  void Compute(size_t f, size_t b) {
    const ir::RegionPtr again = out_.instructions[f].regions[0];
    const ir::Instruction forward = out_.instructions[f];
    const ir::ScanParams of_forward = *ScanOf(forward);
    const LoopValues kept = KeepCarries(f);
    ir::Instruction& backward = out_.instructions[b];
    const ir::ScanParams of_backward = *ScanOf(backward);
    const ir::Program& old = *backward.regions[0];
    const LoopOperands outer(backward.operands, of_backward), inner(old.inputs, of_backward);
    const LoopOperands outer_again(forward.operands, of_forward),
        inner_again(again->inputs, of_forward);

    ir::Program body;
    body.mesh = old.mesh;
    ir::Builder builder(body, backward.loc);
    const auto add = [&](const ir::Program& from, const LoopValues& values) {
      LoopValues added;
      for (ir::ValueId v : values) {
        added.push_back(body.AddValue(from.type(v), from.values[v].loc, from.place(v)));
        body.inputs.push_back(added.back());
      }
      return added;
    };
    LoopValues given = add(old, inner.constants);
    LoopValues given_again = add(*again, inner_again.constants);
    Append(given, add(old, inner.carries));
    LoopValues operands = outer.constants;
    Append(operands, outer_again.constants);
    Append(operands, outer.carries);
    std::vector<std::pair<size_t, size_t>> computed;  // position in `given` -> result of `again`
    for (size_t k = 0; k < outer.xs.size(); ++k) {
      const size_t result = SlicesOf(forward, outer.xs[k]);
      if (result < forward.results.size()) {
        computed.emplace_back(given.size(), result);
        given.push_back(ir::kNoValue);
        continue;
      }
      given.push_back(add(old, {inner.xs[k]})[0]);
      operands.push_back(outer.xs[k]);
    }
    const LoopValues slices = add(*again, inner_again.xs),
                     carries = add(*again, inner_again.carries);
    Append(operands, outer_again.xs);
    Append(operands, kept);
    Append(given_again, carries);
    Append(given_again, slices);
    for (ir::ValueId& v : given_again) v = ops::Barrier(builder, v);
    const LoopValues values = ir::Inline(builder, *again, given_again);
    for (const auto& [at, result] : computed) given[at] = values[result];
    body.outputs = ir::Inline(builder, old, given);

    backward.operands.assign(operands.begin(), operands.end());
    backward.params =
        ir::WithCounts(backward, base::Size(of_backward.constants + of_forward.constants),
                       base::Size(of_backward.carries));
    backward.regions[0] = ir::Shared(std::move(body));
  }

  ir::Program out_;
  const std::string& line_;
};

}  // namespace

std::shared_ptr<const ir::Program> WithLoopAgain(const ir::Program& program,
                                                 const std::string& line) {
  std::optional<ir::Program> changed = LoopAgain(program, line).Run();
  return changed ? ir::Shared(*std::move(changed)) : nullptr;
}

}  // namespace tessera::compile
