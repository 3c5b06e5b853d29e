// The child of a fork computes: with a team of its own, and with no lock left taken.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "runtime/run.h"

namespace tessera::fork_test {
namespace {

// Runs f in a child. Returns the result of f, or -1 if it crashed or took longer than 20 s.
int InChild(const std::function<int()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    int result = 1;
    try {
      result = f();
    } catch (...) {
    }
    _exit(result);
  }
  for (int i = 0; i < 2000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

class Fork : public testing::Test {
 protected:
  Fork() {
    SetDeviceCount(8);
    SetWorkerCount(3);
    runtime::ForceParallel(true);
  }
  ~Fork() override {
    SetWorkerCount(0);
    runtime::ForceParallel(false);
    SetDeviceCount(1);
  }
};

Array Layer(Array x, Array w) { return softmax(matmul(x, w), 1) + sum(x) * 0.0; }

int Check(const std::vector<float>& wanted) {
  MeshScope scope(make_mesh({{"x", 8}}));
  Array x = reshard(ones({512, 256}), P("x")), w = ones({256, 256});
  auto f = jit(Layer);
  for (int i = 0; i < 3; ++i)
    if (f(x, w).to_vector<float>() != wanted) return 2;
  return 0;
}

TEST_F(Fork, ChildrenHaveATeamOfTheirOwn) {
  std::vector<float> wanted(512 * 256, 1.f / 256);
  ASSERT_EQ(Check(wanted), 0) << "the parent's team runs";
  EXPECT_EQ(InChild([&] {
              if (Check(wanted) != 0) return 2;
              return InChild([&] { return Check(wanted); });  // a child's child
            }),
            0);
  EXPECT_EQ(Check(wanted), 0) << "and goes on";
}

TEST_F(Fork, NoLockIsLeftTaken) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers of GCC 12 leave locks of their own taken over a fork";
#endif
  std::vector<float> wanted(512 * 256, 1.f / 256);
  std::atomic<bool> stop{false};
  RetraceNotes(false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int64_t n = 1; !stop; ++n) {  // new types, meshes, programs and blocks all the time
        MeshScope scope(make_mesh({{"t" + std::to_string((n + t) % 50), 2}}));
        jit([](Array x) { return sum(x * 2.0); })(ones({1 + n % 1000, 4 + t})).item<float>();
      }
    });
  int failed = 0;
  for (int i = 0; i < 20; ++i) failed += InChild([&] { return Check(wanted); }) != 0;
  stop = true;
  for (std::thread& t : threads) t.join();
  RetraceNotes(true);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace tessera::fork_test
