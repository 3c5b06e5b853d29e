// Runs a case's instructions one after another.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "case.h"
#include "outcome.h"
#include "tessera/ops.h"

namespace tessera::conformance {

// Returns why the case cannot be run, or an empty text. Looks at modes, functions and op names.
std::string WhyUnsupported(const Case& c);
// Returns whether a text of type or dtype is complex.
bool IsComplex(const std::string& type);

class Machine {
 public:
  explicit Machine(const Case& c) : case_(c) {}
  void Set(const std::string& name, Operand value) { values_.insert_or_assign(name, value); }
  bool Has(const std::string& name) const { return values_.count(name) != 0; }
  const Operand& Get(const std::string& name) const { return values_.at(name); }
  std::vector<Operand> Operands(size_t k) const;
  // Runs the k-th instruction on these operands and keeps its results. Throws what the op throws;
  // std::logic_error if it gives another number of results.
  void Step(size_t k, std::vector<Operand> operands);
  void Step(size_t k) { Step(k, Operands(k)); }
  // Returns every array so far.
  std::vector<Array> Arrays() const;

 private:
  const Case& case_;  // outlives all locations, whose file is an instruction's name
  std::map<std::string, Operand> values_;
};

// Returns the outcome of an exception that the k-th instruction threw. Must be called in a handler.
Outcome Caught(const Case& c, size_t k);

}  // namespace tessera::conformance
