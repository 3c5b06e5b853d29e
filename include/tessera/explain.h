// Explanations of shardings over Auto axes, and dumps that record and pin them.
#pragma once
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tessera/array.h"
#include "tessera/program.h"
#include "tessera/transforms.h"

namespace TESSERA_PUBLIC tessera {

// Returns x. A traced value gets this name in explanations, dumps and program text.
Array named(Operand x, std::string_view name, Loc loc = Loc::Current());

// Returns an explanation of the sharding of a value ("%3", or a name set by named). For each axis
// of each dim it gives the constraint that the axis comes from and the path of ops, with the round.
// It then lists the axes that the value did not get, the reason, and a change that would let each
// one in. Throws RuntimeError if the program has no such value.
std::string explain(const Program& program, std::string_view value,
                    propagation::Stage stop_after = propagation::Stage::kUserPriority,
                    Loc loc = Loc::Current());

// The explanation of one value of a program.
struct Explanation {
  std::string value;     // number in the program text: "%3"
  std::string sharding;  // in Shardy's syntax; empty: replicated
  std::string text;      // as returned by explain
};
// Returns an explanation for every value, including values in loops and branches, in the order of
// the text.
std::vector<Explanation> explain_all(
    const Program& program, propagation::Stage stop_after = propagation::Stage::kUserPriority);

// Returns the complete sharding of every value of a traced program, one per line, without source
// lines: text to check in and compare.
std::string dump_shardings(const Program& program);

namespace detail {
template <class F, class... A>
Program ProgramOf(const F& f, const std::tuple<A...>& arguments, Loc loc) {
  auto traced = [&](const A&... a) {
    if constexpr (requires { f.trace(a..., loc); })
      return f.trace(a..., loc);
    else if constexpr (requires { f.trace(a...); })
      return f.trace(a...);
    else if constexpr (requires { jit(f).trace(a..., loc); })
      return jit(f).trace(a..., loc);
    else
      return jit(f).trace(a...);
  };
  return std::apply(traced, arguments);
}
}  // namespace detail

// Same, for the program of f called with these arguments: one value or a tuple. They may
// be abstract.
template <class F, class... A>
std::string explain(const F& f, const std::tuple<A...>& arguments, std::string_view value,
                    Loc loc = Loc::Current()) {
  return explain(detail::ProgramOf(f, arguments, loc), value, propagation::Stage::kUserPriority,
                 loc);
}
template <class F>
std::string explain(const F& f, const Array& argument, std::string_view value,
                    Loc loc = Loc::Current()) {
  return explain(f, std::tuple<Array>(argument), value, loc);
}
template <class F, class... A>
std::string dump_shardings(const F& f, const std::tuple<A...>& arguments,
                           Loc loc = Loc::Current()) {
  return dump_shardings(detail::ProgramOf(f, arguments, loc));
}
template <class F>
std::string dump_shardings(const F& f, const Array& argument, Loc loc = Loc::Current()) {
  return dump_shardings(f, std::tuple<Array>(argument), loc);
}

// Scope: programs of several ops that are built inside get the shardings of a dump instead of those
// that propagation would choose. If such a program has other values than the dump, building it
// throws ShardingError with the first difference.
class [[nodiscard]] PinShardings {
 public:
  // Throws RuntimeError if the text is not a dump.
  [[nodiscard]] explicit PinShardings(std::string_view text, Loc loc = Loc::Current());
  ~PinShardings();
  PinShardings(const PinShardings&) = delete;

 private:
  std::string old_;
};

}  // namespace tessera
