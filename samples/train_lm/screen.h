// The output of a run on the terminal: a progress line, a curve, and the peak of this machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace train_lm {

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

// Returns the f32 FLOPs per second of all cores in a loop of multiply-adds only.
double measured_fma_peak();

}  // namespace train_lm
