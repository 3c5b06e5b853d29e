// Turns the arguments of public functions into operands: scalars become arrays, dtypes are
// promoted.
#include "api/core/operands.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/core/numbers.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "compile/host/concrete.h"
#include "compile/run/executor.h"
#include "ir/builder.h"
#include "ops/params.h"
#include "ops/tangents.h"
#include "trace/apply.h"
#include "trace/inline.h"
#include "trace/scopes.h"

namespace tessera::api {

namespace {
ErrorDetail Detail(Call call, int check, std::string reason, std::vector<std::string> notes) {
  return base::Refusal(call.name, check, base::Where(call.loc), std::move(reason),
                       std::move(notes));
}
}  // namespace

void FailShape(Call call, int check, std::string reason, std::vector<std::string> notes) {
  base::ThrowShape(Detail(call, check, std::move(reason), std::move(notes)));
}
void FailDType(Call call, int check, std::string reason, std::vector<std::string> notes) {
  base::ThrowDType(Detail(call, check, std::move(reason), std::move(notes)));
}
void FailSharding(Call call, int check, std::string reason, std::vector<std::string> notes) {
  base::ThrowSharding(Detail(call, check, std::move(reason), std::move(notes)));
}
void FailTrace(Call call, int check, std::string reason, std::vector<std::string> notes,
               std::vector<ErrorOperand> operands) {
  ErrorDetail detail = Detail(call, check, std::move(reason), std::move(notes));
  detail.operands = std::move(operands);
  base::ThrowTrace(std::move(detail));
}

std::vector<ArrayRef> RefsOf(const std::vector<Array>& arrays, Call call) {
  std::vector<ArrayRef> refs;
  refs.reserve(arrays.size());
  for (const Array& a : arrays)
    refs.push_back(trace::Enter(trace::Use(a, call.name, call.loc), call.name, call.loc).impl());
  return refs;
}
std::vector<ArrayRef> RefsOf(detail::TreeRef tree, Call call) {
  return RefsOf(detail::LeavesOf(tree), call);
}

// ---- scalars ----

DType DefaultOf(Scalar::Kind kind) {
  switch (kind) {
    case Scalar::kBool:
      return bool_;
    case Scalar::kFloat:
      return base::DefaultFloat();
    case Scalar::kComplex:
      return base::ComplexOf(base::DefaultFloat());
    default:
      return base::DefaultInt();
  }
}

namespace {

std::string ScalarText(const Scalar& s) {
  if (s.kind() == Scalar::kComplex)
    return fmt::format("({}, {})", s.as_complex().real(), s.as_complex().imag());
  if (s.kind() == Scalar::kFloat) return fmt::format("{}", s.as_double());
  return s.kind() == Scalar::kUInt ? fmt::format("{}", static_cast<uint64_t>(s.as_int()))
                                   : fmt::format("{}", s.as_int());
}

bool FitsInteger(const Scalar& s, DType t) {
  if (t == u64) return s.kind() == Scalar::kUInt || s.as_int() >= 0;
  bool too_large = s.kind() == Scalar::kUInt && s.as_int() < 0;
  if (t == i64) return !too_large;
  int bits = t.bits();
  int64_t low = t.is_signed() ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t high = t.is_signed() ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  return !too_large && s.as_int() >= low && s.as_int() <= high;
}

}  // namespace

bool FitsInteger(double whole, DType t) {
  const double past = std::ldexp(1, t.bits() - (t.is_signed() ? 1 : 0));
  return whole < past && whole >= (t.is_signed() ? -past : 0);
}

base::ElementBits ScalarBits(const Scalar& s, DType t, Call call) {
  if (t.is_key())
    FailDType(call, 20, fmt::format("{} is a number, not a random key", ScalarText(s)),
              {"random::key(seed) makes a key of a number"});
  ir::HostTensor element(t, {1});
  const bool is_complex = s.kind() == Scalar::kComplex;
  if (is_complex && !t.is_complex() && !t.is_bool())
    FailDType(call, 16, fmt::format("{} is complex, but {} is real", ScalarText(s), t.name()));
  if (t.is_complex()) {
    element.SetComplex(0, std::complex<long double>(s.as_complex()));
  } else if (t.is_floating()) {
    element.SetFloat(0, s.as_double());
    if (std::isfinite(s.as_double()) && !std::isfinite(element.Float(0)))
      FailDType(call, 16, fmt::format("{} is too large for {}", ScalarText(s), t.name()));
  } else if (t.is_bool()) {
    element.SetInt(0, s.as_complex() != 0.0);
  } else {
    if (s.kind() == Scalar::kFloat && s.as_double() != std::trunc(s.as_double()))
      FailDType(call, 16,
                fmt::format("{} is not an integer, as {} needs", ScalarText(s), t.name()));
    const bool is_float = s.kind() == Scalar::kFloat;
    if (is_float ? !FitsInteger(s.as_double(), t) : !FitsInteger(s, t))
      FailDType(call, 16, fmt::format("{} does not fit into {}", ScalarText(s), t.name()));
    if (!is_float)
      element.SetInt(0, s.as_int());
    else if (t == u64)
      element.SetInt(0, static_cast<int64_t>(static_cast<uint64_t>(s.as_double())));
    else
      element.SetInt(0, static_cast<int64_t>(s.as_double()));
  }
  base::ElementBits bits;
  std::memcpy(bits.data(), element.data.data(), element.data.size());
  return bits;
}

Array ScalarOf(const base::ElementBits& bits, const ir::Type* type, Call call) {
  if (trace::Trace* trace = trace::CurrentTrace()) {
    trace->builder().set_loc(call.loc);
    auto v = trace->builder().EmitTyped(
        ops::kConstant, ir::MakeParams(ops::ConstantParams{{type->dtype(), bits}}), {}, {type})[0];
    return Array(
        std::make_shared<trace::TracedArray>(type, call.loc, trace->shared_from_this(), v));
  }
  compile::Install();
  if (type->mesh() && type->mesh()->is_abstract())
    return Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, call.loc));
  auto array = compile::NewWhole(type, call.loc);
  std::memcpy(array->buffers.base, bits.data(), base::Size(type->dtype().size()));
  return Array(std::move(array));
}

