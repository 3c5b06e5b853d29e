// Reductions of windows; elements that are chosen from windows, and put back.
#include "ops/windows.h"

#include <absl/algorithm/container.h>
#include <absl/functional/function_ref.h>

#include "base/shape.h"
#include "ir/builder.h"
#include "ops/derivatives.h"
#include "ops/laid_out.h"
#include "ops/ops.h"
#include "ops/reference_accumulator.h"
#include "ops/reference_values.h"

namespace tessera::ops {

int64_t CheckedWindows(const TypeCall& c, size_t d, int64_t n, const DimWindow& w, int64_t least) {
  struct {
    const char* name;
    int64_t value, least;
  } const numbers[] = {{"size", w.size, least},
                       {"stride", w.stride, 1},
                       {"base dilation", w.base_dilation, 1},
                       {"dilation", w.window_dilation, 1}};
  for (const auto& [name, value, bound] : numbers)
    if (value < bound)
      c.FailShape(18, fmt::format("the {} of the window is {} in dim {}, but must be at least {}",
                                  name, value, d, bound));
  constexpr int64_t kMost = int64_t{1} << 59;
  int64_t reach = 0, spread = 0;
  const bool fits =
      !__builtin_mul_overflow(std::max<int64_t>(w.size - 1, 0), w.window_dilation, &reach) &&
      reach < kMost &&
      !__builtin_mul_overflow(std::max<int64_t>(n - 1, 0), w.base_dilation, &spread) &&
      spread < kMost && std::max({w.low, w.high, w.stride}) < kMost &&
      std::min(w.low, w.high) > -kMost;
  if (!fits)
    c.FailShape(
        19, fmt::format("the windows or the padding of dim {} have more than 2^59 positions", d));
  const int64_t room = w.spread(n) + w.low + w.high - w.reach();
  return room < 0 ? 0 : room / w.stride + 1;
}

namespace {

using reference::Coords;
using reference::HostTensor;

using sharding::DimMap;
using sharding::FactorKind;

const WindowParams& WindowsOf(const ir::Params* params) { return ir::As<WindowParams>(params); }
DimWindow WindowAt(const WindowParams& p, size_t d) {
  return {p.sizes[d], p.strides[d], p.low[d], p.high[d], p.base_dilation[d], p.window_dilation[d]};
}
void PushBack(WindowParams& p, const DimWindow& w) {
  p.sizes.push_back(w.size);
  p.strides.push_back(w.stride);
  p.low.push_back(w.low);
  p.high.push_back(w.high);
  p.base_dilation.push_back(w.base_dilation);
  p.window_dilation.push_back(w.window_dilation);
}

// C17: lists must have one entry per dim. Returns the shape of the windows.
Shape ShapeOfWindows(const TypeCall& c) {
  const WindowParams& p = WindowsOf(c.params);
  const Shape& from = c.operands[0]->shape();
  for (const std::vector<int64_t>* list :
       {static_cast<const std::vector<int64_t>*>(&p.sizes),
        static_cast<const std::vector<int64_t>*>(&p.strides),
        static_cast<const std::vector<int64_t>*>(&p.low),
        static_cast<const std::vector<int64_t>*>(&p.high),
        static_cast<const std::vector<int64_t>*>(&p.base_dilation),
        static_cast<const std::vector<int64_t>*>(&p.window_dilation)})
    if (list->size() != from.size())
      c.FailShape(17,
                  fmt::format("the array has rank {}, but the window, its strides, paddings and "
                              "dilations have {}, {}, {} and {}, {} and {} dims",
                              from.size(), p.sizes.size(), p.strides.size(), p.low.size(),
                              p.high.size(), p.base_dilation.size(), p.window_dilation.size()));
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d)
    shape.push_back(CheckedWindows(c, d, from[d], WindowAt(p, d), 1));
  return shape;
}

// Adds the factors of the windows: of operands [0, with) and of the results, whose dims are those
// of the operands.
DimMap WindowDims(const ir::DimsCall& c, int32_t with) {
  const WindowParams& p = WindowsOf(c.params);
  DimMap map;
  sharding::DimFactors dims;
  for (size_t d = 0; d < p.sizes.size(); ++d) {
    const DimWindow w = WindowAt(p, d);
    const FactorKind kind = w.is_trivial() ? FactorKind::kPass : FactorKind::kPermute;
    const int32_t f = map.AddFactor({.size = (*c.results[0])[d], .kind = kind});
    dims.push_back({f});
    for (int32_t k = 0; k < with && kind == FactorKind::kPermute; ++k)
      map.accesses.push_back(w.access(k, f));
  }
  map.operands.assign(static_cast<size_t>(with), dims);
  map.results = {dims};
  map.density = static_cast<double>(base::Elements(p.sizes));
  return map;
}

kernels::WindowsDesc DescOf(const ir::LocalCall& c, const Shape& windows) {
  const WindowParams& p = WindowsOf(c.params);
  kernels::WindowsDesc desc{
      .dtype = c.operands[0].dtype, .operand = c.operands[0].shape, .result = windows, .dims = {}};
  for (size_t d = 0; d < p.sizes.size(); ++d) desc.dims.push_back(WindowAt(p, d).kernel());
  return desc;
}

}  // namespace

