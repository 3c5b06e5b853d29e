// Names most like one that does not exist, for messages.
#pragma once
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::base {

// Returns the edit distance: the least number of letters to insert, drop or replace.
inline std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// Returns the names most like `name`, the closest first: at least one, if there are any, and at
// most `most`. A name that contains it is as close as can be.
inline std::vector<std::string> NearNames(std::vector<std::string> names, std::string_view name,
                                          std::size_t most = 3) {
  const auto distance = [&](const std::string& n) {
    return n.find(name) != n.npos ? 0 : EditDistance(n, name);
  };
  std::ranges::stable_sort(names, {}, distance);
  std::size_t count = std::min<std::size_t>(names.size(), 1);
  while (count < std::min(names.size(), most) && distance(names[count]) <= name.size() / 3) ++count;
  names.resize(count);
  return names;
}

}  // namespace tessera::base
