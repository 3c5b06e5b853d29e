#include "rule_differences.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "sharding/rule_text.h"

namespace tessera::conformance {
namespace {

// The map with what is not compared made equal.
std::string Reduced(sharding::DimMap map, bool kinds, bool sizes) {
  for (sharding::Factor& f : map.factors) {
    if (!kinds) f.kind = sharding::FactorKind::kPass;
    if (!sizes) f.size = 2;
  }
  return Text(Completed(map));
}

}  // namespace

RuleDifferences RuleDifferences::Load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  RuleDifferences differences;
  for (const Json& json : Json::parse(file)) {
    Entry entry{json.at("family"), json.at("ops"), false, false, false};
    json.at("argued").get<std::string>();
    for (const std::string& what : json.at("differs").get<std::vector<std::string>>()) {
      if (what == "kinds")
        entry.kinds = true;
      else if (what == "sizes")
        entry.sizes = true;
      else if (what == "factors")
        entry.factors = true;
      else
        throw std::runtime_error(path + ": rules do not differ in " + what);
    }
    differences.entries_.push_back(std::move(entry));
  }
  return differences;
}

std::string RuleDifferences::Find(const std::string& op, const std::string& recorded,
                                  const sharding::DimMap& ours) const {
  if (recorded.empty()) return "";
  sharding::DimMap theirs = sharding::ParseRule(recorded, Loc::Unknown());
  for (const Entry& e : entries_) {
    if (std::find(e.ops.begin(), e.ops.end(), op) == e.ops.end()) continue;
    if (e.factors || Reduced(theirs, !e.kinds, !e.sizes) == Reduced(ours, !e.kinds, !e.sizes))
      return e.family;
  }
  return "";
}

}  // namespace tessera::conformance
