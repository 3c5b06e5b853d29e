// One step of training: a batch in the random order of its epoch, its gradient, the update.
#pragma once
#include "../shared/optimiser.h"
#include "model.h"

namespace fashion {

struct Examples {
  Array pixels, labels;  // [image, row, column] of bytes, [image]
};
TESSERA_FIELDS(Examples, pixels, labels);

struct State {
  Params weights;
  OptimiserState optimiser;
  Array step;  // steps done
};
TESSERA_FIELDS(State, weights, optimiser, step);

struct Trainer {
  Model model;
  samples::Training training;
  int64_t batch = 128;

  State start(Array key) const {
    const Params weights = model.init(key);
    return {.weights = weights, .optimiser = training.optimiser().init(weights), .step = array(0)};
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
    auto [updates, next] = training.optimiser().update(g, std::move(s.optimiser), s.weights);
    s.weights = apply_updates(s.weights, updates);
    s.optimiser = std::move(next);
    s.step = s.step + 1;
    return {s, value.first, value.second};
  }
};

}  // namespace fashion