Array StrongScalar(const Scalar& value, DType dtype, Call call) {
  const base::ElementBits bits = ScalarBits(value, dtype, call);
  return ScalarOf(bits, ir::Type::Get({}, dtype, trace::CurrentMesh(), false), call);
}

Array WeakScalar(const Scalar& value, DType dtype, Call call) {
  const base::ElementBits bits = ScalarBits(value, dtype, call);
  return ScalarOf(bits, ir::Type::Get({}, dtype, trace::CurrentMesh(), true), call);
}

Array ScalarLike(const Scalar& value, const ir::Type* type, Call call) {
  return type->weak() ? WeakScalar(value, type->dtype(), call)
                      : StrongScalar(value, type->dtype(), call);
}

std::vector<Operand> OperandsAt(const std::vector<Array>& xs, Loc loc) {
  std::vector<Operand> operands;
  operands.reserve(xs.size());
  for (const Array& x : xs) operands.emplace_back(x, loc);
  return operands;
}

// Donation concerns only concrete arrays, and not while a function is traced: a traced function
// returns new arrays in any case, and captures one array once.
Array Same(const Array& x) {
  if (x.impl()->kind() != trace::ArrayImpl::kConcrete || trace::CurrentTrace()) return x;
  const auto& c = static_cast<const compile::Concrete&>(*x.impl());
  return Array(std::make_shared<compile::Concrete>(c.type(), c.placed(), c));
}

Array ToArray(const Operand& x, Call call) {
  if (!x.scalar()) {
    trace::Use(x.array(), call.name, x.loc());
    return x.array();
  }
  return WeakScalar(*x.scalar(), DefaultOf(x.scalar()->kind()), call);
}

// ---- promotion ----

