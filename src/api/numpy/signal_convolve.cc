// Convolutions of arrays of any rank: directly, and by Fourier transforms.
#include <fmt/format.h>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "base/at.h"
#include "tessera/convolution.h"
#include "tessera/fft.h"
#include "tessera/signal.h"

namespace tessera::signals {

using namespace api;

static std::string Code(ConvolveMethod v) {
  return v == ConvolveMethod::kFft ? "signals::ConvolveMethod::kFft"
                                   : "signals::ConvolveMethod::kDirect";
}
static std::string Code(const ConvolveOptions& v) {
  return OptionFields()
      .Add("mode", v.mode, ConvolveMode::kFull)
      .Add("method", v.method, ConvolveMethod::kDirect)
      .Add(v.out_sharding)
      .code();
}
static std::string Code(const Convolve2dOptions& v) {
  return OptionFields().Add("mode", v.mode, ConvolveMode::kFull).Add(v.out_sharding).code();
}
static std::string Code(const FftConvolveOptions& v) {
  OptionFields fields;
  fields.Add("mode", v.mode, ConvolveMode::kFull);
  if (!v.dims.all()) fields.Add("dims", std::optional(v.dims));
  return fields.code();
}

namespace {

[[noreturn]] void FailSizes(const base::Shape& a, const base::Shape& v, Call call) {
  FailShape(call, 18,
            fmt::format("one array is no larger than the other in every dim, not {} and {}",
                        ir::FieldText(a), ir::FieldText(v)));
}

void CheckRanks(const std::vector<Array>& xs, Call call) {
  if (Rank(xs[0]) != Rank(xs[1]))
    FailShape(call, 17,
              fmt::format("both arrays have one rank, not {} and {}", Rank(xs[0]), Rank(xs[1])));
}

// Returns whether v is larger than a. C18: one of the two is no larger in any dim.
bool IsSecondLarger(const base::Shape& a, const base::Shape& v, Call call) {
  bool is_first = true, is_second = true;
  for (size_t d = 0; d < a.size(); ++d) {
    is_first = is_first && a[d] >= v[d];
    is_second = is_second && a[d] <= v[d];
  }
  if (!is_first && !is_second) FailSizes(a, v, call);
  return !is_first;
}

// Returns `size` elements of each of the dims, from `first` on.
Array Part(const Array& x, const std::vector<int64_t>& first, const base::Shape& size, Call call) {
  base::Shape limits = size;
  for (size_t d = 0; d < size.size(); ++d) limits[d] += first[d];
  return slice(x, first, limits, {}, call.loc);
}

// Returns x as an array [1, 1, ...].
Array AsImage(const Array& x, Call call) {
  base::Shape shape = ShapeOf(x);
  shape.insert(shape.begin(), 2, 1);
  return Reshape(x, shape, call);
}

struct Direct {
  ConvolveMode mode;
  const std::optional<PartitionSpec>& out_sharding;
};

// The middle of the size of a begins (m - 1) / 2 elements after the beginning of all sums, where v
// has m.
Array Convolved(std::vector<Array> xs, const Direct& how, Call call) {
  CheckRanks(xs, call);
  for (const Array& x : xs)
    if (TypeOf(x)->elements() == 0)
      FailShape(call, 17,
                fmt::format("an array of shape {} has no elements", ir::FieldText(ShapeOf(x))));
  const base::Shape size = ShapeOf(xs[0]), other = ShapeOf(xs[1]);
  if (IsSecondLarger(size, other, call)) std::swap(xs[0], xs[1]);
  const base::Shape& kernel = ShapeOf(xs[1]);
  const bool is_part = how.mode == ConvolveMode::kSame && kernel == size && size != other;
  std::vector<std::pair<int64_t, int64_t>> edges;
  base::Shape first;
  for (size_t d = 0; d < kernel.size(); ++d) {
    const int64_t all = kernel[d] - 1, middle = (other[d] - 1) / 2;
    first.push_back(middle);
    if (how.mode == ConvolveMode::kSame && !is_part)
      edges.emplace_back(all - middle, middle);
    else
      edges.emplace_back(how.mode == ConvolveMode::kValid ? std::pair<int64_t, int64_t>{0, 0}
                                                          : std::pair{all, all});
  }
  DotOptions options;
  if (how.out_sharding && !is_part) {
    std::vector<DimSharding> dims = how.out_sharding->dims();
    dims.insert(dims.begin(), 2, DimSharding());
    options.out_sharding = PartitionSpec(dims);
  }
  const Array image = AsImage(xs[0], call);
  const Array reversed = AsImage(flip(xs[1], All, call.loc), call);
  const Array made = conv(image, reversed, std::vector<int64_t>(kernel.size(), 1),
                          WindowPadding(edges), options, call.loc);
  base::Shape shape(ShapeOf(made).begin() + 2, ShapeOf(made).end());
  const Array sums = Reshape(made, shape, call);
  if (!is_part) return sums;
  const Array part = Part(sums, first, size, call);
  return how.out_sharding ? reshard(part, *how.out_sharding, call.loc) : part;
}

Array ByFft(std::vector<Array> xs, ConvolveMode mode, const Dims& given, Call call) {
  CheckRanks(xs, call);
  const std::vector<int64_t> dims = NormalDims(given, Rank(xs[0]), call);
  base::Shape a, v;
  for (int64_t d : dims) {
    a.push_back(base::At(ShapeOf(xs[0]), d));
    v.push_back(base::At(ShapeOf(xs[1]), d));
  }
  base::Shape others = ShapeOf(xs[0]);
  for (size_t i = 0; i < dims.size(); ++i) base::At(others, dims[i]) = v[i];
  if (others != ShapeOf(xs[1]))
    FailShape(call, 18,
              fmt::format("the shapes {} and {} differ in dims that are not convolved",
                          ir::FieldText(ShapeOf(xs[0])), ir::FieldText(ShapeOf(xs[1]))));
  if (mode == ConvolveMode::kValid && IsSecondLarger(a, v, call)) std::swap(a, v);
  base::Shape all, first(ShapeOf(xs[0]).size(), 0), size = others;
  bool is_product = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    all.push_back(a[i] + v[i] - 1);
    is_product = is_product && (a[i] == 1 || v[i] == 1);
    base::At(size, dims[i]) = mode == ConvolveMode::kFull   ? all[i]
                              : mode == ConvolveMode::kSame ? a[i]
                                                            : a[i] - v[i] + 1;
    base::At(first, dims[i]) = (all[i] - base::At(size, dims[i])) / 2;
  }
  const Loc loc = call.loc;
  if (is_product) return Part(mul(xs[0], xs[1], {}, loc), first, size, call);
  const bool is_complex = TypeOf(xs[0])->dtype().is_complex();
  const fft::FftnOptions options{.sizes = all, .dims = dims};
  const auto transform = is_complex ? fft::fftn : fft::rfftn;
  const Array product =
      mul(transform(xs[0], options, loc), transform(xs[1], options, loc), {}, loc);
  return Part(is_complex ? fft::ifftn(product, options, loc) : fft::irfftn(product, options, loc),
              first, size, call);
}

Array Convolved(std::vector<Array> xs, const ConvolveOptions& options, Call call) {
  if (options.method == ConvolveMethod::kDirect)
    return Convolved(std::move(xs), {options.mode, options.out_sharding}, call);
  if (options.out_sharding) FailShape(call, 17, "by Fourier transforms it has no .out_sharding");
  return ByFft(std::move(xs), options.mode, All, call);
}

void CheckMatrices(const std::vector<Array>& xs, Call call) {
  for (const Array& x : xs)
    if (Rank(x) != 2) FailShape(call, 17, fmt::format("it takes matrices, not rank {}", Rank(x)));
}

}  // namespace

