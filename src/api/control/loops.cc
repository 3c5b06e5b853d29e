// while_loop, fori_loop, scan and lax_map: user functions traced as regions whose types agree.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>

#include "api/core/manual_axes.h"
#include "api/core/operands.h"
#include "api/core/regions.h"
#include "base/at.h"
#include "base/error.h"
#include "base/fork.h"
#include "ir/control_params.h"
#include "ir/regions.h"
#include "sharding/edit_code.h"
#include "tessera/batching.h"
#include "tessera/control.h"
#include "tessera/ops.h"
#include "tessera/sharding.h"
#include "trace/function.h"
#include "trace/retrace.h"
#include "trace/scopes.h"
#include "trace/tree.h"

namespace tessera {

using namespace api;

namespace {

using OnLeaves = std::function<Arrays(const Arrays&)>;

std::string QuotedAxes(const sharding::AxisList& axes) {
  std::string text;
  for (const std::string& name : ops::NamesOf(trace::CurrentMesh(), axes))
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name);
  return text;
}

std::string Others(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 1; i < names.size() && i < 4; ++i) text += (i > 1 ? ", " : "") + names[i];
  return names.size() > 4 ? text + ", ..." : text;
}

// ---- loops --------------------------------------------------------------------------------------

// A loop while its body is traced, until the types of its carry are stable.
struct TracedLoop {
  Call call;
  Leaves carry;
  std::vector<const Type*> slices;  // types of the slices of xs
  TracedFunction body = {};
  // Per carry: the axes over which it varies only because the body makes it vary.
  std::vector<sharding::AxisList> joined = {};
  trace::RegionRuns runs = {.repeats = true};

  std::vector<const Type*> Parameters() const {
    std::vector<const Type*> types;
    for (const Array& a : carry.arrays) types.push_back(TypeOf(a));
    types.insert(types.end(), slices.begin(), slices.end());
    return types;
  }
  const Type& Next(size_t i) const { return *body.program.type(body.program.outputs[i]); }
};

// Converts weak carries to the dtypes that the body returns. Returns whether there was one.
bool PromoteWeak(TracedLoop& loop) {
  bool changed = false;
  for (size_t i = 0; i < loop.carry.arrays.size(); ++i) {
    Array& value = loop.carry.arrays[i];
    const Type &before = *TypeOf(value), &after = loop.Next(i);
    if (!before.weak() || SameType(&before, &after) || before.dtype() == after.dtype()) continue;
    Array like(
        std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, &after, loop.call.loc));
    DType dtype =
        PromotedDType({Operand(value, loop.call.loc), Operand(like, loop.call.loc)}, loop.call);
    value = Convert(value, dtype, loop.call);
    changed = true;
  }
  return changed;
}

// Inside shard_map, casts each carry so that it varies over the axes over which the body makes it
// vary. Returns whether there was one to cast.
bool JoinVarying(TracedLoop& loop) {
  bool changed = false;
  for (size_t i = 0; i < loop.carry.arrays.size(); ++i) {
    Array& value = loop.carry.arrays[i];
    const bool traced = !loop.body.program.outputs.empty();
    sharding::AxisList want = traced ? VaryingOf(loop.Next(i)) : sharding::AxisList{};
    want = sharding::Difference(want, TypeOf(value)->sharding().unreduced);
    // Devices that run the loop differently have different carries.
    sharding::AddTo(want, loop.runs.enters);
    if (sharding::Difference(want, VaryingOf(*TypeOf(value))).empty()) continue;
    loop.joined.resize(loop.carry.arrays.size());
    if (traced)
      sharding::AddTo(loop.joined[i],
                      sharding::Difference(VaryingOf(loop.Next(i)), VaryingOf(*TypeOf(value))));
    value = AsVarying(value, want, loop.call);
    changed = true;
  }
  return changed;
}

