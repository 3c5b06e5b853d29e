// Ops of manual computation. Every collective is a move between two places: the devices' arrays are
// viewed as one place, moved to the other, and viewed as the result. Transposes follow from that.
#include "ops/manual.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/reader.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/ops.h"
#include "sharding/local.h"
#include "sharding/text.h"

namespace tessera::ops {
namespace {

using sharding::AxisList;
using sharding::TensorSharding;

bool IsManual(const sharding::MeshDef* mesh, sharding::AxisPart a) {
  return mesh->axes()[a.axis].mode == AxisMode::Manual;
}

// Puts axes in front of a dim's own: they are major.
void PutInFront(AxisList& dim, const AxisList& axes) {
  AxisList joined = axes;
  for (sharding::AxisPart a : dim) sharding::AppendMerged(joined, a);
  dim = std::move(joined);
}

struct PlacedOperand {
  const ManualParams& params;
  AxisList axes;
  base::Shape shape;
  TensorSharding sharding;
  DType dtype;

  PlacedOperand(const ir::Params* p, const ir::Type* type)
      : params(ir::As<ManualParams>(p)),
        axes(AxesOf(type->mesh(), params.axes)),
        shape(type->shape()),
        sharding(type->sharding()),
        dtype(type->dtype()) {}
  AxisList& dim(size_t i) { return sharding.dims[params.dims[i]].axes; }
  const ir::Type* type() const { return ir::Type::Get(shape, dtype, sharding); }
  // Makes the arrays terms of a reduction over the axes, if they are not yet.
  void MakeTerms(Reduction kind) {
    sharding.varying = sharding::Difference(sharding.varying, axes);
    sharding::AddTo(sharding.unreduced, axes);
    sharding.kind = kind;
  }
  void Reduce() {
    sharding.unreduced = sharding::Difference(sharding.unreduced, axes);
    if (sharding.unreduced.empty()) sharding.kind = Reduction::kSum;
  }
  // Makes the arrays parts along a dim.
  void MakeParts(size_t i) {
    sharding.varying = sharding::Difference(sharding.varying, axes);
    shape[params.dims[i]] *= sharding::SizeOf(axes);
    PutInFront(dim(i), axes);
  }
};

// ---- views ----

template <Reduction kind>
ir::ManualViews ReductionViews(const ir::Params* params, const ir::Type* operand, const ir::Type*) {
  PlacedOperand x(params, operand);
  x.MakeTerms(kind);
  const ir::Type* from = x.type();
  x.Reduce();
  return {from, x.type()};
}
ir::ManualViews ScatterViews(const ir::Params* params, const ir::Type* operand, const ir::Type*) {
  PlacedOperand x(params, operand);
  x.MakeTerms(Reduction::kSum);
  const ir::Type* from = x.type();
  x.Reduce();
  PutInFront(x.dim(0), x.axes);
  return {from, x.type()};
}
ir::ManualViews GatherViews(const ir::Params* params, const ir::Type* operand, const ir::Type*) {
  PlacedOperand x(params, operand);
  const AxisList own = x.dim(0);
  x.MakeParts(0);
  const ir::Type* from = x.type();
  x.dim(0) = own;
  return {from, x.type()};
}
ir::ManualViews SliceViews(const ir::Params* params, const ir::Type* operand, const ir::Type*) {
  PlacedOperand x(params, operand);
  PutInFront(x.dim(0), x.axes);
  return {operand, x.type()};
}
ir::ManualViews ExchangeViews(const ir::Params* params, const ir::Type* operand, const ir::Type*) {
  PlacedOperand x(params, operand);
  AxisList& grows = x.dim(1);
  const AxisList own = grows;
  x.MakeParts(1);
  const ir::Type* from = x.type();
  grows = own;
  PutInFront(x.dim(0), x.axes);
  return {from, x.type()};
}
ir::ManualViews SameViews(const ir::Params*, const ir::Type* operand, const ir::Type*) {
  return {operand, operand};
}
ir::ManualViews EnterViews(const ir::Params* params, const ir::Type* operand,
                           const ir::Type* result) {
  return {operand, WholeOf(result, ir::As<ManualParams>(params))};
}
ir::ManualViews LeaveViews(const ir::Params* params, const ir::Type* operand,
                           const ir::Type* result) {
  return {WholeOf(operand, ir::As<ManualParams>(params)), result};
}

// ---- types ----

void CheckAxes(const TypeCall& c, const NameList& names) {
  const sharding::MeshDef* mesh = c.operands.empty() ? nullptr : c.operands[0]->mesh();
  if (names.empty()) return;
  if (!mesh) c.FailShape(23, "the operand is on no mesh");
  TensorSharding s = sharding::Replicated(mesh, 1);
  try {
    s.dims[0].axes = AxesOf(mesh, names);
  } catch (const Error&) {
    c.FailShape(23, fmt::format("the mesh {} does not have these axes", mesh->text()));
  }
  for (const std::string& name : names)
    if (absl::c_count(names, name) > 1)
      c.FailShape(23, fmt::format("axis {} is named twice", name));
  if (const auto problem = sharding::Verify(s)) c.FailShape(23, problem->reason);
}
// C11, C12: the op must have one operand, and name `dims` distinct dims of it. C23: its axes must
// be axes of the operand's mesh.
void CheckManual(const TypeCall& c, size_t dims) {
  CheckCount(c, 1);
  const auto& params = ir::As<ManualParams>(c.params);
  if (params.dims.size() != dims)
    c.FailShape(12, fmt::format("it takes {} dims, not {}", dims, params.dims.size()));
  CheckDims(c, params.dims, c.operands[0]->rank());
  CheckAxes(c, params.axes);
}
void CheckBorder(const TypeCall& c) {
  CheckCount(c, 1);
  const auto& params = ir::As<ManualParams>(c.params);
  if (params.dims.size() != params.axes.size())
    c.FailShape(12, fmt::format("{} axes cut {} dims", params.axes.size(), params.dims.size()));
  for (int64_t d : params.dims) CheckDims(c, {d}, c.operands[0]->rank());
  CheckAxes(c, params.axes);
}

int64_t DevicesAlong(const TypeCall& c, const NameList& names) {
  return sharding::SizeOf(AxesOf(c.operands[0]->mesh(), names));
}

// C23: the op must name an axis.
void CheckSomeAxis(const TypeCall& c) {
  if (ir::As<ManualParams>(c.params).axes.empty()) c.FailShape(23, "no axis is named");
}

// Cuts the dim into parts. C21: its size must divide evenly.
void Cut(const TypeCall& c, base::Shape& shape, int64_t dim, int64_t parts) {
  int64_t& size = shape[dim];
  if (size % parts != 0)
    c.FailShape(21, fmt::format("dim {} of size {} cannot be divided evenly into {} parts", dim,
                                size, parts));
  size /= parts;
}

std::vector<ShapeAndDType> EnteringType(const TypeCall& c) {
  CheckBorder(c);
  const auto& params = ir::As<ManualParams>(c.params);
  base::Shape shape = c.operands[0]->shape();
  const sharding::MeshDef* mesh = c.operands[0]->mesh();
  const AxisList axes = AxesOf(mesh, params.axes);
  for (size_t i = 0; i < axes.size(); ++i) Cut(c, shape, params.dims[i], axes[i].size);
  return {{std::move(shape), c.operands[0]->dtype()}};
}
std::vector<ShapeAndDType> LeavingType(const TypeCall& c) {
  CheckBorder(c);
  const auto& params = ir::As<ManualParams>(c.params);
  base::Shape shape = c.operands[0]->shape();
  const AxisList axes = AxesOf(c.operands[0]->mesh(), params.axes);
  for (size_t i = 0; i < axes.size(); ++i) shape[params.dims[i]] *= axes[i].size;
  return {{std::move(shape), c.operands[0]->dtype()}};
}
std::vector<ShapeAndDType> SameShape(const TypeCall& c) {
  CheckManual(c, 0);
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}
std::vector<ShapeAndDType> PermutedType(const TypeCall& c) {
  CheckCount(c, 1);
  const auto& params = ir::As<PermuteParams>(c.params);
  if (params.axes.empty()) c.FailShape(23, "no axis is named");
  CheckAxes(c, params.axes);
  const int64_t devices = sharding::SizeOf(AxesOf(c.operands[0]->mesh(), params.axes));
  std::vector<bool> receives(devices);
  for (const std::vector<int64_t>& pair : params.pairs) {
    if (pair.size() != 2 || absl::c_any_of(pair, [&](int64_t p) { return p < 0 || p >= devices; }))
      c.FailShape(24, fmt::format("each pair must hold two positions from 0 to {}", devices - 1));
    if (receives[pair[1]]) c.FailShape(24, "a position receives twice");
    receives[pair[1]] = true;
  }
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}
std::vector<ShapeAndDType> CutType(const TypeCall& c) {
  CheckManual(c, 1);
  CheckSomeAxis(c);
  const auto& params = ir::As<ManualParams>(c.params);
  base::Shape shape = c.operands[0]->shape();
  Cut(c, shape, params.dims[0], DevicesAlong(c, params.axes));
  return {{std::move(shape), c.operands[0]->dtype()}};
}
std::vector<ShapeAndDType> GrownType(const TypeCall& c) {
  CheckManual(c, 1);
  CheckSomeAxis(c);
  const auto& params = ir::As<ManualParams>(c.params);
  base::Shape shape = c.operands[0]->shape();
  shape[params.dims[0]] *= DevicesAlong(c, params.axes);
  return {{std::move(shape), c.operands[0]->dtype()}};
}
std::vector<ShapeAndDType> ExchangedType(const TypeCall& c) {
  CheckManual(c, 2);
  CheckSomeAxis(c);
  const auto& params = ir::As<ManualParams>(c.params);
  base::Shape shape = c.operands[0]->shape();
  const int64_t parts = DevicesAlong(c, params.axes);
  Cut(c, shape, params.dims[0], parts);
  shape[params.dims[1]] *= parts;
  return {{std::move(shape), c.operands[0]->dtype()}};
}
std::vector<ShapeAndDType> IndexType(const TypeCall& c) {
  CheckCount(c, 0);
  return {{{}, i32}};
}

// ---- derivatives ----

// Transposes casts and sums: brings the cotangent to the operand's states.
ir::ValueId StateBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return ToManualStates(c.builder, cotangent, CotangentTypeOf(c, 0));
}
ir::ValueId LeaveBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return AsCotangent(c, 0, kFullToShard, c.params, {cotangent});
}
ir::ValueId EnterBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return AsCotangent(c, 0, kShardToFull, c.params, {cotangent});
}
// The operand counts as the mean over the devices, so each device gets an equal part of
// the cotangent.
ir::ValueId MeanBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  const auto& params = ir::As<ManualParams>(c.params.get());
  const X g(c.builder, cotangent);
  const int64_t devices = sharding::SizeOf(AxesOf(c.operand_types[0]->mesh(), params.axes));
  return StateBack(c, (g / g.Number(static_cast<double>(devices))).id(), k);
}
// Each device gets the sum of all cotangents of its part. An invarying result has one cotangent for
// all devices, and each takes its part.
ir::ValueId GatherBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const auto& params = ir::As<ManualParams>(c.params.get());
  const AxisList axes = AxesOf(c.operand_types[0]->mesh(), params.axes);
  const TensorSharding& result = c.result_types[0]->sharding();
  const bool invarying = !sharding::OverlapsAny(result.varying, axes[0]) &&
                         !sharding::OverlapsAny(result.reduced, axes[0]);
  return AsCotangent(c, 0, invarying ? kSliceShard : kPsumScatter, c.params, {cotangent});
}
// Joins the parts of all devices. The operand is varying, unreduced, or invarying and sliced.
ir::ValueId GatheredBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return AsCotangent(c, 0, kGatherShards, c.params, {cotangent});
}
ir::ValueId ExchangeBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  ManualParams back = ir::As<ManualParams>(c.params.get());
  std::swap(back.dims[0], back.dims[1]);
  return AsCotangent(c, 0, kExchangeShards, ir::MakeParams(std::move(back)), {cotangent});
}
// Transposes a send from one device to all: that device gets the sum of all cotangents.
ir::ValueId BroadcastBack(const ir::DiffCall& c, ir::ValueId cotangent) {
  const auto& params = ir::As<PermuteParams>(c.params.get());
  const sharding::MeshDef* mesh = c.operand_types[0]->mesh();
  const ir::ParamsPtr axes = ir::MakeParams(ManualParams{params.axes, {}});
  TensorSharding summed = c.builder.type(cotangent)->sharding();
  summed.varying = sharding::Difference(summed.varying, AxesOf(mesh, params.axes));
  const ir::Type* type = c.builder.type(cotangent)->WithSharding(std::move(summed));
  const X sum(c.builder, c.builder.EmitTyped(kPsum, axes, {cotangent}, {&type, 1})[0]);
  TensorSharding own = sharding::Replicated(mesh, 0);
  sharding::AddTo(own.varying, AxesOf(mesh, params.axes));
  const ir::Type* index = ir::Type::Get({}, i32, std::move(own));
  const X at(c.builder, c.builder.EmitTyped(kAxisIndex, axes, {}, {&index, 1})[0]);
  const X is_source = Equal(at, at.Number(static_cast<double>(params.pairs[0][0])));
  const X zero(c.builder, Zeros(c.builder, CotangentTypeOf(c, 0)));
  return Where(is_source, sum, zero).id();
}
// A device that sent its array to one device gets the cotangent back. A device that sent it to
// several devices gets the sum of their cotangents.
ir::ValueId PermuteBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const auto& params = ir::As<PermuteParams>(c.params.get());
  const int64_t devices = sharding::SizeOf(AxesOf(c.operand_types[0]->mesh(), params.axes));
  const bool to_all =
      static_cast<int64_t>(params.pairs.size()) == devices && devices > 2 &&
      absl::c_all_of(params.pairs, [&](const auto& pair) { return pair[0] == params.pairs[0][0]; });
  if (to_all) return BroadcastBack(c, cotangent);
  std::vector<std::vector<std::vector<int64_t>>> rounds;  // a source occurs once in each
  std::vector<size_t> sends(devices);
  for (const std::vector<int64_t>& pair : params.pairs) {
    const size_t round = sends[pair[0]]++;
    if (round == rounds.size()) rounds.emplace_back();
    rounds[round].push_back({pair[1], pair[0]});
  }
  ir::ValueId sum = ir::kNoValue;
  for (auto& pairs : rounds)
    sum =
        Sum(c.builder, sum,
            AsCotangent(c, 0, kPpermute,
                        ir::MakeParams(PermuteParams{params.axes, std::move(pairs)}), {cotangent}));
  return sum != ir::kNoValue ? sum : Zeros(c.builder, CotangentTypeOf(c, 0));
}
// Shares the tangent equally among the devices that have the extreme.
ir::ValueId PmaxTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  // C34: the terms of an extreme have no derivative.
  if (!c.operand_types[0]->sharding().unreduced.empty())
    base::ThrowTrace(base::Refusal(
        std::string(c.op.name), 34, base::Where(c.builder.loc()),
        fmt::format("{}: a {} of unreduced terms has no derivative", c.operand_types[0]->text(),
                    sharding::ReductionName(c.operand_types[0]->sharding().kind)),
        {fmt::format("apply {} to a varying value", c.op.name)}));
  const X g(c.builder, tangent), x(c.builder, c.operands[0]), y(c.builder, c.results[0]);
  const ir::Type* sum = c.result_types[0]->WithWeak(false);
  const auto total = [&](X v) {
    return X(c.builder, c.builder.EmitTyped(kPsum, c.params, {v.id()}, {&sum, 1})[0]);
  };
  const X is_extreme = Equal(x, y), zero(c.builder, Zeros(c.builder, x.type()));
  const X one(c.builder, Filled(c.builder, 1, x.type()));
  return (total(Where(is_extreme, g, zero)) / total(Where(is_extreme, one, zero))).id();
}

