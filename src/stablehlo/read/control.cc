// Calls, loops and branches.
#include "tessera/control.h"

#include <absl/strings/numbers.h>

#include <optional>

#include "base/at.h"
#include "stablehlo/read/expressions.h"
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {
namespace {

Arrays Call(ReadCall& c) { return c.importer().Call(c.Word("callee"), c.in, c); }

// A composite is an operation of chlo, or its decomposition, which is a function.
Arrays Composite(ReadCall& c) {
  if (const ReadOp known = ReaderOfChlo(c.Word("name"))) return known(c);
  return c.importer().Call(c.Word("decomposition"), c.in, c);
}

// Returns the number that a value has in the text; none if no constant defines it.
std::optional<int64_t> NumberAt(const ReadCall& c, uint32_t value) {
  const Operation* made = c.DefinitionOfValue(value);
  int64_t number = 0;
  if (!made || !absl::SimpleAtoi(NumberText(c.importer().module(), *made), &number))
    return std::nullopt;
  return number;
}

// Returns how often the body of a loop runs, if it says so as JAX's `scan` and `fori_loop` do: a
// carry begins at a number, the body adds 1 to it, and the loop goes on while it is less than
// another number.
std::optional<int64_t> StepsOf(const ReadCall& c) {
  if (c.op().regions.size() != 2) return std::nullopt;
  const TextRegion &condition = c.op().regions[0], &body = c.op().regions[1];
  if (condition.operations.empty() || body.operations.empty()) return std::nullopt;
  const auto &runs = condition.operations.back().operands, &next = body.operations.back().operands;
  const Operation* test = runs.size() == 1 ? c.DefinitionOfValue(runs[0]) : nullptr;
  const Attribute* direction = test ? test->Find("comparison_direction") : nullptr;
  if (!direction || direction->text != "LT" || test->operands.size() != 2) return std::nullopt;
  const uint32_t k = test->operands[0] - condition.first_argument;
  if (k >= condition.arguments || k >= next.size() || k >= c.in.size() ||
      !api::TypeOf(c.In(k))->dtype().is_integer())
    return std::nullopt;
  const Operation* sum = c.DefinitionOfValue(next[k]);
  if (!sum || sum->name != "stablehlo.add" || sum->operands.size() != 2 ||
      sum->operands[0] != body.first_argument + k || NumberAt(c, sum->operands[1]) != 1)
    return std::nullopt;
  const auto first = NumberAt(c, c.op().operands[k]), last = NumberAt(c, test->operands[1]);
  int64_t steps = 0;
  if (!first || !last || *last <= *first || __builtin_sub_overflow(*last, *first, &steps))
    return std::nullopt;
  return steps;
}

// A loop of known length is a scan, which has a derivative in reverse, and whose work is counted
// for all steps.
Arrays While(ReadCall& c) {
  if (const auto steps = StepsOf(c))
    return scan([&](const Arrays& carry,
                    NoneType) { return std::pair(c.RunRegion(1, carry), None); },
                c.in, None, {.length = *steps}, c.loc())
        .first;
  return while_loop([&](const Arrays& carry) { return c.Only(c.RunRegion(0, carry)); },
                    [&](const Arrays& carry) { return c.RunRegion(1, carry); }, c.in, c.loc());
}

std::vector<detail::Body> BranchesOf(const ReadCall& c) {
  std::vector<detail::Body> branches;
  for (size_t k = 0; k < c.op().regions.size(); ++k)
    branches.push_back([&c, k](const Arrays&) {
      return detail::FunctionResult::Of(detail::AnyTree::Of(c.RunRegion(k, {})));
    });
  return branches;
}

// Branches have no arguments: they use values from outside. An index out of range takes the last
// branch.
Arrays Case(ReadCall& c) {
  const Arrays none;
  const Array& index = c.In(0);
  const Array last = api::StrongScalar(static_cast<int64_t>(c.op().regions.size()) - 1,
                                       api::TypeOf(index)->dtype(), c.call());
  const Array zero = api::StrongScalar(0, api::TypeOf(index)->dtype(), c.call());
  const Array chosen = where(lt(index, zero, {}, c.loc()), last, index, {}, c.loc());
  return detail::SwitchCase(Operand(chosen, c.loc()), detail::AnyTree::Of(none).ref(),
                            BranchesOf(c))
      .arrays;
}
Arrays If(ReadCall& c) {
  const Arrays none;
  return detail::Cond(Operand(c.In(0), c.loc()), detail::AnyTree::Of(none).ref(), BranchesOf(c))
      .arrays;
}

}  // namespace

std::vector<OpReader> ControlReaders() {
  return {
      {"call", Call},           {"func.call", Call},
      {"stablehlo.case", Case}, {"stablehlo.composite", Composite},
      {"stablehlo.if", If},     {"stablehlo.while", While},
  };
}

}  // namespace tessera::stablehlo
