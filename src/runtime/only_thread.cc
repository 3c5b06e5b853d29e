// Finds threads that work with the other processes at the same time.
#include "runtime/only_thread.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fork.h"
#include "runtime/transport.h"

namespace tessera::runtime {
namespace {

struct Activity {
  const char* text;
  Loc loc;
};

// The thread that works with the other processes.
struct Turn {
  std::mutex& mutex = base::NewForkMutex();
  int scopes = 0;  // of `thread`
  std::thread::id thread;
  Activity activity{"", Loc::Unknown()};
  Loc last = Loc::Unknown();           // the last known line of an activity
  std::optional<ErrorDetail> overlap;  // the error if two threads have worked at once
};
Turn& TheTurn() {
  static auto& turn = *new Turn;
  return turn;
}

ErrorDetail Overlap(const Activity& mine, const Activity& other) {
  return {.kind = "RuntimeError",
          .op = "run",
          .label = "run.threads",
          .where = base::Where(mine.loc),
          .reason = "two threads of a process work with the other processes at the same time",
          .operands = {{"this thread", mine.text, base::Where(mine.loc)},
                       {"other thread", other.text, base::Where(other.loc)}},
          .notes = {"let one thread run all programs with a mesh, or let threads take turns in the "
                    "same order on every process"},
          .fixes = {}};
}

// Tells the other processes, which may wait for the call that was refused.
void TellOthers(const ErrorDetail& overlap) {
  if (Transport* transport = TheTransport()) transport->FailRun(RuntimeError(overlap).what());
}

}  // namespace

OnlyThread::OnlyThread(const char* work, Loc loc) {
  Turn& turn = TheTurn();
  const std::lock_guard lock(turn.mutex);
  const Activity activity{work, loc};
  const std::thread::id mine = std::this_thread::get_id();
  if (turn.scopes > 0 && turn.thread != mine) {
    if (!turn.overlap) turn.overlap = Overlap(activity, turn.activity);
    throw RuntimeError(*turn.overlap);
  }
  if (turn.scopes == 0) {
    if (turn.overlap) {
      TellOthers(*turn.overlap);
      throw RuntimeError(*turn.overlap);
    }
    turn.thread = mine;
    turn.activity = activity;
    if (loc.line() > 0) turn.last = loc;
  }
  ++turn.scopes;
}

OnlyThread::~OnlyThread() {
  Turn& turn = TheTurn();
  const std::lock_guard lock(turn.mutex);
  if (--turn.scopes == 0 && turn.overlap) TellOthers(*turn.overlap);
}

std::string WorkText() {
  Turn& turn = TheTurn();
  const std::lock_guard lock(turn.mutex);
  if (turn.scopes > 0)
    return fmt::format("is {} at {}", turn.activity.text, base::Where(turn.activity.loc));
  const std::string last = base::Where(turn.last);
  return last.empty() ? "runs its own code" : "runs its own code after " + last;
}

}  // namespace tessera::runtime
