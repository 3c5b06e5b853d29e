// Control flow: the user's functions traced as regions, and what must agree between them.
#include "tessera/control.h"

#include <fmt/format.h>

#include "api/operands.h"
#include "base/error.h"
#include "ir/control_params.h"
#include "ir/regions.h"
#include "tessera/ops.h"
#include "tessera/sharding.h"
#include "trace/control.h"
#include "trace/scopes.h"

namespace tessera::trace {
namespace {

using api::Call;
using api::TypeOf;
using ir::Type;

enum Check { kTypes = 1, kTree = 2, kPredicate = 3, kSizes = 4, kLength = 5, kShardedSteps = 6 };

[[noreturn]] void Refuse(Call call, Check check, std::string reason,
                         std::vector<ErrorOperand> operands, std::vector<std::string> notes) {
  base::ThrowTrace({.kind = {},
                    .op = call.name,
                    .label = fmt::format("{}.C{}", call.name, static_cast<int>(check)),
                    .where = base::Where(call.loc),
                    .reason = std::move(reason),
                    .operands = std::move(operands),
                    .notes = std::move(notes),
                    .fixes = {}});
}

// Returns the edit that makes a value of type `from` one of type `to`; empty where none does.
std::string Edit(const Type& from, const Type& to, const std::string& name) {
  if (from.shape() != to.shape()) return "";
  std::string text = name;
  if (from.dtype() != to.dtype()) text += fmt::format(".astype({})", to.dtype().name());
  if (from.sharding() != to.sharding())
    text = fmt::format("reshard({}, {})", text, ArrayType(&to).spec().text());
  return text;
}

ErrorOperand Shown(const std::string& name, const Type& type, Loc loc) {
  return {name, type.text(), loc.line() > 0 ? base::Where(loc) : ""};
}

void CheckTree(Call call, const Leaves& wanted, const Leaves& came, const char* what) {
  if (wanted.names == came.names && wanted.statics == came.statics) return;
  std::string reason = fmt::format("{} another tree", what);
  if (wanted.names.size() != came.names.size())
    reason += fmt::format(", of {} arrays instead of {}", came.names.size(), wanted.names.size());
  Refuse(call, kTree, std::move(reason), {}, {"return a tree of the same sizes, keys and numbers"});
}

std::string Others(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 1; i < names.size() && i < 4; ++i) text += (i > 1 ? ", " : "") + names[i];
  return names.size() > 4 ? text + ", ..." : text;
}

// ---- loops --------------------------------------------------------------------------------------

void CheckUsable(const std::vector<Array>& arrays, Call call) {
  for (const Array& a : arrays) Use(a, call.name, call.loc);
}

// A loop's carry and body while they are traced.
struct Loop {
  Call call;
  Leaves carry;
  std::vector<const Type*> slices;  // what the body takes after the carry
  TracedRegion body = {};

