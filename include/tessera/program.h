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

namespace tessera {

namespace ir {
struct Program;
}

enum class CommKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kCollectivePermute,
  kHaloExchange  // parts of shards, for a slice, pad, concatenate, rev or roll of a sharded dim
};

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
  std::string where;  // "model.cc:12"
  bool backward = false;
  bool implied = false;  // not asked for: by an op, or at a border (docs/design.md lists both)
  bool repeats = false;  // in a while_loop
};

class CommReport {
 public:
  explicit CommReport(std::vector<CommEvent> events = {}) : events_(std::move(events)) {}
  const std::vector<CommEvent>& events() const { return events_; }
  int64_t bytes() const;  // per device, all events
  int64_t count(CommKind kind) const;
  int64_t count(CommKind kind, AxisNames axes) const;
  bool empty() const { return events_.empty(); }
  std::string text() const;

 private:
  std::vector<CommEvent> events_;
};
std::ostream& operator<<(std::ostream& os, const CommReport& report);

// A traced or lowered program. Text parses back to an equal program.
class Program {
 public:
  explicit Program(std::shared_ptr<const ir::Program> program) : program_(std::move(program)) {}
  // Throws RuntimeError with the place in the text.
  static Program Parse(std::string_view text, Loc loc = Loc::Current());
  // Returns the program in a file. Places, in errors and later in reports, are lines of the file.
  // Throws RuntimeError if it cannot be read.
  static Program Load(const std::string& path, Loc loc = Loc::Current());
  std::string text() const;
  std::vector<ArrayType> inputs() const;
  std::vector<ArrayType> outputs() const;
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
  CommReport comm() const;
  int64_t peak_bytes() const;  // per device: arguments, results and temporaries
  int64_t flops() const;       // per device

 private:
  std::shared_ptr<const Impl> impl_;
};

// Returns a program, traced or read, made ready for the devices of its mesh. Throws ShardingError
// if it breaks a CommPolicy in scope; RuntimeError for a device program.
Lowered lower(const Program& program, Loc loc = Loc::Current());

enum class CommRule : uint8_t { kAllow, kForbidImplied, kForbid };
struct CommLimits {
  CommRule rule = CommRule::kAllow;
  std::vector<CommKind> kinds = {};  // that the rule is about; empty: all
  AxisNames axes = {};               // that the rule is about; empty: all
  int64_t bytes = -1;                // most that may leave a device in one program; -1: any
  bool warn_only = false;            // print to stderr instead of throwing
};

// Scope: limits that every program built inside must keep, or ShardingError names all violations.
// Nested scopes all hold.
class [[nodiscard]] CommPolicy {
 public:
  explicit CommPolicy(CommLimits limits);
  ~CommPolicy();
  CommPolicy(const CommPolicy&) = delete;
};

}  // namespace tessera
