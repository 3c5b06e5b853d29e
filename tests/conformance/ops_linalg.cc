// jax.lax.linalg, jax.numpy.linalg and jax.scipy.linalg.
#include "compare.h"
#include "ops.h"
#include "tessera/linalg.h"

namespace tessera::conformance {
namespace {

using Arrays = std::vector<Array>;

Arrays TriangularSolve(const Call& c) {
  const linalg::TriangularSolveOptions options{.left_side = c.flag("left_side"),
                                               .lower = c.flag("lower"),
                                               .transpose_a = c.flag("transpose_a"),
                                               .conjugate_a = c.flag("conjugate_a"),
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

Arrays QrOf(const Call& c, bool full) {
  if (c.flag("pivoting")) {
    const linalg::PivotedQr made = linalg::pivoted_qr(c.in(0), {.full_matrices = full}, c.loc());
    return {made.q, made.r, made.permutation};
  }
  const linalg::Qr made = linalg::qr(c.in(0), {.full_matrices = full}, c.loc());
  return {made.q, made.r};
}

linalg::RankOptions RankOptionsOf(const Call& c) {
  linalg::RankOptions options{.hermitian = c.flag("hermitian")};
  if (c.has("rtol")) options.rtol = c.attr("rtol").get<double>();
  return options;
}

// The order of a norm: a number, or a name.
NormOrder OrderOf(const Call& c, const char* key, NormOrder otherwise) {
  if (!c.has(key)) return otherwise;
  const Json& json = c.attr(key);
  if (json.is_number()) return json.get<double>();
  const auto name = json.get<std::string>();
  if (name == "inf" || name == "-inf") return Number(json);
  return name == "nuc" ? NormOrder("nuc") : NormOrder("fro");
}

Arrays EigOf(const Call& c) {
  const linalg::Eig made = linalg::eig(c.in(0), c.loc());
  return {made.eigenvalues, made.eigenvectors};
}

void AddLax(OpTable& table) {
  table["linalg.cholesky"] = Cholesky;
  table["linalg.triangular_solve"] = TriangularSolve;
  table["linalg.svd"] = Svd;
  table["linalg.lu"] = [](const Call& c) {
    const linalg::Lu made = linalg::lu(c.in(0), {}, c.loc());
    return Arrays{made.lu, made.pivots, made.permutation};
  };
  table["linalg.qr"] = [](const Call& c) { return QrOf(c, c.flag("full_matrices", true)); };
  table["linalg.householder_product"] = [](const Call& c) {
    return Arrays{linalg::householder_product(c.in(0), c.in(1), c.loc())};
  };
  table["linalg.eigh"] = [](const Call& c) {
    const linalg::EighOptions options{.upper = !c.flag("lower", true),
                                      .symmetrize_input = c.flag("symmetrize_input", true)};
    const linalg::Eigh made = linalg::eigh(c.in(0), options, c.loc());
    return Arrays{made.eigenvectors, made.eigenvalues};
  };
  table["linalg.eig"] = [](const Call& c) {
    c.flag("enable_eigvec_derivs");
    if (c.flag("compute_left_eigenvectors", true)) throw Unsupported("left eigenvectors");
    return EigOf(c);
  };
  table["linalg.schur"] = [](const Call& c) {
    const linalg::Schur made = linalg::schur(c.in(0), {}, c.loc());
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
    return QrOf(c, c.text("mode", "reduced") == "complete");
  };
  table["np.linalg.eigh"] = [](const Call& c) {
    const linalg::Eigh made = linalg::eigh(c.in(0), {.upper = c.text("UPLO", "L") == "U"}, c.loc());
    return Arrays{made.eigenvalues, made.eigenvectors};
  };
  table["np.linalg.eigvalsh"] = [](const Call& c) {
    return Arrays{linalg::eigvalsh(c.in(0), {.upper = c.text("UPLO", "L") == "U"}, c.loc())};
  };
  table["np.linalg.pinv"] = [](const Call& c) {
    return Arrays{linalg::pinv(c.in(0), RankOptionsOf(c), c.loc())};
  };
  table["np.linalg.matrix_rank"] = [](const Call& c) {
    return Arrays{linalg::matrix_rank(c.in(0), RankOptionsOf(c), c.loc())};
  };
  table["np.linalg.matrix_power"] = [](const Call& c) {
    return Arrays{linalg::matrix_power(c.in(0), c.integer("n"), c.loc())};
  };
  table["np.linalg.lstsq"] = [](const Call& c) {
    const linalg::Lstsq made = linalg::lstsq(c.in(0), c.in(1), {}, c.loc());
    return Arrays{made.x, made.residuals, made.rank, made.singular_values};
  };
  table["np.linalg.eig"] = EigOf;
  table["np.linalg.eigvals"] = one(linalg::eigvals);
  table["np.linalg.cond"] = [](const Call& c) {
    return Arrays{linalg::cond(c.in(0), OrderOf(c, "p", 2), c.loc())};
  };
  table["np.linalg.matrix_norm"] = [](const Call& c) {
    const linalg::MatrixNormOptions options{.ord = OrderOf(c, "ord", "fro"),
                                            .keepdims = c.flag("keepdims")};
    return Arrays{linalg::matrix_norm(c.in(0), options, c.loc())};
  };
  table["np.linalg.vector_norm"] = [](const Call& c) {
    const linalg::VectorNormOptions options{.ord = OrderOf(c, "ord", 2),
                                            .keepdims = c.flag("keepdims")};
    return Arrays{linalg::vector_norm(c.in(0), c.dims(), options, c.loc())};
  };
  table["np.linalg.tensorinv"] = [](const Call& c) {
    return Arrays{linalg::tensorinv(c.in(0), static_cast<int>(c.integer("ind", 2)), c.loc())};
  };
  table["np.linalg.tensorsolve"] = [](const Call& c) {
    return Arrays{linalg::tensorsolve(c.in(0), c.in(1), {}, c.loc())};
  };
}

Arrays Polar(const Call& c) {
  c.text("method", "svd");
  const linalg::Polar made =
      linalg::polar(c.in(0), {.left = c.text("side", "right") == "left"}, c.loc());
  return {made.u, made.p};
}

Arrays EighTridiagonal(const Call& c) {
  if (c.flag("eigvals_only")) return {linalg::eigvalsh_tridiagonal(c.in(0), c.in(1), c.loc())};
  const linalg::Eigh made = linalg::eigh_tridiagonal(c.in(0), c.in(1), c.loc());
  return {made.eigenvalues, made.eigenvectors};
}

void AddScipySystems(OpTable& table) {
  table["scipy.linalg.cho_solve"] = [](const Call& c) {
    const bool lower = c.flag("lower");
    return Arrays{linalg::cho_solve({c.array(0), lower}, c.in(1), c.loc())};
  };
  table["scipy.linalg.solve_triangular"] = [](const Call& c) {
    const int64_t trans = c.integer("trans", 0);
    const linalg::SolveTriangularOptions options{.lower = c.flag("lower"),
                                                 .transposed = trans != 0,
                                                 .conjugated = trans == 2,
                                                 .unit_diagonal = c.flag("unit_diagonal")};
    return Arrays{linalg::solve_triangular(c.in(0), c.in(1), options, c.loc())};
  };
  table["scipy.linalg.lu_factor"] = [](const Call& c) {
    const linalg::LuFactor made = linalg::lu_factor(c.in(0), c.loc());
    return Arrays{made.lu, made.pivots};
  };
  table["scipy.linalg.lu_solve"] = [](const Call& c) {
    const int64_t trans = c.integer("trans", 0);
    return Arrays{linalg::lu_solve({c.array(0), c.array(1)}, c.in(2),
                                   {.transposed = trans != 0, .conjugated = trans == 2}, c.loc())};
  };
  table["scipy.linalg.solve_sylvester"] = [](const Call& c) {
    return Arrays{linalg::solve_sylvester(c.in(0), c.in(1), c.in(2), {}, c.loc())};
  };
  table["linalg.cholesky_update"] = [](const Call& c) {
    return Arrays{linalg::cholesky_update(c.in(0), c.in(1), c.loc())};
  };
}

void AddScipyForms(OpTable& table) {
  table["scipy.linalg.qr"] = [](const Call& c) {
    return QrOf(c, c.text("mode", "full") != "economic");
  };
  table["scipy.linalg.polar"] = Polar;
  table["scipy.linalg.eigh_tridiagonal"] = EighTridiagonal;
  table["scipy.linalg.schur"] = [](const Call& c) {
    const linalg::Schur made =
        linalg::schur(c.in(0), {.complex = c.text("output", "real") == "complex"}, c.loc());
    return Arrays{made.t, made.z};
  };
  table["scipy.linalg.rsf2csf"] = [](const Call& c) {
    const linalg::Schur made = linalg::rsf2csf({c.array(0), c.array(1)}, c.loc());
    return Arrays{made.t, made.z};
  };
  table["scipy.linalg.hessenberg"] = [](const Call& c) {
    const bool both = c.flag("calc_q");
    const linalg::HessenbergForm made = linalg::hessenberg_form(c.in(0), c.loc());
    return both ? Arrays{made.h, made.q} : Arrays{made.h};
  };
  table["scipy.linalg.sqrtm"] = [](const Call& c) {
    return Arrays{linalg::sqrtm(c.in(0), c.loc())};
  };
  table["scipy.linalg.expm"] = [](const Call& c) { return Arrays{linalg::expm(c.in(0), c.loc())}; };
  table["scipy.linalg.block_diag"] = [](const Call& c) {
    return Arrays{linalg::block_diag(c.arrays(), c.loc())};
  };
  table["scipy.linalg.toeplitz"] = [](const Call& c) {
    if (c.size() == 1) return Arrays{linalg::toeplitz(c.in(0), {}, c.loc())};
    return Arrays{linalg::toeplitz(c.in(0), c.in(1), c.loc())};
  };
  table["scipy.linalg.hilbert"] = [](const Call& c) {
    return Arrays{linalg::hilbert(c.integer("n"), c.loc())};
  };
}

}  // namespace

void AddLinalg(OpTable& table) {
  AddLax(table);
  AddNumpyLinalg(table);
  AddScipySystems(table);
  AddScipyForms(table);
}

}  // namespace tessera::conformance
