// Fills in the page's template: the mesh, the collectives with their bytes, and every value with
// the reason for its sharding.
#include "cli/html.h"

#include <tessera/explain.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <vector>

#include "cli/listing.h"
#include "cli/page_template.h"
#include "cli/stages.h"
#include "cli/template.h"

namespace tessera::cli {
namespace {

std::string Escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

const Template& Blocks() {
  static const Template blocks(kPageTemplate);
  return blocks;
}

// Returns an amount with three digits, such as "384 B" or "1.25 MB".
std::string Amount(int64_t n, const std::string& unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  double value = static_cast<double>(n);
  size_t p = 0;
  for (; value >= 999.5 && p + 1 < std::size(kPrefixes); ++p) value /= 1000;
  char digits[32];
  std::snprintf(digits, sizeof digits, p == 0 ? "%.0f" : "%.3g", value);
  return std::string(digits) + " " + kPrefixes[p] + unit;
}

// The mesh axes by name, each with its colour.
class Axes {
 public:
  explicit Axes(const std::vector<ListedAxis>& axes) : axes_(axes) {}

  std::string Chip(const std::string& name, const std::string& more = "") const {
    auto it = std::find_if(axes_.begin(), axes_.end(),
                           [&](const ListedAxis& a) { return a.name == name; });
    // Further axes start again with the first colour.
    const size_t colour = static_cast<size_t>(it - axes_.begin()) % kColours;
    return Blocks().Fill("axis",
                         {{"colour", std::to_string(colour)}, {"name", Escaped(name + more)}});
  }

  // Returns the text with every quoted axis name in its colour.
  std::string Coloured(const std::string& text) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      size_t end = text[at] == '"' ? text.find('"', at + 1) : std::string::npos;
      std::string name = end == std::string::npos ? "" : text.substr(at + 1, end - at - 1);
      bool known = std::any_of(axes_.begin(), axes_.end(),
                               [&](const ListedAxis& a) { return a.name == name; });
      if (end != std::string::npos && known) {
        out += Chip(name);
        at = end + 1;
      } else {
        out += Escaped(text.substr(at++, 1));
      }
    }
    return out;
  }

 private:
  static constexpr size_t kColours = 8;  // in the page's style sheet
  const std::vector<ListedAxis>& axes_;
};

class Page {
 public:
  Page(const Program& program, propagation::Stage stop_after)
      : program_(program),
        stop_after_(stop_after),
        listing_(ReadListing(program.text())),
        axes_(listing_.axes) {
    for (Explanation& e : explain_all(program, stop_after)) {
      std::string value = e.value;
      values_.emplace(std::move(value), std::move(e));
    }
  }

  std::string Run(const std::string& title) const {
    std::string summary, communication, values;
    // Only a fully propagated program can be lowered.
    if (stop_after_ == propagation::Stage::kUserPriority)
      AddCommunication(summary, communication);
    else
      summary = Blocks().Fill("stopped", {{"strategy", StageName(stop_after_)}}) + "\n";
    for (const ListedRow& row : listing_.rows) values += Row(row) + "\n";
    return Blocks().Fill("page", {{"title", Escaped(title)},
                                  {"widths", Widths()},
                                  {"mesh", Mesh()},
                                  {"summary", summary},
                                  {"communication", communication},
                                  {"values", values}}) +
           "\n";
  }

 private:
  std::string Mesh() const {
    if (listing_.axes.empty()) return "";
    std::string axes;
    for (const ListedAxis& a : listing_.axes)
      axes += " " + axes_.Chip(a.name, "=" + a.size) + (a.is_auto ? "" : " Explicit");
    return Blocks().Fill("mesh", {{"axes", axes}}) + "\n";
  }

  // Sets the totals of the whole program, and the section about communication.
  void AddCommunication(std::string& summary, std::string& section) const {
    std::string report;
    try {
      const Lowered lowered = lower(program_, Loc::Unknown());
      const CommReport comm = lowered.comm();
      summary = Blocks().Fill("figures", {{"sent", Amount(comm.bytes(), "B")},
                                          {"memory", Amount(lowered.peak_bytes(), "B")},
                                          {"work", Amount(lowered.flops(), "FLOP")}}) +
                "\n";
      report =
          comm.empty() ? Blocks().Fill("no communication") + "\n" : Totals(comm) + Events(comm);
    } catch (const Error& e) {
      report = Blocks().Fill("not lowered", {{"error", Escaped(e.what())}}) + "\n";
    }
    section = Blocks().Fill("communication", {{"report", report}}) + "\n";
  }

