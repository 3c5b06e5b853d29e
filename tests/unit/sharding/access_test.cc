// Compares the elements that are read from each shard with a loop over all elements.
#include "sharding/access.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "fuzz.h"
#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

struct Line {
  Access access;
  AccessDim dim;
};

// Returns the operand index that index o reads; -1: none.
int64_t ReadBy(const Line& line, int64_t o) {
  int64_t at = o * line.access.stride + line.access.offset;
  if (at < 0 || at % line.access.dilation != 0) return -1;
  at /= line.access.dilation;
  return at < line.dim.operand_size ? at : -1;
}

Line RandomLine(std::mt19937& random) {
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  Line line;
  line.access.offset = pick(-12, 12);
  if (pick(0, 1) == 0)
    line.access.stride = pick(0, 1) ? pick(1, 4) : pick(-4, -1);
  else
    line.access.dilation = pick(1, 4), line.access.stride = pick(0, 1) ? 1 : -1;
  int64_t shards = pick(1, 5);
  line.dim.operand_size = pick(0, 24);
  line.dim.operand_block = (line.dim.operand_size + shards - 1) / shards;
  line.dim.result_size = pick(0, 24);
  line.dim.result_block = (line.dim.result_size + shards - 1) / shards;
  return line;
}

TEST(Access, RunsAreWhatALoopReadsAndGapsTheRest) {
  std::mt19937 random(7);
  for (int64_t trial = FuzzCount(20000); trial > 0; --trial) {
    Line line = RandomLine(random);
    for (int64_t shard = 0; shard < 5; ++shard) {
      int64_t begin = std::min(shard * line.dim.result_block, line.dim.result_size);
      int64_t end = std::min(begin + line.dim.result_block, line.dim.result_size);
      std::vector<int64_t> want, got(static_cast<size_t>(end - begin), -2);
      for (int64_t o = begin; o < end; ++o) want.push_back(ReadBy(line, o));
      auto set = [&](int64_t out, int64_t value) {
        ASSERT_GE(out, 0);
        ASSERT_LT(out, end - begin);
        ASSERT_EQ(got[static_cast<size_t>(out)], -2) << "written twice";
        got[static_cast<size_t>(out)] = value;
      };
      for (const ShardRun& run : RunsOf(line.access, line.dim, shard))
        for (int64_t k = 0; k < run.count; ++k) {
          int64_t local = run.in + k * run.in_step;
          ASSERT_GE(local, 0);
          ASSERT_LT(local, line.dim.operand_block);
          set(run.out + k * run.out_step, run.shard * line.dim.operand_block + local);
        }
      for (const ShardRun& run : GapsOf(line.access, line.dim, shard))
        for (int64_t k = 0; k < run.count; ++k) set(run.out + k * run.out_step, -1);
      ASSERT_EQ(got, want) << "offset " << line.access.offset << " stride " << line.access.stride
                           << " dilation " << line.access.dilation << " shard " << shard;
    }
  }
}

// Every position of a view holds the element that the windows of its shard read there.
TEST(Access, ViewsHoldWhatTheWindowsOfAShardRead) {
  std::mt19937 random(11);
  const auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  for (int64_t trial = FuzzCount(5000); trial > 0; --trial) {
    const Access access{.offset = pick(-6, 6),
                        .stride = pick(1, 4),
                        .dilation = pick(1, 3),
                        .window = pick(1, 4),
                        .window_dilation = pick(1, 3)};
    const int64_t shards = pick(1, 4), size = pick(0, 20), block = pick(1, 5);
    const int64_t operand_block = (size + shards - 1) / shards;
    const WindowView view = ViewOf(access, block);
    const AccessDim dim{size, operand_block, shards * view.extent, view.extent};
    for (int64_t shard = 0; shard < shards; ++shard) {
      std::vector<int64_t> at(static_cast<size_t>(view.extent), -1);
      for (const ShardRun& run : RunsOf(view.access, dim, shard))
        for (int64_t k = 0; k < run.count; ++k)
          at.at(static_cast<size_t>(run.out + k * run.out_step)) =
              run.shard * operand_block + run.in + k * run.in_step;
      for (int64_t o = 0; o < block; ++o)
        for (int64_t w = 0; w < access.window; ++w) {
          const int64_t position =
              (shard * block + o) * access.stride + w * access.window_dilation + access.offset;
          const bool is_element =
              position >= 0 && position % access.dilation == 0 && position / access.dilation < size;
          const int64_t got =
              at.at(static_cast<size_t>(o * access.stride + w * access.window_dilation));
          ASSERT_EQ(got, is_element ? position / access.dilation : -1);
        }
    }
  }
}

