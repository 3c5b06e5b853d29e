// The bytes of a GPT's training step whose weights are stored in shards, over an Auto axis. Weights
// and sequences want the same axis, so somebody must say that sequences come first: a constraint on
// the activations, or a later priority of the weights. The step then sends each weight and each
// gradient once.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>

namespace tessera::auto_gpt {

constexpr int64_t kLayers = 3, kSequences = 16, kPlaces = 32, kHeads = 8, kWidth = 64, kWords = 128;

struct Layer {
  Array norm1, qkv, mixed, norm2, up, down;
};
TESSERA_FIELDS(Layer, norm1, qkv, mixed, norm2, up, down);

// `layers` has one element per layer, or one element with a leading dim for the layer.
struct Gpt {
  Array words, places, norm, head;
  std::vector<Layer> layers;
};
TESSERA_FIELDS(Gpt, words, places, norm, head, layers);

namespace {

struct Plan {
  bool scans = false;         // over the layers
  bool constrains = false;    // the activations after the embedding
  bool weights_last = false;  // the constraints of the weights have priority 1
};

Array LayerOf(const Layer& l, Array x) {
  const Array qkv = matmul(layer_norm(x, l.norm1, 0.0f), l.qkv)
                        .reshape({kSequences, kPlaces, 3, kHeads, kWidth / kHeads});
  const Array scores = einsum("bshk,bthk->bhst", {take(qkv, 0, 2), take(qkv, 1, 2)});
  const Array mixed = einsum("bhst,bthk->bshk", {softmax(scores, -1), take(qkv, 2, 2)});
  x = x + matmul(mixed.reshape(x.shape()), l.mixed);
  return x + matmul(gelu(matmul(layer_norm(x, l.norm2, 0.0f), l.up)), l.down);
}

Array Loss(const Plan& plan, const Gpt& p, const Array& tokens, const Array& targets) {
  Array x = take(p.words, tokens, 0) + p.places;
  if (plan.constrains) x = with_sharding_constraint(x, P("data", Open(), Open()));
  if (plan.scans) {
    const auto layer = [](Array h, Layer l) { return std::pair(LayerOf(l, h), Array(0.0f)); };
    x = scan(layer, x, p.layers[0]).first;
  } else {
    for (const Layer& l : p.layers) x = LayerOf(l, x);
  }
  const Array logits = matmul(layer_norm(x, p.norm, 0.0f), p.head);
  const Array hit = eq(expand_dims(targets, -1), arange(kWords, {.dtype = i32}));
  return mean(logsumexp(logits, -1) - sum(where(hit, logits, 0.0), -1));
}

// Stores the first dim of each weight over "data".
Gpt Stored(const Plan& plan, Gpt p) {
  const auto store = [&](size_t dim) {
    return [&plan, dim](Array w) {
      std::vector<DimSharding> dims(static_cast<size_t>(w.rank()), Open());
      dims[dim] = Closed("data").priority(plan.weights_last ? 1 : 0);
      return with_sharding_constraint(w, PartitionSpec(dims));
    };
  };
  for (Layer& l : p.layers) l = tree_map(store(plan.scans ? 1 : 0), l);
  for (Array* w : {&p.words, &p.places, &p.norm, &p.head}) *w = store(0)(*w);
  return p;
}

Gpt Step(const Plan& plan, Gpt p, Array tokens, Array targets) {
  p = Stored(plan, p);
  tokens = with_sharding_constraint(tokens, P("data", None));
  targets = with_sharding_constraint(targets, P("data", None));
  const Gpt gradient = grad([&](Gpt q) { return Loss(plan, q, tokens, targets); })(p);
  return Stored(plan,
                tree_map([](Array w, Array g) { return w - 0.1 * g; }, p, Stored(plan, gradient)));
}

template <class Tree>
int64_t Elements(const Tree& tree) {
  int64_t n = 0;
  tree_map([&](Array w) { return n += w.size(), w; }, tree);
  return n;
}

Gpt Weights(const Plan& plan) {
  const auto weight = [](const std::vector<int64_t>& sizes) {
    std::string type = "f32[";
    for (int64_t n : sizes) type += (type.back() == '[' ? "" : ",") + std::to_string(n);
    return abstract_array(type + "]");
  };
  const auto of_layer = [&](std::vector<int64_t> sizes) {
    if (plan.scans) sizes.insert(sizes.begin(), kLayers);
    return weight(sizes);
  };
  const Layer layer{
      of_layer({kWidth}), of_layer({kWidth, 3 * kWidth}), of_layer({kWidth, kWidth}),
      of_layer({kWidth}), of_layer({kWidth, 4 * kWidth}), of_layer({4 * kWidth, kWidth})};
  return {weight({kWords, kWidth}), weight({kPlaces, kWidth}), weight({kWidth}),
          weight({kWidth, kWords}), std::vector<Layer>(plan.scans ? 1 : kLayers, layer)};
}

TEST(AutoGpt, SendsEachWeightAndEachGradientOnce) {
  const MeshScope scope(abstract_mesh({{"data", 8, Auto}}));
  const Array tokens =
      abstract_array("i32[" + std::to_string(kSequences) + "," + std::to_string(kPlaces) + "]");
  for (bool scans : {false, true}) {
    for (bool constrains : {false, true}) {
      const Plan plan{.scans = scans, .constrains = constrains, .weights_last = !constrains};
      const Gpt weights = Weights(plan);
      const CommReport comm = jit([&](Gpt p, Array x, Array y) { return Step(plan, p, x, y); })
                                  .lower(weights, tokens, tokens)
                                  .comm();
      // 7/8 of each weight come in, and 7/8 of each gradient leave. A loop does not keep gathered
      // weights for its backward pass, but gathers them again.
      int64_t elements = 2 * Elements(weights);
      if (scans) elements += Elements(weights.layers);
      EXPECT_EQ(comm.bytes(), elements * 4 * 7 / 8)
          << (scans ? "scan" : "unrolled") << (constrains ? ", constrained" : "") << "\n"
          << comm;
    }
  }
}

}  // namespace
}  // namespace tessera::auto_gpt
