// Programs, reports and policies as the user sees them.
#include "tessera/program.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <ostream>

#include "api/concrete.h"
#include "api/driver.h"
#include "api/dump.h"
#include "api/propagate.h"
#include "base/error.h"
#include "base/file.h"
#include "sharding/partition.h"
#include "spmd/moves.h"
#include "trace/array.h"
#include "trace/jit.h"

namespace tessera {

const char* api::Name(CommKind kind) {
  constexpr const char* kNames[] = {"all_reduce", "reduce_scatter",     "all_gather",
                                    "all_to_all", "collective_permute", "halo_exchange"};
  return kNames[static_cast<int>(kind)];
}

namespace {

using api::Name;

std::string AxesText(const std::vector<std::string>& axes) {
  std::string out;
  for (const std::string& a : axes) out += (out.empty() ? "" : ",") + a;
  return out;
}

std::string EventText(const CommEvent& e) {
  return fmt::format("{:<18} over {:<12} {:>12} B x{:<4} {:<24} {}{}", Name(e.kind),
                     AxesText(e.axes), e.bytes, e.times, e.where,
                     e.implied ? "implied" : "asked for", e.repeats ? ", each iteration" : "");
}

[[noreturn]] void Refuse(const char* op, int check, std::string reason, Loc loc) {
  base::ThrowRuntime(base::Refusal(op, check, base::Where(loc), std::move(reason)));
}

std::vector<ArrayType> TypesOf(const ir::Program& program, const std::vector<ir::ValueId>& values) {
  std::vector<ArrayType> types;
  for (ir::ValueId v : values) types.emplace_back(program.type(v));
  return types;
}

}  // namespace

int64_t CommReport::bytes() const {
  int64_t sum = 0;
  for (const CommEvent& e : events_) sum += e.bytes * e.times;
  return sum;
}
int64_t CommReport::count(CommKind kind) const {
  int64_t n = 0;
  for (const CommEvent& e : events_) n += e.kind == kind ? e.times : 0;
  return n;
}
int64_t CommReport::count(CommKind kind, AxisNames axes) const {
  int64_t n = 0;
  for (const CommEvent& e : events_) n += e.kind == kind && e.axes == axes.names() ? e.times : 0;
  return n;
}
std::string CommReport::text() const {
  std::string out;
  for (const CommEvent& e : events_) out += EventText(e) + "\n";
  out += events_.empty() ? "no communication\n" : fmt::format("{} B leave each device\n", bytes());
  if (flops_ > 0)
    out += fmt::format("{} FLOPs on each device, {:.2f} times a perfect split\n", flops_,
                       static_cast<double>(flops_) / static_cast<double>(split_flops_));
  return out;
}

Program Program::Parse(std::string_view text, Loc loc) {
  trace::TheExecutor();
  return Program(std::make_shared<const ir::Program>(ir::ParseProgram(text, loc)));
}
Program Program::Load(const std::string& path, Loc loc) {
  if (std::string why = base::WhyUnreadable(path); !why.empty())
    Refuse("load", 1, "cannot read " + path + ": " + why, loc);
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) Refuse("load", 1, "cannot read " + path, loc);
  return Parse(text, base::LineOf(path, 0));
}
std::string Program::text() const { return ir::Text(*program_); }
std::vector<ArrayType> Program::inputs() const { return TypesOf(*program_, program_->inputs); }
std::vector<ArrayType> Program::outputs() const { return TypesOf(*program_, program_->outputs); }

Program Program::propagated(propagation::Stage stop_after, Loc loc) const {
  if (program_->per_device) Refuse("propagate", 2, api::kOfDevice, loc);
  if (!api::HasAutoAxes(*program_)) return *this;
  propagation::engine::Options options;
  options.stop_after = stop_after;
  return Program(api::PropagateProgram(*program_, options).program);
}

Lowered lower(const Program& program, Loc loc) {
  if (program.program()->per_device) Refuse("lower", 2, api::kOfDevice, loc);
  return Lowered(api::LowerProgram(program.program(), {}));
}

