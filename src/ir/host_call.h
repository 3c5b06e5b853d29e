// Callbacks: host functions that a program calls with values from its devices.
#pragma once
#include <absl/types/span.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ir/params.h"

namespace tessera::sharding {
class MeshDef;
}

namespace tessera::ir {

struct Program;

// A value on its devices, as the host sees it.
struct HostArgument {
  const Type* place;  // the global type with the complete sharding, on the mesh without modes
  // One shard per device by position in the mesh, or a single one without a mesh; null if another
  // process has it. They are valid during the call.
  std::vector<const std::byte*> shards;
};
// The buffer of one result of a host function, dense and row-major.
struct HostResult {
  const Type* type;  // without a mesh
  std::byte* data;
};
struct HostArguments {
  std::vector<HostArgument> values;
  std::vector<int64_t> iterations = {};  // of the enclosing loops, outermost first
  // The calling device, inside a region that devices run differently. The values are then its own
  // arrays, without a mesh. -1: one call for all devices.
  int64_t device = -1;
  std::vector<HostResult> results = {};  // empty if the function has none
};

// Returns "device 5 (x=1, y=2)" for a position in the mesh.
std::string DeviceText(const sharding::MeshDef& mesh, int64_t position);

// An operand of a host function that takes it shard by shard.
struct ShardedOperand {
  size_t number = 0;             // among the operands of the call
  const Type* place = nullptr;   // as in HostArgument
  std::vector<int32_t> buffers;  // per position in the mesh: positions with equal numbers share one
  int64_t device = -1;           // as in HostArguments
};
// A shard, or a part of one that several threads read.
struct HostShard {
  int64_t position = 0;  // in the mesh, of a device that holds it
  const std::byte* data = nullptr;
  int64_t part = 0, parts = 1;
  absl::Span<const int64_t> iterations = {};  // as in HostArguments
};
class ShardFunction {
 public:
  virtual ~ShardFunction() = default;
  // Into how many parts a shard may be divided, at most.
  virtual int64_t max_parts() const = 0;
  virtual void Run(const HostShard& shard) const = 0;
};

class HostFunction {
 public:
  HostFunction();
  // Stands for a function that is known by its number in program text alone.
  explicit HostFunction(int64_t number) : number_(number) {}
  virtual ~HostFunction() = default;
  virtual void Run(const HostArguments& arguments) const = 0;
  // Whether it takes its operands shard by shard, in any order and from any thread. It then has no
  // results, and is called with shards alone.
  virtual bool CanTakeShards() const { return false; }
  // Returns the function of the shards of an operand; null unless it takes them.
  virtual std::shared_ptr<const ShardFunction> ForShards(const ShardedOperand&) const {
    return nullptr;
  }
  int64_t number() const { return number_; }

 private:
  const int64_t number_;
};

// A function as a parameter. Program text holds its number; a function read from text cannot run.
struct HostFunctionRef {
  std::shared_ptr<const HostFunction> function;
  friend bool operator==(const HostFunctionRef& a, const HostFunctionRef& b) {
    return a.function->number() == b.function->number();
  }
};
inline void MapField(const Mapping&, HostFunctionRef&) {}
inline bool IsMissing(const HostFunctionRef& f) { return !f.function; }
size_t FieldHash(size_t h, const HostFunctionRef& f);
std::string FieldText(const HostFunctionRef& f);
void ReadField(base::Reader& in, HostFunctionRef& f);

struct HostCallParams {
  HostFunctionRef function;
  friend bool operator==(const HostCallParams&, const HostCallParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("function", s.function);
  }
};

// Parameters of pure_callback. Under vmap the function is called once per index of the `lanes`
// leading dims of the results. lanes_of[k] lists the lanes that operand k has as its leading dims.
struct PureCallParams {
  HostFunctionRef function;
  std::vector<const Type*> results;  // of one call, without a mesh
  int64_t vmap_method = 0;           // a VmapMethod
  int64_t lanes = 0;
  std::vector<std::vector<int64_t>> lanes_of = {};
  friend bool operator==(const PureCallParams&, const PureCallParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("function", s.function);
    f("results", s.results);
    f("vmap_method", s.vmap_method);
    f("lanes", s.lanes);
    f("lanes_of", s.lanes_of);
  }
};

bool HasHostFunction(const Params* params);
// Whether the program, a region or a rule in it calls a host function.
bool HasHostFunctions(const Program& program);

}  // namespace tessera::ir
