// Loads the allowed differences of rules and finds the one that explains a case.
#include "rule_differences.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "sharding/rule_text.h"

namespace tessera::conformance {
namespace {

// The rule of the map with every kind the same.
std::string WithoutKinds(sharding::DimMap map) {
  for (sharding::Factor& f : map.factors) f.kind = sharding::FactorKind::kPass;
  return Text(Completed(map));
}

}  // namespace

RuleDifferences RuleDifferences::Load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  RuleDifferences differences;
  for (const Json& json : Json::parse(file)) {
    Entry entry{json.at("family"), json.at("ops")};
    json.at("argued").get<std::string>();
    std::string differs = json.at("differs");
    entry.kinds = differs == "kinds";
    entry.no_rule = differs == "no rule";
    if (!entry.kinds && !entry.no_rule)
      throw std::runtime_error(path + ": rules do not differ in " + differs);
    differences.entries_.push_back(std::move(entry));
  }
  return differences;
}

std::string RuleDifferences::Find(const std::string& op, const std::string& recorded,
                                  const sharding::DimMap& ours) const {
  for (const Entry& e : entries_) {
    if (std::find(e.ops.begin(), e.ops.end(), op) == e.ops.end()) continue;
    bool fits = recorded.empty()
                    ? e.no_rule
                    : e.kinds && WithoutKinds(sharding::ParseRule(recorded, Loc::Unknown())) ==
                                     WithoutKinds(ours);
    if (fits) return e.family;
  }
  return "";
}

}  // namespace tessera::conformance
