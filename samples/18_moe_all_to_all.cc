// Lesson 18: a mixture of experts. Each device has some tokens and some experts. One all_to_all
// sends tokens to the experts that they chose, another one sends the results back.
#include <tessera/tessera.h>

#include <iostream>

#include "compare.h"

using namespace tessera;

constexpr int64_t kDevices = 4, kExperts = 8;  // two on each device
constexpr int64_t kTokens = 64, kWidth = 16, kHidden = 32;
constexpr int64_t kCapacity = 6;  // places per expert for the tokens of one device

struct Experts {
  Array gate, up, down;  // [width, experts], [experts, width, hidden], [experts, hidden, width]
};
TESSERA_FIELDS(Experts, gate, up, down);

// The place of each token: [tokens, experts, places], 0 or 1; and the weight of its results.
struct Routes {
  Array places, weights;
};

// 1. Each token goes to the two experts with its largest gate values, first choices first. An
//    expert that is full drops further tokens. No shape depends on values.
Routes route(Array gate, Array tokens) {
  Array likes = softmax(matmul(tokens, gate));
  TopK best = top_k(likes, 2);
  Array chosen = one_hot(best.indices.T().reshape({-1}), kExperts);  // first choices, then second
  Array place = (cumsum(chosen, 0) - 1) * chosen;
  Array taken = chosen[{All, All, None}] * one_hot(place.astype(i32), kCapacity);
  taken = taken.reshape({2, -1, kExperts, kCapacity});
  Array share = best.values / sum(best.values, -1, {.keepdims = true});
  return {sum(taken, 0), einsum("ctep,tc->tep", {taken, share})};
}

// Applies each expert to its tokens: [experts, tokens, width].
Array expert(Experts e, Array x) { return matmul(relu(matmul(x, e.up)), e.down); }

// 2. On one device.
Array one_group(Experts e, Array tokens) {
  Routes r = route(e.gate, tokens);
  Array y = expert(e, einsum("tep,tw->epw", {r.places, tokens}));
  return einsum("tep,epw->tw", {r.weights, y});
}
Array plain(Experts e, Array tokens) {
  auto groups = vmap(one_group, {.in_dims = {None, 0}});
  return groups(e, tokens.reshape({kDevices, -1, kWidth})).reshape({-1, kWidth});
}

// 3. On devices: each device splits [experts, places, width] by experts, and sends each device
//    its own.
Array moe(Experts e, Array tokens) {
  Routes r = route(e.gate, tokens);
  Array x = einsum("tep,tw->epw", {r.places, tokens});
  x = all_to_all(x, "expert", 0, 1, {.tiled = true});  // own experts, places of all devices
  Array y = all_to_all(expert(e, x), "expert", 1, 0, {.tiled = true});
  return einsum("tep,epw->tw", {r.weights, y});
}

int main() {
  SetDeviceCount(kDevices);
  MeshScope scope(make_mesh({{"expert", kDevices}}));
  auto [a, b, c, d] = random::split<4>(random::key(0));
  Experts e{random::normal(a, {kWidth, kExperts}),
            random::normal(b, {kExperts, kWidth, kHidden}) / 4,
            random::normal(c, {kExperts, kHidden, kWidth}) / 4};
  Array tokens = random::normal(d, {kTokens, kWidth});
  Experts cut{e.gate, reshard(e.up, P("expert")), reshard(e.down, P("expert"))};
  Array rows = reshard(tokens, P("expert", None));

  // 4. The number of tokens of each expert, of 128 choices in total.
  auto load = [](Experts e, Array tokens) {
    return psum(sum(route(e.gate, tokens).places, {0, 2}), "expert");
  };
  std::cout << "tokens of each expert: " << shard_map(load, {.out_specs = P()})(cut, rows)
            << "\n\n";

  // 5. Two all_to_alls forward, two backward. The gate is the same on all devices, so its gradient
  //    is summed; the gradients of the experts stay on their devices.
  auto over_experts = shard_map(moe, {.out_specs = P("expert", None)});
  auto gradient = [](auto f) {
    return jit(grad<0, 1>([f](Experts e, Array x) { return sum(square(f(e, x))); }));
  };
  std::cout << gradient(over_experts).lower(cut, rows).comm();
  compare("tokens", over_experts(cut, rows), plain(e, tokens), 1e-5);
  compare("gradient", gradient(over_experts)(cut, rows), gradient(plain)(e, tokens), 1e-3);
}
