// Checks of derivatives: of a function against differences, of a mesh against one device.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "tessera/gradients.h"
#include "tessera/mesh.h"
#include "tessera/specs.h"

namespace TESSERA_PUBLIC tessera {

struct CheckGradsOptions {
  int order = 2;  // highest order to check: 2 checks first and second derivatives
  // Largest error allowed, relative to the largest absolute value in the array or to 1, whichever
  // is larger. Default: 1e-5 in f64, 2e-2 in narrower floats.
  std::optional<double> tol = {};
};
struct CheckSpmdGradsOptions {
  Specs in_shardings = {};  // shardings of the arguments; default: replicated
  std::optional<double> tol = {};
};

namespace detail {
void CheckGrads(const FunctionCall& call, const CheckGradsOptions& options);
void CheckSpmdGrads(const FunctionCall& call, const std::vector<Mesh>& meshes,
                    const CheckSpmdGradsOptions& options);
}  // namespace detail

// Compares the derivatives of f at args with finite differences, in forward and reverse mode where
// f supports both. args is one argument or a tuple of them. Floating leaves are converted to f64,
// and complex ones to c128, unless f refuses them. Throws RuntimeError, naming the argument and
// both numbers, if they differ.
template <class F, class Args>
void check_grads(F f, Args args, CheckGradsOptions options = {}, Loc loc = Loc::Current()) {
  auto arguments = detail::AsArguments(std::move(args));
  using Of = detail::Of<F, decltype(arguments)>;
  if constexpr (Of::Check()) {
    using R = typename Of::template Return<>;
    detail::CheckGrads({arguments, detail::BodyOf<R>(f, arguments, loc), loc}, options);
  }
}

// Compares the gradients of f at args on each mesh with the gradients on one device: a mesh of the
// same axes with size 1. Throws RuntimeError that names the argument. If its gradient is off by a
// constant factor (a sum over devices counted too often, say), the message gives that factor.
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
