// W4, W10 and W12: training steps of a GPT and gradients of networks of dense layers. Part of W5:
// the cost of building a large step.
#include <tessera/tessera.h>

#include <cmath>

#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {

// The parameters of a GPT, which are also the shapes of AdamW's moments.
struct Block {
  Array ln1_g, ln1_b, ln2_g, ln2_b, wqkv, wo, w1, b1, w2, b2;
};
TESSERA_FIELDS(Block, ln1_g, ln1_b, ln2_g, ln2_b, wqkv, wo, w1, b1, w2, b2);
struct Weights {
  Array emb, pos, lnf_g, lnf_b, head;
  std::vector<Block> blocks;
};
TESSERA_FIELDS(Weights, emb, pos, lnf_g, lnf_b, head, blocks);
struct State {
  Weights params, m, v;
  Array step;
};
TESSERA_FIELDS(State, params, m, v, step);
// The weights of a layer of W5.
struct Layer {
  Array wq, wo, w1, w2;
};
TESSERA_FIELDS(Layer, wq, wo, w1, w2);

namespace {

// Returns f32 numbers in [lo, hi).
Array Between(std::vector<int64_t> shape, uint64_t seed, double lo, double hi) {
  return Random(std::move(shape), seed) * (hi - lo) + lo;
}

// ---- W10, W12 -----------------------------------------------------------------------------------

struct Mlp {
  int layers, width, batch;
  double spread;  // the weights are in [-spread, spread)
  bool fsdp;      // weights are sharded by rows, and gathered for use
};

void MlpGradient(Recorder& recorder, const char* workload, const Mlp& m, int devices) {
  SetDeviceCount(devices);
  MeshScope scope(make_mesh({{"d", devices}}));
  std::vector<Array> weights;
  for (int i = 0; i < m.layers; ++i)
    weights.push_back(
        reshard(Between({m.width, m.width}, static_cast<uint64_t>(i), -m.spread, m.spread),
                m.fsdp ? P("d", None) : P(None, None)));
  const Array x = reshard(Random({m.batch, m.width}, 99), P("d", None)),
              y = reshard(Random({m.batch, m.width}, 98), P("d", None));
  const bool gathers = m.fsdp;
  const auto gradient = jit(grad([gathers](std::vector<Array> ws, Array h, Array target) {
    for (const Array& w : ws) h = maximum(matmul(h, gathers ? reshard(w, P(None, None)) : w), 0.0);
    return mean(square(h - target));
  }));
  const double size = m.width;
  recorder.Emit(
      workload, kOurs,
      {{"layers", m.layers}, {"width", m.width}, {"batch", m.batch}, {"devices", devices}}, "us",
      Sample(recorder.quick(), [&] { gradient(weights, x, y); }),
      {{"flops", 2.0 * m.batch * size * size * (3 * m.layers - 1)}});
}

// ---- W5: a step of 80 layers of Llama-70B's sizes on 65 536 devices ---------------------------

Array LayerOf(const Layer& l, Array x) {
  const auto norm_of = [](const Array& v) {
    return v * rsqrt(mean(square(v), -1, {.keepdims = true}) + 1e-5);
  };
  const PartitionSpec whole = P("data", None, None);
  x = x + matmul(tanh(matmul(norm_of(x), l.wq)), l.wo, {.out_sharding = whole});
  return x + matmul(silu(matmul(norm_of(x), l.w1)), l.w2, {.out_sharding = whole});
}

// ---- W4 -----------------------------------------------------------------------------------------

struct Gpt {
  int64_t d = 256, layers = 4, heads = 8, seq = 256, batch = 16, vocab = 512;

