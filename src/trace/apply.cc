// Applies an op: records it, computes it at once as a program of one op, or only infers its type.
#include "trace/apply.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "base/reader.h"
#include "ir/infer.h"
#include "ir/regions.h"
#include "ir/same.h"
#include "trace/array.h"
#include "trace/scopes.h"

namespace tessera::trace {
namespace {

using TypeList = absl::InlinedVector<const ir::Type*, 3>;

TypeList TypesOf(const Application& a) {
  TypeList types;
  for (const ArrayRef& operand : a.operands) types.push_back(operand->type());
  return types;
}

// Returns the places of operands whose types do not say it all. Empty if all types do.
TypeList PlacesOf(const Application& a) {
  TypeList places;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const ir::Type* place = a.operands[i]->place();
    if (!place) continue;
    places.resize(a.operands.size(), nullptr);
    places[i] = place;
  }
  return places;
}

absl::InlinedVector<const ir::Type*, 1> Infer(const Application& a, const TypeList& types,
                                              const sharding::MeshDef* mesh) {
  if (a.result) return {a.result};
  if (std::holds_alternative<ir::AsHostCall>(*a.op.lowering)) return {};
  if (!a.regions.empty()) {
    auto results = ir::InferRegionTypes({a.op, a.params.get(), types, a.regions, a.loc});
    return {results.begin(), results.end()};
  }
  absl::InlinedVector<Loc, 3> locs;
  TypeList written;
  for (const ArrayRef& operand : a.operands) {
    const auto& array = operand->written;
    locs.push_back(array ? array->loc : operand->loc());
    written.push_back(array ? array->type : operand->type());
  }
  return ir::InferTypes({.op = a.op,
                         .operands = types,
                         .params = a.params.get(),
                         .wanted = a.wanted,
                         .out_sharding = a.out_sharding,
                         .mesh = mesh,
                         .loc = a.loc,
                         .operand_locs = locs,
                         .written = written,
                         .shown_as = a.shown_as,
                         .shared_params = a.params});
}

// Returns the trace that records the op: the thread's, unless an operand is of a trace
// that does not surround it.
std::shared_ptr<Trace> TraceOf(const Application& a) {
  Trace* current = CurrentTrace();
  for (const ArrayRef& operand : a.operands) {
    if (operand->kind() != ArrayImpl::kTraced) continue;
    const auto& trace = static_cast<const TracedArray*>(operand.get())->trace;
    if (!current || !current->IsInside(trace.get())) return trace;
  }
  return current ? current->shared_from_this() : nullptr;
}

std::vector<Array> RecordOp(Trace& trace, const Application& a) {
  absl::InlinedVector<ir::ValueId, 3> operands;
  for (const ArrayRef& operand : a.operands) operands.push_back(trace.Lift(operand, a.loc));
  auto types = Infer(a, TypesOf(a), CurrentMesh());
  trace.builder().set_loc(a.loc);
  auto values = trace.builder().EmitTyped(a.op, a.params, operands, types, a.regions);
  std::vector<Array> results;
  for (size_t i = 0; i < values.size(); ++i)
    results.emplace_back(
        std::make_shared<TracedArray>(types[i], a.loc, trace.shared_from_this(), values[i]));
  return results;
}

using Flags = absl::InlinedVector<bool, 4>;

// Everything that decides the program of an eager call. It only refers to its parts, so that a
// lookup copies nothing.
struct EagerCall {
  const ir::OpDef* op;
  const ir::Params* params;
  ir::Types operands, places;
  absl::Span<const bool> shares;
  const ir::Type* result;
  absl::Span<const int64_t> wanted_shape;
  DType wanted_dtype;
  const sharding::TensorSharding* out_sharding;
  const sharding::MeshDef* mesh;
  size_t compile_key;
  ir::Regions regions;

