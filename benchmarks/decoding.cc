// Attention. W13: one decoding step with a cache of keys and values that is sharded along the
// sequence. W14: causal attention over a long sequence and its gradient, in blocks and whole, by
// dot_product_attention, and with keys and values that are passed around a ring of devices.
#include <tessera/nn.h>
#include <tessera/tessera.h>

#include <cmath>
#include <tuple>

#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"
#include "spmd/blocks/limits.h"

namespace tessera::bench {
namespace {

constexpr int64_t kHeads = 8, kWidth = 64;

// State of the queries over the keys seen so far: the largest score, the sum of the weights
// exp(score - most), and the sum of weights times values.
struct Known {
  Array most, weights, values;
};
TESSERA_FIELDS(Known, most, weights, values);
struct RingState {
  Array k, v, device;  // keys and values, and the device that owns them
  Known known;
};
TESSERA_FIELDS(RingState, k, v, device, known);

// The body of a shard_map over "x": attention with keys and values from all devices of the ring.
Array AroundTheRing(Array q, Array k, Array v) {
  const int64_t rows = type_of(q).shape()[1];
  const Array own = axis_index("x");
  const auto rows_of = [&](Array device) { return device * rows + arange(rows); };
  const auto step = [&](Array, RingState t) {
    const auto add = [&](Known known) {
      const Array all = einsum("hqd,hkd->hqk", {q, t.k}) / 8;
      const Array seen = expand_dims(rows_of(own), 1) >= expand_dims(rows_of(t.device), 0);
      const Array scores = where(seen, all, -1e30);
      const Array most = maximum(known.most, max(scores, -1, {.keepdims = true}));
      const Array weights = exp(scores - most), shrink = exp(known.most - most);
      return Known{most, known.weights * shrink + sum(weights, -1, {.keepdims = true}),
                   known.values * shrink + einsum("hqk,hkd->hqd", {weights, t.v})};
    };
    const auto keep = [](Known known) { return known; };
    const auto pass = [](Array x) { return pshift(x, "x", 1); };
    return RingState{pass(t.k), pass(t.v), pass(t.device),
                     cond(t.device <= own, add, keep, t.known)};
  };
  const Array zero = pcast(zeros({kHeads, rows, 1}), {"x"}, Variance::kVarying);
  const RingState start{k, v, own, {zero - 1e30, zero, zeros_like(q)}};
  const Known known = fori_loop(0, axis_size("x"), step, start).known;
  return known.values / known.weights;
}

}  // namespace

void Decoding(Recorder& recorder, int devices) {
  const int64_t heads = kHeads, length = recorder.quick() ? 512 : 8192, width = kWidth;
  SetDeviceCount(devices);
  const MeshScope scope(make_mesh({{"x", devices, Auto}}));
  const auto placed = [](Array cache) { return with_sharding_constraint(cache, P(None, "x")); };
  const auto step = [&](Array keys, Array values, Array token, Array at) {
    const Array zero = zeros({}, {.dtype = i32});
    const auto written = [&](Array cache) {
      return placed(dynamic_update_slice(placed(cache), token, {zero, at, zero}));
    };
    keys = written(keys), values = written(values);
    const Array scores = einsum("hqd,hkd->hqk", {token, keys}) / 8;
    const Array seen = where(iota(scores.shape(), 2, {.dtype = i32}) <= at, scores, -1e30);
    return std::tuple(einsum("hqk,hkd->hqd", {softmax(seen, -1), values}), keys, values);
  };
  const auto decode = jit(step, {.donate = {0, 1}});
  Array keys = jit(placed)(Random({heads, length, width}, 1)), values = keys + 1.0, seen;
  const Array token = Random({heads, 1, width}, 2), at = array(static_cast<int32_t>(length / 2));
  recorder.Emit("W13.decode", kOurs, {{"devices", devices}, {"length", length}}, "us",
                Sample(recorder.quick(),
                       [&] { std::tie(seen, keys, values) = decode(keys, values, token, at); }),
                {{"bytes", 8.0 * static_cast<double>(heads * length * width)},
                 {"ws", 8 * heads * length * width},
                 {"kind", "read"}});
}

void Attention(Recorder& recorder, int devices) {
  SetDeviceCount(devices);
  const MeshScope scope(make_mesh({{"x", devices}}));
  const auto attention = [](Array q, Array k, Array v) {
    const Array i = arange(type_of(q).shape()[1]);
    const Array scores = einsum("hqd,hkd->hqk", {q, k}) / 8;
    const Array seen = expand_dims(i, 1) >= expand_dims(i, 0);
    return einsum("hqk,hkd->hqd", {softmax(where(seen, scores, -INFINITY), -1), v});
  };
  const auto gradient_of = [](const auto& f) {
    return grad<0, 1, 2>([=](Array q, Array k, Array v) { return log(sum(square(f(q, k, v)))); });
  };
  const auto gradient = gradient_of(attention);
  const auto measure = [&](const char* what, const char* how, int64_t length, const auto& f,
                           bool heads_first = true) {
    const auto input = [&](int seed) {
      return heads_first ? reshard(Random({kHeads, length, kWidth}, seed), P("x"))
                         : reshard(Random({length, kHeads, kWidth}, seed), P(None, "x"));
    };
    const Array q = input(1), k = input(2), v = input(3);
    const auto run = jit([&f](Array q, Array k, Array v) { return f(q, k, v); });
    recorder.Emit("W14.attention", kOurs,
                  {{"devices", devices}, {"length", length}, {"what", what}, {"how", how}}, "us",
                  Sample(recorder.quick(), [&] { run(q, k, v); }),
                  {{"peak_bytes", run.lower(q, k, v).peak_bytes()}});
  };
  const std::vector<int64_t> lengths =
      recorder.quick() ? std::vector<int64_t>{2048} : std::vector<int64_t>{4096, 8192};
  for (int64_t length : lengths) {
    measure("forward", "blocks", length, attention);
    if (length < 8192) measure("gradient", "blocks", length, gradient);
    const auto function = [](Array q, Array k, Array v) {
      return dot_product_attention(q, k, v, {.is_causal = true});
    };
    measure("forward", "function", length, function, false);
    if (length < 8192) measure("gradient", "function", length, gradient_of(function), false);
    const spmd::BlockLimitsScope no_blocks({.least = int64_t{1} << 40});
    measure("forward", "whole", length, attention);
    if (length < 8192) measure("gradient", "whole", length, gradient);
  }
}

void RingAttention(Recorder& recorder) {
  constexpr int kDevices = 8;
  SetDeviceCount(kDevices);
  const MeshScope scope(make_mesh({{"x", kDevices}}));
  const PartitionSpec cut = P(None, "x");
  const int64_t length = recorder.quick() ? 2048 : 4096;
  const auto input = [&](int seed) { return reshard(Random({kHeads, length, kWidth}, seed), cut); };
  const Array q = input(1), k = input(2), v = input(3);
  const auto run = jit(shard_map(AroundTheRing, {.out_specs = cut}));
  recorder.Emit("W14.ring", kOurs, {{"devices", kDevices}, {"length", length}}, "us",
                Sample(recorder.quick(), [&] { run(q, k, v); }),
                {{"peak_bytes", run.lower(q, k, v).peak_bytes()}});
}

}  // namespace tessera::bench
