// Solutions of equations whose functions are code: linear equations of any linear function, and
// roots. Derivatives are implicit: they solve a linear equation at the solution and do not
// differentiate the solver.
//
//   auto laplacian = [](Array x) { return 2 * x - roll(x, 1, 0) - roll(x, -1, 0) + x; };
//   auto [x, info] = linalg::cg(laplacian, b, {.tol = 1e-8});
//
// Functions take and return a tree (tree.h) like b, and may capture arrays; derivatives with
// respect to these exist.
#pragma once
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tessera/gradients.h"
#include "tessera/linalg.h"

namespace TESSERA_PUBLIC tessera {

// As the transposed solution of custom_linear_solve: the function is its own transpose.
struct SymmetricSolve {};
inline constexpr SymmetricSolve kSymmetricSolve{};

namespace detail {

// Functions of trees like b, without their types. Null ones are not given.
struct LinearSolveCall {
  TreeRef b;  // a tuple
  Body matvec, solve, transpose_matvec, transpose_solve;
  Loc loc;
};
FunctionResult CallLinearSolve(const LinearSolveCall& call);

struct RootCall {
  TreeRef guess;             // a tuple
  Body f, solve;             // of a tree like the guess
  Body linearise_and_solve;  // of two trees like the guess: the solution, and the right side
  Loc loc;
};
FunctionResult CallCustomRoot(const RootCall& call);

enum class KrylovMethod { kCg, kMinres, kGmres, kBicgstab };
struct KrylovCall {
  KrylovMethod method;
  TreeRef b;  // a tuple
  Body matvec, transpose_matvec, preconditioner;
  std::vector<Array> x0;  // empty: zeros
  double tol, atol;
  std::optional<int64_t> maxiter;
  int64_t restart, history;
  std::function<void(int64_t, double)> monitor;
  Loc loc;
};
// Returns the arrays of x, and then the other fields of a KrylovResult.
std::vector<Array> CallKrylov(const KrylovCall& call);

// The transpose of a linear function of trees like `like`, as a function.
template <class X>
auto TransposeOf(const std::function<X(X)>& f, const X& like, Loc loc) {
  return [&f, &like, loc](X cotangent) { return linear_transpose(f, like, loc)(cotangent, loc); };
}

}  // namespace detail

// Returns solve(matvec, b), the solution x of matvec(x) = b for a linear function matvec. The
// derivative with respect to b, and to arrays that matvec captures, is `solve` for another right
// side. `solve` returns x, or the pair of x and other values, which have no derivative.
// transpose_solve(vecmat, c) solves the transposed equation for derivatives in reverse; it is
// kSymmetricSolve if matvec is its own transpose. Without it there are only derivatives forward.
// Throws TraceError if a function returns other types than those of b.
template <class Matvec, class B, class Solve, class TransposeSolve = std::nullptr_t>
auto custom_linear_solve(Matvec matvec, B b, Solve solve, TransposeSolve transpose_solve = {},
                         Loc loc = Loc::Current()) {
  using X = detail::Traced<B>;
  std::tuple<X> arguments{X(std::move(b))};
  const std::function<X(X)> a = matvec;
  const std::function<X(X)> transposed = detail::TransposeOf(a, std::get<0>(arguments), loc);
  const auto solved = [&](X right) { return solve(a, std::move(right)); };
  using R = detail::Traced<std::invoke_result_t<decltype(solved), X>>;
  detail::LinearSolveCall call{.b = arguments,
                               .matvec = detail::BodyOf<X>(a, arguments, loc),
                               .solve = detail::BodyOf<R>(solved, arguments, loc),
                               .transpose_matvec = {},
                               .transpose_solve = {},
                               .loc = loc};
  const auto solved_back = [&](X right) {
    if constexpr (std::is_same_v<TransposeSolve, SymmetricSolve> ||
                  std::is_null_pointer_v<TransposeSolve>)
      return solve(a, std::move(right));
    else
      return transpose_solve(transposed, std::move(right));
  };
  using Back = detail::Traced<std::invoke_result_t<decltype(solved_back), X>>;
  if constexpr (!std::is_null_pointer_v<TransposeSolve>) {
    call.transpose_solve = detail::BodyOf<Back>(solved_back, arguments, loc);
    call.transpose_matvec = std::is_same_v<TransposeSolve, SymmetricSolve>
                                ? call.matvec
                                : detail::BodyOf<X>(transposed, arguments, loc);
  }
  return detail::CallLinearSolve(call).template As<R>();
}

// Returns solve(f, guess), a root x of f: f(x) = 0. The derivative with respect to arrays that f
// captures follows from the equation: tangent_solve(g, y) returns the solution v of g(v) = y, where
// g is the derivative of f at x. Throws TraceError if a function returns other types than those of
// the guess.
template <class F, class Guess, class Solve, class TangentSolve>
auto custom_root(F f, Guess guess, Solve solve, TangentSolve tangent_solve,
                 Loc loc = Loc::Current()) {
  using X = detail::Traced<Guess>;
  std::tuple<X> arguments{X(std::move(guess))};
  std::tuple<X, X> both{std::get<0>(arguments), std::get<0>(arguments)};
  const std::function<X(X)> residual = f;
  const auto solved = [&](X start) -> X { return solve(residual, std::move(start)); };
  const auto tangents = [&](X x, X y) -> X {
    const std::function<X(X)> derivative = [&](X v) {
      return jvp(residual, std::tuple<X>(x), std::tuple<X>(std::move(v)), loc).second;
    };
    return tangent_solve(derivative, std::move(y));
  };
  return detail::CallCustomRoot({.guess = arguments,
                                 .f = detail::BodyOf<X>(residual, arguments, loc),
                                 .solve = detail::BodyOf<X>(solved, arguments, loc),
                                 .linearise_and_solve = detail::BodyOf<X>(tangents, both, loc),
                                 .loc = loc})
      .template As<X>();
}

namespace linalg {

template <class X>
struct KrylovOptions {
  std::optional<X> x0 = {};  // the start; default: zeros
  double tol = 1e-5;         // ends when the norm of b - a(x) is at most max(tol |b|, atol)
  double atol = 0;
  std::optional<int64_t> maxiter = {};   // default: 10 times the number of elements of b
  std::function<X(X)> preconditioner{};  // an approximate inverse of a
  int64_t restart = 20;  // of gmres: iterations per restart; maxiter counts restarts
  int64_t history = 0;  // norms of residuals that the result keeps: the start's, and those after it
  // Is called with the number of iterations and the norm of the residual: first with 0 and the norm
  // at x0, then after each iteration, as a debug_callback (debug.h). Solvers for derivatives in
  // reverse do not call it. If it throws, the solver ends with a RuntimeError.
  std::function<void(int64_t iteration, double residual)> monitor{};
};
// `auto [x, info] = cg(a, b)` takes the first two fields; the others are taken by name. A result is
// a tree (tree.h).
template <class X>
struct KrylovResult {
  X x;
  // i32 []: 0, or the number of iterations (of gmres: restarts) if they did not suffice. Below 0:
  // -1 if there was no iteration, as for NaN in b or a(x0), and -10 or -11 if bicgstab had to
  // divide by zero.
  Array info;
  Array iterations;  // i32 []: of gmres, all iterations of all its restarts
  // []: the norm of b - a(x) at the end, as the solver updates it. Of gmres: the norm of the
  // preconditioned residual, here and in the history.
  Array residual;
  Array history;  // [.history]: the norm after 0, 1, 2, ... iterations; NaN after the last

