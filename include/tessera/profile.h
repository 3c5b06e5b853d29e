// Profiles: the time of a run by kernel and line, compared with the limits of the machine. Set the
// environment variable TESSERA_TRACE to FILE.json to record every run of a process.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tessera/array.h"
#include "tessera/program.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {

// The total of all calls of the kernel of one line, or of one exchange, over all workers, devices
// and iterations.
struct ProfileStep {
  std::string name;       // "dot_general at model.cc:12"
  bool exchange = false;  // moves data between devices
  int64_t calls = 0;
  double seconds = 0;  // sum over workers; may exceed the elapsed time
  double bytes = 0;    // read and written
  double flops = 0;
  // Seconds that an exchange with other processes took this one: starts, and waits for messages
  // that had not arrived when their result was read.
  double exposed = 0;
  // The shortest time in which one worker could move the bytes or do the FLOPs, divided by the time
  // taken. Above 1 if the data was still in a cache.
  double of_limit = 0;
};

class Profile {
 public:
  struct Impl;
  explicit Profile(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  double seconds() const;  // from the start of the first step to the end of the last
  int workers() const;     // number of workers that took part
  double waiting() const;  // total seconds that workers waited for each other
  double exposed() const;  // total of ProfileStep::exposed
  const std::vector<ProfileStep>& steps() const;  // the longest first
  double bytes_per_second() const;  // copy speed of one worker, measured in this process
  double flops_per_second() const;  // multiply-add speed of one worker, measured likewise
  std::string text() const;         // one line per step
  // Writes a trace for https://ui.perfetto.dev: one row per worker, with its steps, exchanges and
  // waits, and the bytes that a device holds over time, as Lowered::memory() counts them. Throws
  // RuntimeError if the file cannot be written.
  void write(const std::string& path, Loc loc = Loc::Current()) const;

 private:
  std::shared_ptr<const Impl> impl_;
};
std::ostream& operator<<(std::ostream& os, const Profile& profile);

namespace detail {
Profile ProfileRun(const Lowered& lowered, const std::vector<Array>& leaves, Loc loc);
}  // namespace detail

// Returns the profile of one run with these arguments, after one warm-up run. Throws ShapeError if
// the arguments do not match the program's inputs, and TraceError if they are traced or abstract.
template <class... Args>
Profile Lowered::profile(const Args&... args) const {
  std::vector<Array> leaves;
  [[maybe_unused]] const auto add = [&](std::vector<Array> of_one) {
    leaves.insert(leaves.end(), of_one.begin(), of_one.end());
  };
  (add(tree_leaves(args)), ...);
  return detail::ProfileRun(*this, leaves, Loc::Unknown());
}

}  // namespace tessera
