// Random programs over the public API. A seed gives the same ops however values are laid out.
#pragma once
#include <tessera/tessera.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tessera::suite {

// Random numbers from a seed.
class Dice {
 public:
  explicit Dice(int seed) : engine_(static_cast<unsigned>(seed)) {}
  // Returns one of 0 .. n - 1.
  int Below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  int Below(int64_t n) { return Below(static_cast<int>(n)); }
  template <class T>
  const T& Of(const std::vector<T>& list) {
    return list[static_cast<size_t>(Below(static_cast<int>(list.size())))];
  }

 private:
  std::mt19937 engine_;
};

// Returns a spec over the Auto axes of the current mesh: open and closed dims, parts of axes,
// priorities, replicated axes, sizes that do not divide.
PartitionSpec RandomConstraint(Dice& dice, int rank);
// Returns a spec over the Explicit axes whose sizes divide.
PartitionSpec RandomSpec(Dice& dice, const std::vector<int64_t>& shape);
// Returns x constrained over the Auto axes and resharded over the Explicit axes of the mesh.
Array LaidOut(Dice& dice, const Array& x);

// The results of a program. `exact` are whole numbers that do not depend on the order of sums.
struct RandomResults {
  std::vector<Array> exact, close;
};
TESSERA_FIELDS(RandomResults, exact, close);

// A function of f64 arrays [6] or [n, 6] that returns one of the same shape. It is smooth for
// ordinary numbers, and works row by row.
struct SmoothStep {
  const char* name;
  std::function<Array(Array)> f;
};
SmoothStep RandomSmoothStep(Dice& dice, int rank);

// Returns the arguments of the seed's program: small whole numbers without a layout.
std::vector<Array> RandomArguments(int seed);
// Runs the seed's program. On a mesh `layout` decides how some of its values are laid out.
RandomResults RandomProgram(int seed, int layout, const std::vector<Array>& arguments);

}  // namespace tessera::suite
