// Convolutions: dims by letters, paddings by rules.
#include "tessera/convolution.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/array/windows.h"
#include "api/core/edits.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/params.h"
#include "ops/product_dtype.h"

namespace tessera {

using namespace api;

namespace {

// The numbers of the dims: the two that are not spatial, then the spatial ones in rhs's order.
struct DimNumbers {
  std::vector<int64_t> lhs, rhs, out;
  size_t spatial() const { return rhs.size() - 2; }
};

// Returns the dims of lhs, rhs and result for a number of spatial dims, with the features at the
// end or after the batch.
ConvDims DefaultDims(size_t rank, bool features_last) {
  if (rank < 2) return {};
  std::string spatial = "HWD";
  for (char c = 'a'; spatial.size() < rank - 2; ++c) spatial.push_back(c);
  spatial.resize(rank - 2);
  if (!features_last) return {"NC" + spatial, "OI" + spatial, "NC" + spatial};
  return {"N" + spatial + "C", spatial + "IO", "N" + spatial + "C"};
}

// C17: the letters must name each dim once, and be the same letters in all three.
DimNumbers NumbersOf(ConvDims dims, bool features_last, const Array& lhs, const Array& rhs,
                     Call call) {
  const size_t rank = ShapeOf(rhs).size();
  if (dims == ConvDims{}) dims = DefaultDims(rank, features_last);
  const auto numbers = [&](const std::string& letters, const char* what, char first, char second,
                           size_t wants) {
    if (letters.size() != wants || wants < 2)
      FailShape(call, 17,
                fmt::format("the dims of {}, \"{}\", are {}, but the array has {}", what, letters,
                            letters.size(), wants));
    std::vector<int64_t> list;
    const auto add = [&](char letter) {
      if (absl::c_count(letters, letter) != 1)
        FailShape(
            call, 17,
            fmt::format("the dims of {}, \"{}\", do not name {} once", what, letters, letter));
      list.push_back(static_cast<int64_t>(letters.find(letter)));
    };
    add(first);
    add(second);
    for (char c : dims.rhs)
      if (c != 'O' && c != 'I') add(c);
    return list;
  };
  return {numbers(dims.lhs, "lhs", 'N', 'C', ShapeOf(lhs).size()),
          numbers(dims.rhs, "rhs", 'O', 'I', rank),
          numbers(dims.out, "the result", 'N', 'C', rank)};
}

std::vector<int64_t> SizesAt(const base::Shape& shape, const std::vector<int64_t>& dims) {
  std::vector<int64_t> sizes;
  for (size_t i = 2; i < dims.size(); ++i) sizes.push_back(base::At(shape, dims[i]));
  return sizes;
}

struct Sides {
  Array lhs, rhs;
};
// Returns the operands in one dtype, unless the dtype of the result is given.
Sides SidesOf(const Operand& lhs, const Operand& rhs, DType dtype, Call call) {
  if (!dtype.is_default()) return {ToArray(lhs, call), ToArray(rhs, call)};
  const DType t = PromotedDType({lhs, rhs}, call);
  return {Convert(ToArray(lhs, call), t, call), Convert(ToArray(rhs, call), t, call)};
}

// The windows of a convolution along its spatial dims.
std::vector<ops::DimWindow> WindowsOf(const Sides& sides, const DimNumbers& n,
                                      const std::vector<int64_t>& strides,
                                      const std::vector<int64_t>& lhs_dilation,
                                      const std::vector<int64_t>& rhs_dilation, Call call) {
  const size_t spatial = n.spatial();
  if (strides.size() != spatial)
    FailShape(call, 17,
              fmt::format("the strides have {} entries, but there are {} spatial dims",
                          strides.size(), spatial));
  const std::vector<int64_t> base = OnesOr(lhs_dilation, spatial, "lhs dilations", call),
                             dilation = OnesOr(rhs_dilation, spatial, "rhs dilations", call),
                             sizes = SizesAt(ShapeOf(sides.rhs), n.rhs);
  std::vector<ops::DimWindow> windows;
  for (size_t i = 0; i < spatial; ++i)
    windows.push_back({.size = sizes[i],
                       .stride = strides[i],
                       .base_dilation = base[i],
                       .window_dilation = dilation[i]});
  return windows;
}

struct Groups {
  int64_t features = 1, batch = 1;
};

// C21: groups must be positive, and not of both kinds. C23: products of complex numbers are
// complex.
Array Convolved(const Sides& sides, const DimNumbers& n, const std::vector<ops::DimWindow>& windows,
                Groups groups, DType dtype, const std::optional<PartitionSpec>& out, Call call) {
  if (std::min(groups.features, groups.batch) < 1 || (groups.features > 1 && groups.batch > 1))
    FailShape(call, 21,
              fmt::format("there are {} groups of features and {} of the batch: both must be at "
                          "least 1, and one of them 1",
                          groups.features, groups.batch));
  ops::ConvolutionParams p{.lhs = n.lhs,
                           .rhs = n.rhs,
                           .out = n.out,
                           .strides = {},
                           .low = {},
                           .high = {},
                           .lhs_dilation = {},
                           .rhs_dilation = {},
                           .groups = std::max(groups.features, groups.batch),
                           .lhs_groups = groups.batch > 1 ? 0 : 1};
  for (const ops::DimWindow& w : windows) {
    p.strides.push_back(w.stride);
    p.low.push_back(w.low);
    p.high.push_back(w.high);
    p.lhs_dilation.push_back(w.base_dilation);
    p.rhs_dilation.push_back(w.window_dilation);
  }
  const ShapeAndDType wanted{{}, base::PartOf(dtype)};
  const ir::ParamsPtr params = ir::MakeParams(std::move(p));
  const auto of = [&](const Array& lhs, const Array& rhs) {
    return Run(ops::kConvGeneralDilated, params, {lhs, rhs}, call,
               {.wanted = dtype.is_default() ? nullptr : &wanted,
                .out_sharding = out,
                .rank = static_cast<int>(n.out.size())});
  };
  const DType t = ops::ProductOf(TypeOf(sides.lhs)->dtype(), TypeOf(sides.rhs)->dtype());
  if (!t.is_complex()) {
    const Array made = of(sides.lhs, sides.rhs);
    return dtype.is_complex() ? Convert(made, dtype, call) : made;
  }
  if (!dtype.is_default() && !dtype.is_complex())
    FailDType(call, 23,
              fmt::format("products of {} cannot be summed in {}", t.name(), dtype.name()));
  // (a + b i) (c + d i), by convolutions of the parts.
  const Loc loc = call.loc;
  const Array a = real(sides.lhs, loc), b = imag(sides.lhs, loc);
  const Array c = real(sides.rhs, loc), d = imag(sides.rhs, loc);
  return complex(sub(of(a, c), of(b, d), {}, loc), add(of(a, d), of(b, c), {}, loc), {}, loc);
}

Array Convolved(const Operand& lhs, const Operand& rhs, const std::vector<int64_t>& strides,
                const WindowPadding& padding, const ConvOptions& options, Call call) {
  const Sides sides = SidesOf(lhs, rhs, options.dtype, call);
  const DimNumbers n = NumbersOf(options.dims, /*features_last=*/false, sides.lhs, sides.rhs, call);
  std::vector<ops::DimWindow> windows =
      WindowsOf(sides, n, strides, options.lhs_dilation, options.rhs_dilation, call);
  const bool is_dilated =
      absl::c_any_of(windows, [](const auto& w) { return w.base_dilation > 1; });
  if (is_dilated && padding.rule().starts_with("SAME"))
    FailShape(
        call, 17,
        fmt::format("the padding \"{}\" is not defined for a dilated lhs: give edges, or call "
                    "conv_transpose",
                    padding.rule()));
  SetPadding(padding, SizesAt(ShapeOf(sides.lhs), n.lhs), windows, call);
  return Convolved(sides, n, windows, {options.feature_group_count, options.batch_group_count},
                   options.dtype, options.out_sharding, call);
}

// Sets the padding of a transposed convolution, given the rule of the forward one.
void SetTransposedPadding(std::string_view rule, std::vector<ops::DimWindow>& windows) {
  for (ops::DimWindow& w : windows) {
    const int64_t reach = w.reach(), stride = w.base_dilation;
    const bool same = rule == "SAME";
    const int64_t all = reach + stride - 2 + (same ? 0 : std::max<int64_t>(reach - stride, 0));
    w.low = same && stride <= reach - 1 ? (all + 1) / 2 : reach - 1;
    w.high = all - w.low;
  }
}

Array Transposed(const Operand& lhs, const Operand& rhs, const std::vector<int64_t>& strides,
                 const WindowPadding& padding, const ConvTransposeOptions& options, Call call) {
  Sides sides = SidesOf(lhs, rhs, options.dtype, call);
  DimNumbers n = NumbersOf(options.dims, /*features_last=*/true, sides.lhs, sides.rhs, call);
  const std::vector<int64_t> ones(n.spatial(), 1);
  if (strides.size() != n.spatial())
    FailShape(call, 17,
              fmt::format("the strides have {} entries, but there are {} spatial dims",
                          strides.size(), n.spatial()));
  std::vector<ops::DimWindow> windows =
      WindowsOf(sides, n, ones, strides, options.rhs_dilation, call);
  const std::string_view rule = padding.rule();
  if (rule == "SAME" || rule == "VALID")
    SetTransposedPadding(rule, windows);
  else
    SetPadding(padding, SizesAt(ShapeOf(sides.lhs), n.lhs), windows, call);
  if (options.transpose_kernel) {
    const std::vector<int64_t> spatial(n.rhs.begin() + 2, n.rhs.end());
    sides.rhs = rev(sides.rhs, Dims(spatial), call.loc);
    std::swap(n.rhs[0], n.rhs[1]);
  }
  return Convolved(sides, n, windows, {}, options.dtype, options.out_sharding, call);
}

// Returns a kernel whose output feature w of each group is element w of the window.
Array Patches(const Operand& operand, const std::vector<int64_t>& window,
              const std::vector<int64_t>& strides, const WindowPadding& padding,
              ConvOptions options, Call call) {
  const Array lhs = ToArray(operand, call);
  if (ShapeOf(lhs).size() != window.size() + 2)
    FailShape(call, 17,
              fmt::format("the window has {} entries, which takes an array of rank {}, not {}",
                          window.size(), window.size() + 2, Rank(lhs)));
  CheckShape(window, call);
  const int64_t elements = base::Elements(window);
  if (options.dims == ConvDims{}) options.dims = DefaultDims(window.size() + 2, false);
  const size_t feature = options.dims.lhs.find('C');
  const int64_t features = feature < ShapeOf(lhs).size() ? ShapeOf(lhs)[feature] : 1;
  const DType t = TypeOf(lhs)->dtype();
  const Array identity = eye(elements, {.dtype = t}, call.loc);
  base::Shape shape{features * elements, 1};
  shape.insert(shape.end(), window.begin(), window.end());
  Array kernel = Reshape(BroadcastTo(identity, {features, elements, elements}, call), shape, call);
  // The kernel's dims are O, I and the spatial ones in their order.
  std::vector<int64_t> perm;
  int64_t next = 2;
  for (char c : options.dims.rhs) perm.push_back(c == 'O' ? 0 : c == 'I' ? 1 : next++);
  if (perm.size() == shape.size()) kernel = transpose(kernel, Dims(perm), call.loc);
  options.feature_group_count = features;
  return Convolved(Operand(lhs, call.loc), Operand(kernel, call.loc), strides, padding, options,
                   call);
}

}  // namespace

Array conv_general_dilated(Operand lhs, Operand rhs, std::vector<int64_t> window_strides,
                           WindowPadding padding, ConvOptions options, Loc loc) {
  const Call call{"conv_general_dilated", loc};
  return AsOne(call, {lhs, rhs, window_strides, padding, options},
               [&](const Operand& a, const Operand& b) {
                 return Convolved(a, b, window_strides, padding, options, call);
               });
}

Array conv(Operand lhs, Operand rhs, std::vector<int64_t> window_strides, WindowPadding padding,
           DotOptions options, Loc loc) {
  const Call call{"conv", loc};
  return AsOne(
      call, {lhs, rhs, window_strides, padding, options}, [&](const Operand& a, const Operand& b) {
        return Convolved(a, b, window_strides, padding,
                         {.dtype = options.dtype, .out_sharding = options.out_sharding}, call);
      });
}

Array conv_with_general_padding(Operand lhs, Operand rhs, std::vector<int64_t> window_strides,
                                WindowPadding padding, std::vector<int64_t> lhs_dilation,
                                std::vector<int64_t> rhs_dilation, DotOptions options, Loc loc) {
  const Call call{"conv_with_general_padding", loc};
  return AsOne(call, {lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, options},
               [&](const Operand& a, const Operand& b) {
                 return Convolved(a, b, window_strides, padding,
                                  {.lhs_dilation = lhs_dilation,
                                   .rhs_dilation = rhs_dilation,
                                   .dtype = options.dtype,
                                   .out_sharding = options.out_sharding},
                                  call);
               });
}

Array conv_transpose(Operand lhs, Operand rhs, std::vector<int64_t> strides, WindowPadding padding,
                     ConvTransposeOptions options, Loc loc) {
  const Call call{"conv_transpose", loc};
  return AsOne(call, {lhs, rhs, strides, padding, options},
               [&](const Operand& a, const Operand& b) {
                 return Transposed(a, b, strides, padding, options, call);
               });
}

Array conv_general_dilated_patches(Operand lhs, std::vector<int64_t> window,
                                   std::vector<int64_t> window_strides, WindowPadding padding,
                                   ConvOptions options, Loc loc) {
  const Call call{"conv_general_dilated_patches", loc};
  return AsOne(call, {lhs, window, window_strides, padding, options}, [&](const Operand& a) {
    return Patches(a, window, window_strides, padding, options, call);
  });
}

Array conv_general_dilated_local(Operand lhs, Operand rhs, std::vector<int64_t> window_strides,
                                 WindowPadding padding, std::vector<int64_t> window,
                                 ConvOptions options, Loc loc) {
  const Call call{"conv_general_dilated_local", loc};
  const Arguments arguments{{"lhs", lhs}, {"rhs", rhs}, window_strides, padding, window, options};
  if (options.feature_group_count != 1 || options.batch_group_count != 1)
    FailShape(call, 21, "a convolution with a kernel for each window has no groups");
  return AsOne(call, arguments, [&](const Operand& a, const Operand& b) {
    const Sides sides = SidesOf(a, b, options.dtype, call);
    ConvOptions how{.lhs_dilation = options.lhs_dilation,
                    .rhs_dilation = options.rhs_dilation,
                    .dims = options.dims};
    if (how.dims == ConvDims{}) how.dims = DefaultDims(window.size() + 2, false);
    const auto text = [](std::string letters, char from, char to) {
      std::replace(letters.begin(), letters.end(), from, to);
      return letters;
    };
    NumbersOf(how.dims, false, sides.lhs, sides.rhs, call);
    const Array patches =
        Patches(Operand(sides.lhs, loc), window, window_strides, padding, how, call);
    const std::string terms =
        how.dims.out + "," + text(how.dims.rhs, 'I', 'C') + "->" + text(how.dims.out, 'C', 'O');
    return einsum(terms, {patches, sides.rhs},
                  {.dtype = options.dtype, .out_sharding = options.out_sharding}, loc);
  });
}

}  // namespace tessera
