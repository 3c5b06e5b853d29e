// Lesson 16: attention over a sequence that no device could hold. Each device keeps its queries;
// keys and values travel from device to device, in a ring.
#include <tessera/tessera.h>

#include <cmath>
#include <iomanip>
#include <iostream>

#include "compare.h"

using namespace tessera;

constexpr int64_t kHeads = 2, kRows = 128, kWidth = 16;  // kRows: sequence rows per device

// Queries, keys and values: [heads, rows, width].
struct Heads {
  Array q, k, v;
};
TESSERA_FIELDS(Heads, q, k, v);

// Returns the scores of queries and keys at these rows of the sequence. No query sees a later key.
Array scores(Array q, Array k, Array q_rows, Array k_rows) {
  Array s = einsum("hqd,hkd->hqk", {q, k}) / std::sqrt(static_cast<double>(kWidth));
  return where(q_rows[{All, None}] >= k_rows, s, -1e30);
}

// The reference: one device with one matrix of scores.
Array plain(Heads x) {
  Array rows = arange(x.q.shape(1));
  return einsum("hqk,hkd->hqd", {softmax(scores(x.q, x.k, rows, rows)), x.v});
}

// Keys and values of `device`, as they travel around the ring.
struct Block {
  Array k, v, device;
};
TESSERA_FIELDS(Block, k, v, device);
// Sums over keys of the weights, exp(score - most), and of the weights times values.
struct Sums {
  Array weights, values;
};
TESSERA_FIELDS(Sums, weights, values);

Array block_scores(Array q, Block b) {
  auto rows_of = [](Array device) { return device * kRows + arange(kRows); };
  return scores(q, b.k, rows_of(axis_index("ring")), rows_of(b.device));
}
Sums block_sums(Array s, Array most, Array v) {
  Array weights = exp(s - most);
  return {sum(weights, -1, {.keepdims = true}), einsum("hqk,hkd->hqd", {weights, v})};
}
Block passed_on(Block b) {
  return tree_map([](Array x) { return pshift(x, "ring", 1); }, b);
}
// Whether a row of this device sees the block. It varies, so devices take different branches.
Array is_seen(Block b) { return b.device <= axis_index("ring"); }

// 1. Forward. A step adds the sums of its block and passes the block on. It tracks the largest
//    score so far; when a larger one appears, the sums are scaled down.
struct Known {
  Sums sums;
  Array most;
};
TESSERA_FIELDS(Known, sums, most);
struct State {
  Block block;
  Known known;
};
TESSERA_FIELDS(State, block, known);

Known with_block(Array q, Known t, Block block) {
  Array s = block_scores(q, block);
  Array most = stop_gradient(maximum(t.most, max(s, -1, {.keepdims = true})));
  Array shrink = exp(t.most - most);
  Sums more = block_sums(s, most, block.v);
  Sums sums = tree_map([&](Array a, Array b) { return a * shrink + b; }, t.sums, more);
  return {sums, most};
}
State step(Array q, State t) {
  auto add = [&](Known known) { return with_block(q, known, t.block); };
  auto keep = [](Known known) { return known; };
  return {passed_on(t.block), cond(is_seen(t.block), add, keep, t.known)};
}

template <class Step>
State around(Heads x, Step step) {
  Array zero = zeros({kHeads, kRows, 1});
  State start{{x.k, x.v, axis_index("ring")}, {{zero, zeros_like(x.q)}, zero - 1e30}};
  auto body = [&](State t, NoneType) { return std::pair(step(x.q, t), None); };
  return scan(body, start, None, {.length = axis_size("ring")}).first;
}
auto attention_by = [](auto step) {
  return [step](Heads x) {
    Sums sums = around(x, step).known.sums;
    return sums.values / sums.weights;
  };
};

