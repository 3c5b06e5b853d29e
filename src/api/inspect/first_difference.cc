// first_difference and record_run.
#include "tessera/first_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <ostream>

#include "api/core/operands.h"
#include "base/at.h"
#include "base/error.h"
#include "base/file.h"
#include "compile/checks/value_watch.h"
#include "compile/compare/compare_runs.h"
#include "compile/compare/recording.h"
#include "compile/host/processes.h"
#include "tessera/processes.h"

namespace tessera {
namespace {

using compile::RunValues;
using compile::ValueWatch;

// Calls a function while the watch sees all programs of this thread.
std::shared_ptr<ValueWatch> Watched(const std::function<void()>& run,
                                    std::optional<compile::WatchTarget> target) {
  struct Scope {
    ~Scope() { compile::SetValueWatch(outer); }
    std::shared_ptr<ValueWatch> outer = compile::CurrentValueWatch();
  } scope;
  auto watch = std::make_shared<ValueWatch>(target);
  compile::SetValueWatch(watch);
  run();
  return watch;
}

RunValues ValuesOf(const std::function<void()>& run) {
  const std::shared_ptr<ValueWatch> watch = Watched(run, {});
  return {watch->values(), watch->made()};
}

// A process has the shards of its devices alone.
void CheckProcesses(const char* name, Loc loc) {
  if (compile::Processes() == 1) return;
  base::ThrowRuntime(base::Refusal(name, 4, base::Where(loc),
                                   fmt::format("there are {} processes", compile::Processes()),
                                   {"run on simulated devices in one process"}));
}

void CheckOptions(const DifferenceOptions& options, Loc loc) {
  CheckProcesses("first_difference", loc);
  if (!(options.tolerance >= 0) || std::isinf(options.tolerance))
    base::ThrowShape(base::Refusal("first_difference", 2, base::Where(loc),
                                   fmt::format(".tolerance is {}", options.tolerance),
                                   {"it must be at least 0, and finite"}));
}

std::string ReadAll(const std::string& path, Loc loc) {
  std::string why = base::WhyUnreadable(path);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (why.empty() && !file) why = "it cannot be read";
  if (!why.empty())
    base::ThrowRuntime(base::Refusal("first_difference", 3, base::Where(loc),
                                     fmt::format("{}: {}", path, why), {}));
  return bytes;
}

// Returns the difference as far as fingerprints tell.
FirstDifference Described(const RunValues& a, const RunValues& b, const compile::FirstPair& first) {
  FirstDifference d;
  if (first.differs) d = compile::Described(a, first.differs->first, b, first.differs->second);
  d.compared = first.compared;
  d.unmatched = first.unmatched;
  return d;
}

std::string Named(const std::string& op, const std::string& name, const std::string& where) {
  std::string text = name.empty() ? op : fmt::format("\"{}\", {}", name, op);
  if (!where.empty()) text += " at " + where;
  return text;
}

}  // namespace

FirstDifference first_difference(const std::function<void()>& a, const std::function<void()>& b,
                                 DifferenceOptions options, Loc loc) {
  CheckOptions(options, loc);
  const RunValues values_a = ValuesOf(a), values_b = ValuesOf(b);
  size_t from = 0;
  // Fingerprints may differ by more than any element does, but hardly ever by eight times as much.
  constexpr double kMostOfFingerprints = 8;
  // Fingerprints that differ although no element does. Each costs two more runs.
  constexpr int kMostAlarms = 8;
  for (int alarms = 0;; ++alarms) {
    const compile::FirstPair first = compile::FindFirst(values_a, values_b, options, from);
    FirstDifference d = Described(values_a, values_b, first);
    if (!first.differs) return d;
    const auto again_a = Watched(a, TargetOf(values_a, first.differs->first)),
               again_b = Watched(b, TargetOf(values_b, first.differs->second));
    if (Locate(*again_a, *again_b, options, d)) return d;
    if (first.excess > kMostOfFingerprints || alarms == kMostAlarms) {
      d.repeats = false;
      return d;
    }
    from = first.differs->first + 1;
  }
}

FirstDifference first_difference(const std::string& recording, const std::function<void()>& run,
                                 DifferenceOptions options, Loc loc) {
  CheckOptions(options, loc);
  const RunValues recorded = compile::FromRecording(ReadAll(recording, loc), recording, loc);
  const RunValues values = ValuesOf(run);
  return Described(recorded, values, compile::FindFirst(recorded, values, options));
}

void record_run(const std::function<void()>& run, const std::string& path, Loc loc) {
  CheckProcesses("record_run", loc);
  const std::string bytes = Recording(ValuesOf(run));
  try {
    base::NewFile file(path);
    file.WriteAt(0, bytes.data(), bytes.size());
    file.Sync();
    file.Commit();
  } catch (const base::FileError& e) {
    base::ThrowRuntime(base::Refusal("record_run", 1, base::Where(loc),
                                     fmt::format("{}: {}", path, e.what()), {}));
  }
}

std::string FirstDifference::text() const {
  if (!found)
    return fmt::format("no difference in {}{}\n", base::CountText(base::Size(compared), "value"),
                       unmatched ? fmt::format("; {} without a partner", unmatched) : "");
  std::string out = fmt::format("the first value that differs: {}{}\n", Named(op, name, where),
                                backward ? ", in the backward pass" : "");
  if (!iterations.empty())
    out += fmt::format("  in iteration {} of the loop{} around it, counted from 0\n",
                       fmt::join(iterations, ", "), iterations.size() > 1 ? "s" : "");
  if (run > 0) out += fmt::format("  it had been made {} times before\n", run);
  for (const auto& [side, s] : {std::pair("a", &a), std::pair("b", &b)}) {
    out += fmt::format("  {}: {}", side, s->type);
    if (!s->number.empty()) {
      out += fmt::format("  {}", s->number);
      if (!index.empty()) out += fmt::format(" at [{}]", fmt::join(index, ", "));
    }
    if (!s->devices.empty())
      out += fmt::format(", on device{} {}", s->devices.size() > 1 ? "s" : "",
                         fmt::join(s->devices, ", "));
    if (s->op != a.op || s->where != a.where) out += "; made by " + Named(s->op, "", s->where);
    out += '\n';
  }
  if (elements > 0)
    out += fmt::format("  {} of {} elements differ; this one by {:.2g} of its size\n", differing,
                       elements, difference);
  if (replicas_differ) out += "  devices hold other bits where the type says that they are equal\n";
  if (!repeats)
    out +=
        "  it did not differ when both ran again: it depends on the order of calls, or on time\n";
  for (const DifferentOperand& o : operands)
    out += fmt::format("  from {}: {}\n", Named(o.op, o.name, o.where),
                       o.difference == 0  ? "equal"
                       : o.difference < 0 ? "only in a"
                                          : fmt::format("differs by at most {:.2g}", o.difference));
  return out + fmt::format("{} before it {}\n", base::CountText(base::Size(compared - 1), "value"),
                           compared == 2 ? "agrees" : "agree");
}

std::ostream& operator<<(std::ostream& os, const FirstDifference& difference) {
  return os << difference.text();
}

namespace detail {

void CopyTree(TreeRef tree, const Specs& specs, Loc loc) {
  std::vector<Array> leaves = LeavesOf(tree);
  for (Array& x : leaves) x = gather_to_host(x, loc);
  Unflatten(tree, leaves, loc);
  ReshardTree(tree, specs.given() ? specs : Specs(P()), loc);
}

}  // namespace detail

}  // namespace tessera
