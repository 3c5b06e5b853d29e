// The contents of an Array: a value on devices, a value of a trace, or only a type.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

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
  // Returns the type with the complete sharding, including Auto axes, on the mesh without modes.
  // Null: the type is complete, or the layout is not known.
  virtual const ir::Type* place() const { return nullptr; }
  Loc loc() const { return loc_; }
  // The line that donated this array's buffers, if one did.
  std::optional<Loc> donated_at = {};
  // Whether other processes had parts of this array, and run on their own now.
  bool lost_parts = false;
  // The array that the user wrote, if the library made this one from it to fit its rank.
  struct Written {
    const ir::Type* type;
    Loc loc;
  };
  std::optional<Written> written = {};
  // Whether its variables report assignments (trace/watch.h).
  std::atomic<bool> watched = false;

 private:
  Kind kind_;
  const ir::Type* type_;
  Loc loc_;
};
using ArrayRef = std::shared_ptr<ArrayImpl>;

// An array without elements. `place`: as ArrayImpl::place.
class AbstractArray : public ArrayImpl {
 public:
  AbstractArray(const ir::Type* type, const ir::Type* place, Loc loc)
      : ArrayImpl(kAbstract, type, loc), place_(place) {}
  const ir::Type* place() const override { return place_; }

 private:
  const ir::Type* place_;
};

// An array on devices, which the executor makes and takes.
class ConcreteArray : public ArrayImpl {
 public:
  // `placed`: the type with the complete sharding, including Auto axes, on the mesh without modes.
  ConcreteArray(const ir::Type* type, const ir::Type* placed, Loc loc);
  ~ConcreteArray() override;
  const ir::Type* placed() const { return placed_; }
  const ir::Type* place() const override { return placed_ == type() ? nullptr : placed_; }
  // Whether devices with equal bits share a buffer. Compiled programs depend on it.
  virtual bool shares_replicas() const = 0;

 private:
  const ir::Type* placed_;
  // The neighbours in the list of all arrays on meshes, the older and the newer one.
  ConcreteArray *older_ = nullptr, *newer_ = nullptr;
  friend struct ShardedArrays;
};
// The concrete arrays on meshes, without those that only programs keep.
struct LiveArrays {
  int64_t count = 0;
  std::optional<Loc> oldest_made_at = {};
};
LiveArrays LiveShardedArrays();
// Calls f for each array on a mesh, also for those that only programs keep. f must not make or
// destroy arrays.
void ForEachShardedArray(absl::FunctionRef<void(ConcreteArray& array)> f);

// An array that a program or a cache keeps alive.
using KeptArray = std::shared_ptr<const void>;
KeptArray Keep(const ArrayRef& array);
ArrayRef ArrayOf(const KeptArray& kept);
// Returns the outside array that a traced program uses.
inline ArrayRef CapturedArray(const ir::Capture& capture) { return ArrayOf(capture.array); }

// How a region runs: whether it repeats, whether it is one of several alternatives, and the axes
// along which devices may run it differently.
struct RegionRuns {
  bool repeats = false;  // in a loop
  uint64_t choice = 0;   // of the regions with one number, one runs; 0: not a choice
  // The Manual axes along which devices may run the region differently, since its predicate varies,
  // and a description of that predicate.
  sharding::AxisList diverges = {};
  std::string by = {};
  // The axes over which arrays that enter are cast to varying: `diverges`, and all others over
  // which the region's values vary.
  sharding::AxisList enters = {};
  // For one batch element of a vmap: whether each parameter is an element of a mapped array.
  std::vector<bool> mapped = {};
};
// Returns a new number for a branch instruction (RegionRuns::choice).
uint64_t NewChoice();

// One run of a user's function under a transform, and the program that it records. It belongs to
// the thread that began it.
class Trace : public std::enable_shared_from_this<Trace> {
 public:
  // `outer`: the trace that has this one as a region, or null.
  Trace(const sharding::MeshDef* mesh, Loc loc, std::shared_ptr<Trace> outer = nullptr,
        RegionRuns runs = {});
  uint64_t id() const { return id_; }  // unique among all traces, also later ones
  Trace* outer() const { return outer_.get(); }
  const sharding::MeshDef* mesh() const { return mesh_; }  // the current mesh where the trace began
  const RegionRuns& runs() const { return runs_; }
  ir::Program& program() { return program_; }
  ir::Builder& builder() { return builder_; }
  Loc loc() const { return loc_; }
  // Returns the value of `array` in this program: its own, or a capture. Values of
  // outer traces may be captured.
  ir::ValueId Lift(const ArrayRef& array, Loc use);
  // Names a value in explanations and dumps.
  void Name(const std::string& name, ir::ValueId value) {
    program_.names.emplace_back(name, value);
  }
  // Returns the slot for an outside array as it was brought in under this mesh (see Enter).
  // Each is brought in once.
  Array& Entered(const ArrayRef& array, const sharding::MeshDef* mesh) {
    return entered_[{array, mesh}];
  }
  // Ends recording. The values may not be used any more.
  void End() {
    ended_ = true;
    entered_.clear();
  }
  // Whether `trace` is this trace or an outer one.
  bool IsInside(const Trace* trace) const;
  bool ended() const { return ended_; }
  // Throws TraceError, named after `op`, on any thread but the trace's.
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

class TracedArray : public ArrayImpl {
 public:
  TracedArray(const ir::Type* type, Loc loc, std::shared_ptr<Trace> trace, ir::ValueId value)
      : ArrayImpl(kTraced, type, loc), trace(std::move(trace)), value(value) {}
  const std::shared_ptr<Trace> trace;
  const ir::ValueId value;
};

// Returns the implementation of an array. Throws TraceError if it was never given a value, was
// donated, or belongs to a trace that has ended.
const ArrayRef& Use(const Array& array, const char* op, Loc loc);
// As above, for an array of a tree: `name`, which is called only for an error, returns its name,
// such as "argument 0.layers[1].b".
const ArrayRef& Use(const Array& array, const char* op, Loc loc,
                    absl::FunctionRef<std::string()> name);
// Returns the type of an array. Accepts a donated array too.
const ir::Type* UseType(const Array& array, const char* op, Loc loc);

// Runs programs.
class Executor {
 public:
  virtual ~Executor() = default;
  using Compiled = std::shared_ptr<const void>;
  // Compiles a program. `shares`: shares_replicas, per input and capture.
  virtual Compiled Compile(std::shared_ptr<const ir::Program> program, std::vector<bool> donated,
                           std::vector<bool> shares) = 0;
  virtual std::vector<ArrayRef> Run(const void* compiled, std::vector<ArrayRef> inputs,
                                    Loc loc) = 0;
  // Returns the words of each key in an array on devices as one number. Empty for a sharded array,
  // and if some processes do not have it.
  virtual std::vector<uint64_t> KeysOf(const ArrayImpl& keys) = 0;
  // Returns a hash of everything that decides how a program is compiled, apart from its text.
  virtual size_t CompileKey() = 0;
};
// Installs the executor. The layer with a runtime (src/compile) does so before main.
using GetExecutor = Executor& (*)();
void InstallExecutor(GetExecutor get);
Executor& TheExecutor();

}  // namespace tessera::trace
