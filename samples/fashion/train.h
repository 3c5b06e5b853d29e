// One step of training: a batch, its gradient, the update.
#pragma once
#include "../shared/optimiser.h"
#include "model.h"

namespace fashion {

// A batch.
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

  State start(Array key) const {
    const Params weights = model.init(key);
    return {.weights = weights, .optimiser = training.optimiser().init(weights), .step = array(0)};
  }

  // Returns the next state, the loss, and the share of the batch that was classified correctly.
  std::tuple<State, Array, Array> step(State s, Examples batch) const {
    const Array x = model.batch_of(batch.pixels);
    const auto loss = [&](Params stored) {
      return model.loss(model.layout.for_use(stored), x, batch.labels);
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
