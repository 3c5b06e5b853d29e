// W13: one step of decoding with a cache of keys and values that is sharded along its sequence.
#include <tessera/tessera.h>

#include <tuple>

#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {

void Decoding(Recorder& recorder, int devices) {
  const int64_t heads = 8, length = recorder.quick() ? 512 : 8192, width = 64;
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
  recorder.Emit("W13.decode", "tessera", {{"devices", devices}, {"length", length}}, "us",
                Sample(recorder.quick(),
                       [&] { std::tie(seen, keys, values) = decode(keys, values, token, at); }),
                {{"bytes", 8.0 * static_cast<double>(heads * length * width)},
                 {"ws", 8 * heads * length * width},
                 {"kind", "read"}});
}

}  // namespace tessera::bench
