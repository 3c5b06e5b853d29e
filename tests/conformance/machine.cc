#include "machine.h"

#include <stdexcept>

#include "ops.h"

namespace tessera::conformance {
namespace {

Loc Place(const Case& c, size_t k) {
  return Loc::Current(c.body[k].out.at(0).c_str(), static_cast<int>(k) + 1);
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string WhyUnsupported(const Case& c) {
  for (const MeshAxis& axis : c.mesh) {
    if (axis.mode != Explicit) return "axis " + axis.name + " is not explicit";
  }
  for (const Instruction& instruction : c.body) {
    if (instruction.has_functions) return instruction.op + " of a function";
    if (!Ops().count(instruction.op)) return instruction.op;
  }
  if (!c.expect.contains("types") && !c.expect.contains("error") && !c.expect.contains("data")) {
    return "expects neither types nor numbers";
  }
  return "";
}

bool IsComplex(const std::string& type) {
  return type.rfind("c64", 0) == 0 || type.rfind("c128", 0) == 0;
}

std::vector<Operand> Machine::Operands(size_t k) const {
  std::vector<Operand> operands;
  for (const Json& in : case_.body[k].in) {
    operands.push_back(in.is_string() ? Get(in.get<std::string>())
                                      : Operand(ParseScalar(in), Place(case_, k)));
  }
  return operands;
}

void Machine::Step(size_t k, std::vector<Operand> operands) {
  const Instruction& instruction = case_.body[k];
  std::vector<Array> results = Apply(instruction, std::move(operands), Place(case_, k));
  if (results.size() != instruction.out.size()) {
    throw std::logic_error(std::to_string(results.size()) + " results");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Set(instruction.out[i], Operand(results[i], Place(case_, k)));
  }
}

std::vector<Array> Machine::Arrays() const {
  std::vector<Array> arrays;
  for (const auto& [name, value] : values_) {
    if (!value.scalar()) arrays.push_back(value.array());
  }
  return arrays;
}

Outcome Caught(const Case& c, size_t k) {
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
    if (at == instruction.out.at(0)) return {};
    return Failed(at.empty() ? Kind::kRefuses : Kind::kWrongPlace, expected, here + e.what());
  } catch (const std::exception& e) {
    return Failed(Kind::kWrongPlace, expected, here + "not a library error: " + e.what());
  }
}

}  // namespace tessera::conformance
