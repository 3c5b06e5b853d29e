// Linear algebra: invariants of the results, bad numbers, derivatives, solvers of functions, and
// large matrices.
#include "tessera/linalg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/tessera.h"

namespace tessera::linalg_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Array Random(Shape shape, int seed, DType dtype = f64) {
  return random::uniform(random::key(seed), shape, {.dtype = dtype, .minval = -1, .maxval = 1});
}
Array Symmetric(int64_t n, int seed) {
  const Array a = Random({n, n}, seed);
  return a + linalg::matrix_transpose(a);
}
Array Definite(int64_t n, int seed, DType dtype = f64) {
  const Array a = Random({n, n}, seed, dtype);
  return matmul(a, linalg::matrix_transpose(a)) + eye(n, {.dtype = dtype});
}
// A regular matrix.
Array Regular(int64_t n, int seed) { return Random({n, n}, seed) + 3 * eye(n, {.dtype = f64}); }

double Most(const Array& x) { return max(abs(x)).item<double>(); }
void ExpectClose(const Array& got, const Array& want, double tolerance = 1e-10) {
  ASSERT_EQ(type_of(got).shape(), type_of(want).shape());
  EXPECT_LT(Most(got - want), tolerance);
}
bool AllNan(const Array& x) { return all(isnan(x)).item<bool>(); }

// As JAX's Cholesky factor of a matrix that is not positive definite.
bool IsNanTriangle(const Array& x) {
  const Array lower = tril(ones_like(x)) == 1;
  return all(isnan(x) == lower).item<bool>();
}

Array T(const Array& x) { return linalg::matrix_transpose(x); }

TEST(Linalg, FactorsMultiplyToTheMatrix) {
  const Array a = Regular(7, 1), d = Definite(7, 2), tall = Random({9, 4}, 3);
  const Array l = linalg::cholesky(d), u = linalg::cholesky(d, {.upper = true});
  ExpectClose(matmul(l, T(l)), d);
  ExpectClose(u, T(l));
  const linalg::Lu f = linalg::lu(a);
  ExpectClose(matmul(tril(f.lu, -1) + eye(7, {.dtype = f64}), triu(f.lu)),
              take(a, f.permutation, 0));
  ExpectClose(linalg::lu_pivots_to_permutation(f.pivots, 7), f.permutation, 1e-300);
  for (bool full : {false, true}) {
    const linalg::Qr qr = linalg::qr(tall, {.full_matrices = full});
    ExpectClose(matmul(qr.q, qr.r), tall);
    ExpectClose(matmul(T(qr.q), qr.q), eye(full ? 9 : 4, {.dtype = f64}));
  }
}

TEST(Linalg, SpectraReproduceTheMatrix) {
  const Array a = Symmetric(6, 4), tall = Random({5, 3}, 5);
  const linalg::Eigh e = linalg::eigh(a);
  ExpectClose(matmul(e.eigenvectors, expand_dims(e.eigenvalues, {1}) * T(e.eigenvectors)), a);
  ExpectClose(matmul(T(e.eigenvectors), e.eigenvectors), eye(6, {.dtype = f64}));
  ExpectClose(sort(e.eigenvalues), e.eigenvalues, 1e-300);
  ExpectClose(linalg::eigvalsh(a), e.eigenvalues);
  ExpectClose(linalg::eigvalsh(triu(a), {.upper = true, .symmetrize_input = false}), e.eigenvalues);
  for (const Array& x : {tall, T(tall)}) {
    const linalg::Svd s = linalg::svd(x, {.full_matrices = false});
    ExpectClose(matmul(s.u, expand_dims(s.s, {1}) * s.vh), x);
    ExpectClose(linalg::svdvals(x), s.s);
    const linalg::Svd full = linalg::svd(x);
    const int64_t m = type_of(x).shape()[0], n = type_of(x).shape()[1];
    ExpectClose(matmul(full.u, T(full.u)), eye(m, {.dtype = f64}));
    ExpectClose(matmul(full.vh, T(full.vh)), eye(n, {.dtype = f64}));
    const linalg::Polar p = linalg::polar(x);
    ExpectClose(matmul(p.u, p.p), x);
    ExpectClose(p.p, T(p.p));
    const linalg::Polar left = linalg::polar(x, {.left = true});
    ExpectClose(matmul(left.p, left.u), x);
  }
  const Array g = Random({6, 6}, 6);
  const linalg::Schur schur = linalg::schur(g);
  ExpectClose(matmul(matmul(schur.z, schur.t), T(schur.z)), g);
  const linalg::HessenbergForm h = linalg::hessenberg_form(g);
  ExpectClose(matmul(matmul(h.q, h.h), T(h.q)), g);
  ExpectClose(tril(h.h, -2), zeros_like(g));
}

