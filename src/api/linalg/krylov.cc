// Conjugate gradients, BiCGSTAB and GMRES, over lists of arrays that together are one vector.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "api/linalg/formulas.h"
#include "api/linalg/linear_solve.h"
#include "tessera/control.h"
#include "tessera/solvers.h"

namespace tessera::detail {

using namespace api;

namespace {

constexpr int64_t kMostIterations = std::numeric_limits<int32_t>::max();  // they count in i32

using Operator = std::function<Arrays(const Arrays&)>;

// Vectors are lists of arrays.
class Vectors {
 public:
  explicit Vectors(Call call) : f_(call) {}
  Array Dot(const Arrays& a, const Arrays& b) const {
    Array sum;
    for (size_t i = 0; i < a.size(); ++i) {
      const Array part = reduce_sum(f_.Mul(a[i], b[i]), All, {}, f_.loc());
      sum = i == 0 ? part : f_.Add(sum, part);
    }
    return sum;
  }
  // a + scale * b
  Arrays Plus(const Arrays& a, const Array& scale, const Arrays& b) const {
    Arrays out;
    for (size_t i = 0; i < a.size(); ++i) out.push_back(f_.Add(a[i], f_.Mul(scale, b[i])));
    return out;
  }
  Arrays Minus(const Arrays& a, const Array& scale, const Arrays& b) const {
    Arrays out;
    for (size_t i = 0; i < a.size(); ++i) out.push_back(f_.Sub(a[i], f_.Mul(scale, b[i])));
    return out;
  }
  Arrays Minus(const Arrays& a, const Arrays& b) const {
    Arrays out;
    for (size_t i = 0; i < a.size(); ++i) out.push_back(f_.Sub(a[i], b[i]));
    return out;
  }
  Arrays Where(const Array& c, const Arrays& a, const Arrays& b) const {
    Arrays out;
    for (size_t i = 0; i < a.size(); ++i) out.push_back(f_.Where(c, a[i], b[i]));
    return out;
  }
  const MatrixFormulas& f() const { return f_; }

 private:
  MatrixFormulas f_;
};

struct Krylov {
  Operator matvec, preconditioner;  // the latter may be null
  double tol, atol;
  int64_t maxiter, restart;
  Vectors v;