Program Lowered::program() const { return Program(impl_->program); }
Program Lowered::propagated() const { return Program(impl_->propagated); }
Program Lowered::device_program() const {
  return Program(std::shared_ptr<const ir::Program>(impl_, &impl_->device.program));
}
CommReport Lowered::comm() const { return api::Report(impl_->device); }
int64_t Lowered::peak_bytes() const { return spmd::PeakBytes(impl_->device, impl_->schedule); }
int64_t Lowered::flops() const { return comm().flops(); }
int64_t Lowered::split_flops() const { return comm().split_flops(); }

std::ostream& operator<<(std::ostream& os, const CommReport& report) { return os << report.text(); }
std::ostream& operator<<(std::ostream& os, const Program& program) { return os << program.text(); }

namespace api {
namespace {

CommKind KindOf(sharding::StepKind kind) {
  switch (kind) {
    case sharding::StepKind::kAllReduce:
      return CommKind::kAllReduce;
    case sharding::StepKind::kReduceScatter:
      return CommKind::kReduceScatter;
    case sharding::StepKind::kAllGather:
      return CommKind::kAllGather;
    case sharding::StepKind::kAllToAll:
      return CommKind::kAllToAll;
    case sharding::StepKind::kHaloExchange:
      return CommKind::kHaloExchange;
    default:
      return CommKind::kCollectivePermute;
  }
}

struct Scope {
  CommLimits limits;
  std::string key;
};
thread_local std::vector<Scope> policies;
thread_local std::string policy_key;

void SetKey() {
  policy_key.clear();
  for (const Scope& s : policies) policy_key += s.key + "|";
}

bool Applies(const CommLimits& limits, const CommEvent& e) {
  bool kind = limits.kinds.empty() || std::count(limits.kinds.begin(), limits.kinds.end(), e.kind);
  if (!kind) return false;
  const auto& names = limits.axes.names();
  if (names.empty()) return true;
  return std::any_of(e.axes.begin(), e.axes.end(), [&](const std::string& a) {
    return std::count(names.begin(), names.end(), a);
  });
}

void AddViolations(const CommLimits& limits, const CommReport& report,
                   std::vector<std::string>& out) {
  int64_t bytes = 0;
  for (const CommEvent& e : report.events()) {
    if (!Applies(limits, e)) continue;
    bytes += e.bytes * e.times;
    bool forbidden =
        limits.rule == CommRule::kForbid || (limits.rule == CommRule::kForbidImplied && e.implied);
    if (forbidden)
      out.push_back(fmt::format(
          "{}: {} over {} is {}: {} B per device", e.where, Name(e.kind), AxesText(e.axes),
          e.implied ? "implied, which is forbidden here" : "forbidden here", e.bytes));
  }
  if (limits.bytes >= 0 && bytes > limits.bytes)
    out.push_back(
        fmt::format("{} B leave each device, more than the budget of {} B", bytes, limits.bytes));
}

}  // namespace

namespace {

void AddEvents(const spmd::DeviceProgram& device, spmd::Times outer,
               std::vector<CommEvent>& events) {
  for (size_t i = 0; i < device.program.instructions.size(); ++i) {
    const ir::Instruction& instruction = device.program.instructions[i];
    const spmd::Note& note = device.notes[i];
    if (!note.regions.empty()) {
      spmd::Times inner = spmd::TimesOf(instruction);
      inner = {outer.times * inner.times, outer.known && inner.known};
      for (const auto& region : note.regions) AddEvents(*region, inner, events);
    }
    if (note.bytes == 0 || outer.times == 0) continue;
    CommEvent e{.kind = KindOf(spmd::KindOf(*instruction.op)),
                .axes = {},
                .bytes = note.bytes,
                .times = outer.times,
                .where = base::Where(instruction.loc),
                .implied = note.implied,
                .repeats = !outer.known};
    const sharding::MeshDef* mesh =
        device.placed[static_cast<size_t>(instruction.results[0])]->mesh();
    for (sharding::AxisRef a : note.axes) {
      const std::string& name = mesh->axes()[static_cast<size_t>(a.axis)].name;
      if (e.axes.empty() || e.axes.back() != name) e.axes.push_back(name);
    }
    events.push_back(std::move(e));
  }
}

int64_t DevicesOf(const spmd::DeviceProgram& device) {
  int64_t devices = device.program.mesh ? device.program.mesh->size() : 1;
  for (const ir::Type* placed : device.placed)
    if (placed->mesh()) devices = std::max(devices, placed->mesh()->size());
  return devices;
}

}  // namespace

CommReport Report(const spmd::DeviceProgram& device) {
  std::vector<CommEvent> events;
  AddEvents(device, {}, events);
  spmd::Flops flops = spmd::FlopsOf(device);
  auto whole = [](double n) { return static_cast<int64_t>(std::ceil(n)); };
  return CommReport(std::move(events), whole(flops.device),
                    whole(flops.whole / static_cast<double>(DevicesOf(device))));
}

const std::string& PolicyKey() { return policy_key; }

void CheckPolicies(const CommReport& report) {
  std::vector<std::string> hard, soft;
  for (const Scope& s : policies) AddViolations(s.limits, report, s.limits.warn_only ? soft : hard);
  for (const std::string& line : soft)
    std::fprintf(stderr, "tessera: CommPolicy: %s\n", line.c_str());
  if (hard.empty()) return;
  std::string reason = fmt::format("the program breaks the policy in scope, {} time{}", hard.size(),
                                   hard.size() == 1 ? "" : "s");
  base::ThrowSharding(base::Refusal("CommPolicy", 1, "", std::move(reason), std::move(hard)));
}

std::shared_ptr<const Lowered::Impl> LowerProgram(std::shared_ptr<const ir::Program> program,
                                                  const std::vector<bool>& input_shares) {
  auto impl = std::make_shared<Lowered::Impl>();
  impl->propagated = HasAutoAxes(*program) ? PropagateProgram(*program).program : program;
  impl->device = spmd::Lower(*impl->propagated);
  if (!policies.empty()) CheckPolicies(Report(impl->device));
  std::vector<bool> shares;
  if (!input_shares.empty() || !SharesReplicas()) {
    const ir::Program& p = impl->device.program;
    shares.assign(p.values.size(), SharesReplicas());
    size_t next = 0;
    for (ir::ValueId v : p.inputs)
      shares[static_cast<size_t>(v)] = next >= input_shares.size() || input_shares[next], ++next;
    for (const ir::Capture& c : p.captures)
      shares[static_cast<size_t>(c.value)] = next >= input_shares.size() || input_shares[next],
      ++next;
  }
  impl->schedule = spmd::MakeSchedule(impl->device, shares);
  impl->program = std::move(program);
  impl->dump = DumpStages(*impl);
  return impl;
}

}  // namespace api

