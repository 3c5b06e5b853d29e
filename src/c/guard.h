// The border of the C interface: exceptions become a status and a text, strings become the
// caller's.
#pragma once
#include <tessera/c.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera::c {

// A call that C allows and this interface does not.
struct ArgumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Runs the body of a function of the interface. Keeps the text of an error, which begins with the
// name of the function if the body threw an ArgumentError.
tessera_status Guarded(const char* function, const std::function<void()>& body) noexcept;
const char* LastError() noexcept;

// Throws "NAME is null" for a null pointer.
void Require(const void* pointer, const char* name);
// Returns the text; an empty one for null.
std::string OrEmpty(const char* text);
// Returns the bytes of a text. Throws if there is none, or its size is below 0.
std::string_view TextOf(const char* text, int64_t bytes);
// Returns a copy that tessera_free frees.
char* Given(const std::string& text);

}  // namespace tessera::c