// Notes on stderr, once per loop, which carry the body makes vary, and on which line.
void NoteJoin(const TracedLoop& loop) {
  static auto& said = *new std::set<std::pair<std::string, int>>;
  static auto& mutex = base::NewForkMutex();
  const auto joins = [](const sharding::AxisList& axes) { return !axes.empty(); };
  const auto first = absl::c_find_if(loop.joined, joins);
  // The text of a program that JAX made cannot be edited.
  if (first == loop.joined.end() || !trace::RetraceNotesOn() || sharding::EditsAreOfJax()) return;
  {
    std::lock_guard lock(mutex);
    if (!said.emplace(loop.call.loc.file(), loop.call.loc.line()).second) return;
  }
  const auto i = base::Size(first - loop.joined.begin());
  const std::string& name = loop.carry.names[i];
  const auto others = std::count_if(first + 1, loop.joined.end(), joins);
  const std::string axes = QuotedAxes(*first);
  std::fputs(
      fmt::format("tessera: {}: {}: the body makes {}{} vary over {} ({}), so it varies from the "
                  "start\n"
                  "  to say so explicitly, write pcast({}, {{{}}}, Variance::kVarying) before "
                  "the loop\n"
                  "  said once per loop; RetraceNotes(false) silences it\n",
                  base::Where(loop.call.loc), loop.call.name, name,
                  others > 0 ? fmt::format(" (and {} more)", others) : "", axes,
                  base::Where(loop.body.output_locs[i]), name, axes)
          .c_str(),
      stderr);
}

void CastNext(TracedLoop& loop) {
  for (size_t i = 0; i < loop.carry.arrays.size(); ++i)
    CastOutput(loop.body, i, VaryingOf(*TypeOf(loop.carry.arrays[i])));
}

void CheckCarry(const TracedLoop& loop) {
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
    notes = {"make them equal, e.g. start with " + edit};
  if (std::string edit = Edit(after, before, names[0]); !edit.empty())
    notes.push_back((notes.empty() ? "let the body return " : "or let the body return ") + edit);
  else if (before.shape() != after.shape())
    notes = {"let the body return an array of the shape that it was given"};
  if (names.size() > 1) notes.push_back("the same holds for " + Others(names));
  FailTrace(loop.call, kTypes, fmt::format("the body changes the type of {}", names[0]),
            std::move(notes),
            {Shown("before", before, loop.carry.arrays[first].impl()->loc()),
             Shown("after", after, loop.body.output_locs[first])});
}

TracedFunction TraceRepeated(const TracedLoop& loop, const std::vector<const Type*>& types,
                             const OnLeaves& f) {
  return TraceRegion(types, Body([&f](const Arrays& arrays) {
                       return FunctionResult{f(arrays), {}};
                     }),
                     loop.call, loop.runs);
}

// Throws TraceError if an array that the body returned cannot be used.
void CheckReturned(const Leaves& leaves, Call call) {
  for (size_t i = 0; i < leaves.arrays.size(); ++i)
    trace::Use(leaves.arrays[i], call.name, call.loc,
               [&] { return "the body's " + leaves.names[i]; });
}

// Returns a body that checks its carry, which must be a tree like the given one. If `kept` is not
// null, the loop is a scan: the carry is the first part of its result, and `kept` gets the
// whole result.
OnLeaves CheckedBody(const Body& body, const Leaves& carry, Call call,
                     detail::AnyTree* kept = nullptr) {
  return [&body, &carry, call, kept](const Arrays& arrays) {
    FunctionResult result = body(arrays);
    const detail::TreeRef tree = result.tree.ref();
    const Leaves next = trace::TakeApart(tree, "carry", kept ? detail::Path{0} : detail::Path{});
    CheckTree(call, carry, next, "the body returns");
    CheckReturned(next, call);
    if (kept) {
      CheckReturned(trace::TakeArrays(tree, "y", {1}), call);
      if (kept->given())
        CheckTree(call, trace::TakeApart(kept->ref(), "y", {1}), trace::TakeApart(tree, "y", {1}),
                  "another step of the body returns");
      *kept = result.tree;
    }
    return result.arrays;
  };
}

// Traces the body until the types of the carry are stable.
void TraceLoop(TracedLoop& loop, const OnLeaves& body) {
  CheckUsable(loop.carry.arrays, loop.call);
  do {
    loop.body = TraceRepeated(loop, loop.Parameters(), body);
  } while (PromoteWeak(loop) || JoinVarying(loop));
  NoteJoin(loop);
  CastNext(loop);
  CheckCarry(loop);
  trace::CheckCarriedKeys(loop.body.key_uses, loop.body.program);
}