ir::ParamsPtr ParamsOf(const std::vector<DimWindow>& windows) {
  WindowParams params;
  for (const DimWindow& w : windows) PushBack(params, w);
  return ir::MakeParams(std::move(params));
}

namespace {

ir::ParamsPtr OfViews(const ir::Params* params, const std::vector<bool>& viewed) {
  const WindowParams& p = WindowsOf(params);
  std::vector<DimWindow> local;
  for (size_t d = 0; d < viewed.size(); ++d)
    local.push_back(viewed[d] ? WindowAt(p, d).of_view() : WindowAt(p, d));
  return ParamsOf(local);
}

// Calls f with the index of each element of the window at `at`, in row-major order of the window.
void ForEachInWindow(const WindowParams& p, const Shape& shape, const Coords& at,
                     absl::FunctionRef<void(int64_t)> f) {
  const int64_t elements = base::Elements(p.sizes);
  for (int64_t k = 0; k < elements; ++k) {
    Coords coords = ir::CoordsOf(p.sizes, k);
    bool inside = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t position = at[d] * p.strides[d] + coords[d] * p.window_dilation[d] - p.low[d];
      coords[d] = position / p.base_dilation[d];
      inside =
          inside && position >= 0 && position % p.base_dilation[d] == 0 && coords[d] < shape[d];
    }
    if (inside) f(ir::FlatIndex(shape, coords));
  }
}

// ---- reductions ---------------------------------------------------------------------------------

// C14: refuses a dtype that the reduction does not take.
template <Reduction r>
std::vector<ShapeAndDType> ReduceWindowType(const TypeCall& c) {
  CheckCount(c, 1);
  const DType t = c.operands[0]->dtype();
  const bool arithmetic = r == Reduction::kSum || r == Reduction::kProd;
  const bool bits = r == Reduction::kAnd || r == Reduction::kOr || r == Reduction::kXor;
  if ((arithmetic && t.is_bool()) || (bits && t.is_floating()) || t.is_complex())
    c.FailDType(14, fmt::format("it does not reduce {}", t.name()));
  return {{ShapeOfWindows(c), t}};
}

template <Reduction r>
DimMap ReduceWindowDims(const ir::DimsCall& c) {
  DimMap map = WindowDims(c, 1);
  map.linear = {
      {.operands = {0},
       .kinds = {
           .sum = r == Reduction::kSum, .max = r == Reduction::kMax, .min = r == Reduction::kMin}}};
  return map;
}

template <Reduction r>
void MakeReduceWindow(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::ReduceWindow(DescOf(c, c.results[0].shape), r);
}

template <Reduction r>
ir::ParamsPtr Identity(const ir::Params*, size_t, DType t) {
  return IdentityOf(r, t);
}

template <Reduction r>
void ReduceWindowReference(const ir::ReferenceCall& call) {
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    reference::ReferenceAccumulator accumulator(r, x.dtype);
    ForEachInWindow(WindowsOf(call.params), x.shape, ir::CoordsOf(out.shape, i),
                    [&](int64_t at) { accumulator.Add(x, at); });
    accumulator.StoreTo(out, i);
  }
}

template <Reduction r>
constexpr OpDef ReduceWindowOp(std::string_view name, std::string_view doc, ir::Diff diff) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{ReduceWindowType<r>},
          .dims = ir::DimMapFn{ReduceWindowDims<r>},
          .lowering = ir::AsKernel{.make = MakeReduceWindow<r>,
                                   .views = {.params = OfViews, .outside = Identity<r>}},
          .reference = ir::ReferenceFn{ReduceWindowReference<r>},
          .diff = diff,
          .params = ir::KindOf<WindowParams>(),
          .flops_per_point = 1};
}

// ---- choices ------------------------------------------------------------------------------------