Array H(const Array& x) { return conj(T(x)); }
Array ComplexRandom(Shape shape, int seed) {
  return complex(Random(shape, seed), Random(shape, seed + 1000));
}

TEST(Linalg, AnySquareMatrixHasEigenvalues) {
  for (const Array& a : {Random({6, 6}, 60), ComplexRandom({6, 6}, 61)}) {
    const linalg::Eig e = linalg::eig(a);
    EXPECT_EQ(type_of(e.eigenvectors).text(), "c128[6,6]");
    ExpectClose(matmul(a, e.eigenvectors), e.eigenvectors * e.eigenvalues);
    ExpectClose(linalg::eigvals(a), e.eigenvalues);
    const linalg::Schur real_or_complex = linalg::schur(a),
                        form = linalg::schur(a, {.complex = true}),
                        converted = linalg::rsf2csf(real_or_complex);
    for (const linalg::Schur& s : {form, converted}) {
      EXPECT_EQ(type_of(s.t).text(), "c128[6,6]");
      ExpectClose(matmul(s.z, matmul(s.t, H(s.z))), a);
      ExpectClose(tril(s.t, -1), zeros_like(s.t), 1e-300);
      ExpectClose(matmul(H(s.z), s.z), eye(6, {.dtype = f64}));
    }
    const Array root = linalg::sqrtm(a);
    ExpectClose(matmul(root, root), a);
  }
  // Roots of 0 are 0, where a root exists.
  ExpectClose(linalg::sqrtm(diag(array({0.0, 4.0, 0.0}, {.dtype = f64}))),
              diag(array({0.0, 2.0, 0.0}, {.dtype = f64})));
  EXPECT_FALSE(all(isfinite(linalg::sqrtm(array({{0.0, 1.0}, {0.0, 0.0}})))).item<bool>());
}

TEST(Linalg, SylvesterEquationsAreSolved) {
  const Array a = Random({2, 4, 4}, 62), b = ComplexRandom({3, 3}, 63), c = Random({4, 3}, 64);
  const Array x = linalg::solve_sylvester(a, b, c);
  ExpectClose(matmul(a, x) + matmul(x, b), broadcast_to(c, {2, 4, 3}));
  EXPECT_TRUE(AllNan(linalg::solve_sylvester(a[0], -a[0], Random({4, 4}, 65))));
}

TEST(Linalg, ColumnsAreExchanged) {
  for (const Array& a : {Random({5, 7}, 66), ComplexRandom({7, 5}, 67)}) {
    const linalg::PivotedQr made = linalg::pivoted_qr(a);
    ExpectClose(matmul(made.q, made.r), take(a, made.permutation, 1));
    const Array sizes = abs(diagonal(made.r));
    ExpectClose(sort(sizes, -1, {.descending = true}), sizes, 1e-300);
  }
}

TEST(Linalg, TridiagonalMatricesAreNotStoredByTheUser) {
  const Array d = Random({2, 5}, 68), e = ComplexRandom({4}, 69);
  const linalg::Eigh made = linalg::eigh_tridiagonal(d, e);
  const Array full = diag(d[1]) + diag(e, 1) + diag(conj(e), -1);
  ExpectClose(linalg::eigvalsh(full), made.eigenvalues[1]);
  ExpectClose(matmul(full, made.eigenvectors[1]), made.eigenvectors[1] * made.eigenvalues[1]);
  ExpectClose(linalg::eigvalsh_tridiagonal(d, e), made.eigenvalues);
}

