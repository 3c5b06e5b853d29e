// Lesson 24: a graph network whose edges are sharded. A node adds up the messages of its edges,
// which are on all devices: a sum over devices in each layer, and one more in its derivative.
#include <tessera/tessera.h>

#include <cstdio>
#include <iostream>

#include "compare.h"

using namespace tessera;

constexpr int64_t kNodes = 240, kEdges = 1920, kFeatures = 8, kGroups = 4, kSteps = 40;

Optimiser adam() { return optimisers::adam(0.02); }

struct Layer {
  Array self, near, bias;
};
TESSERA_FIELDS(Layer, self, near, bias);
using Network = std::vector<Layer>;
// Edge i goes from node from[i] to node to[i].
struct Graph {
  Array from, to, features, group;
};
TESSERA_FIELDS(Graph, from, to, features, group);

// Nodes of a group are neighbours more often, and their features are a little alike.
Graph example() {
  auto [k1, k2, k3, k4, k5] = random::split<5>(random::key(3));
  Array group = arange(kNodes) % kGroups, from = random::randint(k1, {kEdges}, 0, kNodes);
  Array mate = (from + kGroups * random::randint(k2, {kEdges}, 0, kNodes / kGroups)) % kNodes;
  Array any = random::randint(k3, {kEdges}, 0, kNodes);
  Array to = where(random::uniform(k4, {kEdges}) < 0.7, mate, any);
  return {from, to, one_hot(group, kFeatures) + random::normal(k5, {kNodes, kFeatures}), group};
}

// Returns scores of the groups for each node. A layer has the mean of the neighbours' features.
// Sums over edges are laid out by `nodes`.
Array scores(const Network& network, const Graph& g, PartitionSpec nodes) {
  const SegmentOptions options{.num_segments = kNodes, .out_sharding = nodes};
  Array ones = expand_dims(ones_like(g.from).astype(f32), 1), h = g.features;
  Array degree = maximum(segment_sum(ones, g.to, options), 1);
  for (const Layer& layer : network) {
    Array messages = take(reshard(h, P()), g.from, 0);  // an edge may be from any node
    Array mean = segment_sum(messages, g.to, options) / degree;
    h = matmul(h, layer.self) + matmul(mean, layer.near) + layer.bias;
    if (&layer != &network.back()) h = relu(h);
  }
  return h;
}

struct State {
  Network network;
  OptimiserState optimiser;
};
TESSERA_FIELDS(State, network, optimiser);

std::pair<State, Array> step(State s, const Graph& g, PartitionSpec nodes) {
  auto [loss, gradient] = value_and_grad([&](const Network& n) {
    return mean(cross_entropy(scores(n, g, nodes), g.group));
  })(s.network);
  auto [updates, next] = adam().update(gradient, s.optimiser, s.network);
  return {State{apply_updates(s.network, updates), next}, loss};
}

// Trains a network on a mesh of so many devices, and returns it.
Network train(const Graph& whole, int devices, PartitionSpec nodes) {
  MeshScope scope(make_mesh({{"data", devices}}));
  Graph g{reshard(whole.from, P("data")), reshard(whole.to, P("data")),
          reshard(whole.features, nodes), reshard(whole.group, nodes)};
  Network network;
  for (int64_t width : {int64_t{16}, kGroups}) {
    const int64_t in = network.empty() ? kFeatures : 16;
    auto [k1, k2] = random::split<2>(random::key(width));
    network.push_back({0.3 * random::normal(k1, {in, width}), 0.3 * random::normal(k2, {in, width}),
                       zeros({width})});
  }
  State state{network, adam().init(network)};
  auto compiled = jit([&](State s, Graph g) { return step(s, g, nodes); });
  std::cout << compiled.lower(state, g).comm();
  for (int i = 0; i <= kSteps; ++i) {
    auto [next, loss] = compiled(state, g);
    if (i % 20 == 0) std::printf("step %2d: loss %.2f\n", i, loss.item<float>());
    state = next;
  }
  Array right = argmax(scores(state.network, g, nodes), 1) == g.group;
  std::printf("%d of %d nodes are right\n", sum(right).item<int>(), int{kNodes});
  return state.network;
}

int main() {
  SetDeviceCount(8);
  Graph g = example();
  std::cout << "one device\n";
  Network alone = train(g, 1, P());

  // 1. All devices have all nodes, so all of them compute the same products with the weights.
  std::cout << "\nedges on 8 devices\n";
  compare("edges on 8 devices", train(g, 8, P()), alone, 1e-3);

  // 2. A device has its nodes' sums alone, and their products. Nodes are gathered for the messages:
  //    a reduce_scatter and an all_gather send as much as the all_reduce before.
  std::cout << "\nedges and nodes on 8 devices\n";
  compare("edges and nodes on 8 devices", train(g, 8, P("data")), alone, 1e-3);
}
