// Programs, and their communication, memory and FLOPs before they run; limits on them.
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
namespace trace {
class KeptCompilation;
}

class Array;
class Profile;

enum class CommKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kCollectivePermute,
  // Parts of shards, for a slice, pad, concatenate, rev or roll of a sharded dim.
  kHaloExchange
};
// Returns the collective's name in reports: "all_gather".
const char* comm_name(CommKind kind);

// One collective of a program.
struct CommEvent {
  CommKind kind;
  std::vector<std::string> axes;  // whole axes, or parts as types write them: "x:(1)2"
  // Payload that leaves each device in one run of the collective. For a halo_exchange: the payload
  // that reaches the device that receives most.
  int64_t bytes = 0;
  // Number of runs. With `repeats` it is the number per iteration of a loop whose trip count
  // is known only after it has run. All branches of cond and switch_case count, although only
  // one runs.
  int64_t times = 1;
  std::string where;       // "model.cc:12"
  bool backward = false;   // in the backward pass; `where` is the forward line
  bool implied = false;    // not written by the user (docs/design.md lists the cases)
  bool repeats = false;    // in a while_loop
  std::string scope = {};  // of the line, if a front end gave it: "jit(step)/mlp/dot_general"
  // The cause: the op that makes the value, and its line ("argument" and its number "%3" for an
  // argument); the op that reads the received value, and its line ("return" for a result); change:
  // "from=f32[8]{U:x}, to=f32[8@x]".
  std::string made_by = {}, made_at = {};
  std::string read_by = {}, read_at = {};
  std::string change = {};
};

// The communication of a program, and how its work is divided.
class CommReport {
 public:
  explicit CommReport(std::vector<CommEvent> events = {}, int64_t flops = 0,
                      int64_t split_flops = 0)
      : events_(std::move(events)), flops_(flops), split_flops_(split_flops) {}
  const std::vector<CommEvent>& events() const& { return events_; }
  std::vector<CommEvent> events() && { return std::move(events_); }  // for lower(x).comm().events()
  int64_t flops() const { return flops_; }                           // per device
  // FLOPs per device if all devices of the mesh shared the work evenly and nothing were done twice.
  int64_t split_flops() const { return split_flops_; }
  // Returns the payload in bytes that leaves each device, over all events.
  int64_t bytes() const {
    int64_t sum = 0;
    for (const CommEvent& e : events_) sum += e.bytes * e.times;
    return sum;
  }
  // Return how many collectives of this kind run: over any axes, or only those over exactly `axes`.
  int64_t count(CommKind kind) const;
  int64_t count(CommKind kind, AxisNames axes) const;
  bool empty() const { return events_.empty(); }
  // Returns the events, with events of repeated layers, which differ at most in `times`, merged
  // into one.
  std::vector<CommEvent> lines() const;
  // Returns one line for each of lines(), followed by the bytes and FLOPs of a device.
  std::string text() const;

 private:
  std::vector<CommEvent> events_;
  int64_t flops_, split_flops_;
};
std::ostream& operator<<(std::ostream& os, const CommReport& report);

// The use of memory.
enum class MemoryKind : uint8_t {
  kArgument,   // an argument or a captured array, from the beginning to the end
  kResult,     // a value that the program returns
  kKept,       // a value of the forward pass that the backward pass reads
  kTemporary,  // any other value
  kExchange    // a collective writes it
};
// All kinds, in the order of reports.
inline constexpr MemoryKind kMemoryKinds[] = {MemoryKind::kArgument, MemoryKind::kResult,
                                              MemoryKind::kKept, MemoryKind::kTemporary,
                                              MemoryKind::kExchange};
// Returns the kind's name in reports: "kept for the backward pass".
const char* memory_name(MemoryKind kind);

// A value in the memory of a device.
struct MemoryBuffer {
  MemoryKind kind;
  int64_t bytes = 0;
  int64_t begin = 0, end = 0;  // the steps during which it is held: [begin, end)
  std::string op;              // the op that makes it: "dot_general"; "argument"
  std::string type;            // of a device's part: "f32[4,8]"
  std::string where;           // "model.cc:12"
  std::string scope;           // as in CommEvent
  bool backward = false;       // made in the backward pass
};

