// Collectives inside of shard_map: which states they take and leave, and in which dims.
#include "api/collectives.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/mapped_axes.h"
#include "base/at.h"
#include "tessera/shard_map.h"
#include "trace/scopes.h"

namespace tessera {
namespace api {
namespace {

using sharding::AxisList;
using sharding::TensorSharding;

const char* StateName(Variance state) {
  constexpr const char* kNames[] = {"invarying", "varying", "unreduced", "reduced"};
  static_assert(std::size(kNames) == static_cast<size_t>(Variance::kReduced) + 1);
  return kNames[static_cast<int>(state)];
}

std::string AStateName(Variance state) {
  const std::string name = StateName(state);
  return (name[0] == 'i' || name[0] == 'u' ? "an " : "a ") + name;
}

Variance StateOver(const TensorSharding& s, sharding::AxisPart a) {
  return sharding::OverlapsAny(s.varying, a)     ? Variance::kVarying
         : sharding::OverlapsAny(s.unreduced, a) ? Variance::kUnreduced
         : sharding::OverlapsAny(s.reduced, a)   ? Variance::kReduced
                                                 : Variance::kInvarying;
}

std::string AxisName(sharding::AxisPart a) { return ops::NamesOf(trace::CurrentMesh(), {a})[0]; }

// C26: one state over all axes.
Variance StateOf(const Array& x, const AxisList& axes, Call call) {
  const TensorSharding& s = TypeOf(x)->sharding();
  const Variance state = StateOver(s, axes[0]);
  for (sharding::AxisPart a : axes)
    if (StateOver(s, a) != state)
      FailSharding(call, 26,
                   fmt::format("{} is {} over {} but {} over {}: one collective takes one state",
                               TypeOf(x)->text(), StateName(state), AxisName(axes[0]),
                               StateName(StateOver(s, a)), AxisName(a)),
                   {"call it for the axes of one state at a time"});
  return state;
}

// C27: terms of sums are for psum and psum_scatter.
void RefuseTerms(const Array& x, const AxisList& axes, Call call) {
  for (sharding::AxisPart a : axes)
    if (StateOver(TypeOf(x)->sharding(), a) == Variance::kUnreduced)
      FailSharding(call, 27,
                   fmt::format("{} is unreduced over {}: what a device has is a term of a sum",
                               TypeOf(x)->text(), AxisName(a)),
                   {"sum first: psum(x, ...) or psum_scatter(x, ...)"});
}

// C27, C28: neither terms of sums nor what is reduced, which must be cast.
void RefuseSets(const Array& x, const AxisList& axes, Call call) {
  RefuseTerms(x, axes, call);
  for (sharding::AxisPart a : axes) {
    const Variance state = StateOver(TypeOf(x)->sharding(), a);
    if (state == Variance::kReduced)
      FailSharding(call, 28, fmt::format("{} is reduced over {}", TypeOf(x)->text(), AxisName(a)),
                   {fmt::format("cast first: pcast(x, \"{}\", Variance::kVarying)", AxisName(a))});
  }
}

struct Made {
  base::Shape shape;
  TensorSharding sharding;
  explicit Made(const ir::Type* type) : shape(type->shape()), sharding(type->sharding()) {}
  void Leave(const AxisList& axes) {
    sharding.varying = sharding::Difference(sharding.varying, axes);
    sharding.unreduced = sharding::Difference(sharding.unreduced, axes);
    sharding.reduced = sharding::Difference(sharding.reduced, axes);
    if (sharding.unreduced.empty()) sharding.kind = Reduction::kSum;
  }
  void Enter(AxisList& set, const AxisList& axes) {
    Leave(axes);
    sharding::AddTo(set, axes);
  }
  void Become(Variance state, const AxisList& axes) {
    switch (state) {
      case Variance::kInvarying:
        return Leave(axes);
      case Variance::kVarying:
        return Enter(sharding.varying, axes);
      case Variance::kUnreduced:
        return Enter(sharding.unreduced, axes);
      case Variance::kReduced:
        return Enter(sharding.reduced, axes);
    }
  }
};

ir::ParamsPtr ParamsOf(const AxisList& axes, std::vector<int64_t> dims = {}) {
  return ir::MakeParams(
      ops::ManualParams{ops::NamesOf(trace::CurrentMesh(), axes), {std::move(dims)}});
}

Array OnManualMesh(const Operand& x, Call call) {
  Array a = ToArray(x, call);
  return trace::Enter(trace::Use(a, call.name, call.loc), call.name, call.loc);
}

Array Cast(const Array& x, const AxisList& axes, Variance to, Call call) {
  Made made(TypeOf(x));
  if (!made.sharding.mesh) made.sharding.mesh = trace::CurrentMesh();
  made.Become(to, axes);
  return ApplyManual(ops::kPcast, ir::MakeParams(ops::ManualParams{}), x,
                     TypeOf(x)->WithSharding(std::move(made.sharding)), call);
}

Array Numbers(Array x) { return TypeOf(x)->dtype().is_bool() ? x.astype(i32) : x; }

// C20: keys of random numbers move, but are neither added nor compared.
void RefuseKeys(const Array& x, Call call) {
  if (TypeOf(x)->dtype().is_key())
    FailDType(call, 20, "a random key is not a number: it can be moved, but not computed with");
}

// C29: a collective reduces terms of its own reduction only.
void CheckKind(const Array& x, Reduction kind, Call call) {
  const Reduction of = TypeOf(x)->sharding().kind;
  if (of == kind) return;
  FailSharding(
      call, 29,
      fmt::format("what a device has of {} is a term of a {}, not of a {}", TypeOf(x)->text(),
                  sharding::ReductionName(of), sharding::ReductionName(kind)),
      {fmt::format("reduce it by {} first", of == Reduction::kSum   ? "psum"
                                            : of == Reduction::kMax ? "pmax"
                                                                    : "pmin")});
}

Array Reduced(const ir::OpDef& op, Reduction kind, const Operand& operand, const AxisSet& names,
              Call call) {
  const AxisList axes = ManualAxes(names, call);
  Array x = OnManualMesh(operand, call);
  RefuseKeys(x, call);
  if (axes.empty()) return kind == Reduction::kSum ? Numbers(x) : x;
  // A sum over what some devices have alike counts it several times: that is asked for by a cast.
  const bool unreduced = sharding::OverlapsAny(TypeOf(x)->sharding().unreduced, axes[0]);
  if (kind == Reduction::kSum || unreduced) StateOf(x, axes, call);
  if (unreduced) {
    CheckKind(x, kind, call);
  } else {
    RefuseSets(x, axes, call);
    x = AsVarying(kind == Reduction::kSum ? Numbers(x) : x, axes, call);
  }
  CheckTogether(axes, call);
  Made made(TypeOf(x));
  made.Leave(axes);
  return ApplyManual(op, ParamsOf(axes), x, TypeOf(x)->WithSharding(std::move(made.sharding)),
                     call);
}

Array InNewDim(const Array& x, int64_t dim, Call call) {
  base::Shape shape = TypeOf(x)->shape();
  shape.insert(shape.begin() + dim, 1);
  return Reshape(x, shape, call);
}
Array WithoutDim(const Array& x, int64_t dim, Call call) {
  base::Shape shape = TypeOf(x)->shape();
  shape.erase(shape.begin() + dim);
  return Reshape(x, shape, call);
}

// [..., n, ...] as [..., parts, n / parts, ...].
Array InParts(const Array& x, int64_t dim, int64_t parts, Call call) {
  base::Shape shape = TypeOf(x)->shape();
  base::At(shape, dim) /= parts;
  shape.insert(shape.begin() + dim, parts);
  return Reshape(x, shape, call);
}

// C21: what is cut into one part per device divides.
void CheckDivides(const Array& x, int64_t dim, int64_t parts, Call call) {
  const int64_t size = base::At(TypeOf(x)->shape(), dim);
  if (size % parts != 0)
    FailShape(call, 21,
              fmt::format("dim {} of size {} does not divide into {} parts, one per device", dim,
                          size, parts));
}
// C30: without `tiled` a dim has one entry per device.
void CheckEntries(const Array& x, int64_t dim, int64_t parts, Call call) {
  const int64_t size = base::At(TypeOf(x)->shape(), dim);
  if (size != parts)
    FailShape(call, 30,
              fmt::format("dim {} has size {}, but there are {} devices: it must have one entry "
                          "for each",
                          dim, size, parts),
              {"or ask for parts of the dim: {.tiled = true}"});
}

// C7: Explicit axes of a dim must divide what is left of it.
void CheckEven(const Made& made, Call call) {
  const int d = sharding::FirstUnevenDim(made.sharding, made.shape);
  if (d >= 0)
    FailSharding(call, 7,
                 fmt::format("dim {} would have size {}, which its {} shards do not divide", d,
                             base::At(made.shape, d),
                             sharding::SizeOf(base::At(made.sharding.dims, d).axes)));
}

Array ApplySized(const ir::OpDef& op, const AxisList& axes, std::vector<int64_t> dims,
                 const Array& x, Made made, Call call) {
  CheckEven(made, call);
  CheckTogether(axes, call);
  return ApplyManual(
      op, ParamsOf(axes, std::move(dims)), x,
      ir::Type::Get(std::move(made.shape), TypeOf(x)->dtype(), std::move(made.sharding)), call);
}

// C31: positions are those of devices, and none is named twice.
void CheckPairs(const std::vector<std::pair<int, int>>& pairs, int64_t devices, Call call) {
  std::vector<bool> from(static_cast<size_t>(devices)), to = from;
  for (const auto& [f, t] : pairs) {
    for (int p : {f, t})
      if (p < 0 || p >= devices)
        FailSharding(call, 31,
                     fmt::format("there is no position {}: the group has {} devices", p, devices));
    for (auto [list, p, verb] : {std::tuple(&from, f, "sends"), std::tuple(&to, t, "receives")}) {
      if (base::At(*list, p)) FailSharding(call, 31, fmt::format("position {} {} twice", p, verb));
      base::At(*list, p) = true;
    }
  }
}

Array Permute(const Array& x, const AxisList& axes, std::vector<std::vector<int64_t>> pairs,
              Call call) {
  CheckTogether(axes, call);
  return ApplyManual(ops::kPpermute,
                     ir::MakeParams(ops::PermuteParams{ops::NamesOf(trace::CurrentMesh(), axes),
                                                       std::move(pairs)}),
                     x, TypeOf(x)->WithWeak(false), call);
}

Array VaryingOperand(const Operand& operand, const AxisList& axes, Call call) {
  Array x = OnManualMesh(operand, call);
  RefuseSets(x, axes, call);
  return AsVarying(x, axes, call);
}

}  // namespace

sharding::AxisList ManualAxes(const AxisSet& names, Call call) {
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  AxisList axes;
  for (const AxisRef& ref : names.axes()) {
    const int axis = mesh ? mesh->Find(ref.name) : -1;
    if (axis < 0)
      FailSharding(
          call, 1,
          mesh ? fmt::format("the mesh {} has no axis \"{}\"", mesh->text(), ref.name)
               : fmt::format("axis \"{}\" is not known here: no mesh is in scope", ref.name),
          {"collectives are for functions under shard_map"});
    const MeshAxis& of = base::At(mesh->axes(), axis);
    if (of.mode != AxisMode::Manual)
      FailSharding(
          call, 25,
          fmt::format("axis \"{}\" is {} here, not Manual", ref.name,
                      of.mode == AxisMode::Auto ? "Auto" : "Explicit"),
          {IsMappedAxis(ref.name)
               ? fmt::format(
                     "a vmap around this maps over \"{}\", so only one lane is visible here",
                     ref.name)
               : fmt::format("collectives are for functions under shard_map over \"{}\"",
                             ref.name)});
    const sharding::AxisPart a{axis, ref.pre, ref.size ? ref.size : of.size};
    if (of.size == 1) continue;
    if (sharding::OverlapsAny(axes, a))
      FailSharding(call, 12, fmt::format("axis \"{}\" is named twice", ref.name));
    axes.push_back(a);
  }
  sharding::TensorSharding check = sharding::Replicated(mesh, 1);
  check.dims[0].axes = axes;
  if (const auto problem = sharding::Verify(check)) FailSharding(call, 1, problem->reason);
  return axes;
}

Array AnyDevice(const Array& predicate, const AxisList& axes, Call call) {
  const Array x = AsVarying(predicate.astype(i32), axes, call);
  Made made(TypeOf(x));
  made.Leave(axes);
  return ApplyManual(ops::kPmax, ParamsOf(axes), x,
                     TypeOf(x)->WithSharding(std::move(made.sharding)), call) > 0;
}

void CheckTogether(const AxisList& axes, Call call) {
  for (const trace::Trace* t = trace::CurrentTrace(); t; t = t->outer())
    for (sharding::AxisPart a : axes)
      if (sharding::OverlapsAny(t->runs().diverges, a))
        FailSharding(call, 38,
                     fmt::format("devices along {} may not all get here: {} varies over it",
                                 AxisName(a), t->runs().by),
                     {"make it the same for all of them: take its psum, pmax or pmin first",
                      "or move the collective out"});
}

namespace {

// The axes along which the instruction brings devices together. A maximum of predicates does not
// count: it stands where the regions that devices run differently are given up (AnyDevice).
ops::NameList TogetherOver(const ir::Instruction& i) {
  if (std::holds_alternative<ir::AsPermute>(*i.op->lowering))
    return ir::As<ops::PermuteParams>(i.params.get()).axes;
  if (!std::holds_alternative<ir::AsManualMove>(*i.op->lowering) || i.op == &ops::kPmax) return {};
  return ir::As<ops::ManualParams>(i.params.get()).axes;
}

const ir::Instruction* FirstTogether(const ir::Program& program, const AxisList& axes) {
  for (const ir::Instruction& i : program.instructions) {
    const AxisList over = ops::AxesOf(trace::CurrentMesh(), TogetherOver(i));
    if (sharding::Difference(axes, over) != axes) return &i;
    for (const ir::RegionPtr& region : i.regions)
      if (const ir::Instruction* found = FirstTogether(*region, axes)) return found;
  }
  return nullptr;
}

}  // namespace

void CheckTogether(const std::vector<trace::TracedFunction>& regions, const trace::RegionRuns& runs,
                   Call call) {
  for (const trace::TracedFunction& region : regions)
    if (const ir::Instruction* i = FirstTogether(region.program, runs.diverges))
      FailSharding({call.name, i->loc}, 38,
                   fmt::format("the gradient needs {} over {} here, but not all devices may get "
                               "here: {} varies",
                               i->op->name, fmt::join(TogetherOver(*i), ", "), runs.by),
                   {"let what is differentiated vary first: pcast(x, ..., Variance::kVarying)"});
}

void CastOutput(trace::TracedFunction& region, size_t i, const AxisList& axes) {
  ir::Program& program = region.program;
  const ir::Type* type = program.type(program.outputs[i]);
  const AxisList missing = sharding::Difference(axes, VaryingOf(*type));
  const AxisList& terms = type->sharding().unreduced;
  if (missing.empty() || sharding::Difference(terms, missing) != terms) return;
  Made made(type);
  if (!made.sharding.mesh) made.sharding.mesh = program.mesh;
  made.Become(Variance::kVarying, missing);
  ir::Builder builder(program, region.output_locs[i]);
  program.outputs[i] = ops::ToManualStates(builder, program.outputs[i],
                                           type->WithSharding(std::move(made.sharding)));
}

namespace {

bool NeedsOthers(const ir::Program& program) {
  if (program.mesh && !program.mesh->all_mode(AxisMode::Manual)) return true;
  for (const ir::Instruction& i : program.instructions) {
    const bool casts = i.op == &ops::kPcast || i.op == &ops::kAssumeInvariant;
    if (!casts && (std::holds_alternative<ir::AsManualMove>(*i.op->lowering) ||
                   std::holds_alternative<ir::AsPermute>(*i.op->lowering) ||
                   std::holds_alternative<ir::AsMove>(*i.op->lowering)))
      return true;
    for (const ir::RegionPtr& region : i.regions)
      if (NeedsOthers(*region)) return true;
  }
  return false;
}

void AddVarying(const ir::Program& program, AxisList& axes) {
  for (const ir::Value& v : program.values) sharding::AddTo(axes, VaryingOf(*v.type));
  for (const ir::Instruction& i : program.instructions)
    for (const ir::RegionPtr& region : i.regions) AddVarying(*region, axes);
}

}  // namespace

AxisList VaryingIn(const std::vector<trace::TracedFunction>& regions) {
  AxisList axes;
  for (const trace::TracedFunction& region : regions) AddVarying(region.program, axes);
  // Further inside more axes may be Manual.
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  AxisList here;
  for (sharding::AxisPart a : axes)
    if (mesh && base::At(mesh->axes(), a.axis).mode == AxisMode::Manual) here.push_back(a);
  return here;
}

bool NeedsOthers(const std::vector<trace::TracedFunction>& regions) {
  return std::any_of(regions.begin(), regions.end(), [](const trace::TracedFunction& region) {
    return NeedsOthers(region.program);
  });
}

Array ApplyManual(const ir::OpDef& op, ir::ParamsPtr params, const Array& x, const ir::Type* result,
                  Call call) {
  return trace::Apply({.op = op,
                       .params = std::move(params),
                       .operands = {trace::Use(x, call.name, call.loc)},
                       .loc = call.loc,
                       .shown_as = call.name,
                       .result = result})[0];
}

Array AsVarying(const Array& given, const AxisList& axes, Call call) {
  const Array x = trace::Enter(trace::Use(given, call.name, call.loc), call.name, call.loc);
  const AxisList missing = sharding::Difference(axes, TypeOf(x)->sharding().varying);
  if (missing.empty()) return x;
  RefuseTerms(x, missing, call);
  return Cast(x, missing, Variance::kVarying, call);
}

}  // namespace api

Array psum(Operand x, AxisSet axes, Loc loc) {
  return api::Reduced(ops::kPsum, Reduction::kSum, x, axes, {"psum", loc});
}
Array pmax(Operand x, AxisSet axes, Loc loc) {
  return api::Reduced(ops::kPmax, Reduction::kMax, x, axes, {"pmax", loc});
}
Array pmin(Operand x, AxisSet axes, Loc loc) {
  return api::Reduced(ops::kPmin, Reduction::kMin, x, axes, {"pmin", loc});
}
Array pmean(Operand x, AxisSet axes, Loc loc) {
  const api::Call call{"pmean", loc};
  const auto devices = static_cast<double>(sharding::SizeOf(api::ManualAxes(axes, call)));
  return divide(api::Reduced(ops::kPsum, Reduction::kSum, x, axes, call), devices, {}, loc);
}

Array all_gather(Operand operand, AxisSet names, AllGatherOptions options, Loc loc) {
  const api::Call call{"all_gather", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  if (options.to == Variance::kUnreduced)
    api::FailSharding(call, 32, "the result is the same on all devices, so it cannot be unreduced",
                      {".to is Variance::kVarying, kInvarying or kReduced"});
  Array x = api::VaryingOperand(operand, axes, call);
  const int64_t rank = api::TypeOf(x)->rank() + (options.tiled ? 0 : 1);
  const int64_t dim = api::NormalDim(options.dim, rank, call);
  if (!options.tiled) x = api::InNewDim(x, dim, call);
  if (axes.empty()) return x;
  api::Made made(api::TypeOf(x));
  base::At(made.shape, dim) *= sharding::SizeOf(axes);
  made.Become(options.to, axes);
  return api::ApplySized(ops::kGatherShards, axes, {dim}, x, std::move(made), call);
}

Array psum_scatter(Operand operand, AxisSet names, PsumScatterOptions options, Loc loc) {
  const api::Call call{"psum_scatter", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  Array x = api::OnManualMesh(operand, call);
  api::RefuseKeys(x, call);
  x = api::Numbers(x);
  const int64_t dim = api::NormalDim(options.dim, api::TypeOf(x)->rank(), call);
  const int64_t devices = sharding::SizeOf(axes);
  options.tiled ? api::CheckDivides(x, dim, devices, call)
                : api::CheckEntries(x, dim, devices, call);
  if (!axes.empty()) {
    const Variance state = api::StateOf(x, axes, call);
    if (state == Variance::kUnreduced)
      api::CheckKind(x, Reduction::kSum, call);
    else if (state == Variance::kReduced)
      api::RefuseSets(x, axes, call);
    else
      x = api::AsVarying(x, axes, call);
    api::Made made(api::TypeOf(x));
    base::At(made.shape, dim) /= devices;
    made.Become(Variance::kVarying, axes);
    x = api::ApplySized(ops::kPsumScatter, axes, {dim}, x, std::move(made), call);
  }
  return options.tiled ? x : api::WithoutDim(x, dim, call);
}

Array all_to_all(Operand operand, AxisSet names, int split_dim, int concat_dim,
                 AllToAllOptions options, Loc loc) {
  const api::Call call{"all_to_all", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  Array x = api::VaryingOperand(operand, axes, call);
  const int64_t rank = api::TypeOf(x)->rank();
  int64_t split = api::NormalDim(split_dim, rank, call);
  int64_t concat = api::NormalDim(concat_dim, rank, call);
  const int64_t devices = sharding::SizeOf(axes);
  const bool goes = !options.tiled || split == concat;  // the dim that is cut
  if (options.tiled) {
    api::CheckDivides(x, split, devices, call);
    // One dim cannot be cut and grow: what is cut are the parts, what grows is a part.
    if (split == concat) x = api::InParts(x, split, devices, call), ++concat;
  } else {
    // The dim that is cut goes, the one that comes is at concat_dim of what is left.
    api::CheckEntries(x, split, devices, call);
    if (concat >= split) ++concat;
    x = api::InNewDim(x, concat, call);
    if (concat <= split) ++split;
  }
  if (!axes.empty()) {
    api::Made made(api::TypeOf(x));
    base::At(made.shape, split) /= devices;
    base::At(made.shape, concat) *= devices;
    x = api::ApplySized(ops::kExchangeShards, axes, {split, concat}, x, std::move(made), call);
  }
  return goes ? api::WithoutDim(x, split, call) : x;
}

Array ppermute(Operand operand, AxisSet names, std::vector<std::pair<int, int>> pairs, Loc loc) {
  const api::Call call{"ppermute", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  const Array x = api::VaryingOperand(operand, axes, call);
  api::CheckPairs(pairs, sharding::SizeOf(axes), call);
  std::vector<std::vector<int64_t>> moves;
  for (const auto& [from, to] : pairs) moves.push_back({from, to});
  if (axes.empty()) return moves.empty() ? zeros_like(x, {}, loc) : x;
  return api::Permute(x, axes, std::move(moves), call);
}

Array pshift(Operand operand, AxisSet names, int by, Loc loc) {
  const api::Call call{"pshift", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  const Array x = api::VaryingOperand(operand, axes, call);
  if (axes.empty()) return x;
  const int64_t devices = sharding::SizeOf(axes);
  std::vector<std::vector<int64_t>> moves;
  for (int64_t i = 0; i < devices; ++i)
    moves.push_back({i, ((i + by) % devices + devices) % devices});
  return api::Permute(x, axes, std::move(moves), call);
}

Array pbroadcast(Operand operand, AxisSet names, int source, Loc loc) {
  const api::Call call{"pbroadcast", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  const Array x = api::VaryingOperand(operand, axes, call);
  const int64_t devices = sharding::SizeOf(axes);
  if (source < 0 || source >= devices)
    api::FailSharding(
        call, 31,
        fmt::format("there is no position {}: the group has {} devices", source, devices));
  if (axes.empty()) return x;
  std::vector<std::vector<int64_t>> moves;
  for (int64_t i = 0; i < devices; ++i) moves.push_back({source, i});
  return api::Permute(x, axes, std::move(moves), call);
}

Array axis_index(AxisSet names, Loc loc) {
  const api::Call call{"axis_index", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  if (axes.empty()) return api::ScalarOf(0, i32, false, call);
  sharding::TensorSharding s = sharding::Replicated(trace::CurrentMesh(), 0);
  s.varying = axes;
  sharding::SortAndMerge(s.varying);
  return trace::Apply({.op = ops::kAxisIndex,
                       .params = api::ParamsOf(axes),
                       .operands = {},
                       .loc = loc,
                       .shown_as = "axis_index",
                       .result = ir::Type::Get({}, i32, std::move(s))})[0];
}

int64_t axis_size(AxisSet names, Loc loc) {
  return sharding::SizeOf(api::ManualAxes(names, {"axis_size", loc}));
}

Array pcast(Operand operand, AxisSet names, Variance to, Loc loc) {
  const api::Call call{"pcast", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  const Array given = api::ToArray(operand, call), x = api::OnManualMesh(given, call);
  if (axes.empty()) return x;
  const Variance from = api::StateOf(x, axes, call);
  // What comes from outside of a region may be cast on its way in.
  if (from == to && api::TypeOf(given) != api::TypeOf(x)) return x;
  const bool known =
      (from == Variance::kInvarying && (to == Variance::kVarying || to == Variance::kReduced)) ||
      (from == Variance::kReduced && to == Variance::kVarying) ||
      (from == Variance::kVarying && to == Variance::kUnreduced);
  if (!known)
    api::FailSharding(call, 33,
                      fmt::format("no cast turns {} value into {} one", api::AStateName(from),
                                  api::AStateName(to)),
                      {to == Variance::kInvarying && from != Variance::kInvarying
                           ? "sum it: psum(x, ...); or promise it: assume_invariant(x, ...)"
                           : "casts go from invarying to varying or reduced, from reduced to "
                             "varying, and from varying to unreduced"});
  return api::Cast(x, axes, to, call);
}

Array assume_invariant(Operand operand, AxisSet names, Loc loc) {
  const api::Call call{"assume_invariant", loc};
  const sharding::AxisList axes = api::ManualAxes(names, call);
  const Array x = api::VaryingOperand(operand, axes, call);
  if (axes.empty()) return x;
  api::CheckTogether(axes, call);
  api::Made made(api::TypeOf(x));
  made.Leave(axes);
  return api::ApplyManual(ops::kAssumeInvariant, api::ParamsOf(axes), x,
                          api::TypeOf(x)->WithSharding(std::move(made.sharding)), call);
}

}  // namespace tessera
