// The public classes for programs, reports and policies.
#include "tessera/program.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <ostream>

#include "api/functions/program_calls.h"
#include "api/io/saved_program.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sum_order.h"
#include "compile/auto/propagate.h"
#include "compile/checks/policy.h"
#include "compile/inspect/memory.h"
#include "compile/inspect/report.h"
#include "compile/run/executor.h"
#include "compile/run/lower.h"
#include "compile/run/plan.h"
#include "compile/savings/advise.h"
#include "ir/program_text.h"
#include "sharding/partition.h"
#include "spmd/schedule/peak_bytes.h"
#include "tessera/memory_advice.h"
#include "trace/array.h"
#include "trace/inline.h"

namespace tessera {

namespace {

std::string EventText(const CommEvent& e) {
  return fmt::format("{:<18} over {:<12} {:>12} B x{:<4} {:<24} {}{}{}", comm_name(e.kind),
                     absl::StrJoin(e.axes, ","), e.bytes, e.times, e.where,
                     e.implied ? "implied" : "asked for", e.backward ? ", backward" : "",
                     e.repeats ? ", each iteration" : "");
}

[[noreturn]] void RefuseProgram(const char* op, int check, std::string reason, Loc loc) {
  base::ThrowRuntime(base::Refusal(op, check, base::Where(loc), std::move(reason)));
}

std::vector<ArrayType> TypesOf(const ir::Program& program, const std::vector<ir::ValueId>& values) {
  std::vector<ArrayType> types;
  types.reserve(values.size());
  for (ir::ValueId v : values) types.emplace_back(program.type(v));
  return types;
}

std::string MoreText(int64_t more, const char* unit) {
  return fmt::format("{} {} {}", std::abs(more), unit, more < 0 ? "less" : "more");
}

// Returns "sends 64 B more, computes 128 FLOPs more".
std::string CostText(const MemoryChange& c) {
  std::string text;
  if (c.more_bytes != 0) text = "sends " + MoreText(c.more_bytes, "B");
  if (c.more_flops != 0)
    text += (text.empty() ? "" : ", ") + ("computes " + MoreText(c.more_flops, "FLOPs"));
  return text.empty() ? "sends and computes as much" : text;
}

}  // namespace

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
  for (const CommEvent& e : lines()) out += EventText(e) + "\n";
  out += events_.empty() ? "no communication\n" : fmt::format("{} B leave each device\n", bytes());
  if (flops_ > 0)
    out += fmt::format("{} FLOPs on each device, {:.2f} times the work of a perfect split\n",
                       flops_, static_cast<double>(flops_) / static_cast<double>(split_flops_));
  return out;
}

Program::Program(std::shared_ptr<const ir::Program> program, ProgramBorder border)
    : program_(std::move(program)),
      border_(std::make_shared<const ProgramBorder>(std::move(border))),
      kept_(std::make_shared<trace::KeptCompilation>()) {}

Program Program::Parse(std::string_view text, Loc loc) {
  compile::Install();
  return Program(ir::Shared(ir::ParseProgram(text, loc)));
}
Program Program::Load(const std::string& path, Loc loc) {
  if (std::string why = base::WhyUnreadable(path); !why.empty())
    RefuseProgram("load", 1, "cannot read " + path + ": " + why, loc);
  if (api::IsSavedProgram(path)) return api::ReadProgram(path, {"load", loc});
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) RefuseProgram("load", 1, "cannot read " + path, loc);
  return Parse(text, base::LineOf(path, 0));
}
void Program::save(const std::string& path, Loc loc) const {
  api::WriteProgram(path, *this, {"save", loc});
}
std::vector<Array> Program::run(std::vector<Array> arguments, Loc loc) const {
  const api::Call call{"run", loc};
  api::CheckRuns(*program_, call);
  return api::CallOf(*this, std::move(arguments), *kept_, call);
}
std::string Program::text() const { return ir::Text(*program_); }
std::vector<ArrayType> Program::inputs() const { return TypesOf(*program_, program_->inputs); }
std::vector<ArrayType> Program::outputs() const { return TypesOf(*program_, program_->outputs); }

Program Program::propagated(propagation::Stage stop_after, Loc loc) const {
  if (program_->per_device) RefuseProgram("propagate", 2, compile::kOfDevice, loc);
  if (!compile::HasAutoAxes(*program_)) return *this;
  propagation::engine::EngineOptions options;
  options.stop_after = stop_after;
  return Program(compile::PropagateProgram(*program_, options).program);
}

