// Finds arguments by their names.
#include "stablehlo/read/argument_names.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/near_names.h"

namespace tessera::stablehlo {
namespace {

// Whether the text is the pattern, in which each `*` stands for any text.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t at = 0, p = 0, star = pattern.npos, after_star = 0;
  while (at < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, after_star = at;
    } else if (p < pattern.size() && pattern[p] == text[at]) {
      ++p, ++at;
    } else if (star != pattern.npos) {
      p = star + 1, at = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

}  // namespace

std::string ArgumentName::Shown() const {
  return given.empty() ? value : fmt::format("{} ({})", value, given);
}

ArgumentNames::ArgumentNames(const Module& module, const TextFunction& function) {
  for (size_t k = 0; k < function.body.arguments; ++k) {
    const TextValue& value = function.values[k];
    names_.push_back(
        {fmt::format("%{}", value.name), std::string(module.locations.NameStack(value.location))});
  }
}

ArgumentNames::ArgumentNames(const ir::Program& program) {
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    ArgumentName name;
    // An operation or a call that changes nothing gives its name, after these two.
    for (const auto& [known, v] : program.names) {
      std::string& part = known.starts_with('%') ? name.value : name.given;
      if (v == program.inputs[k] && part.empty() && !known.starts_with('@')) part = known;
    }
    if (name.value.empty()) name.value = fmt::format("%{}", k);
    names_.push_back(std::move(name));
  }
}

std::vector<size_t> ArgumentNames::Find(std::string_view name, const char* op, Loc loc) const {
  std::vector<size_t> found;
  for (size_t k = 0; k < names_.size(); ++k) {
    const std::string_view value = names_[k].value;
    const std::string number = std::to_string(k);
    for (std::string_view known :
         {value, value.substr(1), std::string_view(number), std::string_view(names_[k].given)})
      if (!known.empty() && Matches(name, known)) {
        found.push_back(k);
        break;
      }
  }
  if (found.empty()) FailUnknown(name, op, loc);
  return found;
}

void ArgumentNames::FailUnknown(std::string_view name, const char* op, Loc loc) const {
  std::vector<std::string> known, shown;
  for (const ArgumentName& n : names_) {
    known.push_back(name.starts_with('%') ? n.value : n.value.substr(1));
    if (!n.given.empty()) known.push_back(n.given);
  }
  constexpr size_t kShown = 8;
  for (size_t k = 0; k < std::min(kShown, names_.size()); ++k) shown.push_back(names_[k].Shown());
  if (names_.size() > kShown) shown.push_back(fmt::format("... {}", names_.back().Shown()));
  const std::string near = absl::StrJoin(base::NearNames(known, name), ", ");
  base::ThrowRuntime(base::Refusal(
      op, "argument", base::Where(loc),
      names_.empty()
          ? "the program has no arguments"
          : fmt::format("the program has no argument '{}'; did you mean {}?", name, near),
      names_.empty() ? std::vector<std::string>()
                     : std::vector{"its arguments are " + absl::StrJoin(shown, ", ")}));
}

}  // namespace tessera::stablehlo
