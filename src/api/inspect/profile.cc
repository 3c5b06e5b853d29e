// The public Profile.
#include "tessera/profile.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <ostream>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "base/error.h"
#include "base/file.h"
#include "compile/inspect/profile.h"
#include "compile/run/lower.h"
#include "trace/inline.h"

namespace tessera {

using namespace api;

double Profile::seconds() const { return impl_->seconds; }
int Profile::workers() const { return impl_->workers; }
double Profile::waiting() const { return impl_->waiting; }
double Profile::exposed() const { return impl_->exposed; }
const std::vector<ProfileStep>& Profile::steps() const { return impl_->steps; }
double Profile::bytes_per_second() const { return impl_->bytes_per_second; }
double Profile::flops_per_second() const { return impl_->flops_per_second; }

namespace {

// Returns whether a step is an exchange, and its time for messages that nothing hid.
std::string Remark(const ProfileStep& step) {
  if (!step.exchange) return "";
  if (step.exposed == 0) return " (exchange)";
  return fmt::format(" (exchange; {:.1f} us for other processes)", step.exposed * 1e6);
}

}  // namespace

std::string Profile::text() const {
  double all = waiting();
  for (const ProfileStep& step : steps()) all += step.seconds;
  std::string out = fmt::format(
      "{:.1f} us on {} worker{}; one can copy {:.1f} GB/s and do {:.1f} GFLOP/s\n", seconds() * 1e6,
      workers(), workers() == 1 ? "" : "s", bytes_per_second() * 1e-9, flops_per_second() * 1e-9);
  out += fmt::format("{:>12} {:>6} {:>7} {:>8} {:>8} {:>9}  {}\n", "us", "share", "calls", "GB/s",
                     "GFLOP/s", "of limit", "step");
  const auto share = [&](double part) { return all > 0 ? 100 * part / all : 0; };
  for (const ProfileStep& step : steps())
    out += fmt::format("{:>12.1f} {:>5.1f}% {:>7} {:>8.2f} {:>8.2f} {:>9.2f}  {}{}\n",
                       step.seconds * 1e6, share(step.seconds), step.calls,
                       step.bytes / step.seconds * 1e-9, step.flops / step.seconds * 1e-9,
                       step.of_limit, step.name, Remark(step));
  return out + fmt::format("{:>12.1f} {:>5.1f}% {:>36}  waiting\n", waiting() * 1e6,
                           share(waiting()), "");
}

void Profile::write(const std::string& path, Loc loc) const {
  errno = 0;
  std::ofstream out(path);
  // Drops the last comma.
  out << "[\n"
      << impl_->trace.substr(0, impl_->trace.size() - (impl_->trace.empty() ? 0 : 2)) << "\n]\n";
  if (!out.flush())
    base::ThrowRuntime(base::Refusal("write", 1, base::Where(loc),
                                     fmt::format("cannot write {}: {}", path, base::ErrnoText())));
}

std::ostream& operator<<(std::ostream& os, const Profile& profile) { return os << profile.text(); }

namespace {

[[noreturn]] void RefuseArrays(int check, std::string reason, Loc loc,
                               std::vector<std::string> fixes) {
  base::ThrowShape(
      base::Refusal("profile", check, base::Where(loc), std::move(reason), std::move(fixes)));
}

// Returns the inputs of the program. Throws if an array has no data or another type than its input.
std::vector<trace::ArrayRef> InputsOf(const ir::Program& program, const std::vector<Array>& leaves,
                                      Loc loc) {
  if (leaves.size() != program.inputs.size())
    RefuseArrays(1,
                 fmt::format("the program takes {}, but {} {} given",
                             base::CountText(program.inputs.size(), "array"), leaves.size(),
                             leaves.size() == 1 ? "was" : "were"),
                 loc, {"give the arguments that it was lowered for"});
  std::vector<trace::ArrayRef> inputs;
  for (size_t i = 0; i < leaves.size(); ++i) {
    OnDevices(leaves[i], {"profile", loc});
    const std::string type = leaves[i].impl()->type()->text(),
                      wanted = program.type(program.inputs[i])->text();
    if (type != wanted)
      RefuseArrays(2, fmt::format("array {} is {}, but the program takes {}", i, type, wanted), loc,
                   {"lower the function for these arguments"});
    inputs.push_back(leaves[i].impl());
  }
  return inputs;
}

}  // namespace

namespace detail {

Profile ProfileRun(const Lowered& lowered, const std::vector<Array>& leaves, Loc loc) {
  const std::shared_ptr<const ir::Program>& program = lowered.impl()->program;
  const std::vector<trace::ArrayRef> inputs = InputsOf(*program, leaves, loc);
  compile::Collector collector;
  trace::KeptCompilation kept;
  const auto run = [&] { trace::CallProgram(program, inputs, "profile", loc, &kept); };
  const compile::MemoryKnownScope memory;
  run();
  {
    const runtime::Recording recording([&](const plan::Plan& plan, const runtime::Events& events) {
      collector.Add(plan, events);
    });
    run();
  }
  return Profile(std::make_shared<const Profile::Impl>(collector.Result()));
}

}  // namespace detail
}  // namespace tessera
