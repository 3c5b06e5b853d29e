// Raising errors. Code throws through here so that every message has one form.
#pragma once
#include <string>
#include <utility>

#include "base/defaults.h"
#include "tessera/error.h"
#include "tessera/sharding.h"  // ErrorDetail holds Fix

namespace tessera::base {

// Throws E with its kind filled in.
template <class E>
[[noreturn]] void Throw(const char* kind, ErrorDetail detail) {
  detail.kind = kind;
  throw E(std::move(detail));
}
[[noreturn]] inline void ThrowShape(ErrorDetail d) {
  Throw<ShapeError>("ShapeError", std::move(d));
}
[[noreturn]] inline void ThrowDType(ErrorDetail d) {
  Throw<DTypeError>("DTypeError", std::move(d));
}
[[noreturn]] inline void ThrowSharding(ErrorDetail d) {
  Throw<ShardingError>("ShardingError", std::move(d));
}
[[noreturn]] inline void ThrowTrace(ErrorDetail d) {
  Throw<TraceError>("TraceError", std::move(d));
}
[[noreturn]] inline void ThrowRuntime(ErrorDetail d) {
  Throw<RuntimeError>("RuntimeError", std::move(d));
}
[[noreturn]] inline void ThrowInternal(ErrorDetail d) {
  Throw<InternalError>("InternalError", std::move(d));
}

// Returns what an error says that shows no operands and offers no edit; its label is `op.check`.
inline ErrorDetail Refusal(std::string op, const std::string& check, std::string where,
                           std::string reason, std::vector<std::string> notes = {}) {
  ErrorDetail d;
  d.label = op + "." + check;
  d.op = std::move(op);
  d.where = std::move(where);
  d.reason = std::move(reason);
  d.notes = std::move(notes);
  return d;
}
// The same of check number `check`, labelled `op.C3`.
inline ErrorDetail Refusal(std::string op, int check, std::string where, std::string reason,
                           std::vector<std::string> notes = {}) {
  return Refusal(std::move(op), "C" + std::to_string(check), std::move(where), std::move(reason),
                 std::move(notes));
}

// Returns the message: the user's line first, types, the reason, then edits.
std::string Render(const ErrorDetail& detail);

}  // namespace tessera::base