// A step of a device program: its start, or some ops that run at once.
struct MemoryStep {
  std::string op;     // "dot_general", "add, tanh"; "start"
  std::string where;  // "model.cc:12"
  bool backward = false;
};

// The memory of a device during each step. A loop or a branch is one step, with the memory of its
// body at the body's own peak.
class MemoryReport {
 public:
  MemoryReport(std::vector<MemoryStep> steps, std::vector<MemoryBuffer> buffers);
  const std::vector<MemoryStep>& steps() const& { return steps_; }
  std::vector<MemoryStep> steps() && { return std::move(steps_); }
  const std::vector<MemoryBuffer>& buffers() const& { return buffers_; }
  std::vector<MemoryBuffer> buffers() && { return std::move(buffers_); }
  // Returns the bytes that are held during each step: in all, and of one kind.
  std::vector<int64_t> bytes() const;
  std::vector<int64_t> bytes(MemoryKind kind) const;
  // Returns the first step that holds most, and how much that is.
  int64_t peak_step() const { return peak_step_; }
  int64_t peak_bytes() const { return peak_bytes_; }
  // Returns the parts of the peak: one line for each kind, then for each line of the program
  // with the kind, the most bytes first.
  std::string text() const;

 private:
  std::vector<MemoryStep> steps_;
  std::vector<MemoryBuffer> buffers_;
  int64_t peak_step_ = 0, peak_bytes_ = 0;
};
std::ostream& operator<<(std::ostream& os, const MemoryReport& report);

// How a jitted function was called when its program was traced.
struct ProgramBorder {
  // The names of the arrays among the arguments, "argument 0.layers[1].w", and the results.
  std::vector<std::string> inputs = {}, outputs = {};
  std::vector<bool> donated = {};  // which inputs a run donates
};

// A traced or lowered program. Its text parses back to an equal program.
class Program {
 public:
  explicit Program(std::shared_ptr<const ir::Program> program, ProgramBorder border = {});
  // Parses a program. The source line of an instruction is the one in its comment (`//
  // model.cc:12`), or else the caller's line. Throws RuntimeError with the position in the text.
  static Program Parse(std::string_view text, Loc loc = Loc::Current());
  // Same, for a file of text, or one that `save` wrote. The source line of an instruction without a
  // comment is its line in the text. The arrays that a saved program captures stay in the file,
  // which is mapped, unless they are sharded; it must not be cut while the program is in use (save
  // replaces files, and cuts none). Throws RuntimeError if the file cannot be read, is damaged or
  // of another version, or if the process has fewer devices than the mesh of a saved program.
  static Program Load(const std::string& path, Loc loc = Loc::Current());
  // Writes the program to a file that replaces the old one when it is complete: its text, the
  // arrays that it captures, and its border. Another process loads and runs it without tracing.
  // Throws RuntimeError if the file cannot be written, for a device program, and for a program that
  // calls functions of this process.
  void save(const std::string& path, Loc loc = Loc::Current()) const;
  // Returns the results for arguments of the types of inputs(), which are laid out as these say.
  // Arrays that the border donates are given up. The first run compiles the program. Throws
  // ShapeError for another number of arguments, or of other shapes or dtypes; RuntimeError as
  // to_function (stablehlo.h). run_as (saved.h) takes and returns trees.
  std::vector<Array> run(std::vector<Array> arguments, Loc loc = Loc::Current()) const;
  // Returns the border of a program of a jitted function; empty for parsed text.
  const ProgramBorder& border() const { return *border_; }
  // Returns the text of the program, which Parse reads.
  std::string text() const;
  std::vector<ArrayType> inputs() const;   // types of the arguments, in order
  std::vector<ArrayType> outputs() const;  // types of the results
  // Returns the program with the complete sharding of every value, or the program itself if no axis
  // is Auto. Throws RuntimeError for a device program.
  Program propagated(propagation::Stage stop_after = propagation::Stage::kUserPriority,
                     Loc loc = Loc::Current()) const;
  const std::shared_ptr<const ir::Program>& program() const { return program_; }