Lowered lower(const Program& program, Loc loc) {
  if (program.program()->per_device) RefuseProgram("lower", 2, compile::kOfDevice, loc);
  const std::shared_ptr<Lowered::Impl> impl = compile::LowerProgram(program.program(), {});
  impl->border = program.border();
  return Lowered(impl);
}

std::string partition_text(const Program& program, const PartitionOptions& options, Loc loc) {
  if (program.program()->per_device) RefuseProgram("lower", 2, compile::kOfDevice, loc);
  compile::PassChoice choice;
  if (!options.stop_after.empty())
    choice.stop_after = compile::PassNamed(options.stop_after, "partition");
  choice.only = absl::StrSplit(options.only, ',', absl::SkipEmpty());
  const std::shared_ptr<Lowered::Impl> impl = compile::LowerProgram(program.program(), {}, choice);
  const Lowered lowered(impl);
  if (!choice.stop_after)
    return fmt::format("{}\n{}at most {} B on each device\n", lowered.device_program().text(),
                       lowered.comm().text(), lowered.peak_bytes());
  return compile::TextAfter(*choice.stop_after, *impl);
}

Program Lowered::program() const { return Program(impl_->program, impl_->border); }
Program Lowered::propagated() const { return Program(impl_->propagated); }
Program Lowered::device_program() const {
  return Program(std::shared_ptr<const ir::Program>(impl_, &impl_->device()));
}
CommReport Lowered::comm() const { return compile::Report(impl_->device()); }
int64_t Lowered::peak_bytes() const {
  return spmd::PeakBytes(impl_->device(), impl_->schedule(), impl_->border.donated);
}
MemoryReport Lowered::memory() const {
  return compile::MemoryOf(impl_->device(), impl_->schedule(), impl_->border.donated);
}
int64_t Lowered::flops() const { return comm().flops(); }
int64_t Lowered::split_flops() const { return comm().split_flops(); }
std::string Lowered::text() const {
  std::string text = fmt::format("{}{}{} bytes at most per device\n", device_program().text(),
                                 comm().text(), peak_bytes());
  if (!impl_->keeps_sum_order) return text;
  const base::SumOrderScope any_order(false);
  const CommReport any = compile::Report(compile::DeviceProgramOf(impl_->program));
  return text + fmt::format(
                    "sums in one order: a device sends {} B and computes {} FLOPs; in any order {} "
                    "B and {} FLOPs\n",
                    comm().bytes(), flops(), any.bytes(), any.flops());
}

std::ostream& operator<<(std::ostream& os, const CommReport& report) { return os << report.text(); }
std::ostream& operator<<(std::ostream& os, const Program& program) { return os << program.text(); }
std::ostream& operator<<(std::ostream& os, const Lowered& lowered) { return os << lowered.text(); }

MemoryAdvice advise_memory(const Lowered& lowered) {
  const base::SumOrderScope order(lowered.impl()->keeps_sum_order);
  return compile::AdviseMemory(*lowered.impl()->program, lowered.impl()->border);
}

std::string MemoryAdvice::text() const {
  std::string out = fmt::format("{} B at most on each device; tried {}: {}\n", peak_bytes,
                                base::CountText(static_cast<size_t>(tried), "change"),
                                changes.empty() ? "none lowers it" : "these lower it most");
  for (const MemoryChange& c : changes) {
    const double percent =
        100 * (1 - static_cast<double>(c.peak_bytes) / static_cast<double>(peak_bytes));
    out += fmt::format("{:>12} B  {:.1f}% less, {}\n              {}{}{}\n", c.peak_bytes, percent,
                       CostText(c), c.where, c.where.empty() ? "" : ": ", c.text);
  }
  return out;
}

std::ostream& operator<<(std::ostream& os, const MemoryAdvice& advice) {
  return os << advice.text();
}

CommPolicy::CommPolicy(CommLimits limits, Loc loc) { compile::PushPolicy(std::move(limits), loc); }
CommPolicy::~CommPolicy() { compile::PopPolicy(); }

MachineBalance::MachineBalance(double flops_per_byte, Loc loc) : old_(sharding::FlopsPerByte()) {
  if (!(flops_per_byte > 0))
    base::ThrowShape(
        base::Refusal("MachineBalance", 1, base::Where(loc),
                      fmt::format("flops_per_byte must be above 0, not {}", flops_per_byte)));
  sharding::SetFlopsPerByte(flops_per_byte);
}
MachineBalance::~MachineBalance() { sharding::SetFlopsPerByte(old_); }

}  // namespace tessera
