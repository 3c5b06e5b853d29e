// Lesson 19: the heat equation on a grid whose rows are sharded. In each step a device needs one
// row of each neighbour, a halo: exchanged by hand, and automatically over Auto axes.
#include <tessera/tessera.h>

#include <iostream>

#include "compare.h"

using namespace tessera;

constexpr int64_t kSize = 64, kSteps = 100;

// Returns the grid one step later, from the grid and the values above and below each point.
Array after(Array u, Array above, Array below) {
  Array left = pad(u, {{0, 0}, {1, -1}}, 0.0f), right = pad(u, {{0, 0}, {-1, 1}}, 0.0f);
  return u + 0.1f * (above + below + left + right - 4 * u);
}

// 1. Code without devices. It is cold around the grid.
Array step(Array u) {
  return after(u, pad(u, {{1, -1}, {0, 0}}, 0.0f), pad(u, {{-1, 1}, {0, 0}}, 0.0f));
}

// 2. By hand: the last row goes to the next device, the first row to the previous one. A device
//    without a sender gets zeros, which are the values around the grid.
Array step_by_hand(Array u) {
  std::vector<std::pair<int, int>> down, up;
  for (int i = 0; i + 1 < axis_size("x"); ++i) {
    down.push_back({i, i + 1});
    up.push_back({i + 1, i});
  }
  Array above = concatenate({ppermute(u[{Slice(-1, None)}], "x", down), u[{Slice(None, -1)}]});
  Array below = concatenate({u[{Slice(1, None)}], ppermute(u[{Slice(0, 1)}], "x", up)});
  return after(u, above, below);
}

template <class Step>
Array many(Step step, Array u) {
  return fori_loop(
      0, kSteps, [&](Array, Array u) { return step(u); }, u);
}

int main() {
  SetDeviceCount(8);
  Array u = zeros({kSize, kSize}).at({Slice(20, 30), Slice(8, 40)}).set(100.0f);
  Array alone = many(step, u);

  // 3. On any number of devices both give the same numbers and send the same data: two rows
  //    per step.
  for (int devices : {1, 4, 8}) {
    std::cout << devices << (devices == 1 ? " device\n" : " devices\n");
    {
      MeshScope scope(make_mesh({{"x", devices}}));
      auto by_hand = jit(
          shard_map([](Array u) { return many(step_by_hand, u); }, {.out_specs = P("x", None)}));
      Array cut = reshard(u, P("x", None));
      std::cout << by_hand.lower(cut).comm();
      compare("by hand", by_hand(cut), alone, 0);
    }
    MeshScope scope(make_mesh({{"x", devices, Auto}}));
    auto by_itself =
        jit([](Array u) { return many(step, with_sharding_constraint(u, P("x", None))); });
    std::cout << by_itself.lower(u).comm();
    compare("automatically", by_itself(u), alone, 0);
  }
}