  std::vector<const Type*> Parameters() const {
    std::vector<const Type*> types;
    for (const Array& a : carry.arrays) types.push_back(TypeOf(a));
    types.insert(types.end(), slices.begin(), slices.end());
    return types;
  }
  const Type& Next(size_t i) const { return *body.program.type(body.program.outputs[i]); }
};

// Weak numbers become what the body makes of them. Returns whether any did.
bool PromoteWeak(Loop& loop) {
  bool changed = false;
  for (size_t i = 0; i < loop.carry.arrays.size(); ++i) {
    Array& value = loop.carry.arrays[i];
    const Type &before = *TypeOf(value), &after = loop.Next(i);
    if (!before.weak() || SameType(&before, &after) || before.dtype() == after.dtype()) continue;
    Array like(std::make_shared<ArrayImpl>(ArrayImpl::kAbstract, &after, loop.call.loc));
    DType dtype = api::PromotedDType({Operand(value, loop.call.loc), Operand(like, loop.call.loc)},
                                     loop.call);
    value = api::Convert(value, dtype, loop.call);
    changed = true;
  }
  return changed;
}

void CheckCarry(const Loop& loop) {
  std::vector<std::string> names;
  size_t first = 0;
  for (size_t i = loop.carry.arrays.size(); i-- > 0;) {
    if (SameType(TypeOf(loop.carry.arrays[i]), &loop.Next(i))) continue;
    names.insert(names.begin(), loop.carry.names[i]);
    first = i;
  }
  if (names.empty()) return;
  const Type &before = *TypeOf(loop.carry.arrays[first]), &after = loop.Next(first);
  std::vector<std::string> notes;
  if (std::string edit = Edit(before, after, names[0]); !edit.empty())
    notes = {"make them equal, e.g. start with " + edit,
             "or let the body return " + Edit(after, before, names[0])};
  else
    notes = {"let the body return an array of the shape that it was given"};
  if (names.size() > 1) notes.push_back("the same of " + Others(names));
  Refuse(loop.call, kTypes, fmt::format("the body changes the type of {}", names[0]),
         {Shown("before", before, loop.carry.arrays[first].impl()->loc()),
          Shown("after", after, loop.body.output_locs[first])},
         std::move(notes));
}

// Traces the body until weak numbers of the carry have settled.
void TraceBody(Loop& loop, const LeafFunction& f) {
  CheckUsable(loop.carry.arrays, loop.call);
  do {
    loop.body = TraceRegion(loop.Parameters(), f, loop.call.name, loop.call.loc);
    CheckTree(loop.call, loop.carry, loop.body.result, "the body returns");
  } while (PromoteWeak(loop));
  CheckCarry(loop);
}

std::vector<ir::RegionPtr> Shared(std::vector<TracedRegion>& regions) {
  std::vector<ir::RegionPtr> out;
  for (TracedRegion& r : regions)
    out.push_back(std::make_shared<const ir::Program>(std::move(r.program)));
  return out;
}

std::vector<Array> ApplyRegions(const ir::OpDef& op, ir::ParamsPtr params,
                                const std::vector<ArrayRef>& constants,
                                const std::vector<Array>& arguments,
                                std::vector<TracedRegion>& regions, Call call) {
  Application a{.op = op, .params = std::move(params), .operands = {}, .loc = call.loc};
  a.operands.assign(constants.begin(), constants.end());
  for (const Array& x : arguments) a.operands.push_back(Use(x, call.name, call.loc));
  a.regions = Shared(regions);
  return Apply(a);
}

std::vector<Array> While(Call call, Leaves carry, const LeafFunction& condition,
                         const LeafFunction& body) {
  if (carry.arrays.empty())
    Refuse(call, kTree, "nothing is carried, so that it would run forever or not at all", {},
           {"start with a tree that has an array"});
  CheckUsable(carry.arrays, call);
  Loop loop{call, std::move(carry), {}};
  std::vector<TracedRegion> regions;
  std::vector<const Type*> before = loop.Parameters();
  regions.push_back(TraceRegion(before, condition, call.name, call.loc));
  TraceBody(loop, body);
  if (loop.Parameters() != before)
    regions[0] = TraceRegion(loop.Parameters(), condition, call.name, call.loc);
  regions.push_back(std::move(loop.body));
  const ir::Program& test = regions[0].program;
  if (test.outputs.size() != 1) Refuse(call, kTree, "the condition returns one array", {}, {});
  const Type& predicate = *test.type(test.outputs[0]);
  if (!predicate.shape().empty())
    api::FailShape(call, kPredicate,
                   fmt::format("the condition is a scalar bool, not {}", predicate.text()),
                   {"reduce it, e.g. with all(...) or any(...)"});
  if (!predicate.dtype().is_bool())
    api::FailDType(call, kPredicate,
                   fmt::format("the condition is a scalar bool, not {}", predicate.text()),
                   {"compare it, e.g. with != 0"});
  std::vector<ArrayRef> constants = CloseRegions(regions);
  auto params = ir::MakeParams(ir::WhileParams{static_cast<int64_t>(constants.size())});
  return ApplyRegions(ops::kWhileLoop, std::move(params), constants, loop.carry.arrays, regions,
                      call);
}

std::vector<Array> RunScan(Call call, Leaves carry, const std::vector<Array>& xs,
                           const LeafFunction& body, int64_t length, bool reverse) {
  Loop loop{call, std::move(carry), {}};
  for (const Array& x : xs) loop.slices.push_back(ir::SliceOf(TypeOf(x)));
  TraceBody(loop, body);
  std::vector<TracedRegion> regions;
  regions.push_back(std::move(loop.body));
  std::vector<ArrayRef> constants = CloseRegions(regions);
  if (regions[0].program.outputs.empty()) return {};
  ir::ScanParams params{static_cast<int64_t>(constants.size()),
                        static_cast<int64_t>(loop.carry.arrays.size()), length, reverse};
  std::vector<Array> arguments = std::move(loop.carry.arrays);
  arguments.insert(arguments.end(), xs.begin(), xs.end());
  return ApplyRegions(ops::kScan, ir::MakeParams(params), constants, arguments, regions, call);
}

// ---- unrolled loops -----------------------------------------------------------------------------

// Slices [begin, begin + n) of dim 0, in groups of `group`: [n / group, group, ...]; 0: as they
// are.
Array Steps(const Array& x, int64_t begin, int64_t n, int64_t group, Loc loc) {
  std::vector<int64_t> starts(TypeOf(x)->shape().size(), 0), limits = TypeOf(x)->shape();
  starts[0] = begin;
  limits[0] = begin + n;
  Array part = n == TypeOf(x)->shape()[0] ? x : slice(x, starts, limits, {}, loc);
  if (group == 0) return part;
  limits[0] = group;
  limits.insert(limits.begin(), n / group);
  return reshape(part, limits, {}, loc);
}

Array StepOf(const Array& group, int64_t k, Loc loc) {
  std::vector<int64_t> shape = TypeOf(group)->shape();
  shape.erase(shape.begin());
  return reshape(Steps(group, k, 1, 0, loc), shape, {}, loc);
}

// Whether a step gives the carry that it got; if not, the caller finds out and says so.
bool Carries(const Leaves& state, const std::vector<Array>& leaves, size_t carries) {
  bool same = state.names.size() == carries;
  for (size_t i = 0; same && i < carries; ++i)
    same = SameType(TypeOf(state.arrays[i]), TypeOf(leaves[i]));
  return same;
}

// The body that does `unroll` steps: takes groups of slices, and gives groups of ys.
LeafFunction Unrolled(const LeafFunction& body, size_t carries, int64_t unroll, bool reverse,
                      Call call) {
  return [&body, carries, unroll, reverse, call](const std::vector<Array>& leaves) {
    const Loc loc = call.loc;
    Leaves state;
    state.arrays.assign(leaves.begin(), leaves.begin() + static_cast<long>(carries));
    std::vector<std::vector<Array>> ys;
    for (int64_t i = 0; i < unroll; ++i) {
      int64_t k = reverse ? unroll - 1 - i : i;
      for (size_t x = carries; x < leaves.size(); ++x)
        state.arrays.push_back(StepOf(leaves[x], k, loc));
      state = body(state.arrays);
      CheckUsable(state.arrays, call);
      if (!Carries(state, leaves, carries)) return state;
      ys.resize(state.arrays.size() - carries);
      for (size_t y = 0; y < ys.size(); ++y)
        ys[y].insert(reverse ? ys[y].begin() : ys[y].end(), state.arrays[carries + y]);
      state.arrays.resize(carries);
    }
    for (const std::vector<Array>& y : ys) state.arrays.push_back(stack(y, 0, loc));
    return state;
  };
}

// The steps that do not fill an iteration are a loop of their own, behind the other.
std::vector<Array> RunUnrolled(Call call, Leaves carry, const std::vector<Array>& xs,
                               const LeafFunction& body, int64_t length, bool reverse,
                               int64_t unroll) {
  if (unroll < 1)
    api::FailShape(call, kLength,
                   fmt::format("an iteration does one step or more, not {}", unroll));
  unroll = std::min(unroll, length);
  if (unroll <= 1) return RunScan(call, std::move(carry), xs, body, length, reverse);
  size_t carries = carry.arrays.size();
  int64_t rest = length % unroll, full = length - rest;
  auto part = [&](int64_t begin, int64_t n, int64_t group) {
    std::vector<Array> parts;
    for (const Array& x : xs) parts.push_back(Steps(x, begin, n, group, call.loc));
    return parts;
  };
  LeafFunction unrolled = Unrolled(body, carries, unroll, reverse, call);
  std::vector<Array> results = RunScan(call, carry, part(reverse ? rest : 0, full, unroll),
                                       unrolled, full / unroll, reverse);
  for (size_t i = carries; i < results.size(); ++i) {
    std::vector<int64_t> shape = TypeOf(results[i])->shape();
    shape.erase(shape.begin());
    shape[0] = full;
    results[i] = reshape(results[i], shape, {}, call.loc);
  }
  if (rest == 0) return results;
  carry.arrays.assign(results.begin(), results.begin() + static_cast<long>(carries));
  std::vector<Array> last =
      RunScan(call, std::move(carry), part(reverse ? 0 : full, rest, 0), body, rest, reverse);
  for (size_t i = carries; i < results.size(); ++i)
    last[i] = concatenate(
        reverse ? std::vector{last[i], results[i]} : std::vector{results[i], last[i]}, 0, call.loc);
  return last;
}

// Returns the number of steps that xs and the option agree on.
int64_t StepsOf(Call call, const Leaves& xs, const ScanOptions& options) {
  std::optional<int64_t> length = options.length;
  if (length && *length < 0)
    api::FailShape(call, kLength, fmt::format("a length of {} is negative", *length));
  for (size_t i = 0; i < xs.arrays.size(); ++i) {
    const Type& type = *Use(xs.arrays[i], call.name, call.loc)->type();
    if (type.shape().empty())
      api::FailShape(call, kSizes,
                     fmt::format("{} is a scalar, without a dim 0 to step over", xs.names[i]));
    if (!type.sharding().dims[0].axes.empty()) {
      PartitionSpec spec = ArrayType(ir::Stacked(ir::SliceOf(&type), type.shape()[0])).spec();
      api::FailSharding(
          call, kShardedSteps,
          fmt::format("the steps go over dim 0 of {}, which is sharded: {}", xs.names[i],
                      type.text()),
          {fmt::format("give each device all steps: reshard({}, {})", xs.names[i], spec.text())});
    }
    int64_t size = type.shape()[0];
    if (length && *length != size)
      api::FailShape(call, kSizes,
                     options.length ? fmt::format("{} has {} slices, but the length is {}",
                                                  xs.names[i], size, *length)
                                    : fmt::format("{} has {} slices, but {} has {}", xs.names[i],
                                                  size, xs.names[0], *length));
    length = size;
  }
  if (!length)
    api::FailShape(call, kLength, "without xs the number of steps is not known",
                   {"give it: {.length = n}"});
  return *length;
}

// ---- counted loops ------------------------------------------------------------------------------

void CheckBound(Call call, const Operand& bound, const char* name) {
  if (bound.scalar()) {
    if (bound.scalar()->kind() == Scalar::kFloat || bound.scalar()->kind() == Scalar::kBool)
      api::FailDType(call, kPredicate, fmt::format("the {} bound is not an integer", name));
    return;
  }
  const Type& type = *Use(bound.array(), call.name, call.loc)->type();
  if (!type.shape().empty())
    api::FailShape(call, kPredicate,
                   fmt::format("the {} bound is a scalar, not {}", name, type.text()));
  if (!type.dtype().is_integer())
    api::FailDType(call, kPredicate,
                   fmt::format("the {} bound is an integer, not {}", name, type.text()));
}

// The carry with the loop's number in front.
Leaves WithNumber(const Array& number, const Leaves& carry) {
  Leaves out{{number}, {"number"}, carry.statics};
  out.arrays.insert(out.arrays.end(), carry.arrays.begin(), carry.arrays.end());
  out.names.insert(out.names.end(), carry.names.begin(), carry.names.end());
  return out;
}

LeafFunction Counting(const LeafFunction& body, Call call) {
  return [&body, call](const std::vector<Array>& leaves) {
    const Type& type = *TypeOf(leaves[0]);
    Leaves next = body(leaves);
    Array one = api::ScalarOf(Scalar(1), type.dtype(), type.weak(), call);
    return WithNumber(
        api::Run(ops::Elementwise(ops::ScalarOp::kAdd), nullptr, {leaves[0], one}, call), next);
  };
}

// ---- branches -----------------------------------------------------------------------------------

std::string BranchName(Call call, size_t k) {
  if (std::string_view(call.name) == "cond") return k == 0 ? "on_true" : "on_false";
  return fmt::format("branch {}", k);
}

void CheckBranches(Call call, const std::vector<TracedRegion>& regions) {
  const TracedRegion& first = regions[0];
  for (size_t k = 1; k < regions.size(); ++k) {
    const TracedRegion& other = regions[k];
    CheckTree(
        call, first.result, other.result,
        fmt::format("{} returns, unlike {},", BranchName(call, k), BranchName(call, 0)).c_str());
    for (size_t i = 0; i < first.program.outputs.size(); ++i) {
      const Type &a = *first.program.type(first.program.outputs[i]),
                 &b = *other.program.type(other.program.outputs[i]);
      if (SameType(&a, &b)) continue;
      std::vector<std::string> notes;
      if (std::string edit = Edit(b, a, first.result.names[i]); !edit.empty())
        notes = {fmt::format("make them equal, e.g. let {} return {}", BranchName(call, k), edit)};
      Refuse(call, kTypes,
             fmt::format("the branches give different types for {}", first.result.names[i]),
             {Shown(BranchName(call, 0), a, first.output_locs[i]),
              Shown(BranchName(call, k), b, other.output_locs[i])},
             std::move(notes));
    }
  }
}

std::vector<Array> Branch(const ir::OpDef& op, Call call, const Array& index,
                          const Leaves& arguments, const std::vector<LeafFunction>& branches) {
  std::vector<const Type*> types;
  for (const Array& a : arguments.arrays) types.push_back(Use(a, call.name, call.loc)->type());
  if (branches.empty()) Refuse(call, kTree, "there is no branch to choose", {}, {});
  std::vector<TracedRegion> regions;
  for (const LeafFunction& f : branches)
    regions.push_back(TraceRegion(types, f, call.name, call.loc));
  CheckBranches(call, regions);
  std::vector<ArrayRef> constants = CloseRegions(regions);
  if (regions[0].program.outputs.empty()) return {};
  constants.insert(constants.begin(), Use(index, call.name, call.loc));
  return ApplyRegions(op, nullptr, constants, arguments.arrays, regions, call);
}

Array CheckedIndex(Call call, const Operand& index, const char* what) {
  Array value = api::ToArray(index, call);
  const Type& type = *Use(value, call.name, call.loc)->type();
  if (!type.shape().empty())
    api::FailShape(call, kPredicate, fmt::format("the {} is a scalar, not {}", what, type.text()),
                   {"to choose element by element, use where(...)"});
  if (!type.sharding().unreduced.empty())
    api::FailSharding(call, kPredicate,
                      fmt::format("the {} is not known before its sum: {}", what, type.text()),
                      {fmt::format("sum it first: reshard({}, P())", what)});
  return value;
}

}  // namespace

