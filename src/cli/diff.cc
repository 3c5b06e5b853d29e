// Compares two snapshots, and prints the changes as text or JSON.
#include "cli/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <tuple>

#include "cli/diff_align.h"
#include "cli/diff_snapshot.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

// A number of the whole program.
struct CostDiff {
  const char* name;  // "bytes"
  const char* shown;
  int64_t before = 0, after = 0;
  std::string allowed = {};  // "+2%"; "": nothing
  bool worse = false;
};

// A value or a collective before and after. Null: it is not there.
template <class T>
struct BeforeAfter {
  const T* before = nullptr;
  const T* after = nullptr;
  const T& one() const { return after ? *after : *before; }
};

struct LineDiff {
  std::vector<BeforeAfter<PlacedValue>> values;
  std::vector<BeforeAfter<Collective>> collectives;
};

// Lines sort by file, then by number.
struct LineOrder {
  static std::pair<std::string, long> Key(const std::string& line) {
    const size_t colon = line.rfind(':');
    if (colon == line.npos) return {line, 0};
    return {line.substr(0, colon), std::strtol(line.c_str() + colon + 1, nullptr, 10)};
  }
  bool operator()(const std::string& a, const std::string& b) const { return Key(a) < Key(b); }
};
using LineDiffs = std::map<std::string, LineDiff, LineOrder>;

// Returns the op, name and type without axes, by which values of two programs correspond.
std::vector<std::string> KeysOf(const std::vector<PlacedValue>& values) {
  static const std::regex axes(R"(@\([^)]*\)|@[^,\]]*|\{[^}]*\})");
  std::vector<std::string> keys;
  keys.reserve(values.size());
  for (const PlacedValue& v : values)
    keys.push_back(v.op + ' ' + std::regex_replace(v.type, axes, "") + ' ' + v.name);
  return keys;
}

class Differ {
 public:
  Differ(const Snapshot& a, const Snapshot& b) : a_(a), b_(b) {}

  LineDiffs Run() {
    if (a_.has_values && b_.has_values) Values();
    if (a_.has_collectives && b_.has_collectives) Collectives();
    return std::move(lines_);
  }

 private:
  void Values() {
    const auto pairs = Align(KeysOf(a_.values), KeysOf(b_.values));
    size_t i = 0, j = 0;
    const auto unpaired = [&](size_t to_i, size_t to_j) {
      for (; i < to_i; ++i) lines_[a_.values[i].line].values.push_back({&a_.values[i], nullptr});
      for (; j < to_j; ++j) lines_[b_.values[j].line].values.push_back({nullptr, &b_.values[j]});
    };
    for (const auto& [in_a, in_b] : pairs)
      if (!a_.values[in_a].line.empty()) moved_.emplace(a_.values[in_a].line, b_.values[in_b].line);
    for (const auto& [in_a, in_b] : pairs) {
      unpaired(in_a, in_b);
      const PlacedValue &a = a_.values[i++], &b = b_.values[j++];
      if (a.sharding != b.sharding || a.type != b.type)
        lines_[b.line.empty() ? a.line : b.line].values.push_back({&a, &b});
    }
    unpaired(a_.values.size(), b_.values.size());
  }

  // Returns the line of the second program that has the values of a line of the first.
  std::string LineInB(const std::string& line) const {
    const auto at = moved_.find(line);
    return at == moved_.end() || at->second.empty() ? line : at->second;
  }

  void Collectives() {
    const auto key = [](const std::string& line, const Collective& c) {
      return std::tuple(line, c.kind, c.axes, c.backward, c.repeats);
    };
    std::map<decltype(key("", b_.collectives[0])), const Collective*> of_b;
    for (const Collective& c : b_.collectives) of_b.emplace(key(c.line, c), &c);
    for (const Collective& a : a_.collectives) {
      const std::string line = LineInB(a.line);
      const auto b = of_b.find(key(line, a));
      if (b == of_b.end()) {
        lines_[line].collectives.push_back({&a, nullptr});
        continue;
      }
      if (a.bytes != b->second->bytes || a.times != b->second->times)
        lines_[line].collectives.push_back({&a, b->second});
      of_b.erase(b);
    }
    for (const Collective& c : b_.collectives)
      if (const auto left = of_b.find(key(c.line, c)); left != of_b.end() && left->second == &c)
        lines_[c.line].collectives.push_back({nullptr, &c});
  }