void CheckPredicate(const ir::Program& test, Call call) {
  if (test.outputs.size() != 1) FailTrace(call, kTree, "the condition must return one array");
  const Type& predicate = *test.type(test.outputs[0]);
  if (!predicate.shape().empty())
    FailShape(call, kPredicate,
              fmt::format("the condition must be a scalar bool, not {}", predicate.text()),
              {"reduce it, e.g. with all or any"});
  if (!predicate.dtype().is_bool())
    FailDType(call, kPredicate,
              fmt::format("the condition must be a scalar bool, not {}", predicate.text()),
              {"compare it, e.g. with != 0"});
}

// Traces condition and body until the types of the carry are stable. If the predicate varies,
// devices run the loop differently, so the carries vary too.
std::vector<TracedFunction> TraceWhile(TracedLoop& loop, const OnLeaves& condition,
                                       const OnLeaves& body) {
  std::vector<TracedFunction> regions(1);
  for (;;) {
    const std::vector<const Type*> traced = loop.Parameters();
    regions[0] = TraceRepeated(loop, traced, condition);
    CheckPredicate(regions[0].program, loop.call);
    const ir::Program& test = regions[0].program;
    const Type& predicate = *test.type(test.outputs[0]);
    if (!sharding::Difference(VaryingOf(predicate), loop.runs.diverges).empty())
      loop.runs.by = fmt::format("the condition {} of the {} at {}", predicate.text(),
                                 loop.call.name, base::Where(loop.call.loc));
    const sharding::AxisList before = loop.runs.enters;
    sharding::AddTo(loop.runs.diverges, VaryingOf(predicate));
    sharding::AddTo(loop.runs.enters, loop.runs.diverges);
    loop.body = {};
    // The functions are traced again: checks depend on which devices run them differently.
    if (JoinVarying(loop) || loop.runs.enters != before) continue;
    TraceLoop(loop, body);
    if (loop.Parameters() != traced) continue;
    regions.resize(1);
    regions.push_back(loop.body);
    CheckTogether(regions, loop.runs, loop.call);
    // If regions communicate, WhileAnyRuns builds another loop, whose condition varies less.
    if (loop.runs.diverges.empty() || NeedsOthers(regions)) return regions;
    const sharding::AxisList varying = VaryingIn(regions);
    if (sharding::Difference(varying, loop.runs.enters).empty()) return regions;
    loop.runs.enters = varying;
    loop.body = {};
    JoinVarying(loop);
  }
}

Arrays While(Call call, Leaves carry, const OnLeaves& condition, const OnLeaves& body);

// Runs a loop with communication although its condition varies: all devices iterate until the last
// is done, and a device that is done keeps its carries.
Arrays WhileAnyRuns(const TracedLoop& loop, const std::vector<TracedFunction>& regions) {
  const auto runs = [&](const Arrays& carry) {
    return CallRegion(regions[0], carry, loop.call)[0];
  };
  const OnLeaves any = [&](const Arrays& carry) {
    return Arrays{AnyDevice(runs(carry), loop.runs.diverges, loop.call)};
  };
  const OnLeaves next = [&](const Arrays& carry) {
    const Array goes_on = runs(carry);
    Arrays out = CallRegion(regions[1], carry, loop.call);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = where(goes_on, out[i], carry[i], {}, loop.call.loc);
    return out;
  };
  return While(loop.call, loop.carry, any, next);
}

Arrays While(Call call, Leaves carry, const OnLeaves& condition, const OnLeaves& body) {
  if (carry.arrays.empty())
    FailTrace(call, kTree, "nothing is carried, so the loop would run forever or not at all",
              {"carry a tree that has an array"});
  CheckUsable(carry.arrays, call);
  TracedLoop loop{call, std::move(carry), {}};
  std::vector<TracedFunction> regions = TraceWhile(loop, condition, body);
  if (!loop.runs.diverges.empty() && NeedsOthers(regions)) return WhileAnyRuns(loop, regions);
  std::vector<ArrayRef> constants = trace::CloseRegions(regions);
  const bool counted = std::string_view(call.name) == "fori_loop";
  auto params = ir::MakeParams(ir::WhileParams{static_cast<int64_t>(constants.size()), counted});
  return ApplyRegions(ops::kWhileLoop, std::move(params), constants, loop.carry.arrays, regions,
                      call);
}

// The steps of a loop. `unroll`: how many of them one iteration does.
struct LoopSteps {
  int64_t length = 0;
  bool reverse = false;
  int64_t unroll = 1;
};

