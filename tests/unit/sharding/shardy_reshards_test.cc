// Compares our plans with the collectives that Shardy takes on its own reshard tests
// (shardy_reshards.txt): ours arrive with no more bytes.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "testing.h"

namespace tessera::sharding {
namespace {

using testing::CompactMesh;
using testing::Dims;
using testing::Split;

struct ReshardRow {
  const MeshDef *mesh, *to_mesh;
  Shape shape;
  std::string from, to, steps;
};

std::vector<ReshardRow> Rows() {
  std::ifstream file(TESSERA_SOURCE_DIR "/tests/unit/sharding/shardy_reshards.txt");
  std::vector<ReshardRow> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> parts = Split(line, " | "), meshes = Split(parts[0], " ");
    ReshardRow row{
        CompactMesh(meshes[0]), CompactMesh(meshes[1]), {}, parts[2], parts[3], parts[4]};
    for (const std::string& n : Split(parts[1], "x")) row.shape.push_back(std::stoll(n));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Takes Shardy's steps one by one, and adds up the bytes that leave a device.
class Replay {
 public:
  explicit Replay(const ReshardRow& row) : row_(row), at_(Dims(row.mesh, row.from)) {
    for (const std::string& step : Split(row.steps, " ; ")) {
      even_ = even_ && FirstUnevenDim(at_, row.shape) < 0;
      Take(step);
    }
    even_ = even_ && FirstUnevenDim(at_, row.shape) < 0;
  }
  const TensorSharding& at() const { return at_; }
  // Whether every step divides. Otherwise the count is not the bytes of its padded blocks.
  bool even() const { return even_; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t Local() const { return LocalElements(row_.shape, at_) * 4; }

  void Take(const std::string& step) {
    int64_t before = Local();
    std::string list = step.substr(1);
    if (step[0] == 'A') return AllToAll(list, before);
    TensorSharding axes = Dims(row_.mesh, list.substr(1, list.size() - 2));
    if (step[0] == 'P') {
      at_ = axes;
      at_.mesh = row_.to_mesh;
      bytes_ += before;
      return;
    }
    for (size_t d = 0; d < at_.dims.size(); ++d) {
      AxisList& mine = at_.dims[d].axes;
      if (step[0] == 'G') mine = Difference(mine, axes.dims[d].axes);
      if (step[0] == 'S')
        for (AxisPart a : axes.dims[d].axes) AppendMerged(mine, a);
    }
    if (step[0] == 'G') bytes_ += Local() - before;
  }

  // " {x,y} 0>2"
  void AllToAll(const std::string& text, int64_t before) {
    size_t close = text.find('}');
    AxisList axes = Dims(row_.mesh, text.substr(1, close)).dims[0].axes;
    auto from = static_cast<size_t>(text[close + 2] - '0'),
         to = static_cast<size_t>(text[close + 4] - '0');
    at_.dims[from].axes = Difference(at_.dims[from].axes, axes);
    for (AxisPart a : axes) AppendMerged(at_.dims[to].axes, a);
    bytes_ += before / SizeOf(axes) * (SizeOf(axes) - 1);
  }

  const ReshardRow& row_;
  TensorSharding at_;
  int64_t bytes_ = 0;
  bool even_ = true;
};

TEST(ShardyReshards, CostNoMoreThanThere) {
  std::vector<ReshardRow> rows = Rows();
  ASSERT_EQ(rows.size(), 80u);
  for (const ReshardRow& row : rows) {
    SCOPED_TRACE(fmt::format("{} -> {}: {}", row.from, row.to, row.steps));
    TensorSharding from = Dims(row.mesh, row.from), to = Dims(row.to_mesh, row.to);
    Replay shardy(row);
    ASSERT_EQ(Text(shardy.at()), Text(to));
    TensorSharding at = from;
    int64_t bytes = 0;
    std::string plan;
    for (const ReshardStep& step : PlanReshard(row.shape, 4, from, to)) {
      plan += fmt::format("\n  {} {} B -> {}", Name(step.kind), step.bytes, Text(step.after));
      bytes += step.bytes;
      at = step.after;
    }
    EXPECT_EQ(at, to) << plan;
    if (!shardy.even()) continue;
    EXPECT_LE(bytes, shardy.bytes()) << plan;
  }
}

}  // namespace
}  // namespace tessera::sharding
