// jax.lax.linalg and jax.numpy.linalg.
#include "ops.h"
#include "tessera/linalg.h"

namespace tessera::conformance {
namespace {

using Arrays = std::vector<Array>;

Arrays TriangularSolve(const Call& c) {
  c.flag("conjugate_a");  // of real numbers
  const linalg::TriangularSolveOptions options{.left_side = c.flag("left_side"),
                                               .lower = c.flag("lower"),
                                               .transpose_a = c.flag("transpose_a"),
                                               .unit_diagonal = c.flag("unit_diagonal")};
  return {linalg::triangular_solve(c.in(0), c.in(1), options, c.loc())};
}

Arrays Svd(const Call& c) {
  const bool full = c.flag("full_matrices", true);
  if (!c.flag("compute_uv", true)) return {linalg::svdvals(c.in(0), c.loc())};
  const linalg::Svd made = linalg::svd(c.in(0), {.full_matrices = full}, c.loc());
  return {made.u, made.s, made.vh};
}

Arrays Cholesky(const Call& c) {
  const linalg::CholeskyOptions options{.upper = c.flag("upper"),
                                        .symmetrize_input = c.flag("symmetrize_input", true)};
  return {linalg::cholesky(c.in(0), options, c.loc())};
}

Arrays QrOf(const linalg::Qr& made) { return {made.q, made.r}; }

void AddLax(OpTable& table) {
  table["linalg.cholesky"] = Cholesky;
  table["linalg.triangular_solve"] = TriangularSolve;
  table["linalg.svd"] = Svd;
  table["linalg.lu"] = [](const Call& c) {
    const linalg::Lu made = linalg::lu(c.in(0), {}, c.loc());
    return Arrays{made.lu, made.pivots, made.permutation};
  };
  table["linalg.qr"] = [](const Call& c) {
    return QrOf(linalg::qr(c.in(0), {.full_matrices = c.flag("full_matrices", true)}, c.loc()));
  };
  table["linalg.householder_product"] = [](const Call& c) {
    return Arrays{linalg::householder_product(c.in(0), c.in(1), c.loc())};
  };
  table["linalg.eigh"] = [](const Call& c) {
    const linalg::EighOptions options{.upper = !c.flag("lower", true),
                                      .symmetrize_input = c.flag("symmetrize_input", true)};
    const linalg::Eigh made = linalg::eigh(c.in(0), options, c.loc());
    return Arrays{made.eigenvectors, made.eigenvalues};
  };
  table["linalg.schur"] = [](const Call& c) {
    const linalg::Schur made = linalg::schur(c.in(0), c.loc());
    return Arrays{made.t, made.z};
  };
  table["linalg.hessenberg"] = [](const Call& c) {
    const linalg::Hessenberg made = linalg::hessenberg(c.in(0), c.loc());
    return Arrays{made.a, made.taus};
  };
  table["linalg.tridiagonal"] = [](const Call& c) {
    const linalg::Tridiagonal made =
        linalg::tridiagonal(c.in(0), {.lower = c.flag("lower", true)}, c.loc());
    return Arrays{made.a, made.d, made.e, made.taus};
  };
  table["linalg.tridiagonal_solve"] = [](const Call& c) {
    return Arrays{tridiagonal_solve(c.in(0), c.in(1), c.in(2), c.in(3), c.loc())};
  };
}

void AddNumpyLinalg(OpTable& table) {
  const auto one = [](Array (*f)(Operand, Loc)) {
    return [f](const Call& c) { return Arrays{f(c.in(0), c.loc())}; };
  };
  table["np.linalg.cholesky"] = Cholesky;
  table["np.linalg.svd"] = Svd;
  table["np.linalg.inv"] = one(linalg::inv);
  table["np.linalg.det"] = one(linalg::det);
  table["np.linalg.svdvals"] = one(linalg::svdvals);
  table["np.linalg.matrix_transpose"] = one(linalg::matrix_transpose);
  table["np.linalg.solve"] = [](const Call& c) {
    return Arrays{linalg::solve(c.in(0), c.in(1), {}, c.loc())};
  };
  table["np.linalg.slogdet"] = [](const Call& c) {
    const linalg::Slogdet made = linalg::slogdet(c.in(0), c.loc());
    return Arrays{made.sign, made.logabsdet};
  };
  table["np.linalg.qr"] = [](const Call& c) {
    return QrOf(
        linalg::qr(c.in(0), {.full_matrices = c.text("mode", "reduced") == "complete"}, c.loc()));
  };
  table["np.linalg.eigh"] = [](const Call& c) {
    const linalg::Eigh made = linalg::eigh(c.in(0), {.upper = c.text("UPLO", "L") == "U"}, c.loc());
    return Arrays{made.eigenvalues, made.eigenvectors};
  };
  table["np.linalg.eigvalsh"] = [](const Call& c) {
    return Arrays{linalg::eigvalsh(c.in(0), {.upper = c.text("UPLO", "L") == "U"}, c.loc())};
  };
  table["np.linalg.pinv"] = [](const Call& c) {
    return Arrays{linalg::pinv(c.in(0), {}, c.loc())};
  };
  table["np.linalg.matrix_rank"] = [](const Call& c) {
    return Arrays{linalg::matrix_rank(c.in(0), {}, c.loc())};
  };
  table["np.linalg.matrix_power"] = [](const Call& c) {
    return Arrays{linalg::matrix_power(c.in(0), c.integer("n"), c.loc())};
  };
  table["np.linalg.lstsq"] = [](const Call& c) {
    const linalg::Lstsq made = linalg::lstsq(c.in(0), c.in(1), {}, c.loc());
    return Arrays{made.x, made.residuals, made.rank, made.singular_values};
  };
}

}  // namespace

void AddLinalg(OpTable& table) {
  AddLax(table);
  AddNumpyLinalg(table);
}

}  // namespace tessera::conformance
