// Gathers the elements of arrays, and refuses arrays that have none.
#include "api/core/elements.h"

#include <absl/algorithm/container.h>

#include "base/error.h"
#include "trace/apply.h"
#include "trace/scopes.h"

namespace tessera::api {

bool IsOnePerDevice(const ir::Type& type) {
  const sharding::TensorSharding& s = type.sharding();
  auto manual = [&](const sharding::AxisPart& a) {
    return s.mesh->axes()[a.axis].mode == AxisMode::Manual;
  };
  return !s.varying.empty() || absl::c_any_of(s.unreduced, manual);
}

std::shared_ptr<const Concrete> Whole(const Array& x, Call call) {
  if (const ir::Type& type = *OnDevices(x, call).type(); IsOnePerDevice(type)) {
    base::ThrowTrace({.kind = {},
                      .op = call.name,
                      .label = std::string(call.name) + ".varying",
                      .where = base::Where(call.loc),
                      .reason = "each device has its own value, so there is no single one to read",
                      .operands = {{"array", type.text(), base::Where(x.impl()->loc())}},
                      .notes = {"return it from shard_map, and read the result",
                                "debug_callback calls a function with the array of each device"},
                      .fixes = {}});
  }
  auto c = compile::AsPlaced(std::static_pointer_cast<const Concrete>(x.impl()));
  const ir::Type* type = c->type();
  if (type->sharding().trivial()) return c;
  sharding::TensorSharding whole = sharding::Replicated(type->mesh(), type->rank());
  trace::Application gather{.op = ops::kReshard,
                            .params = {},
                            .operands = {std::const_pointer_cast<Concrete>(c)},
                            .loc = call.loc,
                            .shown_as = call.name,
                            .result = type->WithSharding(whole)};
  trace::MeshDefScope mesh(type->mesh());
  trace::TraceScope now(nullptr);  // gather now, even if a function is being traced
  return std::static_pointer_cast<const Concrete>(trace::Apply(gather)[0].impl());
}

const Concrete& OnDevices(const Array& x, Call call, const std::string& name) {
  const trace::ArrayRef& impl = trace::Use(x, call.name, call.loc);
  if (impl->kind() == trace::ArrayImpl::kConcrete) return static_cast<const Concrete&>(*impl);
  bool traced = impl->kind() == trace::ArrayImpl::kTraced;
  base::ThrowTrace({.kind = {},
                    .op = call.name,
                    .label = std::string(call.name) + (traced ? ".traced" : ".abstract"),
                    .where = base::Where(call.loc),
                    .reason = traced ? "the array is traced: it has a type, but no value yet"
                                     : "the array is abstract: it has a type, but no value",
                    .operands = {{name, impl->type()->text(), base::Where(impl->loc())}},
                    .notes = {traced ? "return it from the function and read the result"
                                     : "use a mesh of real devices"},
                    .fixes = {}});
}

}  // namespace tessera::api
