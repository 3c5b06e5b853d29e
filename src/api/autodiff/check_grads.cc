// Compares derivatives with finite differences, and gradients on many devices with one device.
#include "tessera/check_grads.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "api/core/regions.h"
#include "api/core/specs.h"
#include "base/dtype.h"
#include "base/error.h"
#include "compile/host/concrete.h"
#include "ops/tangents.h"
#include "trace/scopes.h"
#include "trace/tree.h"

namespace tessera {

using namespace api;

namespace {

using Numbers = std::vector<double>;  // of complex arrays: their parts

int Int(size_t n) { return static_cast<int>(n); }

// Returns an array of this type with fixed positive and negative numbers that depend on `seed`.
Array Direction(const ir::Type* like, int seed, Call call) {
  const ir::Type* type = like->WithWeak(false);
  if (const DType t = type->dtype(); t.is_complex()) {
    const ir::Type* part = type->WithDType(base::PartOf(t));
    return complex(Direction(part, seed, call), Direction(part, seed + 25, call), {}, call.loc);
  }
  Array x = iota({type->elements()}, 0, {.dtype = f64}, call.loc);
  x = sin((x * 1.37 + seed * 0.71 + 1.0) * 2.0);
  return Moved(reshape(x.astype(type->dtype(), call.loc), type->shape(), {}, call.loc),
               type->sharding(), call);
}
Numbers Read(const Array& x, Call call) {
  Array a = Plain(x, call);
  if (TypeOf(a)->dtype().is_complex())
    a = stack({real(a, call.loc), imag(a, call.loc)}, -1, call.loc);
  return a.astype(f64, call.loc).to_vector<double>(call.loc);
}
double Dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
double LargestMagnitude(const Numbers& a) {
  double most = 0;
  for (double v : a) most = std::max(most, std::abs(v));
  return most;
}
bool IsFloating(const Array& x) { return ops::HasTangent(TypeOf(x)); }

using OnArrays = std::function<Arrays(const Arrays&)>;

// The checked function, from the floating leaves of its arguments to its floating results.
struct Subject {
  OnArrays f;
  Arrays at;                       // the leaves
  std::vector<std::string> names;  // of the leaves, in messages
};

// Returns the array without a mesh, so that it can be used on any mesh.
Array OffMesh(const Array& x, Call call) {
  const ir::Type* type = TypeOf(x);
  if (!type->mesh() || type->dtype().is_key()) return x;
  const std::shared_ptr<const compile::Concrete> whole = Whole(x, call);
  const trace::MeshDefScope none(nullptr);
  return detail::ArrayFromHost({whole->buffers.base, type->elements(), type->dtype()},
                               {.shape = Shape(type->shape())}, call.loc);
}

// Returns the function of a call, at these leaves of its arguments, in the dtype `wide` if given.
Subject SubjectOf(const detail::FunctionCall& call, const trace::Leaves& leaves,
                  std::optional<DType> wide = {}) {
  Subject s;
  std::vector<size_t> places;
  for (size_t i = 0; i < leaves.arrays.size(); ++i) {
    if (!IsFloating(leaves.arrays[i])) continue;
    places.push_back(i);
    const Array& x = leaves.arrays[i];
    const bool is_complex = TypeOf(x)->dtype().is_complex();
    s.at.push_back(wide ? x.astype(is_complex ? base::ComplexOf(*wide) : *wide, call.loc) : x);
    s.names.push_back(leaves.names[i]);
  }
  s.f = [all = leaves.arrays, places, body = call.body](const Arrays& floating) {
    Arrays arguments = all, results;
    for (size_t i = 0; i < places.size(); ++i) arguments[places[i]] = floating[i];
    for (const Array& x : body(arguments).arrays)
      if (IsFloating(x)) results.push_back(x);
    return results;
  };
  return s;
}

// Compares the derivatives of one function with finite differences, at one point.
class DerivativeCheck {
 public:
  DerivativeCheck(const Subject& subject, int derivative, double step, double tol, Call call)
      : s_(subject), derivative_(derivative), step_(step), tol_(tol), call_(call) {}

  void Run() {
    const auto f = jit(s_.f);
    const Arrays value = f(s_.at);
    for (size_t r = 0; r < value.size(); ++r)
      cotangents_.push_back(Direction(ops::CotangentType(TypeOf(value[r])), 50 + Int(r), call_));
    if (value.empty())
      FailDType(call_, 21,
                "the function returns no floating-point array, so there is no "
                "derivative to check");
    const Arrays gradients = InReverse();
    for (size_t i = 0; i < s_.at.size(); ++i) {
      const Array direction = Direction(TypeOf(s_.at[i]), Int(i), call_);
      const std::vector<Numbers> differences = Differences(f, i, direction);
      const std::vector<Numbers> tangents = Forward(i, direction);
      for (size_t r = 0; r < tangents.size(); ++r) Compare(i, r, tangents[r], differences[r]);
      if (!gradients.empty()) CompareInReverse(i, gradients[i], direction, differences);
    }
    if (!forward_ && !reverse_) std::rethrow_exception(refused_);
  }

