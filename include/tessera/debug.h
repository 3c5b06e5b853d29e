// Pictures and printing.
#pragma once
#include <optional>
#include <string>

#include "tessera/array.h"
#include "tessera/mesh.h"

namespace tessera {

struct VisualizeOptions {
  std::optional<bool> color =
      {};          // ANSI colours; default: where stdout is a terminal that has them
  int width = 80;  // columns
};
// Returns a picture of which devices hold which part of a 1-D or 2-D array.
std::string visualize_sharding(const Array& x, VisualizeOptions options = {},
                               Loc loc = Loc::Current());
// Returns the mesh as a grid of device numbers with axis names.
std::string visualize_mesh(Mesh mesh, VisualizeOptions options = {});

struct TextOptions {
  int64_t threshold = 1000;  // abbreviate arrays with more elements
  int edge_items = 3;
  int precision = 4;  // significant digits
  int width = 88;
};
// Returns the elements in nested brackets, with the type on the line before.
std::string to_text(const Array& x, TextOptions options = {}, Loc loc = Loc::Current());
// Prints every shard with its device and index ranges to stdout.
void print_shards(const Array& x, Loc loc = Loc::Current());

// Whether devices that hold equal bits share one buffer (the default) or each has its own copy.
// For programs built from now on.
void ReplicaSharing(bool on);
// Whether jit says on stderr, once for each function, that it traces again and again: when the
// third new program differs from others in static values only, or the sixteenth in anything. The
// note names the argument. On by default; jit(f).retraces() counts either way.
void RetraceNotes(bool on);
// Worker threads of the runtime: n >= 1, or 0 for one per core.
void SetWorkerCount(int n, Loc loc = Loc::Current());

}  // namespace tessera