TEST(Linalg, FactorsAreUpdated) {
  const Array d = Definite(5, 70), w = Random({5}, 71);
  const Array r = linalg::cholesky_update(linalg::cholesky(d, {.upper = true}), w);
  ExpectClose(r, linalg::cholesky(d + outer(w, w), {.upper = true}));
}

TEST(Linalg, SystemsAreSolved) {
  const Array a = Regular(6, 7), b = Random({6, 2}, 8), d = Definite(6, 9);
  ExpectClose(matmul(a, linalg::solve(a, b)), b);
  ExpectClose(matmul(a, linalg::inv(a)), eye(6, {.dtype = f64}));
  const linalg::LuFactor lu = linalg::lu_factor(a);
  ExpectClose(matmul(a, linalg::lu_solve(lu, b)), b);
  ExpectClose(matmul(T(a), linalg::lu_solve(lu, b, {.transposed = true})), b);
  for (bool lower : {false, true})
    ExpectClose(matmul(d, linalg::cho_solve(linalg::cho_factor(d, {.lower = lower}), b)), b);
  ExpectClose(matmul(triu(a), linalg::solve_triangular(a, b)), b);
  const Array v = Random({6}, 10), batch = Random({3, 6, 1}, 11);
  ExpectClose(matmul(a, linalg::solve(a, v)), v);
  ExpectClose(matmul(a, linalg::solve(a, batch)), batch);
  const linalg::Lstsq fit = linalg::lstsq(Random({8, 3}, 12), Random({8}, 13));
  const Array tall = Random({8, 3}, 12);
  ExpectClose(matmul(T(tall), matmul(tall, fit.x) - Random({8}, 13)), zeros({3}, f64));
  EXPECT_EQ(fit.rank.item<int>(), 3);
}

TEST(Linalg, FunctionsOfMatrices) {
  const Array a = Regular(5, 14);
  ExpectClose(linalg::matrix_power(a, 5), linalg::multi_dot({a, a, a, a, a}), 1e-8);
  ExpectClose(matmul(linalg::matrix_power(a, -2), matmul(a, a)), eye(5, {.dtype = f64}), 1e-9);
  ExpectClose(linalg::det(a), exp(linalg::slogdet(a).logabsdet) * linalg::slogdet(a).sign, 1e-8);
  const Array small = 0.1 * Random({5, 5}, 15), large = 30 * Symmetric(4, 16);
  ExpectClose(matmul(linalg::expm(small), linalg::expm(-small)), eye(5, {.dtype = f64}));
  const linalg::Eigh e = linalg::eigh(large);
  const Array want =
      matmul(e.eigenvectors, expand_dims(exp(e.eigenvalues), {1}) * T(e.eigenvectors));
  EXPECT_LT(Most(linalg::expm(large) / Most(want) - want / Most(want)), 1e-10);
  const Array x = Random({4, 3}, 17);
  ExpectClose(matmul(matmul(x, linalg::pinv(x)), x), x);
  EXPECT_EQ(linalg::matrix_rank(matmul(x, T(x))).item<int>(), 3);
  ExpectClose(linalg::cond(a),
              linalg::norm(a, All, {.ord = 2}) * linalg::norm(linalg::inv(a), All, {.ord = 2}),
              1e-8);
  ExpectClose(linalg::norm(x, All, {.ord = "nuc"}), sum(linalg::svdvals(x)));
  ExpectClose(linalg::norm(x, All, {.ord = "fro"}), linalg::vector_norm(x));
  ExpectClose(linalg::cross(array({1.0, 0, 0}, {.dtype = f64}), array({0.0, 1, 0}, {.dtype = f64})),
              array({0.0, 0, 1}, {.dtype = f64}));
}

