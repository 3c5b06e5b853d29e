// When a team dissolves because other processes use its cores.
#include "runtime/starvation.h"

#include <gmock/gmock.h>

namespace tessera::runtime {
namespace {

constexpr int64_t kMs = 1'000'000;

// A run of barriers, each after `late` of `interval`, by a worker that was interrupted or not.
// Returns the number of barriers after which one worker would be faster; -1: never.
int DissolvesAfter(int64_t interval, int64_t late, bool interrupted) {
  Starvation starvation(0);
  Starvation::Interruptions last = -1;
  for (int k = 1; k <= 1000; ++k) {
    const int64_t now = k * interval;
    if (starvation.Arrive(now - late, now, interrupted ? k : 7, last)) return k;
  }
  return -1;
}

TEST(Starvation, EndsTeamsThatMostlyWaitForInterruptedWorkers) {
  EXPECT_EQ(DissolvesAfter(5 * kMs, 4 * kMs, true), 7);  // the first count has nothing before it
}

TEST(Starvation, AllowsWorkersThatHaveMoreToDo) {
  EXPECT_EQ(DissolvesAfter(5 * kMs, 4 * kMs, false), -1);
}

TEST(Starvation, AllowsSomeInterruptions) {
  EXPECT_EQ(DissolvesAfter(10 * kMs, 4 * kMs, true), -1);
}

}  // namespace
}  // namespace tessera::runtime
