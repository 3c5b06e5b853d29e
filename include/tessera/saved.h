// Runs of programs with trees, in place of lists of arrays:
//
//   jit(step).lower(params, x).program().save("step.program");
//   ...                                                          // in another process
//   const Program step = Program::Load("step.program");
//   Params next = run_as<Params>(step, params, x);
#pragma once
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/program.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {

namespace detail {
// Replaces the arrays of `like` by the results of the program. `arguments` is a tuple.
void RunTrees(const Program& program, TreeRef arguments, TreeRef like, Loc loc);

// A program, with the line of the call: no Loc parameter can follow a pack of trees.
struct ProgramAt {
  ProgramAt(const Program& its_program, Loc line = Loc::Current())
      : program(its_program), loc(line) {}
  const Program& program;
  Loc loc;
};
}  // namespace detail

// Returns the results of the program for these arguments, as `like` with its arrays, which may have
// no value, replaced. Throws TraceError if arguments or results are named unlike those of the
// function that was traced, and else as Program::run.
template <Tree R, Tree... A>
R run_like(detail::ProgramAt at, R like, A... arguments) {
  std::tuple<A...> all(std::move(arguments)...);
  detail::RunTrees(at.program, all, like, at.loc);
  return like;
}
// Same, for a result whose default value has all of its arrays, such as Array or a struct.
template <Tree R, Tree... A>
R run_as(detail::ProgramAt at, A... arguments) {
  return run_like(at, R{}, std::move(arguments)...);
}

}  // namespace tessera
