// Normalisation by means and variances.
#include <fmt/format.h>

#include <cmath>

#include "api/array/reductions.h"
#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "base/at.h"
#include "tessera/nn.h"

namespace tessera {

using namespace api;

static std::string Code(const StandardizeOptions& v) {
  return OptionFields()
      .AddNamed("mean", v.mean)
      .AddNamed("variance", v.variance)
      .Add("epsilon", v.epsilon, StandardizeOptions().epsilon)
      .code();
}
static std::string Code(const NormalizeOptions& v) {
  return OptionFields().Add("epsilon", v.epsilon, NormalizeOptions().epsilon).code();
}
static std::string Code(const BatchNormOptions& v) {
  return OptionFields()
      .AddNamed("mean", v.mean)
      .AddNamed("variance", v.variance)
      .Add("epsilon", v.epsilon, BatchNormOptions().epsilon)
      .Add("dim", v.dim, -1)
      .code();
}

namespace {

Located Mean(const Located& x, const Dims& dims) {
  return x.With(mean(x, dims, {.keepdims = true}, x.loc()));
}

Located Normalized(const Located& x, const Dims& dims, double epsilon) {
  const Located away = x - Mean(x, dims);
  return away * Rsqrt(Mean(Square(away), dims) + epsilon);
}

// Returns floats, which are f32 at least: squares of narrower ones overflow.
Located Wide(const Operand& x, Call call) {
  const Array a = ToFloat(x, call);
  CheckReal(a, call);
  return {ToWide(a, call), call.loc};
}

// Returns y in the floating dtype of x.
Array Back(const Located& y, const Operand& x, Call call) {
  return Convert(y, TypeOf(ToFloat(x, call))->dtype(), call);
}

// C17: throws ShapeError unless x has a batch and features.
void CheckHasFeatures(const Array& x, Call call) {
  if (Rank(x) < 2)
    FailShape(call, 17, fmt::format("the array has a batch and features, not rank {}", Rank(x)));
}

// Normalises groups of features of each example of x [batch, ..., features].
Located OfGroups(const Located& x, int64_t groups, double epsilon, Call call) {
  const base::Shape shape = x.shape();
  if (groups < 1 || shape.back() % groups != 0)
    FailShape(call, 18, fmt::format("{} groups do not divide {} features", groups, shape.back()));
  base::Shape grouped = shape;
  grouped.back() = groups;
  grouped.push_back(shape.back() / groups);
  std::vector<int64_t> dims;
  for (int64_t d = 1; d + 2 < static_cast<int64_t>(grouped.size()); ++d) dims.push_back(d);
  dims.push_back(-1);
  const Located parts = x.With(Reshape(x, grouped, call));
  return x.With(Reshape(Normalized(parts, dims, epsilon), shape, call));
}

}  // namespace

Array logmeanexp(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  const Call call{"logmeanexp", loc};
  CheckHasNo("initial", options.initial, call);
  return AsOneWith(call, {{"operand", x}, dims, options}, {{"where", &options.where}},
                   [&](const Operands& xs) -> Array {
                     const Array given = ToFloat(xs[0], call), a = ToWide(given, call);
                     const Located total(logsumexp(a, dims,
                                                   {.dtype = options.dtype,
                                                    .keepdims = options.keepdims,
                                                    .out_sharding = options.out_sharding,
                                                    .where = options.where},
                                                   loc),
                                         loc);
                     const DType t = TypeOf(a)->dtype() == total.dtype() ? TypeOf(given)->dtype()
                                                                         : total.dtype();
                     const std::vector<int64_t> d = NormalDims(dims, Rank(a), call);
                     if (!options.where.is_given())
                       return Convert(total - std::log(Count(a, d)), t, call);
                     const Array count = CountWhere(options.where, a, {d, options.keepdims}, call);
                     return Convert(total - Log(total.With(count)), t, call);
                   });
}

Array standardize(Operand x, Dims dims, StandardizeOptions options, Loc loc) {
  const Call call{"standardize", loc};
  const Arguments arguments{{"operand", x}, dims, options};
  const Array &centre = options.mean, &spread = options.variance;
  return AsOneWith(call, arguments, {{"mean", &options.mean}, {"variance", &options.variance}},
                   [&](const Operands& xs) -> Array {
                     const Located a = Wide(xs[0], call);
                     const Located middle =
                         centre.is_given() ? a.With(ToWide(centre, call)) : Mean(a, dims);
                     const Located away = a - middle;
                     const Located variance = spread.is_given() ? a.With(ToWide(spread, call))
                                                                : Mean(Square(away), dims);
                     std::vector<Operand> all{xs[0]};
                     for (const Array* given : {&centre, &spread})
                       if (given->is_given()) all.emplace_back(*given, loc);
                     return Convert(away * Rsqrt(variance + options.epsilon),
                                    FloatOf(PromotedDType(all, call)), call);
                   });
}

Array rms_norm(Operand x, Operand scale, Dims dims, NormalizeOptions options, Loc loc) {
  const Call call{"rms_norm", loc};
  return AsOne(call, {{"operand", x}, {"scale", scale}, dims, options},
               [&](const Operand& operand, const Operand& gain) {
                 const Located a = Wide(operand, call);
                 const Located unit = a * Rsqrt(Mean(Square(a), dims) + options.epsilon);
                 return Back(unit * a.With(ToArray(gain, call)), operand, call);
               });
}

Array group_norm(Operand x, Operand scale, Operand bias, int64_t groups, NormalizeOptions options,
                 Loc loc) {
  const Call call{"group_norm", loc};
  return AsOne(call, {{"operand", x}, {"scale", scale}, {"bias", bias}, groups, options},
               [&](const Operand& operand, const Operand& gain, const Operand& offset) {
                 const Located a = Wide(operand, call);
                 CheckHasFeatures(a, call);
                 const Located unit = OfGroups(a, groups, options.epsilon, call);
                 return Back(unit * a.With(ToArray(gain, call)) + a.With(ToArray(offset, call)),
                             operand, call);
               });
}

Array instance_norm(Operand x, Operand scale, Operand bias, NormalizeOptions options, Loc loc) {
  const Call call{"instance_norm", loc};
  return AsOne(call, {{"operand", x}, {"scale", scale}, {"bias", bias}, options},
               [&](const Operand& operand, const Operand& gain, const Operand& offset) {
                 const Located a = Wide(operand, call);
                 CheckHasFeatures(a, call);
                 std::vector<int64_t> dims;
                 for (int64_t d = 1; d + 1 < Rank(a); ++d) dims.push_back(d);
                 const Located unit = Normalized(a, dims, options.epsilon);
                 return Back(unit * a.With(ToArray(gain, call)) + a.With(ToArray(offset, call)),
                             operand, call);
               });
}

namespace {

// The features of statistics and weights [features] as dim `dim` of an array of this rank.
class Features {
 public:
  Features(const Located& x, int dim, Call call)
      : dim_(NormalDim(dim, Rank(x), call)), size_(base::At(x.shape(), dim_)), call_(call) {
    others_.assign(x.shape().size(), 1);
    base::At(others_, dim_) = size_;
    for (int64_t d = 0; d < Rank(x); ++d)
      if (d != dim_) dims_.push_back(d);
  }
  const std::vector<int64_t>& other_dims() const { return dims_; }
  Located Spread(const char* name, const Operand& x) const {
    const Array a = ToArray(x, call_);
    if (ShapeOf(a) != base::Shape{size_})
      FailShape(call_, 18,
                fmt::format("the {} has shape {}, but there are {} features", name,
                            ir::FieldText(ShapeOf(a)), size_));
    return {Reshape(a, others_, call_), call_.loc};
  }
  Array Line(const Located& x) const { return Reshape(x, {size_}, call_); }

