// Writes the page: the mesh, the collectives with their bytes, and every value with the reason for
// its sharding.
#include "cli/html.h"

#include <tessera/explain.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <vector>

#include "cli/listing.h"
#include "cli/stages.h"
#include "cli/style.h"

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

std::string Tagged(const std::string& tag, const std::string& classes, const std::string& inner) {
  return "<" + tag + " class=\"" + classes + "\">" + inner + "</" + tag + ">";
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
    size_t colour = static_cast<size_t>(it - axes_.begin()) % kColours;
    return Tagged("span", "axis c" + std::to_string(colour), Escaped(name + more));
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

  std::string Run(const std::string& title) {
    out_ =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
        Escaped(title) + "</title>\n<style>" + kStyle + Widths() +
        "</style>\n</head>\n<body>\n<header>\n<h1>" + Escaped(title) + "</h1>\n";
    Mesh();
    // Only a fully propagated program can be lowered.
    std::string report;
    if (stop_after_ == propagation::Stage::kUserPriority)
      report = Communication();
    else
      out_ += "<p>The shardings are those after the strategy " +
              std::string(StageName(stop_after_)) +
              ". Programs run with those after all strategies: for the communication, leave "
              "--stop-after out.</p>\n";
    out_ += "</header>\n" + report;
    Values();
    return out_ + "</body>\n</html>\n";
  }

 private:
  void Mesh() {
    if (listing_.axes.empty()) return;
    out_ += "<p class=\"mesh\">Mesh";
    for (const ListedAxis& a : listing_.axes)
      out_ += " " + axes_.Chip(a.name, "=" + a.size) + (a.is_auto ? "" : " Explicit");
    out_ += "</p>\n";
  }

  void Figure(const std::string& name, const std::string& value) {
    out_ += "<div class=\"figure\"><b>" + value + "</b><span>" + name + "</span></div>\n";
  }

  // Writes the totals of the whole program; returns the section about communication.
  std::string Communication() {
    try {
      Lowered lowered = lower(program_, Loc::Unknown());
      CommReport comm = lowered.comm();
      out_ += "<div class=\"figures\">\n";
      Figure("sent by each device", Amount(comm.bytes(), "B"));
      Figure("peak memory of each device", Amount(lowered.peak_bytes(), "B"));
      Figure("work of each device", Amount(lowered.flops(), "FLOP"));
      out_ += "</div>\n";
      return "<section>\n<h2>Communication</h2>\n" +
             (comm.empty() ? "<p>Nothing is sent.</p>\n" : Totals(comm) + Events(comm)) +
             "</section>\n";
    } catch (const Error& e) {
      return "<section>\n<h2>Communication</h2>\n<p>The program cannot be lowered:</p>\n<pre>" +
             Escaped(e.what()) + "</pre>\n</section>\n";
    }
  }

  static std::string Bar(int64_t bytes, int64_t most) {
    char width[32];
    std::snprintf(
        width, sizeof width, "%.1f%%",
        100 * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(most, 1)));
    return "<span class=\"track\"><span class=\"bar\" style=\"width:" + std::string(width) +
           "\"></span></span>";
  }

  // Returns a table of sums, the largest first. Its keys are HTML.
  static std::string Sums(const std::string& title, const std::map<std::string, int64_t>& sums) {
    std::vector<std::pair<std::string, int64_t>> rows(sums.begin(), sums.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string out = "<table class=\"sums\">\n<caption>" + title + "</caption>\n";
    for (const auto& [name, bytes] : rows)
      out += "<tr><th>" + name + "</th><td class=\"n\">" + Amount(bytes, "B") + "</td><td>" +
             Bar(bytes, rows[0].second) + "</td></tr>\n";
    return out + "</table>\n";
  }

  std::string Totals(const CommReport& comm) const {
    std::map<std::string, int64_t> by_axes, by_kind;
    for (const CommEvent& e : comm.events()) {
      by_axes[ChipsOf(e)] += e.bytes * e.times;
      by_kind[comm_name(e.kind)] += e.bytes * e.times;
    }
    return "<div class=\"totals\">\n" + Sums("By axes", by_axes) + Sums("By collective", by_kind) +
           "</div>\n";
  }

  std::string ChipsOf(const CommEvent& e) const {
    std::string out;
    for (const std::string& a : e.axes) out += (out.empty() ? "" : " ") + axes_.Chip(a);
    return out;
  }

  std::string Events(const CommReport& comm) const {
    const std::vector<CommEvent> lines = comm.lines();
    int64_t most = 0;
    for (const CommEvent& e : lines) most = std::max(most, e.bytes * e.times);
    std::string out =
        "<div class=\"scroll\"><table class=\"events\">\n<thead><tr><th>Collective</th>"
        "<th>Axes</th><th class=\"n\">Bytes</th><th class=\"n\">Times</th>"
        "<th class=\"n\">Total</th><th></th><th>Line</th><th>Why</th></tr></thead>\n<tbody>\n";
    for (const CommEvent& e : lines)
      out += "<tr><td>" + std::string(comm_name(e.kind)) + "</td><td>" + ChipsOf(e) +
             "</td><td class=\"n\">" + Amount(e.bytes, "B") + "</td><td class=\"n\">" +
             std::to_string(e.times) + (e.repeats ? " per iteration" : "") +
             "</td><td class=\"n\">" + Amount(e.bytes * e.times, "B") + "</td><td class=\"wide\">" +
             Bar(e.bytes * e.times, most) + "</td><td>" + Escaped(e.where) + "</td><td>" +
             (e.implied ? "implied" : "asked for") + (e.backward ? ", backward" : "") +
             "</td></tr>\n";
    return out + "</tbody></table></div>\n";
  }

  // Returns style rules with the widths of columns. Each row is a grid of its own, so columns must
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
    auto width = [](const char* name, size_t n, size_t most) {
      return std::string(name) + ":" + std::to_string(std::min(n, most) + 1) + "ch;";
    };
    return ":root{" + width("--value", value, 24) + width("--type", type, 26) +
           width("--sharding", sharding, 40) + width("--line", line, 24) + "}\n";
  }

  // Returns `[{"x"}]` for `<@mesh, [{"x"}]>`.
  static std::string WithoutMesh(const std::string& sharding) {
    size_t comma = sharding.find(", ");
    bool named = sharding.rfind("<@", 0) == 0 && comma != std::string::npos;
    return named ? sharding.substr(comma + 2, sharding.size() - comma - 3) : sharding;
  }

  void Values() {
    out_ +=
        "<section>\n<h2>Values</h2>\n<p>Open a value to see why it is laid out this way.</p>\n"
        "<div class=\"values\">\n<div class=\"row head\"><span>Value</span><span>Type</span>"
        "<span>Sharding</span><span>Operation</span><span>Line</span></div>\n";
    for (const ListedRow& row : listing_.rows) Row(row);
    out_ += "</div>\n</section>\n";
  }

  void Row(const ListedRow& row) {
    auto found = values_.find(row.value);
    const Explanation* e = found == values_.end() ? nullptr : &found->second;
    std::string indent = " style=\"padding-left:" + std::to_string(2 * row.depth) + "ch\"",
                sharding;
    if (e) sharding = axes_.Coloured(WithoutMesh(e->sharding));
    if (e && e->sharding.empty()) sharding = Tagged("span", "quiet", "whole");
    bool lost = e && e->text.find(" did not get ") != std::string::npos;
    std::string cells = "<span class=\"value\"" + indent + ">" + Escaped(row.value) + "</span>" +
                        Tagged("span", "type", Escaped(row.type)) +
                        Tagged("span", "sharding",
                               sharding + (lost ? " " + Tagged("span", "lost", "conflict") : "")) +
                        Tagged("span", row.made ? "op" : "op quiet", Escaped(row.op)) +
                        Tagged("span", "line", Escaped(row.line));
    if (!e)
      out_ += Tagged("div", "row", cells) + "\n";
    else
      out_ += "<details><summary class=\"row\">" + cells + "</summary>\n<div class=\"why\">\n" +
              Lines(e->text) + "</div></details>\n";
  }

  // Returns each line as a block that keeps its indentation when it wraps.
  std::string Lines(const std::string& text) const {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      size_t indent = std::min(line.find_first_not_of(' '), line.size());
      out += "<div style=\"padding-left:" + std::to_string(indent + 2) + "ch\">" +
             axes_.Coloured(line.substr(indent)) + "</div>\n";
    }
    return out;
  }

  const Program& program_;
  const propagation::Stage stop_after_;
  const Listing listing_;
  const Axes axes_;
  std::string out_;
  std::map<std::string, Explanation> values_;
};

}  // namespace

std::string HtmlPage(const Program& program, const std::string& title,
                     propagation::Stage stop_after) {
  return Page(program, stop_after).Run(title);
}

}  // namespace tessera::cli
