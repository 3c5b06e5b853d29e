// Where the time of a run goes: by kernel and line, beside what the machine can do. TESSERA_TRACE
// set to FILE.json writes the same of every run of a process, as it happens.
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

// All calls of one line's kernel, or of one exchange, by all workers, devices and iterations.
struct ProfileStep {
  std::string name;       // "dot_general at model.cc:12"
  bool exchange = false;  // data that crosses devices
  int64_t calls = 0;
  double seconds = 0;  // together; of several workers at once more than have passed
  double bytes = 0;    // read and written
  double flops = 0;
  // The least time in which one worker could have moved the bytes or done the FLOPs, of the time
  // taken. Above 1 where data was still in a cache.
  double of_limit = 0;
};

class Profile {
 public:
  struct Impl;
  explicit Profile(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  double seconds() const;  // from the first step to the end of the last
  int workers() const;     // that took part
  double waiting() const;  // seconds that workers waited for each other, together
  const std::vector<ProfileStep>& steps() const;  // the longest first
  double bytes_per_second() const;  // what one worker can copy, measured in this process
  double flops_per_second() const;  // what one worker can multiply and add
  std::string text() const;         // a line per step
  // Writes a trace for https://ui.perfetto.dev: a row per worker, with steps, exchanges and waits.
  // Throws RuntimeError if the file cannot be written.
  void write(const std::string& path, Loc loc = Loc::Current()) const;

 private:
  std::shared_ptr<const Impl> impl_;
};
std::ostream& operator<<(std::ostream& os, const Profile& profile);

namespace detail {
Profile ProfileRun(const Lowered& lowered, const std::vector<Array>& leaves, Loc loc);
}  // namespace detail

// Returns the profile of one run with these arguments, after one that does not count. Errors are
// those of a call: of arrays that are not as the program's inputs, ShapeError; of traced or
// abstract ones, TraceError.
template <class... Args>
Profile Lowered::profile(const Args&... args) const {
  std::vector<Array> leaves;
  const auto add = [&](std::vector<Array> of_one) {
    leaves.insert(leaves.end(), of_one.begin(), of_one.end());
  };
  (add(tree_leaves(args)), ...);
  return detail::ProfileRun(*this, leaves, Loc::Unknown());
}

}  // namespace tessera
