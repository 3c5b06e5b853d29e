// Pictures, printing, callbacks and checks for debugging a program while it runs.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.h"
#include "tessera/mesh.h"

namespace TESSERA_PUBLIC tessera {

struct VisualizeOptions {
  std::optional<bool> color =
      // ANSI colours. Default: on if stdout is a terminal with colours.
      {};
  int width = 80;  // columns
};
// Returns a picture that shows which devices hold each part of x. An array of more than two dims
// gives several pictures.
std::string visualize_sharding(const Array& x, VisualizeOptions options = {},
                               Loc loc = Loc::Current());
// Returns the mesh as a grid of device numbers with axis names.
std::string visualize_mesh(Mesh mesh, VisualizeOptions options = {});

struct TextOptions {
  int64_t threshold = 1000;  // arrays with more elements are abbreviated
  int edge_items = 3;
  int precision = 4;  // significant digits
  int width = 88;
};
// Returns the type on the first line and then the elements in nested brackets.
std::string to_text(const Array& x, TextOptions options = {}, Loc loc = Loc::Current());

// A host function of up to four arrays, as in `[](Array x, Array y) { ... }`, or of
// a `std::vector<Array>`.
class Callback {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Callback>) Callback(F f) {
    if constexpr (std::is_invocable_v<F&, const Array&>)
      Take<0>(std::move(f));
    else if constexpr (std::is_invocable_v<F&, const Array&, const Array&>)
      Take<0, 1>(std::move(f));
    else if constexpr (std::is_invocable_v<F&, const Array&, const Array&, const Array&>)
      Take<0, 1, 2>(std::move(f));
    else if constexpr (std::is_invocable_v<F&, const Array&, const Array&, const Array&,
                                           const Array&>)
      Take<0, 1, 2, 3>(std::move(f));
    else if constexpr (std::is_invocable_v<F&>)
      Take<>(std::move(f));
    else
      call_ = std::move(f);
  }
  int count() const { return count_; }  // number of arrays it takes; -1: a list
  void operator()(const std::vector<Array>& arrays) const { call_(arrays); }

 private:
  template <size_t... i, class F>
  void Take(F f) {
    count_ = sizeof...(i);
    call_ = [f = std::move(f)]([[maybe_unused]] const std::vector<Array>& arrays) mutable {
      f(arrays[i]...);
    };
  }
  std::function<void(const std::vector<Array>&)> call_;
  int count_ = -1;
};

struct CallbackOptions {
  bool ordered = false;  // run in program order with other ordered callbacks, loops included
};
// Calls f with the arrays. An eager call runs f at once. In a traced function, f runs each time the
// program reaches the call, in every iteration of a loop and in the branch that runs, on the thread
// that runs the program. f gets concrete arrays with the sharding of the values at that point,
// every Auto axis included. It may read them, keep them, and compute with them.
//
// Inside of shard_map, f runs once per coordinate along the axes over which any array varies, in
// mesh order, with the arrays of that coordinate. As in JAX, a derivative calls f with the primal
// values, and not again when a checkpoint recomputes them. vmap calls f once per batch element;
// this includes both branches of a mapped cond, and elements of a mapped while_loop that are done,
// as those are computed too. Throws RuntimeError if f throws; the exception of f is nested in it.
//
// With several processes, each process that has a part of all arrays calls f with its shards. Calls
// of ordered callbacks follow one another by mesh coordinate, over all processes; other processes
// wait. An eager call runs f on this process alone.
void debug_callback(Callback f, const std::vector<Array>& arrays, CallbackOptions options = {},
                    Loc loc = Loc::Current());
// Prints every shard of this process with its device and index ranges to stdout, in mesh order. In
// a traced function it is an ordered callback: it prints each time the program reaches it.
void print_shards(const Array& x, Loc loc = Loc::Current());
// Stops the program in a debugger where an element of `predicate` is true: prints the line and the
// first such position to stderr, and raises SIGTRAP, which ends a program that runs without one. An
// eager call stops at once. In a traced function the program stops each time it reaches the call
// with a true element, on the thread that runs the program. Throws DTypeError unless the
// predicate is a bool.
void debug_break(const Array& predicate, Loc loc = Loc::Current());
void debug_break(bool predicate, Loc loc = Loc::Current());

struct NanWatchOptions {
  bool infinities = true;  // report infinities as well as NaN
};
// Scope: throws RuntimeError at the first op that produces a NaN from operands without NaN, or an
// infinity from finite operands. The message gives the op, its line, the position in its result,
// the device, and in a loop the iteration. It applies to everything that runs in this thread: eager
// calls, and jitted functions, which are compiled again for it. It is slow: every floating result
// is checked and no ops are fused.
class [[nodiscard]] NanWatch {
 public:
  [[nodiscard]] explicit NanWatch(NanWatchOptions options = {});
  ~NanWatch();
  NanWatch(const NanWatch&) = delete;

 private:
  int old_;
};

// Sets whether devices that hold the same bits share one buffer (the default) or have one copy
// each. Applies to programs built from now on.
void ReplicaSharing(bool on);
// Sets whether notes are printed to stderr, each once. On by default. There is a note when jit
// keeps tracing a function again (its third new program that differs in static values only, or its
// sixteenth new program), when the carry of a loop becomes varying inside of shard_map, when a
// variable that a jitted function captured by reference has changed, and for max(x, 0).
// jit(f).retraces() counts in any case.
void RetraceNotes(bool on);
// Sets the number of worker threads of the runtime: n >= 1, or 0 for one per core.
void SetWorkerCount(int n, Loc loc = Loc::Current());

}  // namespace tessera
