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
// Returns which op of the instructions has no function here, or an empty text.
std::string WhyUnknown(const std::vector<Instruction>& body);

class Machine {
 public:
  explicit Machine(const Case& c) : case_(c) {}
  void Set(const std::string& name, Operand value) { values_.insert_or_assign(name, value); }
  bool Has(const std::string& name) const { return values_.count(name) != 0; }
  const Operand& Get(const std::string& name) const { return values_.at(name); }
  std::vector<Operand> Operands(size_t k) const { return OperandsOf(case_.body[k].in); }
  // Runs the k-th instruction on these operands and keeps its results. Throws the errors of the
  // op, and std::logic_error if it returns another number of results.
  void Step(size_t k, std::vector<Operand> operands);
  void Step(size_t k) { Step(k, Operands(k)); }
  // Returns every array so far.
  std::vector<Array> Arrays() const;
  // Replicates every array so far.
  void Replicate();

  // An instruction of an inner function, as it was traced last.
  struct Traced {
    const Instruction* instruction;
    std::vector<ArrayType> operands;
  };
  // Of the inner functions of the last step: types of parameters and values; instructions.
  const std::map<std::string, ArrayType>& inner_types() const { return inner_types_; }
  const std::map<std::string, Array>& inner_arrays() const { return inner_arrays_; }
  const std::map<std::string, Traced>& inner() const { return inner_; }
  // Returns the name of the innermost instruction that threw in the last step.
  const std::string& raised() const { return raised_; }

 private:
  std::vector<Operand> OperandsOf(const Json& in) const;
  void Execute(const Instruction& instruction, std::vector<Operand> operands);
  // Control flow, and functions of it.
  std::vector<Array> Apply(const Instruction& instruction, const std::vector<Operand>& operands);
  std::vector<Array> CallFunction(const Function& f, const std::vector<Array>& arguments);
  void Note(const std::string& name);

  const Case& case_;  // outlives all locations, whose file is an instruction's name
  std::map<std::string, Operand> values_;
  int depth_ = 0;  // of the function that is being traced
  std::map<std::string, ArrayType> inner_types_;
  std::map<std::string, Array> inner_arrays_;
  std::map<std::string, Traced> inner_;
  std::string raised_;
};

// Returns whether the machine runs the op's functions.
bool IsControl(const std::string& op);

// Returns the outcome of an exception that the k-th instruction threw. Must be called in a handler.
Outcome Caught(const Case& c, size_t k, const Machine& machine);

}  // namespace tessera::conformance
