// The functions of fft.h.
#include "tessera/fft.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cmath>

#include "api/core/edits.h"
#include "api/core/option_fields.h"
#include "api/fft/pencils.h"
#include "base/at.h"
#include "base/dtype.h"
#include "ops/params.h"

namespace tessera::fft {

using namespace api;

namespace {

// Whether a transform goes to frequencies or back, and which side is real.
struct Form {
  const ir::OpDef* op;
  bool is_inverse = false;
  // The op of the last dim, if one side is real.
  const ir::OpDef* last = nullptr;
  const ir::OpDef& OpOf(bool is_last_dim) const { return is_last_dim && last ? *last : *op; }
};
const Form kForward{&ops::kFft}, kInverse{&ops::kIfft, true};
const Form kFromReal{&ops::kFft, false, &ops::kRfft}, kToReal{&ops::kIfft, true, &ops::kIrfft};

// Returns x in the dtype that transforms take. C14: rfft refuses complex numbers.
Array ToNumbers(const Operand& operand, const Form& form, Call call) {
  Array x = ToArray(operand, call);
  const DType t = TypeOf(x)->dtype();
  if (form.last == &ops::kRfft) {
    if (t.is_complex())
      FailDType(call, 14, fmt::format("it takes real numbers, not {}", t.name()),
                {"fft takes complex numbers"});
    x = ToFloat(x, call);
    return Convert(x, TypeOf(x)->dtype() == f64 ? f64 : f32, call);
  }
  if (t.is_complex()) return x;
  x = ToFloat(x, call);
  return Convert(x, base::ComplexOf(TypeOf(x)->dtype()), call);
}

double ScaleOf(const std::vector<FourierPass>& passes, bool is_inverse, Norm norm) {
  double n = 1;
  for (const FourierPass& pass : passes) n *= static_cast<double>(pass.n);
  if (norm == Norm::kBackward) return 1;
  const double scale = norm == Norm::kOrtho ? std::sqrt(n) : n;
  return is_inverse ? scale : 1 / scale;
}

// The passes of a call. C18: each needs at least one element.
std::vector<FourierPass> PassesOf(const Array& x, const Form& form,
                                  const std::vector<int64_t>& dims,
                                  const std::optional<std::vector<int64_t>>& sizes, Call call) {
  std::vector<FourierPass> passes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_last = i + 1 == dims.size();
    FourierPass pass{&form.OpOf(is_last), dims[i]};
    const int64_t own = base::At(ShapeOf(x), dims[i]);
    pass.n = sizes ? (*sizes)[i] : pass.op == &ops::kIrfft ? 2 * (own - 1) : own;
    if (pass.n < 1)
      FailShape(call, 18,
                fmt::format("a transform needs at least one element, but has {} along dim {}",
                            pass.n, dims[i]));
    pass.reads = pass.op == &ops::kIrfft ? pass.n / 2 + 1 : pass.n;
    pass.is_first = pass.op == &ops::kRfft;
    pass.is_last = pass.op == &ops::kIrfft;
    passes.push_back(pass);
  }
  return passes;
}

// Returns the transform of x, whose dims are counted from the front.
Array Transformed(const Array& x, const Form& form, const std::vector<int64_t>& dims,
                  const FftnOptions& options, Call call) {
  std::vector<FourierPass> passes = PassesOf(x, form, dims, options.sizes, call);
  const double scale = ScaleOf(passes, form.is_inverse, options.norm);
  const Array y = RunPasses(x, std::move(passes), options.out_sharding, call);
  return scale == 1 ? y : mul(y, ScalarLike(scale, TypeOf(y), call), {}, call.loc);
}

// C17: `sizes` and `dims` must have one entry for each dim, and no dim twice.
std::vector<int64_t> DimsOf(const Array& x, const FftnOptions& options, Call call) {
  const int64_t rank = Rank(x);
  if (options.sizes && options.dims && options.sizes->size() != options.dims->size())
    FailShape(
        call, 17,
        fmt::format("there are {} sizes for {} dims", options.sizes->size(), options.dims->size()));
  if (options.dims) return NormalDims(*options.dims, rank, call);
  const int64_t count = options.sizes ? static_cast<int64_t>(options.sizes->size()) : rank;
  if (count > rank)
    FailShape(call, 17, fmt::format("there are {} sizes for an array of rank {}", count, rank));
  std::vector<int64_t> dims;
  for (int64_t d = rank - count; d < rank; ++d) dims.push_back(d);
  return dims;
}

Array AlongDim(const char* name, const Form& form, const Operand& x, FftOptions options, Loc loc) {
  const Call call{name, loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    const Array a = ToNumbers(operand, form, call);
    FftnOptions all{.norm = options.norm, .out_sharding = options.out_sharding};
    if (options.n) all.sizes = {*options.n};
    return Transformed(a, form, {NormalDim(options.dim, Rank(a), call)}, all, call);
  });
}

// `count`: the number of dims, if the function fixes it (C19).
Array AlongDims(const char* name, const Form& form, const Operand& x, FftnOptions options, Loc loc,
                size_t count = 0) {
  const Call call{name, loc};
  if (count > 0 && !options.dims) options.dims = {-2, -1};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    const Array a = ToNumbers(operand, form, call);
    const std::vector<int64_t> dims = DimsOf(a, options, call);
    if (count > 0 && dims.size() != count)
      FailShape(call, 19, fmt::format("it transforms {} dims, not {}", count, dims.size()));
    if (dims.empty() && form.last) FailShape(call, 19, "it transforms at least one dim");
    return Transformed(a, form, dims, options, call);
  });
}