std::vector<Array> WhileLoop(Leaves carry, const LeafFunction& condition, const LeafFunction& body,
                             Loc loc) {
  return While({"while_loop", loc}, std::move(carry), condition, body);
}

std::vector<Array> ForiLoop(const Operand& lower, const Operand& upper, Leaves carry,
                            const LeafFunction& body, const LoopOptions& options, Loc loc) {
  Call call{"fori_loop", loc};
  CheckBound(call, lower, "lower");
  CheckBound(call, upper, "upper");
  LeafFunction counting = Counting(body, call);
  std::vector<Array> results;
  if (lower.scalar() && upper.scalar()) {
    int64_t first = lower.scalar()->as_int(), last = upper.scalar()->as_int(), length = 0;
    Leaves numbered = WithNumber(api::ToArray(lower, call), carry);
    api::ScalarBits(*upper.scalar(), TypeOf(numbered.arrays[0])->dtype(), call);  // must fit too
    if (last > first && __builtin_sub_overflow(last, first, &length))
      api::FailShape(call, kLength, "more steps than 2^63 cannot be counted");
    results = RunUnrolled(call, std::move(numbered), {}, counting, length, /*reverse=*/false,
                          options.unroll);
  } else {
    if (options.unroll != 1)
      api::FailShape(call, kLength, "a loop whose number of steps is not known is not unrolled",
                     {"give both bounds as numbers, or leave .unroll out"});
    std::vector<Array> bounds = api::Promote({lower, upper}, call);
    LeafFunction condition = [&](const std::vector<Array>& leaves) {
      return Leaves{
          {api::Run(ops::Elementwise(ops::ScalarOp::kLt), nullptr, {leaves[0], bounds[1]}, call)},
          {"condition"},
          ""};
    };
    results = While(call, WithNumber(bounds[0], carry), condition, counting);
  }
  results.erase(results.begin());
  return results;
}