// As JAX: NaN, infinities and zeros, no exceptions.
TEST(Linalg, BadNumbers) {
  const Array indefinite = array({{1.0, 2.0}, {2.0, 1.0}}, {.dtype = f64});
  EXPECT_TRUE(IsNanTriangle(linalg::cholesky(indefinite)));
  const Array singular = array({{1.0, 2.0}, {2.0, 4.0}}, {.dtype = f64});
  EXPECT_FALSE(all(isfinite(linalg::inv(singular))).item<bool>());
  EXPECT_EQ(linalg::det(singular).item<double>(), 0);
  EXPECT_EQ(linalg::slogdet(singular).sign.item<double>(), 0);
  EXPECT_EQ(linalg::slogdet(singular).logabsdet.item<double>(),
            -std::numeric_limits<double>::infinity());
  EXPECT_GT(linalg::cond(singular).item<double>(), 1e15);
  for (double bad : {kNan, std::numeric_limits<double>::infinity()}) {
    const Array a = array({{1.0, bad}, {bad, 1.0}}, {.dtype = f64});
    EXPECT_TRUE(AllNan(linalg::eigh(a).eigenvalues));
    EXPECT_TRUE(AllNan(linalg::svdvals(a)));
    EXPECT_TRUE(AllNan(linalg::lu(a).lu));
    EXPECT_TRUE(AllNan(linalg::schur(a).t));
  }
  // The determinant of a matrix of rank n - 1 has a derivative.
  const Array rank3 = concatenate({Random({3, 4}, 18), zeros({1, 4}, f64)}, 0);
  const auto det = [](Array x) { return linalg::det(x); };
  EXPECT_TRUE(all(isfinite(grad(det)(rank3))).item<bool>());
  EXPECT_GT(Most(grad(det)(rank3)), 0);
}

TEST(Linalg, NanWatchThrows) {
  NanWatch watch;
  EXPECT_THROW(linalg::cholesky(-eye(3, {.dtype = f64})), Error);
}

TEST(Linalg, EmptyMatrices) {
  const Array none = zeros({0, 0}, f64), tall = zeros({3, 0}, f64);
  EXPECT_EQ(type_of(linalg::cholesky(none)).text(), "f64[0,0]");
  EXPECT_EQ(linalg::det(none).item<double>(), 1);
  EXPECT_EQ(type_of(linalg::solve(none, tall.reshape({0, 3}))).text(), "f64[0,3]");
  ExpectClose(linalg::svd(tall).u, eye(3, {.dtype = f64}), 1e-300);
  EXPECT_EQ(type_of(linalg::svd(tall).s).text(), "f64[0]");
  ExpectClose(linalg::qr(tall, {.full_matrices = true}).q, eye(3, {.dtype = f64}), 1e-300);
  EXPECT_EQ(type_of(linalg::pinv(tall)).text(), "f64[0,3]");
}

// Compares the derivative of f along a direction with a difference, forward and in reverse, and the
// second derivative.
void CheckDerivatives(const std::function<Array(Array)>& f, const Array& x,
                      double tolerance = 1e-5) {
  const Array dx = Random(Shape(type_of(x).shape()), 99);
  const auto loss = [&](Array y) { return sum(sin(f(y))); };
  constexpr double kStep = 1e-6;
  const double want = ((loss(x + kStep * dx) - loss(x - kStep * dx)) / (2 * kStep)).item<double>();
  const double forward = jvp(loss, x, dx).second.item<double>();
  const double backward = sum(grad(loss)(x) * dx).item<double>();
  EXPECT_NEAR(forward, want, tolerance * std::max(1.0, std::fabs(want)));
  EXPECT_NEAR(backward, forward, 1e-8 * std::max(1.0, std::fabs(want)));
  const auto slope = [&](Array y) { return sum(grad(loss)(y) * dx); };
  const double curve =
      ((slope(x + kStep * dx) - slope(x - kStep * dx)) / (2 * kStep)).item<double>();
  const double second = sum(grad(slope)(x) * dx).item<double>();
  EXPECT_NEAR(second, curve, 10 * tolerance * std::max(1.0, std::fabs(curve)));
}

