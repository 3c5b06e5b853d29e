// Inserts conversions around ops that compute with storage dtypes.
#include "spmd/passes/widen_storage.h"

#include <absl/algorithm/container.h>

#include "base/dtype.h"
#include "ops/ops.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

bool IsStorage(const ir::Program& p, ValueId v) { return p.type(v)->dtype().is_storage(); }

// Whether the devices hold terms of the value.
bool IsPartial(const ir::Program& p, ValueId v) {
  return IsStorage(p, v) && !p.type(v)->sharding().unreduced.empty();
}

bool HasStorage(const ir::Program& p, const Instruction& i) {
  const auto is_storage = [&](ValueId v) { return IsStorage(p, v); };
  return absl::c_any_of(i.operands, is_storage) || absl::c_any_of(i.results, is_storage);
}

// Whether moving from one type to the other combines the terms of different devices.
bool Combines(const ir::Type* from, const ir::Type* to) {
  return absl::c_any_of(from->sharding().unreduced, [&](const sharding::AxisPart& axis) {
    return !absl::c_linear_search(to->sharding().unreduced, axis);
  });
}

// Whether an instruction with storage dtypes computes with them outside of an elementwise kernel.
bool Computes(const ir::Program& p, const Instruction& i) {
  const ir::Lowering& lowering = *i.op->lowering;
  if (i.op->opaque || std::holds_alternative<ir::AsRegions>(lowering)) return false;
  // A gather of terms moves them: they are rounded before.
  if (std::holds_alternative<ir::AsKernel>(lowering) && i.op->keys) return false;
  const auto is_partial = [&](ValueId v) { return IsPartial(p, v); };
  if (absl::c_any_of(i.operands, is_partial) || absl::c_any_of(i.results, is_partial)) return true;
  if (std::holds_alternative<ir::AsMove>(lowering))
    return Combines(p.type(i.operands[0]), p.type(i.results[0]));
  if (const auto* manual = std::get_if<ir::AsManualMove>(&lowering)) {
    const auto [from, to] =
        manual->views(i.params.get(), p.type(i.operands[0]), p.type(i.results[0]));
    return Combines(from, to);
  }
  const bool computes = std::holds_alternative<ir::AsKernel>(lowering) ||
                        std::holds_alternative<ir::AsReduction>(lowering) ||
                        std::holds_alternative<ir::AsIota>(lowering);
  return computes;
}

bool NeedsWider(const ir::Program& p) {
  return absl::c_any_of(p.instructions, [&](const Instruction& i) {
    return (HasStorage(p, i) && Computes(p, i)) ||
           absl::c_any_of(i.regions, [](const ir::RegionPtr& r) { return NeedsWider(*r); });
  });
}

class Widener {
 public:
  explicit Widener(const ir::Program& from)
      : out_(from), wide_(from.values.size(), ir::kNoValue), only_wide_(from.values.size(), false) {
    out_.instructions.clear();
    for (const Instruction& i : from.instructions) Write(i);
    for (ValueId v : out_.outputs) DefineNarrow(v, out_.values[v].loc);
  }
  ir::Program Take() { return std::move(out_); }

 private:
  void Convert(ValueId from, ValueId to, Loc loc) {
    out_.instructions.push_back({.op = &ops::Elementwise(plan::ScalarOp::kConvert),
                                 .params = nullptr,
                                 .operands = {from},
                                 .results = {to},
                                 .loc = loc});
  }
  // Adds a value with the dtype in which functions compute with the dtype of v.
  ValueId AddWide(ValueId v, Loc loc) {
    const ir::Type* type = out_.type(v);
    return out_.AddValue(type->WithDType(base::ComputedIn(type->dtype())), loc);
  }
  ValueId Widened(ValueId v, Loc loc) {
    if (!IsStorage(out_, v)) return v;
    if (wide_[v] != ir::kNoValue) return wide_[v];
    wide_[v] = AddWide(v, loc);
    Convert(v, wide_[v], loc);
    return wide_[v];
  }

  void Write(Instruction i) {
    for (ir::RegionPtr& region : i.regions) region = WidenStorage(region);
    if (!HasStorage(out_, i) || !Computes(out_, i)) {
      for (ValueId v : i.operands) DefineNarrow(v, i.loc);
      out_.instructions.push_back(std::move(i));
      return;
    }
    for (ValueId& v : i.operands) v = Widened(v, i.loc);
    const auto narrow = i.results;
    for (ValueId& v : i.results)
      if (IsStorage(out_, v)) v = AddWide(v, i.loc);
    const auto wide = i.results;
    const Loc loc = i.loc;
    out_.instructions.push_back(std::move(i));
    for (size_t r = 0; r < narrow.size(); ++r) {
      if (narrow[r] == wide[r]) continue;
      if (IsPartial(out_, narrow[r])) {
        wide_[narrow[r]] = wide[r];
        only_wide_[narrow[r]] = true;
      } else {
        Convert(wide[r], narrow[r], loc);
      }
    }
  }

  // Rounds terms that something reads which does not compute: a gather, a barrier, a loop, the
  // caller.
  void DefineNarrow(ValueId v, Loc loc) {
    if (!only_wide_.Has(v) || !only_wide_[v]) return;
    Convert(wide_[v], v, loc);
    only_wide_[v] = false;
  }

  ir::Program out_;
  base::IdVector<ValueId, ValueId> wide_;  // by the narrow value
  ir::ValueSet only_wide_;                 // values whose narrow form is not defined yet
};

}  // namespace

std::shared_ptr<const ir::Program> WidenStorage(std::shared_ptr<const ir::Program> program) {
  return NeedsWider(*program) ? ir::Shared(Widener(*program).Take()) : program;
}

}  // namespace tessera::spmd