// Runs one step an iteration.
Arrays RunScan(Call call, Leaves carry, const Arrays& xs, const OnLeaves& body,
               const LoopSteps& steps) {
  TracedLoop loop{call, std::move(carry), {}};
  for (const Array& x : xs) loop.slices.push_back(ir::SliceOf(TypeOf(x)));
  TraceLoop(loop, body);
  std::vector<TracedFunction> regions;
  regions.push_back(std::move(loop.body));
  if (HasNoResultOrEffect(regions)) return {};
  std::vector<ArrayRef> constants = trace::CloseRegions(regions);
  ir::ScanParams params{static_cast<int64_t>(constants.size()),
                        static_cast<int64_t>(loop.carry.arrays.size()), steps.length,
                        steps.reverse};
  Arrays arguments = std::move(loop.carry.arrays);
  arguments.insert(arguments.end(), xs.begin(), xs.end());
  return ApplyRegions(ops::kScan, ir::MakeParams(params), constants, arguments, regions, call);
}

// ---- unrolled loops -----------------------------------------------------------------------------

// Returns slices [begin, begin + n) of dim 0 in groups, as an array [n / group, group, ...]. If
// `group` is 0 they stay [n, ...].
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

// Whether a step returns carries of the types that it got. If not, CheckCarry fails later.
bool Carries(const Arrays& state, const Arrays& leaves, size_t carries) {
  bool same = state.size() >= carries;
  for (size_t i = 0; same && i < carries; ++i) same = SameType(TypeOf(state[i]), TypeOf(leaves[i]));
  return same;
}

// Returns the body of an iteration of `unroll` steps. It takes and gives groups of slices.
OnLeaves Unrolled(const OnLeaves& body, size_t carries, const LoopSteps& steps, Call call) {
  return
      [&body, carries, unroll = steps.unroll, reverse = steps.reverse, call](const Arrays& leaves) {
        const Loc loc = call.loc;
        Arrays state(leaves.begin(), leaves.begin() + static_cast<long>(carries));
        std::vector<Arrays> ys;
        for (int64_t i = 0; i < unroll; ++i) {
          int64_t k = reverse ? unroll - 1 - i : i;
          for (size_t x = carries; x < leaves.size(); ++x)
            state.push_back(StepOf(leaves[x], k, loc));
          state = body(state);
          CheckUsable(state, call);
          if (!Carries(state, leaves, carries)) return state;
          ys.resize(state.size() - carries);
          for (size_t y = 0; y < ys.size(); ++y)
            ys[y].insert(reverse ? ys[y].begin() : ys[y].end(), state[carries + y]);
          state.resize(carries);
        }
        for (const Arrays& y : ys) state.push_back(stack(y, 0, loc));
        return state;
      };
}

// Runs a loop whose iterations do several steps. The remaining steps are a second loop.
Arrays RunUnrolled(Call call, Leaves carry, const Arrays& xs, const OnLeaves& body,
                   LoopSteps steps) {
  if (steps.unroll < 1)
    FailShape(call, kLength, fmt::format(".unroll must be 1 or more, not {}", steps.unroll));
  steps.unroll = std::min(steps.unroll, steps.length);
  const auto [length, reverse, unroll] = steps;
  if (unroll <= 1) return RunScan(call, std::move(carry), xs, body, steps);
  size_t carries = carry.arrays.size();
  int64_t rest = length % unroll, full = length - rest;
  auto part = [&](int64_t begin, int64_t n, int64_t group) {
    Arrays parts;
    for (const Array& x : xs) parts.push_back(Steps(x, begin, n, group, call.loc));
    return parts;
  };
  OnLeaves unrolled = Unrolled(body, carries, steps, call);
  Arrays results = RunScan(call, carry, part(reverse ? rest : 0, full, unroll), unrolled,
                           {.length = full / unroll, .reverse = reverse});
  for (size_t i = carries; i < results.size(); ++i) {
    std::vector<int64_t> shape = TypeOf(results[i])->shape();
    shape.erase(shape.begin());
    shape[0] = full;
    results[i] = reshape(results[i], shape, {}, call.loc);
  }
  if (rest == 0) return results;
  carry.arrays.assign(results.begin(), results.begin() + static_cast<long>(carries));
  Arrays last = RunScan(call, std::move(carry), part(reverse ? 0 : full, rest, 0), body,
                        {.length = rest, .reverse = reverse});
  for (size_t i = carries; i < results.size(); ++i)
    last[i] = concatenate(
        reverse ? std::vector{last[i], results[i]} : std::vector{results[i], last[i]}, 0, call.loc);
  return last;
}

