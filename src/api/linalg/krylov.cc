// Conjugate gradients, MINRES, BiCGSTAB and GMRES, over lists of arrays that together are one
// vector.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "api/linalg/formulas.h"
#include "api/linalg/linear_solve.h"
#include "tessera/control.h"
#include "tessera/debug.h"
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
  int64_t maxiter, restart, history;
  std::function<void(int64_t, double)> monitor;  // may be null
  Vectors v;

  Arrays Preconditioned(const Arrays& r) const { return preconditioner ? preconditioner(r) : r; }
  // The square of the norm that ends the iteration.
  Array Goal(const Arrays& b) const {
    const Array relative = v.f().Scaled(v.Dot(b, b), tol * tol);
    return maximum(relative, Operand(atol * atol, v.f().loc()), {}, v.f().loc());
  }
  Array Count(int64_t n) const { return StrongScalar(n, i32, v.f().call()); }
  // Whether the iteration goes on after k steps.
  Array IsGoing(const Array& norm2, const Array& goal, const Array& k) const {
    const Loc loc = v.f().loc();
    return bitwise_and(gt(norm2, goal, {}, loc), lt(k, Operand(maxiter, loc), {}, loc), {}, loc);
  }
  // Whether a slot of `size` is slot k.
  Array IsAt(const Array& k, int64_t size) const {
    return eq(iota({size}, 0, {.dtype = i32}, v.f().loc()), k, {}, v.f().loc());
  }
  // Return the norms so far after step k, which the monitor sees. The list is empty unless the user
  // asked for a history.
  Arrays Started(const Array& norm2) const {
    Arrays none;
    if (history > 0)
      none = {v.f().Where(IsAt(Count(-1), history), norm2,
                          v.f().NumberLike(norm2, std::numeric_limits<double>::quiet_NaN()))};
    return Noted(none, Count(0), sqrt(norm2, v.f().loc()));
  }
  Arrays Noted(Arrays norms, const Array& k, const Array& norm) const {
    if (monitor)
      debug_callback(
          [see = monitor](const Array& step, const Array& size) {
            see(step.item<int>(), size.item<double>());
          },
          {k, norm}, {}, v.f().loc());
    for (Array& kept : norms) kept = v.f().Where(IsAt(k, history), norm, kept);
    return norms;
  }
  // Returns x and the other arrays of a KrylovResult. Below 0, `status` is a breakdown. If there
  // was no step, it is -1.
  Arrays Result(Arrays x, const Array& norm2, const Array& goal, const Array& k,
                const Arrays& norms, std::optional<Array> status = {}) const {
    const MatrixFormulas& f = v.f();
    const Loc loc = f.loc();
    Array failed = f.Where(eq(k, Count(0), {}, loc), Count(-1), k);
    if (status) failed = f.Where(lt(*status, Count(0), {}, loc), *status, failed);
    x.push_back(f.Where(le(norm2, goal, {}, loc), Count(0), failed));
    x.push_back(k);
    x.push_back(sqrt(norm2, loc));
    x.push_back(norms.empty() ? zeros({0}, {.dtype = TypeOf(norm2)->dtype()}, loc) : norms[0]);
    return x;
  }
};

Arrays Cg(const Krylov& c, const Arrays& b, const Arrays& x0) {
  const Vectors& v = c.v;
  const MatrixFormulas& f = v.f();
  const Loc loc = f.loc();
  const Array goal = c.Goal(b);
  using State = std::tuple<Arrays, Arrays, Arrays, Array, Array, Array, Arrays>;
  const auto going = [=](State s) { return c.IsGoing(std::get<4>(s), goal, std::get<5>(s)); };
  const auto step = [=](State s) {
    const auto& [x, r, p, gamma, norm2, k, norms] = s;
    const Arrays ap = c.matvec(p);
    const Array alpha = f.Div(gamma, v.Dot(p, ap));
    const Arrays next = v.Minus(r, alpha, ap), z = c.Preconditioned(next);
    const Array next_gamma = v.Dot(next, z), next_k = f.Add(k, c.Count(1));
    const Array next_norm2 = c.preconditioner ? v.Dot(next, next) : next_gamma;
    return State(v.Plus(x, alpha, p), next, v.Plus(z, f.Div(next_gamma, gamma), p), next_gamma,
                 next_norm2, next_k, c.Noted(norms, next_k, sqrt(next_norm2, loc)));
  };
  const Arrays r = v.Minus(b, c.matvec(x0)), z = c.Preconditioned(r);
  const Array gamma = v.Dot(r, z), norm2 = c.preconditioner ? v.Dot(r, r) : gamma;
  const auto [x, rest, p, last, left, k, norms] =
      while_loop(going, step, State(x0, r, z, gamma, norm2, c.Count(0), c.Started(norm2)), loc);
  return c.Result(x, left, goal, k, norms);
}