  friend bool operator==(const EagerCall& x, const EagerCall& y) {
    return x.op == y.op && IsSame(x.params, y.params) && x.operands == y.operands &&
           x.places == y.places && x.shares == y.shares && x.result == y.result &&
           x.wanted_shape == y.wanted_shape && x.wanted_dtype == y.wanted_dtype &&
           IsSame(x.out_sharding, y.out_sharding) && x.mesh == y.mesh &&
           x.compile_key == y.compile_key && absl::c_equal(x.regions, y.regions, IsSameRegion);
  }
  template <class H>
  friend H AbslHashValue(H h, const EagerCall& c) {
    h = H::combine(std::move(h), c.op, c.params ? c.params->Hash() : 0, c.operands, c.places,
                   c.shares, c.result, c.wanted_shape, c.wanted_dtype.code(), c.mesh,
                   c.compile_key);
    if (c.out_sharding) h = H::combine(std::move(h), *c.out_sharding);
    for (const ir::RegionPtr& r : c.regions) h = H::combine(std::move(h), ir::HashOf(*r));
    return h;
  }

 private:
  static bool IsSame(const ir::Params* a, const ir::Params* b) {
    return a == b || (a && b && a->Equals(*b));
  }
  static bool IsSame(const sharding::TensorSharding* a, const sharding::TensorSharding* b) {
    return a == b || (a && b && *a == *b);
  }
  // Regions are traced again at each call. Messages name lines, so lines must be equal too.
  static bool IsSameRegion(const ir::RegionPtr& a, const ir::RegionPtr& b) {
    return ir::SameProgram(*a, *b) && ir::SameLines(*a, *b);
  }
};

// A key of the cache: an eager call that owns its parts.
struct EagerKey {
  const ir::OpDef* op;
  ir::ParamsPtr params;
  TypeList operands, places;
  Flags shares;
  const ir::Type* result;
  base::Shape wanted_shape;
  DType wanted_dtype;
  std::shared_ptr<const sharding::TensorSharding> out_sharding;
  const sharding::MeshDef* mesh;
  size_t compile_key;
  std::vector<ir::RegionPtr> regions;