  template <size_t i>
  const auto& get() const {
    if constexpr (i == 0)
      return x;
    else
      return info;
  }
};
template <class X>
auto tree_fields(KrylovResult<X>& r) {
  return Fields("x", r.x, "info", r.info, "iterations", r.iterations, "residual", r.residual,
                "history", r.history);
}

// The argument a of the solvers: a linear function of trees like b, or a matrix [n, n].
template <class A, class X>
KrylovResult<X> SolveByKrylov(detail::KrylovMethod method, const A& a, const X& b,
                              const KrylovOptions<X>& options, Loc loc) {
  std::tuple<X> arguments{b};
  std::function<X(X)> matvec;
  if constexpr (std::is_convertible_v<A, Array>)
    matvec = [&](X x) { return matmul(a, x, {}, loc); };
  else
    matvec = a;
  const std::function<X(X)> transposed = detail::TransposeOf(matvec, b, loc);
  detail::KrylovCall call{.method = method,
                          .b = arguments,
                          .matvec = detail::BodyOf<X>(matvec, arguments, loc),
                          .transpose_matvec = detail::BodyOf<X>(transposed, arguments, loc),
                          .preconditioner = {},
                          .x0 = {},
                          .tol = options.tol,
                          .atol = options.atol,
                          .maxiter = options.maxiter,
                          .restart = options.restart,
                          .history = options.history,
                          .monitor = options.monitor,
                          .loc = loc};
  if (options.preconditioner)
    call.preconditioner = detail::BodyOf<X>(options.preconditioner, arguments, loc);
  if (options.x0) call.x0 = detail::FunctionResult::Of(detail::AnyTree::Of(*options.x0)).arrays;
  std::vector<Array> made = detail::CallKrylov(call);
  const std::vector<Array> others(made.end() - 4, made.end());
  made.resize(made.size() - 4);
  return {detail::Rebuilt(b, made), others[0], others[1], others[2], others[3]};
}

// Returns the solution of a(x) = b for a symmetric positive definite a, by conjugate gradients.
template <class A, class X>
KrylovResult<X> cg(const A& a, X b, KrylovOptions<std::type_identity_t<X>> options = {},
                   Loc loc = Loc::Current()) {
  return SolveByKrylov(detail::KrylovMethod::kCg, a, b, options, loc);
}
// Returns the solution of a(x) = b for a symmetric a, which need not be definite, by MINRES (Paige
// and Saunders, 1975). The preconditioner must be symmetric positive definite.
template <class A, class X>
KrylovResult<X> minres(const A& a, X b, KrylovOptions<std::type_identity_t<X>> options = {},
                       Loc loc = Loc::Current()) {
  return SolveByKrylov(detail::KrylovMethod::kMinres, a, b, options, loc);
}
// Returns the solution of a(x) = b for any regular a, by restarted GMRES (Saad and Schultz, 1986),
// preconditioned on the left.
template <class A, class X>
KrylovResult<X> gmres(const A& a, X b, KrylovOptions<std::type_identity_t<X>> options = {},
                      Loc loc = Loc::Current()) {
  return SolveByKrylov(detail::KrylovMethod::kGmres, a, b, options, loc);
}
// Returns the solution of a(x) = b for any regular a, by BiCGSTAB (van der Vorst, 1992). Breakdowns
// are -10 and -11.
template <class A, class X>
KrylovResult<X> bicgstab(const A& a, X b, KrylovOptions<std::type_identity_t<X>> options = {},
                         Loc loc = Loc::Current()) {
  return SolveByKrylov(detail::KrylovMethod::kBicgstab, a, b, options, loc);
}

struct LobpcgOptions {
  int64_t maxiter = 100;
  // A pair of value w and vector v has converged if |a v - w v| is below tol * 10 n (|a v| + |w|);
  // default: epsilon.
  std::optional<double> tol = {};
};
struct Lobpcg {
  Array eigenvalues;   // [k], descending
  Array eigenvectors;  // [n, k], in columns; sharded like x
  Array iterations;    // i32 []
};
// Returns the k largest eigenvalues of a symmetric matrix [n, n], or of a linear function of arrays
// [n, m], by LOBPCG (Knyazev, 2001) from the columns of x [n, k], which must be linearly
// independent. The function is given m = k and 3 k. Rows of x may be sharded, if a(x) is sharded
// alike. It has no derivative in reverse. Throws ShapeError unless 0 < 5 k < n.
Lobpcg lobpcg_standard(const std::function<Array(Array)>& a, Operand x, LobpcgOptions options = {},
                       Loc loc = Loc::Current());
Lobpcg lobpcg_standard(Operand a, Operand x, LobpcgOptions options = {}, Loc loc = Loc::Current());

}  // namespace linalg
}  // namespace tessera

namespace std {
template <class X>
struct tuple_size<tessera::linalg::KrylovResult<X>> : integral_constant<size_t, 2> {};
template <class X>
struct tuple_element<0, tessera::linalg::KrylovResult<X>> {
  using type = X;
};
template <class X>
struct tuple_element<1, tessera::linalg::KrylovResult<X>> {
  using type = tessera::Array;
};
}  // namespace std
