// Collectives inside shard_map: the states over Manual axes that they accept and return.
#include <fmt/format.h>

#include <algorithm>

#include "api/core/manual_axes.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "sharding/text.h"
#include "tessera/shard_map.h"
#include "trace/apply.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

using sharding::AxisList;
using sharding::TensorSharding;

const char* StateName(Variance state) {
  switch (state) {
    case Variance::kInvarying:
      return "invarying";
    case Variance::kVarying:
      return "varying";
    case Variance::kUnreduced:
      return "unreduced";
    case Variance::kReduced:
      return "reduced";
  }
  return nullptr;
}

std::string AStateName(Variance state) {
  const std::string name = StateName(state);
  return (name[0] == 'i' || name[0] == 'u' ? "an " : "a ") + name;
}

// Returns the state of x over the axes. C26: it has one state over all of them.
Variance StateOf(const Array& x, const AxisList& axes, Call call) {
  const std::vector<StateOver> states = StatesOver(TypeOf(x)->sharding(), axes);
  if (states.size() > 1)
    FailSharding(
        call, 26,
        fmt::format("{} is {} over {} but {} over {}: a collective takes one state",
                    TypeOf(x)->text(), StateName(states[0].state), AxisName(states[0].axes[0]),
                    StateName(states[1].state), AxisName(states[1].axes[0])),
        {"call it for the axes of one state at a time"});
  return states[0].state;
}

// C27, C28: refuses x if it is unreduced or reduced over one of the axes.
void RefuseSets(const Array& x, const AxisList& axes, Call call) {
  RefuseTerms(x, axes, call);
  for (const StateOver& over : StatesOver(TypeOf(x)->sharding(), axes)) {
    if (over.state != Variance::kReduced) continue;
    FailSharding(call, 28,
                 fmt::format("{} is reduced over {}", TypeOf(x)->text(), AxisName(over.axes[0])),
                 {fmt::format("cast first: pcast(x, {}, Variance::kVarying)",
                              sharding::AxesCode(trace::CurrentMesh(), over.axes))});
  }
}

Array OnManualMesh(const Operand& x, Call call) {
  Array a = ToArray(x, call);
  return trace::Enter(trace::Use(a, call.name, call.loc), call.name, call.loc);
}

Array AsNumbers(Array x) { return TypeOf(x)->dtype().is_bool() ? x.astype(i32) : x; }

// C20: refuses an array of random keys, which cannot be added or compared.
void RefuseKeys(const Array& x, Call call) {
  if (TypeOf(x)->dtype().is_key())
    FailDType(call, 20, "a random key is not a number: it can be moved, but not computed with");
}

// C29: refuses x if its terms are to be combined by another reduction than the collective's.
void CheckReduction(const Array& x, Reduction kind, Call call) {
  const Reduction of = TypeOf(x)->sharding().kind;
  if (of == kind) return;
  FailSharding(
      call, 29,
      fmt::format("each device holds a partial {1} of {0}, not a partial {2}", TypeOf(x)->text(),
                  sharding::ReductionName(of), sharding::ReductionName(kind)),
      {fmt::format("reduce it with {} first", of == Reduction::kSum   ? "psum"
                                              : of == Reduction::kMax ? "pmax"
                                                                      : "pmin")});
}