Array convolve(Operand a, Operand v, ConvolveOptions options, Loc loc) {
  const Call call{"convolve", loc};
  return AsOne(call, {{"a", a}, {"v", v}, options}, [&](const Operand& x, const Operand& y) {
    return Convolved(PromoteFloat({x, y}, call), options, call);
  });
}

Array correlate(Operand a, Operand v, ConvolveOptions options, Loc loc) {
  const Call call{"correlate", loc};
  return AsOne(call, {{"a", a}, {"v", v}, options}, [&](const Operand& x, const Operand& y) {
    std::vector<Array> xs = PromoteFloat({x, y}, call);
    xs[1] = flip(conj(xs[1], loc), All, loc);
    return Convolved(std::move(xs), options, call);
  });
}

Array convolve2d(Operand a, Operand v, Convolve2dOptions options, Loc loc) {
  const Call call{"convolve2d", loc};
  return AsOne(call, {{"a", a}, {"v", v}, options}, [&](const Operand& x, const Operand& y) {
    std::vector<Array> xs = PromoteFloat({x, y}, call);
    CheckMatrices(xs, call);
    return Convolved(std::move(xs), {options.mode, options.out_sharding}, call);
  });
}

// As in SciPy, the middle is counted from the end where a convolution does not begin, and the valid
// part is conjugated if v is the larger one.
Array correlate2d(Operand a, Operand v, Convolve2dOptions options, Loc loc) {
  const Call call{"correlate2d", loc};
  return AsOne(call, {{"a", a}, {"v", v}, options}, [&](const Operand& x, const Operand& y) {
    std::vector<Array> xs = PromoteFloat({x, y}, call);
    CheckMatrices(xs, call);
    xs[1] = conj(xs[1], loc);
    const Direct how{options.mode, options.out_sharding};
    if (options.mode == ConvolveMode::kSame)
      return flip(Convolved({flip(xs[0], All, loc), xs[1]}, how, call), All, loc);
    const bool is_conjugated = options.mode == ConvolveMode::kValid &&
                               IsSecondLarger(ShapeOf(xs[0]), ShapeOf(xs[1]), call);
    const Array made = Convolved({xs[0], flip(xs[1], All, loc)}, how, call);
    return is_conjugated ? conj(made, loc) : made;
  });
}

Array fftconvolve(Operand a, Operand v, FftConvolveOptions options, Loc loc) {
  const Call call{"fftconvolve", loc};
  return AsOne(call, {{"a", a}, {"v", v}, options}, [&](const Operand& x, const Operand& y) {
    return ByFft(PromoteFloat({x, y}, call), options.mode, options.dims, call);
  });
}

}  // namespace tessera::signals