// The norm of the other direction.
Norm Opposite(Norm norm) {
  return norm == Norm::kOrtho ? norm : norm == Norm::kBackward ? Norm::kForward : Norm::kBackward;
}

Array Shifted(const char* name, const Operand& x, const Dims& dims, Loc loc, int64_t rounds_up) {
  const Call call{name, loc};
  return AsOne(call, {x, dims}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    for (int64_t d : NormalDims(dims, Rank(a), call))
      a = roll(a, (base::At(ShapeOf(a), d) + rounds_up) / 2, static_cast<int>(d), loc);
    return a;
  });
}

// C18: there must be a frequency, and samples must not be in one place.
void CheckSamples(int64_t n, const FftfreqOptions& options, Call call) {
  if (n < 1) FailShape(call, 18, fmt::format("there are no frequencies of {} elements", n));
  if (options.d == 0) FailShape(call, 18, "the distance between samples is 0");
}
// C14: frequencies are floats.
DType FrequencyDType(const FftfreqOptions& options, Call call) {
  const DType t = options.dtype == DType{} ? TypeOf(ToFloat(1.0, call))->dtype() : options.dtype;
  if (!t.is_floating())
    FailDType(call, 14, fmt::format("frequencies are floats, not {}", t.name()));
  return t;
}

}  // namespace

Array fft(Operand x, FftOptions options, Loc loc) {
  return AlongDim("fft", kForward, x, std::move(options), loc);
}
Array ifft(Operand x, FftOptions options, Loc loc) {
  return AlongDim("ifft", kInverse, x, std::move(options), loc);
}
Array rfft(Operand x, FftOptions options, Loc loc) {
  return AlongDim("rfft", kFromReal, x, std::move(options), loc);
}
Array irfft(Operand x, FftOptions options, Loc loc) {
  return AlongDim("irfft", kToReal, x, std::move(options), loc);
}
Array hfft(Operand x, FftOptions options, Loc loc) {
  const Call call{"hfft", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    // irfft divides where hfft does not.
    FftOptions inverse = options;
    inverse.norm = Opposite(options.norm);
    return irfft(conj(ToNumbers(operand, kToReal, call), loc), inverse, loc);
  });
}
Array ihfft(Operand x, FftOptions options, Loc loc) {
  const Call call{"ihfft", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    FftOptions forward = options;
    forward.norm = Opposite(options.norm);
    return conj(rfft(ToNumbers(operand, kFromReal, call), forward, loc), loc);
  });
}

Array fftn(Operand x, FftnOptions options, Loc loc) {
  return AlongDims("fftn", kForward, x, std::move(options), loc);
}
Array ifftn(Operand x, FftnOptions options, Loc loc) {
  return AlongDims("ifftn", kInverse, x, std::move(options), loc);
}
Array fft2(Operand x, FftnOptions options, Loc loc) {
  return AlongDims("fft2", kForward, x, std::move(options), loc, 2);
}
Array ifft2(Operand x, FftnOptions options, Loc loc) {
  return AlongDims("ifft2", kInverse, x, std::move(options), loc, 2);
}
Array rfftn(Operand x, FftnOptions options, Loc loc) {
  return AlongDims("rfftn", kFromReal, x, std::move(options), loc);
}
Array irfftn(Operand x, FftnOptions options, Loc loc) {
  return AlongDims("irfftn", kToReal, x, std::move(options), loc);
}
Array rfft2(Operand x, FftnOptions options, Loc loc) {
  return AlongDims("rfft2", kFromReal, x, std::move(options), loc, 2);
}
Array irfft2(Operand x, FftnOptions options, Loc loc) {
  return AlongDims("irfft2", kToReal, x, std::move(options), loc, 2);
}

Array fftshift(Operand x, Dims dims, Loc loc) { return Shifted("fftshift", x, dims, loc, 0); }
Array ifftshift(Operand x, Dims dims, Loc loc) { return Shifted("ifftshift", x, dims, loc, 1); }

static std::string Code(const FftfreqOptions& v) {
  return OptionFields().Add("d", v.d, 1.0).Add(v.dtype).code();
}

Array fftfreq(int64_t n, FftfreqOptions options, Loc loc) {
  const Call call{"fftfreq", loc};
  return AsOne(call, {n, options}, [&](const Operands&) {
    CheckSamples(n, options, call);
    const DType t = FrequencyDType(options, call);
    // 0, ..., (n - 1) / 2, -(n / 2), ..., -1.
    const Array k = sub(roll(arange(n, {}, loc), -(n / 2), 0, loc), n / 2, {}, loc);
    return div(astype(k, t, loc),
               ScalarLike(static_cast<double>(n) * options.d, TypeOf(astype(k, t, loc)), call), {},
               loc);
  });
}
Array rfftfreq(int64_t n, FftfreqOptions options, Loc loc) {
  const Call call{"rfftfreq", loc};
  return AsOne(call, {n, options}, [&](const Operands&) {
    CheckSamples(n, options, call);
    const DType t = FrequencyDType(options, call);
    const Array k = astype(arange(n / 2 + 1, {}, loc), t, loc);
    return div(k, ScalarLike(static_cast<double>(n) * options.d, TypeOf(k), call), {}, loc);
  });
}

}  // namespace tessera::fft
