// Records the steps of each worker of a run with their times, for profiles. Without a recorder
// nothing is recorded.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/plan.h"

namespace tessera::runtime {

struct Event {
  // kMessages: starts messages to other processes (without bytes), or waits for them.
  enum Kind : uint8_t { kStep, kExchange, kMessages, kWait } kind = kStep;
  plan::NoteId note = plan::kNoNote;
  int32_t device = -1;          // of a step: the representative device
  int64_t begin = 0, end = 0;   // nanoseconds of the steady clock
  double bytes = 0, flops = 0;  // of this call
};

// Per worker, in the order of time.
using Events = std::vector<std::vector<Event>>;
using Recorder = std::function<void(const plan::Plan&, const Events&)>;

// Scope in which the recorder is called after every run of this process, one call at a time, by the
// thread that started the run. The recorder must not run anything itself. Runs that began before
// the scope are not recorded. A run inside a kernel is a run of its own.
class Recording {
 public:
  explicit Recording(Recorder recorder);
  ~Recording();
  Recording(const Recording&) = delete;

 private:
  Recorder recorder_;
};

// Whether runs that begin now are recorded.
bool IsRecorded();
// Passes the events of a recorded run to the recorders.
void PassToRecorders(const plan::Plan& plan, Events& events);

}  // namespace tessera::runtime
