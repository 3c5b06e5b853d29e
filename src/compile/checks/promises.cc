// Adds host calls that compare the values that are assumed to be invariant.
#include "compile/checks/promises.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>

#include "base/at.h"
#include "base/error.h"
#include "compile/host/concrete.h"
#include "ir/host_call.h"
#include "ir/host_tensor.h"
#include "ir/inline.h"
#include "ops/host_call.h"
#include "ops/manual.h"
#include "sharding/local.h"

namespace tessera::compile {
namespace {

#ifdef _GLIBCXX_ASSERTIONS  // as for base::At
constexpr bool kChecked = true;
#else
constexpr bool kChecked = false;
#endif

// Returns the text of an element: elements with different bits have different texts.
std::string ElementText(DType dtype, const std::byte* data) {
  ir::HostTensor number(dtype, {});
  std::memcpy(number.data.data(), data, number.data.size());
  if (dtype.is_complex())
    return fmt::format("({}, {})", number.Complex(0).real(), number.Complex(0).imag());
  if (dtype.is_floating()) return fmt::format("{}", number.Float(0));
  if (dtype.is_bool()) return number.Int(0) ? "true" : "false";
  if (!dtype.is_key()) return std::to_string(number.Int(0));
  uint64_t key = 0;
  std::memcpy(&key, data, sizeof key);
  return fmt::format("key {:016x}", key);
}

class Promise final : public ir::HostFunction {
 public:
  Promise(ops::NameList axes, Loc loc) : axes_(std::move(axes)), loc_(loc) {}

  void Run(const ir::HostArguments& arguments) const override {
    if (arguments.device >= 0) return;
    const ir::HostArgument& value = arguments.values[0];
    const ir::Type& type = *value.place;
    const sharding::AxisList axes = ops::AxesOf(type.mesh(), axes_);
    const auto bytes =
        base::Size(sharding::LocalElements(type.shape(), type.sharding()) * type.dtype().size());
    // The first device of this process in each group that must agree.
    std::map<int64_t, size_t> first_of;
    for (size_t p = 0; p < value.shards.size(); ++p) {
      if (!value.shards[p]) continue;
      const int64_t group =
          sharding::WithShardIndex(*type.mesh(), axes, static_cast<int64_t>(p), 0);
      const size_t first = first_of.try_emplace(group, p).first->second;
      if (bytes > 0 && std::memcmp(value.shards[first], value.shards[p], bytes) != 0)
        Fail(value, first, p);
    }
  }

 private:
  // C39.
  [[noreturn]] void Fail(const ir::HostArgument& value, size_t a, size_t b) const {
    const ir::Type& type = *value.place;
    const base::Shape local = sharding::LocalShape(type.shape(), type.sharding());
    const auto size = base::Size(type.dtype().size());
    size_t i = 0;
    while (std::memcmp(value.shards[a] + i * size, value.shards[b] + i * size, size) == 0) ++i;
    const auto on = [&](size_t p) {
      return fmt::format("{} on {}", ElementText(type.dtype(), value.shards[p] + i * size),
                         ir::DeviceText(*type.mesh(), static_cast<int64_t>(p)));
    };
    const std::string element =
        local.empty() ? ""
                      : fmt::format("element [{}] of ",
                                    fmt::join(ir::CoordsOf(local, static_cast<int64_t>(i)), ", "));
    base::ThrowRuntime(base::Refusal("assume_invariant", 39, base::Where(loc_),
                                     fmt::format("the value is not invariant: {}{} is {} but {}",
                                                 element, type.text(), on(a), on(b)),
                                     {"make it the same: psum, pmax, pmin or pbroadcast"}));
  }

  const ops::NameList axes_;
  const Loc loc_;
};

bool Promises(const ir::Program& program) {
  return absl::c_any_of(program.instructions, [](const ir::Instruction& i) {
    return i.op == &ops::kAssumeInvariant ||
           absl::c_any_of(i.regions, [](const ir::RegionPtr& r) { return Promises(*r); });
  });
}

ir::Program Checked(const ir::Program& program) {
  ir::Program out = program;
  out.instructions.clear();
  for (ir::Instruction i : program.instructions) {
    for (ir::RegionPtr& region : i.regions) region = ir::Shared(Checked(*region));
    out.instructions.push_back(i);
    if (i.op != &ops::kAssumeInvariant) continue;
    const ops::NameList axes = ir::As<ops::ManualParams>(i.params.get()).axes;
    i.op = &ops::CallbackOp(/*ordered=*/true);
    i.params = ir::MakeParams(ir::HostCallParams{{std::make_shared<const Promise>(axes, i.loc)}});
    i.results.clear();
    out.instructions.push_back(std::move(i));
  }
  return out;
}

}  // namespace

std::shared_ptr<const ir::Program> WithPromiseChecks(
    const std::shared_ptr<const ir::Program>& program) {
  if ((SharesReplicas() && !kChecked) || !Promises(*program)) return program;
  return ir::Shared(Checked(*ir::InlineCalls(program)));
}

}  // namespace tessera::compile