Array ReduceOverDevices(const ir::OpDef& op, Reduction kind, const Operand& operand,
                        const AxisSet& names, Call call) {
  const AxisList axes = ManualAxes(names, call);
  Array x = OnManualMesh(operand, call);
  RefuseKeys(x, call);
  if (axes.empty()) return kind == Reduction::kSum ? AsNumbers(x) : x;
  // Values that are varying over some axes and invarying over others need a cast: a sum counts an
  // invarying value once per device.
  const bool unreduced = sharding::OverlapsAny(TypeOf(x)->sharding().unreduced, axes[0]);
  if (kind == Reduction::kSum || unreduced) StateOf(x, axes, call);
  if (unreduced) {
    CheckReduction(x, kind, call);
  } else {
    RefuseSets(x, axes, call);
    x = AsVarying(kind == Reduction::kSum ? AsNumbers(x) : x, axes, call);
  }
  CheckTogether(axes, call);
  ManualResult made(TypeOf(x));
  made.Leave(axes);
  return ApplyManual(op, ManualParamsOf(axes), x, TypeOf(x)->WithSharding(std::move(made.sharding)),
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

// Reshapes [..., n, ...] to [..., parts, n / parts, ...].
Array InParts(const Array& x, int64_t dim, int64_t parts, Call call) {
  base::Shape shape = TypeOf(x)->shape();
  base::At(shape, dim) /= parts;
  shape.insert(shape.begin() + dim, parts);
  return Reshape(x, shape, call);
}

// C21: refuses a dim that does not divide evenly into one part per device.
void CheckDivides(const Array& x, int64_t dim, int64_t parts, Call call) {
  const int64_t size = base::At(TypeOf(x)->shape(), dim);
  if (size % parts != 0)
    FailShape(
        call, 21,
        fmt::format("dim {} of size {} cannot be divided evenly into {} parts, one per device", dim,
                    size, parts));
}
// C30: without `tiled`, refuses a dim that does not have exactly one entry per device.
void CheckEntries(const Array& x, int64_t dim, int64_t parts, Call call) {
  const int64_t size = base::At(TypeOf(x)->shape(), dim);
  if (size != parts)
    FailShape(call, 30,
              fmt::format("dim {} has size {}, but there are {} devices: it must have one entry "
                          "for each",
                          dim, size, parts),
              {"or ask for parts of the dim: {.tiled = true}"});
}

// C7: refuses a result with a dim that its Explicit axes do not divide.
void CheckEven(const ManualResult& made, Call call) {
  const int d = sharding::FirstUnevenDim(made.sharding, made.shape);
  if (d >= 0)
    FailSharding(call, 7,
                 fmt::format("dim {} would have size {}, which its {} shards do not divide", d,
                             base::At(made.shape, d),
                             sharding::SizeOf(base::At(made.sharding.dims, d).axes)));
}

Array ApplySized(const ir::OpDef& op, const AxisList& axes, std::vector<int64_t> dims,
                 const Array& x, ManualResult made, Call call) {
  CheckEven(made, call);
  CheckTogether(axes, call);
  return ApplyManual(
      op, ManualParamsOf(axes, std::move(dims)), x,
      ir::Type::Get(std::move(made.shape), TypeOf(x)->dtype(), std::move(made.sharding)), call);
}

// C31: refuses positions out of range, and positions that send or receive twice.
void CheckPairs(const std::vector<std::pair<int, int>>& pairs, int64_t devices, Call call) {
  std::vector<bool> from(base::Size(devices)), to = from;
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

Array psum(Operand x, AxisSet axes, Loc loc) {
  return ReduceOverDevices(ops::kPsum, Reduction::kSum, x, axes, {"psum", loc});
}
Array pmax(Operand x, AxisSet axes, Loc loc) {
  return ReduceOverDevices(ops::kPmax, Reduction::kMax, x, axes, {"pmax", loc});
}
Array pmin(Operand x, AxisSet axes, Loc loc) {
  return ReduceOverDevices(ops::kPmin, Reduction::kMin, x, axes, {"pmin", loc});
}
Array pmean(Operand x, AxisSet axes, Loc loc) {
  const Call call{"pmean", loc};
  const auto devices = static_cast<double>(sharding::SizeOf(ManualAxes(axes, call)));
  return divide(ReduceOverDevices(ops::kPsum, Reduction::kSum, x, axes, call), devices, {}, loc);
}

Array all_gather(Operand operand, AxisSet names, AllGatherOptions options, Loc loc) {
  const Call call{"all_gather", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  if (options.to == Variance::kUnreduced)
    FailSharding(call, 32, "the result is the same on all devices, so it cannot be unreduced",
                 {".to is Variance::kVarying, kInvarying or kReduced"});
  Array x = VaryingOperand(operand, axes, call);
  const int64_t rank = TypeOf(x)->rank() + (options.tiled ? 0 : 1);
  const int64_t dim = NormalDim(options.dim, rank, call);
  if (!options.tiled) x = InNewDim(x, dim, call);
  if (axes.empty()) return x;
  ManualResult made(TypeOf(x));
  base::At(made.shape, dim) *= sharding::SizeOf(axes);
  made.Become(options.to, axes);
  return ApplySized(ops::kGatherShards, axes, {dim}, x, std::move(made), call);
}

Array psum_scatter(Operand operand, AxisSet names, PsumScatterOptions options, Loc loc) {
  const Call call{"psum_scatter", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  Array x = OnManualMesh(operand, call);
  RefuseKeys(x, call);
  x = AsNumbers(x);
  const int64_t dim = NormalDim(options.dim, TypeOf(x)->rank(), call);
  const int64_t devices = sharding::SizeOf(axes);
  options.tiled ? CheckDivides(x, dim, devices, call) : CheckEntries(x, dim, devices, call);
  if (!axes.empty()) {
    const Variance state = StateOf(x, axes, call);
    if (state == Variance::kUnreduced)
      CheckReduction(x, Reduction::kSum, call);
    else if (state == Variance::kReduced)
      RefuseSets(x, axes, call);
    else
      x = AsVarying(x, axes, call);
    ManualResult made(TypeOf(x));
    base::At(made.shape, dim) /= devices;
    made.Become(Variance::kVarying, axes);
    x = ApplySized(ops::kPsumScatter, axes, {dim}, x, std::move(made), call);
  }
  return options.tiled ? x : WithoutDim(x, dim, call);
}

Array all_to_all(Operand operand, AxisSet names, int split_dim, int concat_dim,
                 AllToAllOptions options, Loc loc) {
  const Call call{"all_to_all", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  Array x = VaryingOperand(operand, axes, call);
  const int64_t rank = TypeOf(x)->rank();
  int64_t split = NormalDim(split_dim, rank, call);
  int64_t concat = NormalDim(concat_dim, rank, call);
  const int64_t devices = sharding::SizeOf(axes);
  const bool drops_split = !options.tiled || split == concat;
  if (options.tiled) {
    CheckDivides(x, split, devices, call);
    // One dim cannot be both split and concatenated: [n] becomes [parts, n / parts].
    if (split == concat) x = InParts(x, split, devices, call), ++concat;
  } else {
    // The split dim is dropped; concat_dim counts the dims without it.
    CheckEntries(x, split, devices, call);
    if (concat >= split) ++concat;
    x = InNewDim(x, concat, call);
    if (concat <= split) ++split;
  }
  if (!axes.empty()) {
    ManualResult made(TypeOf(x));
    base::At(made.shape, split) /= devices;
    base::At(made.shape, concat) *= devices;
    x = ApplySized(ops::kExchangeShards, axes, {split, concat}, x, std::move(made), call);
  }
  return drops_split ? WithoutDim(x, split, call) : x;
}

Array ppermute(Operand operand, AxisSet names, std::vector<std::pair<int, int>> pairs, Loc loc) {
  const Call call{"ppermute", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  const Array x = VaryingOperand(operand, axes, call);
  CheckPairs(pairs, sharding::SizeOf(axes), call);
  std::vector<std::vector<int64_t>> moves;
  for (const auto& [from, to] : pairs) moves.push_back({from, to});
  if (axes.empty()) return moves.empty() ? zeros_like(x, {}, loc) : x;
  return Permute(x, axes, std::move(moves), call);
}

Array pshift(Operand operand, AxisSet names, int by, Loc loc) {
  const Call call{"pshift", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  const Array x = VaryingOperand(operand, axes, call);
  if (axes.empty()) return x;
  const int64_t devices = sharding::SizeOf(axes);
  std::vector<std::vector<int64_t>> moves;
  for (int64_t i = 0; i < devices; ++i)
    moves.push_back({i, ((i + by) % devices + devices) % devices});
  return Permute(x, axes, std::move(moves), call);
}

Array pbroadcast(Operand operand, AxisSet names, int source, Loc loc) {
  const Call call{"pbroadcast", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  const Array x = VaryingOperand(operand, axes, call);
  const int64_t devices = sharding::SizeOf(axes);
  if (source < 0 || source >= devices)
    FailSharding(call, 31,
                 fmt::format("there is no position {}: the group has {} devices", source, devices));
  if (axes.empty()) return x;
  std::vector<std::vector<int64_t>> moves;
  for (int64_t i = 0; i < devices; ++i) moves.push_back({source, i});
  return Permute(x, axes, std::move(moves), call);
}

Array axis_index(AxisSet names, Loc loc) {
  const Call call{"axis_index", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  if (axes.empty()) return StrongScalar(0, i32, call);
  sharding::TensorSharding s = sharding::Replicated(trace::CurrentMesh(), 0);
  s.varying = axes;
  sharding::SortAndMerge(s.varying);
  return trace::Apply({.op = ops::kAxisIndex,
                       .params = ManualParamsOf(axes),
                       .operands = {},
                       .loc = loc,
                       .shown_as = "axis_index",
                       .result = ir::Type::Get({}, i32, std::move(s))})[0];
}

int64_t axis_size(AxisSet names, Loc loc) {
  return sharding::SizeOf(ManualAxes(names, {"axis_size", loc}));
}

Array pcast(Operand operand, AxisSet names, Variance to, Loc loc) {
  const Call call{"pcast", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  const Array given = ToArray(operand, call), x = OnManualMesh(given, call);
  if (axes.empty()) return x;
  const Variance from = StateOf(x, axes, call);
  // A value from outside a region may have been cast as it entered.
  if (from == to && TypeOf(given) != TypeOf(x)) return x;
  const bool known =
      (from == Variance::kInvarying && (to == Variance::kVarying || to == Variance::kReduced)) ||
      (from == Variance::kReduced && to == Variance::kVarying) ||
      (from == Variance::kVarying && to == Variance::kUnreduced);
  if (!known)
    FailSharding(
        call, 33,
        fmt::format("no cast turns {} value into {} one", AStateName(from), AStateName(to)),
        {to == Variance::kInvarying && from != Variance::kInvarying
             ? "sum it with psum, or promise it with assume_invariant"
             : "casts go from invarying to varying or reduced, from reduced to "
               "varying, and from varying to unreduced"});
  return CastStates(x, axes, to, call);
}

Array assume_invariant(Operand operand, AxisSet names, Loc loc) {
  const Call call{"assume_invariant", loc};
  const sharding::AxisList axes = ManualAxes(names, call);
  const Array x = VaryingOperand(operand, axes, call);
  if (axes.empty()) return x;
  CheckTogether(axes, call);
  ManualResult made(TypeOf(x));
  made.Leave(axes);
  return ApplyManual(ops::kAssumeInvariant, ManualParamsOf(axes), x,
                     TypeOf(x)->WithSharding(std::move(made.sharding)), call);
}

}  // namespace tessera