// ---- records ----

// C22: inside shard_map each device has its own array, so no whole tensor is a reference.
void NoReference(const ir::ReferenceCall& call) {
  ErrorDetail detail;
  detail.op = std::string(call.op.name);
  detail.label = detail.op + ".C22";
  detail.reason = "values inside shard_map differ by device, so they have no reference";
  base::ThrowInternal(std::move(detail));
}

struct ManualFields {
  std::string_view name;
  std::string_view doc;
  ir::TypeFn type;
  ir::Lowering lowering;
  ir::Derivative diff = {};
};
constexpr OpDef ManualOp(const ManualFields& f) {
  return {.name = f.name,
          .doc = f.doc,
          .type = f.type,
          .dims = ir::NoRule{"its result type states over which axes it varies"},
          .lowering = f.lowering,
          .reference = ir::ReferenceFn{NoReference},
          .diff = f.diff,
          .params = ir::KindOf<ManualParams>(),
          .keys = true};
}

// Returns the position along the axes, as one number.
ir::AffineIndex PositionIndex(const ir::Params* params, const ir::LocalTensor& result) {
  ir::AffineIndex index;
  const sharding::MeshDef* mesh = result.sharding->mesh;
  const AxisList axes = AxesOf(mesh, ir::As<ManualParams>(params).axes);
  for (int64_t i = 0; i < mesh->size(); ++i) {
    const size_t device = mesh->Device(i);
    if (index.offsets.size() <= device) index.offsets.resize(device + 1, 0);
    index.offsets[device] = sharding::ShardIndex(*mesh, axes, i);
  }
  return index;
}

}  // namespace

