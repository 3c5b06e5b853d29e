// Convolutions of every form and layout against a loop.
#include "kernels/convolution/convolution.h"

#include <thread>

#include "kernels/window/windowed_dims.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using test::Buffer;
using test::Call;
using test::Count;
using test::Near;
using test::Random;
using test::SameBits;

// Dims of a buffer by letters, outer first: n batch, g group, c in feature, k out feature, and 0,
// 1, 2 for the spatial dims.
struct Layouts {
  std::string lhs, rhs, out;
};

struct ConvolutionCase {
  int64_t batch, groups, in_features, out_features;
  std::vector<ConvolutionDim> dims;
  Layouts layouts;
};

ConvolutionDim SpatialDim(int64_t lhs, WindowDim window, int64_t high, bool reverse = false) {
  ConvolutionDim dim;
  dim.window = window, dim.lhs_size = lhs, dim.reverse = reverse;
  const int64_t padded = (lhs - 1) * window.base_dilation + 1 + window.low + high;
  const int64_t span = (window.size - 1) * window.window_dilation + 1;
  dim.out_size = padded < span ? 0 : (padded - span) / window.stride + 1;
  return dim;
}

enum class ConvolutionArray : uint8_t { kLhs, kRhs, kOut };

int64_t SizeOf(const ConvolutionCase& c, char letter, ConvolutionArray array) {
  switch (letter) {
    case 'n':
      return c.batch;
    case 'g':
      return c.groups;
    case 'c':
      return c.in_features;
    case 'k':
      return c.out_features;
    default:
      break;
  }
  const ConvolutionDim& dim = c.dims[static_cast<size_t>(letter - '0')];
  if (array == ConvolutionArray::kRhs) return dim.window.size;
  return array == ConvolutionArray::kLhs ? dim.lhs_size : dim.out_size;
}

ConvolutionDesc ConvolutionOf(const ConvolutionCase& c, DType in, DType out) {
  ConvolutionDesc desc;
  desc.lhs_dtype = desc.rhs_dtype = in, desc.out_dtype = out;
  desc.batch = c.batch, desc.groups = c.groups;
  desc.in_features = c.in_features, desc.out_features = c.out_features;
  desc.dims = c.dims;
  const auto strides = [&](const std::string& layout, ConvolutionArray array, char letter) {
    int64_t stride = 1;
    for (size_t k = layout.size(); k-- > 0; stride *= SizeOf(c, layout[k], array))
      if (layout[k] == letter) return stride;
    return stride;
  };
  desc.lhs = {strides(c.layouts.lhs, ConvolutionArray::kLhs, 'n'),
              strides(c.layouts.lhs, ConvolutionArray::kLhs, 'g'),
              strides(c.layouts.lhs, ConvolutionArray::kLhs, 'c')};
  desc.rhs = {strides(c.layouts.rhs, ConvolutionArray::kRhs, 'g'),
              strides(c.layouts.rhs, ConvolutionArray::kRhs, 'c'),
              strides(c.layouts.rhs, ConvolutionArray::kRhs, 'k')};
  desc.out = {strides(c.layouts.out, ConvolutionArray::kOut, 'n'),
              strides(c.layouts.out, ConvolutionArray::kOut, 'g'),
              strides(c.layouts.out, ConvolutionArray::kOut, 'k')};
  for (size_t d = 0; d < desc.dims.size(); ++d) {
    const char letter = static_cast<char>('0' + d);
    desc.dims[d].lhs_stride = strides(c.layouts.lhs, ConvolutionArray::kLhs, letter);
    desc.dims[d].rhs_stride = strides(c.layouts.rhs, ConvolutionArray::kRhs, letter);
    desc.dims[d].out_stride = strides(c.layouts.out, ConvolutionArray::kOut, letter);
  }
  return desc;
}

int64_t ElementsOf(const ConvolutionCase& c, const std::string& layout, ConvolutionArray array) {
  int64_t n = 1;
  for (const char letter : layout) n *= SizeOf(c, letter, array);
  return n;
}

