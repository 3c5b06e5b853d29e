// What will run, before it runs: programs, communication, memory, FLOPs; and limits on them.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.h"
#include "tessera/mesh.h"
#include "tessera/propagation.h"
#include "tessera/sharding.h"

namespace TESSERA_PUBLIC tessera {

namespace ir {
struct Program;
}

class Profile;

enum class CommKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kCollectivePermute,
  kHaloExchange  // parts of shards, for a slice, pad, concatenate, rev or roll of a sharded dim
};
// Returns the collective's name in reports: "all_gather".
const char* comm_name(CommKind kind);

// One collective of a program.
struct CommEvent {
  CommKind kind;
  std::vector<std::string> axes;
  // Payload that leaves a device, each time; of a halo_exchange, what reaches the device that gets
  // most.
  int64_t bytes = 0;
  // That it runs; with `repeats`, for each iteration of a loop whose trip count is known only when
  // it has run. All branches of cond and switch_case count, though one runs.
  int64_t times = 1;
  std::string where;      // "model.cc:12"
  bool backward = false;  // in the backward pass of a gradient; `where` is the forward line
  bool implied = false;   // not asked for: by an op, or at a border (docs/design.md lists both)
  bool repeats = false;   // in a while_loop
};

// What a program sends, and how its work is split.
class CommReport {
 public:
  explicit CommReport(std::vector<CommEvent> events = {}, int64_t flops = 0,
                      int64_t split_flops = 0)
      : events_(std::move(events)), flops_(flops), split_flops_(split_flops) {}
  const std::vector<CommEvent>& events() const& { return events_; }
  std::vector<CommEvent> events() && { return std::move(events_); }  // of lower(x).comm(), to keep
  int64_t flops() const { return flops_; }                           // per device
  // Per device, if all devices of the mesh shared the work and did nothing twice.
  int64_t split_flops() const { return split_flops_; }
  // Returns what leaves each device in all events.
  int64_t bytes() const {
    int64_t sum = 0;
    for (const CommEvent& e : events_) sum += e.bytes * e.times;
    return sum;
  }
  // Return how often collectives of a kind run: over any axes; over exactly these.
  int64_t count(CommKind kind) const;
  int64_t count(CommKind kind, AxisNames axes) const;
  bool empty() const { return events_.empty(); }
  // Returns the events with those of equal layers, which differ in `times` at most, as one.
  std::vector<CommEvent> lines() const;
  // Returns a line for each of lines(), then the bytes and FLOPs of a device.
  std::string text() const;

 private:
  std::vector<CommEvent> events_;
  int64_t flops_, split_flops_;
};
std::ostream& operator<<(std::ostream& os, const CommReport& report);

// A traced or lowered program. Text parses back to an equal program.
class Program {
 public:
  explicit Program(std::shared_ptr<const ir::Program> program) : program_(std::move(program)) {}
  // Returns the program that a text describes. Instructions are from the lines that the text names
  // (`// model.cc:12`), as in reports; without one, from the caller's. Throws RuntimeError with the
  // place in the text.
  static Program Parse(std::string_view text, Loc loc = Loc::Current());
  // The same of a file: instructions that name no line are from lines of the file. Throws
  // RuntimeError if it cannot be read.
  static Program Load(const std::string& path, Loc loc = Loc::Current());
  // Returns program text, which Parse reads.
  std::string text() const;
  std::vector<ArrayType> inputs() const;   // types of the arguments, in order
  std::vector<ArrayType> outputs() const;  // types of the results
  // Returns the program with the complete sharding of every value; itself where no axis is Auto.
  // Throws RuntimeError for a device program.
  Program propagated(propagation::Stage stop_after = propagation::Stage::kUserPriority,
                     Loc loc = Loc::Current()) const;
  const std::shared_ptr<const ir::Program>& program() const { return program_; }

 private:
  std::shared_ptr<const ir::Program> program_;
};
std::ostream& operator<<(std::ostream& os, const Program& program);

// A program made ready for the devices of its mesh, which may be abstract.
class Lowered {
 public:
  struct Impl;
  explicit Lowered(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  Program program() const;         // as traced
  Program propagated() const;      // with the complete sharding of every value, Auto axes included
  Program device_program() const;  // per device, with local shapes and collectives
  CommReport comm() const;         // what the device program sends
  int64_t peak_bytes() const;      // per device: arguments, results and temporaries
  // Per device. One iteration of a loop whose trip count is not known; of branches, the most.
  int64_t flops() const;
  // Per device, if all devices of the mesh shared the work and did nothing twice.
  int64_t split_flops() const;
  std::string text() const;  // device program, communication report, memory
  // Runs the program, and returns where the time went (tessera/profile.h).
  template <class... Args>
  Profile profile(const Args&... args) const;
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

std::ostream& operator<<(std::ostream& os, const Lowered& lowered);

// Returns a program, traced or read, made ready for the devices of its mesh. Throws ShardingError
// if it breaks a CommPolicy in scope; RuntimeError for a device program.
Lowered lower(const Program& program, Loc loc = Loc::Current());

enum class CommRule : uint8_t { kAllow, kForbidImplied, kForbid };
struct CommLimits {
  CommRule rule = CommRule::kAllow;
  std::vector<CommKind> kinds = {};  // that the rule is about; empty: all
  AxisNames axes = {};               // of the mesh, that the rule is about; empty: all
  int64_t bytes = -1;                // most that may leave a device in one program; -1: any
  bool warn_only = false;            // print to stderr instead of throwing
};

// Scope: limits that every program built inside must keep, or ShardingError names all violations.
// Nested scopes all hold. A program whose mesh lacks an axis of the limits is refused.
class [[nodiscard]] CommPolicy {
 public:
  explicit CommPolicy(CommLimits limits);
  ~CommPolicy();
  CommPolicy(const CommPolicy&) = delete;
};

// Scope: how many FLOPs a device does in the time in which it sends one byte. Where a program that
// is lowered inside could send more and compute less, or the other way round, this decides.
// Infinity counts bytes alone. The default, 1000, is what current accelerators have on their own
// links. Work on operands that are sharded alike is split whatever the balance.
class [[nodiscard]] MachineBalance {
 public:
  // Throws ShapeError unless flops_per_byte > 0.
  explicit MachineBalance(double flops_per_byte, Loc loc = Loc::Current());
  ~MachineBalance();
  MachineBalance(const MachineBalance&) = delete;

 private:
  double old_;
};

}  // namespace tessera
