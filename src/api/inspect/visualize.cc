// Draws shardings and meshes for the terminal.
#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "compile/host/concrete.h"
#include "compile/host/host_array.h"
#include "ops/manual.h"
#include "sharding/local.h"
#include "tessera/debug.h"

namespace tessera {

using namespace api;

namespace {

// A table of cells of one size, with borders.
struct Grid {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::vector<int>> colors;  // the colour index of each cell
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

std::string DrawGrid(const Grid& grid, const VisualizeOptions& options) {
  bool color = options.color.value_or(TerminalHasColor());
  size_t columns = grid.cells.empty() ? 0 : grid.cells[0].size(), width = 1;
  for (const auto& row : grid.cells)
    for (const std::string& cell : row) width = std::max(width, cell.size());
  size_t room = columns ? (base::Size(std::max(options.width, 8)) - 1) / columns : 8;
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

// Returns a sorted list of devices with runs shortened, such as "0-2,5".
std::string DeviceList(std::vector<int64_t> devices) {
  absl::c_sort(devices);
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

// Returns a type that has the full sharding of the array. If the array's own type has Auto axes or
// no mesh, this is the type of its buffers on devices.
const ir::Type& PlacedType(const Array& x, Call call) {
  const ir::Type* type = trace::Use(x, call.name, call.loc)->type();
  const bool says_all = type->mesh() && !type->mesh()->has_mode(AxisMode::Auto);
  return says_all ? *type : *OnDevices(x, call).placed();
}

// Which devices hold which blocks of the last two dims, for one part of the other dims and one
// group of devices with the same value of a varying array.
struct Picture {
  std::string title;
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> holders;  // by the start of a block
};

std::string TitleOf(const ir::Type& type, const std::vector<IndexRange>& ranges, int64_t position) {
  std::string title;
  for (sharding::AxisPart a : type.sharding().varying)
    title += fmt::format("{}{}={}", title.empty() ? "" : ", ", ops::NamesOf(type.mesh(), {a})[0],
                         sharding::ShardIndex(*type.mesh(), {a}, position));
  std::string part;
  bool is_cut = false;
  for (size_t d = 0; d + 2 < ranges.size(); ++d) {
    is_cut = is_cut || !type.sharding().dims[d].axes.empty();
    part += fmt::format("{}:{}, ", ranges[d].begin, ranges[d].end);
  }
  if (is_cut) title += fmt::format("{}[{}:, :]", title.empty() ? "" : " ", part);
  return title;
}

// Returns the pictures ordered by the position along the varying axes, then by the part.
std::vector<Picture> PicturesOf(const ir::Type& type) {
  std::map<std::vector<int64_t>, Picture> pictures;
  const sharding::MeshDef* mesh = type.mesh();
  for (int64_t p = 0; p < (mesh ? mesh->size() : 1); ++p) {
    const std::vector<IndexRange> ranges = compile::RangesOf(type, p);
    const size_t rank = ranges.size();
    std::vector<int64_t> key;
    if (mesh) key.push_back(sharding::ShardIndex(*mesh, type.sharding().varying, p));
    for (size_t d = 0; d + 2 < rank; ++d) key.push_back(ranges[d].begin);
    Picture& picture = pictures[key];
    picture.title = TitleOf(type, ranges, p);
    picture.holders[{rank > 1 ? ranges[rank - 2].begin : 0, rank > 0 ? ranges[rank - 1].begin : 0}]
        .push_back(mesh ? mesh->Device(p) : 0);
  }
  std::vector<Picture> out;
  for (auto& [key, picture] : pictures) out.push_back(std::move(picture));
  return out;
}

Grid GridOf(const Picture& picture) {
  Grid grid;
  int64_t row = -1;
  int color = 0;
  for (const auto& [at, devices] : picture.holders) {
    if (at.first != row) {
      grid.cells.emplace_back();
      grid.colors.emplace_back();
      row = at.first;
    }
    grid.cells.back().push_back(DeviceList(devices));
    grid.colors.back().push_back(color++);
  }
  return grid;
}

}  // namespace

std::string visualize_sharding(const Array& x, VisualizeOptions options, Loc loc) {
  const ir::Type& placed = PlacedType(x, {"visualize_sharding", loc});
  std::string out = type_of(x, loc).text() + "\n";
  for (const Picture& picture : PicturesOf(placed)) {
    if (!picture.title.empty()) out += picture.title + "\n";
    out += DrawGrid(GridOf(picture), options);
  }
  return out;
}

std::string visualize_mesh(Mesh mesh, VisualizeOptions options) {
  std::vector<MeshAxis> axes = mesh.axes();
  if (axes.empty()) return "empty mesh\n";
  // The first axis runs down, and all other axes run across.
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
  return title + "\n" + DrawGrid(grid, options);
}

}  // namespace tessera
