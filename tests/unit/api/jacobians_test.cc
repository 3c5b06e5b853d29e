// jacfwd, jacrev and hessian, and rules of the user's that are mapped.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "unit/api/count.h"

namespace tessera::jacobians_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

struct Weights {
  Array a, b;
  int n = 2;
};
TESSERA_FIELDS(Weights, a, b, n);

std::vector<float> Values(const Array& x) { return x.to_vector<float>(); }

TEST(Jacobians, AreByRowsWhatTheyAreByColumns) {
  auto f = [](Array x) { return matmul(sin(x), x.T()) * x[{0, 0}]; };
  Array x = sin(iota({2, 3}, 0, {.dtype = f32}) * 2 + iota({2, 3}, 1, {.dtype = f32}));
  Array forward = jacfwd(f)(x), reverse = jacrev(f)(x);
  EXPECT_EQ(type_of(forward).text(), "f32[2,2,2,3]");
  EXPECT_THAT(Values(forward), Pointwise(FloatNear(1e-5f), Values(reverse)));
  Array direction = ones({2, 3});
  EXPECT_THAT(Values(sum(forward * direction, {2, 3})),
              Pointwise(FloatNear(1e-5f), Values(jvp(f, x, direction).second)));
  EXPECT_EQ(Values(jit(jacfwd(f))(x)), Values(forward));
}

TEST(Jacobians, HaveATreeLikeTheArgumentPerResult) {
  auto f = [](const Weights& w) { return std::pair(sin(w.a) * w.b, sum(w.a)); };
  const auto j = jacrev(f)(Weights{arange(3.0), ones({3})});
  EXPECT_EQ(type_of(j.first.a).text(), "f32[3,3]");
  EXPECT_EQ(type_of(j.second.b).text(), "f32[3]");
  EXPECT_EQ(j.first.n, 2);
  EXPECT_THAT(Values(j.second.a), ElementsAre(1, 1, 1));
  EXPECT_THAT(Values(j.second.b), ElementsAre(0, 0, 0));
  auto squares = [](Array x, Array y) { return std::vector<Array>{x * y, sum(y * y)}; };
  const std::vector<Array> k = jacfwd<1>(squares)(arange(3.0), arange(3.0));
  EXPECT_THAT(Values(k[0]), ElementsAre(0, 0, 0, 0, 1, 0, 0, 0, 2));
  EXPECT_THAT(Values(k[1]), ElementsAre(0, 2, 4));
}

TEST(Jacobians, OfSecondOrder) {
  auto f = [](Array x) { return sum(x * x * x) + x[{0}] * x[{1}]; };
  EXPECT_THAT(Values(hessian(f)(array({1.0f, 2.0f}))), ElementsAre(6, 1, 1, 12));
  EXPECT_EQ(type_of(vmap(hessian(f))(ones({4, 2}))).text(), "f32[4,2,2]");
}

// As JAX types them: one side keeps its sharding, the other is the basis.
TEST(Jacobians, KeepTheShardingOfOneSide) {
  SetDeviceCount(4);
  {
    MeshScope mesh(make_mesh({{"x", 4}}));
    auto f = [](Array v) { return sin(v); };
    Array v = reshard(arange(8.0), P("x"));
    EXPECT_EQ(type_of(jacfwd(f)(v)).text(), "f32[8@x,8]");
    EXPECT_EQ(type_of(jacrev(f)(v)).text(), "f32[8,8@x]");
    EXPECT_EQ(Values(reshard(jacfwd(f)(v), P())), Values(reshard(jacrev(f)(v), P())));
  }
  SetDeviceCount(1);
}

// Cotangents of a shared value are added over batch elements, also those of a custom rule.
// Values that several columns or rows need are computed once, in one program. Derivatives in an
// argument that is not floating are zeros with the same sharding as the others.
TEST(Jacobians, AreOneProgram) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  auto f = [](std::vector<Array> v) {
    const Array grown = fori_loop(
        0, 3, [&](Array, Array c) { return sin(c) * v[1]; }, v[0]);
    return exp(grown) * v[1] * v[2].astype(f32);
  };
  const std::vector<Array> at = {ones({8}), ones({8}), iota({8}, 0, {.dtype = i32})};
  std::vector<Array> placed;
  for (const Array& x : at) placed.push_back(reshard(x, P("x")));
  for (const bool reverse : {false, true}) {
    const auto jacobian = [&](const std::vector<Array>& v) {
      return reverse ? jacrev(f)(v) : jacfwd(f)(v);
    };
    const std::string text = jit(jacobian).trace(at).text();
    EXPECT_EQ(Count(text, "= sin"), 1) << text;
    EXPECT_EQ(Count(text, "= exp"), 1) << text;
    const std::vector<Array> made = jacobian(placed), whole = jacobian(at);
    for (size_t i = 0; i < at.size(); ++i) {
      EXPECT_EQ(type_of(made[i]).text(), reverse ? "f32[8,8@x]" : "f32[8@x,8]") << i;
      EXPECT_EQ(made[i].to_vector<float>(), whole[i].to_vector<float>()) << i;
    }
  }
}

TEST(Vmap, MapsRulesOfTheUsers) {
  auto by_vjp =
      custom_vjp([](Array x) { return sin(x); }, [](Array x) { return std::pair(sin(x), cos(x)); },
                 [](Array c, Array ct) { return ct * c; });
  auto by_jvp = custom_jvp([](Array x) { return sin(x); },
                           [](std::tuple<Array> p, std::tuple<Array> t) {
                             auto [x] = p;
                             auto [dx] = t;
                             return std::pair(sin(x), cos(x) * dx);
                           });
  Array xs = arange(3.0), s = Array(0.5f);
  auto total = [&](auto f) {
    return [=](Array scale) {
      return sum(vmap([=](Array k, Array x) { return f(k * x) + f(k); }, {.in_dims = {None, 0}})(
          scale, xs));
    };
  };
  const float want = grad(total([](Array x) { return sin(x); }))(s).item<float>();
  EXPECT_NEAR(grad(total(by_vjp))(s).item<float>(), want, 1e-6);
  EXPECT_NEAR(grad(total(by_jvp))(s).item<float>(), want, 1e-6);
  auto kept = [&](Array x) { return checkpoint([&](Array u) { return by_jvp(u) * u; })(x); };
  EXPECT_THAT(Values(vmap(grad(kept))(xs)),
              Pointwise(FloatNear(1e-6f), Values(cos(xs) * xs + sin(xs))));
}

}  // namespace
}  // namespace tessera::jacobians_test
