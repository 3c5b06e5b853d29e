// Calls, loops and branches.
#include "tessera/control.h"

#include "base/at.h"
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {
namespace {

Arrays Call(ReadCall& c) { return c.importer().Call(c.Word("callee"), c.in, c); }

// A composite is an operation of chlo, or its decomposition, which is a function.
Arrays Composite(ReadCall& c) {
  if (const ReadOp known = ReaderOfChlo(c.Word("name"))) return known(c);
  return c.importer().Call(c.Word("decomposition"), c.in, c);
}

Arrays While(ReadCall& c) {
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
