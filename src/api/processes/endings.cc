// Ends all processes with the one that fails.
#include "api/processes/endings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "compile/host/concrete.h"
#include "compile/run/together.h"
#include "runtime/meeting.h"
#include "runtime/transport.h"

namespace tessera::api {
namespace {

// The time that a process has to print its exception and end.
constexpr auto kTimeToEnd = std::chrono::seconds(1);

// The transport of a process that left by an exception.
std::unique_ptr<runtime::Transport> left;
pid_t owner = 0;  // the child of a fork does not end the others
std::terminate_handler earlier_handler = nullptr;

runtime::Transport* Joined() {
  if (getpid() != owner) return nullptr;
  return left ? left.get() : runtime::TheTransport();
}

void Print(const runtime::Transport& transport, const std::string& message) {
  const std::string text =
      fmt::format("process {} of {}: {}\n", transport.process(), transport.processes(), message);
  std::fflush(stdout);
  std::fputs(text.c_str(), stderr);  // one write, so that lines of processes do not mix
  std::fflush(stderr);
}

std::string CurrentException() {
  if (!std::current_exception()) return "std::terminate was called";
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

// An uncaught exception would raise SIGABRT, for which some MPIs print pages of stack.
[[noreturn]] void OnTerminate() {
  if (runtime::Transport* transport = Joined()) {
    Print(*transport, CurrentException());
    transport->Abort(EXIT_FAILURE);
  }
  earlier_handler();
  std::abort();
}

void OnExit(int status, void*) {
  runtime::Transport* transport = Joined();
  if (!transport) return;
  if (left) left->Abort(status == 0 ? EXIT_FAILURE : status);
  if (status == 0) return Leave(Leaving::kInOrder);
  const std::string last = base::Where(compile::LastRunTogether());
  Print(*transport, fmt::format("it called exit({}){}", status,
                                last.empty() ? "" : " after the call at " + last));
  transport->Abort(status);
}

// Ends all processes if this one goes on for long after it left by an exception.
void EndLater() {
  std::thread([] {
    std::this_thread::sleep_for(kTimeToEnd);
    Print(*left, "an exception left its Processes scope, so all processes end");
    left->Abort(EXIT_FAILURE);
  }).detach();
}

void LeaveInOrder() {
  try {
    runtime::Meet("leaving its Processes scope", "");
  } catch (const std::exception& e) {
    Print(*runtime::TheTransport(), e.what());
    runtime::TheTransport()->Abort(EXIT_FAILURE);
  }
  compile::LoseParts();
  runtime::TheLauncher()->stop(runtime::SetTransport(nullptr));
}

}  // namespace

void EndAllWithThis() {
  static std::once_flag once;
  owner = getpid();
  std::call_once(once, [] {
    earlier_handler = std::set_terminate(OnTerminate);
    on_exit(OnExit, nullptr);
  });
}

void Leave(Leaving leaving) noexcept {
  if (!runtime::TheTransport()) return;
  if (getpid() != owner) {  // the child of a fork
    runtime::SetTransport(nullptr).release();
    return;
  }
  if (leaving == Leaving::kInOrder) return LeaveInOrder();
  compile::LoseParts();
  left = runtime::SetTransport(nullptr);
  EndLater();
}

}  // namespace tessera::api
