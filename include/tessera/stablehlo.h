// Programs of JAX and of other front ends, as StableHLO text with sdy shardings, and programs as
// such text.
//
//   Program p = load_stablehlo("step.mlir");   // jax.jit(step).lower(...).as_text()
//   std::vector<Array> results = to_function(p)({x, w});
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/array.h"
#include "tessera/mesh.h"
#include "tessera/program.h"

namespace TESSERA_PUBLIC tessera {

// The sharding of some arguments, in place of the text's.
struct ArgumentSharding {
  // "%arg0", "arg0", "0", or the name that the text gives in its locations: "params['w']". A `*`
  // matches any text, and then the sharding is of all arguments that match.
  std::string argument;
  // A spec as in JAX, `P("x", None)` or `P(("x", "y"))`, where missing dims are unsharded. Or the
  // axes of each dim in Shardy's syntax, `[{"x"}, {}]`, in which propagation may add axes to an
  // open dim: `[{"x", ?}, {?}]`. Or a whole sharding: `<@mesh, [{"x"}, {}], replicated={"y"}>`.
  std::string sharding;
};

// The modes of a program's axes.
enum class AxisModes : uint8_t {
  // Those of `mesh`, if it is given; else those that export_stablehlo noted in the text; else Auto,
  // as StableHLO has no modes.
  kAsWritten,
  kAuto,  // propagation chooses shardings; those that the text states are constraints
  // The shardings of arguments are their types, each op is typed with the rules of Explicit axes,
  // and constraints are reshards. A result that the rules do not decide is a ShardingError at the
  // line of the user's program.
  kExplicit
};

struct ImportOptions {
  // Takes the place of the text's meshes, whose axes it must have. Default: the text's mesh. The
  // shardings of arguments, by the text or by `shardings`, must divide them evenly.
  std::optional<Mesh> mesh = {};
  // The last one that names an argument counts. They need a mesh.
  std::vector<ArgumentSharding> shardings = {};
  AxisModes modes = AxisModes::kAsWritten;
};

// Options as a command line gives them.
struct ImportTexts {
  std::string mesh = {};                   // "x=4,y=2", with Auto axes; "": the text's
  std::vector<std::string> settings = {};  // ARGUMENT=SHARDING: `params['w']=P("x", None)`
  std::string modes = {};                  // "", "auto" or "explicit"
};
// Returns the options that these texts stand for. The mesh is abstract. Throws RuntimeError that
// shows the text and an example.
ImportOptions read_import_options(const ImportTexts& texts, Loc loc = Loc::Current());

// Returns the program of a StableHLO module: its function @main, with all calls inlined. Shardings
// of arguments are their layouts; shardings of results and constraints are constraints. Locations
// in the text become the lines of instructions. Throws RuntimeError with the line and column for
// text that is not valid, one that lists all operations that are not supported, and one that lists
// the arguments most like a name in the options that none has.
Program import_stablehlo(std::string_view text, ImportOptions options = {},
                         Loc loc = Loc::Current());
// Same, for a file. Throws RuntimeError if it cannot be read.
Program load_stablehlo(const std::string& path, ImportOptions options = {},
                       Loc loc = Loc::Current());

// Returns the numbers of the inputs that a name stands for, as ArgumentSharding has names. Throws
// RuntimeError with the names most like it if there are none.
std::vector<size_t> find_inputs(const Program& program, std::string_view name,
                                Loc loc = Loc::Current());
// Returns the name of an input, as errors show it: "%arg0 (params['w'])".
std::string input_name(const Program& program, size_t input);

// Returns the program read again under the options: as import_stablehlo(export_stablehlo(program))
// reads it, so the types over Explicit axes become constraints, or reshards. Throws as these do.
Program reimport(const Program& program, ImportOptions options, Loc loc = Loc::Current());

// Returns a function that runs the program on arrays of its inputs' types: it can be traced,
// differentiated and batched. Throws RuntimeError for a device program, and for one that captures
// arrays which its text does not hold.
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
