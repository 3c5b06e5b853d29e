// The packer: blocks that live at the same time never overlap, and holes are reused.
#include "runtime/packer.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

namespace tessera::runtime {
namespace {

TEST(Packer, ReusesAndJoinsHoles) {
  Packer p;
  const int64_t a = p.Take(100), b = p.Take(200), c = p.Take(64);
  EXPECT_EQ(p.extent(), 128 + 256 + 64);
  p.Give(a, 100), p.Give(b, 200);
  EXPECT_EQ(p.Take(384), 0);
  EXPECT_EQ(p.extent(), 128 + 256 + 64);
  p.Give(c, 64);
  EXPECT_EQ(p.Take(128), 384);  // grows the hole at the end
  EXPECT_EQ(p.extent(), 512);
  EXPECT_EQ(p.peak(), 384 + 128);
}

TEST(Packer, UsesRegionsOnceTheyAreGiven) {
  Packer p;
  const int64_t small = p.TakeRegion(100), large = p.TakeRegion(9000);
  EXPECT_GE(p.Take(64), p.start());
  p.Give(large, 9000);
  EXPECT_EQ(p.Take(9000), large);  // without the padding that follows other blocks
  p.Give(small, 100);
  EXPECT_EQ(p.Take(128), small);
  EXPECT_GE(p.Take(1), p.start());
  EXPECT_EQ(p.extent(), 128);
  EXPECT_EQ(p.peak(), 9000 + 128 + 64 + 1);
}

TEST(Packer, NeverOverlaps) {
  std::mt19937 rng(1);
  struct Block {
    int64_t offset, bytes;
  };
  std::vector<Block> live;
  Packer p;
  for (int k = 0; k < 2000; ++k) {
    if (live.size() > 20 || (!live.empty() && rng() % 2)) {
      const size_t i = rng() % live.size();
      p.Give(live[i].offset, live[i].bytes);
      live.erase(live.begin() + static_cast<int64_t>(i));
    } else {
      const int64_t bytes = 1 + rng() % 9000;
      const Block fresh{p.Take(bytes), bytes};
      EXPECT_EQ(fresh.offset % kLine, 0);
      EXPECT_LE(fresh.offset + bytes, p.extent());
      for (const Block& b : live) {
        EXPECT_TRUE(fresh.offset + bytes <= b.offset || b.offset + b.bytes <= fresh.offset);
      }
      live.push_back(fresh);
    }
  }
}

}  // namespace
}  // namespace tessera::runtime
