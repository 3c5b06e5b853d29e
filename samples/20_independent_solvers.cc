// Lesson 20: devices that do not wait for each other. Each one solves its own equations by Newton's
// method, with as many iterations as they need.
#include <tessera/tessera.h>

#include <iostream>

#include "compare.h"

using namespace tessera;

// Kepler's equation: x - e sin(x) = m, for the position of a planet on an orbit of eccentricity e.
struct Search {
  Array x, change, iterations;
};
TESSERA_FIELDS(Search, x, change, iterations);

Search newton(Array e, Array m, Search s) {
  Array change = (s.x - e * sin(s.x) - m) / (1 - e * cos(s.x));
  return {s.x - change, max(abs(change)), s.iterations + 1};
}

// 1. The predicate depends on this device's equations, so it varies. Each device leaves the loop
//    when it is done, and nothing is sent.
Search search(Array e, Array m) {
  Search start{m + e, Array(1.0f), Array(0)};
  return while_loop([](Search s) { return s.change > 1e-5f; },
                    [&](Search s) { return newton(e, m, s); }, start);
}
Array solve(Array e, Array m) { return search(e, m).x; }

// 2. A while_loop has no reverse-mode derivative, so the derivative follows from the equation: if x
//    - e sin(x) - m stays 0, then (1 - e cos(x)) dx = sin(x) de + dm.
using Two = std::tuple<Array, Array>;
Array solve_with_rule(Array e, Array m) {
  auto rule = [](Two primals, Two tangents) {
    auto [e, m] = primals;
    auto [de, dm] = tangents;
    Array x = solve(e, m);
    return std::pair(x, (sin(x) * de + dm) / (1 - e * cos(x)));
  };
  return custom_jvp(solve, rule)(e, m);
}

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 8}}));
  Array e = array({0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99}, {.dtype = f32})[{All, None}];
  Array m = linspace(0.05, 3.0, 16)[None] * ones({8, 1});
  Array es = reshard(e, P("x", None)), ms = reshard(m, P("x", None));

  auto counted = shard_map([](Array e, Array m) { return search(e, m).iterations[None]; },
                           {.out_specs = P("x")});
  std::cout << "iterations of each device: " << reshard(counted(es, ms), P()) << "\n";
  auto devices = shard_map(solve_with_rule, {.out_specs = P("x", None)});
  auto gradient = [](auto f) {
    return jit(grad<0, 1>([f](Array e, Array m) { return sum(square(f(e, m))); }));
  };
  std::cout << "with gradients: " << gradient(devices).lower(es, ms).comm();
  compare("positions", devices(es, ms), solve(e, m), 1e-4);
  compare("gradient", gradient(devices)(es, ms), gradient(solve_with_rule)(e, m), 1e-2);

  // 3. A collective in such a loop would wait for devices that have left it, and is refused.
  auto together = [](bool ask_all) {
    return shard_map(
        [ask_all](Array e, Array m) {
          auto body = [&](Search s) {
            s = newton(e, m, s);
            Array worst = pmax(s.change, "x");
            return Search{s.x, ask_all ? worst : s.change, s.iterations};
          };
          Search start{m + e, Array(1.0f), Array(0)};
          return while_loop([](Search s) { return s.change > 1e-5f; }, body, start)
              .iterations[None];
        },
        {.out_specs = P("x")});
  };
  try {
    together(false)(es, ms);
  } catch (const ShardingError& error) {
    std::cout << "\n" << error.what() << "\n";
  }

  // 4. If all devices iterate until the last one is done, the predicate is the same everywhere.
  std::cout << "\n"
            << reshard(together(true)(es, ms), P()) << "\n"
            << jit(together(true)).lower(es, ms).comm();
}