  // Returns the first derivative as a function of the same leaves.
  OnArrays Derivative() const {
    const Call call = call_;
    if (reverse_)
      return [f = s_.f, ct = cotangents_, call](const Arrays& at) {
        return vjp(f, at, call.loc).second(ct, call.loc);
      };
    Arrays directions;
    for (size_t i = 0; i < s_.at.size(); ++i)
      directions.push_back(Direction(TypeOf(s_.at[i]), Int(i), call));
    return [f = s_.f, directions, call](const Arrays& at) {
      return jvp(f, at, directions, call.loc).second;
    };
  }

 private:
  // Calls f, which computes a derivative in forward or in reverse mode. If the checked function has
  // none in that mode, sets `has` to false.
  template <class F>
  auto Unless(bool& has, F f) -> decltype(f()) {
    if (!has) return {};
    try {
      return f();
    } catch (const TraceError& e) {
      const std::string& label = e.label();
      if (label != "custom_vjp.C21" && label != "while_loop.C21") throw;
      has = false;
      refused_ = std::current_exception();
      return {};
    }
  }
  Arrays InReverse() {
    return Unless(reverse_, [&] { return vjp(s_.f, s_.at, call_.loc).second(cotangents_); });
  }
  std::vector<Numbers> Forward(size_t i, const Array& direction) {
    return Unless(forward_, [&] {
      Arrays directions;
      for (const Array& x : s_.at) directions.push_back(FilledWith(0, TypeOf(x), call_));
      directions[i] = direction;
      std::vector<Numbers> out;
      for (const Array& t : jvp(s_.f, s_.at, directions, call_.loc).second)
        out.push_back(Read(t, call_));
      return out;
    });
  }

  template <class F>
  std::vector<Numbers> Differences(const F& f, size_t i, const Array& direction) const {
    const auto at = [&](double step) {
      Arrays moved = s_.at;
      moved[i] = moved[i] + direction * WeakScalar(Scalar(step), TypeOf(direction)->dtype(), call_);
      return f(moved);
    };
    const Arrays above = at(step_), below = at(-step_);
    std::vector<Numbers> out;
    for (size_t r = 0; r < above.size(); ++r) {
      Numbers high = Read(above[r], call_);
      const Numbers low = Read(below[r], call_);
      for (size_t k = 0; k < high.size(); ++k) high[k] = (high[k] - low[k]) / (2 * step_);
      out.push_back(std::move(high));
    }
    return out;
  }

  void Compare(size_t i, size_t r, const Numbers& got, const Numbers& want) const {
    const double allowed = tol_ * std::max({1.0, LargestMagnitude(want)});
    for (size_t k = 0; k < want.size(); ++k)
      if (!(std::abs(got[k] - want[k]) <= allowed))
        Fail(i, fmt::format("element {} of result {}, forward", k, r), got[k], want[k]);
  }
  void CompareInReverse(size_t i, const Array& gradient, const Array& direction,
                        const std::vector<Numbers>& differences) const {
    // The real part of a product is the scalar product with its conjugate.
    const Numbers g = Read(conj(gradient, call_.loc), call_), v = Read(direction, call_);
    double want = 0, scale = 1;
    for (size_t r = 0; r < differences.size(); ++r) {
      const Numbers ct = Read(conj(cotangents_[r], call_.loc), call_);
      want += Dot(ct, differences[r]);
      scale += std::abs(LargestMagnitude(ct) * LargestMagnitude(differences[r])) *
               std::sqrt(static_cast<double>(ct.size()));
    }
    if (!(std::abs(Dot(g, v) - want) <= tol_ * scale))
      Fail(i, "the results, in reverse", Dot(g, v), want);
  }

  [[noreturn]] void Fail(size_t i, const std::string& of, double got, double want) const {
    base::ThrowRuntime(base::Refusal(
        call_.name, 1, base::Where(call_.loc),
        fmt::format(
            "the {} derivative with respect to {} is {:.6g}, but finite differences give {:.6g}",
            derivative_ == 1   ? "first"
            : derivative_ == 2 ? "second"
                               : "next",
            s_.names[i], got, want),
        {fmt::format("along a random direction, for {}; step {:g}", of, step_)}));
  }

