// The values of a text by the names that cases give them, and the text as Shardy reads it.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/text/tree.h"

namespace tessera::stablehlo_runner {

// An operation with the names of its values, "@f/%3" outside of @main.
struct NamedOperation {
  const stablehlo::Operation* operation;
  std::string function;
  std::vector<std::string> operands, results;
  std::vector<const stablehlo::TextType*> operand_types;
  bool is_used = false;  // by a result of its function, or by an operation that does more
};

class TextNames {
 public:
  explicit TextNames(const stablehlo::Module& module);

  // Returns the case's name of a value. They differ for a text in generic form, whose case has the
  // names of the pretty form.
  std::string NameInCase(const std::string& name) const;

  std::vector<NamedOperation> operations;

 private:
  std::map<std::string, std::string> pretty_;  // by names of the text, both without `#1`
};

inline constexpr std::string_view kBarrier = "%stopped_";  // begins the names of barriers

// Returns the text with barriers where Shardy's propagation stops and Tessera's does not
// (docs/differences.md#shardings-of-jaxs-programs): before the operands of operations for which
// Shardy has no rule, and before each use of an argument that is replicated and closed. Values keep
// their names.
std::string WithLimitsOfShardy(const stablehlo::Module& module, std::set<std::string> without_rule);

}  // namespace tessera::stablehlo_runner
