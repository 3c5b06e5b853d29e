// Explanations of a program's values by their names.
#pragma once
#include <optional>

#include "compile/auto/propagate.h"
#include "compile/auto/value_names.h"
#include "propagation/explain.h"
#include "tessera/explain.h"

namespace tessera::compile {

// A program propagated so that it can be explained.
class ProgramExplainer {
 public:
  // Throws RuntimeError for a device program.
  ProgramExplainer(const ir::Program& program, propagation::Stage stop_after);
  ProgramExplainer(const ProgramExplainer&) = delete;

  const ValueNames& values() const { return values_; }
  Explanation Of(const ValueNames::Entry& e);

 private:
  Propagated propagated_;
  ValueNames values_;
  propagation::engine::Naming names_;
  std::optional<propagation::engine::Explainer> explainer_;
};

}  // namespace tessera::compile
