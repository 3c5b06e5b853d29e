// Initial values of parameters.
#include "tessera/initialisers.h"

#include <fmt/format.h>

#include <cmath>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "tessera/lookup.h"
#include "tessera/ops.h"

namespace tessera {

using namespace api;

static std::string Code(FanMode v) {
  switch (v) {
    case FanMode::kIn:
      return "FanMode::kIn";
    case FanMode::kOut:
      return "FanMode::kOut";
    case FanMode::kAverage:
      return "FanMode::kAverage";
    case FanMode::kGeometricAverage:
      break;
  }
  return "FanMode::kGeometricAverage";
}
static std::string Code(FanDistribution v) {
  return v == FanDistribution::kTruncatedNormal ? "FanDistribution::kTruncatedNormal"
         : v == FanDistribution::kNormal        ? "FanDistribution::kNormal"
                                                : "FanDistribution::kUniform";
}
static std::string Code(const FanOptions& v) {
  const std::vector<int64_t> in{-2}, out{-1}, none;
  return OptionFields()
      .Add(v.dtype)
      .Add("in_dims", v.in_dims.dims(), in)
      .Add("out_dims", v.out_dims.dims(), out)
      .Add("batch_dims", v.batch_dims.dims(), none)
      .Add(v.out_sharding)
      .code();
}
static std::string Code(const TruncatedOptions& v) {
  return OptionFields()
      .Add(v.dtype)
      .Add("lower", v.lower, -2.0)
      .Add("upper", v.upper, 2.0)
      .Add(v.out_sharding)
      .code();
}
static std::string Code(const OrthogonalMatrixOptions& v) {
  return OptionFields()
      .Add(v.dtype)
      .Add("scale", v.scale, 1.0)
      .Add("column_dim", v.column_dim, -1)
      .Add(v.out_sharding)
      .code();
}

namespace {

constexpr const char* kVarianceScaling = "initialisers::variance_scaling";

DType FloatOr(DType t) { return t.is_default() ? base::DefaultFloat() : t; }

// Returns x times a number, rounded to the dtype of x first.
Array Times(const Array& x, double by, Call call) {
  return mul(x, StrongScalar(by, TypeOf(x)->dtype(), call), {}, call.loc);
}

double SizeOf(const base::Shape& shape, const Dims& dims, Call call) {
  double size = 1;
  for (int64_t d : NormalDims(dims, static_cast<int64_t>(shape.size()), call))
    size *= static_cast<double>(base::At(shape, d));
  return size;
}

double FanOf(const base::Shape& shape, FanMode mode, const FanOptions& options, Call call) {
  const double in = SizeOf(shape, options.in_dims, call),
               out = SizeOf(shape, options.out_dims, call),
               batch = SizeOf(shape, options.batch_dims, call);
  const double field = static_cast<double>(base::Elements(shape)) / in / out / batch;
  switch (mode) {
    case FanMode::kIn:
      return in * field;
    case FanMode::kOut:
      return out * field;
    case FanMode::kAverage:
      return (in * field + out * field) / 2;
    case FanMode::kGeometricAverage:
      break;
  }
  return std::sqrt(in * field * out * field);
}

// Factors are computed in the dtype of the result, as JAX does, so that the bits are the same.
Array Scaled(const Operand& key, const Shape& shape, double variance, FanDistribution distribution,
             const FanOptions& options, Call call) {
  const Loc loc = call.loc;
  const DType t = FloatOr(options.dtype);
  const CreateOptions as{.dtype = t, .out_sharding = options.out_sharding};
  const Array spread = StrongScalar(variance, t, call);
  switch (distribution) {
    case FanDistribution::kTruncatedNormal: {
      // The standard deviation of the standard normal distribution between -2 and 2.
      const Array own = StrongScalar(0.87962566103423978, t, call);
      return mul(random::truncated_normal(key, -2, 2, shape, as, loc),
                 div(sqrt(spread, loc), own, {}, loc), {}, loc);
    }
    case FanDistribution::kNormal:
      return mul(random::normal(key, shape, as, loc), sqrt(spread, loc), {}, loc);
    case FanDistribution::kUniform:
      break;
  }
  const Array drawn = random::uniform(
      key, shape, {.dtype = t, .minval = -1, .out_sharding = options.out_sharding}, loc);
  return mul(drawn, sqrt(mul(spread, Operand(3, loc), {}, loc), loc), {}, loc);
}

// The name is variance_scaling, or implies the arguments of that function.
Array OfFans(const char* name, const Operand& key, const Shape& shape, double scale, FanMode mode,
             FanDistribution distribution, FanOptions options, Loc loc) {
  const Call call{name, loc};
  Arguments arguments{{"key", key}, shape};
  if (std::string_view(name) == kVarianceScaling)
    arguments.insert(arguments.end(), {Argument(scale), Argument(mode), Argument(distribution)});
  arguments.emplace_back(options);
  return AsOne(call, arguments, [&](const Operand& bits) {
    const DType t = FloatOr(options.dtype);
    if (!t.is_floating()) FailDType(call, 14, fmt::format("it makes floats, not {}", t.name()));
    return Scaled(bits, shape, scale / FanOf(shape.dims(), mode, options, call), distribution,
                  options, call);
  });
}

}  // namespace

namespace initialisers {

Array zeros(Operand, Shape shape, CreateOptions options, Loc loc) {
  return tessera::zeros(std::move(shape), std::move(options), loc);
}
Array ones(Operand, Shape shape, CreateOptions options, Loc loc) {
  return tessera::ones(std::move(shape), std::move(options), loc);
}
Array constant(Operand, Shape shape, Operand value, CreateOptions options, Loc loc) {
  options.dtype = FloatOr(options.dtype);
  return full(std::move(shape), std::move(value), std::move(options), loc);
}
Array uniform(Operand key, Shape shape, double scale, CreateOptions options, Loc loc) {
  const Call call{"initialisers::uniform", loc};
  return AsOne(call, {{"key", key}, shape, scale, options}, [&](const Operand& bits) {
    const UniformOptions as{.dtype = options.dtype, .out_sharding = options.out_sharding};
    return Times(random::uniform(bits, shape, as, loc), scale, call);
  });
}
Array normal(Operand key, Shape shape, double stddev, CreateOptions options, Loc loc) {
  const Call call{"initialisers::normal", loc};
  return AsOne(call, {{"key", key}, shape, stddev, options}, [&](const Operand& bits) {
    return Times(random::normal(bits, shape, options, loc), stddev, call);
  });
}
Array truncated_normal(Operand key, Shape shape, double stddev, TruncatedOptions options, Loc loc) {
  const Call call{"initialisers::truncated_normal", loc};
  return AsOne(call, {{"key", key}, shape, stddev, options}, [&](const Operand& bits) {
    const CreateOptions as{.dtype = options.dtype, .out_sharding = options.out_sharding};
    return Times(random::truncated_normal(bits, options.lower, options.upper, shape, as, loc),
                 stddev, call);
  });
}

Array variance_scaling(Operand key, Shape shape, double scale, FanMode mode,
                       FanDistribution distribution, FanOptions options, Loc loc) {
  const Call call{kVarianceScaling, loc};
  if (!(scale >= 0)) FailShape(call, 17, fmt::format("the scale {} is not a variance", scale));
  return OfFans(call.name, key, shape, scale, mode, distribution, std::move(options), loc);
}
Array glorot_uniform(Operand key, Shape shape, FanOptions options, Loc loc) {
  return OfFans("initialisers::glorot_uniform", key, shape, 1, FanMode::kAverage,
                FanDistribution::kUniform, std::move(options), loc);
}
Array glorot_normal(Operand key, Shape shape, FanOptions options, Loc loc) {
  return OfFans("initialisers::glorot_normal", key, shape, 1, FanMode::kAverage,
                FanDistribution::kTruncatedNormal, std::move(options), loc);
}
Array lecun_uniform(Operand key, Shape shape, FanOptions options, Loc loc) {
  return OfFans("initialisers::lecun_uniform", key, shape, 1, FanMode::kIn,
                FanDistribution::kUniform, std::move(options), loc);
}
Array lecun_normal(Operand key, Shape shape, FanOptions options, Loc loc) {
  return OfFans("initialisers::lecun_normal", key, shape, 1, FanMode::kIn,
                FanDistribution::kTruncatedNormal, std::move(options), loc);
}
Array he_uniform(Operand key, Shape shape, FanOptions options, Loc loc) {
  return OfFans("initialisers::he_uniform", key, shape, 2, FanMode::kIn, FanDistribution::kUniform,
                std::move(options), loc);
}
Array he_normal(Operand key, Shape shape, FanOptions options, Loc loc) {
  return OfFans("initialisers::he_normal", key, shape, 2, FanMode::kIn,
                FanDistribution::kTruncatedNormal, std::move(options), loc);
}

namespace {
Array Orthogonal(const Operand& key, const base::Shape& shape,
                 const OrthogonalMatrixOptions& options, Call call) {
  const Loc loc = call.loc;
  const auto rank = static_cast<int64_t>(shape.size());
  if (rank < 2) FailShape(call, 17, fmt::format("a matrix has rank 2 or more, not {}", rank));
  const int64_t dim = NormalDim(options.column_dim, rank, call);
  const DType t = FloatOr(options.dtype);
  const int64_t all = base::Elements(shape), columns = base::At(shape, dim);
  if (all == 0) return tessera::zeros(shape, {.dtype = t}, loc);
  base::Shape rows = shape;
  rows.erase(rows.begin() + dim);
  rows.push_back(columns);
  const Array q = random::orthogonal(key, all / columns, {}, {.dtype = t, .m = columns}, loc);
  return Times(moveaxis(Reshape(q, rows, call), -1, static_cast<int>(dim), loc), options.scale,
               call);
}
Array Laid(const Array& x, const std::optional<PartitionSpec>& out, Loc loc) {
  return out ? reshard(x, *out, loc) : x;
}
}  // namespace

Array orthogonal(Operand key, Shape shape, OrthogonalMatrixOptions options, Loc loc) {
  const Call call{"initialisers::orthogonal", loc};
  return AsOne(call, {{"key", key}, shape, options}, [&](const Operand& bits) {
    return Laid(Orthogonal(bits, shape.dims(), options, call), options.out_sharding, loc);
  });
}

Array delta_orthogonal(Operand key, Shape shape, OrthogonalMatrixOptions options, Loc loc) {
  const Call call{"initialisers::delta_orthogonal", loc};
  const base::Shape& whole = shape.dims();
  if (whole.size() < 3 || whole.size() > 5)
    FailShape(call, 17, fmt::format("a kernel has rank 3, 4 or 5, not {}", whole.size()));
  const base::Shape last(whole.end() - 2, whole.end());
  if (last[1] < last[0])
    FailShape(call, 18, fmt::format("{} outputs are fewer than {} inputs", last[1], last[0]));
  return AsOne(call, {{"key", key}, shape, options}, [&](const Operand& bits) {
    Array made = Orthogonal(bits, last, options, call);
    std::vector<Padding> around(whole.size());
    base::Shape centre(whole.size(), 1);
    for (size_t d = 0; d + 2 < whole.size(); ++d) {
      around[d].low = (whole[d] - 1) / 2;
      around[d].high = whole[d] - 1 - around[d].low;
    }
    std::copy(last.begin(), last.end(), centre.end() - 2);
    made =
        pad(Reshape(made, centre, call), around, StrongScalar(0, TypeOf(made)->dtype(), call), loc);
    return Laid(made, options.out_sharding, loc);
  });
}

}  // namespace initialisers
}  // namespace tessera
