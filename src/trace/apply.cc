// Applies an op: records it, computes it at once as a program of one op, or only infers its type.
#include "trace/apply.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

#include <mutex>

#include "base/error.h"
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
    const ir::Type* place = PlaceOf(*a.operands[i]);
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

std::vector<Array> Record(Trace& trace, const Application& a) {
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

// The key of an eager call. The cache maps it to a compiled program.
struct EagerKey {
  const ir::OpDef* op;
  ir::ParamsPtr params;
  TypeList operands, places;
  absl::InlinedVector<bool, 4> shares;
  const ir::Type* result;
  base::Shape wanted_shape;
  DType wanted_dtype;
  std::shared_ptr<const sharding::TensorSharding> out_sharding;
  const sharding::MeshDef* mesh;
  size_t compile_key;
  std::vector<ir::RegionPtr> regions;
};
// The key of a call that is looked up. It refers to the call and copies nothing.
struct EagerProbe {
  const Application& a;
  const TypeList &operands, &places;
  const absl::InlinedVector<bool, 4>& shares;
  const sharding::MeshDef* mesh;
  size_t compile_key;
};

template <class Params, class Out>
size_t HashParts(const ir::OpDef* op, const Params& params, const TypeList& operands,
                 const TypeList& places, const ir::Type* result, const base::Shape* shape,
                 DType dtype, const Out& out, const sharding::MeshDef* mesh, size_t key,
                 ir::Regions regions) {
  size_t h = absl::HashOf(op, operands, places, result, mesh, key, dtype.code());
  if (params) h = ir::MixHash(h, params->Hash());
  if (shape) h = ir::FieldHash(h, *shape);
  if (out) h = ir::MixHash(h, absl::HashOf(*out));
  for (const ir::RegionPtr& region : regions) h = ir::MixHash(h, ir::HashOf(*region));
  return h;
}

struct EagerHash {
  using is_transparent = void;
  size_t operator()(const EagerKey& k) const {
    return HashParts(k.op, k.params, k.operands, k.places, k.result, &k.wanted_shape,
                     k.wanted_dtype, k.out_sharding, k.mesh, k.compile_key, k.regions);
  }
  size_t operator()(const EagerProbe& p) const {
    static const base::Shape kNone;
    return HashParts(&p.a.op, p.a.params, p.operands, p.places, p.a.result,
                     p.a.wanted ? &p.a.wanted->shape : &kNone,
                     p.a.wanted ? p.a.wanted->dtype : DType{}, p.a.out_sharding, p.mesh,
                     p.compile_key, p.a.regions);
  }
};
struct EagerEqual {
  using is_transparent = void;
  bool operator()(const EagerKey& x, const EagerKey& y) const {
    return x.op == y.op && SameParams(x.params.get(), y.params.get()) && x.operands == y.operands &&
           x.places == y.places && x.shares == y.shares && x.result == y.result &&
           x.wanted_shape == y.wanted_shape && x.wanted_dtype == y.wanted_dtype &&
           SameOut(x.out_sharding.get(), y.out_sharding.get()) && x.mesh == y.mesh &&
           x.compile_key == y.compile_key && SameRegions(x.regions, y.regions);
  }
  bool operator()(const EagerKey& x, const EagerProbe& p) const {
    bool wanted = p.a.wanted
                      ? x.wanted_shape == p.a.wanted->shape && x.wanted_dtype == p.a.wanted->dtype
                      : x.wanted_shape.empty() && x.wanted_dtype.is_default();
    return wanted && x.op == &p.a.op && SameParams(x.params.get(), p.a.params.get()) &&
           x.operands == p.operands && x.places == p.places && x.shares == p.shares &&
           x.result == p.a.result && SameOut(x.out_sharding.get(), p.a.out_sharding) &&
           x.mesh == p.mesh && x.compile_key == p.compile_key &&
           SameRegions(x.regions, p.a.regions);
  }
  bool operator()(const EagerProbe& p, const EagerKey& x) const { return (*this)(x, p); }
  static bool SameParams(const ir::Params* a, const ir::Params* b) {
    return a == b || (a && b && a->Equals(*b));
  }
  // Regions are traced again at each call. Messages name lines, so lines must be equal too.
  static bool SameRegions(ir::Regions a, ir::Regions b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const ir::RegionPtr& x, const ir::RegionPtr& y) {
                        return ir::SameProgram(*x, *y) && ir::SameLines(*x, *y);
                      });
  }
  static bool SameOut(const sharding::TensorSharding* a, const sharding::TensorSharding* b) {
    return a == b || (a && b && *a == *b);
  }
};