// Returns the elements of the result in the order of the buffer.
std::vector<double> ConvolutionByLoop(const ConvolutionDesc& d, const Buffer& lhs,
                                      const Buffer& rhs, int64_t n) {
  std::vector<double> out(static_cast<size_t>(n));
  Shape result, window;
  for (const ConvolutionDim& dim : d.dims)
    result.push_back(dim.out_size), window.push_back(dim.window.size);
  for (int64_t o = 0; o < Count(result); ++o) {
    for (int64_t w = 0; w < Count(window); ++w) {
      int64_t l = 0, r = 0, at = 0, o_rest = o, w_rest = w;
      bool inside = true;
      for (size_t k = d.dims.size(); k-- > 0;) {
        const ConvolutionDim& dim = d.dims[k];
        const int64_t oi = o_rest % result[k], wi = w_rest % window[k];
        o_rest /= result[k], w_rest /= window[k];
        const int64_t i = WindowedDim{dim.lhs_size, dim.out_size, dim.window}.Index(oi, wi);
        inside = inside && i >= 0;
        l += i * dim.lhs_stride;
        r += (dim.reverse ? dim.window.size - 1 - wi : wi) * dim.rhs_stride;
        at += oi * dim.out_stride;
      }
      if (!inside) continue;
      for (int64_t g = 0; g < d.groups; ++g)
        for (int64_t b = 0; b < d.batch; ++b)
          for (int64_t k = 0; k < d.out_features; ++k)
            for (int64_t c = 0; c < d.in_features; ++c)
              out[static_cast<size_t>(at + g * d.out.group + b * d.out.batch +
                                      k * d.out.feature)] +=
                  lhs.At(l + g * d.lhs.group + b * d.lhs.batch + c * d.lhs.feature) *
                  rhs.At(r + g * d.rhs.group + c * d.rhs.in + k * d.rhs.out);
    }
  }
  return out;
}

const Layouts kNhwc = {"n01gc", "01cgk", "n01gk"}, kNchw = {"ngc01", "gkc01", "ngk01"};

WindowDim SpatialWindow(int64_t size, int64_t stride = 1, int64_t low = 0,
                        int64_t base_dilation = 1, int64_t window_dilation = 1) {
  return {size, stride, low, base_dilation, window_dilation};
}

