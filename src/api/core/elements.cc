// Gathers the elements of arrays, and refuses arrays that have none.
#include "api/core/elements.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <set>

#include "base/at.h"
#include "base/box_runs.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "compile/host/processes.h"
#include "compile/host/replicas.h"
#include "runtime/only_thread.h"
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

// Returns the array moved to another sharding on its mesh.
std::shared_ptr<const Concrete> MovedTo(std::shared_ptr<const Concrete> c,
                                        const sharding::TensorSharding& to, Call call) {
  if (c->type()->sharding() == to) return c;
  trace::Application move{.op = ops::kReshard,
                          .params = {},
                          .operands = {std::const_pointer_cast<Concrete>(c)},
                          .loc = call.loc,
                          .shown_as = call.name,
                          .result = c->type()->WithSharding(to)};
  trace::MeshDefScope mesh(c->type()->mesh());
  trace::TraceScope now(nullptr);  // move now, even if a function is being traced
  return std::static_pointer_cast<const Concrete>(trace::Apply(move)[0].impl());
}

std::shared_ptr<const Concrete> PlacedOf(const Array& x) {
  return compile::AsPlaced(std::static_pointer_cast<const Concrete>(x.impl()));
}

// Returns the array with every element on each device of its mesh.
std::shared_ptr<const Concrete> Replicated(const Array& x, Call call) {
  auto c = PlacedOf(x);
  if (c->type()->sharding().trivial()) return c;
  const auto whole = sharding::Replicated(c->type()->mesh(), c->type()->rank());
  return MovedTo(std::move(c), whole, call);
}

// Whether every process has every element.
bool IsWholeEverywhere(const ir::Type& placed) {
  for (int32_t process = 0; process < compile::Processes(); ++process)
    if (!compile::IsWholeOn(process, placed)) return false;
  return true;
}

// Returns the array in one buffer, from shards that this process has. Reads no other process.
std::shared_ptr<const Concrete> Assembled(const Concrete& x, Call call) {
  const ir::Type& placed = *x.placed();
  const std::vector<int32_t> instances = compile::InstancesByPosition(x);
  auto whole = compile::NewWhole(ir::Type::Get(placed.shape(), placed.dtype()), call.loc);
  if (placed.elements() == 0) return whole;
  for (int64_t p : compile::PositionsOn(compile::Process(), placed)) {
    base::Shape first, box;
    for (const IndexRange& r : compile::RangesOf(placed, p)) {
      first.push_back(r.begin);
      box.push_back(r.end - r.begin);
    }
    base::BoxRuns runs(placed.shape(), placed.dtype().size(), first, box);
    const std::byte* from = x.buffers.at(base::At(instances, p));
    do {
      std::memcpy(whole->buffers.base + runs.begin(), from, base::Size(runs.bytes()));
      from += runs.bytes();
    } while (runs.Next());
  }
  return whole;
}

// Returns "processes 0, 1 and 3" for the processes that have parts of an array.
std::string ProcessesOf(const ir::Type& placed) {
  std::set<int32_t> processes;
  for (int64_t p = 0; p < placed.mesh()->size(); ++p)
    processes.insert(compile::ProcessOf(placed.mesh()->Device(p)));
  std::string text = processes.size() == 1 ? "process " : "processes ";
  size_t i = 0;
  for (int32_t process : processes)
    text += fmt::format("{}{}", i++ == 0 ? "" : i == processes.size() ? " and " : ", ", process);
  return text;
}

// Returns the bytes of an array that is whole on each device of its mesh, on every process.
std::string SharedBytes(const Concrete& whole) {
  const sharding::MeshDef* mesh = whole.placed()->mesh();
  const bool everywhere = compile::IsEverywhere(mesh);
  const bool here = everywhere || compile::IsFirstHost(mesh);
  const auto size = base::Size(whole.type()->elements() * whole.type()->dtype().size());
  const std::string mine(here ? reinterpret_cast<const char*>(whole.buffers.at(0)) : "",
                         here ? size : 0);
  if (everywhere) return mine;
  for (std::string& text : runtime::TheTransport()->Gather(mine))
    if (text.size() == size) return std::move(text);
  return mine;
}