namespace {

enum Kind { kNothing, kBoolKind, kIntKind, kFloatKind, kComplexKind };

Kind KindOf(DType t) {
  if (t.is_complex()) return kComplexKind;
  return t.is_bool() ? kBoolKind : t.is_integer() ? kIntKind : kFloatKind;
}

struct Promotion {
  DType strong;          // the promoted dtype of strong operands, or the default if there are none
  Kind weak = kNothing;  // the highest kind of a weak operand
};

// C20: throws DTypeError if only some of the operands are random keys.
void CheckKeys(const std::vector<Operand>& xs, Call call) {
  const ir::Type *key = nullptr, *other = nullptr;
  for (const Operand& x : xs) {
    if (x.scalar()) continue;
    const ir::Type* type = trace::Use(x.array(), call.name, x.loc())->type();
    (type->dtype().is_key() ? key : other) = type;
  }
  if (!key) return;
  for (const Operand& x : xs)
    if (x.scalar()) ScalarBits(*x.scalar(), key->dtype(), {call.name, x.loc()});
  if (other)
    FailDType(call, 20,
              fmt::format("{} is a random key, but {} is not", key->text(), other->text()),
              {"random::key_data(key) is its two words"});
}

}  // namespace

DType Promoted(DType a, DType b, Call call) {
  const DType storage = a.is_storage() ? a : b, other = a.is_storage() ? b : a;
  if (base::Promotes(a, b)) return promote_types(a, b);
  FailDType(call, 13, fmt::format("{} does not promote with {}", storage.name(), other.name()),
            {fmt::format("convert one of them, e.g. with .astype({})", other.name())});
}

namespace {

Promotion GatherPromotion(const std::vector<Operand>& xs, Call call) {
  Promotion p;
  CheckKeys(xs, call);
  std::vector<DType> others;
  for (const Operand& x : xs) {
    if (x.scalar()) {
      p.weak = std::max(p.weak, KindOf(DefaultOf(x.scalar()->kind())));
      continue;
    }
    const ir::Type* t = trace::Use(x.array(), call.name, x.loc())->type();
    if (t->weak())
      p.weak = std::max(p.weak, KindOf(t->dtype()));
    else if (t->dtype().is_storage())
      p.strong = p.strong.is_default() ? t->dtype() : Promoted(p.strong, t->dtype(), call);
    else
      others.push_back(t->dtype());
  }
  // A storage dtype meets each of the others by itself: u64 and i64 together are a float, with
  // which it does not promote.
  for (DType t : others) p.strong = p.strong.is_default() ? t : Promoted(p.strong, t, call);
  return p;
}

DType DefaultOfKind(Kind kind) {
  return kind == kComplexKind ? base::ComplexOf(base::DefaultFloat()) : base::DefaultFloat();
}

// Returns the common dtype inside StrictTypes, where numbers have their default dtype. Throws
// DTypeError if two dtypes differ.
DType StrictDType(const std::vector<Operand>& xs, Call call) {
  DType first;
  for (const Operand& x : xs) {
    DType t = x.scalar() ? DefaultOf(x.scalar()->kind()) : TypeOf(x.array())->dtype();
    if (first.is_default()) first = t;
    if (t != first)
      FailDType(call, 13,
                fmt::format("operands have different dtypes, {} and {}", first.name(), t.name()),
                {fmt::format("StrictTypes is in scope: convert one of them, e.g. with .astype({})",
                             (t.is_inexact() ? t : first).name())});
  }
  return first;
}

}  // namespace

DType PromotedDType(const std::vector<Operand>& xs, Call call) {
  Promotion p = GatherPromotion(xs, call);
  if (base::StrictTypesActive()) return StrictDType(xs, call);
  if (p.strong.is_default() || p.weak > KindOf(p.strong)) {
    if (p.strong.is_storage()) Promoted(p.strong, DefaultOfKind(p.weak), call);
    if (p.weak == kComplexKind)
      return base::ComplexOf(p.strong.is_floating() ? p.strong : base::DefaultFloat());
    if (p.weak == kFloatKind) return base::DefaultFloat();
    if (p.weak == kIntKind) return base::DefaultInt();
    return bool_;
  }
  return p.strong;
}

