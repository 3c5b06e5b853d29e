// Fourier transforms: laws, NumPy's numbers, other sizes and norms, and moves between pencils.
#include "tessera/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <tuple>

#include "tessera/tessera.h"

namespace tessera::fft_test {
namespace {

using Complex = std::complex<double>;

Array Normal(Shape shape, int seed, DType dtype = f64) {
  return random::normal(random::key(seed), shape, {.dtype = dtype});
}
Array Signal(Shape shape, int seed) {
  return complex(Normal(shape, seed), Normal(shape, seed + 1));
}

double Most(const Array& x) { return max(abs(x)).item<double>(); }
void ExpectClose(const Array& got, const Array& want, double tolerance = 1e-12) {
  ASSERT_EQ(type_of(got).shape(), type_of(want).shape());
  ASSERT_EQ(type_of(got).dtype(), type_of(want).dtype());
  EXPECT_LT(Most(got - want), tolerance);
}
void ExpectNumbers(const Array& got, const std::vector<Complex>& want) {
  const auto numbers = got.to_vector<Complex>();
  ASSERT_EQ(numbers.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_LT(std::abs(numbers[i] - want[i]), 1e-5) << i;
}

// numpy.fft of [1, 2, 4, 7, 11].
TEST(Fft, HasNumPysNumbers) {
  const Array x = array({1, 2, 4, 7, 11});
  const Complex a(-3.881966011, 10.322864404), b(-6.118033989, 2.436897722);
  ExpectNumbers(fft::fft(x), {25, a, b, std::conj(b), std::conj(a)});
  ExpectNumbers(fft::ifft(x), {5, std::conj(a) / 5.0, std::conj(b) / 5.0, b / 5.0, a / 5.0});
  ExpectNumbers(fft::rfft(x), {25, a, b});
  ExpectNumbers(fft::irfft(x),
                {4.75, -2.133883476, 0.5, -0.366116524, 0.25, -0.366116524, 0.5, -2.133883476});
  ExpectNumbers(fft::hfft(x),
                {38, -17.071067812, 4, -2.928932188, 2, -2.928932188, 4, -17.071067812});
  ExpectNumbers(fft::ihfft(x), {5, std::conj(a) / 5.0, std::conj(b) / 5.0});
}

TEST(Fft, DTypes) {
  EXPECT_EQ(type_of(fft::fft(ones({4}, bf16))).text(), "c64[4]");
  EXPECT_EQ(type_of(fft::fft(ones({4}, i32))).text(), "c64[4]");
  EXPECT_EQ(type_of(fft::fft(ones({4}, f64))).text(), "c128[4]");
  EXPECT_EQ(type_of(fft::rfft(ones({4}, f16))).text(), "c64[3]");
  EXPECT_EQ(type_of(fft::irfft(ones({4}, c128))).text(), "f64[6]");
  EXPECT_EQ(type_of(fft::fftfreq(4)).text(), "f32[4]");
}

TEST(Fft, InversesAndLaws) {
  for (int64_t n : {1, 2, 7, 12, 37, 64, 101}) {
    const Array x = Signal({3, n}, 1), real = Normal({n, 4}, 2);
    ExpectClose(fft::ifft(fft::fft(x)), x);
    ExpectClose(fft::irfft(fft::rfft(real, {.dim = 0}), {.n = n, .dim = 0}), real);
    ExpectClose(fft::hfft(fft::ihfft(real, {.dim = 0}), {.n = n, .dim = 0}), real);
    // Parseval.
    const Array energy = sum(square(abs(fft::fft(x, {.norm = fft::Norm::kOrtho}))));
    ExpectClose(energy, sum(square(abs(x))), 1e-9);
    // A shift is a phase.
    const Array phase =
        exp(complex(zeros({n}, f64), -2 * std::numbers::pi * fft::fftfreq(n, {.dtype = f64})));
    ExpectClose(fft::fft(roll(x, 1, 1)), fft::fft(x) * phase, 1e-11);
  }
}

TEST(Fft, NormsAndSizes) {
  const Array x = Signal({6, 10}, 3);
  for (int64_t n : {4, 10, 15}) {
    const Array cut = n <= 10 ? x[{All, Slice(0, n)}] : pad(x, {{0, 0}, {0, n - 10}}, 0);
    ExpectClose(fft::fft(x, {.n = n}), fft::fft(cut));
    ExpectClose(fft::fft(x, {.n = n, .norm = fft::Norm::kForward}) * static_cast<double>(n),
                fft::fft(cut));
    ExpectClose(fft::ifft(x, {.n = n, .norm = fft::Norm::kForward}),
                fft::ifft(cut) * static_cast<double>(n));
    ExpectClose(fft::ifft(x, {.n = n, .norm = fft::Norm::kOrtho}),
                fft::ifft(cut) * std::sqrt(static_cast<double>(n)));
  }
  ExpectClose(fft::fftn(x, {.sizes = {{8, 12}}}),
              fft::fft(fft::fft(x, {.n = 8, .dim = 0}), {.n = 12}));
  ExpectClose(fft::fftn(x, {.dims = {{0}}}), fft::fft(x, {.dim = 0}));
  ExpectClose(fft::fftn(x, {.dims = {{}}}), x);
}

TEST(Fft, OverSeveralDims) {
  const Array x = Signal({4, 6, 5}, 4), real = Normal({4, 6, 5}, 5);
  const Array all = fft::fft(fft::fft(fft::fft(x, {.dim = 0}), {.dim = 1}), {.dim = 2});
  ExpectClose(fft::fftn(x), all);
  ExpectClose(fft::ifftn(all), x);
  ExpectClose(fft::fft2(x), fft::fftn(x, {.dims = {{1, 2}}}));
  ExpectClose(fft::ifft2(fft::fft2(x)), x);
  const Array half = fft::rfftn(real);
  ExpectClose(half, fft::fftn(real)[{All, All, Slice(0, 3)}]);
  ExpectClose(fft::irfftn(half, {.sizes = {{4, 6, 5}}}), real);
  ExpectClose(fft::irfft2(fft::rfft2(real, {.dims = {{0, 1}}}), {.dims = {{0, 1}}}), real);
}

TEST(Fft, FrequenciesAndShifts) {
  EXPECT_EQ((fft::fftfreq(5) * 5).to_vector<float>(), (std::vector<float>{0, 1, 2, -2, -1}));
  EXPECT_EQ((fft::fftfreq(4, {.d = 0.5}) * 2).to_vector<float>(),
            (std::vector<float>{0, 1, -2, -1}));
  EXPECT_EQ((fft::rfftfreq(5) * 5).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(fft::fftshift(arange(5)).to_vector<int>(), (std::vector<int>{3, 4, 0, 1, 2}));
  EXPECT_EQ(fft::ifftshift(arange(5)).to_vector<int>(), (std::vector<int>{2, 3, 4, 0, 1}));
  const Array x = arange(24).reshape({4, 6});
  EXPECT_EQ(fft::ifftshift(fft::fftshift(x)).to_vector<int>(), x.to_vector<int>());
  EXPECT_EQ(fft::fftshift(x, 1)[{0}].to_vector<int>(), (std::vector<int>{3, 4, 5, 0, 1, 2}));
}

// A row that repeats is one frequency; numbers that are not finite spread over their row alone.
TEST(Fft, SpecialNumbers) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const Array y = fft::fft(array({{1.0, kNan, 1.0, 1.0}, {1.0, 1.0, 1.0, 1.0}}));
  EXPECT_TRUE(all(isnan(y[{0}])).item<bool>());
  ExpectNumbers(y[{1}], {4, 0, 0, 0});
  EXPECT_EQ(type_of(fft::fft(zeros({0, 4}))).text(), "c64[0,4]");
  // Imaginary parts that no real numbers have.
  const Array x = array({Complex(1, 5), Complex(2, 3), Complex(4, 7)});
  ExpectNumbers(fft::irfft(x), {2.25, -2.25, 0.25, 0.75});
}

TEST(Fft, Gradients) {
  const Array x = Normal({2, 6}, 6), w = Normal({2, 4}, 7);
  const auto power = [&](Array v) { return sum(w * square(abs(fft::rfft(v)))); };
  check_grads(power, x);
  check_grads([](Array v) { return sum(square(fft::irfft(complex(v, v), {.n = 9}))); }, x);
  check_grads([](Array v) { return sum(square(abs(fft::fftn(v)))); }, x);
}

struct Pencil {
  const char* name;
  Shape shape;
  PartitionSpec from, to;
  int64_t moves;  // all_to_alls
};

// A transform of a sharded array moves it as often as no layout can avoid.
TEST(Fft, MovesBetweenPencils) {
  SetDeviceCount(8);
  const Pencil pencils[] = {
      {"whole dims", {8, 16, 4}, P("x", "y"), P("x", "y"), 2 * 2},
      {"pencils", {8, 16, 8}, P("x", "y"), P(None, "x", "y"), 2},
      {"slabs", {8, 16, 8}, P({"x", "y"}), P(None, {"x", "y"}), 1},
      {"one sharded dim", {8, 16, 8}, P("x"), P(None, None, "x"), 1},
  };
  for (const Pencil& p : pencils) {
    SCOPED_TRACE(p.name);
    const Array x = Signal(p.shape, 8);
    const Array want = fft::fftn(x);
    MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
    const auto f = jit([&](Array v) { return fft::fftn(v, {.out_sharding = p.to}); });
    const Array in = reshard(x, p.from);
    const CommReport comm = f.lower(in).comm();
    EXPECT_EQ(comm.count(CommKind::kAllToAll), p.moves) << comm;
    EXPECT_EQ(static_cast<int64_t>(comm.events().size()), p.moves) << comm;
    const Array got = f(in);
    EXPECT_EQ(type_of(got).spec(), type_of(reshard(x, p.to)).spec());
    ExpectClose(array(got.to_vector<Complex>()), array(want.to_vector<Complex>()));
  }
}

// Each move sends (k - 1) / k of a device's part, of 16 B per number.
TEST(Fft, BytesOfPencils) {
  MeshScope scope(abstract_mesh({{"x", 4}, {"y", 2}}));
  const auto bytes = [](const char* type, PartitionSpec to) {
    return jit([&](Array v) { return fft::fftn(v, {.out_sharding = to}); })
        .lower(abstract_array(type))
        .comm()
        .bytes();
  };
  const int64_t part = 16 * 32 * 32 * 32 / 8;
  EXPECT_EQ(bytes("c128[32@x,32@y,32]", P(None, "x", "y")), part * 3 / 4 + part / 2);
  EXPECT_EQ(bytes("c128[32@(x,y),32,32]", P(None, {"x", "y"})), part * 7 / 8);
  // To the same layout and back: the axes of each sharded dim move twice.
  const int64_t other = 16 * 8 * 32 * 64 / 8;
  EXPECT_EQ(bytes("c128[8@x,32@y,64]", P("x", "y")), 2 * (other * 3 / 4 + other / 2));
}

// A dim is cut or extended to a size that its shards do not divide once it is whole.
TEST(Fft, SizesThatShardsDoNotDivide) {
  SetDeviceCount(8);
  const Array x = Signal({12, 16}, 10);
  MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
  const Array in = reshard(x, P("x", "y"));
  for (int64_t dim : {0, 1}) {
    for (int64_t n : {9, 21}) {
      const PartitionSpec to = dim == 0 ? P(None, "y") : P("x", None);
      const Array got = fft::fft(in, {.n = n, .dim = dim, .out_sharding = to});
      EXPECT_EQ(type_of(got).spec(), to);
      ExpectClose(array(got.to_vector<Complex>()),
                  array(fft::fft(x, {.n = n, .dim = dim}).to_vector<Complex>()));
      const Array half = fft::rfft(real(in), {.n = n, .dim = dim, .out_sharding = to});
      ExpectClose(array(half.to_vector<Complex>()),
                  array(fft::rfft(real(x), {.n = n, .dim = dim}).to_vector<Complex>()));
    }
  }
}

// Half transforms of 64 have 33 elements, which two devices do not divide: they are padded by one,
// not gathered. They send and do about half of a transform of complex numbers.
TEST(Fft, HalfTransformsDoHalfOfTheWork) {
  SetDeviceCount(16);
  for (const auto& [n, p, q] : {std::tuple{64, 2, 2}, std::tuple{66, 2, 2}, std::tuple{32, 4, 4}}) {
    for (AxisMode mode : {Explicit, Auto}) {
      MeshScope scope(make_mesh({{"x", p, mode}, {"y", q, mode}}));
      const auto place = [&](const Array& v) {
        const PartitionSpec spec = P("x", "y", None);
        return mode == Auto ? with_sharding_constraint(v, spec) : reshard(v, spec);
      };
      fft::FftnOptions to;
      if (mode == Explicit) to.out_sharding = P("x", "y", None);
      const Array x = Normal({n * p, n * q / 2, n}, 20);
      const Array half = fft::rfftn(x);
      const auto from_real = jit([&](Array v) { return fft::rfftn(place(v), to); });
      const auto to_real = jit([&](Array v) { return fft::irfftn(place(v), to); });
      const auto whole = jit([&](Array v) { return fft::fftn(place(v), to); });
      const Lowered complex = whole.lower(astype(x, c128));
      for (const Lowered& real : {from_real.lower(x), to_real.lower(half)}) {
        EXPECT_LT(real.flops(), 0.7 * complex.flops()) << n << real.comm();
        EXPECT_LT(static_cast<double>(real.comm().bytes()),
                  0.7 * static_cast<double>(complex.comm().bytes()))
            << n << real.comm() << complex.comm();
      }
      ExpectClose(array(from_real(x).to_vector<Complex>()), array(half.to_vector<Complex>()), 1e-9);
      EXPECT_LT(Most(array(to_real(half).to_vector<double>()) - array(x.to_vector<double>())),
                1e-12);
    }
  }
}

// Over batch dims nothing is sent, in any mode.
TEST(Fft, BatchDimsStaySharded) {
  SetDeviceCount(4);
  const Array x = Signal({8, 12}, 9);
  const Array want = fft::fft(x);
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
    MeshScope scope(make_mesh({{"x", 4, mode}}));
    const auto f = jit([](Array v) { return fft::fft(v); });
    const Array in = mode == AxisMode::Auto
                         ? jit([](Array v) { return with_sharding_constraint(v, P("x")); })(x)
                         : reshard(x, P("x"));
    EXPECT_EQ(f.lower(in).comm().bytes(), 0);
    EXPECT_EQ(f(in).to_vector<Complex>(), want.to_vector<Complex>());
  }
  MeshScope scope(make_mesh({{"x", 4}}));
  const auto rows = [](Array v) { return fft::fft(v); };
  const Array got = shard_map(rows, {.in_specs = P("x"), .out_specs = P("x")})(reshard(x, P("x")));
  EXPECT_EQ(got.to_vector<Complex>(), want.to_vector<Complex>());
}

}  // namespace
}  // namespace tessera::fft_test