  const Subject& s_;
  const int derivative_;
  const double step_, tol_;
  const Call call_;
  Arrays cotangents_;
  bool forward_ = true, reverse_ = true;
  std::exception_ptr refused_;
};

// C22: refuses arguments without a floating array.
void CheckFloating(const Subject& s, Call call) {
  if (s.at.empty())
    FailDType(call, 22, "the arguments have no floating-point array, so there is nothing to check",
              {"derivatives are taken with respect to floating-point arguments: convert one"});
}

// Whether the function accepts f64.
bool TakesWide(const Subject& wide) {
  try {
    wide.f(wide.at);
    return true;
  } catch (const DTypeError&) {
    return false;
  }
}

void Check(Subject s, const CheckGradsOptions& options, Call call) {
  bool wide = true;
  for (const Array& x : s.at) wide = wide && base::PartOf(TypeOf(x)->dtype()) == f64;
  const double step = wide ? 1e-5 : 1e-2, tol = options.tol.value_or(wide ? 1e-5 : 2e-2);
  for (int n = 1; n <= options.order; ++n) {
    DerivativeCheck trial(s, n, step, tol, call);
    trial.Run();
    s.f = trial.Derivative();
  }
}

// ---- many devices -------------------------------------------------------------------------------

// Returns the specs of the floating leaves, for the arguments of a Subject.
Specs SpecsOf(const detail::FunctionCall& f, const Specs& given, Call call) {
  if (!given.given()) return {};
  const std::vector<PartitionSpec> all = LeavesFor(given, f.arguments, {".in_shardings"}, call);
  const Arrays leaves = detail::LeavesOf(f.arguments);
  std::vector<Specs> specs;
  for (size_t i = 0; i < leaves.size(); ++i)
    if (IsFloating(leaves[i])) specs.emplace_back(all[i]);
  return Specs(std::vector<Specs>{Specs(std::move(specs))});
}

// Returns the gradients of a fixed weighted sum of the results, on the mesh.
std::vector<Numbers> GradientsOn(const Mesh& mesh, const Subject& s, const Specs& specs,
                                 Call call) {
  MeshScope scope(mesh, call.loc);
  const OnArrays gradients = [&](const Arrays& arguments) {
    auto [value, pullback] = vjp(s.f, arguments, call.loc);
    Arrays cotangents;
    for (size_t r = 0; r < value.size(); ++r)
      cotangents.push_back(Direction(ops::CotangentType(TypeOf(value[r])), 50 + Int(r), call));
    return pullback(cotangents, call.loc);
  };
  std::vector<Numbers> out;
  for (const Array& g : jit(gradients, {.in_shardings = specs}, call.loc)(s.at, call.loc))
    out.push_back(Read(g, call));
  return out;
}

Mesh OfOneDevice(const Mesh& mesh, Loc loc) {
  std::vector<MeshAxis> axes = mesh.axes();
  for (MeshAxis& a : axes) a.size = 1;
  return make_mesh(axes, {}, loc);
}

void CompareGradients(const Mesh& mesh, const std::string& name, const Numbers& got,
                      const Numbers& want, double tol, Call call) {
  size_t worst = 0;
  Numbers difference(want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    const bool both_nan = std::isnan(got[k]) && std::isnan(want[k]);
    difference[k] = both_nan ? 0 : std::abs(got[k] - want[k]);
    if (!(difference[k] <= difference[worst])) worst = k;
  }
  const double most = std::max(1.0, LargestMagnitude(want));
  if (want.empty() || difference[worst] <= tol * most) return;
  std::vector<std::string> notes = {
      fmt::format("element {} is {:.6g} on {}, and {:.6g} on one "
                  "device",
                  worst, got[worst], mesh.text(), want[worst])};
  const double factor = Dot(got, want) / Dot(want, want);
  Numbers rest(want.size());
  for (size_t k = 0; k < want.size(); ++k) rest[k] = got[k] - factor * want[k];
  if (std::isfinite(factor) && LargestMagnitude(rest) <= tol * most)
    notes.insert(notes.begin(),
                 fmt::format("every element is {:.4g} times the correct value", factor));
  base::ThrowRuntime(base::Refusal(
      call.name, 2, base::Where(call.loc),
      fmt::format("the gradient with respect to {} differs from the one on one device", name),
      std::move(notes)));
}

}  // namespace

namespace detail {

void CheckGrads(const FunctionCall& f, const CheckGradsOptions& options) {
  const Call call{"check_grads", f.loc};
  const trace::Leaves leaves = trace::TakeArguments(f.arguments);
  trace::UseAll(f.arguments, trace::kArguments, call.name, call.loc);
  Subject wide = SubjectOf(f, leaves, f64);
  CheckFloating(wide, call);
  Check(TakesWide(wide) ? std::move(wide) : SubjectOf(f, leaves), options, call);
}

void CheckSpmdGrads(const FunctionCall& f, const std::vector<Mesh>& meshes,
                    const CheckSpmdGradsOptions& options) {
  const Call call{"check_spmd_grads", f.loc};
  trace::Leaves leaves = trace::TakeArguments(f.arguments);
  trace::UseAll(f.arguments, trace::kArguments, call.name, call.loc);
  for (Array& x : leaves.arrays) x = OffMesh(x, call);
  const Subject subject = SubjectOf(f, leaves);
  CheckFloating(subject, call);
  const Specs specs = SpecsOf(f, options.in_shardings, call);
  bool wide = true;
  for (const Array& x : subject.at) wide = wide && base::PartOf(TypeOf(x)->dtype()) == f64;
  const double tol = options.tol.value_or(wide ? 1e-10 : 1e-4);
  for (const Mesh& mesh : meshes) {
    const auto want = GradientsOn(OfOneDevice(mesh, call.loc), subject, specs, call);
    const auto got = GradientsOn(mesh, subject, specs, call);
    for (size_t i = 0; i < want.size(); ++i)
      CompareGradients(mesh, subject.names[i], got[i], want[i], tol, call);
  }
}

}  // namespace detail
}  // namespace tessera
