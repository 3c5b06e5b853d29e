// Lesson 23: k-means on points that are sharded. To find the nearest centres sends nothing; a mean
// is over the points of a cluster, which are on all devices.
#include <tessera/tessera.h>

#include <iostream>

#include "compare.h"

using namespace tessera;

constexpr int64_t kPoints = 4096, kClusters = 6, kSteps = 8;

// Returns points around (0, 0), (30, 15), (0, 30) and so on, as whole numbers, whose sums are
// exact.
Array points() {
  auto [which, where] = random::split<2>(random::key(7));
  Array cluster = random::randint(which, {kPoints}, 0, kClusters);
  Array middle = stack({30 * (cluster % 2), 15 * cluster}, 1);
  return middle + round(4 * random::normal(where, {kPoints, 2}));
}

// Returns the means of the points [n, 2] that are closest to each centre [k, 2].
Array means(Array x, Array centres, std::optional<PartitionSpec> layout = {}) {
  Array distance = sum(square(expand_dims(x, 1) - centres), -1);  // [n, k]
  Array closest = argmin(distance, 1);
  const SegmentOptions options{.num_segments = kClusters, .out_sharding = layout};
  Array total = segment_sum(x, closest, options);
  Array count = segment_sum(ones_like(closest), closest, options);
  return total / expand_dims(maximum(count, 1), 1);
}

int main() {
  SetDeviceCount(8);
  Array x = points(), start = x[{Slice(0, kClusters)}];
  auto fit = [](Array x, Array centres, std::optional<PartitionSpec> layout) {
    return fori_loop(
        0, kSteps, [&](Array, Array c) { return means(x, c, layout); }, centres);
  };
  Array alone = fit(x, start, {});
  std::cout << "centres, from\n" << start << "\nto\n" << round(alone * 10) / 10 << "\n\n";

  {
    MeshScope scope(make_mesh({{"data", 8}}));
    Array cut = reshard(x, P("data", None));
    // 1. Each device adds up its own points. You choose who gets the sums over devices.
    try {
      means(cut, start);
    } catch (const ShardingError& e) {
      std::cout << e.what() << "\n\n";
    }

    // 2. All devices get them: in each step one sum of 6 x 2 numbers, and one of 6, whatever the
    //    number of points.
    auto everywhere = jit([&](Array x, Array c) { return fit(x, c, P()); });
    std::cout << "sums on all devices\n" << everywhere.lower(cut, start).comm();
    compare("sums on all devices", everywhere(cut, start), alone, 0);
  }

  // 3. Over Auto axes the code names no layout, and sends the same.
  MeshScope scope(make_mesh({{"data", 8, Auto}}));
  auto automatic = jit(
      [&](Array x, Array c) { return fit(with_sharding_constraint(x, P("data", None)), c, {}); });
  std::cout << "automatically\n" << automatic.lower(x, start).comm();
  compare("automatically", automatic(x, start), alone, 0);
}
