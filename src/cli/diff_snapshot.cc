// Reads programs, reports and dumps.
#include "cli/diff_snapshot.h"

#include <tessera/explain.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "cli/listing.h"

namespace tessera::cli {
namespace {

std::string JoinedAxes(const std::vector<std::string>& axes) {
  std::string text;
  for (const std::string& axis : axes) text += (text.empty() ? "" : ",") + axis;
  return text;
}

// Adds up collectives that differ in bytes and times only.
class CollectiveSums {
 public:
  void Add(const Collective& c) {
    const auto key = std::tuple(c.line, c.kind, c.axes, c.backward, c.repeats);
    const auto [at, is_new] = known_.try_emplace(key, all_.size());
    if (is_new) {
      all_.push_back(c);
      return;
    }
    all_[at->second].bytes += c.bytes;
    all_[at->second].times += c.times;
  }
  std::vector<Collective> Take() { return std::move(all_); }

 private:
  std::map<std::tuple<std::string, std::string, std::string, bool, bool>, size_t> known_;
  std::vector<Collective> all_;
};

constexpr std::string_view kLockBegin = "tessera lock 1\n", kMesh = "mesh ", kLine = " // ";

// Takes the lines `%3 dot_general f32[8,64] : <@mesh, [{"x"}, {}]>` of a dump. Those of a lock file
// may end with the user's line and the name: ` // mlp.py:3 "hidden"`.
std::vector<PlacedValue> ValuesOfDump(const std::string& dump) {
  std::vector<PlacedValue> values;
  std::istringstream lines(dump);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(" : "), value = line.find(' ');
    if (!line.starts_with('%') || colon == line.npos) continue;
    const size_t type = line.rfind(' ', colon - 1), end = line.find(kLine, colon);
    PlacedValue v{.value = line.substr(0, value),
                  .name = {},
                  .op = line.substr(value + 1, type - value - 1),
                  .type = line.substr(type + 1, colon - type - 1),
                  .sharding = line.substr(colon + 3, end - std::min(end, colon + 3)),
                  .line = {}};
    if (end != line.npos) {
      const std::string at = line.substr(end + kLine.size());
      const size_t quote = at.find('"');
      v.line = at.substr(0, std::min(at.find(' '), quote));
      if (quote != at.npos) v.name = at.substr(quote + 1, at.size() - quote - 2);
    }
    values.push_back(std::move(v));
  }
  return values;
}

std::vector<PlacedValue> ValuesOf(const Program& program) {
  std::vector<PlacedValue> values = ValuesOfDump(dump_shardings(program));
  std::map<std::string, ListedRow> rows;
  for (ListedRow& row : ReadListing(program.text()).rows)
    if (!row.value.empty()) rows.emplace(row.value, std::move(row));
  for (PlacedValue& v : values) {
    const auto row = rows.find(v.value);
    if (row == rows.end()) continue;
    v.name = row->second.name;
    v.line = row->second.line.substr(0, row->second.line.find(' '));
  }
  return values;
}

std::string MeshText(const Program& program) {
  for (const auto& types : {program.inputs(), program.outputs()})
    for (const ArrayType& type : types)
      if (!type.mesh().empty()) return type.mesh().text();
  return "";
}

Snapshot SnapshotOf(const Program& program) {
  const Lowered lowered = lower(program, kHere);
  const CommReport comm = lowered.comm();
  CollectiveSums sums;
  for (const CommEvent& e : comm.events())
    sums.Add({.kind = comm_name(e.kind),
              .axes = JoinedAxes(e.axes),
              .line = e.where,
              .backward = e.backward,
              .repeats = e.repeats,
              .bytes = e.bytes * e.times,
              .times = e.times});
  return {.mesh = MeshText(program),
          .values = ValuesOf(program),
          .collectives = sums.Take(),
          .totals = CostTotals{comm.bytes(), lowered.flops(), lowered.peak_bytes()},
          .has_values = true,
          .has_collectives = true};
}

// Takes the lines of CommReport::text() and those after it.
Snapshot SnapshotOfReport(const std::string& report) {
  static const std::regex event(
      R"((\w+) +over (\S+) +(\d+) B x(\d+) +(.*\S) +(?:implied|asked for)(, backward)?(, each iteration)?)");
  static const std::regex total(
      R"((\d+) B leave each device|(\d+) FLOPs on each device.*|at most (\d+) B on each device)");
  CollectiveSums sums;
  CostTotals totals;
  std::istringstream lines(report);
  std::smatch m;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, m, event)) {
      const int64_t times = std::stoll(m[4]);
      sums.Add({.kind = m[1],
                .axes = m[2],
                .line = m[5],
                .backward = m[6].matched,
                .repeats = m[7].matched,
                .bytes = std::stoll(m[3]) * times,
                .times = times});
    } else if (std::regex_match(line, m, total)) {
      if (m[1].matched) totals.bytes = std::stoll(m[1]);
      if (m[2].matched) totals.flops = std::stoll(m[2]);
      if (m[3].matched) totals.peak = std::stoll(m[3]);
    }
  }
  return {.mesh = {},
          .values = {},
          .collectives = sums.Take(),
          .totals = totals,
          .has_values = false,
          .has_collectives = true};
}

Snapshot SnapshotOfLock(const std::string& text, const std::string& file) {
  if (text.find("\nat most ") == text.npos || !text.ends_with('\n'))
    throw std::runtime_error("tessera: the lock file " + file +
                             " is cut short: write it again with tessera lock");
  Snapshot snapshot = SnapshotOfReport(text);
  snapshot.values = ValuesOfDump(text);
  snapshot.has_values = true;
  const std::string_view rest = std::string_view(text).substr(kLockBegin.size());
  if (rest.starts_with(kMesh))
    snapshot.mesh = rest.substr(kMesh.size(), rest.find('\n') - kMesh.size());
  return snapshot;
}

bool IsReport(const std::string& text) {
  return ("\n" + text).find("\nno communication\n") != text.npos ||
         text.find(" B leave each device\n") != text.npos;
}

bool IsDump(const std::string& text) {
  return text.starts_with('%') && text.find(" : <@mesh") < text.find('\n');
}

}  // namespace

std::string LockText(const Program& program) {
  const Lowered lowered = lower(program, kHere);
  std::string text(kLockBegin);
  if (const std::string mesh = MeshText(program); !mesh.empty())
    text += std::string(kMesh) + mesh + "\n";
  for (const PlacedValue& v : ValuesOf(program)) {
    text += v.value + " " + v.op + " " + v.type + " : " + v.sharding;
    if (!v.line.empty() || !v.name.empty()) text += std::string(kLine) + v.line;
    if (!v.name.empty()) text += (v.line.empty() ? "\"" : " \"") + v.name + "\"";
    text += "\n";
  }
  return text + lowered.comm().text() + "at most " + std::to_string(lowered.peak_bytes()) +
         " B on each device\n";
}

Snapshot SnapshotOf(const ProgramSource& source) {
  if (source.file != "-" && !source.file.ends_with(".mlir")) {
    std::ifstream file(source.file);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.starts_with(kLockBegin)) return SnapshotOfLock(text, source.file);
    if (IsReport(text)) return SnapshotOfReport(text);
    if (IsDump(text))
      return {.mesh = {},
              .values = ValuesOfDump(text),
              .collectives = {},
              .totals = {},
              .has_values = true,
              .has_collectives = false};
  }
  return SnapshotOf(source.Load());
}

}  // namespace tessera::cli