// The state of MINRES after step k, in the words of Paige and Saunders (1975). The Lanczos vectors
// before preconditioning are v / beta and v_before / beta_before, and y is the preconditioned v.
struct MinresState {
  Arrays x, residual, v_before, v, y, w_before, w, norms;
  Array beta_before, beta, dbar, epsilon, phibar, cosine, sine, k;
};
TESSERA_FIELDS(MinresState, x, residual, v_before, v, y, w_before, w, norms, beta_before, beta,
               dbar, epsilon, phibar, cosine, sine, k);

// Returns a / b, or `otherwise` where b is 0.
Array Ratio(const Array& a, const Array& b, const Array& otherwise, const MatrixFormulas& f) {
  const Array is_zero = eq(b, f.NumberLike(b, 0), {}, f.loc());
  return f.Where(is_zero, otherwise, f.Div(a, f.Where(is_zero, f.NumberLike(b, 1), b)));
}

MinresState MinresStep(const Krylov& c, const MinresState& s) {
  const Vectors& v = c.v;
  const MatrixFormulas& f = v.f();
  const Loc loc = f.loc();
  const Array zero = f.NumberLike(s.beta, 0), one = f.NumberLike(s.beta, 1);
  const auto scaled = [&](const Arrays& a, const Array& by) {
    Arrays out;
    for (const Array& part : a) out.push_back(f.Mul(part, by));
    return out;
  };
  MinresState t = s;
  const Arrays direction = scaled(s.y, Ratio(one, s.beta, zero, f));
  Arrays next = v.Minus(c.matvec(direction), Ratio(s.beta, s.beta_before, zero, f), s.v_before);
  const Array alpha = v.Dot(direction, next);
  next = v.Minus(next, Ratio(alpha, s.beta, zero, f), s.v);
  t.v_before = s.v, t.v = next, t.y = c.Preconditioned(next);
  t.beta_before = s.beta, t.beta = sqrt(v.Dot(next, t.y), loc);
  // The rotation of this step makes column k of the tridiagonal matrix triangular.
  const Array delta = f.Add(f.Mul(s.cosine, s.dbar), f.Mul(s.sine, alpha));
  const Array gbar = f.Sub(f.Mul(s.sine, s.dbar), f.Mul(s.cosine, alpha));
  t.epsilon = f.Mul(s.sine, t.beta), t.dbar = neg(f.Mul(s.cosine, t.beta), loc);
  const Array gamma = sqrt(f.Add(f.Mul(gbar, gbar), f.Mul(t.beta, t.beta)), loc);
  t.cosine = Ratio(gbar, gamma, zero, f), t.sine = Ratio(t.beta, gamma, one, f);
  t.phibar = f.Mul(t.sine, s.phibar);
  const Arrays w = v.Minus(v.Minus(direction, s.epsilon, s.w_before), delta, s.w);
  t.w_before = s.w, t.w = scaled(w, Ratio(one, gamma, zero, f));
  t.x = v.Plus(s.x, f.Mul(t.cosine, s.phibar), t.w);
  const Array along_next = Ratio(f.Mul(t.phibar, t.cosine), t.beta, zero, f);
  t.residual = v.Minus(scaled(s.residual, f.Mul(t.sine, t.sine)), along_next, next);
  t.k = f.Add(s.k, c.Count(1));
  t.norms = c.Noted(s.norms, t.k, sqrt(v.Dot(t.residual, t.residual), loc));
  return t;
}