TEST(Linalg, Derivatives) {
  const Array b = Random({5, 2}, 20), c = Random({5, 5}, 21);
  const Array a = Regular(5, 22) + diag(arange(5, {.dtype = f64}));
  const std::pair<const char*, std::function<Array(Array)>> functions[] = {
      {"solve", [=](Array x) { return linalg::solve(x, b); }},
      {"solve_right", [=](Array x) { return linalg::solve(c + 4 * eye(5, {.dtype = f64}), x); }},
      {"inv", [](Array x) { return linalg::inv(x); }},
      {"det", [](Array x) { return linalg::det(x); }},
      {"slogdet", [](Array x) { return linalg::slogdet(x).logabsdet; }},
      {"cholesky", [](Array x) { return linalg::cholesky(matmul(x, T(x))); }},
      {"eigvalsh", [](Array x) { return linalg::eigvalsh(x); }},
      {"svdvals", [](Array x) { return linalg::svdvals(x); }},
      {"pinv", [](Array x) { return linalg::pinv(x); }},
      {"expm", [](Array x) { return linalg::expm(0.2 * x); }},
      {"power", [](Array x) { return linalg::matrix_power(0.3 * x, -3); }},
      {"lstsq", [=](Array x) { return linalg::lstsq(x, b).x; }},
      {"qr", [](Array x) { return linalg::qr(x).r; }},
      {"norm", [](Array x) { return linalg::norm(x, All, {.ord = "nuc"}); }},
  };
  for (const auto& [name, f] : functions) {
    SCOPED_TRACE(name);
    CheckDerivatives(f, a);
  }
}

TEST(Linalg, SolveIsMapped) {
  const Array a = stack({Regular(4, 23), Regular(4, 24)}), b = Random({2, 4}, 25);
  const auto solve = [](Array m, Array v) { return linalg::solve(m, v); };
  const Array x = vmap(solve)(a, b);
  for (int64_t i = 0; i < 2; ++i) ExpectClose(matmul(a[i], x[i]), b[i]);
  const auto slope = vmap(grad([&](Array m, Array v) { return sum(solve(m, v)); }));
  ExpectClose(slope(a, b)[1], grad([&](Array m) { return sum(solve(m, b[1])); })(a[1]));
  // One of the two mapped alone.
  const Array shared =
      vmap(solve, {.in_dims = MapDims(std::vector{MapDims(0), MapDims(None)})})(a, b[0]);
  ExpectClose(matmul(a[1], shared[1]), b[0]);
}

// ---- solvers ----

TEST(Solvers, KrylovMethodsSolve) {
  const Array d = Definite(12, 30), a = Regular(12, 31), b = Random({12}, 32);
  const auto [x, info] = linalg::cg(d, b, {.tol = 1e-12});
  ExpectClose(matmul(d, x), b, 1e-9);
  EXPECT_EQ(info.item<int>(), 0);
  ExpectClose(matmul(a, linalg::gmres(a, b, {.tol = 1e-12}).x), b, 1e-9);
  ExpectClose(matmul(a, linalg::gmres(a, b, {.tol = 1e-12, .restart = 4}).x), b, 1e-9);
  ExpectClose(matmul(a, linalg::bicgstab(a, b, {.tol = 1e-12}).x), b, 1e-9);
  EXPECT_EQ(linalg::cg(d, b, {.tol = 1e-12, .maxiter = 2}).info.item<int>(), 2);
  const Array scale = 1 / diagonal(d);
  const auto preconditioned =
      linalg::cg([&](Array v) { return matmul(d, v); }, b,
                 {.tol = 1e-12, .preconditioner = [&](Array r) { return scale * r; }});
  ExpectClose(matmul(d, preconditioned.x), b, 1e-9);
  ExpectClose(linalg::cg(d, b, {.x0 = x, .tol = 1e-9}).x, x, 1e-300);
}

TEST(Solvers, TreesAreVectors) {
  const std::pair<Array, Array> b(Random({4}, 33), Random({2, 3}, 34));
  const auto twice = [](std::pair<Array, Array> x) { return std::pair(2 * x.first, 3 * x.second); };
  const auto [x, info] = linalg::cg(twice, b, {.tol = 1e-12});
  ExpectClose(2 * x.first, b.first);
  ExpectClose(3 * x.second, b.second);
}

TEST(Solvers, DerivativesAreImplicit) {
  const Array a = Definite(5, 35), b = Random({5}, 36);
  const auto by_cg = [&](Array m) {
    const Array s = m + T(m);
    return linalg::cg([=](Array v) { return matmul(s, v); }, b, {.tol = 1e-13}).x;
  };
  CheckDerivatives(by_cg, a);
  CheckDerivatives([&](Array m) { return linalg::gmres(m, b, {.tol = 1e-13}).x; }, a);
  CheckDerivatives([&](Array m) { return linalg::bicgstab(m, b, {.tol = 1e-13}).x; }, a);
  CheckDerivatives([&](Array v) { return linalg::cg(a, v, {.tol = 1e-13}).x; }, b);
}

