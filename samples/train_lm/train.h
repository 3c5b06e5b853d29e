// One step of training: sample sequences, add up the gradients of micro-batches, update.
#pragma once
#include "../shared/optimiser.h"
#include "model.h"

namespace train_lm {

// The state of a run: it is saved, and --resume reads it.
struct State {
  Params weights;
  OptimiserState optimiser;
  Array step, key;  // steps done; the words of the key that all random numbers come from
  Array losses;     // of each step; zeros for later steps
};
TESSERA_FIELDS(State, weights, optimiser, step, key, losses);

struct Trainer {
  Model model;
  samples::Training training;
  int64_t batch = 24, micro_batches = 1;
  double dropout = 0.1;

  State start(int64_t seed) const {
    const auto [weights_key, run_key] = random::split<2>(random::key(seed));
    const Params weights = model.init(weights_key);
    return {.weights = weights,
            .optimiser = training.optimiser().init(weights),
            .step = array(0),
            .key = random::key_data(run_key),
            .losses = zeros({training.steps})};
  }

  // Returns sequences from random positions of the text: [micro-batch, sequence, place].
  Array draw(Array key, Array text) const {
    const int64_t length = model.sizes.context + 1;
    const Array begin = random::randint(key, {micro_batches, batch / micro_batches, 1}, 0,
                                        text.size() - length + 1);
    return reshard(text[begin + arange(length)], P(None, model.layout.batch, None));
  }

  // Returns the mean loss of the micro-batches, and its gradient with the weights' shardings.
  std::pair<Array, Params> gradient(const Params& stored, Array key, Array text) const {
    const auto [draw_key, drop_key] = random::split<2>(key);
    const Params weights = tree_map([&](Array w) { return model.layout.for_use(w); }, stored);
    const auto add_one = [&](std::pair<Array, Params> sum, std::pair<Array, Array> at) {
      const auto [loss, g] = value_and_grad(
          [&](Params p) { return model.loss(p, at.first, at.second, dropout); })(weights);
      const auto add = [](Array a, Array b) { return a + b; };
      return std::pair(std::pair(sum.first + loss, tree_map(add, sum.second, g)), None);
    };
    // Each device sums over its own sequences only: the gradients of reduced weights are partial.
    const Params none = tree_map(
        [&](Array w) { return reshard(zeros(w.shape()), type_of(w).cotangent().spec()); }, weights);
    const auto [loss, sum] =
        scan(add_one, std::pair(zeros({}), none),
             std::pair(draw(draw_key, text), random::split(drop_key, micro_batches)))
            .first;
    // The only communication of gradients: sums, in the shardings of the stored weights.
    const double share = 1.0 / static_cast<double>(micro_batches);
    const auto collect = [&](Array g, Array w) { return reshard(g, type_of(w).spec()) * share; };
    return {loss * share, tree_map(collect, sum, stored)};
  }

  State step(State s, Array text) const {
    const Array key = random::fold_in(random::wrap_key_data(s.key), s.step);
    const auto [loss, g] = gradient(s.weights, key, text);
    auto [updates, next] = training.optimiser().update(g, std::move(s.optimiser), s.weights);
    s.weights = apply_updates(s.weights, updates);
    s.optimiser = std::move(next);
    s.losses = s.losses.at({s.step}).set(loss);
    s.step = s.step + 1;
    return s;
  }
};

}  // namespace train_lm