Arrays Minres(const Krylov& c, const Arrays& b, const Arrays& x0) {
  const Vectors& v = c.v;
  const Loc loc = v.f().loc();
  const Array goal = c.Goal(b);
  const auto norm2 = [=](const MinresState& s) { return v.Dot(s.residual, s.residual); };
  const Arrays r = v.Minus(b, c.matvec(x0)), y = c.Preconditioned(r);
  const Array zero = zeros_like(v.Dot(r, r), {}, loc), beta = sqrt(v.Dot(r, y), loc);
  Arrays none;
  for (const Array& part : r) none.push_back(zeros_like(part, {}, loc));
  const MinresState start{.x = x0,
                          .residual = r,
                          .v_before = none,
                          .v = r,
                          .y = y,
                          .w_before = none,
                          .w = none,
                          .norms = c.Started(v.Dot(r, r)),
                          .beta_before = zero,
                          .beta = beta,
                          .dbar = zero,
                          .epsilon = zero,
                          .phibar = beta,
                          .cosine = v.f().Sub(zero, v.f().NumberLike(zero, 1)),
                          .sine = zero,
                          .k = c.Count(0)};
  const MinresState end = while_loop([=](MinresState s) { return c.IsGoing(norm2(s), goal, s.k); },
                                     [=](MinresState s) { return MinresStep(c, s); }, start, loc);
  return c.Result(end.x, norm2(end), goal, end.k, end.norms);
}

// As in JAX, the status becomes -10 or -11 where a division by zero would follow.
Arrays Bicgstab(const Krylov& c, const Arrays& b, const Arrays& x0) {
  const Vectors& v = c.v;
  const MatrixFormulas& f = v.f();
  const Loc loc = f.loc();
  const Array goal = c.Goal(b);
  using State =
      std::tuple<Arrays, Arrays, Arrays, Arrays, Array, Array, Array, Array, Array, Array, Arrays>;
  const Arrays shadow = v.Minus(b, c.matvec(x0));
  const auto going = [=](State s) {
    const auto& [x, r, p, q, alpha, omega, rho, norm2, k, status, norms] = s;
    return bitwise_and(c.IsGoing(norm2, goal, k), ge(status, Operand(0, loc), {}, loc), {}, loc);
  };
  const auto step = [=](State state) {
    const auto& [x, r, p, q, alpha, omega, rho, norm2, k, status, norms] = state;
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
    Array next_status = f.Where(stuck, c.Count(-11), status);
    next_status = f.Where(is_zero(next_rho), c.Count(-10), next_status);
    next_status = f.Where(early, status, next_status);
    const Array next_norm2 = v.Dot(next_r, next_r), next_k = f.Add(k, c.Count(1));
    return State(v.Where(early, half, v.Plus(half, next_omega, s_hat)), next_r, next_p, next_q,
                 next_alpha, next_omega, next_rho, next_norm2, next_k, next_status,
                 c.Noted(norms, next_k, sqrt(next_norm2, loc)));
  };
  const Array start = v.Dot(shadow, shadow), one = ones_like(start, {}, loc);
  const auto [x, r, p, q, alpha, omega, rho, norm2, k, status, norms] =
      while_loop(going, step,
                 State(x0, shadow, shadow, shadow, one, one, one, start, c.Count(0), c.Count(0),
                       c.Started(start)),
                 loc);
  return c.Result(x, norm2, goal, k, norms, status);
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

// A cycle of GMRES after k steps: an orthonormal basis of the Krylov space by Gram-Schmidt, applied
// twice, and the least squares solution in it. Returns x and the norms.
//
// `normal` is the vector with 1 as its first element that is orthogonal to the columns of the
// Hessenberg matrix so far: the norm of the least squares residual is beta / |normal|.
std::pair<Arrays, Arrays> GmresCycle(const Krylov& c, const Arrays& x, const Arrays& residual,
                                     const Array& steps, const Arrays& norms_before) {
  const Vectors& v = c.v;
  const MatrixFormulas& f = v.f();
  const Loc loc = f.loc();
  const int64_t n = c.restart;
  const Array beta = sqrt(v.Dot(residual, residual), loc), zero = f.NumberLike(beta, 0);
  const double small = EpsilonOf(TypeOf(beta)->dtype());
  const auto is_at = [&](const Array& k, int64_t size) { return c.IsAt(k, size); };
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
  using State = std::tuple<Arrays, Array, Array, Arrays>;
  const auto step = [=](Array i, State s) {
    const Array k = convert_element_type(i, i32, loc);
    const auto& [basis, hessenberg, normal, norms] = s;
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
    const Array above = f.Add(first, second), column = f.Add(above, f.Where(below, kept, zero));
    const Array last = neg(reduce_sum(f.Mul(above, normal), All, {}, loc), loc);
    const Array infinite = f.NumberLike(kept, std::numeric_limits<double>::infinity());
    const Array next_normal = f.Where(below, Ratio(last, kept, infinite, f), normal);
    const Array length2 = reduce_sum(f.Mul(next_normal, next_normal), All, {}, loc);
    return State(
        placed(basis, scaled(w, norm, least), f.Add(k, c.Count(1))),
        f.Where(f.Row(is_at(k, n)), f.Column(column), hessenberg), next_normal,
        c.Noted(norms, f.Add(f.Add(steps, k), c.Count(1)), f.Div(beta, sqrt(length2, loc))));
  };
  // In shard_map these vary over the axes of the vectors.
  const Array none = zeros_like(beta, {}, loc), first_slot = is_at(c.Count(0), n + 1);
  const Array h = f.Add(zeros({n + 1, n}, {.dtype = TypeOf(zero)->dtype()}, loc), none);
  const Array normal_before = f.Where(first_slot, f.NumberLike(beta, 1), none);
  const auto [basis, hessenberg, normal, norms] =
      fori_loop(0, n, step, State(stack, h, normal_before, norms_before), {}, loc);
  const Array side = f.Where(first_slot, beta, zero);
  const Array y = linalg::lstsq(hessenberg, side, {}, loc).x;
  Arrays out;
  for (size_t i = 0; i < x.size(); ++i) {
    const Arrays moved =
        Combined({f.Slice(basis[i], static_cast<int>(Rank(basis[i])), 0, n)}, y, f);
    out.push_back(f.Add(x[i], moved[0]));
  }
  return {out, norms};
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
  using State = std::tuple<Arrays, Arrays, Array, Array, Arrays>;
  const auto going = [=](State s) { return c.IsGoing(std::get<2>(s), goal, std::get<3>(s)); };
  const auto step = [=](State s) {
    const auto& [x, r, left, k, norms] = s;
    const auto [next, next_norms] = GmresCycle(c, x, r, f.Mul(k, c.Count(c.restart)), norms);
    const Arrays next_r = rest(next);
    return State(next, next_r, v.Dot(next_r, next_r), f.Add(k, c.Count(1)), next_norms);
  };
  const Arrays r = rest(x0);
  const Array start = v.Dot(r, r);
  const auto [x, last, left, k, norms] =
      while_loop(going, step, State(x0, r, start, c.Count(0), c.Started(start)), loc);
  Arrays result = c.Result(x, left, goal, k, norms);
  result[x0.size() + 1] = f.Mul(k, c.Count(c.restart));
  return result;
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
  check("history", static_cast<double>(k.history), 0);
  if (k.method == KrylovMethod::kGmres) check("restart", static_cast<double>(k.restart), 1);
}

Operator AsOperator(const Body& body) {
  if (!body) return nullptr;
  return [body](const Arrays& x) { return body(x).arrays; };
}

}  // namespace