NameList NamesOf(const sharding::MeshDef* mesh, const AxisList& axes) {
  NameList names;
  for (sharding::AxisPart a : axes) names.push_back(sharding::PlainAxisText(*mesh, a));
  return names;
}

AxisList AxesOf(const sharding::MeshDef* mesh, const NameList& names) {
  AxisList axes;
  for (const std::string& text : names) {
    base::Reader in(text, "axis", Loc::Unknown());
    const std::string name = in.Word();
    const int axis = mesh ? mesh->Find(name) : -1;
    if (axis < 0) in.Fail("there is no such axis in the mesh");
    axes.push_back(sharding::ReadPart(in, *mesh, axis));
  }
  return axes;
}

const ir::Type* WholeOf(const ir::Type* part, const ManualParams& params) {
  base::Shape shape = part->shape();
  TensorSharding sharding = part->sharding();
  const AxisList axes = AxesOf(sharding.mesh, params.axes);
  std::vector<AxisList> manual(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    shape[params.dims[i]] *= axes[i].size;
    manual[params.dims[i]].push_back(axes[i]);
  }
  for (size_t d = 0; d < manual.size(); ++d) PutInFront(sharding.dims[d].axes, manual[d]);
  sharding.varying = sharding::Difference(sharding.varying, axes);
  return ir::Type::Get(std::move(shape), part->dtype(), std::move(sharding));
}

