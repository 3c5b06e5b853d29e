// Traces a function on scalars, and maps it over the elements of arrays.
#include "api/combiners/element_function.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "api/core/manual_axes.h"
#include "base/at.h"
#include "base/error.h"
#include "ir/mapped_axes.h"
#include "trace/inline.h"
#include "trace/scopes.h"
#include "transforms/batch.h"

namespace tessera::api {
namespace {

// Returns the type of an element of x.
const ir::Type* ElementOf(const Array& x) {
  sharding::TensorSharding s = TypeOf(x)->sharding();
  s.dims.clear();
  return ir::Type::Get({}, TypeOf(x)->dtype(), std::move(s), false);
}

sharding::AxisList AxesOf(const ir::Type& type) {
  sharding::AxisList all;
  for (const sharding::DimAxes& d : type.sharding().dims) sharding::AddTo(all, d.axes);
  return all;
}

}  // namespace

ElementFunction::ElementFunction(Call call, const Arrays& like,
                                 const std::vector<std::string>& names, const detail::OnTwoTrees& f,
                                 Returns returns)
    : call_(call) {
  std::vector<trace::Parameter> parameters;
  for (int side = 0; side < 2; ++side)
    for (const Array& x : like) parameters.push_back({ElementOf(x), call.loc});
  const detail::Body body = [&](const Arrays& xs) {
    const auto half = xs.begin() + static_cast<std::ptrdiff_t>(like.size());
    return FunctionResult{f({xs.begin(), half}, {half, xs.end()}), {}};
  };
  const ir::MappedAxesScope mapped(TypeOf(like[0])->mesh(), AxesOf(*TypeOf(like[0])));
  traced_ = trace::TraceFunction(parameters, body, call.name, call.loc, trace::CurrentTrace());
  CheckResults(like, names, returns);
}

void ElementFunction::CheckResults(const Arrays& like, const std::vector<std::string>& names,
                                   Returns returns) const {
  const ir::Program& p = traced_.program;
  const size_t wanted = returns == kOneBool ? 1 : like.size();
  if (p.outputs.size() != wanted)
    FailTrace(call_, 18,
              fmt::format("the function returns {}, but must return {}",
                          base::CountText(p.outputs.size(), "array"), wanted),
              p.outputs.empty() ? std::vector<std::string>{"a plain number is no Array: return "
                                                           "Array(number)"}
                                : std::vector<std::string>{});
  for (size_t k = 0; k < wanted; ++k) {
    const ir::Type& type = *p.type(p.outputs[k]);
    const DType dtype = returns == kOneBool ? bool_ : TypeOf(like[k])->dtype();
    if (type.rank() == 0 && type.dtype() == dtype) continue;
    const std::string of = returns == kOneBool ? "" : " for " + names[k];
    FailTrace(call_, 18,
              fmt::format("the function returns {}{}, but must return the scalar {}[]", type.text(),
                          of, dtype.name()));
  }
}

Arrays ElementFunction::operator()(const Arrays& a, const Arrays& b) const {
  const ir::Type& type = *TypeOf(a[0]);
  ir::Program mapped = traced_.program;
  for (size_t d = type.shape().size(); d-- > 0;) {
    const ir::MappedDim dim{
        .size = type.shape()[d], .mesh = type.mesh(), .axes = type.sharding().dims[d].axes};
    mapped = transforms::MakeBatch(mapped, std::vector<bool>(traced_.parameters, true),
                                   std::vector<bool>(mapped.outputs.size(), true), dim)
                 .program;
  }
  Arrays both = a;
  both.insert(both.end(), b.begin(), b.end());
  Arrays results =
      trace::CallProgram(ir::Shared(std::move(mapped)), RefsOf(both, call_), call_.name, call_.loc);
  for (Array& y : results) y = Convert(y, TypeOf(y)->dtype(), call_);
  return results;
}

std::optional<size_t> ElementFunction::OperandOf(const ir::OpDef& op, bool either) const {
  const ir::Program& p = traced_.program;
  if (p.instructions.size() != 1 || p.instructions[0].op != &op || p.outputs.size() != 1 ||
      p.outputs[0] != p.instructions[0].results[0])
    return std::nullopt;
  const auto& operands = p.instructions[0].operands;
  const size_t side = traced_.parameters / 2;
  for (size_t k = 0; k < side; ++k) {
    const ir::ValueId a = p.inputs[k], b = p.inputs[side + k];
    if ((operands[0] == a && operands[1] == b) || (either && operands[0] == b && operands[1] == a))
      return k;
  }
  return std::nullopt;
}

std::optional<Reduction> ElementFunction::KnownReduction() const {
  if (traced_.parameters != 2) return std::nullopt;
  for (Reduction r : base::kReductions)
    if (OperandOf(ops::Elementwise(plan::ScalarOpOf(r)), true)) return r;
  return std::nullopt;
}

bool ElementFunction::IsSecond() const {
  const ir::Program& p = traced_.program;
  return p.outputs.size() == 1 && traced_.parameters == 2 && p.outputs[0] == p.inputs[1];
}

Arrays RunAsProgram(Call call, const Arrays& xs, const std::function<Arrays(const Arrays&)>& f) {
  const std::vector<ArrayRef> refs = RefsOf(xs, call);
  if (trace::InsideTrace(refs)) return f(xs);
  std::vector<trace::Parameter> parameters;
  for (const ArrayRef& x : refs) parameters.push_back(trace::LikeArray(x));
  const trace::TracedFunction whole = trace::TraceFunction(
      parameters,
      [&](const Arrays& inside) {
        return FunctionResult{f(inside), {}};
      },
      call.name, call.loc, nullptr);
  return CallRegion(whole, xs, call);
}

CombinerOperands OperandsOf(detail::TreeRef xs, Call call) {
  const trace::Leaves leaves = trace::TakeArrays(xs, "xs");
  CombinerOperands o{.xs = leaves.arrays, .inits = {}, .names = leaves.names};
  if (o.xs.empty()) FailShape(call, 11, "there is no array in xs");
  for (Array& x : o.xs) {
    trace::Use(x, call.name, call.loc);
    x = Convert(Plain(x, call), TypeOf(x)->dtype(), call);
  }
  for (size_t k = 1; k < o.xs.size(); ++k) {
    const ir::Type &first = *TypeOf(o.xs[0]), &other = *TypeOf(o.xs[k]);
    const std::string both =
        fmt::format("{} is {}, but {} is {}", o.names[0], first.text(), o.names[k], other.text());
    if (first.shape() != other.shape()) FailShape(call, 11, "the shapes differ: " + both);
    if (first.sharding().dims != other.sharding().dims)
      FailSharding(call, 13, "the arrays are sharded differently: " + both);
  }
  return o;
}

CombinerOperands OperandsOf(detail::TreeRef xs, detail::TreeRef inits, Call call) {
  CombinerOperands o = OperandsOf(xs, call);
  const trace::Leaves leaves = trace::TakeArrays(inits, "inits");
  if (leaves.arrays.size() != o.xs.size())
    FailShape(call, 11,
              fmt::format("xs has {}, but inits has {}", base::CountText(o.xs.size(), "array"),
                          leaves.arrays.size()),
              {"write Array(number) for a number inside a tree"});
  for (size_t k = 0; k < o.xs.size(); ++k) {
    Array init = leaves.arrays[k];
    const ir::Type &type = *trace::Use(init, call.name, call.loc)->type(), &of = *TypeOf(o.xs[k]);
    if (type.rank() != 0)
      FailShape(call, 11, fmt::format("{} is {}, not a scalar", leaves.names[k], type.text()));
    if (!type.weak() && type.dtype() != of.dtype())
      FailDType(call, 12,
                fmt::format("{} is {}, but {} is {}", leaves.names[k], type.text(), o.names[k],
                            of.text()),
                {fmt::format("cast one of them, e.g. {}.astype({})", leaves.names[k],
                             of.dtype().name())});
    o.inits.push_back(Convert(init, of.dtype(), call));
  }
  return o;
}

Arrays RunWithInits(Call call, const CombinerOperands& operands,
                    const std::function<Arrays(const Arrays& xs, const Arrays& inits)>& f) {
  Arrays all = operands.xs;
  all.insert(all.end(), operands.inits.begin(), operands.inits.end());
  return RunAsProgram(call, all, [&](const Arrays& inside) {
    const auto half = inside.begin() + static_cast<std::ptrdiff_t>(operands.xs.size());
    return f({inside.begin(), half}, {half, inside.end()});
  });
}

Arrays CombinedWhere(const Array& both, const ElementFunction& combine, const Arrays& a,
                     const Arrays& b, Call call) {
  const auto kept = [&](Arrays xs) {
    for (Array& x : xs)
      if (TypeOf(x)->dtype().is_inexact())
        x = where(both, x, stop_gradient(x, call.loc), {}, call.loc);
    return xs;
  };
  return combine(kept(a), kept(b));
}

Arrays InitsLike(const Arrays& inits, const Arrays& xs, Call call) {
  Arrays full;
  for (size_t k = 0; k < xs.size(); ++k) {
    const ir::Type& like = *TypeOf(xs[k]);
    const Array init = AsVarying(inits[k], VaryingOf(like), call);
    full.push_back(Filled(init, like.shape(), like.sharding(), call));
  }
  return full;
}

Arrays Pieces(const Arrays& xs, size_t dim, int64_t begin, int64_t end, int64_t step, Call call) {
  Arrays pieces;
  for (const Array& x : xs) {
    const base::Shape& shape = ShapeOf(x);
    std::vector<int64_t> starts(shape.size()), limits(shape.begin(), shape.end()),
        strides(shape.size(), 1);
    starts[dim] = begin, limits[dim] = std::max(begin, end), strides[dim] = step;
    pieces.push_back(slice(x, starts, limits, strides, call.loc));
  }
  return pieces;
}

}  // namespace tessera::api
