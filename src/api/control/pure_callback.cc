// pure_callback: user functions that compute arrays while a program runs.
#include "ops/pure_callback.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstring>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "compile/host/replicas.h"
#include "compile/run/executor.h"
#include "tessera/callback.h"
#include "tessera/modes.h"
#include "trace/apply.h"
#include "trace/inline.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// The function of a pure_callback. It runs outside all traces, and outside the mesh and dtype
// scopes of the thread that runs the program.
class HostComputation final : public ir::HostFunction {
 public:
  HostComputation(detail::Body f, Call call) : f_(std::move(f)), call_(call) {}

  // A part of a program, which processes may run at different times, and some more often.
  void Run(const ir::HostArguments& arguments) const override {
    const compile::OnOneProcess alone;
    Compute(arguments);
  }

  void Compute(const ir::HostArguments& arguments) const {
    const trace::TraceScope now(nullptr);
    const trace::MeshDefScope mesh(nullptr);
    const DefaultDtypes dtypes(i32, f32);
    std::vector<Array> arrays, results;
    for (const ir::HostArgument& value : arguments.values)
      arrays.emplace_back(compile::ArrayOf(value, call_.loc));
    base::CallUsers(call_.name, "the function", base::Where(call_.loc),
                    [&] { results = f_(arrays).arrays; });
    if (results.size() != arguments.results.size())
      Fail(1, fmt::format("the function returned {}, but like has {}",
                          base::CountText(results.size(), "array"), arguments.results.size()));
    for (size_t r = 0; r < results.size(); ++r) Put(results[r], r, arguments.results[r]);
  }

 private:
  void Put(const Array& x, size_t r, const ir::HostResult& to) const {
    const ir::Type* type = trace::Use(x, call_.name, call_.loc)->type();
    if (type->shape() != to.type->shape() || type->dtype() != to.type->dtype())
      Fail(2, fmt::format("result {} of the function is {}, but like has {}", r, type->text(),
                          to.type->text()));
    const auto bytes = base::Size(type->elements() * type->dtype().size());
    if (bytes > 0) std::memcpy(to.data, Whole(x, call_)->buffers.base, bytes);
  }
  [[noreturn]] void Fail(int check, std::string reason) const {
    base::ThrowRuntime(base::Refusal(call_.name, check, base::Where(call_.loc), std::move(reason)));
  }

  const detail::Body f_;
  const Call call_;
};

// C3: refuses unreduced arguments.
void CheckReduced(const std::vector<Array>& arrays, Call call) {
  for (const Array& x : arrays) {
    const ir::Type& type = *trace::Use(x, call.name, call.loc)->type();
    if (type.sharding().unreduced.empty()) continue;
    FailSharding(call, 3, fmt::format("{} is unreduced: the function needs the sum", type.text()),
                 {"sum first: reshard(x, P(...)), or psum(x, ...) inside of shard_map"});
  }
}

// Returns x without shards over Explicit axes.
Array Gathered(const Array& x, Call call) {
  sharding::TensorSharding s = TypeOf(x)->sharding();
  if (s.dims_empty()) return x;
  for (sharding::DimAxes& d : s.dims) d.axes.clear();
  return Moved(x, std::move(s), call);
}

std::vector<Array> ComputeNow(const HostComputation& f, const std::vector<Array>& arguments,
                              const std::vector<const ir::Type*>& types, Call call) {
  ir::HostArguments all;
  std::vector<std::shared_ptr<const Concrete>> whole;  // keeps the buffers while f runs
  for (const Array& x : arguments) {
    whole.push_back(Whole(x, call));
    const ir::Type* type = TypeOf(x);
    all.values.push_back(
        {ir::Type::Get(type->shape(), type->dtype()), {whole.back()->buffers.base}});
  }
  const sharding::MeshDef* mesh = MeshInScope(arguments);
  std::vector<Array> results;
  for (const ir::Type* type : types) {
    auto result = compile::NewWhole(ir::Type::Get(type->shape(), type->dtype(), mesh), call.loc);
    all.results.push_back({type, result->buffers.base});
    results.emplace_back(std::move(result));
  }
  f.Compute(all);
  return results;
}

bool IsAbstract(const std::vector<Array>& arrays) {
  const sharding::MeshDef* mesh = MeshInScope(arrays);
  if (mesh && mesh->is_abstract()) return true;
  return absl::c_any_of(arrays, [](const Array& x) { return x.is_abstract(); });
}

}  // namespace

std::vector<Array> detail::PureCallback(Body f, std::vector<Array> arguments,
                                        const std::vector<Array>& like,
                                        const PureCallbackOptions& options, Loc loc) {
  const Call call{"pure_callback", loc};
  compile::Install();
  std::vector<const ir::Type*> types;
  for (const Array& x : like) {
    const ir::Type* type = trace::Use(x, call.name, loc)->type();
    types.push_back(ir::Type::Get(type->shape(), type->dtype()));
  }
  CheckReduced(arguments, call);
  auto function = std::make_shared<const HostComputation>(std::move(f), call);
  std::vector<Array> results;
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  const bool is_manual = mesh && mesh->has_mode(AxisMode::Manual);
  if (!is_manual && !trace::InsideTrace(RefsOf(arguments, call)) && !IsAbstract(arguments)) {
    results = ComputeNow(*function, arguments, types, call);
  } else {
    ir::PureCallParams params{{function}, types, static_cast<int64_t>(options.vmap_method)};
    params.lanes_of.resize(arguments.size());
    for (Array& x : arguments) x = Gathered(x, call);
    results = RunAll(ops::PureCallbackOp(), ir::MakeParams(std::move(params)), arguments, call);
  }
  for (size_t r = 0; r < results.size(); ++r)
    if (const sharding::TensorSharding& s = TypeOf(like[r])->sharding(); !s.dims_empty())
      results[r] = ReshardTo(results[r], s, call);
  return results;
}

}  // namespace tessera