std::vector<Array> PromoteTo(DType dtype, const std::vector<Operand>& xs, Call call) {
  size_t rank = 0;
  bool all_weak = true;
  for (const Operand& x : xs) {
    if (x.scalar()) continue;
    rank = std::max(rank, TypeOf(x.array())->shape().size());
    all_weak = all_weak && TypeOf(x.array())->weak();
  }
  std::vector<Array> arrays;
  for (const Operand& x : xs) {
    if (x.scalar()) {
      arrays.push_back(all_weak ? WeakScalar(*x.scalar(), dtype, call)
                                : StrongScalar(*x.scalar(), dtype, call));
      continue;
    }
    Array a = x.array();
    if (TypeOf(a)->dtype() != dtype) a = Convert(a, dtype, call);
    size_t own = TypeOf(a)->shape().size();
    if (own != rank && own != 0) {
      if (base::StrictTypesActive())
        FailShape(call, 16, fmt::format("operands have different ranks, {} and {}", own, rank),
                  {"StrictTypes is in scope: reshape one of them"});
      base::Shape shape(rank - own, 1);
      shape.insert(shape.end(), TypeOf(a)->shape().begin(), TypeOf(a)->shape().end());
      a = WrittenAs(x.array(), Reshape(a, shape, call));
    }
    arrays.push_back(std::move(a));
  }
  return arrays;
}

std::vector<Array> Promote(const std::vector<Operand>& xs, Call call) {
  return PromoteTo(PromotedDType(xs, call), xs, call);
}

// As in NumPy, f32 is for ints of fewer than 64 bits, and the default float for ints of 64 bits.
DType FloatOf(DType t) {
  if (t.is_inexact()) return t;
  return t.size() < 8 ? f32 : base::DefaultFloat();
}

DType WideDType(DType t) { return t.is_floating() && t.size() < 4 ? f32 : t; }

std::vector<Array> PromoteFloat(const std::vector<Operand>& xs, Call call) {
  DType t = PromotedDType(xs, call);
  bool weak = true;
  for (const Operand& x : xs) weak = weak && (x.scalar() || TypeOf(x.array())->weak());
  if (base::StrictTypesActive()) return PromoteTo(t, xs, call);
  return PromoteTo(weak && !t.is_inexact() ? base::DefaultFloat() : FloatOf(t), xs, call);
}
Array ToFloat(const Operand& x, Call call) {
  Array a = ToArray(x, call);
  const ir::Type* t = TypeOf(a);
  if (t->dtype().is_inexact() || base::StrictTypesActive()) return a;  // the strict op refuses ints
  ShapeAndDType wanted{{}, t->weak() ? base::DefaultFloat() : FloatOf(t->dtype())};
  Array f = Run(ops::Elementwise(ops::ScalarOp::kConvert), nullptr, {a}, call, {.wanted = &wanted});
  return t->weak() ? Weak(f) : f;
}

Array Weak(const Array& x) {
  const trace::ArrayRef& impl = x.impl();
  const ir::Type* type = impl->type()->WithWeak(true);
  if (impl->kind() == trace::ArrayImpl::kTraced) {
    auto* traced = static_cast<const trace::TracedArray*>(impl.get());
    return Array(
        std::make_shared<trace::TracedArray>(type, impl->loc(), traced->trace, traced->value));
  }
  if (impl->kind() == trace::ArrayImpl::kAbstract)
    return Array(
        std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, impl->loc()));
  auto* concrete = static_cast<const compile::Concrete*>(impl.get());
  const ir::Type* placed = concrete->placed() == impl->type() ? type : concrete->placed();
  return Array(std::make_shared<compile::Concrete>(type, placed, *concrete));
}

Array WrittenAs(const Array& written, Array made) {
  const trace::ArrayRef& from = written.impl();
  if (made.impl() == from) return made;
  made.impl()->written =
      from->written ? from->written : trace::ArrayImpl::Written{from->type(), from->loc()};
  return made;
}

void CheckReal(const Array& x, Call call) {
  if (const DType t = TypeOf(x)->dtype(); t.is_complex())
    FailDType(call, 14, fmt::format("it takes real numbers, not {}", t.name()));
}

// ---- dims and specs ----

bool BroadcastWith(base::Shape& shape, const base::Shape& own) {
  if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), 1);
  const size_t skip = shape.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d) {
    int64_t& size = shape[skip + d];
    if (size != own[d] && size != 1 && own[d] != 1) return false;
    if (size == 1) size = own[d];
  }
  return true;
}

bool CanBroadcastTo(const base::Shape& own, const base::Shape& shape) {
  base::Shape both = shape;
  return BroadcastWith(both, own) && both == shape;
}