  double flops() const {
    const auto weights = static_cast<double>(layers * 12 * d * d + d * vocab);
    const auto tokens = static_cast<double>(batch * seq);
    return 6 * weights * tokens + 12 * static_cast<double>(layers * seq * d) * tokens;
  }
};

Weights Start(const Gpt& g) {
  uint64_t seed = 0;
  // The same standard deviation as normal samples of 0.02.
  const auto w = [&](std::vector<int64_t> shape, const PartitionSpec& spec) {
    const double spread = 0.02 * std::sqrt(3.0);
    return reshard(Between(std::move(shape), seed++, -spread, spread), spec);
  };
  const auto one = [&] { return reshard(ones({g.d}), P(None)); };
  const auto zero = [&] { return reshard(zeros({g.d}), P(None)); };
  const int64_t size = g.d / g.heads;
  Weights p{w({g.vocab, g.d}, P(None, None)),
            w({g.seq, g.d}, P(None, None)),
            one(),
            zero(),
            w({g.d, g.vocab}, P(None, "model")),
            {}};
  for (int64_t i = 0; i < g.layers; ++i)
    p.blocks.push_back(
        {one(), zero(), one(), zero(), w({g.d, 3, g.heads, size}, P(None, None, "model", None)),
         w({g.heads, size, g.d}, P("model", None, None)), w({g.d, 4 * g.d}, P(None, "model")),
         reshard(zeros({4 * g.d}), P("model")), w({4 * g.d, g.d}, P("model", None)), zero()});
  return p;
}

const PartitionSpec kActivations = P("data", None, None);

Array Attention(const Block& b, const Array& x, const Array& mask, double scale) {
  const Array qkv = einsum("bsd,dthk->tbhsk", {x, b.wqkv});
  Array scores = einsum("bhsk,bhtk->bhst", {qkv[0], qkv[1]}) * scale;
  scores = softmax(where(mask, scores, -1e30), -1);
  const Array mixed = einsum("bhst,bhtk->bhsk", {scores, qkv[2]});
  return einsum("bhsk,hkd->bsd", {mixed, b.wo}, {.out_sharding = kActivations});
}

Array Loss(const Gpt& g, const Weights& p, const Array& tokens, const Array& targets) {
  Array x = p.emb.at({tokens}).get({.out_sharding = kActivations}) + p.pos;
  const Array mask = tril(ones({g.seq, g.seq}, {.dtype = bool_}));
  const double scale = 1 / std::sqrt(static_cast<double>(g.d / g.heads));
  for (const Block& b : p.blocks) {
    x = x + Attention(b, layer_norm(x, b.ln1_g, b.ln1_b, -1), mask, scale);
    const Array y = gelu(matmul(layer_norm(x, b.ln2_g, b.ln2_b, -1), b.w1) + b.b1);
    x = x + matmul(y, b.w2, {.out_sharding = kActivations}) + b.b2;
  }
  const Array logits = matmul(layer_norm(x, p.lnf_g, p.lnf_b, -1), p.head);
  const Array hit = eq(expand_dims(targets, -1), arange(g.vocab, {.dtype = i32}));
  return mean(logsumexp(logits, -1) - sum(where(hit, logits, 0.0), -1));
}

std::pair<State, Array> Step(const Gpt& g, const State& s, const Array& tokens,
                             const Array& targets) {
  const double rate = 3e-4, b1 = 0.9, b2 = 0.95, epsilon = 1e-8, decay = 0.1;
  auto [loss, gradient] =
      value_and_grad([&](Weights p) { return Loss(g, p, tokens, targets); })(s.params);
  State next;
  next.step = s.step + 1;
  next.m = tree_map([&](Array m, Array d) { return b1 * m + (1 - b1) * d; }, s.m, gradient);
  next.v = tree_map([&](Array v, Array d) { return b2 * v + (1 - b2) * d * d; }, s.v, gradient);
  const Array c1 = 1 - pow(b1, next.step), c2 = 1 - pow(b2, next.step);
  next.params =
      tree_map([&](Array p, Array m,
                   Array v) { return p - rate * (m / c1 / (sqrt(v / c2) + epsilon) + decay * p); },
               s.params, next.m, next.v);
  return {std::move(next), loss};
}

}  // namespace

