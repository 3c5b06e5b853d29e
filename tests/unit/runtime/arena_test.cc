// The arena: alignment, reuse, counting, threads, and memory returned to the machine.
#include "runtime/arena.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/buffers.h"
#include "tessera/error.h"
#include "tessera/sharding.h"

namespace tessera::runtime {
namespace {

using testing::HasSubstr;

TEST(Arena, AlignsAndSeparatesBlocksOfEverySize) {
  std::vector<Buffers> all;
  for (int64_t bytes : {0, 1, 63, 64, 65, 1000, 1024, 1025, 4096, 5000, 70000, 300000, 5000000}) {
    for (int k = 0; k < 3; ++k) {
      all.push_back(Allocate(bytes, 1));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back().base) % kLine, 0u) << bytes;
      std::memset(all.back().base, static_cast<int>(all.size()), bytes);
    }
  }
  for (size_t k = 0; k < all.size(); ++k) {
    const auto mark = static_cast<std::byte>(k + 1);
    EXPECT_EQ(std::count(all[k].base, all[k].base + all[k].bytes, mark), all[k].bytes);
  }
}

TEST(Arena, SpacesInstancesByLines) {
  EXPECT_EQ(Allocate(100, 3).stride, 128);
  EXPECT_EQ(Allocate(4096, 3).stride, 4096);
}

TEST(Arena, GivesTheLastFreedBlockAgain) {
  for (int64_t bytes : {64, 5000, 1 << 20, 20 << 20}) {
    std::byte* first = Allocate(bytes, 1).base;
    EXPECT_EQ(Allocate(bytes, 1).base, first) << bytes;
  }
}

TEST(Arena, CountsLiveBytes) {
  const int64_t before = LiveBytes();
  {
    Buffers buffers = Allocate(int64_t{1} << 20, 3);
    EXPECT_GE(LiveBytes() - before, 3 << 20);
    EXPECT_LE(LiveBytes() - before, 4 << 20);
    EXPECT_GE(ReservedBytes(), LiveBytes());
  }
  EXPECT_EQ(LiveBytes(), before);
}

TEST(Arena, NeighboursDoNotShareCacheSets) {
  std::vector<Buffers> all;
  std::vector<uintptr_t> pages;
  for (int k = 0; k < 8; ++k) {
    all.push_back(Allocate(int64_t{8} << 20, 1));
    pages.push_back(reinterpret_cast<uintptr_t>(all.back().base) % 4096);
  }
  std::sort(pages.begin(), pages.end());
  EXPECT_EQ(std::adjacent_find(pages.begin(), pages.end()), pages.end());
}

TEST(Arena, RefusesWhatTheMachineDoesNotHave) {
  const int64_t before = LiveBytes();
  struct {
    int64_t bytes;
    int32_t instances;
  } const cases[] = {{int64_t{1} << 62, 1}, {int64_t{1} << 44, 1}, {int64_t{1} << 40, 1 << 30}};
  for (auto [bytes, instances] : cases) {
    try {
      Allocate(bytes, instances);
      FAIL() << bytes;
    } catch (const RuntimeError& e) {
      EXPECT_THAT(e.what(), HasSubstr("cannot allocate"));
      EXPECT_THAT(e.what(), HasSubstr("live: "));
    }
  }
  EXPECT_EQ(LiveBytes(), before);
  EXPECT_NE(Allocate(64, 1).base, nullptr);
}

TEST(Arena, GivesLargeFreeMemoryBack) {
  const int64_t live = LiveBytes();
  {
    std::vector<Buffers> all;
    for (int k = 0; k < 5; ++k) all.push_back(Allocate(int64_t{300} << 20, 1));
    EXPECT_GE(ReservedBytes(), int64_t{1500} << 20);
  }
  EXPECT_LE(ReservedBytes() - live, int64_t{1200} << 20);
}

TEST(Arena, ServesManyThreads) {
  const int64_t before = LiveBytes();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::vector<Buffers> kept(16);
      for (int k = 0; k < 2000; ++k) {
        Buffers& slot = kept[(k * 7 + t) % 16];
        const std::byte held = slot.base ? *slot.base : static_cast<std::byte>(t);
        EXPECT_EQ(held, static_cast<std::byte>(t));
        slot = Allocate(64 << (k % 8), 1);
        *slot.base = static_cast<std::byte>(t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(LiveBytes(), before);
}

}  // namespace
}  // namespace tessera::runtime