  EagerKey(const EagerCall& c, ir::ParamsPtr p)
      : op(c.op),
        params(std::move(p)),
        operands(c.operands.begin(), c.operands.end()),
        places(c.places.begin(), c.places.end()),
        shares(c.shares.begin(), c.shares.end()),
        result(c.result),
        wanted_shape(c.wanted_shape.begin(), c.wanted_shape.end()),
        wanted_dtype(c.wanted_dtype),
        out_sharding(c.out_sharding ? new sharding::TensorSharding(*c.out_sharding) : nullptr),
        mesh(c.mesh),
        compile_key(c.compile_key),
        regions(c.regions.begin(), c.regions.end()) {}
  EagerCall call() const {
    return {op,           params.get(), operands,           places, shares,      result,
            wanted_shape, wanted_dtype, out_sharding.get(), mesh,   compile_key, regions};
  }
};

struct EagerHash {
  using is_transparent = void;
  size_t operator()(const EagerCall& c) const { return absl::HashOf(c); }
  size_t operator()(const EagerKey& k) const { return absl::HashOf(k.call()); }
};
struct EagerEqual {
  using is_transparent = void;
  bool operator()(const EagerKey& x, const EagerKey& y) const { return x.call() == y.call(); }
  bool operator()(const EagerKey& x, const EagerCall& y) const { return x.call() == y; }
  bool operator()(const EagerCall& x, const EagerKey& y) const { return x == y.call(); }
};

// One cache per thread, so that a hit takes no lock. Bounded: cleared when it is full.
using EagerCache = absl::flat_hash_map<EagerKey, Executor::Compiled, EagerHash, EagerEqual>;
constexpr size_t kMostEager = 4096;

Executor::Compiled CompileEager(const Application& a, const TypeList& types, const TypeList& places,
                                const sharding::MeshDef* mesh, const Flags& shares) {
  auto results = Infer(a, types, mesh);
  auto program = std::make_shared<ir::Program>();
  program->mesh = mesh ? mesh : results[0]->mesh();
  for (size_t i = 0; i < types.size(); ++i) {
    program->inputs.push_back(program->AddValue(types[i], a.loc));
    if (!places.empty() && places[i]) program->SetPlace(program->inputs[i], places[i]);
  }
  ir::Builder builder(*program, a.loc);
  auto values = builder.EmitTyped(a.op, a.params, program->inputs, results, a.regions);
  program->outputs.assign(values.begin(), values.end());
  return TheExecutor().Compile(program, std::vector<bool>(types.size()),
                               std::vector<bool>(shares.begin(), shares.end()));
}

std::vector<Array> Eager(const Application& a) {
  // Programs on a mesh apart from others: several processes compile them together, so none may drop
  // one because of work that it does alone.
  static thread_local EagerCache caches[2];
  const TypeList types = TypesOf(a), places = PlacesOf(a);
  Flags shares;
  for (const ArrayRef& operand : a.operands)
    shares.push_back(static_cast<const ConcreteArray*>(operand.get())->shares_replicas());
  const EagerCall call{
      .op = &a.op,
      .params = a.params.get(),
      .operands = types,
      .places = places,
      .shares = shares,
      .result = a.result,
      .wanted_shape = a.wanted ? absl::MakeConstSpan(a.wanted->shape) : absl::Span<const int64_t>(),
      .wanted_dtype = a.wanted ? a.wanted->dtype : DType{},
      .out_sharding = a.out_sharding,
      .mesh = CurrentMesh(),
      .compile_key = TheExecutor().CompileKey(),
      .regions = a.regions};
  EagerCache& cache = caches[call.mesh ? 1 : 0];
  auto it = cache.find(call);
  Executor::Compiled compiled;
  if (it != cache.end()) {
    compiled = it->second;
  } else {
    compiled = CompileEager(a, types, places, call.mesh, shares);
    if (cache.size() > kMostEager) cache.clear();
    cache.emplace(EagerKey(call, a.params), compiled);
  }
  std::vector<Array> results;
  for (ArrayRef& r :
       TheExecutor().Run(compiled.get(), {a.operands.begin(), a.operands.end()}, a.loc))
    results.emplace_back(std::move(r));
  return results;
}

bool OnlyTypes(const Application& a) {
  if (CurrentMesh() && CurrentMesh()->is_abstract()) return true;
  if (a.result && a.result->mesh() && a.result->mesh()->is_abstract()) return true;
  for (const ArrayRef& operand : a.operands)
    if (operand->kind() == ArrayImpl::kAbstract ||
        (operand->type()->mesh() && operand->type()->mesh()->is_abstract()))
      return true;
  return false;
}

// Whether `inner` is the mesh after some of its axes became Manual.
bool IsOutside(const sharding::MeshDef* mesh, const sharding::MeshDef* inner) {
  if (!mesh) return false;
  if (mesh->axes().size() != inner->axes().size()) return false;
  std::vector<AxisMode> modes;
  for (size_t a = 0; a < mesh->axes().size(); ++a) {
    const bool entered = inner->axes()[a].mode == AxisMode::Manual;
    modes.push_back(entered ? AxisMode::Manual : mesh->axes()[a].mode);
  }
  return mesh->WithModes(modes) == inner;
}

// Whether arrays on `mesh` are outside of shard_map and auto_axes, which made `current` of it.
bool IsAround(const sharding::MeshDef* mesh, const sharding::MeshDef* current) {
  if (IsOutside(mesh, current)) return true;
  const AutoMeshScope* scope = AutoMeshScope::Inside(mesh);
  return scope && (scope->inner() == current || IsAround(scope->inner(), current));
}

const Trace* MadeIn(const ArrayImpl& array) {
  return array.kind() == ArrayImpl::kTraced ? static_cast<const TracedArray&>(array).trace.get()
                                            : nullptr;
}

// The regions that devices run differently, between the definition of an array and here: their
// axes, and the trace around the outermost one.
struct Divergence {
  sharding::AxisList axes;
  Trace* around = nullptr;
};
Divergence DivergenceSince(const Trace* made) {
  Divergence d;
  for (Trace* t = CurrentTrace(); t && t != made; t = t->outer()) {
    if (t->runs().diverges.empty()) continue;
    sharding::AddTo(d.axes, t->runs().enters);
    d.around = t->outer();
  }
  return d;
}

bool MustEnter(const ArrayImpl& array) {
  const sharding::MeshDef *current = CurrentMesh(), *mesh = array.type()->mesh();
  if (!current) return false;
  if (mesh && mesh != current) return CanEnter(mesh, current);
  if (!current->has_mode(AxisMode::Manual)) return false;
  const sharding::AxisList& varying = array.type()->sharding().varying;
  return !sharding::Difference(DivergenceSince(MadeIn(array)).axes, varying).empty();
}

// Applies an op after bringing its outside operands in.
std::vector<Array> ApplyInside(Application a) {
  std::vector<Array> entered;
  for (ArrayRef& operand : a.operands) {
    entered.push_back(Enter(operand, a.shown_as ? a.shown_as : a.op.name.data(), a.loc));
    operand = entered.back().impl();
  }
  return Apply(a);
}

bool AnyMustEnter(const Application& a) {
  const sharding::MeshDef* current = CurrentMesh();
  if (!current) return false;
  if (std::holds_alternative<ir::AsManualMove>(*a.op.lowering)) return false;
  if (std::holds_alternative<ir::AsMove>(*a.op.lowering) &&
      !IsOutside(a.operands[0]->type()->mesh(), current))
    return false;
  return absl::c_any_of(a.operands, [](const ArrayRef& operand) { return MustEnter(*operand); });
}

// Applies an op of manual computation, named as in program text, to no axes and no dims.
Array Recast(std::string_view name, const ArrayRef& array, sharding::TensorSharding to, Loc loc) {
  const ir::OpDef& op = *ir::FindOp(name);
  base::Reader fields("axes=[], dims=[]", "params", loc);
  return Apply({.op = op,
                .params = op.params.read(fields, nullptr),
                .operands = {array},
                .loc = loc,
                .result = array->type()->WithSharding(std::move(to))})[0];
}

// Returns the trace around the regions of the current shard_map. An array that is brought in there
// is shared by all of them.
Trace* AroundRegions() {
  Trace* t = CurrentTrace();
  while (t && t->mesh() == CurrentMesh()) t = t->outer();
  return t;
}

// Returns an array of the mesh around the scope under the mesh inside of it.
Array HideAutoAxes(const ArrayRef& array, const AutoMeshScope& inside, Loc loc) {
  const TraceScope scope(inside.trace());
  const MeshDefScope mesh(inside.inner());
  return Apply(
      {.op = *ir::FindOp("implied_reshard"),
       .params = {},
       .operands = {array},
       .loc = loc,
       .result = array->type()->WithSharding(Under(array->type()->sharding(), inside.inner()))})[0];
}

Array EnterMesh(const ArrayRef& array, const char* op, Loc loc) {
  const sharding::MeshDef *current = CurrentMesh(), *mesh = array->type()->mesh();
  if (!mesh || mesh == current || !IsAround(mesh, current)) return Array(array);
  if (!IsOutside(mesh, current)) {
    const AutoMeshScope* inside = AutoMeshScope::Inside(mesh);
    const Array shown = HideAutoAxes(array, *inside, loc);
    return EnterMesh(shown.impl(), op, loc);
  }
  sharding::TensorSharding s = array->type()->sharding();
  s.mesh = current;
  for (const sharding::DimAxes& d : s.dims)
    for (sharding::AxisPart axis : d.axes) {
      if (current->axes()[axis.axis].mode != AxisMode::Manual) continue;
      ErrorDetail detail =
          base::Refusal(op, 24, base::Where(loc),
                        "an array from outside is sharded over an axis that is Manual here",
                        {"pass it to shard_map as an argument: each device then gets its shard",
                         "or reshard it outside, so that devices along the axis all have it"});
      detail.operands = {{"array", array->type()->text(), base::Where(array->loc())}};
      base::ThrowSharding(std::move(detail));
    }
  const TraceScope scope(AroundRegions());
  return Recast("full_to_shard", array, std::move(s), loc);
}

// C27: refuses an array that is unreduced over one of the axes, because it cannot vary along
// it too.
void RefuseTerms(const ArrayRef& array, const sharding::AxisList& axes, const char* op, Loc loc) {
  const sharding::AxisList& terms = array->type()->sharding().unreduced;
  if (sharding::Difference(terms, axes) == terms) return;
  ErrorDetail detail = base::Refusal(
      op, 27, base::Where(loc),
      "an unreduced array from outside cannot be used where devices run independently",
      {"sum it outside first with psum"});
  detail.operands = {{"array", array->type()->text(), base::Where(array->loc())}};
  base::ThrowSharding(std::move(detail));
}

Array BringIn(const ArrayRef& array, const char* op, Loc loc) {
  const Divergence divergence = DivergenceSince(MadeIn(*array));
  const Array inside = EnterMesh(array, op, loc);
  sharding::TensorSharding s = inside.impl()->type()->sharding();
  s.mesh = CurrentMesh();
  const sharding::AxisList missing = sharding::Difference(divergence.axes, s.varying);
  if (missing.empty()) return inside;
  RefuseTerms(inside.impl(), missing, op, loc);
  sharding::AddTo(s.varying, missing);
  s.reduced = sharding::Difference(s.reduced, missing);
  const TraceScope scope(divergence.around);
  return Recast("pcast", inside.impl(), std::move(s), loc);
}

}  // namespace