const ir::Type* WithManualStates(const ir::Type* type, const TensorSharding& states) {
  if (!type->mesh() || !type->mesh()->has_mode(AxisMode::Manual)) return type;
  const TensorSharding& given = type->sharding();
  if (given.varying == states.varying && given.unreduced == states.unreduced &&
      given.reduced == states.reduced && given.kind == states.kind)
    return type;
  TensorSharding s = given;
  const auto take = [&](AxisList& own, const AxisList& other) {
    AxisList kept;
    for (sharding::AxisPart a : own)
      if (!IsManual(s.mesh, a)) kept.push_back(a);
    for (sharding::AxisPart a : other)
      if (IsManual(s.mesh, a)) kept.push_back(a);
    sharding::SortAndMerge(kept);
    own = std::move(kept);
  };
  take(s.varying, states.varying);
  take(s.unreduced, states.unreduced);
  take(s.reduced, states.reduced);
  s.kind = s.unreduced.empty() ? Reduction::kSum : states.unreduced.empty() ? s.kind : states.kind;
  return type->WithSharding(std::move(s));
}

ir::ValueId ToManualStates(ir::Builder& builder, ir::ValueId v, const ir::Type* to) {
  const sharding::MeshDef* mesh = to->mesh() ? to->mesh() : builder.type(v)->mesh();
  if (!mesh || !mesh->has_mode(AxisMode::Manual)) return v;
  TensorSharding want = to->sharding();
  want.mesh = mesh;
  // A value that becomes the same on all devices is summed.
  const auto sum = [&](const AxisList& terms) {
    AxisList axes;
    for (sharding::AxisPart a :
         sharding::Difference(sharding::Difference(terms, want.varying), want.unreduced))
      if (IsManual(want.mesh, a)) axes.push_back(a);
    if (axes.empty()) return;
    TensorSharding left = builder.type(v)->sharding();
    left.varying = sharding::Difference(left.varying, axes);
    left.unreduced = sharding::Difference(left.unreduced, axes);
    const ir::Type* type = builder.type(v)->WithSharding(std::move(left))->WithWeak(false);
    v = builder.EmitTyped(kPsum, ir::MakeParams(ManualParams{NamesOf(want.mesh, axes), {}}), {v},
                          {&type, 1})[0];
  };
  sum(AxisList(builder.type(v)->sharding().varying));
  sum(AxisList(builder.type(v)->sharding().unreduced));
  const ir::Type* type = builder.type(v);
  if (!type->mesh()) {  // made without a mesh: the same on all devices
    TensorSharding s = sharding::Replicated(want.mesh, type->rank());
    type = type->WithSharding(std::move(s));
  }
  if (!to->mesh() && builder.type(v)->sharding().no_sets()) return v;
  const ir::Type* cast = WithManualStates(type, want)->WithWeak(false);
  if (ir::SameType(cast, builder.type(v))) return v;
  return builder.EmitTyped(kPcast, ir::MakeParams(ManualParams{}), {v}, {&cast, 1})[0];
}

