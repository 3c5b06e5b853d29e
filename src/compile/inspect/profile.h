// Events of runs as profiles and as traces for Perfetto.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/recorder.h"
#include "tessera/profile.h"

namespace tessera {

struct Profile::Impl {
  double seconds = 0, waiting = 0, exposed = 0, bytes_per_second = 0, flops_per_second = 0;
  int workers = 0;
  std::vector<ProfileStep> steps;
  std::string trace;  // its events, a line each, with a comma at the end
};

namespace compile {

// Adds up the events of runs. Not thread-safe: recorders are called one at a time.
class Collector {
 public:
  Collector();
  void Add(const plan::Plan& plan, const runtime::Events& events);
  Profile::Impl Result() const;

 private:
  Profile::Impl result_;
  std::map<std::string, ProfileStep> steps_;
  int64_t origin_;  // of the trace: runs inside of a run come before it
  int64_t first_ = -1, last_ = 0;
};

// Scope in which the plans that this thread compiles have their memory (plan::Plan::held).
class MemoryKnownScope {
 public:
  MemoryKnownScope();
  ~MemoryKnownScope();
  MemoryKnownScope(const MemoryKnownScope&) = delete;

 private:
  const bool outer_;
};
// Whether plans that this thread compiles have their memory: in such a scope, and in a process that
// writes a trace.
bool IsMemoryKnown();

// Returns the lines of a trace's events; times are since `origin`.
std::string TraceLines(const plan::Plan& plan, const runtime::Events& events, int64_t origin);

// If TESSERA_TRACE names a file, starts to write every run to it. Later calls do nothing. Throws
// RuntimeError if the file cannot be written.
void StartTrace();

}  // namespace compile
}  // namespace tessera