 private:
  const int64_t dim_, size_;
  const Call call_;
  base::Shape others_;
  std::vector<int64_t> dims_;
};

}  // namespace

BatchNormed batch_norm(Operand x, Operand scale, Operand bias, BatchNormOptions options, Loc loc) {
  const Call call{"batch_norm", loc};
  const Array &centre = options.mean, &spread = options.variance;
  const bool is_given = centre.is_given();
  if (is_given != spread.is_given())
    FailShape(call, 17, "the mean and the variance are given together, or neither");
  const Arguments arguments{{"operand", x}, {"scale", scale}, {"bias", bias}, options};
  const std::vector<Array> made = AsOneWith(
      call, arguments, {{"mean", &options.mean}, {"variance", &options.variance}},
      [&](const Operands& xs) -> std::vector<Array> {
        const Located a = Wide(xs[0], call);
        const Features features(a, options.dim, call);
        const Located middle = is_given ? features.Spread("mean", Operand(centre, loc))
                                        : Mean(a, features.other_dims());
        const Located variance = is_given ? features.Spread("variance", Operand(spread, loc))
                                          : Mean(Square(a - middle), features.other_dims());
        const Located unit = (a - middle) * Rsqrt(variance + options.epsilon);
        const Array y = Back(
            unit * features.Spread("scale", xs[1]) + features.Spread("bias", xs[2]), xs[0], call);
        return {y, features.Line(middle), features.Line(variance)};
      });
  return {made[0], made[1], made[2]};
}

}  // namespace tessera
