// Derivatives put to the test, of one's own functions and rules.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "tessera/gradients.h"
#include "tessera/mesh.h"
#include "tessera/specs.h"

namespace TESSERA_PUBLIC tessera {

struct CheckGradsOptions {
  int order = 2;  // of derivatives: 1 tries the first, 2 the second too
  // Differences allowed, of the greatest number in an array or 1; default: 1e-5 in f64, 2e-2 in
  // narrower floats.
  std::optional<double> tol = {};
};
struct CheckSpmdGradsOptions {
  Specs in_shardings = {};  // how the arguments lie; default: whole
  std::optional<double> tol = {};
};

namespace detail {
void CheckGrads(const FunctionCall& call, const CheckGradsOptions& options);
void CheckSpmdGrads(const FunctionCall& call, const std::vector<Mesh>& meshes,
                    const CheckSpmdGradsOptions& options);
}  // namespace detail

// Compares derivatives of f at args, one argument or a tuple of them, with differences of its
// values: forward and in reverse, where f has both. Floating leaves are taken in f64, unless f
// refuses that. Throws RuntimeError with the argument and both numbers where they do not agree.
template <class F, class Args>
void check_grads(F f, Args args, CheckGradsOptions options = {}, Loc loc = Loc::Current()) {
  auto arguments = detail::AsArguments(std::move(args));
  using Of = detail::Of<F, decltype(arguments)>;
  if constexpr (Of::Check()) {
    using R = typename Of::template Return<>;
    detail::CheckGrads({arguments, detail::BodyOf<R>(f, arguments, loc), loc}, options);
  }
}

// Compares the gradients of f at args on each mesh with those on one device, a mesh of the same
// axes of size 1. Throws RuntimeError with the argument, and the factor by which its gradient is
// off if there is one: a sum over devices too many, say.
template <class F, class Args>
void check_spmd_grads(F f, Args args, std::vector<Mesh> meshes, CheckSpmdGradsOptions options = {},
                      Loc loc = Loc::Current()) {
  auto arguments = detail::AsArguments(std::move(args));
  using Of = detail::Of<F, decltype(arguments)>;
  if constexpr (Of::Check()) {
    using R = typename Of::template Return<>;
    detail::CheckSpmdGrads({arguments, detail::BodyOf<R>(f, arguments, loc), loc}, meshes, options);
  }
}

}  // namespace tessera
