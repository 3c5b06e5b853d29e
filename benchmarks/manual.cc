// W3 by hand, each collective as a shard_map that a user would write, and W9: a heat equation.
#include <tessera/tessera.h>

#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

// ---- W9 -----------------------------------------------------------------------------------------

// One step of the periodic five-point stencil.
Array After(Array u, Array above, Array below, Array left, Array right) {
  return u + 0.1f * (above + below + left + right - 4 * u);
}
Array StepByItself(Array u) {
  return After(u, roll(u, 1, 0), roll(u, -1, 0), roll(u, 1, 1), roll(u, -1, 1));
}
// One step with shard_map: each device holds a slab of rows.
Array StepByHand(Array u) {
  Array last = u[{Slice(-1, None)}], first = u[{Slice(0, 1)}];
  Array above = concatenate({pshift(last, "x", 1), u[{Slice(None, -1)}]});
  Array below = concatenate({u[{Slice(1, None)}], pshift(first, "x", -1)});
  return After(u, above, below, roll(u, 1, 1), roll(u, -1, 1));
}

template <class Step>
auto Steps(Step step, int64_t steps) {
  return [step, steps](Array u) {
    return fori_loop(
        0, steps, [&](Array, Array v) { return step(v); }, u);
  };
}

}  // namespace

void ManualCollectives(Recorder& recorder) {
  SetDeviceCount(kW3Devices);
  MeshScope scope(make_mesh({{"d", kW3Devices}}));
  for (size_t bytes : CollectiveSizes(recorder.quick())) {
    const auto n = static_cast<int64_t>(bytes / 4);
    const Array x = reshard(Random({kW3Devices * n}, 1), P("d"));
    auto run = [&](const char* op, const auto& f, PartitionSpec out) {
      const auto g = jit(shard_map(f, {.out_specs = out}));
      recorder.Emit("W3.manual", kOurs, CollectiveParams(op, bytes), "us",
                    Sample(recorder.quick(), [&] { g(x); }), CollectiveCost(op, bytes));
    };
    run(
        "call", [](Array v) { return v; }, P("d"));
    run(
        "all_reduce", [](Array v) { return psum(v, "d"); }, P());
    run(
        "all_gather",
        [](Array v) { return all_gather(v, "d", {.tiled = true, .to = Variance::kInvarying}); },
        P());
    run(
        "reduce_scatter", [](Array v) { return psum_scatter(v, "d", {.tiled = true}); }, P("d"));
    run(
        "all_to_all", [](Array v) { return all_to_all(v, "d", 0, 0, {.tiled = true}); }, P("d"));
    run(
        "ppermute", [](Array v) { return pshift(v, "d", 1); }, P("d"));
    run(
        "ppermute_part",
        [](Array v) {
          return ppermute(v, "d", {{0, 1}, {1, 2}, {6, 7}});
        },
        P("d"));
  }
}

void HeatEquation(Recorder& recorder, int devices) {
  SetDeviceCount(devices);
  const int64_t n = recorder.quick() ? 64 : 2048, steps = recorder.quick() ? 3 : 100;
  const Array u = Random({n, n}, 1);
  const auto points = static_cast<double>(n * n);
  const Json extra = {{"bytes", 8 * points * static_cast<double>(steps)},
                      {"ws", 8 * n * n},
                      {"flops", 7 * points * static_cast<double>(steps)}};
  auto run = [&](const char* variant, const auto& f, const Array& x) {
    recorder.Emit("W9.heat", kOurs,
                  {{"n", n}, {"steps", steps}, {"variant", variant}, {"devices", devices}}, "us",
                  Sample(recorder.quick(), [&] { f(x); }), extra);
  };
  {
    MeshScope scope(make_mesh({{"x", devices, Auto}}));
    const Array cut = with_sharding_constraint(u, P("x", None));
    run(devices == 1 ? "single" : "auto_roll_1d", jit(Steps(StepByItself, steps)), cut);
  }
  if (devices == 1) return;
  MeshScope scope(make_mesh({{"x", devices}}));
  run("shard_map_1d", jit(shard_map(Steps(StepByHand, steps), {.out_specs = P("x", None)})),
      reshard(u, P("x", None)));
}

}  // namespace tessera::bench
