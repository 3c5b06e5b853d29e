// The flags of a program on its command line: `--name value`, or `--name` for a switch.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace samples {

// The value is set by the command line, and otherwise is the default.
struct Flag {
  std::string name;
  std::variant<std::string*, int64_t*, double*, bool*> value;
  const char* help;
};

// Sets the values. Returns false if only help was asked for, which it prints. Throws
// std::runtime_error for flags that do not exist, and values that are no numbers from 0 to 1e15.
bool parse(const std::vector<std::string>& arguments, const std::vector<Flag>& flags);

}  // namespace samples