std::vector<Array> Scan(Leaves carry, const Leaves& xs, const LeafFunction& body,
                        const ScanOptions& options, Loc loc) {
  Call call{"scan", loc};
  int64_t length = StepsOf(call, xs, options);
  return RunUnrolled(call, std::move(carry), xs.arrays, body, length, options.reverse,
                     options.unroll);
}

std::vector<Array> Cond(const Operand& predicate, const Leaves& arguments,
                        const std::vector<LeafFunction>& branches) {
  Call call{"cond", predicate.loc()};
  Array value = CheckedIndex(call, predicate, "predicate");
  const Type& type = *TypeOf(value);
  if (!type.dtype().is_bool())
    value = api::Run(ops::Elementwise(ops::ScalarOp::kNe), nullptr,
                     {value, api::ScalarOf(Scalar(0), type.dtype(), type.weak(), call)}, call);
  return Branch(ops::kCond, call, value, arguments, branches);
}

std::vector<Array> SwitchCase(const Operand& index, const Leaves& arguments,
                              const std::vector<LeafFunction>& branches) {
  Call call{"switch_case", index.loc()};
  Array value = CheckedIndex(call, index, "index");
  if (!TypeOf(value)->dtype().is_integer())
    api::FailDType(call, kPredicate,
                   fmt::format("the index is an integer, not {}", TypeOf(value)->text()));
  return Branch(ops::kSwitchCase, call, value, arguments, branches);
}

}  // namespace tessera::trace
