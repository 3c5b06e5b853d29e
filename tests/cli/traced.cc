// traced WAY: runs programs, and ends in a way that is not the end of main.
#include <sys/wait.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>

using namespace tessera;

namespace {

constexpr int kRuns = 20;

void Compute() { sum(sin(ones({64, 64}))).item<float>(); }

// While another thread still computes.
[[noreturn]] void Exit() {
  std::atomic<int> done{0};
  std::thread([&] {
    for (;; ++done) Compute();
  }).detach();
  while (done < kRuns) std::this_thread::yield();
  std::exit(3);
}

// Parent and child write to one file.
int Fork() {
  Compute();
  const pid_t child = fork();
  for (int i = 0; i < kRuns; ++i) Compute();
  if (child == 0) _exit(0);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

}  // namespace

int main(int, char** argv) {
  const std::string_view way = argv[1];
  if (way == "exit") Exit();
  if (way == "fork") return Fork();
  Compute();
  std::abort();
}
