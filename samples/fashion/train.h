// One step of training: a batch in the random order of its epoch, its gradient, the update.
#pragma once
#include "../shared/optimizer.h"
#include "model.h"

namespace fashion {

struct Examples {
  Array pixels, labels;  // [image, row, column] of bytes, [image]
};
TESSERA_FIELDS(Examples, pixels, labels);

struct State {
  Params weights, means, squares;
  Array step;  // steps done
};
TESSERA_FIELDS(State, weights, means, squares, step);

struct Trainer {
  Model model;
  samples::AdamW optimizer;
  int64_t batch = 128;

  State start(Array key) const {
    const Params weights = model.init(key);
    const auto zero = [](Array w) { return zeros_like(w); };
    return {.weights = weights,
            .means = tree_map(zero, weights),
            .squares = tree_map(zero, weights),
            .step = array(0)};
  }

  // Returns the next state, the loss, and the share of the batch that was classified correctly.
  // `order` has the numbers of all examples; an epoch leaves out those that do not fill a batch.
  std::tuple<State, Array, Array> step(State s, Examples all, Array order) const {
    const int64_t batches = order.size() / batch;
    const Array chosen = order[{s.step % batches * batch + arange(batch)}];
    const Array x = model.batch_of(all.pixels[{chosen}]), labels = all.labels[{chosen}];
    const auto loss = [&](Params stored) {
      return model.loss(model.layout.for_use(stored), x, labels);
    };
    const auto [value, g] = value_and_grad(loss)(s.weights);
    optimizer.update(s.step, g, s.weights, s.means, s.squares);
    s.step = s.step + 1;
    return {s, value.first, value.second};
  }
};

}  // namespace fashion