void CheckShape(const base::Shape& shape, Call call) {
  if (std::string problem = ir::SizeProblem(shape); !problem.empty())
    FailShape(call, 2, fmt::format("the shape {} has {}", ir::FieldText(shape), problem));
}

int64_t NormalDim(int64_t dim, int64_t rank, Call call) {
  if (dim < -rank || dim >= rank)
    FailShape(call, 12, fmt::format("there is no dim {} in an array of rank {}", dim, rank));
  return dim < 0 ? dim + rank : dim;
}

std::vector<int64_t> NormalDims(const Dims& dims, int64_t rank, Call call) {
  std::vector<int64_t> out;
  if (dims.all())
    for (int64_t d = 0; d < rank; ++d) out.push_back(d);
  for (int64_t d : dims.dims()) {
    out.push_back(NormalDim(d, rank, call));
    if (absl::c_count(out, out.back()) > 1)
      FailShape(call, 12, fmt::format("dim {} is named twice", out.back()));
  }
  return out;
}

const sharding::MeshDef* MeshOf(const std::vector<Array>& arrays) {
  for (const Array& a : arrays)
    if (TypeOf(a)->mesh()) return TypeOf(a)->mesh();
  return nullptr;
}
const sharding::MeshDef* MeshInScope(const std::vector<Array>& arrays) {
  return trace::CurrentMesh() ? trace::CurrentMesh() : MeshOf(arrays);
}

namespace {

// C2: throws ShardingError if the spec names an axis that is not Explicit, even one of size 1.
void CheckExplicit(const PartitionSpec& spec, const sharding::MeshDef& mesh, Call call) {
  auto check = [&](const std::string& name) {
    AxisMode mode = base::At(mesh.axes(), mesh.Find(name)).mode;
    if (mode == AxisMode::Explicit) return;
    std::vector<std::string> notes = {"spec: " + spec.text()};
    if (mode == AxisMode::Auto)
      notes.push_back("over Auto axes use with_sharding_constraint to lay out a value");
    FailSharding(call, 2,
                 fmt::format("axis \"{}\" is {}: only Explicit axes can be named here", name,
                             mode == AxisMode::Auto ? "Auto" : "Manual"),
                 std::move(notes));
  };
  for (const DimSharding& d : spec.dims())
    for (const AxisRef& a : d.axes()) check(a.name);
  for (const AxisRef& a : spec.unreduced_axes()) check(a.name);
  for (const AxisRef& a : spec.reduced_axes()) check(a.name);
  for (const AxisRef& a : spec.replicated_axes()) check(a.name);
}

}  // namespace

void CheckHasMesh(const PartitionSpec& spec, const sharding::MeshDef* mesh, Call call) {
  if (mesh) return;
  FailSharding(call, 1, fmt::format("the spec {} needs a mesh, but none is in scope", spec.text()),
               {"enter one with a MeshScope"});
}

std::optional<sharding::TensorSharding> ResolveSpec(const std::optional<PartitionSpec>& spec,
                                                    int rank, const sharding::MeshDef* mesh,
                                                    Call call) {
  if (!spec) return std::nullopt;
  if (trace::CurrentMesh()) mesh = trace::CurrentMesh();
  CheckHasMesh(*spec, mesh, call);
  sharding::Resolved r = sharding::Resolve(*spec, mesh, rank);
  if (r.problem) FailSharding(call, 1, r.problem->reason, {"spec: " + spec->text()});
  CheckExplicit(*spec, *mesh, call);
  bool open = false;
  for (const sharding::DimAxes& d : r.sharding.dims) open = open || d.open;
  if (open)
    FailSharding(call, 2, "an open dim leaves the choice to propagation, which is for Auto axes",
                 {"spec: " + spec->text()});
  // A type is replicated over every axis that it does not name, so it need not list them.
  r.sharding.replicated.clear();
  return r.sharding;
}

// ---- applying ----

std::vector<Array> RunAll(const ir::OpDef& op, ir::ParamsPtr params,
                          const std::vector<Array>& operands, Call call, ResultOptions how) {
  trace::Application a{.op = op,
                       .params = std::move(params),
                       .operands = {},
                       .wanted = how.wanted,
                       .loc = call.loc,
                       .shown_as = call.name};
  for (const Array& x : operands) a.operands.push_back(trace::Use(x, call.name, call.loc));
  std::optional<sharding::TensorSharding> out =
      ResolveSpec(how.out_sharding, how.rank, MeshOf(operands), call);
  if (out) a.out_sharding = &*out;
  return trace::Apply(a);
}

