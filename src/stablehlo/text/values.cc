// The names of values and the regions in which they hold.
#include "stablehlo/text/values.h"

namespace tessera::stablehlo {

void TextNames::Clear() {
  meanings_.clear();
  hidden_.clear();
  regions_.clear();
}

void TextNames::CloseRegion() {
  for (const size_t begin = regions_.back(); hidden_.size() > begin; hidden_.pop_back()) {
    const Hidden& hidden = hidden_.back();
    if (hidden.meaning.values.count == 0)
      meanings_.erase(hidden.name);
    else
      meanings_[hidden.name] = hidden.meaning;
  }
  regions_.pop_back();
}

bool TextNames::Define(std::string_view name, ValueRange values) {
  Meaning& meaning = meanings_[name];
  if (meaning.values.count > 0 && meaning.depth == regions_.size()) return false;
  hidden_.push_back({name, meaning});
  meaning = {values, regions_.size()};
  return true;
}

ValueRange TextNames::Find(std::string_view name) const {
  const auto found = meanings_.find(name);
  return found == meanings_.end() ? ValueRange{} : found->second.values;
}

}  // namespace tessera::stablehlo
