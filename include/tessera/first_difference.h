// Which value differed first: compares two runs of a program, on other meshes, layouts or dtypes,
// or of two functions, or of one function and a recording.
#pragma once
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/mesh.h"
#include "tessera/specs.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {

struct DifferenceOptions {
  // Largest allowed difference of an element, relative to its own size or to the root mean square
  // of its array, whichever is larger. 0: 1e-9 for f64 and c128, 1e-4 for f32 and c64, 3e-2 for
  // narrower floats. Integers, bools and keys must be equal.
  double tolerance = 0;
};

// A value in one of the two runs.
struct DifferentSide {
  std::string type = {};              // "f32[64@data,384]"
  std::string number = {};            // the element at `index`: "0.25", "1+2i"; of a recording: ""
  std::vector<int64_t> devices = {};  // that hold the element
  std::string op = {}, where = {};    // that make it: in b they may be other ones
};
// A value that the different one is computed from.
struct DifferentOperand {
  std::string op, where, name;
  double difference =
      0;  // the largest of an element, relative as the tolerance is; 0: equal bits; -1: only in a
};

// The first value in program order that two runs make differently.
struct FirstDifference {
  bool found = false;
  std::string op;                        // that makes it: "dot_general"
  std::string where;                     // the user's line: "model.cc:12"
  std::string name;                      // given by named(), or ""
  bool backward = false;                 // in the backward pass of that line
  std::vector<int64_t> iterations = {};  // of the loops around it, the outermost first
  int64_t run = 0;                       // how often the program had made this value before
  std::vector<int64_t> index = {};       // of the first element that differs; dim 0 of a value that
                                         // varies over manual axes counts the devices' own arrays
  DifferentSide a, b;
  double difference = 0;  // of that element, relative; infinity beside NaN and infinities
  int64_t differing = 0, elements = 0;  // how many elements differ, of how many
  bool replicas_differ = false;  // devices hold other bits where the type says that they are equal
  // Whether the value differed again when both ran for its elements. If not, it depends on the
  // order of calls or on time, and `index` and numbers are empty.
  bool repeats = true;
  std::vector<DifferentOperand> operands = {};
  int64_t compared = 0;   // values, each time that it was made, up to this one
  int64_t unmatched = 0;  // values that only one of the runs makes
  // Returns a few lines: the value, both numbers, the operands.
  std::string text() const;
};
std::ostream& operator<<(std::ostream& os, const FirstDifference& difference);

// Returns the first value that the two runs make differently, beyond the tolerance. Each function
// may run jitted functions, gradients, loops and eager calls, in scopes of its own. Both are called
// twice: first with fingerprints of values (see record_run), and, if one differs, with that value
// and those from which it is computed. Values are matched by op, line and shape, or by op and shape
// if their lines differ, and results by their numbers if their ops do. Programs run on this thread
// and are compiled again. Throws ShapeError for a negative tolerance, and RuntimeError if there are
// several processes.
FirstDifference first_difference(const std::function<void()>& a, const std::function<void()>& b,
                                 DifferenceOptions options = {}, Loc loc = Loc::Current());
// Same, of a recording and a run. Elements are not known, so that `index` and numbers are empty.
// Throws RuntimeError if the file is not a recording.
FirstDifference first_difference(const std::string& recording, const std::function<void()>& run,
                                 DifferenceOptions options = {}, Loc loc = Loc::Current());

// Runs a function and writes fingerprints of values to a file: some sums, each time that a program
// makes a value which is not part of a fused group, or returns one from itself or from a loop.
// Throws RuntimeError if the file
// cannot be written, and if there are several processes.
void record_run(const std::function<void()>& run, const std::string& path,
                Loc loc = Loc::Current());

// A mesh, and the layout of arguments on it. Default: replicated.
struct RunPlace {
  Mesh mesh;
  Specs specs = {};
};

namespace detail {
// Copies the arrays of a tree onto the current mesh.
void CopyTree(TreeRef tree, const Specs& specs, Loc loc);
}  // namespace detail

// Returns the first value that f makes differently on two meshes, or in two layouts. f is called
// with copies of the arguments, which are laid out for each call.
template <class F, Tree... Args>
FirstDifference first_difference(F f, const std::tuple<Args...>& arguments, const RunPlace& a,
                                 const RunPlace& b, DifferenceOptions options = {},
                                 Loc loc = Loc::Current()) {
  const auto run = [&](const RunPlace& place) {
    return [&f, &arguments, &place, loc] {
      MeshScope scope(place.mesh);
      std::tuple<Args...> own = arguments;
      detail::CopyTree(own, place.specs, loc);
      std::apply(f, std::move(own));
    };
  };
  return first_difference(std::function<void()>(run(a)), std::function<void()>(run(b)), options,
                          loc);
}

}  // namespace tessera
