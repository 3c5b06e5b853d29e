// Raising errors. Code throws through here so that every message has one form.
#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/error.h"
#include "tessera/sharding.h"  // ErrorDetail holds Fix

namespace tessera::base {

// Returns "model.cc:44": the last part of the path, as messages show it.
std::string Where(Loc loc);
// Returns a line of a file that is known by name only. A Loc points to its file's name, so names
// are kept; they are few.
Loc LineOf(std::string_view file, int line);

// Returns "1 array", "2 arrays".
std::string CountText(size_t n, std::string_view noun);

// Throw an error of that kind. Not inline, as most of what throws would be the making of details.
[[noreturn]] void ThrowShape(ErrorDetail&& detail);
[[noreturn]] void ThrowDType(ErrorDetail&& detail);
[[noreturn]] void ThrowSharding(ErrorDetail&& detail);
[[noreturn]] void ThrowTrace(ErrorDetail&& detail);
[[noreturn]] void ThrowRuntime(ErrorDetail&& detail);
[[noreturn]] void ThrowInternal(ErrorDetail&& detail);

// Returns what an error says that shows no operands and offers no edit; its label is `op.check`.
ErrorDetail Refusal(std::string op, const std::string& check, std::string where, std::string reason,
                    std::vector<std::string> notes = {});
// The same of check number `check`, labelled `op.C3`.
ErrorDetail Refusal(std::string op, int check, std::string where, std::string reason,
                    std::vector<std::string> notes = {});

// Calls what a user wrote, `what` ("the kernel") of `op`. C18: what it throws, unless it is an
// error of an array function in it, comes nested in ours.
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

// Returns the message: the user's line first, types, the reason, then edits.
std::string Render(const ErrorDetail& detail);

}  // namespace tessera::base
