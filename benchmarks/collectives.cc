// W3: each collective, written as the reshard that needs it.
#include <tessera/tessera.h>

#include <string_view>
#include <type_traits>

#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

constexpr int64_t kTrips = 50;

// Sums over the devices and gives every device the mean.
Array Averaged(Array v) {
  const Array total = reshape(sum(v, 0), {1, v.shape()[1]});
  return broadcast_to(total, v.shape(), {.out_sharding = P("d", None)}) * (1.0f / kW3Devices);
}

// Returns samples of the time in us that all workers together spend in the exchanges of an
// iteration. Waiting is not counted, as it depends on the computation around the exchanges.
template <class Arrays>
std::vector<double> ExchangeTimes(bool quick, const Arrays& x) {
  const auto f = jit([](Arrays all) {
    const auto each = [](Array, Arrays carried) {
      if constexpr (std::is_same_v<Arrays, Array>)
        carried = Averaged(carried);
      else
        for (Array& v : carried) v = Averaged(v);
      return carried;
    };
    return fori_loop(0, kTrips, each, all);
  });
  const Lowered lowered = f.lower(x);
  std::vector<double> samples;
  for (int k = 0; k < (quick ? 1 : 30); ++k) {
    const Profile profile = lowered.profile(x);
    double seconds = 0;
    for (const ProfileStep& step : profile.steps())
      if (step.exchange) seconds += step.seconds;
    samples.push_back(seconds * 1e6 / kTrips);
  }
  return samples;
}

// Compares many small arrays reduced over one axis with one array of the same total size.
void ManyReductions(Recorder& recorder) {
  constexpr int64_t kArrays = 200, kElements = 256;
  const auto sharded = [](int64_t n) { return reshard(Random({kW3Devices, n}, 1), P("d", None)); };
  const auto emit = [&](const char* how, const std::vector<double>& samples) {
    recorder.Emit("W3.many_reductions", kOurs,
                  {{"how", how}, {"arrays", kArrays}, {"devices", kW3Devices}}, "us", samples);
  };
  std::vector<Array> many;
  for (int64_t k = 0; k < kArrays; ++k) many.push_back(sharded(kElements));
  emit("each", ExchangeTimes(recorder.quick(), many));
  emit("one", ExchangeTimes(recorder.quick(), sharded(kArrays * kElements)));
}

}  // namespace

std::vector<size_t> CollectiveSizes(bool quick) {
  if (quick) return {4096};
  return {4096, size_t{256} << 10, size_t{16} << 20};
}

Json CollectiveParams(const char* op, size_t bytes) {
  return {{"op", op}, {"bytes_per_device", bytes}, {"devices", kW3Devices}};
}

Json CollectiveCost(const char* op, size_t bytes) {
  const bool reduces = std::string_view(op).find("reduce") != std::string_view::npos;
  const size_t total = (reduces ? kW3Devices + 1 : 2 * kW3Devices) * bytes;
  return {{"bytes", total}, {"ws", total}, {"kind", reduces ? "read" : "copy"}};
}

void Collectives(Recorder& recorder) {
  SetDeviceCount(kW3Devices);
  MeshScope scope(make_mesh({{"d", kW3Devices}}));
  for (size_t bytes : CollectiveSizes(recorder.quick())) {
    auto run = [&](const char* op, const auto& f, const Array& x) {
      recorder.Emit("W3.collective", kOurs, CollectiveParams(op, bytes), "us",
                    Sample(recorder.quick(), [&] { f(x); }), CollectiveCost(op, bytes));
    };
    const auto n = static_cast<int64_t>(bytes / 4);
    const Array blocks = reshard(Random({kW3Devices, n}, 1), P("d", None));
    const Array partial = sum(blocks, 0, {.out_sharding = P(None).unreduced("d")});
    const Array flat = reshard(Random({kW3Devices * n}, 1), P("d"));
    const auto replicate = jit([](Array v) { return reshard(v, P(None)); });
    run("all_reduce", replicate, partial);
    run("all_gather", replicate, flat);
    run("reduce_scatter", jit([](Array v) { return reshard(v, P("d")); }), partial);
    run("all_to_all", jit([](Array v) { return reshard(v, P(None, "d")); }), blocks);
  }
  ManyReductions(recorder);
}

}  // namespace tessera::bench
