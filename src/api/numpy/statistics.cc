// Covariances, and products of stacks of vectors and matrices.
#include "tessera/statistics.h"

#include <fmt/format.h>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "base/at.h"

namespace tessera {

using namespace api;

static std::string Code(const CovOptions& v) {
  return OptionFields()
      .Add("rowvar", v.rowvar, true)
      .Add("ddof", v.ddof)
      .Add("bias", v.bias, false)
      .AddNamed("fweights", v.fweights)
      .AddNamed("aweights", v.aweights)
      .code();
}
static std::string Code(const CorrcoefOptions& v) {
  return OptionFields().Add("rowvar", v.rowvar, true).code();
}

namespace {

// Returns floats [variables, observations], in the WideDType of t.
Array Variables(const Operand& x, DType t, bool rowvar, Call call) {
  const Array a = Convert(ToArray(x, call), WideDType(t), call);
  if (Rank(a) > 2) FailShape(call, 17, fmt::format("the variables have rank 2, not {}", Rank(a)));
  const Array both = atleast_2d(a, call.loc);
  return rowvar || ShapeOf(both)[0] == 1 ? both : both.T();
}

// Returns the weights of the observations, or nullopt if all count once.
std::optional<Located> Weights(const CovOptions& options, int64_t n, DType t, Call call) {
  std::optional<Located> all;
  for (const Array* own : {&options.fweights, &options.aweights}) {
    if (!own->is_given()) continue;
    if (ShapeOf(*own) != base::Shape{n})
      FailShape(call, 18,
                fmt::format("there are {} observations, but weights of shape {}", n,
                            ir::FieldText(ShapeOf(*own))));
    const Located weights(Convert(*own, t, call), call.loc);
    all = all ? *all * weights : weights;
  }
  return all;
}

Array Covariance(const Array& x, const CovOptions& options, Call call) {
  const Loc loc = call.loc;
  const Located a(x, loc);
  const int64_t n = a.shape()[1];
  const double ddof = options.ddof.value_or(options.bias ? 0 : 1);
  const std::optional<Located> w = Weights(options, n, a.dtype(), call);
  if (!w) {
    const Located away = a - a.With(mean(a, 1, {.keepdims = true}, loc));
    const Located product(dot(away, conj(away, loc).T(), {}, loc), loc);
    return squeeze(product / (static_cast<double>(n) - ddof), All, loc);
  }
  const Located total(sum(*w, All, {}, loc), loc);
  const Located centre(sum(a * *w, 1, {.keepdims = true}, loc), loc);
  const Located away = a - centre / total;
  Located factor = total - ddof;
  if (options.aweights.is_given() && ddof != 0) {
    const Located own(Convert(options.aweights, a.dtype(), call), loc);
    factor = total - a.With(sum(*w * own, All, {}, loc)) * ddof / total;
  }
  const Located product(dot(away * *w, conj(away, loc).T(), {}, loc), loc);
  return squeeze(product / factor, All, loc);
}

}  // namespace

Array cov(Operand x, CovOptions options, Loc loc) {
  const Call call{"cov", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    std::vector<Operand> all{operand};
    for (const Array* own : {&options.fweights, &options.aweights})
      if (own->is_given()) all.emplace_back(*own, loc);
    const DType t = FloatOf(PromotedDType(all, call));
    const Array variables = Variables(operand, t, options.rowvar, call);
    return Convert(Covariance(variables, options, call), t, call);
  });
}

Array corrcoef(Operand x, CorrcoefOptions options, Loc loc) {
  const Call call{"corrcoef", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) -> Array {
    const DType t = TypeOf(ToFloat(operand, call))->dtype();
    const Located c(Covariance(Variables(operand, t, options.rowvar, call), {}, call), loc);
    if (c.shape().empty()) return Convert(c / c, t, call);
    const Located spread = Sqrt(c.With(real(diagonal(c, {}, loc), loc)));
    const Located made = c / c.With(expand_dims(spread, 1, loc)) / spread;
    if (made.dtype().is_complex()) return made;
    return Convert(clip(made, Operand(-1, loc), Operand(1, loc), loc), t, call);
  });
}

Array vecdot(Operand a, Operand b, int dim, Loc loc) {
  const Call call{"vecdot", loc};
  return AsOne(call, {a, b, dim}, [&](const Operand& lhs, const Operand& rhs) -> Array {
    const std::vector<Array> xs = Promote({lhs, rhs}, call);
    for (const Array& x : xs)
      if (Rank(x) == 0) FailShape(call, 17, "a scalar is not a vector");
    const Array u = moveaxis(xs[0], dim, -1, loc), v = moveaxis(xs[1], dim, -1, loc);
    return einsum("...i,...i->...", {conj(u, loc), v}, {}, loc);
  });
}
Array matvec(Operand a, Operand b, Loc loc) {
  const Call call{"matvec", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) {
    return einsum("...ij,...j->...i", {ToArray(lhs, call), ToArray(rhs, call)}, {}, loc);
  });
}
Array vecmat(Operand a, Operand b, Loc loc) {
  const Call call{"vecmat", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) {
    return einsum("...i,...ij->...j", {conj(ToArray(lhs, call), loc), ToArray(rhs, call)}, {}, loc);
  });
}

}  // namespace tessera
