// Host functions as parameters of instructions.
#include "ir/host_call.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/reader.h"
#include "ir/program.h"
#include "sharding/mesh.h"

namespace tessera::ir {
namespace {

int64_t NextNumber() {
  static std::atomic<int64_t> next{0};
  return next++;
}

class OfText final : public HostFunction {
 public:
  using HostFunction::HostFunction;
  void Run(const HostArguments& arguments) const override {
    base::ThrowRuntime(base::Refusal(
        arguments.results.empty() ? "debug_callback" : "pure_callback", 19, "",
        fmt::format("program text does not contain host function {}, only its number", number())));
  }
};

}  // namespace

HostFunction::HostFunction() : HostFunction(NextNumber()) {}

std::string DeviceText(const sharding::MeshDef& mesh, int64_t position) {
  std::string at;
  for (int a = 0; a < mesh.rank(); ++a)
    at += fmt::format("{}{}={}", at.empty() ? "" : ", ", mesh.axes()[a].name,
                      mesh.Coordinate(position, a));
  return fmt::format("device {} ({})", mesh.Device(position), at);
}

size_t FieldHash(size_t h, const HostFunctionRef& f) { return FieldHash(h, f.function->number()); }
std::string FieldText(const HostFunctionRef& f) { return FieldText(f.function->number()); }
void ReadField(base::Reader& in, HostFunctionRef& f) {
  int64_t number = 0;
  ReadField(in, number);
  f.function = std::make_shared<const OfText>(number);
}

bool HasHostFunction(const Params* params) {
  return dynamic_cast<const ParamsOf<HostCallParams>*>(params) ||
         dynamic_cast<const ParamsOf<PureCallParams>*>(params);
}
bool HasHostFunctions(const Program& program) {
  return absl::c_any_of(program.instructions, [](const Instruction& i) {
    return HasHostFunction(i.params.get()) ||
           absl::c_any_of(i.regions, [](const auto& r) { return HasHostFunctions(*r); });
  });
}

}  // namespace tessera::ir
