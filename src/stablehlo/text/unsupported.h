// Lists all parts of a text that are not supported, as one error.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.h"

namespace tessera::stablehlo {

// Whether an operation can be read. `target`: of a custom call, else "".
using IsSupported = bool (*)(std::string_view operation, std::string_view target);

// Thrown where an operation, attribute or type is of no form that can be read: the text may have
// more of them.
class UnknownPartError : public RuntimeError {
  using RuntimeError::RuntimeError;
};
[[noreturn]] void FailAtUnknownPart(std::string_view text, Loc file, size_t place,
                                    std::string reason);

// Parts that are not supported, by name, with the places of the first ones.
class Unsupported {
 public:
  void Add(const std::string& name, size_t place, Loc loc);
  bool empty() const { return parts_.empty(); }
  // Throws a RuntimeError at the first one.
  [[noreturn]] void Fail(std::string_view text, Loc file) const;

 private:
  struct Part {
    size_t count = 0, place = 0;
    std::vector<Loc> first;
  };
  std::map<std::string, Part> parts_;
};

// Returns the name of an operation in the list.
std::string ShownName(std::string_view operation, std::string_view target);

// Searches a text that cannot be read as a whole. It has an operation in a line, as MLIR prints it.
Unsupported UnsupportedIn(std::string_view text, Loc file, IsSupported is_supported);

}  // namespace tessera::stablehlo
