// Finds an op's section in the text of all ops, or the names most like it.
#include "cli/ops.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/ops_text.h"

namespace tessera::cli {
namespace {

struct Section {
  std::string name, text;
};

std::vector<Section> Sections() {
  constexpr std::string_view kBegin = "\n## ";
  const std::string_view all = kOpsText;
  std::vector<Section> sections;
  for (size_t at = all.find(kBegin); at != all.npos;) {
    const size_t name = at + kBegin.size(), next = all.find(kBegin, name);
    const size_t end = all.find('\n', name);
    sections.push_back({std::string(all.substr(name, end - name)),
                        std::string(all.substr(at + 1, next == all.npos ? next : next - at - 1))});
    at = next;
  }
  return sections;
}

// Returns the edit distance: the least number of letters to insert, drop or replace.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

// The first line of the document is a comment about its making.
std::string OpsText() {
  const std::string_view all = kOpsText;
  return std::string(all.substr(all.find("# ")));
}

std::string OpText(const std::string& name) {
  std::vector<Section> sections = Sections();
  for (const Section& s : sections)
    if (s.name == name) return s.text;
  auto distance = [&](const Section& s) {
    return s.name.find(name) != s.name.npos ? 0 : Distance(s.name, name);
  };
  std::ranges::stable_sort(sections, {}, distance);
  std::string near = sections[0].name;
  for (size_t i = 1; i < 3 && distance(sections[i]) <= name.size() / 3; ++i)
    near += ", " + sections[i].name;
  throw std::runtime_error("there is no op '" + name + "'; did you mean " + near + "?");
}

}  // namespace tessera::cli