// Maps batches of `size` slices, one after another. The remaining slices are the last batch.
Arrays MapBatches(Call call, const Arrays& xs, const OnLeaves& each, int64_t length, int64_t size) {
  const int64_t full = length / size * size;
  const OnLeaves batch = [&](const Arrays& slices) {
    return vmap([&](Arrays lane) { return each(lane); }, {}, call.loc)(slices, call.loc);
  };
  const auto part = [&](int64_t begin, int64_t n, int64_t group) {
    Arrays parts;
    for (const Array& x : xs) parts.push_back(Steps(x, begin, n, group, call.loc));
    return parts;
  };
  Arrays results;
  if (full > 0 || length == 0) {
    results = RunScan(call, {}, part(0, full, size), batch, {.length = full / size});
    for (Array& y : results) {
      std::vector<int64_t> shape = TypeOf(y)->shape();
      shape.erase(shape.begin());
      shape[0] = full;
      y = reshape(y, shape, {}, call.loc);
    }
    if (full == length) return results;
  }
  Arrays last = batch(part(full, length - full, 0));
  for (size_t i = 0; i < results.size(); ++i)
    last[i] = concatenate({results[i], last[i]}, 0, call.loc);
  return last;
}

// Returns the number of steps: the size of dim 0 of all xs, and .length if given.
int64_t StepsOf(Call call, const Leaves& xs, const ScanOptions& options) {
  std::optional<int64_t> length = options.length;
  if (length && *length < 0)
    FailShape(call, kLength, fmt::format("a length of {} is negative", *length));
  for (size_t i = 0; i < xs.arrays.size(); ++i) {
    const Type& type = *trace::Use(xs.arrays[i], call.name, call.loc)->type();
    if (type.shape().empty())
      FailShape(call, kSizes,
                fmt::format("{} is a scalar: it has no dim 0 to step over", xs.names[i]));
    if (!type.sharding().dims[0].axes.empty()) {
      PartitionSpec spec = ArrayType(ir::Stacked(ir::SliceOf(&type), type.shape()[0])).spec();
      FailSharding(
          call, kShardedSteps,
          fmt::format("the steps go over dim 0 of {}, which is sharded: {}", xs.names[i],
                      type.text()),
          {fmt::format("give each device all steps: reshard({}, {})", xs.names[i], spec.text())});
    }
    int64_t size = type.shape()[0];
    if (length && *length != size)
      FailShape(call, kSizes,
                options.length ? fmt::format("{} has {} slices, but the length is {}", xs.names[i],
                                             size, *length)
                               : fmt::format("{} has {} slices, but {} has {}", xs.names[i], size,
                                             xs.names[0], *length));
    length = size;
  }
  if (!length)
    FailShape(call, kLength, "without xs the number of steps is not known",
              {"give it as {.length = n}"});
  return *length;
}

// ---- fori_loop ----------------------------------------------------------------------------------

void CheckBound(Call call, const Operand& bound, const char* name) {
  if (bound.scalar()) {
    if (bound.scalar()->kind() == Scalar::kFloat || bound.scalar()->kind() == Scalar::kBool)
      FailDType(call, kPredicate, fmt::format("the {} bound must be an integer", name));
    return;
  }
  const Type& type = *trace::Use(bound.array(), call.name, call.loc)->type();
  if (!type.shape().empty())
    FailShape(call, kPredicate,
              fmt::format("the {} bound must be a scalar, not {}", name, type.text()));
  if (!type.dtype().is_integer())
    FailDType(call, kPredicate,
              fmt::format("the {} bound must be an integer, not {}", name, type.text()));
}

// Returns the carry with the loop index first.
Leaves WithNumber(const Array& number, const Leaves& carry) {
  Leaves out{{number}, {"number"}, carry.facts};
  out.arrays.insert(out.arrays.end(), carry.arrays.begin(), carry.arrays.end());
  out.names.insert(out.names.end(), carry.names.begin(), carry.names.end());
  return out;
}

OnLeaves Counting(const OnLeaves& body, Call call) {
  return [&body, call](const Arrays& leaves) {
    Arrays next = body(leaves);
    Array one = ScalarLike(1, TypeOf(leaves[0]), call);
    next.insert(next.begin(),
                Run(ops::Elementwise(ops::ScalarOp::kAdd), nullptr, {leaves[0], one}, call));
    return next;
  };
}