// C20: the second operand must have the shape of the first, or of its windows. C21: a scalar has
// nothing to choose from.
enum class SecondShape : uint8_t { kOfOperand, kOfWindows };
template <SecondShape second>
std::vector<ShapeAndDType> ChoiceType(const TypeCall& c) {
  CheckCount(c, 2);
  CheckSameDType(c);
  if (c.operands[0]->rank() == 0) c.FailShape(21, "it chooses from windows, not from a scalar");
  const Shape windows = ShapeOfWindows(c), &operand = c.operands[0]->shape();
  const Shape& wants = second == SecondShape::kOfOperand ? operand : windows;
  if (c.operands[1]->shape() != wants)
    c.FailShape(20, fmt::format("the second operand has shape {}, not {}",
                                ShapeText(c.operands[1]->shape()), ShapeText(wants)));
  return {{second == SecondShape::kOfOperand ? windows : operand, c.operands[0]->dtype()}};
}

DimMap TakeDims(const ir::DimsCall& c) {
  DimMap map = WindowDims(c, 2);
  map.linear = {{.operands = {1}}};
  map.traits.selectors = {0};
  return map;
}

// Tiles are parts of a dim, as those of a reshape. Other windows may overlap, so their dims are
// whole.
DimMap PutDims(const ir::DimsCall& c) {
  const WindowParams& p = WindowsOf(c.params);
  DimMap map;
  sharding::DimFactors whole, windows;
  for (size_t d = 0; d < p.sizes.size(); ++d) {
    const DimWindow w = WindowAt(p, d);
    const int64_t n = (*c.operands[0])[d], count = (*c.operands[1])[d];
    if (w.is_trivial()) {
      whole.push_back({map.AddFactor({.size = n})});
      windows.push_back(whole.back());
    } else if (w.is_tile(n, count)) {
      windows.push_back({map.AddFactor({.size = count})});
      whole.push_back(windows.back());
      whole.back().push_back(map.AddFactor({.size = w.size, .kind = FactorKind::kReplicate}));
    } else {
      whole.push_back({map.AddFactor({.size = n, .kind = FactorKind::kPermute})});
      windows.push_back({map.AddFactor({.size = count, .kind = FactorKind::kReplicate})});
    }
  }
  map.operands = {whole, windows};
  map.results = {whole};
  map.linear = {{.operands = {1}}};
  map.traits.selectors = {0};
  sharding::SetPoints(map, static_cast<double>(base::Elements(*c.operands[1])) *
                               static_cast<double>(base::Elements(p.sizes)));
  return map;
}

template <Reduction r>
void MakeTake(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::WindowTake(DescOf(c, c.results[0].shape), r);
}
template <Reduction r>
void MakePut(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::WindowPut(DescOf(c, c.operands[1].shape), r);
}

// In a view, padding may be chosen, but only before elements that equal it: -inf of a maximum.
template <Reduction r>
ir::ParamsPtr OutsideOfTake(const ir::Params*, size_t k, DType t) {
  return IdentityOf(k == 0 ? r : Reduction::kSum, t);
}

// Returns the element that the window at `at` chooses; -1: it has none.
template <Reduction r>
int64_t ChosenAt(const WindowParams& p, const HostTensor& x, const Coords& at) {
  const auto stays = [&](int64_t a, int64_t b) {
    if (x.dtype.is_floating())
      return r == Reduction::kMax ? x.Float(a) >= x.Float(b) : x.Float(a) <= x.Float(b);
    return r == Reduction::kMax ? !reference::IntLess(x.dtype, x.Int(a), x.Int(b))
                                : !reference::IntLess(x.dtype, x.Int(b), x.Int(a));
  };
  int64_t chosen = -1;
  ForEachInWindow(p, x.shape, at, [&](int64_t next) {
    if (chosen < 0 || !stays(chosen, next)) chosen = next;
  });
  return chosen;
}

template <Reduction r>
void TakeReference(const ir::ReferenceCall& call) {
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t chosen =
        ChosenAt<r>(WindowsOf(call.params), *call.operands[0], ir::CoordsOf(out.shape, i));
    if (chosen >= 0) out.SetFrom(i, *call.operands[1], chosen);
  }
}

template <Reduction r>
void PutReference(const ir::ReferenceCall& call) {
  const HostTensor &x = *call.operands[0], &source = *call.operands[1];
  HostTensor& out = *call.results[0];
  std::vector<reference::ReferenceAccumulator> sums(static_cast<size_t>(out.size()),
                                                    {Reduction::kSum, out.dtype});
  for (int64_t i = 0; i < source.size(); ++i) {
    const int64_t chosen = ChosenAt<r>(WindowsOf(call.params), x, ir::CoordsOf(source.shape, i));
    if (chosen >= 0) sums[static_cast<size_t>(chosen)].Add(source, i);
  }
  for (int64_t i = 0; i < out.size(); ++i) sums[static_cast<size_t>(i)].StoreTo(out, i);
}

