// Complex numbers: dtypes, promotion, values in and out, text, and derivatives in JAX's
// conventions.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <complex>

#include "ir/program_text.h"

namespace tessera::complex_test {
namespace {

using testing::ElementsAre;
using Float = std::complex<float>;
using Double = std::complex<double>;
using namespace std::complex_literals;

std::vector<Double> Values(const Array& x) { return x.to_vector<Double>(); }

testing::Matcher<Double> Near(Double want, double within = 1e-5) {
  return testing::ResultOf([=](Double z) { return std::abs(z - want); }, testing::Le(within));
}

TEST(Complex, GoesInAndOut) {
  const Array x = array(std::vector<Float>{{1, 2}, {-3, 0.5}});
  EXPECT_EQ(type_of(x).text(), "c64[2]");
  EXPECT_THAT(x.to_vector<Float>(), ElementsAre(Float(1, 2), Float(-3, 0.5)));
  EXPECT_THAT(Values(x), ElementsAre(Double(1, 2), Double(-3, 0.5)));
  EXPECT_EQ(x[1].item<Float>(), Float(-3, 0.5));
  EXPECT_EQ(type_of(array(std::vector<Double>{{1, 2}})).text(), "c128[1]");
  EXPECT_EQ(type_of(array({1, 2i, 2.5})).text(), "c64[3]");
  EXPECT_THAT(Values(array({1, 2i, 2.5})), ElementsAre(Double(1), Double(0, 2), Double(2.5)));
  EXPECT_THAT(Values(ones({2}).astype(c64)), ElementsAre(Double(1), Double(1)));
  EXPECT_THROW(x.to_vector<float>(), DTypeError);
  EXPECT_THROW(x.item<double>(), Error);
  EXPECT_THAT(ones({2}).to_vector<Float>(), ElementsAre(Float(1), Float(1)));
  EXPECT_THROW(array(std::vector<Double>{{1, 2}}).to_vector<Float>(), DTypeError);
}

TEST(Complex, Promotes) {
  const auto type = [](const Array& x) { return type_of(x).text(); };
  const Array half = ones({2}, f16), wide = ones({2}, f64), whole = ones({2}, i32);
  const Array z = ones({2}, c64);
  EXPECT_EQ(type(half + 1i), "c64[2]");
  EXPECT_EQ(type(wide + 1i), "c128[2]");
  EXPECT_EQ(type(whole + 1i), "c64[2]");
  EXPECT_EQ(type(z + 1.5), "c64[2]");
  EXPECT_EQ(type(z + wide), "c128[2]");
  EXPECT_EQ(type(z + half), "c64[2]");
  EXPECT_EQ(type(z * whole), "c64[2]");
  EXPECT_EQ(type(Array(2i)), "c64[]");
  const DefaultDtypes scope(i64, f64);
  EXPECT_EQ(type(Array(2i)), "c128[]");
  EXPECT_EQ(type(whole + 1i), "c128[2]");
  EXPECT_EQ(type(z + 1i), "c64[2]");
}

TEST(Complex, HasText) {
  EXPECT_EQ(to_text(array({1.5 - 2i, 0.25i})), "c64[2]\n[ 1.5-2j, 0+0.25j]");
  EXPECT_EQ(to_text(Array(1i)), "c64[] 0+1j");
  const auto f = jit([](Array x) { return x * (2.5 - 3i) + 1i; });
  const std::string text = f.trace(ones({2}, c128)).text();
  EXPECT_THAT(text, testing::HasSubstr("c128 (2.5, -3)"));
  EXPECT_EQ(ir::Text(ir::ParseProgram(text, Loc::Unknown())), text);
}

TEST(Complex, HasParts) {
  const Array z = array({3.0 + 4i, -1i});
  EXPECT_THAT(real(z).to_vector<float>(), ElementsAre(3, 0));
  EXPECT_THAT(imag(z).to_vector<float>(), ElementsAre(4, -1));
  EXPECT_THAT(Values(conj(z)), ElementsAre(3.0 - 4i, 1i));
  EXPECT_THAT(abs(z).to_vector<float>(), ElementsAre(5, 1));
  EXPECT_THAT(angle(z).to_vector<float>(), ElementsAre(testing::FloatNear(0.9272952F, 1e-6F),
                                                       testing::FloatNear(-1.5707964F, 1e-6F)));
  EXPECT_THAT(Values(complex(real(z), imag(z))), ElementsAre(3.0 + 4i, -1i));
  EXPECT_THAT(isreal(array({1.0 + 0i, 1i})).to_vector<bool>(), ElementsAre(true, false));
  const Array r = array({1.5, -2.0});
  EXPECT_EQ(type_of(real(r)).text(), "f32[2]");
  EXPECT_THAT(imag(r).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_EQ(type_of(conj(r)).text(), "f32[2]");
  EXPECT_EQ(type_of(complex(ones({2}, f64), 1.0)).text(), "c128[2]");
  EXPECT_THROW(complex(ones({2}, f16), ones({2}, f16)), DTypeError);
}

TEST(Complex, Computes) {
  const Array x = array({1.0 + 2i, -0.5 + 0.25i}), y = array({0.5 - 1i, 2i});
  const std::vector<Double> a = Values(x), b = Values(y);
  const auto each = [&](auto f) { return ElementsAre(Near(f(a[0], b[0])), Near(f(a[1], b[1]))); };
  EXPECT_THAT(Values(x + y), each([](auto u, auto v) { return u + v; }));
  EXPECT_THAT(Values(x - y), each([](auto u, auto v) { return u - v; }));
  EXPECT_THAT(Values(x * y), each([](auto u, auto v) { return u * v; }));
  EXPECT_THAT(Values(x / y), each([](auto u, auto v) { return u / v; }));
  EXPECT_THAT(Values(pow(x, y)), each([](auto u, auto v) { return std::pow(u, v); }));
  EXPECT_THAT(Values(pow(x, 2)), each([](auto u, auto) { return u * u; }));
  EXPECT_THAT(Values(integer_pow(x, -2)), each([](auto u, auto) { return 1.0 / (u * u); }));
  EXPECT_THAT(Values(square(x)), each([](auto u, auto) { return u * u; }));
  EXPECT_THAT(Values(reciprocal(x)), each([](auto u, auto) { return 1.0 / u; }));
  EXPECT_THAT(Values(log10(x)), each([](auto u, auto) { return std::log10(u); }));
  EXPECT_THAT(Values(where(real(x) > 0, x, y)), ElementsAre(Near(a[0]), Near(b[1])));
  EXPECT_THAT(eq(x, array({1.0 + 2i, 1.0 + 0i})).to_vector<bool>(), ElementsAre(true, false));
  EXPECT_THAT(Values(sum(x)), ElementsAre(Near(a[0] + a[1])));
  EXPECT_THAT(Values(prod(x)), ElementsAre(Near(a[0] * a[1])));
  EXPECT_THAT(Values(mean(x)), ElementsAre(Near((a[0] + a[1]) / 2.0)));
  EXPECT_THAT(
      var(x).to_vector<float>(),
      ElementsAre(testing::FloatNear(static_cast<float>(std::norm(a[0] - a[1]) / 4), 1e-5F)));
  EXPECT_THAT(Values(cumsum(x, 0)), ElementsAre(Near(a[0]), Near(a[0] + a[1])));
  EXPECT_THAT(Values(dot(x, y)), ElementsAre(Near(a[0] * b[0] + a[1] * b[1])));
  EXPECT_THAT(Values(x.at({0}).add(2i)), ElementsAre(Near(a[0] + 2i), Near(a[1])));
  EXPECT_THAT(Values(sort(array({2.0 + 1i, 1i, 2.0 - 1i}))), ElementsAre(1i, 2.0 - 1i, 2.0 + 1i));
}

TEST(Complex, IsFiniteIfBothPartsAre) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array z = array({Double(1, 2), Double(inf, 0), Double(0, nan), Double(3e38, 3e38)});
  EXPECT_THAT(isfinite(z).to_vector<bool>(), ElementsAre(true, false, false, true));
  EXPECT_THAT(isinf(z).to_vector<bool>(), ElementsAre(false, true, false, false));
  EXPECT_THAT(isnan(z).to_vector<bool>(), ElementsAre(false, false, true, false));
}

TEST(Complex, ConvertsByItsRealPart) {
  const Array z = array({2.75 + 1i, -1i});
  EXPECT_THAT(z.astype(f32).to_vector<float>(), ElementsAre(2.75, 0));
  EXPECT_THAT(z.astype(i32).to_vector<int32_t>(), ElementsAre(2, 0));
  EXPECT_THAT(z.astype(bool_).to_vector<bool>(), ElementsAre(true, true));
}

TEST(Complex, IsOrderedByItsPartsInTurn) {
  const Array x = array({1.0 + 2i, 1.0 - 2i, -1i}), y = array({1.0 + 3i, 1.0 - 2i, -1.0 + 5i});
  EXPECT_THAT(lt(x, y).to_vector<bool>(), ElementsAre(true, false, false));
  EXPECT_THAT(le(x, y).to_vector<bool>(), ElementsAre(true, true, false));
  EXPECT_THAT(gt(x, y).to_vector<bool>(), ElementsAre(false, false, true));
  EXPECT_THAT(ge(x, y).to_vector<bool>(), ElementsAre(false, true, true));
  EXPECT_THAT(Values(maximum(x, y)), ElementsAre(1.0 + 3i, 1.0 - 2i, -1i));
  EXPECT_THAT(Values(minimum(x, y)), ElementsAre(1.0 + 2i, 1.0 - 2i, -1.0 + 5i));
  EXPECT_THAT(Values(max(x)), ElementsAre(1.0 + 2i));
  EXPECT_THAT(Values(min(x)), ElementsAre(-1i));
  EXPECT_THAT(Values(cummax(x, 0)), ElementsAre(1.0 + 2i, 1.0 + 2i, 1.0 + 2i));
}

TEST(Complex, IsRefusedWhereJaxRefusesIt) {
  const Array z = ones({2}, c64);
  EXPECT_THROW(argmax(z, 0), DTypeError);
  EXPECT_THROW(clip(z, 0, 1), DTypeError);
  EXPECT_THROW(floor(z), DTypeError);
  EXPECT_THROW(hypot(z, z), DTypeError);
  EXPECT_THROW(z & z, DTypeError);
  EXPECT_THROW(erf(z), DTypeError);
}

// The gradient of a real function of x + iy is df/dx - i df/dy.
TEST(ComplexGradients, FollowJax) {
  const Array z = array({1.0 + 2i, -3.0 + 0.5i});
  EXPECT_THAT(Values(grad([](Array x) { return sum(square(abs(x))); })(z)),
              ElementsAre(Near(2.0 - 4i), Near(-6.0 - 1i)));
  EXPECT_THAT(Values(grad([](Array x) { return sum(real(x)); })(z)), ElementsAre(1.0, 1.0));
  EXPECT_THAT(Values(grad([](Array x) { return sum(imag(x)); })(z)), ElementsAre(-1i, -1i));
  EXPECT_THAT(grad([](Array x) { return sum(real(x * (2.0 - 3i))); })(ones({2})).to_vector<float>(),
              ElementsAre(2, 2));
  EXPECT_THAT(Values(grad([](Array x) { return sum(abs(x)); })(array({0i, 3.0 + 4i}))),
              ElementsAre(Near(0), Near(0.6 - 0.8i)));
}

TEST(ComplexGradients, OfHolomorphicFunctionsAreTheComplexDerivative) {
  const Array z = Array(0.5 + 1i);
  const Double at = 0.5 + 1i;
  const auto f = [](Array x) { return sin(x) * exp(x); };
  const Double want = std::cos(at) * std::exp(at) + std::sin(at) * std::exp(at);
  EXPECT_THAT(Values(grad(f, {.holomorphic = true})(z)), ElementsAre(Near(want)));
  EXPECT_THAT(Values(value_and_grad(f, {.holomorphic = true})(z).second), ElementsAre(Near(want)));
  EXPECT_THAT(Values(jacfwd(f, {.holomorphic = true})(z)), ElementsAre(Near(want)));
  EXPECT_THAT(Values(jacrev(f, {.holomorphic = true})(z)), ElementsAre(Near(want)));
  const auto cube = [](Array x) { return x * x * x; };
  EXPECT_THAT(Values(hessian(cube, {.holomorphic = true})(z)), ElementsAre(Near(6.0 * at)));
  EXPECT_THROW(grad(f)(z), DTypeError);
  EXPECT_THROW(grad(f, {.holomorphic = true})(Array(1.0)), DTypeError);
  EXPECT_THROW(grad([](Array x) { return abs(x); }, {.holomorphic = true})(z), DTypeError);
  EXPECT_THROW(jacfwd(f)(z), DTypeError);
  EXPECT_THROW(jacrev(f)(z), DTypeError);
  const auto turned = [](Array x) { return x * 1i; };
  EXPECT_THAT(Values(jacfwd(turned)(Array(2.0))), ElementsAre(1i));
}

TEST(ComplexGradients, AgreeWithDifferences) {
  const Array z = array({0.5 + 1i, -0.75 + 0.25i}), x = array({0.5, 1.5});
  check_grads([](Array a) { return exp(a) * conj(a) / (2.0 + 1i); }, z);
  check_grads([](Array a, Array b) { return sum(abs(a * b + 1i)); }, std::tuple(z, x));
  check_grads([](Array a) { return cumsum(a * 1i, 0); }, x);
  EXPECT_THROW(check_grads(custom_jvp([](Array a) { return a * a; },
                                      [](std::tuple<Array> at, std::tuple<Array> t) {
                                        const Array& a = std::get<0>(at);
                                        return std::pair(a * a, conj(a) * std::get<0>(t));
                                      }),
                           z),
               RuntimeError);
}

TEST(ComplexSamples, AreNormalWithVarianceOneHalfPerPart) {
  const Array z = random::normal(random::key(3), {4096}, {.dtype = c64});
  EXPECT_EQ(type_of(z).text(), "c64[4096]");
  EXPECT_NEAR(var(real(z)).item<float>(), 0.5, 0.03);
  EXPECT_NEAR(var(imag(z)).item<float>(), 0.5, 0.03);
  EXPECT_NEAR(mean(real(z) * imag(z)).item<float>(), 0, 0.03);
  EXPECT_THROW(random::uniform(random::key(3), {2}, {.dtype = c64}), DTypeError);
  // As JAX draws.
  EXPECT_THAT(Values(random::normal(random::key(3), {3}, {.dtype = c64})),
              ElementsAre(Near({-1.6817402, -1.3740652}, 1e-6), Near({-1.206442, 0.07411618}, 1e-6),
                          Near({-0.34746975, -0.0336509}, 1e-6)));
}

TEST(ComplexFiles, KeepTheNumbers) {
  const std::string npy = testing::TempDir() + "/complex.npy";
  const std::string tensors = testing::TempDir() + "/complex.safetensors";
  for (DType dtype : {c64, c128}) {
    const Array z = array({1.5 - 2i, 0.25i}).astype(dtype);
    save_npy(npy, z);
    EXPECT_EQ(to_text(load_npy(npy)), to_text(z));
  }
  const std::map<std::string, Array> arrays{{"z", array({1.5 - 2i, 0.25i})}};
  save_safetensors(tensors, arrays);
  EXPECT_EQ(to_text(load_safetensors(tensors).at("z")), to_text(arrays.at("z")));
  EXPECT_THROW(save_safetensors(tensors, std::map<std::string, Array>{{"z", ones({2}, c128)}}),
               Error);
}

TEST(ComplexSharded, EqualsUnsharded) {
  SetDeviceCount(4);
  const MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const Array z = random::normal(random::key(1), {8, 4}, {.dtype = c64});
  const Array w = random::normal(random::key(2), {4, 3}, {.dtype = c64});
  const auto f = [](Array a, Array b) { return exp(matmul(a, conj(b)) / 4) * sum(a) + 1i; };
  const Array whole = jit(f)(z, w);
  const Array parts = jit(f)(reshard(z, P({"x", "y"})), w);
  const std::vector<Double> want = Values(whole), got = Values(parts);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_LE(std::abs(got[i] - want[i]), 1e-4 * (1 + std::abs(want[i])));
}

TEST(ComplexSharded, HasCollectives) {
  SetDeviceCount(4);
  const MeshScope scope(make_mesh({{"x", 4}}));
  const Array z = reshard(array({1.0 + 2i, 3i, -1.0 + 0i, 0.5 - 1i}), P("x"));
  const auto over = [&](auto f, PartitionSpec out) {
    return Values(reshard(shard_map(f, {.in_specs = P("x"), .out_specs = out})(z), P()));
  };
  EXPECT_THAT(over([](Array a) { return psum(a, "x"); }, P()), ElementsAre(Near(0.5 + 4i)));
  EXPECT_THAT(over([](Array a) { return pmean(a, "x"); }, P()), ElementsAre(Near(0.125 + 1i)));
  EXPECT_THAT(over([](Array a) { return pmax(a, "x"); }, P()), ElementsAre(1.0 + 2i));
  EXPECT_THAT(over([](Array a) { return sum(all_gather(a, "x")) * a; }, P("x")),
              ElementsAre(Near((0.5 + 4i) * (1.0 + 2i)), Near((0.5 + 4i) * 3i), Near(-0.5 - 4i),
                          Near((0.5 + 4i) * (0.5 - 1i))));
  const Array gradient = grad([&](Array a) {
    return sum(square(abs(shard_map([](Array b) { return psum(b * b, "x"); },
                                    {.in_specs = P("x"), .out_specs = P()})(a))));
  })(z);
  const Double total = -3.0 + 4i - 9.0 + 1.0 + 0.25 - 1i - 1.0;
  std::vector<Double> want;
  for (const Double& v : Values(z)) want.push_back(2.0 * std::conj(total) * 2.0 * v);
  const std::vector<Double> got = Values(reshard(gradient, P()));
  for (size_t i = 0; i < want.size(); ++i) EXPECT_THAT(got[i], Near(want[i], 1e-3));
}

}  // namespace
}  // namespace tessera::complex_test
