// W5: lowers a training step of Llama 70B, 80 layers in sequence, for 65536 devices.
#include <sys/resource.h>
#include <tessera/tessera.h>

#include <algorithm>

#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

struct LlamaLayer {
  Array wq, wk, wv, wo, up, gate, down, norm_of_attention, norm_of_dense;
};
TESSERA_FIELDS(LlamaLayer, wq, wk, wv, wo, up, gate, down, norm_of_attention, norm_of_dense);
struct Llama {
  Array embedding, norm, head;
  std::vector<LlamaLayer> layers;
};
TESSERA_FIELDS(Llama, embedding, norm, head, layers);
struct LlamaState {
  Llama params, m, v;
};
TESSERA_FIELDS(LlamaState, params, m, v);

constexpr int64_t kVocabulary = 128256;

PartitionSpec Activations() { return P("data", None, None); }

Array RmsNorm(const Array& x, const Array& gain) {
  return x * rsqrt(mean(square(x), -1, {.keepdims = true}) + 1e-5) * gain;
}

// b, s: batch and sequence; k: heads of the keys; g: heads of queries per key head; h: width of
// a head.
Array LlamaAttention(const LlamaLayer& l, const Array& x, const Array& mask) {
  const Array q = einsum("bsd,dkgh->bkgsh", {x, l.wq}), k = einsum("bsd,dkh->bksh", {x, l.wk}),
              v = einsum("bsd,dkh->bksh", {x, l.wv});
  const Array scores = einsum("bkgsh,bkth->bkgst", {q, k}) * 0.0884;
  const Array mixed = einsum("bkgst,bkth->bkgsh", {softmax(where(mask, scores, -1e30), -1), v});
  return einsum("bkgsh,kghd->bsd", {mixed, l.wo}, {.out_sharding = Activations()});
}

Array LlamaLoss(const Llama& p, const Array& tokens, const Array& targets) {
  Array x = p.embedding.at({tokens}).get({.out_sharding = Activations()});
  const Array i = arange(type_of(tokens).shape()[1]);
  const Array mask = expand_dims(i, 1) >= expand_dims(i, 0);
  for (const LlamaLayer& l : p.layers) {
    x = x + LlamaAttention(l, RmsNorm(x, l.norm_of_attention), mask);
    const Array h = RmsNorm(x, l.norm_of_dense);
    x = x +
        matmul(silu(matmul(h, l.gate)) * matmul(h, l.up), l.down, {.out_sharding = Activations()});
  }
  const Array logits = matmul(RmsNorm(x, p.norm), p.head);
  const Array hit = eq(expand_dims(targets, -1), arange(kVocabulary, {.dtype = i32}));
  return mean(logsumexp(logits, -1) - sum(where(hit, logits, 0.0), -1));
}

std::pair<LlamaState, Array> LlamaStep(const LlamaState& s, const Array& tokens,
                                       const Array& targets) {
  auto [loss, gradient] =
      value_and_grad([&](Llama p) { return LlamaLoss(p, tokens, targets); })(s.params);
  LlamaState next;
  next.m = tree_map([](Array m, Array d) { return 0.9 * m + 0.1 * d; }, s.m, gradient);
  next.v = tree_map([](Array v, Array d) { return 0.95 * v + 0.05 * d * d; }, s.v, gradient);
  next.params = tree_map(
      [](Array p, Array m, Array v) { return p - 1e-4 * (m / (sqrt(v) + 1e-8) + 0.1 * p); },
      s.params, next.m, next.v);
  return {std::move(next), loss};
}

double ResidentMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

void LowerLlama(Recorder& recorder) {
  MeshScope scope(abstract_mesh({{"data", 8192}, {"model", 8}}));
  const LlamaLayer layer{abstract_array("f32[8192,8@model,8,128]"),
                         abstract_array("f32[8192,8@model,128]"),
                         abstract_array("f32[8192,8@model,128]"),
                         abstract_array("f32[8@model,8,128,8192]"),
                         abstract_array("f32[8192,28672@model]"),
                         abstract_array("f32[8192,28672@model]"),
                         abstract_array("f32[28672@model,8192]"),
                         abstract_array("f32[8192]"),
                         abstract_array("f32[8192]")};
  const Llama params{abstract_array("f32[128256,8192]"), abstract_array("f32[8192]"),
                     abstract_array("f32[8192,128256@model]"),
                     std::vector<LlamaLayer>(recorder.quick() ? 4 : 80, layer)};
  const LlamaState state{params, params, params};
  const Array tokens = abstract_array("i32[8192@data,8192]");
  // The lambda captures a variable, so its trace is not cached: each time starts from nothing.
  const double scale = 1;
  const auto measure = [&](const char* what, const auto& lower) {
    std::vector<double> samples;
    double flops = 0, bytes = 0;
    for (int i = 0; i < 7; ++i) {
      const double begin = Now();
      const Lowered lowered = lower();
      samples.push_back((Now() - begin) * 1e6);
      flops = static_cast<double>(lowered.flops());
      bytes = static_cast<double>(lowered.peak_bytes());
    }
    recorder.Emit("W5.llama_70b", kOurs, {{"what", what}, {"devices", 65536}}, "us", samples,
                  {{"flops", flops}, {"peak_bytes", bytes}, {"resident_MiB", ResidentMiB()}});
  };
  measure("forward", [&] {
    return jit([&](Llama p, Array x, Array y) { return scale * LlamaLoss(p, x, y); })
        .lower(params, tokens, tokens);
  });
  measure("step", [&] {
    return jit([&](LlamaState s, Array x, Array y) { return LlamaStep(s, x, scale > 0 ? y : x); },
               {.donate = {0}})
        .lower(state, tokens, tokens);
  });
}

}  // namespace tessera::bench
