// Pictures of shardings and meshes for the terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "api/operands.h"
#include "base/at.h"
#include "compile/concrete.h"
#include "tessera/debug.h"

namespace tessera {
namespace {

// A table of cells with a border; equal heights and widths.
struct Grid {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::vector<int>> colors;  // index of a colour per cell
};

std::string Paint(const std::string& text, int color) {
  constexpr int kColors[] = {41, 42, 44, 45, 46, 43, 101, 102, 104, 105, 106, 103};
  return fmt::format("\x1b[30;{}m{}\x1b[0m",
                     kColors[static_cast<size_t>(color) % std::size(kColors)], text);
}

bool TerminalHasColor() {
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && term && std::string(term) != "dumb" && !std::getenv("NO_COLOR");
}

std::string Draw(const Grid& grid, const VisualizeOptions& options) {
  bool color = options.color.value_or(TerminalHasColor());
  size_t columns = grid.cells.empty() ? 0 : grid.cells[0].size(), width = 1;
  for (const auto& row : grid.cells)
    for (const std::string& cell : row) width = std::max(width, cell.size());
  size_t room = columns ? (static_cast<size_t>(std::max(options.width, 8)) - 1) / columns : 8;
  width = std::min(std::max(width + 2, size_t{6}), std::max(room, size_t{4}) - 1);
  std::string line = "+";
  for (size_t c = 0; c < columns; ++c) line += std::string(width, '-') + "+";
  std::string out = line + "\n";
  for (size_t r = 0; r < grid.cells.size(); ++r) {
    out += "|";
    for (size_t c = 0; c < columns; ++c) {
      std::string cell = grid.cells[r][c];
      if (cell.size() > width) cell = cell.substr(0, width - 1) + "~";
      std::string text = fmt::format("{:^{}}", cell, width);
      out += (color ? Paint(text, grid.colors[r][c]) : text) + "|";
    }
    out += "\n" + line + "\n";
  }
  return out;
}

// "0,1,2,5" as "0-2,5".
std::string DeviceList(std::vector<int64_t> devices) {
  std::sort(devices.begin(), devices.end());
  std::string out;
  for (size_t i = 0; i < devices.size();) {
    size_t j = i;
    while (j + 1 < devices.size() && devices[j + 1] == devices[j] + 1) ++j;
    if (!out.empty()) out += ",";
    out += j > i + 1 ? fmt::format("{}-{}", devices[i], devices[j])
           : j > i   ? fmt::format("{},{}", devices[i], devices[j])
                     : fmt::format("{}", devices[i]);
    i = j + 1;
  }
  return out;
}

}  // namespace

std::string visualize_sharding(const Array& x, VisualizeOptions options, Loc loc) {
  api::Call call{"visualize_sharding", loc};
  const ir::Shape& shape = api::OnDevices(x, call).type()->shape();
  if (shape.empty() || shape.size() > 2)
    api::FailShape(call, 17,
                   fmt::format("it draws arrays of rank 1 or 2, not {}", type_of(x, loc).text()));
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> holders;
  for (const Shard& s : api::ShardsOf(x, call)) {
    const auto& index = s.index();
    std::pair<int64_t, int64_t> at = shape.size() == 1 ? std::pair(int64_t{0}, index[0].begin)
                                                       : std::pair(index[0].begin, index[1].begin);
    holders[at].push_back(s.device());
  }
  Grid grid;
  int64_t row = -1;
  int color = 0;
  for (const auto& [at, devices] : holders) {
    if (at.first != row) {
      grid.cells.emplace_back();
      grid.colors.emplace_back();
      row = at.first;
    }
    grid.cells.back().push_back(DeviceList(devices));
    grid.colors.back().push_back(color++);
  }
  return type_of(x, loc).text() + "\n" + Draw(grid, options);
}

std::string visualize_mesh(Mesh mesh, VisualizeOptions options) {
  std::vector<MeshAxis> axes = mesh.axes();
  if (axes.empty()) return "empty mesh\n";
  // The first axis goes down, all others across.
  int64_t rows = axes.size() == 1 ? 1 : axes[0].size, columns = mesh.size() / rows;
  std::vector<int64_t> ids = mesh.device_ids();
  Grid grid;
  for (int64_t r = 0; r < rows; ++r) {
    grid.cells.emplace_back();
    grid.colors.emplace_back();
    for (int64_t c = 0; c < columns; ++c) {
      grid.cells.back().push_back(std::to_string(base::At(ids, r * columns + c)));
      grid.colors.back().push_back(static_cast<int>(r));
    }
  }
  std::string across;
  for (size_t a = axes.size() == 1 ? 0 : 1; a < axes.size(); ++a)
    across += fmt::format("{}{}={}", across.empty() ? "" : " x ", axes[a].name, axes[a].size);
  std::string title =
      axes.size() == 1 ? "across: " + across
                       : fmt::format("down: {}={}, across: {}", axes[0].name, axes[0].size, across);
  return title + "\n" + Draw(grid, options);
}

}  // namespace tessera
