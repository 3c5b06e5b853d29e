// The executor: compiles programs for the simulated devices of this process and runs them.
#include "compile/run/executor.h"

#include <absl/hash/hash.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "base/at.h"
#include "base/error.h"
#include "base/sum_order.h"
#include "compile/auto/pins.h"
#include "compile/checks/nan_watch.h"
#include "compile/checks/policy.h"
#include "compile/checks/value_watch.h"
#include "compile/host/concrete.h"
#include "compile/host/processes.h"
#include "compile/host/replicas.h"
#include "compile/inspect/profile.h"
#include "compile/run/lower.h"
#include "compile/run/plan.h"
#include "compile/run/together.h"
#include "kernels/initialize.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "runtime/buffers.h"
#include "runtime/only_thread.h"
#include "runtime/prepare.h"
#include "runtime/run.h"
#include "sharding/partition.h"
#include "trace/scopes.h"

namespace tessera::compile {
namespace {

struct CompiledOutput {
  const ir::Type *type, *place;  // `type` is the one that type_of returns
  bool shares;                   // devices with equal bits share its buffers
};
struct CompiledProgram {
  std::shared_ptr<const runtime::Executable> plan;
  std::vector<CompiledOutput> outputs;
  int32_t devices = 1;
  // Whether processes without a device of the program's meshes get results without a mesh.
  bool shares_results = false;
  bool takes_part = true, is_first = false;
  bool together = false;                   // with other processes
  SharedProgram shared;                    // if so
  std::shared_ptr<ValueWatch> watch = {};  // that keeps its values; null: none
  int64_t watched = 0;                     // its number in the watch
};

class RuntimeExecutor final : public trace::Executor {
 public:
  RuntimeExecutor() {
    ops::Install();
    kernels::Initialize();
    StartTrace();
  }

  Compiled Compile(std::shared_ptr<const ir::Program> program, std::vector<bool> donated,
                   std::vector<bool> shares) override {
    const bool together = RunsTogether(*program);
    SharedProgram shared;
    std::optional<runtime::OnlyThread> only;
    if (together && !IsOnOneProcess()) {
      only.emplace("compiling a program", FirstLine(*program));
      shared = ComparePrograms(*program,
                               {.donated = donated, .shares = shares, .options = OptionsText()});
    }
    std::vector<bool> per_value = PerValue(*program, shares);
    auto executable = std::make_shared<CompiledProgram>();
    executable->watch = CurrentValueWatch();
    if (executable->watch) executable->watched = executable->watch->next_program();
    auto lowered = LowerProgram(program, per_value);
    const std::vector<bool> output_shares = OutputShares(*lowered, shares);
    const ir::Program& propagated = *lowered->propagated;
    for (size_t k = 0; k < program->outputs.size(); ++k)
      executable->outputs.push_back({program->type(program->outputs[k]),
                                     Place(propagated, propagated.outputs[k]), output_shares[k]});
    executable->devices = DevicesFor(*program);
    executable->shares_results = LeavesOut(*program);
    executable->takes_part = !executable->shares_results || TakesPart(*program);
    executable->is_first = executable->shares_results && IsFirst(*program);
    executable->together = together;
    executable->shared = std::move(shared);
    executable->plan = MakeExecutable(*lowered, std::move(donated));
    return executable;
  }

  std::vector<trace::ArrayRef> Run(const void* compiled, std::vector<trace::ArrayRef> inputs,
                                   Loc loc) override {
    auto* executable = static_cast<const CompiledProgram*>(compiled);
    CheckDevices(*executable, loc);
    CheckProcesses(*executable, loc);
    if (executable->watch) executable->watch->BeginRun(executable->watched);
    const bool together = executable->together && !IsOnOneProcess();
    if (executable->together && OthersWait() &&
        HasMessages(runtime::PlanOf(*executable->plan).nodes))
      FailTurn("run", loc);
    std::optional<runtime::OnlyThread> only;
    if (together) {
      only.emplace("running a program", loc);
      CompareReplicas(inputs, loc);
    }
    std::vector<runtime::Buffers> buffers;
    buffers.reserve(inputs.size());
    for (const trace::ArrayRef& input : inputs)
      buffers.push_back(static_cast<const Concrete&>(*input).buffers);
    // Donated buffers are given up only here, after all buffers are taken: an array may be given
    // twice, or be captured too.
    const std::vector<plan::PlanInput>& planned = runtime::PlanOf(*executable->plan).inputs;
    for (size_t i = 0; i < planned.size(); ++i)
      if (planned[i].donated) static_cast<Concrete&>(*inputs[i]).buffers = {};
    inputs.clear();
    std::vector<trace::ArrayRef> results;
    const auto run = [&] {
      return CallAtLine(loc, [&] { return runtime::Run(*executable->plan, std::move(buffers)); });
    };
    std::vector<runtime::Buffers> made =
        together ? RunTogether(executable->shared, loc, run) : run();
    results.reserve(made.size());
    for (size_t i = 0; i < made.size(); ++i) {
      const auto& [type, place, shares] = executable->outputs[i];
      if (executable->shares_results && !place->mesh())
        made[i] = SharedWithAll(std::move(made[i]), type->elements() * type->dtype().size(),
                                executable->takes_part, executable->is_first);
      auto result = std::make_shared<Concrete>(type, place, loc, std::move(made[i]), shares);
      if (!executable->together && !type->mesh() && Processes() > 1) result->SetMayDiffer();
      results.push_back(std::move(result));
    }
    return results;
  }

