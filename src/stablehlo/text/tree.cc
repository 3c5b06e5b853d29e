// Memory and look-ups of the syntax tree.
#include "stablehlo/text/tree.h"

#include <functional>

#include "stablehlo/text/lexer.h"

namespace tessera::stablehlo {

const Attribute* Find(std::span<const NamedAttribute> attributes, std::string_view name) {
  for (const NamedAttribute& attribute : attributes)
    if (attribute.name == name) return &attribute.value;
  return nullptr;
}
const Attribute* Attribute::Find(std::string_view field) const {
  return stablehlo::Find(fields(), field);
}

Module::Module(std::string_view text, Loc file, std::shared_ptr<const void> owner)
    : text_(text),
      file_(file),
      owner_(std::move(owner)),
      memory_(std::make_unique<std::pmr::monotonic_buffer_resource>()) {}

std::string_view Module::Keep(std::string_view part) {
  const std::span<const char> kept = Keep(std::span<const char>(part.data(), part.size()));
  return {kept.data(), kept.size()};
}

const TextFunction* Module::FindFunction(std::string_view function) const {
  for (const TextFunction& candidate : functions)
    if (candidate.name == function) return &candidate;
  return nullptr;
}

bool Module::IsOfText(std::string_view part) const {
  const std::less_equal<const char*> before;
  return before(text_.data(), part.data()) &&
         before(part.data() + part.size(), text_.data() + text_.size());
}

size_t Module::PlaceOf(std::string_view part) const {
  return IsOfText(part) ? static_cast<size_t>(part.data() - text_.data()) : 0;
}

void Module::Fail(size_t place, std::string reason) const {
  FailInText(text_, file_, place, std::move(reason));
}

}  // namespace tessera::stablehlo
