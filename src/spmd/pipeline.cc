// The list of passes, and the loop that runs it.
#include "spmd/pipeline.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/sum_order.h"
#include "ir/inline.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ir/verify.h"
#include "spmd/blocks/run_in_blocks.h"
#include "spmd/blocks/skip_masked.h"
#include "spmd/emit/plan_builder.h"
#include "spmd/local_type.h"
#include "spmd/lower/lower.h"
#include "spmd/passes/reduce_after_loops.h"
#include "spmd/passes/reduce_after_sums.h"
#include "spmd/passes/split_reductions.h"
#include "spmd/passes/widen_storage.h"
#include "spmd/schedule/combine_reductions.h"
#include "spmd/schedule/live_values.h"

namespace tessera::spmd {
namespace {

// A pass of a layer above that rewrites the program over whole arrays.
template <OuterPasses::Rewrite OuterPasses::*kRewrite>
void RunOuter(PassState& s) {
  if (s.outer && s.outer->*kRewrite) s.program = (s.outer->*kRewrite)(std::move(s.program));
}

void RunChoosePlaces(PassState& s) {
  ChosenPlaces chosen = ChoosePlaces(std::move(s.program), s.steady);
  s.program = std::move(chosen.program);
  s.asked = std::move(chosen.asked);
}

// Lowers regions by the list, before anything is hoisted out of them.
void RunPartition(PassState& s) {
  const auto lower_region = [&](const ir::RegionPtr& region, size_t steady) {
    PassState inner{.program = region, .steady = steady, .mesh_around = s.program->mesh};
    inner.stop_after = s.stop_after;
    inner.skip = s.skip;
    RunPasses(inner, PassStage::kDevice);
    return std::move(inner.device);
  };
  s.device = Partition(*s.program, s.asked, lower_region);
  if (!s.device.mesh) s.device.mesh = s.mesh_around;
}

// Loops over blocks reorder instructions, so programs with effects stay as they are; and they sum
// block by block, which may not depend on the size of a shard where sums have one order.
void RunBlocks(PassState& s) {
  s.has_block_loops = !ir::HasEffects(s.device) && !base::KeepsSumOrder() && RunInBlocks(s.device);
}

const ir::Program& Scheduled(const PassState& s) { return s.scheduled ? *s.scheduled : s.device; }

void RunFuse(PassState& s) {
  const auto schedule_region = [&](const ir::Program& region, ir::ValueSet shares, RunBy by) {
    PassState inner{.shares = std::move(shares), .scheduled = &region, .run_by = by};
    inner.stop_after = s.stop_after;
    inner.skip = s.skip;
    RunPasses(inner, PassStage::kSchedule);
    return std::move(inner.schedule);
  };
  s.schedule = Fuse(Scheduled(s), s.shares, schedule_region, s.run_by);
}

void RunBuildPlan(PassState& s) {
  s.plan = BuildPlan(s.device, s.schedule, s.outer->kernels, s.outer->devices, s.outer->donated);
}

constexpr auto kPropagated = PassStage::kPropagated;
constexpr auto kDevice = PassStage::kDevice;
constexpr auto kSchedule = PassStage::kSchedule;
constexpr auto kPlan = PassStage::kPlan;

// The program of a region of a loop or branch runs the stage kDevice before its instruction is
// partitioned, and kSchedule before its instruction is scheduled.
constexpr LoweringPass kPasses[] = {
    {"watch_values", kPropagated, RunOuter<&OuterPasses::watch_values>,  //
     "compile/checks/value_watch.cc", "the traced program",
     "inside `first_difference` and `record_run`: host calls that keep fingerprints of values"},
    {"check_nans", kPropagated, RunOuter<&OuterPasses::check_nans>,  //
     "compile/checks/nan_watch.cc", "the traced program",
     "inside a `NanWatch`: a host call after each op with floating-point results"},
    {"inline_calls", kPropagated,
     [](PassState& s) { s.program = ir::InlineCalls(std::move(s.program)); },  //
     "ir/inline.cc", "the traced program", "no calls, and no ops that stand for others"},
    {"widen_storage", kPropagated,
     [](PassState& s) { s.program = WidenStorage(std::move(s.program)); },  //
     "spmd/passes/widen_storage.cc", "no calls",
     "ops that compute with f8 or integers of 2 and 4 bits compute in f32, i8 or u8"},
    {"check_promises", kPropagated, RunOuter<&OuterPasses::check_promises>,  //
     "compile/checks/promises.cc", "no calls",
     "where replicas are checked: a host call after each `assume_invariant`"},
    {"propagate", kPropagated, RunOuter<&OuterPasses::propagate>,  //
     "compile/auto/propagate.cc", "no calls",
     "with Auto axes: every value has a place, reshards where a border asks for another one"},
    {"choose_parts", kPropagated, RunOuter<&OuterPasses::choose_parts>,  //
     "compile/auto/parts.cc", "places by `propagate`",
     "dims that devices do not divide are padded, or over a part of their axes"},
    {"keep_only", kPropagated, RunOuter<&OuterPasses::keep_only>,  //
     "compile/auto/keep_only.cc", "a place for every value, or a type that says it",
     "with `--only`: other values are replicated"},

    {"choose_places", kDevice, RunChoosePlaces,  //
     "spmd/lower/value_places.cc", "a place for every value, or a type that says it",
     "values near moves have the places that send least"},
    {"partition", kDevice, RunPartition,  //
     "spmd/lower/lower.cc", "a place for every value, or a type that says it",
     "the device program: local types, places, costs, collectives; loop-invariant moves are "
     "hoisted"},
    {"simplify", kDevice, [](PassState& s) { ir::Simplify(s.device); },  //
     "ir/simplify.cc", "a program in any form", "no instruction twice"},
    {"reduce_after_sums", kDevice, [](PassState& s) { ReduceAfterSums(s.device); },  //
     "spmd/passes/reduce_after_sums.cc", "the device program",
     "sums of reduced values are reduced once, after the sum"},
    {"reduce_after_loops", kDevice, [](PassState& s) { ReduceAfterLoops(s.device); },  //
     "spmd/passes/reduce_after_loops.cc", "the device program",
     "carried sums are reduced once, after the loop"},
    {"remove_dead", kDevice, [](PassState& s) { ir::RemoveDead(s.device); },  //
     "ir/uses.cc", "a program in any form", "no instruction that nothing needs"},
    {"run_in_blocks", kDevice, RunBlocks,  //
     "spmd/blocks/run_in_blocks.cc", "no dead instructions, no effects",
     "products much larger than their operands are loops over blocks"},
    {"skip_masked", kDevice,
     [](PassState& s) {
       if (s.has_block_loops) SkipMasked(s.device);
     },
     "spmd/blocks/skip_masked.cc", "loops by `run_in_blocks`",
     "these loops leave out blocks that a mask hides"},
    {"split_reductions", kDevice,
     [](PassState& s) {
       if (!base::KeepsSumOrder()) SplitReductions(s.device);
     },
     "spmd/passes/split_reductions.cc", "no dead instructions",
     "reductions of one array over different numbers of trailing dims begin alike"},
    {"check_policies", kDevice,
     [](PassState& s) {
       if (s.outer && s.outer->check_policies) s.outer->check_policies(s.device);
     },
     "compile/checks/policy.cc", "the final device program", "no `CommPolicy` in scope is broken"},
    {"share_buffers", kDevice,
     [](PassState& s) {
       if (s.outer && s.outer->share_buffers) s.shares = s.outer->share_buffers(s.device);
     },
     "compile/run/lower.cc", "the final device program",
     "for every value, whether devices with equal bits share a buffer"},

    {"fuse", kSchedule, RunFuse,  //
     "spmd/schedule/schedule.cc", "the final device program",
     "a schedule: a layout for every value; kernels, fused groups, moves, regions, host calls"},
    {"find_live_values", kSchedule,
     [](PassState& s) { FindLiveValues(Scheduled(s), s.schedule); },  //
     "spmd/schedule/live_values.cc", "fused groups",
     "the values that each item reads and makes; no item whose work others do"},
    {"combine_reductions", kSchedule,
     [](PassState& s) { CombineReductions(Scheduled(s), s.schedule); },  //
     "spmd/schedule/combine_reductions.cc", "live values",
     "small reductions over the same axes are one item"},

    {"build_plan", kPlan, RunBuildPlan,  //
     "spmd/emit/plan_builder.cc", "the final schedule",
     "the plan: kernels, exchanges, loops, switches, host calls"},
    {"localise", kPlan, [](PassState& s) { s.plan = s.outer->localise(std::move(s.plan)); },  //
     "plan/localise/localise.cc", "the plan of all devices",
     "the plan of this process: the instances of its devices, and the messages to and from others"},
    {"prepare", kPlan, [](PassState& s) { s.outer->prepare(std::move(s.plan)); },  //
     "runtime/prepare.cc", "the plan",
     "memory for every value (`runtime/memory_plan.cc`), and the nodes that a run executes"},
};

std::string_view TitleOf(PassStage stage) {
  constexpr std::string_view kTitles[] = {"propagated", "device", "schedule", "plan"};
  return kTitles[static_cast<size_t>(stage)];
}

[[noreturn]] void Fail(const ir::Instruction& i, const LoweringPass& pass, const char* reason) {
  base::ThrowInternal(base::Refusal(std::string(i.op->name), "verify", base::Where(i.loc),
                                    fmt::format("after {}: {}", pass.name, reason)));
}

void VerifyDevice(const ir::Program& device, const LoweringPass& pass) {
  for (const ir::Instruction& i : device.instructions) {
    if (!i.cost) Fail(i, pass, "it has no cost");
    for (ir::ValueId v : i.results)
      if (!device.place(v) || device.type(v) != LocalType(device.place(v)))
        Fail(i, pass, "the type of a result is not a device's part of its place");
    for (const ir::RegionPtr& region : i.regions) VerifyDevice(*region, pass);
  }
}

// Checks that all values have places, or none: propagation gives a place to every value.
void VerifyPropagated(const ir::Program& program, const LoweringPass& pass) {
  const auto has_place = [&](ir::ValueId v) { return program.place(v) != nullptr; };
  const auto has_places = [&](const ir::Instruction& i) {
    return absl::c_any_of(i.results, has_place);
  };
  const bool is_placed = absl::c_any_of(program.instructions, has_places);
  for (const ir::Instruction& i : program.instructions) {
    if (is_placed && !absl::c_all_of(i.results, has_place))
      Fail(i, pass, "its result has no place, but others have");
    for (const ir::RegionPtr& region : i.regions) VerifyPropagated(*region, pass);
  }
}

// `before`: the program over whole arrays before the pass, which most passes leave as it is.
void VerifyAfter(const LoweringPass& pass, const PassState& s, const ir::Program* before) {
  if (s.program && s.program.get() != before) {
    ir::VerifyAfter(pass.name, *s.program);
    if (pass.stage == kPropagated) VerifyPropagated(*s.program, pass);
  }
  if (pass.stage == kPropagated || s.device.values.empty()) return;
  ir::VerifyAfter(pass.name, s.device);
  VerifyDevice(s.device, pass);
}

}  // namespace

absl::Span<const LoweringPass> LoweringPasses() { return kPasses; }

const LoweringPass* FindPass(std::string_view name) {
  const auto* found = absl::c_find_if(kPasses, [&](const auto& pass) { return pass.name == name; });
  return found == std::end(kPasses) ? nullptr : found;
}

std::vector<std::string> PassNames() {
  std::vector<std::string> lines;
  std::string_view last;
  for (const LoweringPass& pass : kPasses) {
    const std::string_view title = TitleOf(pass.stage);
    if (std::exchange(last, title) == title)
      lines.back() += fmt::format(", {}", pass.name);
    else
      lines.push_back(fmt::format("{}: {}", title, pass.name));
  }
  return lines;
}

std::string PassTable() {
  std::string out = "| pass | stage | in | needs | leaves |\n|---|---|---|---|---|\n";
  for (const LoweringPass& p : kPasses)
    out += fmt::format("| `{}` | {} | `{}` | {} | {} |\n", p.name, TitleOf(p.stage), p.file,
                       p.needs, p.leaves);
  return out;
}

bool RunPasses(PassState& state, PassStage stage) {
  if (stage == kPropagated && state.program) ir::VerifyAfter("tracing", *state.program);
  for (const LoweringPass& pass : kPasses) {
    if (pass.stage == stage && &pass != state.skip) {
      const auto before = ir::VerifiesPrograms() ? state.program : nullptr;
      pass.run(state);
      if (ir::VerifiesPrograms()) VerifyAfter(pass, state, before.get());
      if (state.after_pass) state.after_pass(pass, state);
    }
    if (&pass == state.stop_after && pass.stage <= stage) return false;
  }
  return true;
}

ir::Program Lower(const ir::Program& program) {
  PassState state{.program = std::shared_ptr<const ir::Program>(std::shared_ptr<void>(), &program)};
  RunPasses(state, kDevice);
  return std::move(state.device);
}

Schedule MakeSchedule(const ir::Program& device, const ir::ValueSet& shares) {
  PassState state{.shares = shares, .scheduled = &device};
  RunPasses(state, kSchedule);
  return std::move(state.schedule);
}

}  // namespace tessera::spmd