void LowerLargeStep(Recorder& recorder) {
  MeshScope scope(abstract_mesh({{"data", 1024}, {"model", 64}}));
  const std::vector<Layer> layers(
      recorder.quick() ? 8 : 80,
      {abstract_array("f32[8192,8192@model]"), abstract_array("f32[8192@model,8192]"),
       abstract_array("f32[8192,28672@model]"), abstract_array("f32[28672@model,8192]")});
  const Array x = abstract_array("f32[1024@data,4096,8192]");
  // The lambda captures a variable, so its trace is not cached: each time starts from nothing.
  const double scale = 1;
  const auto loss = [&](std::vector<Layer> ls, Array h) {
    for (const Layer& l : ls) h = LayerOf(l, h);
    return scale * mean(square(h));
  };
  const auto time = [&](const auto& lowered) {
    std::vector<double> samples;
    for (int i = 0; i < 9; ++i) {
      const double begin = Now();
      lowered();
      samples.push_back((Now() - begin) * 1e6);
    }
    return samples;
  };
  const auto emit = [&](const char* what, const std::vector<double>& samples) {
    recorder.Emit("W5.large_step", kOurs, {{"what", what}, {"devices", 65536}}, "us", samples);
  };
  emit("forward", time([&] { jit(loss).lower(layers, x); }));
  emit("step", time([&] {
         jit([&](std::vector<Layer> ls, Array h) {
           auto [value, gradient] = value_and_grad(loss)(ls, h);
           return std::pair(value,
                            tree_map([](Array w, Array d) { return w - 1e-3 * d; }, ls, gradient));
         }).lower(layers, x);
       }));
}

void Gradients(Recorder& recorder, int devices) {
  const bool quick = recorder.quick();
  const Mlp replicated = quick ? Mlp{3, 32, 64, 0.06, false} : Mlp{12, 512, 1024, 0.06, false},
            fsdp = quick ? Mlp{2, 32, 64, 0.04, true} : Mlp{8, 1024, 1024, 0.04, true};
  MlpGradient(recorder, "W10.mlp_grad", replicated, devices);
  MlpGradient(recorder, "W12.fsdp_grad", fsdp, devices);
}

void GptStep(Recorder& recorder, int devices) {
  const Gpt g = recorder.quick() ? Gpt{32, 2, 4, 16, 8, 64} : Gpt{};
  SetDeviceCount(devices);
  const int data = devices == 8 ? 4 : devices, model = devices / data;
  MeshScope scope(make_mesh({{"data", data}, {"model", model}}));
  const auto zeros_of = [](const Weights& p) {
    return tree_map([](Array a) { return a * 0.0; }, p);
  };
  State state{Start(g), {}, {}, array(0.0f)};
  state.m = zeros_of(state.params);
  state.v = zeros_of(state.params);
  const Array text = astype(Random({g.batch, g.seq + 1}, 1) * static_cast<double>(g.vocab), i32);
  const auto part = [&](int64_t begin) {
    return reshard(slice(text, {0, begin}, {g.batch, begin + g.seq}), P("data", None));
  };
  const Array tokens = part(0), targets = part(1);
  const auto step =
      jit([g](State s, Array x, Array y) { return Step(g, s, x, y); }, {.donate = {0}});
  std::vector<double> samples, losses;
  for (int i = 0; i < (recorder.quick() ? 3 : 15); ++i) {
    const double begin = Now();
    auto [next, loss] = step(std::move(state), tokens, targets);
    losses.push_back(loss.item<float>());
    if (i >= 2) samples.push_back((Now() - begin) * 1e6);
    state = std::move(next);
  }
  const auto count = static_cast<double>(g.batch * g.seq);
  recorder.Emit(
      "W4.gpt_step", kOurs,
      {{"mesh", std::to_string(data) + "x" + std::to_string(model)}, {"devices", devices}}, "us",
      samples,
      {{"flops", g.flops()},
       {"tokens_per_s", count / (Quantile(samples, 0.5) * 1e-6)},
       {"loss_first", losses.front()},
       {"loss_last", losses.back()}});
}

}  // namespace tessera::bench