CommPolicy::CommPolicy(CommLimits limits) {
  std::string key =
      fmt::format("{} {} {}", static_cast<int>(limits.rule), limits.bytes, limits.warn_only);
  for (CommKind k : limits.kinds) key += fmt::format(" k{}", static_cast<int>(k));
  for (const std::string& a : limits.axes.names()) key += " " + a;
  api::policies.push_back({std::move(limits), std::move(key)});
  api::SetKey();
}
CommPolicy::~CommPolicy() {
  api::policies.pop_back();
  api::SetKey();
}

MachineBalance::MachineBalance(double flops_per_byte, Loc loc) : old_(sharding::FlopsPerByte()) {
  if (!(flops_per_byte > 0))
    base::ThrowShape(
        base::Refusal("MachineBalance", 1, base::Where(loc),
                      fmt::format("{} FLOPs per byte: it is a number above 0", flops_per_byte)));
  sharding::SetFlopsPerByte(flops_per_byte);
}
MachineBalance::~MachineBalance() { sharding::SetFlopsPerByte(old_); }

namespace trace {
Lowered LowerJit(JitCache& cache, FlatArguments arguments, const TraceBody& body, Loc loc) {
  TracedProgram traced = TraceCall(cache, arguments, body, loc);
  return Lowered(api::LowerProgram(traced.program, {}));
}
}  // namespace trace

}  // namespace tessera