TEST(Solvers, CustomLinearSolve) {
  const Array a = Regular(4, 37), b = Random({4}, 38);
  const auto solve = [&](Array m) {
    return custom_linear_solve(
        [=](Array v) { return matmul(m, v); }, b,
        [=](auto, Array v) { return linalg::solve(stop_gradient(m), v); },
        [=](auto, Array v) { return linalg::solve(T(stop_gradient(m)), v); });
  };
  ExpectClose(matmul(a, solve(a)), b);
  CheckDerivatives(solve, a);
  const auto forward_only = [&](Array m) {
    return custom_linear_solve([=](Array v) { return matmul(m, v); }, b,
                               [=](auto, Array v) { return linalg::solve(stop_gradient(m), v); });
  };
  ExpectClose(jvp(forward_only, a, Random({4, 4}, 39)).second,
              jvp(solve, a, Random({4, 4}, 39)).second);
  EXPECT_THROW(grad([&](Array m) { return sum(forward_only(m)); })(a), TraceError);
}

TEST(Solvers, CustomRoot) {
  // Newton's method for the cube root of c.
  const auto root = [](Array c) {
    return custom_root([=](Array x) { return x * x * x - c; }, full_like(c, 1.0),
                       [](auto f, Array x) {
                         for (int i = 0; i < 40; ++i) x = x - f(x) / (3 * x * x);
                         return x;
                       },
                       [](auto g, Array y) { return y / g(ones_like(y)); });
  };
  const Array c = array({2.0, 5.0, 8.0}, {.dtype = f64});
  ExpectClose(root(c), cbrt(c));
  ExpectClose(grad([&](Array x) { return sum(root(x)); })(c),
              grad([](Array x) { return sum(cbrt(x)); })(c));
  CheckDerivatives(root, c);
}

// ---- large matrices ----

class LargeMatrices : public testing::TestWithParam<int> {
 protected:
  LargeMatrices() { SetDeviceCount(8); }
  ~LargeMatrices() override { SetDeviceCount(1); }
  static PartitionSpec Spec() {
    const PartitionSpec specs[] = {P("x", None), P(None, "y"), P("x", "y"), P({"x", "y"}, None)};
    return specs[GetParam()];
  }
};

TEST_P(LargeMatrices, AreSolvedBlockByBlock) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  const Array d = Definite(32, 40), a = Regular(32, 41), b = Random({32, 2}, 42);
  const PartitionSpec spec = Spec();
  const Array large = reshard(a, spec), definite = reshard(d, spec);
  const Array l = linalg::cholesky(definite, {.out_sharding = spec});
  EXPECT_EQ(type_of(l).text(), type_of(large).text());
  ExpectClose(reshard(l, P()), linalg::cholesky(d));
  const linalg::Lu f = linalg::lu(large, {.out_sharding = spec}), plain = linalg::lu(a);
  ExpectClose(reshard(f.lu, P()), plain.lu);
  EXPECT_TRUE(all(f.permutation == plain.permutation).item<bool>());
  EXPECT_TRUE(all(f.pivots == plain.pivots).item<bool>());
  ExpectClose(linalg::solve(large, b, {.out_sharding = P()}), linalg::solve(a, b));
  for (int bits = 0; bits < 16; ++bits) {
    linalg::TriangularSolveOptions options{.left_side = (bits & 1) != 0,
                                           .lower = (bits & 2) != 0,
                                           .transpose_a = (bits & 4) != 0,
                                           .unit_diagonal = (bits & 8) != 0};
    const Array small = 0.2 * a + 2 * eye(32, {.dtype = f64});
    const Array right = options.left_side ? b : T(b);
    const Array want = linalg::triangular_solve(small, right, options);
    options.out_sharding = P();
    ExpectClose(linalg::triangular_solve(reshard(small, spec), right, options), want, 1e-8);
    if (!options.left_side) continue;
    linalg::SolveTriangularOptions same{.lower = options.lower,
                                        .transposed = options.transpose_a,
                                        .unit_diagonal = options.unit_diagonal,
                                        .out_sharding = P("y")};
    const Array made = linalg::solve_triangular(reshard(small, spec), b, same);
    EXPECT_EQ(type_of(made).text(), "f64[32@y,2]");
    ExpectClose(reshard(made, P()), want, 1e-8);
    const Array vector =
        reshard(linalg::solve_triangular(reshard(small, spec), b[{All, 0}], same), P());
    ExpectClose(vector, want[{All, 0}], 1e-8);
  }
  const linalg::Qr qr = linalg::qr(large, {.out_sharding = spec});
  EXPECT_EQ(type_of(qr.q).text(), type_of(large).text());
  const Array q = reshard(qr.q, P()), r = reshard(qr.r, P());
  ExpectClose(matmul(q, r), a);
  ExpectClose(matmul(T(q), q), eye(32, {.dtype = f64}), 1e-13 * 32);
  ExpectClose(tril(r, -1), zeros_like(r), 1e-300);
  EXPECT_TRUE(IsNanTriangle(reshard(linalg::cholesky(-definite, {.out_sharding = spec}), P())));
}

