// jit: shardings of arguments and results, and the programs of calls.
#include "trace/jit.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "api/core/reshard_to.h"
#include "api/core/specs.h"
#include "api/core/tree_match.h"
#include "api/functions/transformed.h"
#include "base/at.h"
#include "base/fork.h"
#include "compile/run/lower.h"
#include "propagation/border.h"
#include "propagation/graph.h"
#include "tessera/transforms.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// Whether arrays enter a jitted function or leave it.
enum class JitSide : uint8_t { kIn, kOut };

enum class SpecPart : uint8_t { kTyped, kHints };

// Returns the part of a spec that is about Auto axes (hints), or about the others (in types).
PartitionSpec PartOfSpec(const PartitionSpec& spec, const sharding::MeshDef* mesh, SpecPart which) {
  const bool of_auto = which == SpecPart::kHints;
  auto wanted = [&](const std::string& name) {
    bool is_auto = base::At(mesh->axes(), mesh->Find(name)).mode == AxisMode::Auto;
    return is_auto == of_auto;
  };
  auto only = [&](std::vector<AxisRef> axes) {
    std::erase_if(axes, [&](const AxisRef& a) { return !wanted(a.name); });
    return axes;
  };
  std::vector<DimSharding> dims;
  for (const DimSharding& d : spec.dims()) {
    DimSharding part(only(d.axes()));
    if (of_auto && d.open()) part = Open(part);
    dims.push_back(of_auto && d.priority() >= 0 ? part.priority(d.priority()) : part);
  }
  PartitionSpec part(std::move(dims));
  part = part.unreduced(only(spec.unreduced_axes()), spec.reduction());
  if (of_auto) return part.replicated(only(spec.replicated_axes()));
  return part.reduced(only(spec.reduced_axes()));
}

void CheckLiesAs(const Array& x, const sharding::TensorSharding& wanted, const PartitionSpec& spec,
                 Call call) {
  const ir::Type* type = TypeOf(x);
  const sharding::TensorSharding& s = type->sharding();
  if (s.dims == wanted.dims && s.unreduced == wanted.unreduced && s.reduced == wanted.reduced)
    return;
  FailSharding(
      call, 14,
      fmt::format("an argument has type {}, but .in_shardings asks for {}", type->text(),
                  spec.text()),
      {"reshard the argument, or leave .in_shardings out: the argument keeps the sharding of "
       "its type"});
}

// C7, C17: refuses a spec that does not divide the dims of an argument or result evenly.
void CheckAtBorder(const PartitionSpec& spec, const sharding::TensorSharding& asked,
                   const base::Shape& shape, const char* option, Call call) {
  using propagation::engine::AtBorder;
  using propagation::engine::SubAxes;
  const sharding::TensorSharding even = AtBorder(asked, shape, SubAxes::kKeep),
                                 kept = AtBorder(asked, shape, SubAxes::kCut);
  for (size_t d = 0; d < shape.size(); ++d) {
    const sharding::AxisList& axes = asked.dims[d].axes;
    if (kept.dims[d].axes == axes) continue;
    sharding::TensorSharding edit = asked;
    edit.dims[d] = {.axes = even.dims[d].axes};
    std::string offer = fmt::format("write .{} = {}", option, sharding::ToSpec(edit).text());
    bool divides = even.dims[d].axes == axes;
    FailSharding(
        call, divides ? 17 : 7,
        divides ? fmt::format("dim {} is open: it cannot keep part of an axis at the border", d)
                : fmt::format("dim {} of size {} cannot be divided evenly into {} shards", d,
                              shape[d], sharding::SizeOf(axes)),
        {"spec: " + spec.text(), std::move(offer)});
  }
}

// Returns an argument or a result laid out by its spec.
Array LaidOut(const Array& given, const PartitionSpec& spec, const sharding::MeshDef* mesh,
              JitSide side, Call call) {
  const bool in = side == JitSide::kIn;
  Array x = given;
  const int rank = x.rank(call.loc);
  ResolveSpec(P(), 0, mesh, call);  // there must be a mesh
  if (spec.rank() > rank)
    FailSharding(call, 15,
                 fmt::format("the spec has {} dims, but the array has {}", spec.rank(), rank),
                 {"spec: " + spec.text()});
  sharding::Resolved all = sharding::Resolve(spec, mesh, rank);
  if (all.problem) FailSharding(call, 1, all.problem->reason, {"spec: " + spec.text()});
  CheckAtBorder(spec, all.sharding, TypeOf(x)->shape(), in ? "in_shardings" : "out_shardings",
                call);
  PartitionSpec typed = PartOfSpec(spec, mesh, SpecPart::kTyped);
  if (in && TypeOf(x)->mesh())
    CheckLiesAs(x, *ResolveSpec(typed, rank, mesh, call), typed, call);
  else
    x = reshard(x, typed, call.loc);
  const bool hints = mesh->has_mode(AxisMode::Auto);
  return hints ? Constrained(x, PartOfSpec(spec, mesh, SpecPart::kHints), call) : x;
}

