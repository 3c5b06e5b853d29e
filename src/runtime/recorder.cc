// The list of recorders of runs.
#include "runtime/recorder.h"

#include <atomic>
#include <mutex>

#include "base/fork.h"

namespace tessera::runtime {
namespace {

std::atomic<bool> records{false};  // whether there are any recorders

// Never destroyed, as runs may end after everything else.
struct Recorders {
  std::mutex lock;  // held while recorders are called or changed
  std::vector<const Recorder*> all;
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
  const std::lock_guard<std::mutex> lock(recorders.lock);
  for (const Recorder* recorder : recorders.all) (*recorder)(plan, events);
  events.clear();
}

Recording::Recording(Recorder recorder) : recorder_(std::move(recorder)) {
  Recorders& recorders = TheRecorders();
  const std::lock_guard<std::mutex> lock(recorders.lock);
  recorders.all.push_back(&recorder_);
  records = true;
}
Recording::~Recording() {
  Recorders& recorders = TheRecorders();
  const std::lock_guard<std::mutex> lock(recorders.lock);
  std::erase(recorders.all, &recorder_);
  records = !recorders.all.empty();
}

}  // namespace tessera::runtime