TEST_P(LargeMatrices, MayBeComplex) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  const Array a = ComplexRandom({16, 16}, 44) + 3 * eye(16, {.dtype = f64});
  const Array d = matmul(a, H(a)), b = ComplexRandom({16, 3}, 45);
  const PartitionSpec spec = Spec();
  const auto whole = [](const Array& x) { return reshard(x, P()); };
  const Array large = reshard(a, spec);
  ExpectClose(whole(linalg::cholesky(reshard(d, spec), {.out_sharding = spec})),
              linalg::cholesky(d));
  ExpectClose(linalg::solve(large, b, {.out_sharding = P()}), linalg::solve(a, b));
  linalg::TriangularSolveOptions options{
      .left_side = true, .lower = true, .transpose_a = true, .conjugate_a = true};
  const Array want = linalg::triangular_solve(a, b, options);
  options.out_sharding = P();
  ExpectClose(linalg::triangular_solve(large, b, options), want, 1e-8);
  const linalg::Qr qr = linalg::qr(large, {.out_sharding = spec});
  ExpectClose(matmul(whole(qr.q), whole(qr.r)), a);
  ExpectClose(matmul(H(whole(qr.q)), whole(qr.q)), eye(16, {.dtype = f64}), 1e-13 * 16);
}

INSTANTIATE_TEST_SUITE_P(Layouts, LargeMatrices, testing::Range(0, 4));

TEST(Linalg, BatchesStaySharded) {
  SetDeviceCount(2);
  {
    MeshScope scope(make_mesh({{"x", 2}}));
    const Array a = ComplexRandom({4, 3, 3}, 46), b = ComplexRandom({4, 3, 2}, 47);
    const Array sa = reshard(a, P("x", None, None)), sb = reshard(b, P("x", None, None));
    const auto check = [](const Array& sharded, const Array& plain) {
      EXPECT_EQ(type_of(sharded).text().substr(0, 9), "c128[4@x,");
      ExpectClose(reshard(sharded, P()), plain);
    };
    check(linalg::lu_solve(linalg::lu_factor(sa), sb), linalg::solve(a, b));
    check(linalg::sqrtm(sa), linalg::sqrtm(a));
    check(linalg::solve_sylvester(sa, sa, sa), linalg::solve_sylvester(a, a, a));
    check(linalg::rsf2csf(linalg::schur(sa)).t, linalg::rsf2csf(linalg::schur(a)).t);
  }
  SetDeviceCount(1);
}

TEST(LargeMatrix, TallOnesAreFactoredByRows) {
  SetDeviceCount(4);
  {
    MeshScope scope(make_mesh({{"x", 4}}));
    const Array a = Random({64, 6}, 43);
    const linalg::Qr qr = linalg::qr(reshard(a, P("x", None)), {.out_sharding = P("x", None)});
    const Array q = reshard(qr.q, P());
    ExpectClose(matmul(q, reshard(qr.r, P())), a);
    ExpectClose(matmul(T(q), q), eye(6, {.dtype = f64}));
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::linalg_test
