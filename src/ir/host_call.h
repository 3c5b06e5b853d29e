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

// A value on its devices, as the host sees it.
struct HostArgument {
  const Type* place;  // the global type with the complete sharding, on the mesh without modes
  // Its shards, one for each device by position in the mesh; one alone where it is on no mesh. They
  // are read while the call lasts.
  std::vector<const std::byte*> shards;
};
struct HostArguments {
  std::vector<HostArgument> values;
  std::vector<int64_t> iterations = {};  // of the loops around the call, from the outermost on
  // The device whose call it is, inside of what devices run differently: the values are its own
  // arrays, on no mesh. -1: the call is one for all devices.
  int64_t device = -1;
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

}  // namespace tessera::ir
