// What an Array holds: a value on devices, a value of a trace, or only a type.
#pragma once
#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ir/builder.h"
#include "ir/program.h"
#include "tessera/array.h"

namespace tessera::trace {

class Trace;

class ArrayImpl {
 public:
  enum Kind : uint8_t { kConcrete, kTraced, kAbstract };
  ArrayImpl(Kind kind, const ir::Type* type, Loc loc) : kind_(kind), type_(type), loc_(loc) {}
  virtual ~ArrayImpl();
  ArrayImpl(const ArrayImpl&) = delete;

  Kind kind() const { return kind_; }
  const ir::Type* type() const { return type_; }
  Loc loc() const { return loc_; }
  // The line that gave this array's buffers away (donated), if one did.
  std::optional<Loc> donated_at = {};
  // The array that the user wrote, where the library made this one of it to fit its rank.
  struct Written {
    const ir::Type* type;
    Loc loc;
  };
  std::optional<Written> written = {};
  // Whether variables that have it tell when they are assigned (trace/watch.h).
  std::atomic<bool> watched = false;

 private:
  Kind kind_;
  const ir::Type* type_;
  Loc loc_;
};
using ArrayRef = std::shared_ptr<ArrayImpl>;

// An array on devices: what the executor makes and takes.
class ConcreteArray : public ArrayImpl {
 public:
  // `placed`: the type with the complete sharding, Auto axes included, on the mesh without modes.
  ConcreteArray(const ir::Type* type, const ir::Type* placed, Loc loc);
  ~ConcreteArray() override;
  const ir::Type* placed() const { return placed_; }
  // Whether devices with equal bits share a buffer; part of what a compiled program expects.
  virtual bool shares_replicas() const = 0;

 private:
  const ir::Type* placed_;
};
// The layout that an array has, where its type does not say it all: null if it has none, or its
// type says it.
const ir::Type* PlaceOf(const ArrayImpl& array);
// Number of concrete arrays on meshes, but for those that programs alone keep.
int64_t LiveShardedArrays();

// An array that a program, or whatever else caches have, keeps for itself.
using KeptArray = std::shared_ptr<const void>;
KeptArray Keep(const ArrayRef& array);
ArrayRef ArrayOf(const KeptArray& kept);
// Returns the array of the outside that a traced program uses.
inline ArrayRef CapturedArray(const ir::Capture& capture) { return ArrayOf(capture.array); }

// How often a region runs.
struct RegionRuns {
  bool repeats = false;  // in a loop
  uint64_t choice = 0;   // of regions with the same number, one runs; 0: none of several
  // Manual axes along which devices may run it differently, as its predicate varies; what that is.
  sharding::AxisList diverges = {};
  std::string by = {};
  // Over which what enters it is cast to varying: those, and whatever else varies in it.
  sharding::AxisList enters = {};
};
// Returns a number that no other choice has.
uint64_t NewChoice();

// One run of a user's function under a transform: the program it records. It belongs to the thread
// that began it.
class Trace : public std::enable_shared_from_this<Trace> {
 public:
  // `outer`: the trace that this one is a region of, or null.
  Trace(const sharding::MeshDef* mesh, Loc loc, std::shared_ptr<Trace> outer = nullptr,
        RegionRuns runs = {});
  uint64_t id() const { return id_; }  // no other trace has it, now or later
  Trace* outer() const { return outer_.get(); }
  const sharding::MeshDef* mesh() const { return mesh_; }  // current where it was begun
  const RegionRuns& runs() const { return runs_; }
  ir::Program& program() { return program_; }
  ir::Builder& builder() { return builder_; }
  Loc loc() const { return loc_; }
  // Returns the value that stands for `array` here: its own, or a capture. Values of the traces
  // around this one may be captured.
  ir::ValueId Lift(const ArrayRef& array, Loc use);
  // Lets explanations and dumps call the value by this name.
  void Name(const std::string& name, ir::ValueId value) {
    program_.names.emplace_back(name, value);
  }
  // What arrays of the outside became here, under this mesh (see Enter): each is brought in once.
  Array& Entered(const ArrayRef& array, const sharding::MeshDef* mesh) {
    return entered_[{array, mesh}];
  }
  // What is recorded is complete: its values are used no more.
  void End() {
    ended_ = true;
    entered_.clear();
  }
  // Whether `trace` is this one or one around it.
  bool IsInside(const Trace* trace) const;
  bool ended() const { return ended_; }
  // Throws TraceError, `op`'s, on any other thread than the trace's.
  void CheckThread(const char* op, const ArrayImpl& array, Loc use) const {
    if (thread_ != std::this_thread::get_id()) FailThread(op, array, use);
  }

 private:
  [[noreturn]] void FailThread(const char* op, const ArrayImpl& array, Loc use) const;
  ir::Program program_;
  ir::Builder builder_;
  Loc loc_;
  const std::shared_ptr<Trace> outer_;
  const sharding::MeshDef* const mesh_;
  const RegionRuns runs_;
  const uint64_t id_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> ended_ = false;
  absl::flat_hash_map<const ArrayImpl*, ir::ValueId> captured_;
  absl::flat_hash_map<std::pair<ArrayRef, const sharding::MeshDef*>, Array> entered_;
};

class TracedArray final : public ArrayImpl {
 public:
  TracedArray(const ir::Type* type, Loc loc, std::shared_ptr<Trace> trace, ir::ValueId value)
      : ArrayImpl(kTraced, type, loc), trace(std::move(trace)), value(value) {}
  const std::shared_ptr<Trace> trace;
  const ir::ValueId value;
};

// Returns the implementation of an array that may be used, or throws TraceError: never given a
// value, donated, or traced by a trace that has ended.
const ArrayRef& Use(const Array& array, const char* op, Loc loc);

// The ops that bring an array of the outside into a region, and their params of no axes and dims.
struct Casts {
  const ir::OpDef *full_to_shard, *pcast;
  ir::ParamsPtr no_axes;
};

// Runs programs.
class Executor {
 public:
  virtual ~Executor() = default;
  using Compiled = std::shared_ptr<const void>;
  // Returns the program made ready to run. `shares`: per input and capture, shares_replicas.
  virtual Compiled Compile(std::shared_ptr<const ir::Program> program, std::vector<bool> donated,
                           std::vector<bool> shares) = 0;
  virtual std::vector<ArrayRef> Run(const void* compiled, std::vector<ArrayRef> inputs,
                                    Loc loc) = 0;
  // Returns the words of each key of an array on devices, as one number; nothing of a sharded one.
  virtual std::vector<uint64_t> KeysOf(const ArrayImpl& keys) = 0;
  // Everything outside of a program's text that decides how it is compiled.
  virtual size_t CompileKey() = 0;
  virtual const trace::Casts& Casts() = 0;
};
// Says who runs programs. The layer that has a runtime does, before main: src/compile.
using GetExecutor = Executor& (*)();
void InstallExecutor(GetExecutor get);
Executor& TheExecutor();

}  // namespace tessera::trace
