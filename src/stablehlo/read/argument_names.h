// The names by which callers know the arguments of a program.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "stablehlo/text/tree.h"

namespace tessera::stablehlo {

struct ArgumentName {
  std::string value;  // "%arg0"
  std::string given;  // "params['w']", which JAX writes as the location; "" if there is none
  // Returns "%arg0 (params['w'])".
  std::string Shown() const;
};

class ArgumentNames {
 public:
  ArgumentNames(const Module& module, const TextFunction& function);
  explicit ArgumentNames(const ir::Program& program);

  const ArgumentName& operator[](size_t k) const { return names_[k]; }
  // Returns the numbers of all arguments that `name` stands for: the value with or without `%`, the
  // number, or the given name; each `*` stands for any text. Throws a RuntimeError of the function
  // `op` with the names most like it if there are none.
  std::vector<size_t> Find(std::string_view name, const char* op, Loc loc) const;

 private:
  [[noreturn]] void FailUnknown(std::string_view name, const char* op, Loc loc) const;
  std::vector<ArgumentName> names_;
};

}  // namespace tessera::stablehlo
