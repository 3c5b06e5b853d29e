// Shardings, collectives and costs of a program, which `tessera diff` compares.
#pragma once
#include <tessera/program.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/source.h"

namespace tessera::cli {

// A value of a program or of a dump.
struct PlacedValue {
  std::string value;     // "%3"
  std::string name;      // given by the user
  std::string op, type;  // "dot_general", "f32[8@x,64]"
  std::string sharding;  // `<@mesh, [{"x"}, {}]>`
  std::string line;      // "model.cc:12"; "" in a dump, and for arguments
};

// A collective, with the sums over all places where it is on one line for the same axes.
struct Collective {
  std::string kind, axes, line;
  bool backward = false, repeats = false;
  int64_t bytes = 0, times = 0;  // bytes: of all its runs
};

struct CostTotals {
  int64_t bytes = 0, flops = 0, peak = 0;
};

struct Snapshot {
  std::string mesh;                 // `<["x"=2]>`; "" without one
  std::vector<PlacedValue> values;  // in the order of the program
  std::vector<Collective> collectives;
  std::optional<CostTotals> totals;  // none of a dump of shardings
  bool has_values = false, has_collectives = false;
};

// Returns the lock file of a program: its mesh, shardings, collectives and costs, as text that is
// checked in and compared.
std::string LockText(const Program& program);

// Returns the snapshot of a file: a program, which is lowered under the options of `source`; its
// lock file; a dump of dump_shardings, which has values only; or the output of `tessera partition`
// or Lowered::text(), which has no values. Throws std::runtime_error for a lock file that is cut
// short, and errors of the library.
Snapshot SnapshotOf(const ProgramSource& source);

}  // namespace tessera::cli