  std::vector<uint64_t> KeysOf(const trace::ArrayImpl& keys) override {
    const auto& array = static_cast<const Concrete&>(keys);
    std::vector<uint64_t> words;
    if (!array.type()->dtype().is_key() || !array.placed()->sharding().dims_empty() ||
        !IsEverywhere(array.placed()->mesh()))
      return words;
    words.resize(base::Size(array.type()->elements()));
    if (!words.empty())
      std::memcpy(words.data(), array.buffers.base, words.size() * sizeof(uint64_t));
    return words;
  }

  size_t CompileKey() override {
    const std::string &policy = PolicyKey(), &pins = PinnedShardings();
    size_t key = (SharesReplicas() ? 1 : 2) + (base::KeepsSumOrder() ? 4 : 0) +
                 (IsOnOneProcess() ? 8 : 0) + (Processes() > 1 ? 16 : 0) +
                 (IsMemoryKnown() ? 32 : 0);
    double balance = sharding::FlopsPerByte();
    const NanChecks checks = CurrentNanChecks();
    const int64_t watch = CurrentValueWatch() ? CurrentValueWatch()->id() : 0;
    if (policy.empty() && pins.empty() && balance == sharding::kDefaultFlopsPerByte &&
        checks == NanChecks::kNone && watch == 0)
      return key;
    return absl::HashOf(policy, pins, balance, checks, watch, key);
  }

 private:
  // Returns the options in scope that CompileKey hashes, as processes compare them.
  static std::string OptionsText() {
    const NanChecks checks = CurrentNanChecks();
    return fmt::format(
        "replicas share buffers: {}\nsums in one order: {}\nNaN watch: {}\nflops per byte: "
        "{}\nCommPolicy: {}\n"
        "pinned shardings: {}\n",
        SharesReplicas(), base::KeepsSumOrder(),
        checks == NanChecks::kNone   ? "off"
        : checks == NanChecks::kNans ? "NaN"
                                     : "NaN, infinity",
        sharding::FlopsPerByte(), PolicyKey(), PinnedShardings());
  }
  // SetDeviceCount may have been called since the program was compiled.
  static void CheckDevices(const CompiledProgram& executable, Loc loc) {
    if (executable.devices <= trace::Devices()) return;
    base::ThrowRuntime(
        base::Refusal("run", 1, base::Where(loc),
                      "the program is for " + std::to_string(executable.devices) +
                          " devices; DeviceCount() is " + std::to_string(trace::Devices()),
                      {"call SetDeviceCount(" + std::to_string(executable.devices) + ") first"}));
  }
  static void CheckProcesses(const CompiledProgram& executable, Loc loc) {
    if (!executable.together || Processes() > 1) return;
    base::ThrowRuntime(
        base::Refusal("run", 2, base::Where(loc),
                      "the program is for several processes, and the Processes scope has ended",
                      {"run it before the scope ends"}));
  }
  // Returns the place, or the type if there is none.
  static const ir::Type* Place(const ir::Program& program, ir::ValueId v) {
    const ir::Type* place = program.place(v);
    return place ? place : program.type(v);
  }
  // An output that is an input, or a view of one, shares buffers as the input does. A value without
  // a mesh has one buffer.
  static std::vector<bool> OutputShares(const Lowered::Impl& lowered,
                                        const std::vector<bool>& input_shares) {
    const ir::Program& p = lowered.device();
    std::vector<ir::ValueId> inputs = p.inputs;
    for (const ir::Capture& c : p.captures) inputs.push_back(c.value);
    std::vector<bool> shares;
    for (ir::ValueId v : p.outputs) {
      ir::ValueId root = lowered.schedule().values[v].storage;
      auto input = base::Size(std::find(inputs.begin(), inputs.end(), root) - inputs.begin());
      bool made = input >= input_shares.size();
      shares.push_back(!lowered.device().place(root)->mesh() ||
                       (made ? SharesReplicas() : input_shares[input]));
    }
    return shares;
  }
  // Returns, per input and capture, whether it shares buffers. Empty: all do, and so do new values.
  static std::vector<bool> PerValue(const ir::Program& program, const std::vector<bool>& shares) {
    bool all =
        SharesReplicas() && std::all_of(shares.begin(), shares.end(), [](bool s) { return s; });
    if (all) return {};
    std::vector<bool> per_input;
    for (size_t i = 0; i < program.inputs.size() + program.captures.size(); ++i)
      per_input.push_back(i < shares.size() ? shares[i] : true);
    return per_input;
  }
};

trace::Executor& TheExecutor() {
  static auto* executor = new RuntimeExecutor;
  return *executor;
}

// Stores a pointer before the user's global arrays are made.
struct Installer {
  Installer() { trace::InstallExecutor(TheExecutor); }
};
[[gnu::init_priority(101)]] const Installer installer;

}  // namespace

void Install() { TheExecutor(); }

}  // namespace tessera::compile