std::vector<Array> CallKrylov(const KrylovCall& k) {
  static constexpr const char* kNames[] = {"cg", "minres", "gmres", "bicgstab"};
  static constexpr Arrays (*kMethods[])(const Krylov&, const Arrays&, const Arrays&) = {
      Cg, Minres, Gmres, Bicgstab};
  const auto method = static_cast<size_t>(k.method);
  const Call call{kNames[method], k.loc};
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
  const int64_t steps =
      k.method == KrylovMethod::kGmres ? restart : 1;  // per iteration of the loop
  const auto solver = [=](const Body& matvec, const std::function<void(int64_t, double)>& monitor) {
    return [=](const Arrays& side) {
      const Krylov c{AsOperator(matvec),
                     AsOperator(k.preconditioner),
                     k.tol,
                     k.atol,
                     std::min<int64_t>(k.maxiter.value_or(10 * size), kMostIterations / steps),
                     restart,
                     k.history,
                     monitor,
                     Vectors(call)};
      return FunctionResult{kMethods[method](c, side, start), {}};
    };
  };
  // Conjugate gradients and MINRES need a symmetric function.
  const bool symmetric = k.method == KrylovMethod::kCg || k.method == KrylovMethod::kMinres;
  const Body& transposed = symmetric ? k.matvec : k.transpose_matvec;
  return SolveEquation({.matvec = k.matvec,
                        .solve = solver(k.matvec, k.monitor),
                        .transpose_matvec = transposed,
                        .transpose_solve = solver(transposed, nullptr)},
                       right, call)
      .arrays;
}

}  // namespace tessera::detail