constexpr OpDef kFullToShard = ManualOp(
    {.name = "full_to_shard",
     .doc = "Each device's part of an array, as an array of its own: the entry of shard_map.",
     .type = EnteringType,
     .lowering = ir::AsManualMove{.views = EnterViews, .implied = true},
     .diff = {.of = {AlongWithValue}, .transpose = EnterBack}});
constexpr OpDef kShardToFull =
    ManualOp({.name = "shard_to_full",
              .doc = "The array whose parts are the devices' arrays: the exit of shard_map.",
              .type = LeavingType,
              .lowering = ir::AsManualMove{.views = LeaveViews, .implied = true},
              .diff = {.of = {AlongWithValue}, .transpose = LeaveBack}});
constexpr OpDef kPcast = ManualOp({.name = "pcast",
                                   .doc = "The same arrays in another state: nothing moves.",
                                   .type = SameShape,
                                   .lowering = ir::AsManualMove{SameViews},
                                   .diff = {.of = {AlongWithValue}, .transpose = StateBack}});
constexpr OpDef kAssumeInvariant = ManualOp(
    {.name = "assume_invariant",
     .doc =
         "An array that is the same on all devices along the axes, though its type says varying.",
     .type = SameShape,
     .lowering = ir::AsManualMove{SameViews},
     .diff = {.of = {AlongWithValue}, .transpose = MeanBack}});