// Two dims read by position, of one operand or two, on 2 x 3 devices.
class TwoDims {
 public:
  explicit TwoDims(std::mt19937& random) {
    bool several = random() % 2 == 0;
    for (int32_t d = 0; d < 2; ++d) {
      int32_t f = map_.AddFactor({.kind = FactorKind::kPermute});
      lines_[0].push_back(RandomLine(random));
      lines_[1].push_back(RandomLine(random));
      axes_.push_back({WholeAxis(*mesh_, d)});
      map_.results.resize(1);
      map_.results[0].push_back({f});
      result_.push_back(1 + static_cast<int64_t>(random() % 20));
    }
    for (int32_t i = 0; i < (several ? 2 : 1); ++i) {
      map_.operands.push_back(map_.results[0]);
      shapes_.emplace_back();
      for (int32_t d = 0; d < 2; ++d) {
        Line& line = lines_[i][static_cast<size_t>(d)];
        line.access.operand = i, line.access.factor = d;
        line.dim = DimOf(line.dim.operand_size, d);
        map_.accesses.push_back(line.access);
        shapes_.back().push_back(line.dim.operand_size);
      }
    }
  }

  int64_t Bytes() const {
    std::vector<PartitionTensor> operands;
    for (const Shape& shape : shapes_) operands.push_back({&shape, 4, nullptr});
    return HaloBytes(map_, operands, result_, axes_);
  }

  // Counts the elements one by one.
  int64_t Counted() const {
    int64_t most = 0;
    for (int64_t x = 0; x < 2; ++x)
      for (int64_t y = 0; y < 3; ++y) {
        int64_t foreign = 0;
        for (size_t i = 0; i < shapes_.size(); ++i) foreign += Foreign(lines_[i], x, y);
        most = std::max(most, 4 * foreign);
      }
    return most;
  }

 private:
  AccessDim DimOf(int64_t operand, int32_t d) const {
    int64_t shards = mesh_->axis_size(d), result = result_[static_cast<size_t>(d)];
    return {operand, (operand + shards - 1) / shards, result, (result + shards - 1) / shards};
  }

  static int64_t Foreign(const std::vector<Line>& lines, int64_t x, int64_t y) {
    int64_t n = 0;
    for (int64_t a = 0; a < lines[0].dim.result_size; ++a)
      for (int64_t b = 0; b < lines[1].dim.result_size; ++b) {
        if (a / lines[0].dim.result_block != x || b / lines[1].dim.result_block != y) continue;
        int64_t from_a = ReadBy(lines[0], a), from_b = ReadBy(lines[1], b);
        if (from_a < 0 || from_b < 0) continue;
        n += from_a / lines[0].dim.operand_block != x || from_b / lines[1].dim.operand_block != y;
      }
    return n;
  }

  const MeshDef* mesh_ = testing::MeshOf("x=2 y=3");
  DimMap map_;
  FactorAxes axes_;
  Shape result_;
  std::vector<Shape> shapes_;
  std::vector<Line> lines_[2];
};

TEST(Access, HaloBytesAreThoseOfTheDeviceThatGetsMost) {
  std::mt19937 random(11);
  for (int64_t trial = FuzzCount(3000); trial > 0; --trial) {
    TwoDims dims(random);
    ASSERT_EQ(dims.Bytes(), dims.Counted()) << "trial " << trial;
  }
}

TEST(Access, AFactorIsExchangedOnlyIfAllThatHaveItAreRead) {
  DimMap map;
  int32_t read = map.AddFactor({.size = 8, .kind = FactorKind::kPermute});
  int32_t half = map.AddFactor({.size = 8, .kind = FactorKind::kPermute});
  int32_t made = map.AddFactor({.size = 8, .kind = FactorKind::kPermute});
  int32_t pass = map.AddFactor({.size = 8});
  map.operands = {{{read}, {half}, {pass}}, {{read}, {half}, {pass}}};
  map.results = {{{read}, {half}, {made}}};
  map.accesses = {{.operand = 0, .factor = read},
                  {.operand = 1, .factor = read},
                  {.operand = 0, .factor = half}};
  EXPECT_TRUE(MayExchange(map, static_cast<size_t>(read)));
  EXPECT_FALSE(MayExchange(map, static_cast<size_t>(half))) << "not read of operand 1";
  EXPECT_FALSE(MayExchange(map, static_cast<size_t>(made))) << "of the result alone";
  EXPECT_FALSE(MayExchange(map, static_cast<size_t>(pass)));
}

}  // namespace
}  // namespace tessera::sharding
