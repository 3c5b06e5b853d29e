// Functions of the host that a program calls with the values of its devices: callbacks.
#pragma once
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
  // Its shards, one for each device by position in the mesh; one alone where it is on no mesh. They
  // are read while the call lasts.
  std::vector<const std::byte*> shards;
};
// Where a function with results puts one: its elements, dense and row-major.
struct HostResult {
  const Type* type;  // on no mesh
  std::byte* data;
};
struct HostArguments {
  std::vector<HostArgument> values;
  std::vector<int64_t> iterations = {};  // of the loops around the call, from the outermost on
  // The device whose call it is, inside of what devices run differently: the values are its own
  // arrays, on no mesh. -1: the call is one for all devices.
  int64_t device = -1;
  std::vector<HostResult> results = {};  // of a function that has some
};

// Returns "device 5 (x=1, y=2)", of a position in the mesh.
std::string DeviceText(const sharding::MeshDef& mesh, int64_t position);

class HostFunction {
 public:
  HostFunction();
  // As text has it: that of a function which is not in this process.
  explicit HostFunction(int64_t number) : number_(number) {}
  virtual ~HostFunction() = default;
  virtual void Run(const HostArguments& arguments) const = 0;
  int64_t number() const { return number_; }

 private:
  const int64_t number_;
};

// A function as a parameter. In text it is a number; a program that is read from text has a
// function of that number that cannot be run.
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

// Of pure_callback. Where a function is mapped, it is called once for each index of `lanes` dims in
// front of the results; `lanes_of` says which of them each operand has, in front.
struct PureCallParams {
  HostFunctionRef function;
  std::vector<const Type*> results;  // of one call, on no mesh
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
// Whether the program, or a region or rule in it, has a function of the host.
bool HasHostFunctions(const Program& program);

}  // namespace tessera::ir
