// Inlines calls and expansions, and copies a program into another.
#include "ir/inline.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "ir/simplify.h"

namespace tessera::ir {
namespace {

bool IsCall(const Instruction& i) {
  const auto* region = std::get_if<AsRegions>(&*i.op->lowering);
  return region && region->kind == AsRegions::kCall;
}

// kAll: calls, and every op that expands. kCalls: only those with regions.
enum class Inlined : uint8_t { kAll, kCalls };

bool IsInlined(const Instruction& i, Inlined what) {
  if (IsCall(i)) return true;
  const auto* expansion = std::get_if<AsExpansion>(&*i.op->lowering);
  return expansion && !expansion->late && (what == Inlined::kAll || !i.regions.empty());
}

bool HasInlined(const Program& program, Inlined what) {
  return absl::c_any_of(program.instructions, [&](const Instruction& i) {
    return IsInlined(i, what) ||
           absl::c_any_of(i.regions, [&](const RegionPtr& r) { return HasInlined(*r, what); });
  });
}

std::shared_ptr<const Program> WithInlined(const std::shared_ptr<const Program>& program,
                                           Inlined what);

// Copies a program with such instructions inlined.
class Inliner {
 public:
  Inliner(const Program& from, Inlined what)
      : what_(what), out_(from), builder_(out_, Loc::Unknown()), now_(from.values.size()) {
    out_.instructions.clear();
    for (ValueId v : now_.ids()) now_[v] = v;
    for (const Instruction& i : from.instructions) Write(i);
    for (ValueId& v : out_.outputs) v = Now(v);
    for (auto& [name, v] : out_.names) v = Now(v);
  }
  Program Take() { return std::move(out_); }

 private:
  // Returns the new id of a value. Values of inlined functions have new ids already.
  ValueId Now(ValueId v) const { return now_.Has(v) ? now_[v] : v; }

  void Write(Instruction i) {
    for (ValueId& v : i.operands) v = Now(v);
    if (!IsInlined(i, what_)) {
      const ValueId only = what_ == Inlined::kAll ? OnlyChoice(out_, i) : kNoValue;
      if (only != kNoValue) {
        now_[i.results[0]] = only;
        return;
      }
      for (RegionPtr& r : i.regions) r = WithInlined(r, what_);
      out_.instructions.push_back(std::move(i));
      return;
    }
    builder_.set_loc(i.loc);
    const std::vector<ValueId> results =
        IsCall(i) ? Inline(builder_, *WithInlined(i.regions[0], what_), i.operands)
                  : std::get<AsExpansion>(*i.op->lowering)
                        .expand(builder_, i.params.get(), i.operands, out_.type(i.results[0]));
    for (size_t r = 0; r < results.size(); ++r) now_[i.results[r]] = results[r];
  }

  const Inlined what_;
  Program out_;
  Builder builder_;
  base::IdVector<ValueId, ValueId> now_;
};

std::shared_ptr<const Program> WithInlined(const std::shared_ptr<const Program>& program,
                                           Inlined what) {
  return HasInlined(*program, what) ? Shared(Inliner(*program, what).Take()) : program;
}

}  // namespace

std::vector<ValueId> Inline(Builder& builder, const Program& program,
                            absl::Span<const ValueId> given, Instead instead) {
  base::IdVector<ValueId, ValueId> map(program.values.size(), kNoValue);
  const size_t inputs = program.inputs.size();
  for (size_t k = 0; k < given.size(); ++k)
    map[k < inputs ? program.inputs[k] : program.captures[k - inputs].value] = given[k];
  absl::InlinedVector<ValueId, 3> operands;
  absl::InlinedVector<const Type*, 1> types;
  const Loc loc = builder.loc();
  builder.program().Reserve(program.instructions.size());
  for (const Instruction& i : program.instructions) {
    operands.clear(), types.clear();
    for (ValueId v : i.operands) operands.push_back(map[v]);
    for (ValueId v : i.results) types.push_back(program.type(v));
    builder.set_loc(i.loc);
    if (const ValueId other = instead(i); other != kNoValue) {
      map[i.results[0]] = other;
      continue;
    }
    const auto results = builder.EmitTyped(*i.op, i.params, operands, types, i.regions);
    for (size_t r = 0; r < results.size(); ++r) {
      ValueId& made = map[i.results[r]];
      if (made == kNoValue) made = results[r];  // a value that was given stays
    }
  }
  builder.set_loc(loc);
  for (const auto& [name, v] : program.names)
    if (map[v] != kNoValue) builder.program().names.emplace_back(name, map[v]);
  std::vector<ValueId> outputs;
  for (ValueId v : program.outputs) outputs.push_back(map[v]);
  return outputs;
}

std::shared_ptr<const Program> InlineCalls(const std::shared_ptr<const Program>& program) {
  return WithInlined(program, Inlined::kAll);
}
std::shared_ptr<const Program> InlineCallsAlone(const std::shared_ptr<const Program>& program) {
  return WithInlined(program, Inlined::kCalls);
}

}  // namespace tessera::ir