// ---- derivatives --------------------------------------------------------------------------------

ir::ValueId SumTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const WindowParams& p = WindowsOf(c.params.get());
  const Shape &from = c.operand_types[0]->shape(), &to = c.result_types[0]->shape();
  std::vector<DimWindow> back;
  for (size_t d = 0; d < from.size(); ++d) back.push_back(WindowAt(p, d).back(from[d], to[d]));
  return OfOtherSize(c, 0, kReduceWindowSum, ParamsOf(back), {cotangent});
}

// Returns `type`, varying also over the axes over which `v` varies.
const ir::Type* VaryingWith(const ir::Type* type, const ir::Type* v) {
  sharding::TensorSharding s = type->sharding();
  if (v->sharding().varying.empty()) return type;
  s.mesh = v->mesh();
  sharding::AddTo(s.varying, v->sharding().varying);
  s.unreduced = sharding::Difference(s.unreduced, s.varying);
  s.reduced = sharding::Difference(s.reduced, s.varying);
  return type->WithSharding(std::move(s));
}

// Applies an op of choices by operand 0 to `v`.
ir::ValueId ByChoice(const ir::DiffCall& c, const OpDef& op, ir::ValueId v, const ir::Type* type) {
  const ir::Type* varying = VaryingWith(VaryingWith(type->WithWeak(false), c.builder.type(v)),
                                        c.builder.type(c.operands[0]));
  return EmitSums(c.builder, op, c.params, {{c.operands[0], v}}, varying);
}
template <const OpDef& take>
ir::ValueId ExtremeTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  if (c.operand_types[0]->rank() == 0) return tangent;
  return ByChoice(c, take, tangent, c.result_types[0]);
}
template <const OpDef& op>
ir::ValueId ChoiceTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return ByChoice(c, op, cotangent, CotangentTypeOf(c, 1));
}

// Returns x with whole dims, except those along which windows are trivial.
X WithWholeDims(const WindowParams& p, X x) {
  sharding::TensorSharding whole = x.type()->sharding();
  for (size_t d = 0; d < whole.dims.size(); ++d)
    if (!WindowAt(p, d).is_trivial()) whole.dims[d].axes.clear();
  return {x.builder(), Conform(x.builder(), x.id(), x.type()->WithSharding(std::move(whole)))};
}

// Returns element k of all windows, for each k; `fill` where it is padding.
std::vector<X> Pieces(const WindowParams& p, const Shape& windows, X x, double fill) {
  ir::Builder& b = x.builder();
  x = WithWholeDims(p, x);
  PadParams pad;
  for (size_t d = 0; d < windows.size(); ++d) {
    const DimWindow w = WindowAt(p, d);
    pad.low.push_back(w.low);
    pad.high.push_back(w.high);
    pad.interior.push_back(w.base_dilation - 1);
  }
  const X padded(b, b.Emit(kPad, ir::MakeParams(std::move(pad)), {x.id(), x.Number(fill).id()}));
  std::vector<X> pieces;
  for (int64_t k = 0; k < base::Elements(p.sizes); ++k) {
    const Coords at = ir::CoordsOf(p.sizes, k);
    SliceParams slice;
    for (size_t d = 0; d < windows.size(); ++d) {
      slice.starts.push_back(at[d] * p.window_dilation[d]);
      slice.limits.push_back(slice.starts[d] + (windows[d] - 1) * p.strides[d] + 1);
      slice.strides.push_back(p.strides[d]);
    }
    pieces.emplace_back(b, b.Emit(kSlice, ir::MakeParams(std::move(slice)), {padded.id()}));
  }
  return pieces;
}

// Never divides by an element, which may be 0.
ir::ValueId ProductTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  const WindowParams& p = WindowsOf(c.params.get());
  const ir::Type* type = c.result_types[0];
  if (type->elements() == 0) return Zeros(c.builder, type);
  const std::vector<X> x = Pieces(p, type->shape(), X(c.builder, c.operands[0]), 1);
  const std::vector<X> t = Pieces(p, type->shape(), X(c.builder, tangent), 0);
  // The product of all elements after each one.
  std::vector<X> after(x.begin(), x.end());
  for (size_t k = x.size() - 1; k-- > 0;) after[k] = x[k] * after[k + 1];
  X before = x[0], sum = x.size() == 1 ? t[0] : t[0] * after[1];
  for (size_t k = 1; k < x.size(); ++k) {
    sum = sum + (k + 1 == x.size() ? t[k] * before : t[k] * (before * after[k + 1]));
    before = before * x[k];
  }
  return Conform(c.builder, sum.id(), type);
}