// 2. Backward. grad would store the residuals of each step, or with checkpoint its block: in the
//    end a device would have stored all keys and values. Instead the blocks travel around the ring
//    once more. Each block carries its gradient, and after one round both are back home.
struct Kept {
  Heads x;
  Array out, log_weights;
};
TESSERA_FIELDS(Kept, x, out, log_weights);

std::pair<Array, Kept> forward(Heads x) {
  Known t = around(x, step).known;
  Array out = t.sums.values / t.sums.weights;
  return {out, Kept{x, out, t.most + log(t.sums.weights)}};
}
Heads backward(Kept kept, Array g) {
  // The weights are now exp(score - log_weights), which sum to 1, so these are the cotangents of
  // the two sums in values / weights.
  Sums cotangent{-sum(g * kept.out, -1, {.keepdims = true}), g};
  auto body = [&](std::pair<Block, Heads> t, NoneType) {
    Block block = t.first;
    Heads d = t.second;
    auto sums = [&](Heads x) {
      return block_sums(block_scores(x.q, {x.k, x.v, block.device}), kept.log_weights, x.v);
    };
    auto gradients = [&](Heads x) { return vjp(sums, x).second(cotangent); };
    auto nothing = [](Heads x) { return tree_map([](Array a) { return zeros_like(a); }, x); };
    Heads more = cond(is_seen(block), gradients, nothing, Heads{kept.x.q, block.k, block.v});
    Block gradient = passed_on({d.k + more.k, d.v + more.v, block.device});
    return std::pair(std::pair(passed_on(block), Heads{d.q + more.q, gradient.k, gradient.v}),
                     None);
  };
  std::pair start(Block{kept.x.k, kept.x.v, axis_index("ring")},
                  tree_map([](Array a) { return zeros_like(a); }, kept.x));
  return scan(body, start, None, {.length = axis_size("ring")}).first.second;
}
Array ring_attention(Heads x) { return custom_vjp(attention_by(step), forward, backward)(x); }

int main() {
  SetDeviceCount(8);
  auto gradient = [](auto f) { return jit(grad([f](Heads x) { return sum(square(f(x))); })); };
  const PartitionSpec cut = P(None, "ring", None);
  auto over_ring = [&](auto f) { return shard_map(f, {.out_specs = cut}); };
  auto inputs = [](int64_t rows) {
    auto [q, k, v] = random::split<3>(random::key(0));
    auto draw = [&](Array key) { return random::normal(key, {kHeads, rows, kWidth}); };
    return Heads{draw(q), draw(k), draw(v)};
  };
  auto laid_out = [&](Heads x) { return tree_map([&](Array a) { return reshard(a, cut); }, x); };

  // 3. The sequence grows with the number of devices; the memory of each device does not.
  std::cout << "the gradient's memory, KiB per device\n"
            << "devices  rows  one device  grad  checkpoint  ring\n";
  for (int devices : {1, 2, 4, 8}) {
    MeshScope scope(make_mesh({{"ring", devices}}));
    Heads x = inputs(kRows * devices), parts = laid_out(x);
    auto kib = [&](auto f, Heads x) { return gradient(f).lower(x).peak_bytes() / 1024; };
    std::cout << std::setw(7) << devices << std::setw(6) << kRows * devices << std::setw(12)
              << kib(plain, x) << std::setw(6) << kib(over_ring(attention_by(step)), parts)
              << std::setw(12) << kib(over_ring(attention_by(checkpoint(step))), parts)
              << std::setw(6) << kib(over_ring(ring_attention), parts) << "\n";
  }

  // 4. Communication: keys and values once for the result, and once more with their gradients.
  MeshScope scope(make_mesh({{"ring", 8}}));
  Heads x = inputs(8 * kRows), parts = laid_out(x);
  auto ring = over_ring(ring_attention);
  std::cout << "\n" << gradient(ring).lower(parts).comm();
  compare("attention", ring(parts), plain(x), 1e-5);
  compare("gradient", gradient(ring)(parts), gradient(plain)(x), 1e-4);
}