[[noreturn]] void FailElsewhere(const Concrete& x, Call call) {
  if (compile::OthersWait()) compile::FailTurn(call.name, call.loc);
  std::vector<std::string> notes = {"gather_to_host(x) returns all of it; every process calls it"};
  if (compile::IsEverywhere(x.placed()->mesh()))
    notes.push_back("reshard(x, P()) puts all of it on every device of its mesh");
  base::ThrowRuntime({.kind = {},
                      .op = call.name,
                      .label = std::string(call.name) + ".elsewhere",
                      .where = base::Where(call.loc),
                      .reason = fmt::format("process {} does not have the whole array: it is on {}",
                                            compile::Process(), ProcessesOf(*x.placed())),
                      .operands = {{"array", x.placed()->text(), base::Where(x.loc())}},
                      .notes = std::move(notes),
                      .fixes = {}});
}

}  // namespace

std::shared_ptr<const Concrete> Whole(const Array& x, Call call) {
  CheckSingle(x, call);
  const auto& c = static_cast<const Concrete&>(*x.impl());
  if (compile::Processes() == 1) return Replicated(x, call);
  // All processes decide alike whether they gather, also where only some have all of the array.
  if (compile::ReadsGather() && !compile::OthersWait() && !IsWholeEverywhere(*c.placed()))
    return OnHost(x, call);
  if (compile::IsWholeOn(compile::Process(), *c.placed()))
    return c.placed()->sharding().dims_empty() ? PlacedOf(x) : Assembled(c, call);
  FailElsewhere(c, call);
}

std::shared_ptr<const Concrete> Summed(const Array& x, Call call) {
  CheckSingle(x, call);
  auto c = PlacedOf(x);
  sharding::TensorSharding summed = c->type()->sharding();
  if (summed.no_sets()) return c;
  summed.unreduced.clear();
  summed.reduced.clear();
  return MovedTo(std::move(c), summed, call);
}

std::shared_ptr<const Concrete> OnHost(const Array& x, Call call) {
  CheckSingle(x, call);
  if (compile::OthersWait()) compile::FailTurn(call.name, call.loc);
  std::optional<runtime::OnlyThread> only;
  if (compile::Processes() > 1) only.emplace(call.name, call.loc);
  const std::shared_ptr<const Concrete> whole = Replicated(x, call);
  const ir::Type* type = whole->type();
  auto host = compile::NewWhole(ir::Type::Get(type->shape(), type->dtype(), nullptr), call.loc);
  const std::string bytes = SharedBytes(*whole);
  std::memcpy(host->buffers.base, bytes.data(), bytes.size());
  host->SetCompared();
  return host;
}

const Concrete& OnDevices(const Array& x, Call call, const std::string& name) {
  const trace::ArrayRef& impl = trace::Use(x, call.name, call.loc);
  if (impl->kind() == trace::ArrayImpl::kConcrete) return static_cast<const Concrete&>(*impl);
  const bool traced = impl->kind() == trace::ArrayImpl::kTraced;
  std::vector<std::string> notes = {traced ? "return it from the function and read the result"
                                           : "use a mesh of real devices"};
  if (traced &&
      (call.name == std::string_view("item") || call.name == std::string_view("to_vector")))
    notes.push_back(
        "where chooses elements by it, cond a branch, and while_loop repeats while it holds");
  base::ThrowTrace({.kind = {},
                    .op = call.name,
                    .label = std::string(call.name) + (traced ? ".traced" : ".abstract"),
                    .where = base::Where(call.loc),
                    .reason = traced ? "the array is traced: it has a type, but no value yet"
                                     : "the array is abstract: it has a type, but no value",
                    .operands = {{name, impl->type()->text(), base::Where(impl->loc())}},
                    .notes = std::move(notes),
                    .fixes = {}});
}

}  // namespace tessera::api
