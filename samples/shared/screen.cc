// A progress bar, and a curve drawn in characters.
#include "screen.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace samples {

void Progress::show(int64_t done, const std::string& text) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const int64_t tenth = std::max<int64_t>(1, steps_ / 10);
  if (!terminal && done / tenth == done_ / tenth && done != steps_) return;
  done_ = done;
  const auto full = static_cast<size_t>(20 * done / std::max<int64_t>(1, steps_));
  std::string line =
      fmt::format("{:>5}/{} [{:-<20}] {}", done, steps_, std::string(full, '#'), text);
  const size_t width = line.size();
  if (terminal) line = "\r" + line + std::string(width_ > width ? width_ - width : 0, ' ');
  width_ = width;
  fmt::print("{}{}", line, terminal ? "" : "\n");
  std::fflush(stdout);
}

void Progress::end() const {
  if (isatty(STDOUT_FILENO) != 0) fmt::print("\n");
}

std::string curve(const std::vector<float>& values, size_t columns, size_t rows) {
  columns = std::min(columns, values.size());
  if (columns == 0) return "";
  std::vector<float> means(columns);
  for (size_t c = 0; c < columns; ++c) {
    const auto begin = values.begin() + static_cast<int64_t>(c * values.size() / columns),
               end = values.begin() + static_cast<int64_t>((c + 1) * values.size() / columns);
    means[c] = std::accumulate(begin, end, 0.0f) / static_cast<float>(end - begin);
  }
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  const float step = std::max(*high - *low, 1e-6f) / static_cast<float>(rows - 1);
  std::string picture;
  for (size_t r = rows; r-- > 0;) {
    const float level = *low + step * static_cast<float>(r);
    picture += fmt::format("{:7.3f} |", level);
    for (float mean : means)
      picture += static_cast<size_t>((mean - *low) / step + 0.5f) == r ? '*' : ' ';
    picture.erase(picture.find_last_not_of(' ') + 1);
    picture += '\n';
  }
  return picture + fmt::format("{:>8}+{:-<{}}\n", "", "", columns) +
         fmt::format("{:>9}{:<{}}{}\n", "", 1, columns - std::to_string(values.size()).size(),
                     values.size());
}

}  // namespace samples