  Arrays Preconditioned(const Arrays& r) const { return preconditioner ? preconditioner(r) : r; }
  // The square of the norm that ends the iteration.
  Array Goal(const Arrays& b) const {
    const Array relative = v.f().Scaled(v.Dot(b, b), tol * tol);
    return maximum(relative, Operand(atol * atol, v.f().loc()), {}, v.f().loc());
  }
  Array Count(int64_t n) const { return StrongScalar(n, i32, v.f().call()); }
  // Returns x, and the number: 0, or k if the norm is above the goal, or NaN. If there was no
  // iteration, k is -1.
  Arrays Result(Arrays x, const Array& norm2, const Array& goal, const Array& k) const {
    const Loc loc = v.f().loc();
    const Array failed = v.f().Where(eq(k, Count(0), {}, loc), Count(-1), k);
    x.push_back(v.f().Where(le(norm2, goal, {}, loc), Count(0), failed));
    return x;
  }
};

Arrays Cg(const Krylov& c, const Arrays& b, const Arrays& x0) {
  const Vectors& v = c.v;
  const MatrixFormulas& f = v.f();
  const Loc loc = f.loc();
  const Array goal = c.Goal(b);
  using State = std::tuple<Arrays, Arrays, Arrays, Array, Array, Array>;
  const auto going = [=](State s) {
    const auto& [x, r, p, gamma, norm2, k] = s;
    return bitwise_and(gt(norm2, goal, {}, loc), lt(k, Operand(c.maxiter, loc), {}, loc), {}, loc);
  };
  const auto step = [=](State s) {
    const auto& [x, r, p, gamma, norm2, k] = s;
    const Arrays ap = c.matvec(p);
    const Array alpha = f.Div(gamma, v.Dot(p, ap));
    const Arrays next = v.Minus(r, alpha, ap), z = c.Preconditioned(next);
    const Array next_gamma = v.Dot(next, z);
    return State(v.Plus(x, alpha, p), next, v.Plus(z, f.Div(next_gamma, gamma), p), next_gamma,
                 c.preconditioner ? v.Dot(next, next) : next_gamma, f.Add(k, c.Count(1)));
  };
  const Arrays r = v.Minus(b, c.matvec(x0)), z = c.Preconditioned(r);
  const Array gamma = v.Dot(r, z);
  const auto [x, rest, p, last, norm2, k] = while_loop(
      going, step, State(x0, r, z, gamma, c.preconditioner ? v.Dot(r, r) : gamma, c.Count(0)), loc);
  return c.Result(x, norm2, goal, k);
}

// As in JAX, the number of iterations becomes -10 or -11 where a division by zero would follow.
Arrays Bicgstab(const Krylov& c, const Arrays& b, const Arrays& x0) {
  const Vectors& v = c.v;
  const MatrixFormulas& f = v.f();
  const Loc loc = f.loc();
  const Array goal = c.Goal(b);
  using State = std::tuple<Arrays, Arrays, Arrays, Arrays, Array, Array, Array, Array, Array>;
  const Arrays shadow = v.Minus(b, c.matvec(x0));
  const auto going = [=](State s) {
    const auto& [x, r, p, q, alpha, omega, rho, norm2, k] = s;
    const Array above = gt(norm2, goal, {}, loc);
    const Array in_range = bitwise_and(lt(k, Operand(c.maxiter, loc), {}, loc),
                                       ge(k, Operand(0, loc), {}, loc), {}, loc);
    return bitwise_and(above, in_range, {}, loc);
  };
  const auto step = [=](State state) {
    const auto& [x, r, p, q, alpha, omega, rho, norm2, k] = state;
    const Array next_rho = v.Dot(shadow, r);
    const Array beta = f.Mul(f.Div(next_rho, rho), f.Div(alpha, omega));
    const Arrays next_p = v.Plus(r, beta, v.Minus(p, omega, q));
    const Arrays p_hat = c.Preconditioned(next_p), next_q = c.matvec(p_hat);
    const Array next_alpha = f.Div(next_rho, v.Dot(shadow, next_q));
    const Arrays s = v.Minus(r, next_alpha, next_q);
    const Array early = lt(v.Dot(s, s), goal, {}, loc);
    const Arrays s_hat = c.Preconditioned(s), t = c.matvec(s_hat);
    const Array next_omega = f.Div(v.Dot(t, s), v.Dot(t, t));
    const Arrays half = v.Plus(x, next_alpha, p_hat);
    const Arrays next_r = v.Where(early, s, v.Minus(s, next_omega, t));
    const Array zero = f.NumberLike(next_rho, 0);
    const auto is_zero = [&](const Array& y) { return eq(y, zero, {}, loc); };
    const Array stuck = bitwise_or(is_zero(next_omega), is_zero(next_alpha), {}, loc);
    Array next_k = f.Where(stuck, c.Count(-11), f.Add(k, c.Count(1)));
    next_k = f.Where(is_zero(next_rho), c.Count(-10), next_k);
    next_k = f.Where(early, f.Add(k, c.Count(1)), next_k);
    return State(v.Where(early, half, v.Plus(half, next_omega, s_hat)), next_r, next_p, next_q,
                 next_alpha, next_omega, next_rho, v.Dot(next_r, next_r), next_k);
  };
  const Array norm2 = v.Dot(shadow, shadow), one = ones_like(norm2, {}, loc);
  const auto [x, r, p, q, alpha, omega, rho, last, k] = while_loop(
      going, step, State(x0, shadow, shadow, shadow, one, one, one, norm2, c.Count(0)), loc);
  return c.Result(x, last, goal, k);
}

// Returns the coefficients [n] of a vector along each of the stacked vectors [n, ...].
Array Along(const Arrays& stacked, const Arrays& w, const MatrixFormulas& f) {
  Array sum;
  for (size_t i = 0; i < w.size(); ++i) {
    std::vector<int64_t> dims;
    for (int64_t d = 1; d < Rank(stacked[i]); ++d) dims.push_back(d);
    const Array part =
        reduce_sum(f.Mul(stacked[i], expand_dims(w[i], {0}, f.loc())), dims, {}, f.loc());
    sum = i == 0 ? part : f.Add(sum, part);
  }
  return sum;
}
// Returns the sum of the stacked vectors [n, ...] with these coefficients [n].
Arrays Combined(const Arrays& stacked, const Array& coefficients, const MatrixFormulas& f) {
  Arrays out;
  for (const Array& s : stacked) {
    base::Shape shape(ShapeOf(s).size(), 1);
    shape[0] = ShapeOf(s)[0];
    out.push_back(reduce_sum(f.Mul(s, Reshape(coefficients, shape, f.call())), {0}, {}, f.loc()));
  }
  return out;
}

// A cycle of GMRES: an orthonormal basis of the Krylov space by Gram-Schmidt, applied twice, and
// the least squares solution in it.
Arrays GmresCycle(const Krylov& c, const Arrays& x, const Arrays& residual) {
  const Vectors& v = c.v;
  const MatrixFormulas& f = v.f();
  const Loc loc = f.loc();
  const int64_t n = c.restart;
  const Array beta = sqrt(v.Dot(residual, residual), loc), zero = f.NumberLike(beta, 0);
  const double small = EpsilonOf(TypeOf(beta)->dtype());
  const auto is_at = [&](const Array& k, int64_t size) {
    return eq(iota({size}, 0, {.dtype = i32}, loc), k, {}, loc);
  };
  // Puts a vector into slot k of the stack.
  const auto placed = [=](const Arrays& stack, const Arrays& w, const Array& k) {
    Arrays out;
    for (size_t i = 0; i < stack.size(); ++i) {
      base::Shape shape(ShapeOf(stack[i]).size(), 1);
      shape[0] = ShapeOf(stack[i])[0];
      out.push_back(f.Where(Reshape(is_at(k, shape[0]), shape, f.call()),
                            expand_dims(w[i], {0}, loc), stack[i]));
    }
    return out;
  };
  const auto scaled = [=](const Arrays& w, const Array& norm, const Array& least) {
    const Array keep = gt(norm, least, {}, loc);
    const Array inverse = f.Where(keep, f.Div(f.NumberLike(norm, 1), norm), zero);
    Arrays out;
    for (const Array& a : w) out.push_back(f.Mul(a, inverse));
    return out;
  };
  Arrays stack;
  for (const Array& r : residual) {
    base::Shape shape = ShapeOf(r);
    shape.insert(shape.begin(), n + 1);
    stack.push_back(f.Add(zeros(shape, {.dtype = TypeOf(r)->dtype()}, loc),
                          zeros_like(expand_dims(r, {0}, loc), {}, loc)));
  }
  stack = placed(stack, scaled(residual, beta, zero), c.Count(0));
  using State = std::pair<Arrays, Array>;
  const auto step = [=](Array i, State s) {
    const Array k = convert_element_type(i, i32, loc);
    const Arrays& basis = s.first;
    const Array here = convert_element_type(is_at(k, n + 1), TypeOf(zero)->dtype(), loc);
    Arrays w = c.Preconditioned(c.matvec(Combined(basis, here, f)));
    const Array size = sqrt(v.Dot(w, w), loc);
    const Array first = Along(basis, w, f);
    w = v.Minus(w, Combined(basis, first, f));
    const Array second = Along(basis, w, f);
    w = v.Minus(w, Combined(basis, second, f));
    const Array norm = sqrt(v.Dot(w, w), loc), least = f.Scaled(size, small);
    const Array below = is_at(f.Add(k, c.Count(1)), n + 1);
    const Array kept = f.Where(gt(norm, least, {}, loc), norm, zero);
    const Array column = f.Add(f.Add(first, second), f.Where(below, kept, zero));
    return State(placed(basis, scaled(w, norm, least), f.Add(k, c.Count(1))),
                 f.Where(f.Row(is_at(k, n)), f.Column(column), s.second));
  };
  const Array h = zeros({n + 1, n}, {.dtype = TypeOf(zero)->dtype()}, loc);
  const auto [basis, hessenberg] = fori_loop(0, n, step, State(stack, h), {}, loc);
  const Array side = f.Where(is_at(c.Count(0), n + 1), beta, zero);
  const Array y = linalg::lstsq(hessenberg, side, {}, loc).x;
  Arrays out;
  for (size_t i = 0; i < x.size(); ++i) {
    const Arrays moved =
        Combined({f.Slice(basis[i], static_cast<int>(Rank(basis[i])), 0, n)}, y, f);
    out.push_back(f.Add(x[i], moved[0]));
  }
  return out;
}

Arrays Gmres(const Krylov& c, const Arrays& b, const Arrays& x0) {
  const Vectors& v = c.v;
  const MatrixFormulas& f = v.f();
  const Loc loc = f.loc();
  // The preconditioned residual shrinks by the same factor as the residual shall.
  const Array norm2 = v.Dot(b, b);
  const Arrays side = c.Preconditioned(b);
  const Array zero = f.NumberLike(norm2, 0), one = f.NumberLike(norm2, 1);
  const Array ratio = f.Div(c.Goal(b), f.Where(gt(norm2, zero, {}, loc), norm2, one));
  const Array goal = f.Mul(v.Dot(side, side), minimum(ratio, one, {}, loc));
  const auto rest = [=](const Arrays& x) { return c.Preconditioned(v.Minus(b, c.matvec(x))); };
  using State = std::tuple<Arrays, Arrays, Array, Array>;
  const auto going = [=](State s) {
    const auto& [x, r, left, k] = s;
    return bitwise_and(gt(left, goal, {}, loc), lt(k, Operand(c.maxiter, loc), {}, loc), {}, loc);
  };
  const auto step = [=](State s) {
    const auto& [x, r, left, k] = s;
    const Arrays next = GmresCycle(c, x, r), next_r = rest(next);
    return State(next, next_r, v.Dot(next_r, next_r), f.Add(k, c.Count(1)));
  };
  const Arrays r = rest(x0);
  const auto [x, last, left, k] =
      while_loop(going, step, State(x0, r, v.Dot(r, r), c.Count(0)), loc);
  return c.Result(x, left, goal, k);
}

// C17: the numbers of a call must be in range.
void CheckNumbers(const KrylovCall& k, Call call) {
  const auto check = [&](const char* name, double value, double least) {
    if (!(value >= least))
      FailShape(call, 17, fmt::format("{} is {}, but must be at least {}", name, value, least));
  };
  check("tol", k.tol, 0);
  check("atol", k.atol, 0);
  if (k.maxiter) check("maxiter", static_cast<double>(*k.maxiter), 0);
  if (k.method == KrylovMethod::kGmres) check("restart", static_cast<double>(k.restart), 1);
}

Operator AsOperator(const Body& body) {
  if (!body) return nullptr;
  return [body](const Arrays& x) { return body(x).arrays; };
}

}  // namespace

std::vector<Array> CallKrylov(const KrylovCall& k) {
  static constexpr const char* kNames[] = {"cg", "gmres", "bicgstab"};
  const Call call{kNames[static_cast<size_t>(k.method)], k.loc};
  CheckNumbers(k, call);
  Leaves b = trace::TakeArrays(k.b, trace::kArguments);
  BringIn(b, call);
  Arrays right, start = k.x0;
  int64_t size = 0;
  for (const Array& x : b.arrays) {
    right.push_back(ToFloat(Operand(x, k.loc), call));
    CheckReal(right.back(), call);
    size += TypeOf(x)->elements();
    if (k.x0.empty()) start.push_back(zeros_like(right.back(), {}, k.loc));
  }
  const int64_t restart = std::min(k.restart, std::max<int64_t>(size, 1));
  const auto solver = [=](const Body& matvec) {
    return [=](const Arrays& side) {
      const Krylov c{AsOperator(matvec),
                     AsOperator(k.preconditioner),
                     k.tol,
                     k.atol,
                     std::min<int64_t>(k.maxiter.value_or(10 * size), kMostIterations),
                     restart,
                     Vectors(call)};
      Arrays x = k.method == KrylovMethod::kCg      ? Cg(c, side, start)
                 : k.method == KrylovMethod::kGmres ? Gmres(c, side, start)
                                                    : Bicgstab(c, side, start);
      return FunctionResult{std::move(x), {}};
    };
  };
  // Conjugate gradients need a symmetric function.
  const Body& transposed = k.method == KrylovMethod::kCg ? k.matvec : k.transpose_matvec;
  return SolveEquation({.matvec = k.matvec,
                        .solve = solver(k.matvec),
                        .transpose_matvec = transposed,
                        .transpose_solve = solver(transposed)},
                       right, call)
      .arrays;
}

}  // namespace tessera::detail
