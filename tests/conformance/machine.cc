// Holds the values of a case by name and calls ops on them.
#include "machine.h"

#include <stdexcept>

#include "ops.h"

namespace tessera::conformance {
namespace {

// The file is the instruction's name.
Loc Place(const Instruction& instruction) { return Loc::Current(instruction.out.at(0).c_str(), 1); }

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string WhyUnknown(const std::vector<Instruction>& body) {
  for (const Instruction& instruction : body) {
    bool known = instruction.functions.empty() ? Ops().count(instruction.op) != 0
                                               : IsControl(instruction.op);
    if (!known) return instruction.op + (instruction.functions.empty() ? "" : " of a function");
    for (const Function& f : instruction.functions)
      if (std::string why = WhyUnknown(f.body); !why.empty()) return why;
  }
  return "";
}

std::string WhyUnsupported(const Case& c) {
  for (const MeshAxis& axis : c.mesh) {
    if (axis.mode == Manual) return "axis " + axis.name + " is manual";
  }
  if (std::string why = WhyUnknown(c.body); !why.empty()) return why;
  if (!c.expect.contains("types") && !c.expect.contains("error") && !c.expect.contains("data")) {
    return "expects neither types nor numbers";
  }
  return "";
}

std::vector<Operand> Machine::OperandsOf(const Json& in) const {
  std::vector<Operand> operands;
  for (const Json& value : in) {
    operands.push_back(value.is_string() ? Get(value.get<std::string>())
                                         : Operand(ParseScalar(value)));
  }
  return operands;
}

void Machine::Step(size_t k, std::vector<Operand> operands) {
  raised_.clear();
  inner_types_.clear();
  inner_.clear();
  Execute(case_.body[k], std::move(operands));
}

void Machine::Execute(const Instruction& instruction, std::vector<Operand> operands) {
  Loc place = Place(instruction);
  std::vector<Array> results;
  try {
    results = instruction.functions.empty()
                  ? conformance::Apply(instruction, std::move(operands), place)
                  : Apply(instruction, operands);
  } catch (...) {
    if (raised_.empty()) raised_ = instruction.out.at(0);
    throw;
  }
  if (results.size() != instruction.out.size()) {
    throw std::logic_error(std::to_string(results.size()) + " results");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Set(instruction.out[i], Operand(results[i], place));
    Note(instruction.out[i]);
  }
}

void Machine::Note(const std::string& name) {
  if (depth_ == 0) return;
  inner_types_.insert_or_assign(name, type_of(Get(name).array()));
  inner_arrays_.insert_or_assign(name, Get(name).array());
}

// Names in the function hide outer names while it runs.
std::vector<Array> Machine::CallFunction(const Function& f, const std::vector<Array>& arguments) {
  if (arguments.size() != f.args.size()) throw std::logic_error("another number of arguments");
  struct Scope {
    Machine& machine;
    std::map<std::string, Operand> outside = machine.values_;
    explicit Scope(Machine& m) : machine(m) { ++machine.depth_; }
    ~Scope() {
      --machine.depth_;
      machine.values_ = std::move(outside);
    }
  } scope(*this);
  for (size_t i = 0; i < arguments.size(); ++i) {
    Set(f.args[i], Operand(arguments[i]));
    Note(f.args[i]);
  }
  for (const Instruction& instruction : f.body) {
    std::vector<Operand> operands = OperandsOf(instruction.in);
    Traced& traced = inner_[instruction.out.at(0)] = {&instruction, {}};
    for (const Operand& operand : operands)
      if (!operand.scalar()) traced.operands.push_back(type_of(operand.array()));
    Execute(instruction, std::move(operands));
  }
  std::vector<Array> results;
  for (const Operand& operand : OperandsOf(f.returns))
    results.push_back(operand.scalar() ? Array(*operand.scalar()) : operand.array());
  return results;
}

void Machine::Replicate() {
  for (auto& [name, value] : values_) {
    if (!value.scalar()) value = Operand(reshard(value.array(), P()));
  }
}

std::vector<Array> Machine::Arrays() const {
  std::vector<Array> arrays;
  for (const auto& [name, value] : values_) {
    if (!value.scalar()) arrays.push_back(value.array());
  }
  return arrays;
}

namespace {
bool Has(const Instruction& i, const std::string& name) {
  if (i.out.at(0) == name) return true;
  for (const Function& f : i.functions)
    for (const Instruction& inner : f.body)
      if (Has(inner, name)) return true;
  return false;
}
// Whether `inner` is the instruction `name`, or one of its functions'.
bool IsOrHas(const std::vector<Instruction>& body, const std::string& name,
             const std::string& inner) {
  for (const Instruction& i : body) {
    if (i.out.at(0) == name) return Has(i, inner);
    for (const Function& f : i.functions)
      if (IsOrHas(f.body, name, inner)) return true;
  }
  return false;
}
}  // namespace

Outcome Caught(const Case& c, size_t k, const Machine& machine) {
  const Instruction& instruction = c.body[k];
  std::string at = c.refused_at();
  std::string expected = at.empty() ? "types" : "a refusal of " + at + ": " + c.refusal();
  std::string here = instruction.out.at(0) + " = " + instruction.op + ": ";
  try {
    throw;
  } catch (const Unsupported& e) {
    return Skipped(e.what());
  } catch (const InternalError& e) {
    return Failed(Kind::kWrongPlace, expected, here + "internal error: " + FirstLine(e.what()));
  } catch (const Error& e) {
    // Errors of a transform are reported at the line of the instruction inside.
    const std::string where = e.where().substr(0, e.where().find(':'));
    if (at == machine.raised() || IsOrHas(c.body, at, where)) return {};
    return Failed(at.empty() ? Kind::kRefuses : Kind::kWrongPlace, expected, here + e.what());
  } catch (const std::exception& e) {
    return Failed(Kind::kWrongPlace, expected, here + "not a library error: " + e.what());
  }
}

}  // namespace tessera::conformance
