// Writes the columns and records of the page's data.
#include "cli/page_data.h"

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "cli/json.h"

namespace tessera::cli {
namespace {

using ByValue = std::unordered_map<std::string, const Explanation*>;

ByValue IndexOf(const std::vector<Explanation>& explanations) {
  ByValue by_value;
  for (const Explanation& e : explanations) by_value.emplace(e.value, &e);
  return by_value;
}

// Returns the name that explanations have for a row's value; "" if it is the number. Program text
// has no names of arguments.
std::string NameOf(const ListedRow& row, const Explanation* e) {
  if (!e) return row.name;
  const std::string name = e->text.substr(0, std::min(e->text.find(": <"), e->text.find(": ")));
  return name == row.value ? "" : name;
}

class DataWriter {
 public:
  std::string Run(const Listing& listing, const std::vector<Explanation>& explanations,
                  const std::optional<Costs>& costs) {
    const std::string mesh = Mesh(listing);
    const std::string rows = Rows(listing, IndexOf(explanations));
    const std::string comm = costs ? Comm(costs->comm) : "null";
    const std::string memory = costs ? Memory(costs->memory, costs->advice) : "null";
    return "{\"texts\":" + texts_.Json() + ",\n\"mesh\":" + mesh + ",\n\"rows\":" + rows +
           ",\n\"comm\":" + comm + ",\n\"memory\":" + memory + "}";
  }

 private:
  int64_t Text(const std::string& text) { return texts_.IndexOf(text); }

  static std::string Mesh(const Listing& listing) {
    JsonArray mesh;
    for (const ListedAxis& a : listing.axes)
      mesh.Add(JsonArray().Add(JsonText(a.name)).Add(a.size).Add(a.is_auto ? 1 : 0).Json());
    return mesh.Json();
  }

  std::string Rows(const Listing& listing, const ByValue& explanations) {
    JsonArray depth, value, name, type, sharding, op, rest, line, scope, backward;
    for (const ListedRow& row : listing.rows) {
      const auto found = explanations.find(row.value);
      const Explanation* e = found == explanations.end() ? nullptr : found->second;
      depth.Add(static_cast<int64_t>(row.depth));
      // The number without its `%`; -1 if there is no value.
      value.Add(row.value.empty() ? "-1" : row.value.substr(1));
      name.Add(Text(NameOf(row, e)));
      type.Add(Text(row.type));
      sharding.Add(Text(e ? e->sharding : ""));
      op.Add(Text(row.op));
      rest.Add(Text(row.rest));
      line.Add(Text(row.line));
      scope.Add(Text(row.scope));
      backward.Add(row.backward ? 1 : 0);
    }
    return "{\"depth\":" + depth.Json() + ",\n\"value\":" + value.Json() +
           ",\n\"name\":" + name.Json() + ",\n\"type\":" + type.Json() +
           ",\n\"sharding\":" + sharding.Json() + ",\n\"op\":" + op.Json() +
           ",\n\"rest\":" + rest.Json() + ",\n\"line\":" + line.Json() +
           ",\n\"scope\":" + scope.Json() + ",\n\"backward\":" + backward.Json() + "}";
  }

  std::string Comm(const CommReport& report) {
    JsonArray events;
    for (const CommEvent& e : report.events()) {
      JsonArray axes;
      for (const std::string& a : e.axes) axes.Add(Text(a));
      events.Add(JsonArray()
                     .Add(Text(comm_name(e.kind)))
                     .Add(axes.Json())
                     .Add(e.bytes)
                     .Add(e.times)
                     .Add((e.backward ? 1 : 0) | (e.implied ? 2 : 0) | (e.repeats ? 4 : 0))
                     .Add(Text(e.where))
                     .Add(Text(e.scope))
                     .Add(Text(e.made_by))
                     .Add(Text(e.made_at))
                     .Add(Text(e.read_by))
                     .Add(Text(e.read_at))
                     .Add(Text(e.change))
                     .Json());
    }
    return events.Json();
  }

  std::string Memory(const MemoryReport& report, const MemoryAdvice& advice) {
    JsonArray kinds, steps, buffers, changes;
    for (const MemoryKind kind : kMemoryKinds) kinds.Add(JsonText(memory_name(kind)));
    for (const MemoryStep& s : report.steps())
      steps.Add(JsonArray().Add(Text(s.op)).Add(Text(s.where)).Add(int64_t{s.backward}).Json());
    for (const MemoryBuffer& b : report.buffers())
      buffers.Add(JsonArray()
                      .Add(static_cast<int64_t>(b.kind))
                      .Add(b.bytes)
                      .Add(b.begin)
                      .Add(b.end)
                      .Add(Text(b.op))
                      .Add(Text(b.type))
                      .Add(Text(b.where))
                      .Add(Text(b.scope))
                      .Add(int64_t{b.backward})
                      .Json());
    for (const MemoryChange& c : advice.changes)
      changes.Add(JsonArray()
                      .Add(Text(c.text))
                      .Add(Text(c.where))
                      .Add(c.peak_bytes)
                      .Add(c.more_bytes)
                      .Add(c.more_flops)
                      .Json());
    return "{\"kinds\":" + kinds.Json() + ",\n\"steps\":" + steps.Json() +
           ",\n\"buffers\":" + buffers.Json() + ",\n\"changes\":" + changes.Json() + "}";
  }

  TextTable texts_;
};

}  // namespace

std::string PageData(const Listing& listing, const std::vector<Explanation>& explanations,
                     const std::optional<Costs>& costs) {
  return DataWriter().Run(listing, explanations, costs);
}

std::string ExplanationData(const Listing& listing, const std::vector<Explanation>& explanations) {
  const ByValue by_value = IndexOf(explanations);
  TextTable lines;
  JsonArray data;
  for (const ListedRow& row : listing.rows) {
    const auto e = by_value.find(row.value);
    JsonArray indices;
    std::istringstream text(e == by_value.end() ? "" : e->second->text);
    std::string line;
    std::getline(text, line);  // the value and its sharding
    while (std::getline(text, line)) indices.Add(lines.IndexOf(line));
    data.Add(indices.Json());
  }
  return "{\"lines\":" + lines.Json() + ",\n\"rows\":" + data.Json() + "}";
}

}  // namespace tessera::cli
