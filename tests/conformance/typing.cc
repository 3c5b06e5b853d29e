// Compares traced types, refusals and collectives with those recorded.
#include "typing.h"

#include <optional>

#include "machine.h"
#include "ops.h"
#include "tessera/transforms.h"

namespace tessera::conformance {
namespace {

void BindArguments(const Case& c, Machine& machine) {
  for (const auto& [name, arg] : c.args.items()) {
    std::string type = arg.is_string() ? arg.get<std::string>() : arg.at("type").get<std::string>();
    machine.Set(name, Operand(abstract_array(type)));
  }
}

// `implied`: only those that no reshard of the program asks for.
template <class Function>
int64_t CountCollectives(const Function& function, const std::vector<Array>& arguments,
                         bool implied) {
  CommReport report = function.lower(arguments).comm();
  int64_t collectives = 0;
  for (const CommEvent& event : report.events())
    if (!implied || event.implied) collectives += event.times;
  return collectives;
}

// Returns the collectives of the device program of the first `count` instructions, all of whose
// values are results, so that none of them is dead. `last` is the instruction that is asked about.
int64_t Collectives(const Case& c, size_t count, size_t last) {
  Machine arguments(c);
  BindArguments(c, arguments);
  std::vector<std::string> names;
  std::vector<Array> arrays;
  for (const auto& [name, arg] : c.args.items()) {
    names.push_back(name);
    arrays.push_back(arguments.Get(name).array());
  }
  auto program = jit([&](std::vector<Array> traced) {
    Machine machine(c);
    for (size_t i = 0; i < names.size(); ++i) machine.Set(names[i], Operand(traced[i]));
    for (size_t k = 0; k < count; ++k) machine.Step(k);
    return machine.Arrays();
  });
  // A function's specs are written reshards.
  bool implied = !c.body[last].functions.empty();
  return CountCollectives(program, arrays, implied);
}

// Returns the collectives of the k-th instruction on operands that are neither unreduced nor
// reduced: JAX's gaps are about those, and it accepts the rest with these collectives.
int64_t PlainCollectives(const Case& c, size_t k, const Machine& machine) {
  std::vector<Operand> operands = machine.Operands(k);
  std::vector<Array> plain;
  for (const Operand& operand : operands) {
    if (operand.scalar()) continue;
    std::string type = type_of(operand.array()).text();
    plain.push_back(abstract_array(type.substr(0, type.find('{'))));
  }
  auto program = jit([&](std::vector<Array> traced) {
    Machine one(c);
    size_t next = 0;
    std::vector<Operand> in;
    for (const Operand& o : operands) in.push_back(o.scalar() ? o : Operand(traced[next++]));
    one.Step(k, in);
    return one.Arrays();
  });
  try {
    return CountCollectives(program, plain, false);
  } catch (const Error&) {
    return 0;
  }
}

// The library accepted the k-th instruction, or typed it otherwise than JAX: allowed for the gaps
// of JAX and the families that docs/differences.md argues, and only if no data moves for it.
Outcome AcceptsMore(const Case& c, size_t k, const Machine& machine, Outcome outcome,
                    const std::optional<Family>& family) {
  if (!family) return outcome;
  outcome.family = family->name;
  try {
    int64_t collectives = Collectives(c, k + 1, k) - Collectives(c, k, k);
    if (c.gap && collectives > 0) collectives -= PlainCollectives(c, k, machine);
    outcome.passed = family->may_communicate || collectives <= 0;
    if (collectives > 0) outcome.came += ", with " + std::to_string(collectives) + " collectives";
  } catch (const std::exception& e) {
    outcome.came += ", but it does not lower: " + std::string(e.what());
  }
  return outcome;
}

// Whether the text is the text of this type, for a type on the same mesh with the same modes.
bool IsText(const ArrayType& type, const std::string& text) {
  if (type.mesh().empty()) return ArrayType::Parse(text).text() == type.text();
  MeshScope scope(type.mesh());
  return ArrayType::Parse(text).text() == type.text();
}

std::string TypeText(const Operand& value) {
  return value.scalar() ? "a number" : type_of(value.array()).text();
}

Situation Describe(const Case& c, size_t k, const Machine& machine) {
  Situation situation{c, c.body[k], {}};
  for (const Operand& operand : machine.Operands(k)) {
    if (!operand.scalar()) situation.operands.push_back(type_of(operand.array()));
  }
  return situation;
}

// Returns the outcome of the k-th instruction having been accepted, if it is not as expected.
std::optional<Outcome> CompareTypes(const Case& c, size_t k, const Machine& machine,
                                    const Families& families) {
  const Instruction& instruction = c.body[k];
  std::map<std::string, ArrayType> types = machine.inner_types();
  for (const std::string& out : instruction.out)
    if (const Operand& value = machine.Get(out); !value.scalar())
      types.insert_or_assign(out, type_of(value.array()));
  for (const auto& [out, type] : types) {
    if (!c.expect.contains("types") || !c.expect["types"].contains(out)) continue;
    std::string wanted = c.expect["types"][out].get<std::string>();
    std::string came = type.text();
    try {
      if (IsText(type, wanted)) continue;
    } catch (const Error& e) {
      came += " (the expected text is refused: " + std::string(e.what()) + ")";
    }
    std::string here = out + " = " + instruction.op + ": ";
    auto inner = machine.inner().find(out);
    Situation situation = inner == machine.inner().end()
                              ? Describe(c, k, machine)
                              : Situation{c, *inner->second.instruction, inner->second.operands};
    auto family = families.Find(situation, Departure::kAnotherType);
    if (!family) return Failed(Kind::kDifferent, here + wanted, came);
    return AcceptsMore(c, k, machine, Failed(Kind::kAcceptsMore, here + wanted, came), family);
  }
  return std::nullopt;
}

// The k-th instruction threw. JAX's acceptance may be argued to be wrong.
Outcome Refused(const Case& c, size_t k, const Machine& machine, const Families& families) {
  Outcome outcome = Caught(c, k, machine);
  // An earlier instruction of a function that was accepted by mistake may be the cause.
  auto inner = machine.inner().find(c.refused_at());
  if (outcome.kind == Kind::kWrongPlace && inner != machine.inner().end() &&
      machine.inner_types().count(c.refused_at())) {
    Situation situation{c, *inner->second.instruction, inner->second.operands};
    auto family = c.gap ? Family{"gap", false} : families.Find(situation, Departure::kAccepted);
    if (family) {
      outcome.family = family->name;
      outcome.passed = true;
      return outcome;
    }
  }
  if (outcome.kind != Kind::kRefuses && outcome.kind != Kind::kWrongPlace) return outcome;
  if (auto family = families.Find(Describe(c, k, machine), Departure::kRefused)) {
    outcome.family = family->name;
    outcome.passed = true;
  }
  return outcome;
}

// Returns the outcome if the k-th instruction, or one inside of it, was to be refused.
std::optional<Outcome> AcceptedRefused(const Case& c, size_t k, const Machine& machine,
                                       const Families& families) {
  const std::string at = c.refused_at();
  auto inner = machine.inner().find(at);
  bool is_inner = inner != machine.inner().end();
  if (at.empty() || (!is_inner && at != c.body[k].out.at(0))) return std::nullopt;
  Situation situation = is_inner ? Situation{c, *inner->second.instruction, inner->second.operands}
                                 : Describe(c, k, machine);
  auto family = c.gap ? Family{"gap", false} : families.Find(situation, Departure::kAccepted);
  Outcome accepted =
      Failed(Kind::kAcceptsMore, at + " = " + situation.instruction.op + " refused: " + c.refusal(),
             is_inner ? machine.inner_types().at(at).text() : TypeText(machine.Get(at)));
  // Collectives are counted of the whole of control flow, where others may follow.
  if (is_inner && family) family->may_communicate = true;
  return AcceptsMore(c, k, machine, accepted, family);
}

Outcome RunBody(const Case& c, const Families& families) {
  Machine machine(c);
  try {
    BindArguments(c, machine);
  } catch (const Error& e) {
    return Failed(Kind::kRefuses, "the arguments", e.what());
  }
  for (size_t k = 0; k < c.body.size(); ++k) {
    try {
      machine.Step(k);
    } catch (...) {
      return Refused(c, k, machine, families);
    }
    if (auto outcome = AcceptedRefused(c, k, machine, families)) return *outcome;
    if (auto outcome = CompareTypes(c, k, machine, families)) return *outcome;
  }
  if (!c.refused_at().empty()) {
    return Failed(Kind::kAcceptsMore, "a refusal of " + c.refused_at(), "nothing of that name");
  }
  return {};
}

}  // namespace

Outcome RunTyping(const Case& c, const Families& families) {
  std::string why = WhyUnsupported(c);
  if (!why.empty()) return Skipped(why);
  std::optional<MeshScope> scope;
  if (c.has_mesh) scope.emplace(abstract_mesh(c.mesh));
  return RunBody(c, families);
}

}  // namespace tessera::conformance
