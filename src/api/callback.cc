// Functions of the user's that look at arrays while programs run.
#include <fmt/format.h>

#include <cstdio>

#include "api/operands.h"
#include "base/error.h"
#include "compile/host_array.h"
#include "ops/host_call.h"
#include "tessera/debug.h"
#include "trace/inline.h"
#include "trace/scopes.h"

namespace tessera {
namespace {

// C18: what a callback throws, unless it is an error of an array function in it, comes nested in
// ours.
void CallNow(const Callback& f, const std::vector<Array>& arrays, api::Call call) {
  const auto fail = [&](const std::string& what) {
    ErrorDetail detail = base::Refusal(call.name, 18, base::Where(call.loc),
                                       "the callback threw an exception" + what);
    detail.kind = "RuntimeError";
    std::throw_with_nested(RuntimeError(std::move(detail)));
  };
  try {
    f(arrays);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    fail(": " + std::string(e.what()));
  } catch (...) {
    fail("");
  }
}

// A callback of a program. It runs outside of all traces, and under the mesh of what it gets.
class Called final : public ir::HostFunction {
 public:
  Called(Callback f, api::Call call) : f_(std::move(f)), call_(call) {}

  void Run(const ir::HostArguments& arguments) const override {
    trace::TraceScope now(nullptr);
    const sharding::MeshDef* mesh = nullptr;
    std::vector<Array> arrays;
    for (const ir::HostArgument& value : arguments.values) {
      arrays.emplace_back(compile::ArrayOf(value, call_.loc));
      if (!mesh) mesh = value.place->mesh();
    }
    trace::MeshDefScope scope(mesh);
    CallNow(f_, arrays, call_);
  }

 private:
  const Callback f_;
  const api::Call call_;
};

void Call(Callback f, const std::vector<Array>& arrays, bool ordered, api::Call call) {
  const std::vector<trace::ArrayRef> refs = api::RefsOf(arrays, call);
  if (trace::InsideTrace(refs)) {
    ir::HostCallParams params{{std::make_shared<const Called>(std::move(f), call)}};
    trace::Apply({.op = ops::CallbackOp(ordered),
                  .params = ir::MakeParams(std::move(params)),
                  .operands = {refs.begin(), refs.end()},
                  .loc = call.loc,
                  .shown_as = call.name});
    return;
  }
  for (const trace::ArrayRef& a : refs)
    if (a->kind() == trace::ArrayImpl::kAbstract) return;  // there are types alone, and no values
  CallNow(f, arrays, call);
}

void PrintShards(const Array& x, api::Call call) {
  for (const Shard& s : api::ShardsOf(x, call)) {
    std::string where;
    for (const IndexRange& r : s.index())
      where += fmt::format("{}{}:{}", where.empty() ? "" : ", ", r.begin, r.end);
    std::printf("device %lld [%s]\n", static_cast<long long>(s.device()), where.c_str());
  }
}

}  // namespace

void debug_callback(Callback f, const std::vector<Array>& arrays, CallbackOptions options,
                    Loc loc) {
  const api::Call call{"debug_callback", loc};
  if (f.count() >= 0 && static_cast<size_t>(f.count()) != arrays.size())
    base::ThrowRuntime(
        base::Refusal(call.name, 1, base::Where(loc),
                      fmt::format("the callback takes {} array{}, but is given {}", f.count(),
                                  f.count() == 1 ? "" : "s", arrays.size())));
  Call(std::move(f), arrays, options.ordered, call);
}

void print_shards(const Array& x, Loc loc) {
  const api::Call call{"print_shards", loc};
  Call([call](const Array& value) { PrintShards(value, call); }, {x}, /*ordered=*/true, call);
}

}  // namespace tessera