  const Snapshot &a_, &b_;
  std::map<std::string, std::string> moved_;
  LineDiffs lines_;
};

const std::regex& AllowancePattern() {
  static const std::regex pattern(R"((bytes|flops|peak)=\+?([0-9]+(?:\.[0-9]+)?)(%?))");
  return pattern;
}

std::vector<CostDiff> CostsOf(const Snapshot& a, const Snapshot& b,
                              const std::vector<std::string>& allows) {
  if (!a.totals || !b.totals) return {};
  std::vector<CostDiff> costs = {
      {"bytes", "bytes that leave each device", a.totals->bytes, b.totals->bytes},
      {"flops", "FLOPs on each device", a.totals->flops, b.totals->flops},
      {"peak", "bytes in the memory of each device", a.totals->peak, b.totals->peak}};
  for (CostDiff& cost : costs) {
    double most = static_cast<double>(cost.before);
    for (const std::string& text : allows) {
      std::smatch m;
      if (!std::regex_match(text, m, AllowancePattern()) || m[1] != cost.name) continue;
      const double more = std::strtod(m[2].str().c_str(), nullptr);
      const auto before = static_cast<double>(cost.before);
      most = before + (m[3].length() > 0 ? before * more / 100 : more);
      cost.allowed = "+" + m[2].str() + m[3].str();
    }
    cost.worse = static_cast<double>(cost.after) > most;
  }
  return costs;
}

// ---- text ----

// Returns `[{"x"}, {}]` of `<@mesh, [{"x"}, {}]>`.
std::string ShortSharding(const PlacedValue& v) {
  const std::string_view text = v.sharding, open = "<@mesh, ";
  if (!text.starts_with(open) || !text.ends_with('>')) return v.sharding;
  return std::string(text.substr(open.size(), text.size() - open.size() - 1));
}

std::string ValueText(const PlacedValue& v) {
  return fmt::format("{}{} {} {}", v.value, v.name.empty() ? "" : " \"" + v.name + "\"", v.op,
                     v.type);
}

std::string Text(const BeforeAfter<PlacedValue>& c) {
  if (!c.before) return fmt::format("  + {}: {}\n", ValueText(*c.after), ShortSharding(*c.after));
  if (!c.after) return fmt::format("  - {}: {}\n", ValueText(*c.before), ShortSharding(*c.before));
  if (c.before->sharding == c.after->sharding)
    return fmt::format("  ~ {}, was {}\n", ValueText(*c.after), c.before->type);
  return fmt::format("  ~ {}: {} -> {}\n", ValueText(*c.after), ShortSharding(*c.before),
                     ShortSharding(*c.after));
}

std::string SentText(const Collective& c) {
  return fmt::format("{} B in {} run{}", c.bytes, c.times, c.times == 1 ? "" : "s");
}

std::string Text(const BeforeAfter<Collective>& c) {
  const Collective& one = c.one();
  const std::string what =
      fmt::format("{} over {}{}{}", one.kind, one.axes, one.backward ? ", backward" : "",
                  one.repeats ? ", each iteration" : "");
  if (!c.before) return fmt::format("  + {}: {}\n", what, SentText(one));
  if (!c.after) return fmt::format("  - {}: {}\n", what, SentText(one));
  return fmt::format("  ~ {}: {} -> {}\n", what, SentText(*c.before), SentText(*c.after));
}

std::string PercentText(int64_t before, int64_t after) {
  if (before == after) return "";
  if (before == 0) return " (new)";
  const auto from = static_cast<double>(before);
  return fmt::format(" ({:+.2f}%)", 100 * (static_cast<double>(after) - from) / from);
}

