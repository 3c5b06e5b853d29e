// Gathers the elements of arrays, and refuses arrays that have none.
#include "api/core/elements.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstring>

#include "base/at.h"
#include "base/error.h"
#include "compile/host/processes.h"
#include "runtime/transport.h"
#include "sharding/partition.h"
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

namespace {

// Throws TraceError if each device has its own value.
void CheckSingle(const Array& x, Call call) {
  const ir::Type& type = *OnDevices(x, call).type();
  if (!IsOnePerDevice(type)) return;
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

// Returns the array with every element on each device of its mesh.
std::shared_ptr<const Concrete> Replicated(const Array& x, Call call) {
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

// Whether this process has every element.
bool IsWhollyHere(const Concrete& x) {
  return x.placed()->sharding().trivial() && compile::IsHere(x.placed()->mesh());
}

// Returns the bytes of an array that is whole on each device of its mesh, on every process.
std::string SharedBytes(const Concrete& whole) {
  const bool here = compile::IsHere(whole.placed()->mesh());
  const auto size = base::Size(whole.type()->elements() * whole.type()->dtype().size());
  const std::string mine(here ? reinterpret_cast<const char*>(whole.buffers.at(0)) : "",
                         here ? size : 0);
  if (compile::IsEverywhere(whole.placed()->mesh())) return mine;
  for (std::string& text : runtime::TheTransport()->Gather(mine))
    if (text.size() == size) return std::move(text);
  return mine;
}

}  // namespace

std::shared_ptr<const Concrete> Whole(const Array& x, Call call) {
  CheckSingle(x, call);
  const auto& c = static_cast<const Concrete&>(*x.impl());
  if (compile::Processes() == 1 || IsWhollyHere(c)) return Replicated(x, call);
  if (compile::ReadsGather()) return OnHost(x, call);
  base::ThrowRuntime({.kind = {},
                      .op = call.name,
                      .label = std::string(call.name) + ".elsewhere",
                      .where = base::Where(call.loc),
                      .reason = fmt::format("parts of the array are on other processes, not on "
                                            "process {}",
                                            compile::Process()),
                      .operands = {{"array", c.placed()->text(), base::Where(c.loc())}},
                      .notes = {"gather_to_host(x) returns all of it; every process calls it",
                                "reshard(x, P()) puts all of it on every device"},
                      .fixes = {}});
}

std::shared_ptr<const Concrete> OnHost(const Array& x, Call call) {
  CheckSingle(x, call);
  const std::shared_ptr<const Concrete> whole = Replicated(x, call);
  const ir::Type* type = whole->type();
  auto host = compile::NewWhole(ir::Type::Get(type->shape(), type->dtype(), nullptr), call.loc);
  const std::string bytes = SharedBytes(*whole);
  std::memcpy(host->buffers.base, bytes.data(), bytes.size());
  return host;
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
