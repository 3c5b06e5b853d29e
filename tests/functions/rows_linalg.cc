// Rows of linalg.h and special_matrices.h.
#include <tessera/special_matrices.h>

#include "functions/rows.h"

namespace tessera::functions {

using linalg::DftScale;
using linalg::PascalKind;
using linalg::QrSide;

const Rows& LinalgRows() {
  static const Rows rows = {
      {"linalg::hankel", "jsl.hankel(a, b)", "f64[3] f64[4]",
       [](A a) -> R { return {linalg::hankel(a[0], a[1])}; }},
      {"linalg::hankel.column", "jsl.hankel(a)", "i32[2,3]",
       [](A a) -> R { return {linalg::hankel(a[0])}; }},
      {"linalg::hankel.empty", "jsl.hankel(a, b)", "f32[0] f32[2]",
       [](A a) -> R { return {linalg::hankel(a[0], a[1])}; }},
      {"linalg::circulant", "jsl.circulant(a)", "c128[2,3]",
       [](A a) -> R { return {linalg::circulant(a[0])}; }},
      {"linalg::circulant.empty", "jsl.circulant(a)", "f32[2,0]",
       [](A a) -> R { return {linalg::circulant(a[0])}; }},
      {"linalg::leslie", "jsl.leslie(a, b)", "f64[2,4] f64[2,3]",
       [](A a) -> R { return {linalg::leslie(a[0], a[1])}; }},
      {"linalg::leslie.ints", "jsl.leslie(a, b)", "i32[2] f32[1]",
       [](A a) -> R { return {linalg::leslie(a[0], a[1])}; }},
      {"linalg::companion", "jsl.companion(a)", "f64[2,4]:0.5:2",
       [](A a) -> R { return {linalg::companion(a[0])}; }},
      {"linalg::companion.line", "jsl.companion(a)", "i32[2]=2,3",
       [](A a) -> R { return {linalg::companion(a[0])}; }},
      {"linalg::fiedler_companion", "jsl.fiedler_companion(a)", "f64[8]:0.5:2",
       [](A a) -> R { return {linalg::fiedler_companion(a[0])}; }},
      {"linalg::fiedler_companion.batch", "jsl.fiedler_companion(a)", "f32[2,4]:0.5:2",
       [](A a) -> R { return {linalg::fiedler_companion(a[0])}; }},
      {"linalg::fiedler_companion.line", "jsl.fiedler_companion(a)", "f64[2]:0.5:2",
       [](A a) -> R { return {linalg::fiedler_companion(a[0])}; }},
      {"linalg::fiedler_companion.constant", "jsl.fiedler_companion(a)", "f64[1]:0.5:2",
       [](A a) -> R { return {linalg::fiedler_companion(a[0])}; }},
      {"linalg::fiedler", "jsl.fiedler(a)", "f64[2,4]p",
       [](A a) -> R { return {linalg::fiedler(a[0])}; }},
      {"linalg::convolution_matrix", "jsl.convolution_matrix(a, 4)", "f64[2,3]",
       [](A a) -> R { return {linalg::convolution_matrix(a[0], 4)}; }},
      {"linalg::convolution_matrix.same", "jsl.convolution_matrix(a, 2, mode='same')", "f64[4]",
       [](A a) -> R { return {linalg::convolution_matrix(a[0], 2, ConvolveMode::kSame)}; }},
      {"linalg::convolution_matrix.valid", "jsl.convolution_matrix(a, 5, mode='valid')", "i32[3]",
       [](A a) -> R { return {linalg::convolution_matrix(a[0], 5, ConvolveMode::kValid)}; }},
      {"linalg::invhilbert", "jsl.invhilbert(5)", "",
       [](A) -> R { return {linalg::invhilbert(5)}; }, 1e-9},
      {"linalg::pascal", "jsl.pascal(6).astype('f8')", "",
       [](A) -> R { return {linalg::pascal(6)}; }, 1e-5},
      {"linalg::pascal.lower", "jsl.pascal(4, kind='lower')", "",
       [](A) -> R { return {linalg::pascal(4, {.kind = PascalKind::kLower, .dtype = f32})}; },
       1e-5},
      {"linalg::pascal.upper", "jsl.pascal(4, kind='upper')", "",
       [](A) -> R { return {linalg::pascal(4, {.kind = PascalKind::kUpper, .dtype = f32})}; },
       1e-5},
      {"linalg::invpascal", "jsl.invpascal(5)", "", [](A) -> R { return {linalg::invpascal(5)}; },
       1e-9},
      {"linalg::invpascal.lower", "jsl.invpascal(4, kind='lower')", "",
       [](A) -> R { return {linalg::invpascal(4, {.kind = PascalKind::kLower})}; }, 1e-9},
      {"linalg::invpascal.upper", "jsl.invpascal(4, kind='upper')", "",
       [](A) -> R { return {linalg::invpascal(4, {.kind = PascalKind::kUpper})}; }, 1e-9},
      {"linalg::helmert", "jsl.helmert(4)", "", [](A) -> R { return {linalg::helmert(4)}; }},
      {"linalg::helmert.full", "jsl.helmert(3, full=True)", "",
       [](A) -> R { return {linalg::helmert(3, {.full = true})}; }},
      {"linalg::hadamard", "jsl.hadamard(8)", "", [](A) -> R { return {linalg::hadamard(8)}; }},
      {"linalg::hadamard.one", "jsl.hadamard(1, dtype='f4')", "",
       [](A) -> R { return {linalg::hadamard(1, {.dtype = f32})}; }},
      {"linalg::dft", "jsl.dft(5)", "", [](A) -> R { return {linalg::dft(5)}; }},
      {"linalg::dft.scaled", "jsl.dft(4, scale='sqrtn')", "",
       [](A) -> R { return {linalg::dft(4, {.scale = DftScale::kSqrtN})}; }},
      {"linalg::dft.mean", "jsl.dft(3, scale='n', dtype='c8')", "",
       [](A) -> R { return {linalg::dft(3, {.scale = DftScale::kN, .dtype = c64})}; }},
      {"linalg::qr_multiply", "list(jsl.qr_multiply(a, b))", "f64[4,3] f64[2,4]",
       [](A a) -> R {
         const linalg::QrMultiplied made = linalg::qr_multiply(a[0], a[1]);
         return {made.product, made.r};
       }},
      {"linalg::qr_multiply.left", "list(jsl.qr_multiply(a, b, mode='left', conjugate=True))",
       "c128[4,3] c128[3]",
       [](A a) -> R {
         const linalg::QrMultiplied made =
             linalg::qr_multiply(a[0], a[1], {.mode = QrSide::kLeft, .conjugate = true});
         return {made.product, made.r};
       }},
      {"linalg::qr_multiply.pivoting", "list(jsl.qr_multiply(a, b, pivoting=True))",
       "f64[3,3] f64[3]",
       [](A a) -> R {
         const linalg::QrMultiplied made = linalg::qr_multiply(a[0], a[1], {.pivoting = true});
         return {made.product, made.r, made.permutation};
       }},
      {"linalg::expm_frechet", "list(jsl.expm_frechet(a, b))", "f64[3,3] f64[3,3]",
       [](A a) -> R {
         const linalg::ExpmFrechet made = linalg::expm_frechet(a[0], a[1]);
         return {made.expm, made.derivative};
       },
       1e-10},
      {"linalg::funm", "jsl.funm(a, jnp.sin)", "f64[4,4]",
       [](A a) -> R { return {linalg::funm(a[0], [](Array x) { return sin(x); })}; }, 1e-8},
      {"linalg::cross", "jnp.linalg.cross(a, b)", "f64[2,3] f64[3]",
       [](A a) -> R { return {linalg::cross(a[0], a[1])}; }},
      {"linalg::matrix_transpose", "jnp.linalg.matrix_transpose(a)", "f64[2,3,4]",
       [](A a) -> R { return {linalg::matrix_transpose(a[0])}; }},
      {"linalg::multi_dot", "jnp.linalg.multi_dot([a, b, c])", "f64[4] f64[4,2] f64[2,6]",
       [](A a) -> R {
         return {linalg::multi_dot({a[0], a[1], a[2]})};
       }},
      {"linalg::eig",
       "[jnp.sum(jnp.linalg.eig(a)[0]), jnp.abs(jnp.linalg.eig(a)[1]) @ jnp.ones(2)]",
       "f64[2,2]=1,2,0,3",
       [](A a) -> R {
         const linalg::Eig made = linalg::eig(a[0]);
         return {sum(made.eigenvalues), matmul(abs(made.eigenvectors), ones({2}))};
       }},
      {"matrix_trace", "jnp.linalg.trace(a.swapaxes(0, 1), offset=1)", "f64[3,2,4]",
       [](A a) -> R { return {matrix_trace(a[0], {.offset = 1, .dim1 = 0, .dim2 = 2})}; }},
      {"linalg::cho_factor", "jnp.tril(jsl.cho_factor(a @ a.T + 3 * jnp.eye(3), lower=True)[0])",
       "f64[3,3]",
       [](A a) -> R {
         return {linalg::cho_factor(matmul(a[0], a[0].T()) + 3 * eye(3), {.lower = true}).c};
       }},
      {"linalg::lu", "jsl.lu_factor(a)[0]", "f64[3,3]p",
       [](A a) -> R { return {linalg::lu(a[0]).lu}; }},
      {"linalg::solve_triangular", "jsl.solve_triangular(a, b)", "f64[4,4]:1:3 f64[4,2]",
       [](A a) -> R { return {linalg::solve_triangular(a[0], a[1])}; }},
      {"linalg::solve_triangular.of_a_vector",
       "jsl.solve_triangular(a, b, trans=2, lower=True, unit_diagonal=True)", "c128[4,4] c128[4]",
       [](A a) -> R {
         return {linalg::solve_triangular(
             a[0], a[1],
             {.lower = true, .transposed = true, .conjugated = true, .unit_diagonal = true})};
       }},
  };
  return rows;
}

}  // namespace tessera::functions