// One cache per thread, so that a hit takes no lock. Bounded: cleared when it is full.
using EagerCache = absl::flat_hash_map<EagerKey, Executor::Compiled, EagerHash, EagerEqual>;
constexpr size_t kMostEager = 4096;

Executor::Compiled CompileEager(const Application& a, const TypeList& types, const TypeList& places,
                                const sharding::MeshDef* mesh,
                                const absl::InlinedVector<bool, 4>& shares) {
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
  static thread_local EagerCache cache;
  TypeList types = TypesOf(a), places = PlacesOf(a);
  absl::InlinedVector<bool, 4> shares;
  for (const ArrayRef& operand : a.operands)
    shares.push_back(static_cast<const ConcreteArray*>(operand.get())->shares_replicas());
  const sharding::MeshDef* mesh = CurrentMesh();
  size_t key = TheExecutor().CompileKey();
  auto it = cache.find(EagerProbe{a, types, places, shares, mesh, key});
  Executor::Compiled compiled;
  if (it != cache.end()) {
    compiled = it->second;
  } else {
    compiled = CompileEager(a, types, places, mesh, shares);
    if (cache.size() > kMostEager) cache.clear();
    cache.emplace(
        EagerKey{&a.op,
                 a.params,
                 types,
                 places,
                 shares,
                 a.result,
                 a.wanted ? a.wanted->shape : base::Shape{},
                 a.wanted ? a.wanted->dtype : DType{},
                 a.out_sharding ? std::make_shared<const sharding::TensorSharding>(*a.out_sharding)
                                : nullptr,
                 mesh,
                 key,
                 {a.regions.begin(), a.regions.end()}},
        compiled);
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
  if (mesh->axes().size() != inner->axes().size()) return false;
  std::vector<AxisMode> modes;
  for (size_t a = 0; a < mesh->axes().size(); ++a) {
    const bool entered = inner->axes()[a].mode == AxisMode::Manual;
    modes.push_back(entered ? AxisMode::Manual : mesh->axes()[a].mode);
  }
  return mesh->WithModes(modes) == inner;
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
  if (!current || !current->has_mode(AxisMode::Manual)) return false;
  if (mesh && mesh != current) return IsOutside(mesh, current);
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
  if (!current || !current->has_mode(AxisMode::Manual)) return false;
  if (std::holds_alternative<ir::AsManualMove>(*a.op.lowering)) return false;
  return std::any_of(a.operands.begin(), a.operands.end(),
                     [](const ArrayRef& operand) { return MustEnter(*operand); });
}

// Applies an op of manual computation without axes or dims.
Array Recast(const ir::OpDef& op, const ArrayRef& array, sharding::TensorSharding to, Loc loc) {
  return Apply({.op = op,
                .params = TheExecutor().Casts().no_axes,
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

Array EnterMesh(const ArrayRef& array, const char* op, Loc loc) {
  const sharding::MeshDef *current = CurrentMesh(), *mesh = array->type()->mesh();
  if (!mesh || mesh == current || !IsOutside(mesh, current)) return Array(array);
  sharding::TensorSharding s = array->type()->sharding();
  s.mesh = current;
  for (const sharding::DimAxes& d : s.dims)
    for (sharding::AxisPart axis : d.axes) {
      if (current->axes()[axis.axis].mode != AxisMode::Manual) continue;
      ErrorDetail detail =
          base::Refusal(op, 24, base::Where(loc),
                        "an array from outside is sharded over an axis that is Manual here",
                        {"give it to shard_map as an argument: each device then gets its part",
                         "or reshard it outside, so that devices along the axis all have it"});
      detail.operands = {{"array", array->type()->text(), base::Where(array->loc())}};
      base::ThrowSharding(std::move(detail));
    }
  const TraceScope scope(AroundRegions());
  return Recast(*TheExecutor().Casts().full_to_shard, array, std::move(s), loc);
}

// C27: an array that differs by device cannot be a term of a sum.
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
  return Recast(*TheExecutor().Casts().pcast, inside.impl(), std::move(s), loc);
}

}  // namespace

bool CanEnter(const sharding::MeshDef* mesh, const sharding::MeshDef* current) {
  return current->has_mode(AxisMode::Manual) && IsOutside(mesh, current);
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
  if (std::shared_ptr<Trace> trace = TraceOf(a)) return Record(*trace, a);
  if (!OnlyTypes(a)) return Eager(a);
  std::vector<Array> results;
  for (const ir::Type* type : Infer(a, TypesOf(a), CurrentMesh()))
    results.emplace_back(std::make_shared<ArrayImpl>(ArrayImpl::kAbstract, type, a.loc));
  return results;
}

}  // namespace tessera::trace
