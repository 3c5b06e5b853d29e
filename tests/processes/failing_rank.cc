// Tests that fail on process 1 alone. failing_rank.sh checks that each of them fails the whole run.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "tessera/processes.h"
#include "tessera/tessera.h"

namespace tessera {
namespace {

bool Fails() { return process_index() == 1; }

// Needs all processes.
void Exchange() {
  MeshScope scope(make_mesh({{"x", process_count()}}));
  EXPECT_EQ(sum(ones({process_count()}, {.out_sharding = P("x")})).item<float>(),
            static_cast<float>(process_count()));
}

TEST(FailingRank, Passes) {
  EXPECT_GT(process_count(), 1);
  Exchange();
}

TEST(FailingRank, FailsAnAssertion) {
  Exchange();
  EXPECT_FALSE(Fails());
}

TEST(FailingRank, Exits) {
  if (Fails()) std::exit(3);
  Exchange();
}

TEST(FailingRank, Throws) {
  if (Fails()) throw std::runtime_error("process 1 fails");
  Exchange();
}

TEST(FailingRank, IsKilled) {
  if (Fails()) std::raise(SIGKILL);
  Exchange();
}

// Process 1 ends the test early, so the others wait for it until the time limit.
TEST(FailingRank, LeavesOthersWaiting) {
  ASSERT_FALSE(Fails());
  Exchange();
}

}  // namespace
}  // namespace tessera
