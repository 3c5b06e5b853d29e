// Checks of values while a program runs.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tessera/array.h"

namespace TESSERA_PUBLIC tessera {

// The text of a check, with the line of the call.
struct CheckText {
  CheckText(const char* words, Loc line = Loc::Current()) : text(words), loc(line) {}
  CheckText(std::string words, Loc line = Loc::Current()) : text(std::move(words)), loc(line) {}
  std::string text;
  Loc loc;
};

namespace detail {
void Check(Operand predicate, const CheckText& text, const std::vector<Operand>& values);
}  // namespace detail

// Throws RuntimeError if an element of the predicate, a bool or an array of bools, is false. The
// message has the text, the line, the index of the first false element, its device, the iterations
// of the loops around it, and the elements of the values there: each is an array of the predicate's
// shape, or of one element.
//
//   check(isfinite(loss), "the loss is not finite", loss, step);
//
// An eager call throws at once. In a traced function the program checks each time that it reaches
// the call, in loops, branches and shard_map, and the call of the program throws. Throws DTypeError
// if the predicate is not bool, and ShapeError for values of other shapes.
template <class... Values>
void check(Operand predicate, CheckText text, const Values&... values) {
  detail::Check(std::move(predicate), text, {Operand(values, text.loc)...});
}

// Scope: sets whether checks in programs that this thread traces, and in eager calls, do anything.
class [[nodiscard]] Checks {
 public:
  [[nodiscard]] explicit Checks(bool on);
  ~Checks();
  Checks(const Checks&) = delete;

 private:
  bool old_;
};

// Scope: an index out of bounds throws RuntimeError, with the line, the index and the size, where
// it otherwise is clipped, dropped or filled as in JAX. It applies to eager calls, and to programs
// that this thread traces: x[i], x.at, take, take_along_dim, gather, scatter and its kinds,
// dynamic_slice and dynamic_update_slice, and the functions that look up by them. A call with a
// .fill_value or a .mode other than LookupMode::kPromise is not checked. Under vmap both branches
// of a mapped cond are computed, so both are checked.
class [[nodiscard]] CheckedIndices {
 public:
  [[nodiscard]] CheckedIndices();
  ~CheckedIndices();
  CheckedIndices(const CheckedIndices&) = delete;

 private:
  bool old_;
};

}  // namespace tessera