 private:
  std::shared_ptr<const ir::Program> program_;
  std::shared_ptr<const ProgramBorder> border_;
  std::shared_ptr<trace::KeptCompilation> kept_;  // of runs
};
std::ostream& operator<<(std::ostream& os, const Program& program);

// A program lowered for the devices of its mesh, which may be abstract.
class Lowered {
 public:
  struct Impl;
  explicit Lowered(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  Program program() const;         // the traced program
  Program propagated() const;      // with complete shardings, Auto axes included
  Program device_program() const;  // of one device, with local shapes and collectives
  CommReport comm() const;         // the communication of the device program
  int64_t peak_bytes() const;      // per device: arguments, results and temporaries
  MemoryReport memory() const;     // of a device, during each step
  // Returns the FLOPs per device. It counts one iteration of a loop whose trip count is not known,
  // and the most expensive branch.
  int64_t flops() const;
  // Returns the FLOPs per device if all devices shared the work evenly and nothing were done twice.
  int64_t split_flops() const;
  std::string text() const;  // device program, communication report, memory
  // Runs the program and returns a profile of the run (tessera/profile.h).
  template <class... Args>
  Profile profile(const Args&... args) const;
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

std::ostream& operator<<(std::ostream& os, const Lowered& lowered);

// Returns a traced or parsed program lowered for the devices of its mesh. Throws ShardingError if
// it violates a CommPolicy in scope; RuntimeError for a device program.
Lowered lower(const Program& program, Loc loc = Loc::Current());

// Options that find the cause of a wrong program: the pass after which it is wrong, or the value
// that must not be sharded.
struct PartitionOptions {
  // The last pass that runs: one of the table in docs/design.md. Empty: all run.
  std::string stop_after = {};
  // Values that are sharded, as the text of the propagated program numbers them: "%7,%9". All
  // others are replicated, but for arguments and results. Empty: all are sharded.
  std::string only = {};
};
// Returns the program of one device as text, with its communication, memory and FLOPs; or, with
// `stop_after`, the program as that pass leaves it. Throws RuntimeError if there is no such pass or
// value, and as `lower` does.
std::string partition_text(const Program& program, const PartitionOptions& options = {},
                           Loc loc = Loc::Current());

enum class CommRule : uint8_t { kAllow, kForbidImplied, kForbid };
struct CommLimits {
  CommRule rule = CommRule::kAllow;
  std::vector<CommKind> kinds = {};  // the rule's collectives; empty: all
  AxisNames axes = {};               // the rule's mesh axes; empty: all
  int64_t bytes = -1;                // most bytes that may leave a device per program; -1: no limit
  bool warn_only = false;            // print to stderr instead of throwing
};

// Scope: limits that every program built inside must keep; otherwise a ShardingError lists all
// violations. Nested scopes all apply. A program whose mesh lacks an axis of the limits is refused.
class [[nodiscard]] CommPolicy {
 public:
  [[nodiscard]] explicit CommPolicy(CommLimits limits, Loc loc = Loc::Current());
  ~CommPolicy();
  CommPolicy(const CommPolicy&) = delete;
};

// Scope: sets the number of FLOPs that a device computes in the time it sends one byte. It
// decides between lowerings of a program that send more and compute less, and ones that send less
// and compute more. Infinity minimises bytes alone. The default, 1000, matches current
// accelerators with their own links. Operands that are sharded alike always share the work,
// whatever the balance.
class [[nodiscard]] MachineBalance {
 public:
  // Throws ShapeError unless flops_per_byte > 0.
  [[nodiscard]] explicit MachineBalance(double flops_per_byte, Loc loc = Loc::Current());
  ~MachineBalance();
  MachineBalance(const MachineBalance&) = delete;

 private:
  double old_;
};

}  // namespace tessera