// Returns the arrays of a tree laid out by the specs.
std::vector<Array> LayOut(const Specs& specs, const detail::Outline& tree,
                          const std::vector<Array>& arrays, JitSide side, Loc loc) {
  if (!specs.given()) return arrays;
  Call call{"jit", loc};
  for (const Array& x : arrays) trace::Use(x, call.name, call.loc);
  const char* option = side == JitSide::kIn ? "in_shardings" : "out_shardings";
  const sharding::MeshDef* mesh = MeshInScope(arrays);
  CheckParts(specs, tree, {option}, call);
  std::vector<Array> out;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const PartitionSpec& spec = LeafOf(specs, tree.arrays[i], {option}, call);
    out.push_back(LaidOut(arrays[i], spec, mesh, side, call));
  }
  return out;
}

// C1: refuses specs that name axes that the current mesh does not have.
void CheckAxes(const Specs& specs, Loc loc) {
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  if (!mesh) return;
  for (const PartitionSpec& spec : specs.All()) {
    sharding::Resolved r = sharding::Resolve(spec, mesh, spec.rank());
    if (r.problem) FailSharding({"jit", loc}, 1, r.problem->reason, {"spec: " + spec.text()});
  }
}

// Returns the function of a call with its arguments and results laid out. `call` must outlive it.
detail::Body BodyThatLaysOut(const detail::FunctionCall& call, const JitOptions& options) {
  return [&call, &options](const std::vector<Array>& arrays) {
    const Loc loc = call.loc;
    if (options.out_shardings.given()) CheckAxes(options.out_shardings, loc);
    detail::FunctionResult result = call.body(
        LayOut(options.in_shardings, detail::OutlineOf(call.arguments), arrays, JitSide::kIn, loc));
    result.arrays = LayOut(options.out_shardings, detail::OutlineOf(result.tree.ref()),
                           result.arrays, JitSide::kOut, loc);
    return result;
  };
}

// Returns the call that is traced.
detail::FunctionCall LaidOut(const detail::FunctionCall& call, const JitOptions& options) {
  CheckMeshes(call.arguments, {"jit", call.loc});
  if (!options.in_shardings.given() && !options.out_shardings.given()) return call;
  return {call.arguments, BodyThatLaysOut(call, options), call.loc, call.function};
}

}  // namespace

namespace detail {

Jit::Jit() : Jit(JitOptions{}, nullptr) {}

Jit::Jit(JitOptions options, const void* shared)
    : shared_(options.in_shardings.given() || options.out_shardings.given() ? nullptr : shared) {
  cache_ =
      shared_ ? trace::SharedJitCache(shared_, options.name) : trace::NewJitCache(options.name);
  options_ = std::make_shared<const JitOptions>(std::move(options));
}
Jit::Jit(const char* name, const void* shared)
    : options_(std::make_shared<const JitOptions>(JitOptions{.name = name})), shared_(shared) {
  static const char key = 0;  // a transform and a jit of one function have different caches
  constexpr auto kKeeps = trace::Keeps::kCompiled;
  cache_ = shared ? trace::SharedJitCache(SharedKey({&key, shared}), name, kKeeps)
                  : trace::NewJitCache(name, kKeeps);
}

FunctionResult Jit::Call(const FunctionCall& call) const {
  return trace::CallJit(*cache_, LaidOut(call, *options_), options_->donate);
}
Program Jit::Trace(const FunctionCall& call) const {
  return Program(trace::ProgramOf(*cache_, LaidOut(call, *options_), options_->donate));
}
Lowered Jit::Lower(const FunctionCall& call) const {
  return Lowered(compile::LowerProgram(Trace(call).program(), {}));
}
int64_t Jit::retraces() const { return trace::Retraces(*cache_); }

const void* SharedKey(const std::vector<const void*>& parts, const std::string& text) {
  if (absl::c_linear_search(parts, nullptr)) return nullptr;
  static auto& mutex = base::NewForkMutex();
  static auto& keys = *new std::map<std::pair<std::vector<const void*>, std::string>, char>;
  const std::lock_guard lock(mutex);
  return &keys[{parts, text}];
}

}  // namespace detail
}  // namespace tessera
