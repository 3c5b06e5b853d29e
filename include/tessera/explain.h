// Why values over Auto axes lie as they do; layouts written down and held.
#pragma once
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tessera/array.h"
#include "tessera/program.h"
#include "tessera/transforms.h"

namespace TESSERA_PUBLIC tessera {

// Returns x itself. Explanations, dumps and program text call a traced value by the name.
Array named(Operand x, std::string_view name, Loc loc = Loc::Current());

// Returns why a value ("%3", or a name given with named) is sharded as it is: for each axis of each
// dim the constraint that it came from and the ops that it travelled, in which round; then the axes
// that it did not get, what kept them out and what would let them in. Throws RuntimeError if the
// program has no such value.
std::string explain(const Program& program, std::string_view value,
                    propagation::Stage stop_after = propagation::Stage::kUserPriority,
                    Loc loc = Loc::Current());

// A value of a program, by its number in the text.
struct Explanation {
  std::string value;     // "%3"
  std::string sharding;  // Shardy's text; empty: whole everywhere
  std::string text;      // as explain returns it
};
// Returns one for every value, those inside of loops and branches included, in the order of the
// text.
std::vector<Explanation> explain_all(
    const Program& program, propagation::Stage stop_after = propagation::Stage::kUserPriority);

// Returns the complete sharding of every value of a traced program, a line each, without lines of
// source: text to check in and to compare.
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

// The same of f called with such arguments, which may be abstract: one value, or a tuple of them.
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

// Scope: programs of several ops built inside have the shardings of a dump, not those that
// propagation would choose. Building a program with other values than those of the dump throws
// ShardingError with the first difference.
class [[nodiscard]] PinShardings {
 public:
  // Throws RuntimeError for text that is not a dump.
  explicit PinShardings(std::string_view text, Loc loc = Loc::Current());
  ~PinShardings();
  PinShardings(const PinShardings&) = delete;

 private:
  std::string old_;
};

}  // namespace tessera
