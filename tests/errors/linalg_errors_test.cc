// Wrong shapes, dtypes and shardings of matrices.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::linalg_errors_test {
namespace {

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"cholesky_vector", [] { linalg::cholesky(ones({4})); }},
      {"cholesky_wide",
       [] {
         linalg::cholesky(ones({2, 3}));
       }},
      {"cholesky_half",
       [] {
         linalg::cholesky(ones({2, 2}, f16));
       }},
      {"cholesky_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::cholesky(abstract_array("f32[8@x,8]"), {.symmetrize_input = false});
       }},
      {"cholesky_update_size",
       [] {
         linalg::cholesky_update(ones({2, 2}), ones({3}));
       }},
      {"lu_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::lu(abstract_array("f32[8@x,8]"));
       }},
      {"qr_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::qr(abstract_array("c64[8,8@x]"));
       }},
      {"solve_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::solve(abstract_array("f32[8@x,8]"), abstract_array("f32[8,4]"));
       }},
      {"solve_triangular_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::solve_triangular(abstract_array("f32[8@x,8]"), abstract_array("f32[8]"),
                                  {.lower = true});
       }},
      {"matrix_norm_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::matrix_norm(abstract_array("f32[8@x,8]"), {.ord = "nuc", .keepdims = true});
       }},
      {"tensorsolve_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::tensorsolve(abstract_array("f32[4,8@x,2]"), abstract_array("f32[8]"),
                             {.dims = {0}});
       }},
      {"qr_multiply_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::qr_multiply(abstract_array("f32[8@x,4]"), abstract_array("f32[2,8]"),
                             {.conjugate = true});
       }},
      {"schur_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::schur(abstract_array("f32[8@x,8]"), {.complex = true});
       }},
      {"solve_sylvester_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::solve_sylvester(abstract_array("f32[4@x,4]"), abstract_array("f32[4,4]"),
                                 abstract_array("f32[4,4]"), {.tol = 1e-4});
       }},
      {"lu_solve_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::lu_solve({abstract_array("f32[4@x,4]"), abstract_array("i32[4]")},
                          abstract_array("f32[4]"), {.transposed = true});
       }},
      {"cho_solve_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::cho_solve({abstract_array("f32[4@x,4]"), true}, abstract_array("f32[4]"));
       }},
      {"eigh_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::eigh(abstract_array("f32[8@x,8]"), {.upper = true});
       }},
      {"triangular_solve_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
         linalg::triangular_solve(abstract_array("f32[8@x,8@y]"), abstract_array("f32[8,4]"),
                                  {.left_side = true, .lower = true});
       }},
      {"eigh_sharded_matrix",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
         linalg::eigh(abstract_array("f32[8@x,8@y]"));
       }},
      {"lstsq_sharded_matrix",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
         linalg::lstsq(abstract_array("f32[8@x,4]"), abstract_array("f32[8]"));
       }},
      {"inv_sharded_matrix",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
         linalg::inv(abstract_array("f32[8,8@y]"));
       }},
      {"det_sharded_matrix",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
         linalg::det(abstract_array("f32[8@x,8]"));
       }},
      {"triangular_solve_sizes",
       [] {
         linalg::triangular_solve(ones({3, 3}), ones({4, 2}), {.left_side = true});
       }},
      {"triangular_solve_batch",
       [] {
         linalg::triangular_solve(ones({2, 3, 3}), ones({4, 2, 3}));
       }},
      {"triangular_solve_dtypes",
       [] {
         linalg::triangular_solve(ones({3, 3}), ones({2, 3}, f64));
       }},
      {"solve_right_side",
       [] {
         linalg::solve(ones({3, 3}), ones({4, 2}));
       }},
      {"solve_batch",
       [] {
         linalg::solve(ones({2, 3, 3}), ones({4, 3, 1}));
       }},
      {"householder_wide",
       [] {
         linalg::householder_product(ones({2, 3}), ones({2}));
       }},
      {"householder_taus",
       [] {
         linalg::householder_product(ones({3, 2}), ones({3}));
       }},
      {"hessenberg_empty",
       [] {
         linalg::hessenberg(ones({0, 0}));
       }},
      {"cond_empty",
       [] {
         linalg::cond(ones({0, 3}));
       }},
      {"lstsq_right_side",
       [] {
         linalg::lstsq(ones({3, 2}), ones({4}));
       }},
      {"cross_size", [] { linalg::cross(ones({2}), ones({2})); }},
      {"multi_dot_one",
       [] {
         linalg::multi_dot({ones({2, 2})});
       }},
      {"norm_of_vector_by_name", [] { norm(ones({3}), 0, {.ord = "nuc"}); }},
      {"svd_of_full_matrices",
       [] {
         grad([](Array x) { return sum(linalg::svd(x).u); })(ones({3, 2}));
       }},
      {"schur_derivative",
       [] {
         grad([](Array x) { return sum(linalg::schur(x).t); })(ones({2, 2}));
       }},
      {"sqrtm_derivative",
       [] {
         grad([](Array x) { return sum(abs(linalg::sqrtm(x))); })(ones({2, 2}));
       }},
      {"eig_wide",
       [] {
         linalg::eig(ones({2, 3}));
       }},
      {"eig_half",
       [] {
         linalg::eigvals(ones({2, 2}, bf16));
       }},
      {"eigh_tridiagonal_sizes", [] { linalg::eigh_tridiagonal(ones({3}), ones({3})); }},
      {"rsf2csf_shapes",
       [] {
         linalg::rsf2csf({ones({2, 2}), ones({3, 3})});
       }},
      {"sylvester_sizes",
       [] {
         linalg::solve_sylvester(ones({2, 2}), ones({3, 3}), ones({3, 2}));
       }},
      {"block_diag_rank",
       [] {
         linalg::block_diag({ones({2, 2}), ones({1, 2, 2})});
       }},
      {"toeplitz_batch",
       [] {
         linalg::toeplitz(ones({2, 3}), ones({3, 3}));
       }},
      {"tensorinv_ind",
       [] {
         linalg::tensorinv(ones({2, 2}), 3);
       }},
      {"tensorinv_sizes",
       [] {
         linalg::tensorinv(ones({2, 3, 4}));
       }},
      {"tensorsolve_sizes",
       [] {
         linalg::tensorsolve(ones({2, 3, 4}), ones({2}));
       }},
      {"linear_solve_in_reverse",
       [] {
         grad([](Array b) {
           return sum(custom_linear_solve([](Array x) { return 2 * x; }, b,
                                          [](auto, Array r) { return r / 2; }));
         })(ones({3}));
       }},
      {"cg_history", [] { linalg::cg(eye(2), ones({2}), {.history = -1}); }},
      {"minres_maxiter", [] { linalg::minres(eye(2), ones({2}), {.maxiter = -1}); }},
      {"lobpcg_many",
       [] {
         linalg::lobpcg_standard(eye(10), ones({10, 2}));
       }},
      {"lobpcg_function",
       [] {
         linalg::lobpcg_standard([](Array x) { return sum(x); }, ones({10, 1}));
       }},
      {"linear_solve_types",
       [] {
         jit([](Array b) {
           return custom_linear_solve([](Array x) { return sum(x); }, b,
                                      [](auto, Array r) { return r / 2; });
         })(ones({3}));
       }},
      {"root_types",
       [] {
         jit([](Array x0) {
           return custom_root([](Array x) { return sum(x); }, x0, [](auto, Array x) { return x; },
                              [](auto, Array y) { return y; });
         })(ones({3}));
       }},
  };
  return cases;
}

class LinalgErrors : public testing::TestWithParam<RefusedCase> {};

TEST_P(LinalgErrors, AreClear) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("linalg_") + c.name, c.program);
  ExpectUsable();
}

INSTANTIATE_CASES(LinalgErrors, Cases());

}  // namespace
}  // namespace tessera::linalg_errors_test