std::string Text(const CostDiff& cost) {
  std::string line = fmt::format("{:<36}", cost.shown);
  if (cost.before == cost.after) return fmt::format("{}{}\n", line, cost.after);
  line += fmt::format("{} -> {}{}", cost.before, cost.after, PercentText(cost.before, cost.after));
  if (cost.worse)
    line += cost.allowed.empty() ? ": worse" : ": worse than " + cost.allowed + " allows";
  return line + "\n";
}

// More changes of values of one line are not printed.
constexpr size_t kMostValues = 8;

std::string Text(const LineDiff& diff) {
  std::string text;
  for (size_t k = 0; k < std::min(diff.values.size(), kMostValues); ++k)
    text += Text(diff.values[k]);
  if (diff.values.size() > kMostValues)
    text += fmt::format("  ... and {} more values\n", diff.values.size() - kMostValues);
  for (const BeforeAfter<Collective>& c : diff.collectives) text += Text(c);
  return text;
}

// ---- JSON ----

Json OrNull(const auto* one, auto field) { return one ? Json(field(*one)) : Json(nullptr); }

Json JsonOf(const BeforeAfter<PlacedValue>& c) {
  const auto state = [](const PlacedValue& v) {
    return Json{{"value", v.value}, {"type", v.type}, {"sharding", v.sharding}};
  };
  return {{"name", c.one().name},
          {"op", c.one().op},
          {"before", OrNull(c.before, state)},
          {"after", OrNull(c.after, state)}};
}

Json JsonOf(const BeforeAfter<Collective>& c) {
  const auto state = [](const Collective& v) {
    return Json{{"bytes", v.bytes}, {"times", v.times}};
  };
  return {{"kind", c.one().kind},
          {"axes", c.one().axes},
          {"backward", c.one().backward},
          {"each_iteration", c.one().repeats},
          {"before", OrNull(c.before, state)},
          {"after", OrNull(c.after, state)}};
}

template <class T>
Json ListOf(const std::vector<T>& all) {
  Json list = Json::array();
  for (const T& one : all) list.push_back(JsonOf(one));
  return list;
}

std::string JsonText(const LineDiffs& lines, const std::vector<CostDiff>& costs) {
  Json by_line = Json::array(), totals = Json::object();
  for (const auto& [line, diff] : lines)
    by_line.push_back({{"line", line},
                       {"values", ListOf(diff.values)},
                       {"collectives", ListOf(diff.collectives)}});
  for (const CostDiff& c : costs)
    totals[c.name] = {
        {"before", c.before}, {"after", c.after}, {"allowed", c.allowed}, {"worse", c.worse}};
  const Json json = {{"worse", std::ranges::any_of(costs, &CostDiff::worse)},
                     {"totals", totals},
                     {"lines", by_line}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string ReasonAgainstAllowance(const std::string& text) {
  if (std::regex_match(text, AllowancePattern())) return "";
  return "'" + text + "' is not an allowance: bytes=+2%, flops=+1%, peak=+1000";
}

bool PrintDiff(const ProgramSource& before, const DiffRequest& request, std::ostream& out) {
  ProgramSource other = before;
  other.file = request.after;
  const Snapshot a = SnapshotOf(before), b = SnapshotOf(other);
  const LineDiffs lines = Differ(a, b).Run();
  const std::vector<CostDiff> costs = CostsOf(a, b, request.allows);
  const bool worse = std::ranges::any_of(costs, &CostDiff::worse);
  if (request.json) {
    out << JsonText(lines, costs);
    return worse;
  }
  if (a.has_values && b.has_values && a.mesh != b.mesh && !a.mesh.empty() && !b.mesh.empty())
    out << fmt::format("mesh {} -> {}\n", a.mesh, b.mesh);
  if (lines.empty()) out << "no change of shardings or collectives\n";
  for (const auto& [line, diff] : lines)
    out << (line.empty() ? "values without a line" : line) << "\n" << Text(diff);
  for (const CostDiff& cost : costs) out << Text(cost);
  return worse;
}

}  // namespace tessera::cli
