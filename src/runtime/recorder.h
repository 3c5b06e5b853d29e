// What the workers of a run did and when, for profiles. Where nobody asks nothing is recorded.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/plan.h"

namespace tessera::runtime {

struct Event {
  enum Kind : uint8_t { kStep, kExchange, kWait } kind = kStep;
  int32_t note = -1;            // index into Plan::notes; -1: none
  int32_t device = -1;          // of a step: the representative
  int64_t begin = 0, end = 0;   // nanoseconds of the steady clock
  double bytes = 0, flops = 0;  // of this call
};

// By worker, in the order of time.
using Events = std::vector<std::vector<Event>>;
using Recorder = std::function<void(const plan::Plan&, const Events&)>;

// Scope: the recorder is called after every run of this process, by the thread that asked for the
// run, one call at a time; it must not run anything itself. Runs that were under way are not
// recorded. A run inside of a kernel is a run of its own.
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
// Calls the recorders with what a run recorded, if it did.
void HandOn(const plan::Plan& plan, Events& events);

}  // namespace tessera::runtime
