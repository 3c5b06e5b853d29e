// Lesson 14: a training step on a mesh: a loss, its gradient, an optimizer, a loop and a file.
#include <tessera/tessera.h>

#include <cstdio>
#include <iostream>

using namespace tessera;

struct Params {
  Array w1, w2;
};
TESSERA_FIELDS(Params, w1, w2);
// The state of a run: everything that the next step needs, and that is saved.
struct State {
  Params weights, momentum;
  Array step, key;
};
TESSERA_FIELDS(State, weights, momentum, step, key);

// Rows of x are sharded over data, hidden units over model: the second product sums over model.
Array loss(const Params& p, Array x, Array y) {
  Array hidden = relu(matmul(x, p.w1));
  return mean(square(matmul(hidden, p.w2, {.out_sharding = P("data", None)}) - y));
}

std::pair<Array, Array> examples(Array key) {
  Array x = random::normal(key, {64, 8}, {.out_sharding = P("data", None)});
  return {x, sum(x * x, -1, {.keepdims = true}) / 8};
}

State train_step(State s) {
  // 1. Random numbers depend on the run's key and the step, so a step is a function of the state.
  auto [x, y] = examples(random::fold_in(random::wrap_key_data(s.key), s.step));

  // 2. The gradient is a tree like the weights; each array in it has the sharding of its weight.
  Params gradient = grad(loss)(s.weights, x, y);

  // 3. The optimizer is written once for any tree of arrays.
  s.momentum = tree_map([](Array m, Array g) { return 0.9 * m + g; }, s.momentum, gradient);
  s.weights = tree_map([](Array w, Array m) { return w - 0.01 * m; }, s.weights, s.momentum);
  s.step = s.step + 1;
  return s;
}

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 4}, {"model", 2}}));
  auto [k1, k2, k3, run] = random::split<4>(random::key(0));
  Params start{reshard(random::normal(k1, {8, 64}) * 0.3, P(None, "model")),
               reshard(random::normal(k2, {64, 1}) * 0.1, P("model", None))};
  auto [x, y] = examples(k3);
  Array before = loss(start, x, y);
  auto zero = [](Array w) { return zeros_like(w); };
  State state{start, tree_map(zero, start), array(0), random::key_data(run)};

  // 4. The communication of a step: sums of the second product, of the loss, and of each gradient.
  auto step = jit(train_step, {.donate = {0}});
  std::cout << step.lower(state).comm() << "\n";

  // 5. The new state reuses the memory of the old one. Halfway, the state is saved to a file.
  const char* file = "14_training_step.safetensors";
  for (int i = 0; i < 60; ++i) {
    if (i == 30) save_safetensors(file, state);
    state = step(state);
  }

  // 6. A run that resumes from the file gives the same bits.
  State resumed = load_safetensors_like(file, state);
  while (resumed.step.item<int>() < 60) resumed = step(resumed);
  std::remove(file);
  std::cout << "same weights: " << all(resumed.weights.w1 == state.weights.w1) << "\n";
  bool learnt = (loss(state.weights, x, y) < 0.5f * before).item<bool>();
  std::cout << "the loss has " << (learnt ? "more than halved" : "NOT halved") << "\n";
}