constexpr OpDef kPsum = ManualOp({.name = "psum",
                                  .doc = "The sum of the arrays of all devices along the axes.",
                                  .type = SameShape,
                                  .lowering = ir::AsManualMove{ReductionViews<Reduction::kSum>},
                                  .diff = {.of = {AlongWithValue}, .transpose = StateBack}});
constexpr OpDef kPmax = ManualOp({.name = "pmax",
                                  .doc = "The elementwise maximum over the devices along the axes.",
                                  .type = SameShape,
                                  .lowering = ir::AsManualMove{ReductionViews<Reduction::kMax>},
                                  .diff = {.of = {PmaxTangent}}});
constexpr OpDef kPmin = ManualOp({.name = "pmin",
                                  .doc = "The elementwise minimum over the devices along the axes.",
                                  .type = SameShape,
                                  .lowering = ir::AsManualMove{ReductionViews<Reduction::kMin>},
                                  .diff = {.of = {PmaxTangent}}});
constexpr OpDef kPsumScatter =
    ManualOp({.name = "psum_scatter",
              .doc = "The sum over the devices along the axes, cut along a dim: each gets a part.",
              .type = CutType,
              .lowering = ir::AsManualMove{ScatterViews},
              .diff = {.of = {AlongWithValue}, .transpose = GatheredBack}});
