// The reference of W3: two threads do the collectives of eight devices on shared memory, and write
// a replicated result once. A library of simulated devices could reach this.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <array>
#include <cstring>

#include "benchmarks/team.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr size_t kSimulatedDevices = kW3Devices, kReferenceThreads = 2;
using Parts = std::array<const float*, kSimulatedDevices>;

void Put(hn::Vec<hn::ScalableTag<float>> v, float* p, bool stream) {
  const hn::ScalableTag<float> d;
  if (stream)
    hn::Stream(v, d, p);
  else
    hn::Store(v, d, p);
}

// Sets y[begin, end) to the sum of the parts, in their order.
void Sum(const Parts& x, float* y, size_t begin, size_t end, bool stream) {
  const hn::ScalableTag<float> d;
  for (size_t i = begin; i < end; i += hn::Lanes(d)) {
    auto s = hn::Load(d, x[0] + i);
    for (size_t k = 1; k < kSimulatedDevices; ++k) s = hn::Add(s, hn::Load(d, x[k] + i));
    Put(s, y + i, stream);
  }
  if (stream) hwy::FlushStream();
}

void Copy(const float* x, float* y, size_t n, bool stream) {
  const hn::ScalableTag<float> d;
  if (!stream) {
    std::memcpy(y, x, n * sizeof(float));
    return;
  }
  for (size_t i = 0; i < n; i += hn::Lanes(d)) Put(hn::Load(d, x + i), y + i, true);
  hwy::FlushStream();
}

void MeasureSize(Recorder& recorder, Team& team, size_t bytes) {
  const size_t n = bytes / 4, block = n / kSimulatedDevices;
  const bool stream = bytes > size_t{4} << 20;
  const Floats whole(n * kSimulatedDevices + 4096);
  std::vector<Floats> in, out;
  for (size_t k = 0; k < kSimulatedDevices; ++k)
    in.emplace_back(n, k * 592), out.emplace_back(n, k * 1104);
  auto run = [&](const char* op, absl::FunctionRef<void(size_t)> device, bool shared) {
    auto work = [&](int t) {
      const auto thread = static_cast<size_t>(t);
      if (shared) return device(thread);
      for (size_t k = thread * kSimulatedDevices / kReferenceThreads;
           k < (thread + 1) * kSimulatedDevices / kReferenceThreads; ++k)
        device(k);
    };
    recorder.Emit("W3.collective", "threads", CollectiveParams(op, bytes), "us",
                  Repeat(recorder.quick() ? 3 : 15, [&] { team.Run(work); }),
                  CollectiveCost(op, bytes));
  };
  auto parts = [&](size_t offset) {
    Parts x;
    for (size_t k = 0; k < kSimulatedDevices; ++k) x[k] = in[k].get() + offset;
    return x;
  };
  run(
      "all_reduce",
      [&](size_t t) {
        Sum(parts(0), whole.get(), t * n / kReferenceThreads, (t + 1) * n / kReferenceThreads,
            stream);
      },
      true);
  run(
      "all_gather", [&](size_t k) { Copy(in[k].get(), whole.get() + k * n, n, stream); }, false);
  run(
      "reduce_scatter", [&](size_t k) { Sum(parts(k * block), out[k].get(), 0, block, stream); },
      false);
  run(
      "all_to_all",
      [&](size_t k) {
        for (size_t j = 0; j < kSimulatedDevices; ++j)
          Copy(in[j].get() + k * block, out[k].get() + j * block, block, stream);
      },
      false);
}

}  // namespace

void ThreadReference(Recorder& recorder) {
  Team team(kReferenceThreads);
  for (size_t bytes : CollectiveSizes(recorder.quick())) MeasureSize(recorder, team, bytes);
}

}  // namespace tessera::bench
