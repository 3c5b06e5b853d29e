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

// One array of the arguments or results, and the option that lays it out.
struct BorderArray {
  const Specs& specs;
  detail::TreeRef tree;
  const detail::Path& path;
  Said said;
  Call call;

  std::string name() const { return trace::NameOf(tree, said.tree, path); }
  std::string in_sentence() const { return InSentence(name()); }
  // Returns the note that offers this spec for the array.
  std::string Offer(const PartitionSpec& spec) const {
    const std::string whole = CodeWith(specs, tree, path, spec);
    return whole.empty()
               ? fmt::format("write {} for {} in {}", spec.text(), in_sentence(), said.option)
               : fmt::format("write {} = {}", said.option, whole);
  }
};

// C14: refuses an argument that is laid out in another way than its spec says.
void CheckIsLaidOutAs(const Array& x, const sharding::TensorSharding& wanted,
                      const PartitionSpec& spec, const BorderArray& array) {
  const ir::Type* type = TypeOf(x);
  const sharding::TensorSharding& s = type->sharding();
  if (s.dims == wanted.dims && s.unreduced == wanted.unreduced && s.reduced == wanted.reduced)
    return;
  const std::string name = array.name();
  FailSharding(
      array.call, 14,
      fmt::format("{} has type {}, but .in_shardings asks for {}", name, type->text(), spec.text()),
      {"reshard it before the call: " + ReshardCode(name, spec),
       "or leave .in_shardings out: the argument keeps the sharding of its type"});
}

// C7, C17: refuses a spec that does not divide the dims of an argument or result evenly.
void CheckAtBorder(const PartitionSpec& spec, const sharding::TensorSharding& asked,
                   const ir::Type* type, const BorderArray& array) {
  using propagation::engine::AtBorder;
  using propagation::engine::SubAxes;
  const base::Shape& shape = type->shape();
  const sharding::TensorSharding even = AtBorder(asked, shape, SubAxes::kKeep),
                                 kept = AtBorder(asked, shape, SubAxes::kCut);
  for (size_t d = 0; d < shape.size(); ++d) {
    const sharding::AxisList& axes = asked.dims[d].axes;
    if (kept.dims[d].axes == axes) continue;
    sharding::TensorSharding edit = asked;
    edit.dims[d] = {.axes = even.dims[d].axes};
    const bool divides = even.dims[d].axes == axes;
    const std::string dim = fmt::format("dim {} of {}, {},", d, array.in_sentence(), type->text());
    FailSharding(array.call, divides ? 17 : 7,
                 divides ? dim + " is open: it cannot keep part of an axis at the border"
                         : fmt::format("{} cannot be divided evenly into {} shards", dim,
                                       sharding::SizeOf(axes)),
                 {"spec: " + spec.text(), array.Offer(sharding::ToSpec(edit))});
  }
}

// Returns an argument or a result laid out by its spec.
Array LaidOut(const Array& given, const PartitionSpec& spec, const sharding::MeshDef* mesh,
              JitSide side, const BorderArray& array) {
  const Call call = array.call;
  Array x = given;
  const int rank = x.rank(call.loc);
  CheckHasMesh(spec, mesh, call);
  if (spec.rank() > rank)
    FailSharding(
        call, 15,
        fmt::format("the spec has {} dims, but {} has {}", spec.rank(), array.in_sentence(), rank),
        {"spec: " + spec.text()});
  sharding::Resolved all = sharding::Resolve(spec, mesh, rank);
  if (all.problem)
    FailSharding(call, 1,
                 fmt::format("the spec of {}: {}", array.in_sentence(), all.problem->reason),
                 {"spec: " + spec.text()});
  CheckAtBorder(spec, all.sharding, TypeOf(x), array);
  PartitionSpec typed = PartOfSpec(spec, mesh, SpecPart::kTyped);
  if (side == JitSide::kIn && TypeOf(x)->mesh())
    CheckIsLaidOutAs(x, *ResolveSpec(typed, rank, mesh, call), typed, array);
  else
    x = ReshardNamed(x, typed, call, [&] { return array.name(); });
  const bool hints = mesh->has_mode(AxisMode::Auto);
  return hints ? Constrained(x, PartOfSpec(spec, mesh, SpecPart::kHints), call) : x;
}

// Returns the arrays of a tree laid out by the specs.
std::vector<Array> LayOut(const Specs& specs, detail::TreeRef tree,
                          const std::vector<Array>& arrays, JitSide side, Loc loc) {
  if (!specs.given()) return arrays;
  const Call call{"jit", loc};
  const Said said = side == JitSide::kIn ? Said{".in_shardings"}
                                         : Said{.option = ".out_shardings", .tree = "result"};
  const detail::Outline outline = detail::OutlineOf(tree);
  const auto border_array = [&](size_t i) {
    return BorderArray{specs, tree, outline.arrays[i], said, call};
  };
  for (size_t i = 0; i < arrays.size(); ++i)
    trace::Use(arrays[i], call.name, call.loc, [&] { return border_array(i).name(); });
  const sharding::MeshDef* mesh = MeshInScope(arrays);
  const std::vector<PartitionSpec> all = LeavesFor(specs, tree, said, call);
  std::vector<Array> out;
  for (size_t i = 0; i < arrays.size(); ++i)
    out.push_back(LaidOut(arrays[i], all[i], mesh, side, border_array(i)));
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
    detail::FunctionResult result =
        call.body(LayOut(options.in_shardings, call.arguments, arrays, JitSide::kIn, loc));
    result.arrays =
        LayOut(options.out_shardings, result.tree.ref(), result.arrays, JitSide::kOut, loc);
    return result;
  };
}

// Returns the call that is traced.
detail::FunctionCall LaidOut(const detail::FunctionCall& call, const JitOptions& options) {
  CheckArrays(call.arguments, {"jit", call.loc});
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
  trace::ProgramAndBorder traced =
      trace::ProgramOf(*cache_, LaidOut(call, *options_), options_->donate);
  return Program(std::move(traced.program), std::move(traced.border));
}
Lowered Jit::Lower(const FunctionCall& call) const {
  const Program program = Trace(call);
  const std::shared_ptr<Lowered::Impl> lowered = compile::LowerProgram(program.program(), {});
  lowered->border = program.border();
  return Lowered(lowered);
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
