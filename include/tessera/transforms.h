// jit and eval_shape.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tessera/specs.h"
#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

struct JitOptions {
  // Shardings of the arguments and results. Over Explicit axes an argument with another sharding is
  // refused, and a result is resharded; over Auto axes they are constraints.
  Specs in_shardings = {}, out_shardings = {};
  // Arguments whose buffers the call may reuse. After the call they are gone, and so are all copies
  // of their handles. A buffer that another array shares, such as x[All] or a reshape, is kept.
  std::vector<int> donate = {};
  std::string name = "main";  // name of the program
};

// Returns the compiled f. A call with new types, static values, mesh or dtype scopes traces f once
// and lowers the program; later calls only run it. `.trace(args...)` and `.lower(args...)` return
// the program; they accept abstract arrays too. A call inside another trace is traced into it.
//
// Captured values, by copy or by reference, and globals are read when f is traced and become
// constants of the program: pass values that change between calls as arguments. If an Array
// captured by reference is assigned later, a note on stderr says so once per program;
// RetraceNotes(false) silences it. There is a note for a variable of type Array, for an Array that
// a captured pointer points to, and for the first field of a struct. There is none for other
// fields, elements of vectors and maps, Arrays that a struct points to, globals, and values that
// are not Arrays. Throws ShardingError for an argument on another mesh than the current one, with
// its path.
template <class F>
auto jit(F f, JitOptions options = {}, Loc loc = Loc::Current()) {
  detail::Jit transform(std::move(options), detail::SharedBy(f));
  return detail::Wrap(std::move(f), std::move(transform), loc);
}

namespace detail {
FunctionResult EvalShape(const FunctionCall& call);
}  // namespace detail

// Returns the result of f(args) as abstract arrays: only types are computed. args is one argument
// or a tuple of them; their arrays may be abstract, or on an abstract mesh. Throws the errors of
// the call.
template <class F, class Args>
auto eval_shape(F f, Args args, Loc loc = Loc::Current()) {
  auto arguments = detail::AsArguments(std::move(args));
  using Of = detail::Of<F, decltype(arguments)>;
  if constexpr (Of::Check()) {
    using R = typename Of::template Return<>;
    return detail::EvalShape({arguments, detail::BodyOf<R>(f, arguments, loc), loc})
        .template As<R>();
  }
}

}  // namespace tessera