// Both common layouts, and uncommon ones; every kind of padding and dilation; the forms of both
// gradients; groups of features and of batches; empty ones.
std::vector<ConvolutionCase> ConvolutionCases() {
  const auto square = [](int64_t n, WindowDim w, int64_t high, bool reverse = false) {
    return std::vector<ConvolutionDim>{SpatialDim(n, w, high, reverse),
                                       SpatialDim(n, w, high, reverse)};
  };
  std::vector<ConvolutionCase> cases;
  for (const Layouts& layouts : {kNhwc, kNchw}) {
    cases.push_back({5, 1, 3, 16, square(11, SpatialWindow(3, 2, 1), 1), layouts});
    cases.push_back({2, 1, 16, 32, square(9, SpatialWindow(3, 1, 1), 1), layouts});
    cases.push_back({2, 1, 16, 24, square(9, SpatialWindow(3, 1, 2, 1, 2), 2, true), layouts});
    cases.push_back({1, 1, 8, 70, square(6, SpatialWindow(3, 1, 1, 2), 2), layouts});
    cases.push_back({2, 1, 16, 8, square(5, SpatialWindow(4, 1, 2, 3), 1, true), layouts});
    cases.push_back({3, 4, 2, 3, square(7, SpatialWindow(3, 1, 1), 0), layouts});
    cases.push_back({2, 20, 1, 1, square(8, SpatialWindow(3, 2, 1), 1), layouts});
    cases.push_back({2, 3, 4, 2, square(4, SpatialWindow(3, 1, 1, 2), 1), layouts});
    cases.push_back({3, 1, 5, 7, square(9, SpatialWindow(2, 1, -2), -1), layouts});
    cases.push_back({3, 1, 5, 7, square(9, SpatialWindow(2, 3, -1), -2), layouts});
    cases.push_back({2, 1, 3, 4, square(5, SpatialWindow(3, 2, 4, 2, 2), 3), layouts});
    cases.push_back({2, 1, 3, 4, square(5, SpatialWindow(2, 1, -1, 2), 3), layouts});
    cases.push_back({2, 1, 3, 4, square(5, SpatialWindow(2, 1, 5, 2), -2), layouts});
    cases.push_back({2, 1, 3, 4, square(3, SpatialWindow(1, 1), 0), layouts});
    cases.push_back({1, 1, 4, 300, square(3, SpatialWindow(3, 1, 1), 1), layouts});
    cases.push_back({2, 1, 3, 4, square(2, SpatialWindow(5), 0), layouts});
    cases.push_back({0, 1, 3, 4, square(4, SpatialWindow(2), 0), layouts});
    cases.push_back({2, 1, 0, 4, square(4, SpatialWindow(2), 0), layouts});
    cases.push_back({2, 1, 3, 0, square(4, SpatialWindow(2), 0), layouts});
  }
  // Gradients of weights: batch and features are exchanged, and the window is large.
  const Layouts weights = {"c01gn", "c01gk", "01ngk"}, weights_nchw = {"cgn01", "cgk01", "gkn01"};
  for (const Layouts& layouts : {weights, weights_nchw}) {
    cases.push_back({16, 1, 5, 24, square(8, SpatialWindow(8, 1, 1), 1), layouts});
    cases.push_back({3, 1, 4, 16, square(13, SpatialWindow(6, 1, 1, 1, 2), 1), layouts});
    cases.push_back({6, 1, 4, 80, square(13, SpatialWindow(6, 2, 1, 1, 2), 1), layouts});
    cases.push_back({16, 1, 3, 16, square(12, SpatialWindow(5, 1, -1, 1, 2), -1), layouts});
    cases.push_back({2, 4, 3, 2, square(8, SpatialWindow(6, 1, 0), 0), layouts});
    cases.push_back({1, 16, 3, 1, square(8, SpatialWindow(8, 1, 1), 1), layouts});
  }
  // Groups of batches.
  cases.push_back({2, 3, 4, 5, square(6, SpatialWindow(3, 1, 1), 1), {"gn01c", "01cgk", "n01gk"}});
  cases.push_back({3, 2, 4, 16, square(6, SpatialWindow(3), 0), {"c01ng", "k01cg", "01gkn"}});
  // Other numbers of dims.
  cases.push_back({3, 1, 4, 5, {}, {"nc", "ck", "nk"}});
  cases.push_back({3, 2, 4, 5, {}, {"cgn", "kgc", "gnk"}});
  cases.push_back(
      {3, 1, 4, 16, {SpatialDim(30, SpatialWindow(5, 2, 3), 1)}, {"n0c", "0ck", "n0k"}});
  cases.push_back(
      {3, 1, 4, 16, {SpatialDim(30, SpatialWindow(5, 2, 3), 1)}, {"nc0", "kc0", "nk0"}});
  cases.push_back({2,
                   1,
                   3,
                   5,
                   {SpatialDim(5, SpatialWindow(2, 1, 1), 1), SpatialDim(6, SpatialWindow(3, 2), 0),
                    SpatialDim(4, SpatialWindow(2, 1), 1)},
                   {"n012c", "012ck", "n012k"}});
  cases.push_back({2,
                   1,
                   3,
                   5,
                   {SpatialDim(5, SpatialWindow(2, 1, 1, 2), 1),
                    SpatialDim(6, SpatialWindow(3, 1), 0), SpatialDim(4, SpatialWindow(2), 1)},
                   {"nc012", "kc012", "nk012"}});
  // Long dims run in pieces; longer ones and long windows without oneDNN.
  for (const Layouts& layouts : {Layouts{"nc0", "kc0", "nk0"}, Layouts{"n0c", "0ck", "n0k"}}) {
    cases.push_back({1, 1, 1, 1, {SpatialDim(9001, SpatialWindow(3, 1, 1), 1)}, layouts});
    cases.push_back({2, 1, 3, 2, {SpatialDim(9001, SpatialWindow(4, 2, 3, 1, 3), 2)}, layouts});
    cases.push_back({1, 1, 2, 3, {SpatialDim(4300, SpatialWindow(3, 1, -5), -7)}, layouts});
    cases.push_back({1, 1, 1, 1, {SpatialDim(70000, SpatialWindow(3, 1, 9000), 0)}, layouts});
    cases.push_back({1, 1, 1, 1, {SpatialDim(66000, SpatialWindow(65998), 0)}, layouts});
  }
  cases.push_back(
      {1,
       1,
       2,
       2,
       {SpatialDim(3, SpatialWindow(2), 0), SpatialDim(5000, SpatialWindow(3, 1, 1), 1)},
       {"nc01", "kc01", "nk01"}});
  return cases;
}

