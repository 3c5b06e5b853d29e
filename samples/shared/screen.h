// The output of a training run on the terminal: a progress line, and a curve.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace samples {

// A line that is redrawn on a terminal; in a file, a line now and then.
class Progress {
 public:
  Progress(int64_t first, int64_t steps) : done_(first), steps_(steps) {}
  // Shows that `done` of the steps are done, with `text` after the bar.
  void show(int64_t done, const std::string& text);
  void end() const;

 private:
  int64_t done_, steps_;
  size_t width_ = 0;  // of the line on the screen
};

// Returns a plot of the values with this many columns and rows.
std::string curve(const std::vector<float>& values, size_t columns = 64, size_t rows = 10);

}  // namespace samples
