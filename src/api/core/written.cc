// Writes numbers, shapes and options as C++ that can be pasted.
#include "api/core/written.h"

#include <fmt/format.h>

#include <cmath>

#include "api/core/option_fields.h"

namespace tessera::api {

std::string Code(double v) {
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v > 0 ? "INFINITY" : "-INFINITY";
  const std::string text = fmt::format("{}", v);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
std::string Code(std::string_view v) { return fmt::format("\"{}\"", v); }
std::string Code(const Scalar& v) {
  const std::complex<double> z = v.as_complex();
  if (v.kind() == Scalar::kComplex)
    return fmt::format("std::complex({}, {})", Code(z.real()), Code(z.imag()));
  if (v.kind() == Scalar::kFloat) return Code(v.as_double());
  return v.kind() == Scalar::kBool ? Code(v.as_int() != 0) : Code(v.as_int());
}
std::string Code(LookupMode v) {
  return v == LookupMode::kFill   ? "LookupMode::kFill"
         : v == LookupMode::kClip ? "LookupMode::kClip"
                                  : "LookupMode::kPromise";
}
std::string Code(DType v) { return v.is_bool() ? "bool_" : v.name(); }
std::string Code(const std::vector<int64_t>& v) {
  return fmt::format("{{{}}}", fmt::join(v, ", "));
}
std::string Code(const Shape& v) { return Code(v.dims()); }
std::string Code(const Dims& v) {
  if (v.all()) return "All";
  return v.dims().size() == 1 ? Code(v.dims()[0]) : Code(v.dims());
}
std::string Code(const std::pair<double, double>& v) {
  return fmt::format("{{{}, {}}}", Code(v.first), Code(v.second));
}
std::string Code(const std::vector<std::pair<double, double>>& v) {
  std::vector<std::string> parts;
  for (const std::pair<double, double>& p : v) parts.push_back(Code(p));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}
std::string Code(const std::vector<Padding>& v) {
  std::vector<std::string> parts;
  for (const Padding& p : v)
    parts.push_back(p.interior ? fmt::format("{{{}, {}, {}}}", p.low, p.high, p.interior)
                               : fmt::format("{{{}, {}}}", p.low, p.high));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string Code(const DotDims& v) {
  const std::vector<int64_t> none;
  std::string code = OptionFields()
                         .Add("lhs_contract", v.lhs_contract, none)
                         .Add("rhs_contract", v.rhs_contract, none)
                         .Add("lhs_batch", v.lhs_batch, none)
                         .Add("rhs_batch", v.rhs_batch, none)
                         .code();
  return code.empty() ? "DotDims{}" : "DotDims" + code;
}
std::string Code(const OutOptions& v) { return OptionFields().Add(v.out_sharding).code(); }
std::string Code(const CreateOptions& v) {
  return OptionFields().Add(v.dtype).Add(v.out_sharding).code();
}
std::string Code(const EyeOptions& v) {
  return OptionFields()
      .Add(v.dtype)
      .Add(v.out_sharding)
      .Add("columns", v.columns)
      .Add("diagonal", v.diagonal, int64_t{0})
      .code();
}
std::string Code(const LinspaceOptions& v) {
  return OptionFields().Add(v.dtype).Add(v.out_sharding).Add("endpoint", v.endpoint, true).code();
}
std::string Code(const LogspaceOptions& v) {
  return OptionFields()
      .Add(v.dtype)
      .Add("endpoint", v.endpoint, true)
      .Add("base", v.base, 10.0)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const MeshgridOptions& v) {
  return OptionFields()
      .Add("indexing", v.indexing, std::string_view("xy"))
      .Add("sparse", v.sparse, false)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const RoundOptions& v) {
  return OptionFields()
      .Add("away_from_zero", v.away_from_zero, false)
      .Add("decimals", v.decimals, 0)
      .code();
}
std::string Code(const NanToNumOptions& v) {
  return OptionFields()
      .Add("nan", v.nan, 0.0)
      .Add("posinf", v.posinf)
      .Add("neginf", v.neginf)
      .code();
}
std::string Code(const CloseOptions& v) {
  const CloseOptions usual;
  return OptionFields()
      .Add("rtol", v.rtol, usual.rtol)
      .Add("atol", v.atol, usual.atol)
      .Add("equal_nan", v.equal_nan, false)
      .code();
}
std::string Code(const EqualOptions& v) {
  return OptionFields().Add("equal_nan", v.equal_nan, false).code();
}
std::string Code(const GeluOptions& v) {
  return OptionFields().Add("approximate", v.approximate, true).code();
}
std::string Code(const ReduceOptions& v) {
  return OptionFields()
      .Add(v.dtype)
      .Add("keepdims", v.keepdims, false)
      .Add(v.out_sharding)
      .AddNamed("where", v.where)
      .AddNamed("initial", v.initial)
      .code();
}
std::string Code(const LogsumexpOptions& v) {
  return OptionFields()
      .Add(v.dtype)
      .Add("keepdims", v.keepdims, false)
      .Add(v.out_sharding)
      .AddNamed("where", v.where)
      .AddNamed("weights", v.weights)
      .code();
}
std::string Code(const VarOptions& v) {
  return OptionFields()
      .Add(v.dtype)
      .Add("keepdims", v.keepdims, false)
      .Add("ddof", v.ddof, 0.0)
      .Add(v.out_sharding)
      .AddNamed("where", v.where)
      .code();
}
std::string Code(const NormOrder& v) {
  return v.number() ? fmt::format("{}", *v.number()) : fmt::format("\"{}\"", v.name());
}
std::string Code(const NormOptions& v) {
  return OptionFields()
      .Add("ord", v.ord)
      .Add("keepdims", v.keepdims, false)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const AverageOptions& v) {
  return OptionFields()
      .AddNamed("weights", v.weights)
      .Add("keepdims", v.keepdims, false)
      .Add(v.out_sharding)
      .code();
}
std::string Code(QuantileMethod v) {
  switch (v) {
    case QuantileMethod::kLower:
      return "QuantileMethod::kLower";
    case QuantileMethod::kHigher:
      return "QuantileMethod::kHigher";
    case QuantileMethod::kNearest:
      return "QuantileMethod::kNearest";
    case QuantileMethod::kMidpoint:
      return "QuantileMethod::kMidpoint";
    case QuantileMethod::kInvertedCdf:
      return "QuantileMethod::kInvertedCdf";
    case QuantileMethod::kLinear:
      break;
  }
  return "QuantileMethod::kLinear";
}
std::string Code(const QuantileOptions& v) {
  return OptionFields()
      .Add("method", v.method, QuantileMethod::kLinear)
      .Add("keepdims", v.keepdims, false)
      .Add(v.out_sharding)
      .AddNamed("weights", v.weights)
      .code();
}
std::string Code(const MedianOptions& v) {
  return OptionFields().Add("keepdims", v.keepdims, false).Add(v.out_sharding).code();
}
std::string Code(const DiffOptions& v) {
  return OptionFields()
      .Add("n", v.n, int64_t{1})
      .AddNamed("prepend", v.prepend)
      .AddNamed("append", v.append)
      .code();
}
std::string Code(const DiagonalOptions& v) {
  return OptionFields()
      .Add("offset", v.offset, int64_t{0})
      .Add("dim1", v.dim1, 0)
      .Add("dim2", v.dim2, 1)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const TraceOptions& v) {
  return OptionFields()
      .Add(v.dtype)
      .Add("offset", v.offset, int64_t{0})
      .Add("dim1", v.dim1, 0)
      .Add("dim2", v.dim2, 1)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const DotOptions& v) {
  return OptionFields().Add(v.dtype).Add(v.out_sharding).code();
}
std::string Code(const SortOptions& v) {
  return OptionFields()
      .Add("descending", v.descending, false)
      .Add("stable", v.stable, true)
      .Add("num_keys", v.num_keys, 1)
      .Add(v.out_sharding)
      .code();
}
std::string Code(fft::Norm v) {
  return v == fft::Norm::kOrtho     ? "fft::Norm::kOrtho"
         : v == fft::Norm::kForward ? "fft::Norm::kForward"
                                    : "fft::Norm::kBackward";
}
std::string Code(const fft::FftOptions& v) {
  return OptionFields()
      .Add("n", v.n)
      .Add("dim", v.dim, int64_t{-1})
      .Add("norm", v.norm, fft::Norm::kBackward)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const fft::FftnOptions& v) {
  return OptionFields()
      .Add("sizes", v.sizes)
      .Add("dims", v.dims)
      .Add("norm", v.norm, fft::Norm::kBackward)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const OneHotOptions& v) {
  return OptionFields().Add(v.dtype).Add("dim", v.dim, -1).Add(v.out_sharding).code();
}
std::string Code(const LayerNormOptions& v) {
  return OptionFields().Add("epsilon", v.epsilon, LayerNormOptions().epsilon).code();
}

std::string Code(TakeMode v) {
  return v == TakeMode::kFill   ? "TakeMode::kFill"
         : v == TakeMode::kClip ? "TakeMode::kClip"
                                : "TakeMode::kWrap";
}
std::string Code(const TakeOptions& v) {
  return OptionFields()
      .Add("mode", v.mode, TakeMode::kFill)
      .Add("fill_value", v.fill_value)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const TakeAlongOptions& v) {
  return OptionFields()
      .Add("mode", v.mode)
      .Add("fill_value", v.fill_value)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const AtOptions& v) {
  return OptionFields()
      .Add("mode", v.mode)
      .Add("fill_value", v.fill_value)
      .Add("indices_are_sorted", v.indices_are_sorted, false)
      .Add("unique_indices", v.unique_indices, false)
      .Add(v.out_sharding)
      .code();
}

std::string Code(ConvolveMode v) {
  return v == ConvolveMode::kFull   ? "ConvolveMode::kFull"
         : v == ConvolveMode::kSame ? "ConvolveMode::kSame"
                                    : "ConvolveMode::kValid";
}
std::string Code(Reduction v) {
  static constexpr const char* kNames[] = {"kSum", "kMax", "kMin", "kProd", "kAnd", "kOr", "kXor"};
  return fmt::format("Reduction::{}", kNames[static_cast<size_t>(v)]);
}
std::string Code(const WindowPadding& v) {
  if (!v.rule().empty()) return Code(v.rule());
  std::vector<std::string> parts;
  for (const auto& [low, high] : v.edges()) parts.push_back(fmt::format("{{{}, {}}}", low, high));
  return fmt::format("{{{{{}}}}}", fmt::join(parts, ", "));
}
std::string Code(const WindowOptions& v) {
  const WindowOptions usual;
  return OptionFields()
      .Add("strides", v.strides, usual.strides)
      .Add("padding", v.padding, usual.padding)
      .Add("base_dilation", v.base_dilation, usual.base_dilation)
      .Add("window_dilation", v.window_dilation, usual.window_dilation)
      .code();
}
std::string Code(const PoolOptions& v) {
  const PoolOptions usual;
  return OptionFields()
      .Add("strides", v.strides, usual.strides)
      .Add("padding", v.padding, usual.padding)
      .code();
}
std::string Code(const AvgPoolOptions& v) {
  const AvgPoolOptions usual;
  return OptionFields()
      .Add("strides", v.strides, usual.strides)
      .Add("padding", v.padding, usual.padding)
      .Add("count_include_pad", v.count_include_pad, true)
      .code();
}
std::string Code(const ConvDims& v) {
  return fmt::format("{{{}, {}, {}}}", Code(v.lhs), Code(v.rhs), Code(v.out));
}
std::string Code(const ConvOptions& v) {
  const ConvOptions usual;
  return OptionFields()
      .Add("lhs_dilation", v.lhs_dilation, usual.lhs_dilation)
      .Add("rhs_dilation", v.rhs_dilation, usual.rhs_dilation)
      .Add("dims", v.dims, usual.dims)
      .Add("feature_group_count", v.feature_group_count, int64_t{1})
      .Add("batch_group_count", v.batch_group_count, int64_t{1})
      .Add(v.dtype)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const ConvTransposeOptions& v) {
  const ConvTransposeOptions usual;
  return OptionFields()
      .Add("rhs_dilation", v.rhs_dilation, usual.rhs_dilation)
      .Add("dims", v.dims, usual.dims)
      .Add("transpose_kernel", v.transpose_kernel, false)
      .Add(v.dtype)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const linalg::CholeskyOptions& v) {
  return OptionFields()
      .Add("upper", v.upper, false)
      .Add("symmetrize_input", v.symmetrize_input, true)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const linalg::TriangularSolveOptions& v) {
  return OptionFields()
      .Add("left_side", v.left_side, false)
      .Add("lower", v.lower, false)
      .Add("transpose_a", v.transpose_a, false)
      .Add("conjugate_a", v.conjugate_a, false)
      .Add("unit_diagonal", v.unit_diagonal, false)
      .Add(v.out_sharding)
      .code();
}
std::string Code(const linalg::LuOptions& v) { return OptionFields().Add(v.out_sharding).code(); }
std::string Code(const linalg::SolveOptions& v) {
  return OptionFields().Add(v.out_sharding).code();
}
std::string Code(const linalg::QrOptions& v) {
  return OptionFields().Add("full_matrices", v.full_matrices, false).Add(v.out_sharding).code();
}

namespace {
std::string CodeOf(const Slice::End& end) {
  return end.value ? std::to_string(*end.value) : "None";
}
}  // namespace

std::string Code(const std::vector<Index>& index, size_t arrays) {
  std::vector<std::string> parts;
  size_t k = 0;
  for (const Index& i : index) {
    const Slice& s = i.slice();
    if (i.kind() == Index::kInteger)
      parts.push_back(std::to_string(i.integer()));
    else if (i.kind() == Index::kNew)
      parts.emplace_back("None");
    else if (i.kind() == Index::kEllipsis)
      parts.emplace_back("Ellipsis");
    else if (i.kind() == Index::kArray)
      parts.push_back(arrays == 1 ? "indices" : fmt::format("indices[{}]", k++));
    else if (!s.begin.value && !s.end.value && s.step == 1)
      parts.emplace_back("All");
    else
      parts.push_back(fmt::format("Slice({}, {}{})", CodeOf(s.begin), CodeOf(s.end),
                                  s.step == 1 ? "" : fmt::format(", {}", s.step)));
  }
  return parts.size() == 1 ? parts[0] : fmt::format("{{{}}}", fmt::join(parts, ", "));
}

}  // namespace tessera::api