sharding::TensorSharding Under(sharding::TensorSharding s, const sharding::MeshDef* mesh) {
  s.mesh = mesh;
  const auto hide = [&](sharding::AxisList& axes) {
    axes.erase(std::remove_if(axes.begin(), axes.end(),
                              [&](sharding::AxisPart a) {
                                return mesh->axes()[a.axis].mode != AxisMode::Explicit;
                              }),
               axes.end());
  };
  for (sharding::DimAxes& d : s.dims) hide(d.axes);
  hide(s.unreduced);
  hide(s.reduced);
  return s;
}

bool CanEnter(const sharding::MeshDef* mesh, const sharding::MeshDef* current) {
  return IsAround(mesh, current);
}

Array Enter(const ArrayRef& array, const char* op, Loc loc) {
  const sharding::MeshDef* current = CurrentMesh();
  if (!current || !MustEnter(*array)) return Array(array);
  Trace* here = CurrentTrace();
  if (!here) return BringIn(array, op, loc);
  if (const Array& known = here->Entered(array, current); known.is_given()) return known;
  const Array inside = BringIn(array, op, loc);
  here->Entered(array, current) = inside;
  return inside;
}

std::vector<Array> Apply(const Application& a) {
  if (AnyMustEnter(a)) return ApplyInside(a);
  if (std::shared_ptr<Trace> trace = TraceOf(a)) return RecordOp(*trace, a);
  if (!OnlyTypes(a)) return Eager(a);
  std::vector<Array> results;
  for (const ir::Type* type : Infer(a, TypesOf(a), CurrentMesh()))
    results.emplace_back(std::make_shared<ArrayImpl>(ArrayImpl::kAbstract, type, a.loc));
  return results;
}

}  // namespace tessera::trace