// Runs a scan without xs if both bounds are numbers, else a while loop.
Arrays Fori(Call call, const Operand& lower, const Operand& upper, const Leaves& carry,
            const OnLeaves& body, int64_t unroll) {
  OnLeaves counting = Counting(body, call);
  if (lower.scalar() && upper.scalar()) {
    int64_t first = lower.scalar()->as_int(), last = upper.scalar()->as_int(), length = 0;
    Leaves numbered = WithNumber(ToArray(lower, call), carry);
    ScalarBits(*upper.scalar(), TypeOf(numbered.arrays[0])->dtype(),
               call);  // the upper bound must fit
    if (last > first && __builtin_sub_overflow(last, first, &length))
      FailShape(call, kLength, "the loop would have more than 2^63 steps");
    return RunUnrolled(call, std::move(numbered), {}, counting,
                       {.length = length, .unroll = unroll});
  }
  if (unroll != 1)
    FailShape(call, kLength, "a loop can be unrolled only if its number of steps is known",
              {"give both bounds as numbers, or leave .unroll out"});
  Arrays bounds = Promote({lower, upper}, call);
  OnLeaves condition = [&](const Arrays& leaves) {
    return Arrays{Run(ops::Elementwise(ops::ScalarOp::kLt), nullptr, {leaves[0], bounds[1]}, call)};
  };
  return While(call, WithNumber(bounds[0], carry), condition, counting);
}

}  // namespace

namespace detail {

std::vector<Array> WhileLoop(TreeRef carry, const Body& condition, const Body& body, Loc loc) {
  const Call call{"while_loop", loc};
  trace::Leaves leaves = trace::TakeApart(carry, "carry");
  BringIn(leaves, call);
  return While(
      call, leaves, [&](const std::vector<Array>& xs) { return condition(xs).arrays; },
      CheckedBody(body, leaves, call));
}

std::vector<Array> ForiLoop(const Operand& lower, const Operand& upper, TreeRef carry,
                            const Body& body, const LoopOptions& options, Loc loc) {
  const Call call{"fori_loop", loc};
  CheckBound(call, lower, "lower");
  CheckBound(call, upper, "upper");
  trace::Leaves leaves = trace::TakeApart(carry, "carry");
  BringIn(leaves, call);
  // The carry that the body returns lacks the loop index, its first argument.
  std::vector<Array> results =
      Fori(call, lower, upper, leaves, CheckedBody(body, leaves, call), options.unroll);
  results.erase(results.begin());
  return results;
}

FunctionResult Scan(TreeRef carry, TreeRef xs, const Body& body, const ScanOptions& options,
                    Loc loc) {
  const Call call{"scan", loc};
  trace::Leaves steps = trace::TakeArrays(xs, "xs"), leaves = trace::TakeApart(carry, "carry");
  BringIn(steps, call);
  BringIn(leaves, call);
  const int64_t length = StepsOf(call, steps, options);
  FunctionResult result;
  const OnLeaves step = CheckedBody(body, leaves, call, &result.tree);
  result.arrays =
      RunUnrolled(call, leaves, steps.arrays, step,
                  {.length = length, .reverse = options.reverse, .unroll = options.unroll});
  return result;
}

FunctionResult LaxMap(TreeRef xs, const Body& body, const LaxMapOptions& options, Loc loc) {
  const Call call{"lax_map", loc};
  trace::Leaves steps = trace::TakeArrays(xs, "xs");
  if (steps.arrays.empty()) FailShape(call, kLength, "there is no array to map over");
  BringIn(steps, call);
  const int64_t length = StepsOf(call, steps, {}), size = options.batch_size.value_or(1);
  if (size < 1)
    FailShape(call, kLength, fmt::format(".batch_size must be 1 or more, not {}", size));
  FunctionResult result;
  const OnLeaves each = [&](const Arrays& slices) {
    const FunctionResult one = body(slices);
    if (result.tree.ref().tree)
      CheckTree(call, trace::TakeApart(result.tree.ref(), "y"),
                trace::TakeApart(one.tree.ref(), "y"), "another step of the function returns");
    result.tree = one.tree;
    return one.arrays;
  };
  result.arrays = options.batch_size ? MapBatches(call, steps.arrays, each, length, size)
                                     : RunScan(call, {}, steps.arrays, each, {.length = length});
  return result;
}

}  // namespace detail
}  // namespace tessera
