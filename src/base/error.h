// Functions that raise errors. Code throws through them so that all messages have one format.
#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/error.h"
#include "tessera/sharding.h"  // ErrorDetail holds Fix

namespace tessera::base {

// Returns "model.cc:44": the last component of the path and the line, as messages show it.
std::string Where(Loc loc);
// Returns a Loc for a line of a file known by name only. A Loc points to its file name, so the
// names are kept for the life of the process; there are few.
Loc LineOf(std::string_view file, int line);

// Returns "1 array", "2 arrays".
std::string CountText(size_t n, std::string_view noun);

// Throw an error of the named kind. They are not inline because building an ErrorDetail takes much
// more code than the check that throws it.
[[noreturn]] void ThrowShape(ErrorDetail&& detail);
[[noreturn]] void ThrowDType(ErrorDetail&& detail);
[[noreturn]] void ThrowSharding(ErrorDetail&& detail);
[[noreturn]] void ThrowTrace(ErrorDetail&& detail);
[[noreturn]] void ThrowRuntime(ErrorDetail&& detail);
[[noreturn]] void ThrowInternal(ErrorDetail&& detail);

// Returns the detail of an error that shows no operands and offers no edit. Its label
// is `op.check`.
ErrorDetail Refusal(std::string op, const std::string& check, std::string where, std::string reason,
                    std::vector<std::string> notes = {});
// As above, for check number `check`: the label is `op.C3`.
ErrorDetail Refusal(std::string op, int check, std::string where, std::string reason,
                    std::vector<std::string> notes = {});

// Calls `f`, which runs a user's function; `what` describes it in messages ("the kernel"). Check
// C18: errors of array functions pass through, and any other exception is nested in our own.
template <class F>
void CallUsers(const std::string& op, const char* what, const std::string& where, F f) {
  const auto fail = [&](const std::string& message) {
    ErrorDetail detail = Refusal(op, 18, where, what + (" threw an exception" + message));
    detail.kind = "RuntimeError";
    std::throw_with_nested(RuntimeError(std::move(detail)));
  };
  try {
    f();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    fail(": " + std::string(e.what()));
  } catch (...) {
    fail("");
  }
}

// Returns the message: the user's line, the types, the reason, then the edits that fix it.
std::string Render(const ErrorDetail& detail);

}  // namespace tessera::base
