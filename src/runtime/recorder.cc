// The list of recorders of runs.
#include "runtime/recorder.h"

#include <atomic>

#include "base/fork.h"
#include "base/mutex.h"

namespace tessera::runtime {
namespace {

std::atomic<bool> records{false};  // whether there are any recorders

// Never destroyed, as runs may end after everything else.
struct Recorders {
  base::Mutex lock;  // held while recorders are called or changed
  std::vector<const Recorder*> all ABSL_GUARDED_BY(lock);
};
Recorders& TheRecorders() {
  static Recorders& recorders = *[] {
    auto* made = new Recorders;
    base::HoldOverFork(made->lock);
    return made;
  }();
  return recorders;
}

}  // namespace

bool IsRecorded() { return records; }

void PassToRecorders(const plan::Plan& plan, Events& events) {
  if (events.empty()) return;
  Recorders& recorders = TheRecorders();
  const base::MutexLock lock(recorders.lock);
  for (const Recorder* recorder : recorders.all) (*recorder)(plan, events);
  events.clear();
}

Recording::Recording(Recorder recorder) : recorder_(std::move(recorder)) {
  Recorders& recorders = TheRecorders();
  const base::MutexLock lock(recorders.lock);
  recorders.all.push_back(&recorder_);
  records = true;
}
Recording::~Recording() {
  Recorders& recorders = TheRecorders();
  const base::MutexLock lock(recorders.lock);
  std::erase(recorders.all, &recorder_);
  records = !recorders.all.empty();
}

}  // namespace tessera::runtime