  static std::string Bar(int64_t bytes, int64_t most) {
    char percent[32];
    std::snprintf(
        percent, sizeof percent, "%.1f",
        100 * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(most, 1)));
    return Blocks().Fill("bar", {{"percent", percent}});
  }

  // Returns a table of sums, the largest first. Its keys are HTML.
  static std::string Sums(const std::string& caption, const std::map<std::string, int64_t>& sums) {
    std::vector<std::pair<std::string, int64_t>> sorted(sums.begin(), sums.end());
    std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& sum) { return sum.second; });
    std::string rows;
    for (const auto& [name, bytes] : sorted)
      rows += Blocks().Fill("sum", {{"name", name},
                                    {"bytes", Amount(bytes, "B")},
                                    {"bar", Bar(bytes, sorted[0].second)}}) +
              "\n";
    return Blocks().Fill("sums", {{"caption", caption}, {"rows", rows}}) + "\n";
  }

  std::string Totals(const CommReport& comm) const {
    std::map<std::string, int64_t> by_axes, by_kind;
    for (const CommEvent& e : comm.events()) {
      by_axes[ChipsOf(e)] += e.bytes * e.times;
      by_kind[comm_name(e.kind)] += e.bytes * e.times;
    }
    return Blocks().Fill("totals", {{"axes", Sums("By axes", by_axes)},
                                    {"kinds", Sums("By collective", by_kind)}}) +
           "\n";
  }

  std::string ChipsOf(const CommEvent& e) const {
    std::string out;
    for (const std::string& a : e.axes) {
      const std::string name = a.substr(0, a.rfind(":("));
      out += (out.empty() ? "" : " ") + axes_.Chip(name, a.substr(name.size()));
    }
    return out;
  }

  std::string Events(const CommReport& comm) const {
    const std::vector<CommEvent> lines = comm.lines();
    int64_t most = 0;
    for (const CommEvent& e : lines) most = std::max(most, e.bytes * e.times);
    std::string rows;
    for (const CommEvent& e : lines)
      rows +=
          Blocks().Fill("event",
                        {{"kind", comm_name(e.kind)},
                         {"axes", ChipsOf(e)},
                         {"bytes", Amount(e.bytes, "B")},
                         {"times", std::to_string(e.times) + (e.repeats ? " per iteration" : "")},
                         {"total", Amount(e.bytes * e.times, "B")},
                         {"bar", Bar(e.bytes * e.times, most)},
                         {"line", Escaped(e.where)},
                         {"why", std::string(e.implied ? "implied" : "asked for") +
                                     (e.backward ? ", backward" : "")}}) +
          "\n";
    return Blocks().Fill("events", {{"rows", rows}}) + "\n";
  }

  // Returns a style rule with the widths of columns. Each row is a grid of its own, so columns must
  // have fixed widths, which follow from their contents within limits.
  std::string Widths() const {
    size_t value = 5, type = 4, sharding = 8, line = 4;
    for (const ListedRow& row : listing_.rows) {
      auto e = values_.find(row.value);
      value = std::max(value, 2 * row.depth + row.value.size());
      type = std::max(type, row.type.size());
      line = std::max(line, row.line.size());
      if (e != values_.end()) sharding = std::max(sharding, WithoutMesh(e->second.sharding).size());
    }
    const auto width = [](size_t n, size_t most) { return std::to_string(std::min(n, most) + 1); };
    return Blocks().Fill("widths", {{"value", width(value, 24)},
                                    {"type", width(type, 26)},
                                    {"sharding", width(sharding, 40)},
                                    {"line", width(line, 24)}});
  }

  // Returns `[{"x"}]` for `<@mesh, [{"x"}]>`.
  static std::string WithoutMesh(const std::string& sharding) {
    size_t comma = sharding.find(", ");
    bool named = sharding.rfind("<@", 0) == 0 && comma != std::string::npos;
    return named ? sharding.substr(comma + 2, sharding.size() - comma - 3) : sharding;
  }

  std::string Row(const ListedRow& row) const {
    const auto found = values_.find(row.value);
    const Explanation* e = found == values_.end() ? nullptr : &found->second;
    std::string sharding;
    if (e) sharding = axes_.Coloured(WithoutMesh(e->sharding));
    if (e && e->sharding.empty()) sharding = Blocks().Fill("no axes");
    if (e && e->text.find(" did not get ") != std::string::npos)
      sharding += Blocks().Fill("conflict");
    const std::string cells = Blocks().Fill("cells", {{"indent", std::to_string(2 * row.depth)},
                                                      {"value", Escaped(row.value)},
                                                      {"type", Escaped(row.type)},
                                                      {"sharding", sharding},
                                                      {"op classes", row.made ? "op" : "op quiet"},
                                                      {"op", Escaped(row.op)},
                                                      {"line", Escaped(row.line)}});
    return e ? Blocks().Fill("explained row", {{"cells", cells}, {"lines", Lines(e->text)}})
             : Blocks().Fill("unexplained row", {{"cells", cells}});
  }

  // Returns each line as a block that keeps its indentation when it wraps.
  std::string Lines(const std::string& text) const {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t indent = std::min(line.find_first_not_of(' '), line.size());
      out += Blocks().Fill("line of why", {{"indent", std::to_string(indent + 2)},
                                           {"text", axes_.Coloured(line.substr(indent))}}) +
             "\n";
    }
    return out;
  }

  const Program& program_;
  const propagation::Stage stop_after_;
  const Listing listing_;
  const Axes axes_;
  std::map<std::string, Explanation> values_;
};

}  // namespace

std::string HtmlPage(const Program& program, const std::string& title,
                     propagation::Stage stop_after) {
  return Page(program, stop_after).Run(title);
}

}  // namespace tessera::cli