TEST(Convolution, MatchesALoop) {
  int number = 0;
  for (const ConvolutionCase& c : ConvolutionCases()) {
    SCOPED_TRACE("case " + std::to_string(number++));
    const struct {
      DType in, out;
    } dtypes[] = {{f32, f32}, {f64, f64}, {bf16, bf16}, {f16, f16}, {bf16, f32}, {f16, f32},
                  {f32, f64}, {i8, i8},   {i8, i32},    {u32, u32}, {i64, i64}};
    for (const auto& [in, out] : dtypes) {
      const ConvolutionDesc desc = ConvolutionOf(c, in, out);
      const Buffer lhs = Random(in, ElementsOf(c, c.layouts.lhs, ConvolutionArray::kLhs), 1);
      const Buffer rhs = Random(in, ElementsOf(c, c.layouts.rhs, ConvolutionArray::kRhs), 2);
      Buffer y(out, ElementsOf(c, c.layouts.out, ConvolutionArray::kOut)), parts = y;
      std::vector<double> want = ConvolutionByLoop(desc, lhs, rhs, y.n);
      if (out == i8)
        for (double& v : want) v = static_cast<int8_t>(static_cast<int64_t>(v));
      if (out == u32)
        for (double& v : want) v = static_cast<uint32_t>(static_cast<int64_t>(v));
      const plan::Kernel kernel = Convolution(desc);
      Call(kernel, {&lhs, &rhs}, {&y});
      Call(kernel, {&lhs, &rhs}, {&parts}, 3);
      // Sums are larger than some of the results.
      const double tol = out.is_integer() ? 0 : 20 * test::Tolerance(in == f32 ? f32 : out);
      EXPECT_TRUE(Near(y, want, tol)) << in.name() << " to " << out.name();
      EXPECT_TRUE(SameBits(parts, y)) << "in parts";
    }
  }
}

// Workers run one kernel at the same time, each with scratch memory of its own.
TEST(Convolution, PartsRunAtOnce) {
  constexpr int32_t kParts = 3;
  for (const DType dtype : {f32, f16}) {
    for (const int64_t features : {24, 320}) {
      const ConvolutionCase c{
          6, 1, 16, features, {SpatialDim(14, SpatialWindow(3, 1, 1), 1)}, {"n0c", "0ck", "n0k"}};
      const ConvolutionDesc desc = ConvolutionOf(c, dtype, dtype);
      const Buffer lhs = Random(dtype, ElementsOf(c, c.layouts.lhs, ConvolutionArray::kLhs), 1);
      const Buffer rhs = Random(dtype, ElementsOf(c, c.layouts.rhs, ConvolutionArray::kRhs), 2);
      Buffer want(dtype, ElementsOf(c, c.layouts.out, ConvolutionArray::kOut));
      const plan::Kernel kernel = Convolution(desc);
      Call(kernel, {&lhs, &rhs}, {&want});
      for (int run = 0; run < 20; ++run) {
        Buffer y(dtype, want.n);
        std::vector<std::thread> threads;
        for (int32_t part = 0; part < kParts; ++part) {
          threads.emplace_back([&, part] {
            std::vector<std::byte> scratch(static_cast<size_t>(kernel.scratch_bytes) + 64);
            const std::byte* in[] = {lhs.bytes.get(), rhs.bytes.get()};
            std::byte* out = y.bytes.get();
            plan::KernelArgs call;
            call.config = kernel.config.get();
            call.in = in, call.out = &out, call.part = part, call.parts = kParts;
            const auto address = reinterpret_cast<uintptr_t>(scratch.data());
            call.scratch = scratch.data() + (64 - address % 64) % 64;
            kernel.fn(call);
          });
        }
        for (std::thread& thread : threads) thread.join();
        ASSERT_TRUE(SameBits(y, want)) << dtype.name();
      }
    }
  }
}

}  // namespace
}  // namespace tessera::kernels
