// Lesson 17: layers on different devices, and micro-batches that travel through them.
#include <tessera/tessera.h>

#include <iomanip>
#include <iostream>

#include "compare.h"

using namespace tessera;

constexpr int kStages = 4;
constexpr int64_t kRows = 16, kWidth = 64;  // of a micro-batch

Array layer(Array w, Array x) { return x + tanh(matmul(x, w)); }

// The reference: one device runs all layers. Weights are [stages, width, width], inputs and targets
// [micro-batches, rows, width].
Array plain(Array w, Array x, Array y) {
  for (int s = 0; s < kStages; ++s) x = checkpoint(layer)(w[s], x);
  return mean(square(x - y));
}

// 1. GPipe. In each tick a stage computes one micro-batch and passes it on. In tick t stage s has
//    micro-batch t - s, so there are kStages - 1 more ticks than micro-batches. A stage whose
//    micro-batch does not exist computes unused values: the bubble. grad runs the ticks backward,
//    with ppermute reversed; for that it stores the input of each tick.
Array gpipe(Array w, Array x, Array y) {
  Array stage = axis_index("stage");
  auto tick = [&](Array arriving, Array t) {
    Array out = checkpoint(layer)(w[0], where(stage == 0, x[t], arriving));
    return std::pair(pshift(out, "stage", 1), out);
  };
  Array ticks = arange(x.shape(0) + kStages - 1);
  Array outs = scan(tick, zeros({kRows, kWidth}), ticks).second;
  Array loss = mean(square(outs[Slice(kStages - 1, None)] - y));
  return psum(where(stage == kStages - 1, loss, 0.0f), "stage");
}

// 2. One forward, one backward. The last stage starts the backward pass of a micro-batch at once,
//    while others still move forward: a tick does one of each. In tick t stage s runs micro-batch t
//    - (2 * (kStages - 1) - s) backward, so it stores the inputs of the micro-batches between the
//    two. Their number depends on the stages, not on the micro-batches.
constexpr int kBetween = 2 * (kStages - 1);
struct Tick {
  Array arriving, returning, inputs, gradient;
};
TESSERA_FIELDS(Tick, arriving, returning, inputs, gradient);

Array one_forward_one_backward(Array w, Array x, Array y) {
  Array stage = axis_index("stage");
  auto tick = [&](Tick s, Array t) {
    Array there = t - stage, back = t - (kBetween - stage);
    Array input = where(stage == 0, x[there], s.arriving);
    Array inputs = s.inputs.at(there % (kBetween + 1)).set(input);
    auto [out, pullback] = vjp(layer, std::tuple(w[0], inputs[back % (kBetween + 1)]));
    Array g = where(stage == kStages - 1, 2 * (out - y[back]) / y.size(), s.returning);
    auto [dw, dx] = pullback(g);
    Array is_real = (back >= 0) & (back < x.shape(0));
    return std::pair(Tick{pshift(layer(w[0], input), "stage", 1), pshift(dx, "stage", -1), inputs,
                          s.gradient + where(is_real, dw, 0.0f)},
                     None);
  };
  Array none = zeros({kRows, kWidth});
  Tick start{none, none, zeros({kBetween + 1, kRows, kWidth}), zeros_like(w[0])};
  return scan(tick, start, arange(x.shape(0) + kBetween)).first.gradient[None];
}

int main() {
  SetDeviceCount(kStages);
  MeshScope scope(make_mesh({{"stage", kStages}}));
  auto alone = jit(grad(plain));
  auto by_gpipe = jit(grad(shard_map(gpipe, {.out_specs = P()})));
  auto by_1f1b = jit(shard_map(one_forward_one_backward, {.out_specs = P("stage")}));
  auto [a, b, c] = random::split<3>(random::key(0));
  Array w = random::normal(a, {kStages, kWidth, kWidth}) / kWidth, ws = reshard(w, P("stage"));
  auto rows = [](Array key, int micro_batches) {
    return random::normal(key, {micro_batches, kRows, kWidth});
  };

  // 3. The bubble is work beyond a device's share. With m micro-batches a device does (m + 3) / m
  //    of its share, or (m + 6) / m if ticks run both passes. More micro-batches make the bubble
  //    smaller, but GPipe stores an input for each of them.
  std::cout << "per device      work / perfect split    memory, KiB\n"
            << "micro-batches       GPipe       1F1B    GPipe  1F1B\n";
  for (int m : {4, 8, 16, 32, 64}) {
    Array x = rows(b, m), y = rows(c, m);
    Lowered one = alone.lower(w, x, y), g = by_gpipe.lower(ws, x, y), f = by_1f1b.lower(ws, x, y);
    auto share = [&](const Lowered& l) {
      return kStages * static_cast<double>(l.flops()) / static_cast<double>(one.flops());
    };
    std::cout << std::setw(13) << m << std::fixed << std::setprecision(2) << std::setw(12)
              << share(g) << std::setw(11) << share(f) << std::setw(9) << g.peak_bytes() / 1024
              << std::setw(6) << f.peak_bytes() / 1024 << "\n";
  }

  // 4. Communication: a micro-batch per tick, and a gradient per tick.
  Array x = rows(b, 8), y = rows(c, 8), expected = alone(w, x, y);
  std::cout << "\nGPipe, 8 micro-batches\n" << by_gpipe.lower(ws, x, y).comm();
  std::cout << "\n1F1B, 8 micro-batches\n" << by_1f1b.lower(ws, x, y).comm() << "\n";
  compare("GPipe's gradient", by_gpipe(ws, x, y), expected, 1e-6);
  compare("1F1B's gradient", by_1f1b(ws, x, y), expected, 1e-6);
}