Array Run(const ir::OpDef& op, ir::ParamsPtr params, const std::vector<Array>& operands, Call call,
          ResultOptions how) {
  return RunAll(op, std::move(params), operands, call, std::move(how))[0];
}

Array Convert(const Array& x, DType dtype, Call call) {
  const ir::Type* from = TypeOf(x);
  if (from->dtype() == dtype && !from->weak()) return Same(x);
  if (from->weak() && from->dtype().is_inexact() && dtype.is_inexact() &&
      from->dtype().size() < dtype.size())
    if (const std::optional<Scalar> number = NumberOf(x)) return StrongScalar(*number, dtype, call);
  ShapeAndDType wanted{{}, dtype};
  return Run(ops::Elementwise(ops::ScalarOp::kConvert), nullptr, {x}, call, {.wanted = &wanted});
}

Array StrongOf(const Operand& x, DType dtype, Call call) {
  return x.scalar() ? StrongScalar(*x.scalar(), dtype, call)
                    : Convert(ToArray(x, call), dtype, call);
}

Array ToWide(const Array& x, Call call) {
  const DType t = TypeOf(x)->dtype(), wide = WideDType(t);
  return t == wide ? x : Convert(x, wide, call);
}

Array Reshape(const Array& x, const base::Shape& shape, Call call) {
  if (TypeOf(x)->shape() == shape) return Same(x);
  ShapeAndDType wanted{shape, DType{}};
  return Run(ops::kReshape, nullptr, {x}, call, {.wanted = &wanted});
}

Array BroadcastTo(const Array& x, const base::Shape& shape, Call call,
                  std::optional<PartitionSpec> out_sharding) {
  if (TypeOf(x)->shape() == shape) return Same(x);
  ShapeAndDType wanted{shape, DType{}};
  ir::ResultDims dims;
  int64_t skip = static_cast<int64_t>(shape.size()) - TypeOf(x)->rank();
  for (int64_t d = 0; d < TypeOf(x)->rank(); ++d) dims.push_back(skip + d);
  return Run(ops::kBroadcastInDim, ir::MakeParams(ops::BroadcastParams{dims}), {x}, call,
             {.wanted = &wanted,
              .out_sharding = std::move(out_sharding),
              .rank = static_cast<int>(shape.size())});
}

Array Filled(const Array& scalar, const base::Shape& shape, const sharding::TensorSharding& out,
             Call call) {
  ShapeAndDType wanted{shape, DType{}};
  trace::Application a{.op = ops::kBroadcastInDim,
                       .params = ir::MakeParams(ops::BroadcastParams{}),
                       .operands = {trace::Use(scalar, call.name, call.loc)},
                       .wanted = &wanted,
                       .loc = call.loc,
                       .shown_as = call.name};
  if (out.mesh) a.out_sharding = &out;
  return trace::Apply(a)[0];
}

Array FilledWith(double value, const ir::Type* type, Call call) {
  ir::Program program;
  program.mesh = type->mesh();
  ir::Builder builder(program, call.loc);
  program.outputs = {ops::Filled(builder, value, type)};
  return trace::CallProgram(ir::Shared(std::move(program)), {}, call.name, call.loc)[0];
}

Array Moved(const Array& x, sharding::TensorSharding to, Call call) {
  trace::Application move{.op = ops::kImpliedReshard,
                          .params = {},
                          .operands = {trace::Use(x, call.name, call.loc)},
                          .loc = call.loc,
                          .shown_as = call.name,
                          .result = TypeOf(x)->WithSharding(std::move(to))};
  return trace::Apply(move)[0];
}

Array Plain(const Array& x, Call call) {
  sharding::TensorSharding s = TypeOf(x)->sharding();
  if (s.unreduced.empty() && s.reduced.empty()) return x;
  s.unreduced.clear();
  s.reduced.clear();
  s.kind = Reduction::kSum;
  return Moved(x, std::move(s), call);
}

}  // namespace tessera::api
