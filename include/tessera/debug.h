// Pictures and printing, and looking into programs while they run.
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
      {};          // ANSI colours; default: where stdout is a terminal that has them
  int width = 80;  // columns
};
// Returns a picture of which devices hold which part; of more than two dims, several pictures.
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

// A function that looks at arrays: of up to four of them, as in `[](Array x, Array y) { ... }`, or
// of a `std::vector<Array>`.
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
  int count() const { return count_; }  // of arrays that it takes; -1: a list
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
  bool ordered = false;  // in the order of the program among ordered callbacks, also over loops
};
// Calls f with the arrays: at once, or, where a function is traced, once whenever the program gets
// there, in every iteration of a loop and in the branch that runs. f then gets arrays that lie as
// the values do there, with every Auto axis in their types; it may read and keep them, and compute
// with them. It runs in the thread that runs the program. Inside of shard_map it is called once for
// each coordinate, in mesh order, along the axes over which any array varies: with the arrays of
// that coordinate. Functions of functions, as in JAX: a derivative calls f with the values and
// never again where a checkpoint computes them anew; vmap calls it once for each lane, and for both
// branches of a cond and for lanes of a while_loop that are done, as those are computed too. Throws
// RuntimeError, with what f threw nested in it.
void debug_callback(Callback f, const std::vector<Array>& arrays, CallbackOptions options = {},
                    Loc loc = Loc::Current());
// Prints every shard with its device and index ranges to stdout, in the order of the mesh. In a
// traced function whenever the program gets there, as an ordered callback.
void print_shards(const Array& x, Loc loc = Loc::Current());

struct NanWatchOptions {
  bool infinities = true;  // else NaN alone
};
// Scope: the first op that makes a NaN of operands without one, or an infinity of finite operands,
// is a RuntimeError that says which op, on which line, where in its result, and on which device; in
// a loop also in which iteration. It holds for what runs in this thread: eager calls, and functions
// under jit, which are compiled anew for it. Every floating result is read, and nothing is fused.
class [[nodiscard]] NanWatch {
 public:
  explicit NanWatch(NanWatchOptions options = {});
  ~NanWatch();
  NanWatch(const NanWatch&) = delete;

 private:
  int old_;
};

// Whether devices that hold equal bits share one buffer (the default) or each has its own copy.
// For programs built from now on.
void ReplicaSharing(bool on);
// Whether notes appear on stderr, each once: that jit traces a function again and again (the third
// new program differs in static values only, or the sixteenth in anything), and that a loop's carry
// comes to vary inside of shard_map. On by default; jit(f).retraces() counts either way.
void RetraceNotes(bool on);
// Worker threads of the runtime: n >= 1, or 0 for one per core.
void SetWorkerCount(int n, Loc loc = Loc::Current());

}  // namespace tessera
