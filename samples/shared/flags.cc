// Reads flags.
#include "flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <type_traits>

namespace samples {
namespace {

std::string shown(const Flag& flag) {
  return std::visit([](auto* value) { return fmt::format("{}", *value); }, flag.value);
}

void set(const Flag& flag, const std::string& text) {
  const auto read = [&](auto* value) {
    if constexpr (std::is_same_v<decltype(value), std::string*>) {
      *value = text;
    } else if constexpr (!std::is_same_v<decltype(value), bool*>) {
      const char* end = text.data() + text.size();
      if (std::from_chars(text.data(), end, *value).ptr != end || !(*value >= 0 && *value < 1e15))
        throw std::runtime_error(fmt::format("--{} takes a number, not \"{}\"", flag.name, text));
    }
  };
  std::visit(read, flag.value);
}

}  // namespace

bool parse(const std::vector<std::string>& arguments, const std::vector<Flag>& flags) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help") {
      for (const Flag& f : flags) fmt::print("--{:<14} {} ({})\n", f.name, f.help, shown(f));
      return false;
    }
    const auto flag = std::find_if(flags.begin(), flags.end(),
                                   [&](const Flag& f) { return "--" + f.name == arguments[i]; });
    if (flag == flags.end())
      throw std::runtime_error("there is no flag " + arguments[i] + ": --help lists them");
    if (bool* const* on = std::get_if<bool*>(&flag->value)) {
      **on = true;
    } else {
      if (i + 1 == arguments.size()) throw std::runtime_error(arguments[i] + " takes a value");
      set(*flag, arguments[++i]);
    }
  }
  return true;
}

}  // namespace samples