constexpr OpDef kGatherShards =
    ManualOp({.name = "gather_shards",
              .doc = "The arrays of all devices along the axes, joined along a dim (all_gather).",
              .type = GrownType,
              .lowering = ir::AsManualMove{GatherViews},
              .diff = {.of = {AlongWithValue}, .transpose = GatherBack}});
constexpr OpDef kSliceShard =
    ManualOp({.name = "slice_shard",
              .doc = "Each device's part, along a dim, of an array that is the "
                     "same on all devices along the axes.",
              .type = CutType,
              .lowering = ir::AsManualMove{SliceViews},
              .diff = {.of = {AlongWithValue}, .transpose = GatheredBack}});
constexpr OpDef kExchangeShards = ManualOp(
    {.name = "exchange_shards",
     .doc = "Cuts each device's array along a dim, sends one part to each device, and joins the "
            "received parts along a dim (all_to_all).",
     .type = ExchangedType,
     .lowering = ir::AsManualMove{ExchangeViews},
     .diff = {.of = {AlongWithValue}, .transpose = ExchangeBack}});
constexpr OpDef kPpermute{
    .name = "ppermute",
    .doc = "Sends arrays between devices: from the first to the second position of each pair.",
    .type = ir::TypeFn{PermutedType},
    .dims = ir::NoRule{"its result type states over which axes it varies"},
    .lowering = ir::AsPermute{},
    .reference = ir::ReferenceFn{NoReference},
    .diff = ir::Derivative{.of = {AlongWithValue}, .transpose = PermuteBack},
    .params = ir::KindOf<PermuteParams>(),
    .keys = true};
constexpr OpDef kAxisIndex{.name = "axis_index",
                           .doc = "The device's position along the axes, the first one major.",
                           .type = ir::TypeFn{IndexType},
                           .dims = ir::NoRule{"its result type states over which axes it varies"},
                           .lowering = ir::AsIota{PositionIndex},
                           .reference = ir::ReferenceFn{NoReference},
                           .diff = kZeroAlmostEverywhere,
                           .params = ir::KindOf<ManualParams>()};

Records ManualOps() {
  static constexpr const OpDef* kOps[] = {
      &kFullToShard,    &kShardToFull, &kPcast,       &kAssumeInvariant, &kPsum,
      &kPmax,           &kPmin,        &kPsumScatter, &kGatherShards,    &kSliceShard,
      &kExchangeShards, &kPpermute,    &kAxisIndex};
  return kOps;
}

}  // namespace tessera::ops
