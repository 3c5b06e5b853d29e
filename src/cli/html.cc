// Fills in the page's template: the main facts as HTML, and all data as JSON for the page's script.
#include "cli/html.h"

#include <tessera/explain.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "cli/listing.h"
#include "cli/page_data.h"
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

using Sums = std::map<std::string, int64_t>;  // bytes by name, which is HTML

class Page {
 public:
  Page(const Program& program, propagation::Stage stop_after, bool advises)
      : stop_after_(stop_after),
        listing_(ReadListing(program.text())),
        explanations_(explain_all(program, stop_after)) {
    // Only a fully propagated program can be lowered.
    if (stop_after_ != propagation::Stage::kUserPriority) return;
    try {
      const Lowered lowered = lower(program, Loc::Unknown());
      costs_ = Costs{lowered.comm(), lowered.memory(), {}};
      if (advises) costs_->advice = advise_memory(lowered);
    } catch (const Error& e) {
      refusal_ = e.what();
    }
  }

  std::string Run(const std::string& title) const {
    return Blocks().Fill("page", {{"title", Escaped(title)},
                                  {"style", kPageStyle},
                                  {"mesh", Mesh()},
                                  {"facts", Facts()},
                                  {"plain", costs_ ? Communication() + Memory() : ""},
                                  {"data", PageData(listing_, explanations_, costs_)},
                                  {"explanations", ExplanationData(listing_, explanations_)},
                                  {"script", kPageScript}}) +
           "\n";
  }

 private:
  // Returns the axis in its colour. Further axes start again with the first one.
  std::string Chip(const std::string& name, const std::string& more) const {
    constexpr size_t kColours = 8;  // in the page's style sheet
    const auto it = std::ranges::find(listing_.axes, name, &ListedAxis::name);
    const auto colour = static_cast<size_t>(it - listing_.axes.begin()) % kColours;
    return Blocks().Fill(
        "axis",
        {{"colour", std::to_string(colour)}, {"name", Escaped(name)}, {"more", Escaped(more)}});
  }
  std::string Mesh() const {
    if (listing_.axes.empty()) return "";
    std::string axes;
    for (const ListedAxis& a : listing_.axes)
      axes += " " + Chip(a.name, " " + a.size + (a.is_auto ? "" : " Explicit"));
    return Blocks().Fill("mesh", {{"axes", axes}}) + "\n";
  }

  std::string Facts() const {
    if (!refusal_.empty()) return Blocks().Fill("not lowered", {{"error", Escaped(refusal_)}});
    if (!costs_) return Blocks().Fill("stopped", {{"strategy", StageName(stop_after_)}});
    const int64_t flops = costs_->comm.flops();
    char split[32] = "";
    if (costs_->comm.split_flops() > 0)
      std::snprintf(split, sizeof split, "%.2f",
                    static_cast<double>(flops) / static_cast<double>(costs_->comm.split_flops()));
    return Blocks().Fill("figures",
                         {{"sent", Amount(costs_->comm.bytes(), "B")},
                          {"memory", Amount(costs_->memory.peak_bytes(), "B")},
                          {"work", Amount(flops, "FLOP")},
                          {"split", *split ? Blocks().Fill("split", {{"times", split}}) : ""}});
  }

  // Returns a table of bytes, the largest first, and without those beyond the first twenty.
  static std::string Table(const std::string& caption, const Sums& sums) {
    constexpr size_t kMost = 20;
    std::vector<std::pair<std::string, int64_t>> sorted(sums.begin(), sums.end());
    std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& sum) { return sum.second; });
    if (sorted.size() > kMost) sorted.resize(kMost);
    std::string rows;
    for (const auto& [name, bytes] : sorted)
      rows += Blocks().Fill("sum", {{"name", name}, {"bytes", Amount(bytes, "B")}}) + "\n";
    return Blocks().Fill("sums", {{"caption", caption}, {"rows", rows}}) + "\n";
  }

  std::string Communication() const {
    if (costs_->comm.empty()) return Blocks().Fill("no communication") + "\n";
    Sums by_axes, by_kind, by_line;
    for (const CommEvent& e : costs_->comm.events()) {
      std::string chips;
      for (const std::string& a : e.axes) {
        const std::string name = a.substr(0, a.rfind(":("));
        chips += (chips.empty() ? "" : " ") + Chip(name, a.substr(name.size()));
      }
      by_axes[chips] += e.bytes * e.times;
      by_kind[comm_name(e.kind)] += e.bytes * e.times;
      by_line[Escaped(e.where)] += e.bytes * e.times;
    }
    return Table("Bytes that each device sends, by axes", by_axes) +
           Table("By collective", by_kind) + Table("By line", by_line);
  }
  std::string Memory() const {
    Sums by_kind;
    const int64_t peak = costs_->memory.peak_step();
    for (const MemoryBuffer& b : costs_->memory.buffers())
      if (b.begin <= peak && peak < b.end) by_kind[memory_name(b.kind)] += b.bytes;
    return Table("Bytes that each device holds at the peak", by_kind) + Advice();
  }
  std::string Advice() const {
    if (costs_->advice.changes.empty()) return "";
    return Blocks().Fill("advice", {{"text", Escaped(costs_->advice.text())}}) + "\n";
  }

  const propagation::Stage stop_after_;
  const Listing listing_;
  const std::vector<Explanation> explanations_;
  std::optional<Costs> costs_;
  std::string refusal_;  // why the program cannot be lowered
};

}  // namespace

std::string HtmlPage(const Program& program, const std::string& title,
                     propagation::Stage stop_after, bool advises) {
  return Page(program, stop_after, advises).Run(title);
}

}  // namespace tessera::cli
