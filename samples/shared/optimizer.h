// AdamW with gradient clipping and a cosine schedule, over a tree of any type.
#pragma once
#include <tessera/tessera.h>

#include <algorithm>
#include <numbers>

namespace samples {

using namespace tessera;

struct AdamW {
  double rate = 3e-3, decay = 0.1, clip_norm = 1;
  int64_t warm_up = 20, steps = 400;
  double keep_mean = 0.9, keep_square = 0.98, epsilon = 1e-8;

  // Rises to `rate` linearly, then falls to a tenth of it along half a cosine wave.
  Array rate_at(Array step) const {
    const Array rising = (step + 1) / static_cast<double>(warm_up);
    const Array share =
        (step - warm_up) / static_cast<double>(std::max<int64_t>(1, steps - warm_up));
    const Array falling = 0.55 + 0.45 * cos(std::numbers::pi * clip(share, 0.0, 1.0));
    return rate * minimum(rising, falling);
  }

  // Updates the weights and the running means of gradients and of their squares. All have the same
  // sharding, so sharded weights share this work.
  template <class T>
  void update(Array step, T gradient, T& weights, T& means, T& squares) const {
    Array norm = 0.0f;
    for (const Array& g : tree_leaves(gradient)) norm = norm + sum(square(g));
    const Array shrink = minimum(1.0, clip_norm / (sqrt(norm) + 1e-6));
    gradient = tree_map([&](Array g) { return g * shrink; }, gradient);
    means = tree_map([&](Array m, Array g) { return keep_mean * m + (1 - keep_mean) * g; }, means,
                     gradient);
    squares =
        tree_map([&](Array s, Array g) { return keep_square * s + (1 - keep_square) * square(g); },
                 squares, gradient);
    // Corrects the bias of the means, which start at zero.
    const Array full_mean = 1 - pow(keep_mean, step + 1),
                full_square = 1 - pow(keep_square, step + 1);
    const Array now = rate_at(step);
    weights = tree_map(
        [&](Array w, Array m, Array s) {
          return w - now * (m / full_mean / (sqrt(s / full_square) + epsilon) + decay * w);
        },
        weights, means, squares);
  }
};

}  // namespace samples
