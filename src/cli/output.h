// Output that may fail, as on a full disk.
#pragma once
#include <cctype>
#include <cerrno>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace tessera::cli {

// Returns the reason of an error of the system, which begins a message with a small letter.
inline std::string ReasonOf(const std::error_code& error) {
  std::string why = error.message();
  if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  return why;
}

// Writes the output of `print`. Throws with the reason in errno if that fails, for example on a
// full disk or if `out` could not be opened.
template <class F>
void Write(std::ostream& out, const std::string& name, F print) {
  print(out);
  if (out.flush()) return;
  throw std::runtime_error("tessera: cannot write " + name + ": " +
                           ReasonOf({errno, std::generic_category()}));
}

}  // namespace tessera::cli
