// Finds the values of a line.
#include "cli/explain_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "cli/listing.h"

namespace tessera::cli {
namespace {

// Returns "model.py:12" of `model.py:12 "%3"`, the comment of an instruction.
std::string LineOf(const ListedRow& row) { return row.line.substr(0, row.line.find(' ')); }

// Returns the number after the last colon.
int64_t NumberOf(const std::string& line) {
  return std::strtoll(line.c_str() + line.rfind(':') + 1, nullptr, 10);
}

[[noreturn]] void FailUnknown(const std::vector<ListedRow>& rows, const std::string& line) {
  const std::string file = line.substr(0, line.rfind(':') + 1);
  std::set<int64_t> known;
  for (const ListedRow& row : rows)
    if (const std::string other = LineOf(row); other.starts_with(file))
      known.insert(NumberOf(other));
  std::string near;
  const auto after = known.lower_bound(NumberOf(line));
  if (after != known.begin()) near = fmt::format("{}{}", file, *std::prev(after));
  if (after != known.end()) near += fmt::format("{}{}{}", near.empty() ? "" : " or ", file, *after);
  throw RuntimeError({.kind = "RuntimeError",
                      .op = "explain",
                      .label = "explain.C3",
                      .where = {},
                      .reason = fmt::format("no value is made at {}{}", line,
                                            near.empty() ? "" : "; did you mean " + near + "?"),
                      .operands = {},
                      .notes = {},
                      .fixes = {}});
}

}  // namespace

bool IsLine(const std::string& text) {
  const size_t colon = text.rfind(':');
  return colon != text.npos && colon > 0 && colon + 1 < text.size() &&
         text.find_first_not_of("0123456789", colon + 1) == text.npos;
}

std::string ExplainLine(const Program& program, const std::string& line,
                        propagation::Stage stop_after) {
  const std::vector<ListedRow> rows = ReadListing(program.text()).rows;
  std::map<std::string, const ListedRow*> of_line;
  for (const ListedRow& row : rows)
    if (!row.value.empty() && LineOf(row) == line) of_line.emplace(row.value, &row);
  if (of_line.empty()) FailUnknown(rows, line);
  std::string out;
  for (const Explanation& e : explain_all(program, stop_after)) {
    const auto row = of_line.find(e.value);
    if (row == of_line.end()) continue;
    // The operands have their numbers in the listing, as values without a name do.
    const std::string name = e.text.substr(0, e.text.find(": "));
    const std::string op = row->second->op + (name == e.value ? ' ' + row->second->rest : "");
    out += fmt::format("{}# {}: {} = {}\n{}", out.empty() ? "" : "\n", name, row->second->type,
                       op.substr(0, op.find(" {")), e.text);
  }
  return out;
}

}  // namespace tessera::cli