template <Reduction r>
constexpr OpDef TakeOp(std::string_view name, std::string_view doc, ir::TransposeFn transpose) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{ChoiceType<SecondShape::kOfOperand>},
          .dims = ir::DimMapFn{TakeDims},
          .lowering = ir::AsKernel{.make = MakeTake<r>,
                                   .views = {.params = OfViews, .outside = OutsideOfTake<r>}},
          .reference = ir::ReferenceFn{TakeReference<r>},
          .diff = ir::Derivative{.transpose = transpose},
          .params = ir::KindOf<WindowParams>(),
          .flops_per_point = 1,
          .out_sharding = true,
          .operand_names = {"operand", "taken", ""}};
}
template <Reduction r>
constexpr OpDef PutOp(std::string_view name, std::string_view doc, ir::TransposeFn transpose) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{ChoiceType<SecondShape::kOfWindows>},
          .dims = ir::DimMapFn{PutDims},
          .lowering = ir::AsKernel{.make = MakePut<r>},
          .reference = ir::ReferenceFn{PutReference<r>},
          .diff = ir::Derivative{.transpose = transpose},
          .params = ir::KindOf<WindowParams>(),
          .flops_per_point = 1,
          .out_sharding = true,
          .operand_names = {"operand", "source", ""}};
}

}  // namespace

constexpr OpDef kReduceWindowSum = ReduceWindowOp<Reduction::kSum>(
    "reduce_window_sum", "Sum of each window.", ir::Derivative{.transpose = SumTranspose});
constexpr OpDef kReduceWindowProd = ReduceWindowOp<Reduction::kProd>(
    "reduce_window_prod", "Product of each window.", ir::Derivative{.of = {ProductTangent}});
constexpr OpDef kReduceWindowMax =
    ReduceWindowOp<Reduction::kMax>("reduce_window_max", "Largest of each window; NaN wins.",
                                    ir::Derivative{.of = {ExtremeTangent<kWindowTakeMax>}});
constexpr OpDef kReduceWindowMin =
    ReduceWindowOp<Reduction::kMin>("reduce_window_min", "Smallest of each window; NaN wins.",
                                    ir::Derivative{.of = {ExtremeTangent<kWindowTakeMin>}});
constexpr OpDef kReduceWindowAnd = ReduceWindowOp<Reduction::kAnd>(
    "reduce_window_and", "Bitwise and of each window.", kZeroAlmostEverywhere);
constexpr OpDef kReduceWindowOr = ReduceWindowOp<Reduction::kOr>(
    "reduce_window_or", "Bitwise or of each window.", kZeroAlmostEverywhere);
constexpr OpDef kReduceWindowXor = ReduceWindowOp<Reduction::kXor>(
    "reduce_window_xor", "Bitwise exclusive or of each window.", kZeroAlmostEverywhere);
constexpr OpDef kWindowTakeMax = TakeOp<Reduction::kMax>(
    "window_take_max", "The element of another array where each window has its first maximum.",
    ChoiceTranspose<kWindowPutMax>);
constexpr OpDef kWindowTakeMin = TakeOp<Reduction::kMin>(
    "window_take_min", "The element of another array where each window has its first minimum.",
    ChoiceTranspose<kWindowPutMin>);
constexpr OpDef kWindowPutMax = PutOp<Reduction::kMax>(
    "window_put_max", "Zeros, plus an element where each window has its first maximum.",
    ChoiceTranspose<kWindowTakeMax>);
constexpr OpDef kWindowPutMin = PutOp<Reduction::kMin>(
    "window_put_min", "Zeros, plus an element where each window has its first minimum.",
    ChoiceTranspose<kWindowTakeMin>);

Records WindowOps() {
  static constexpr const OpDef* kOps[] = {&kReduceWindowSum, &kReduceWindowProd, &kReduceWindowMax,
                                          &kReduceWindowMin, &kReduceWindowAnd,  &kReduceWindowOr,
                                          &kReduceWindowXor, &kWindowTakeMax,    &kWindowTakeMin,
                                          &kWindowPutMax,    &kWindowPutMin};
  return kOps;
}

}  // namespace tessera::ops
