// Programs of JAX and of other front ends, as StableHLO text with sdy shardings, and programs as
// such text.
//
//   Program p = load_stablehlo("step.mlir");   // jax.jit(step).lower(...).as_text()
//   std::vector<Array> results = to_function(p)({x, w});
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/array.h"
#include "tessera/mesh.h"
#include "tessera/program.h"

namespace TESSERA_PUBLIC tessera {

struct ImportOptions {
  // Takes the place of the text's meshes, whose axes it must have. Default: the text's mesh, with
  // Auto axes.
  std::optional<Mesh> mesh = {};
};

// Returns the program of a StableHLO module: its function @main, with all calls inlined. Shardings
// of arguments are their layouts; shardings of results and constraints are constraints. Locations
// in the text become the lines of instructions. Throws RuntimeError with the line and column for
// text that is not valid, and one that lists all operations that are not supported.
Program import_stablehlo(std::string_view text, ImportOptions options = {},
                         Loc loc = Loc::Current());
// Same, for a file. Throws RuntimeError if it cannot be read.
Program load_stablehlo(const std::string& path, ImportOptions options = {},
                       Loc loc = Loc::Current());

// Returns a function that runs the program on arrays of its inputs' types: it can be traced,
// differentiated and batched.
std::function<std::vector<Array>(std::vector<Array>)> to_function(Program program,
                                                                  Loc loc = Loc::Current());

// Returns the traced program as a module of StableHLO and Shardy's dialect, which XLA compiles.
// Shardings over Explicit axes become closed constraints; layouts and constraints over Auto axes
// stay as they are, so a program that is propagated() has all of them. Lines become locations.
// Arrays that the program captures become constants; program text does not hold these, so they are
// further arguments of a parsed program. Throws RuntimeError for a device program, and
// one that lists all operations that StableHLO cannot say.
std::string export_stablehlo(const Program& program, Loc loc = Loc::Current());
std::string export_stablehlo(const Lowered& lowered, Loc loc = Loc::Current());

}  // namespace tessera
