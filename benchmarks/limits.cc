// The limits of this machine: peak of f32 FMA, and bandwidth by working set, with 1 and 2
// threads. Bandwidth counts the bytes that a loop touches; it does not count reading a line
// before it is overwritten.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "benchmarks/team.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

volatile float sink;
void Keep(V v) { sink = hn::GetLane(v); }

// Enough chains to hide the latency of two FMA units. They differ, as equal chains would be merged.
void FmaChains(int64_t rounds) {
  const D d;
  const V x = hn::Set(d, 0.999f), y = hn::Set(d, 1e-6f);
  V a0 = hn::Set(d, 0.0f), a1 = hn::Set(d, 0.1f), a2 = hn::Set(d, 0.2f), a3 = hn::Set(d, 0.3f);
  V a4 = hn::Set(d, 0.4f), a5 = hn::Set(d, 0.5f), a6 = hn::Set(d, 0.6f), a7 = hn::Set(d, 0.7f);
  V a8 = hn::Set(d, 0.8f), a9 = hn::Set(d, 0.9f);
  for (int64_t k = 0; k < rounds; ++k) {
    a0 = hn::MulAdd(a0, x, y), a1 = hn::MulAdd(a1, x, y), a2 = hn::MulAdd(a2, x, y);
    a3 = hn::MulAdd(a3, x, y), a4 = hn::MulAdd(a4, x, y), a5 = hn::MulAdd(a5, x, y);
    a6 = hn::MulAdd(a6, x, y), a7 = hn::MulAdd(a7, x, y), a8 = hn::MulAdd(a8, x, y);
    a9 = hn::MulAdd(a9, x, y);
  }
  Keep(hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)),
               hn::Add(hn::Add(hn::Add(a4, a5), hn::Add(a6, a7)), hn::Add(a8, a9))));
}
constexpr double kChains = 10;

void Read(const float* a, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (size_t i = 0; i < n; i += 8 * lanes) {
    const float* p = a + i;
    s0 = hn::Add(s0, hn::Load(d, p)), s1 = hn::Add(s1, hn::Load(d, p + lanes));
    s2 = hn::Add(s2, hn::Load(d, p + 2 * lanes)), s3 = hn::Add(s3, hn::Load(d, p + 3 * lanes));
    s4 = hn::Add(s4, hn::Load(d, p + 4 * lanes)), s5 = hn::Add(s5, hn::Load(d, p + 5 * lanes));
    s6 = hn::Add(s6, hn::Load(d, p + 6 * lanes)), s7 = hn::Add(s7, hn::Load(d, p + 7 * lanes));
  }
  Keep(hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)),
               hn::Add(hn::Add(s4, s5), hn::Add(s6, s7))));
}

template <bool kStream>
void Put(V v, float* p) {
  const D d;
  if constexpr (kStream)
    hn::Stream(v, d, p);
  else
    hn::Store(v, d, p);
}

template <bool kStream>
void Write(float* a, size_t n) {
  const D d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) Put<kStream>(hn::Set(d, 2.0f), a + i);
  if (kStream) hwy::FlushStream();
}

template <bool kStream>
void Copy(const float* a, float* b, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += 4 * lanes) {
    const V v0 = hn::Load(d, a + i), v1 = hn::Load(d, a + i + lanes);
    const V v2 = hn::Load(d, a + i + 2 * lanes), v3 = hn::Load(d, a + i + 3 * lanes);
    Put<kStream>(v0, b + i), Put<kStream>(v1, b + i + lanes);
    Put<kStream>(v2, b + i + 2 * lanes), Put<kStream>(v3, b + i + 3 * lanes);
  }
  if (kStream) hwy::FlushStream();
}

template <bool kStream>
void Triad(const float* a, const float* b, float* c, size_t n) {
  const D d;
  const V scale = hn::Set(d, 1.5f);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    Put<kStream>(hn::MulAdd(hn::Load(d, b + i), scale, hn::Load(d, a + i)), c + i);
  if (kStream) hwy::FlushStream();
}

struct Loop {
  const char* name;
  size_t streams;  // number of arrays touched
  std::function<void(size_t offset, size_t n)> run;
};

void MeasureLoop(Recorder& recorder, Team& team, const Loop& loop, size_t ws, size_t threads,
                 int repeats) {
  const size_t each = ws / loop.streams / 4 / threads / 1024 * 1024;
  // Enough passes to make the start of the threads negligible.
  const size_t passes = std::max<size_t>(1, (size_t{8} << 20) / ws);
  std::vector<double> samples = Repeat(repeats, [&] {
    team.Run([&](int t) {
      for (size_t i = 0; i < passes; ++i) loop.run(static_cast<size_t>(t) * each, each);
    });
  });
  const auto bytes = static_cast<double>(4 * each * passes * threads * loop.streams);
  for (double& s : samples) s = bytes / s / 1e3;
  recorder.Emit("LIMIT.bandwidth", "limit",
                {{"kernel", loop.name}, {"ws", ws}, {"threads", threads}}, "GB/s", samples);
}

}  // namespace

void Limits(Recorder& recorder) {
  const int repeats = recorder.quick() ? 3 : 15;
  const size_t most = size_t{512} << 20, slack = 4096;
  const Floats fa(most / 4 + slack, 64), fb(most / 4 + slack, 592), fc(most / 4 + slack, 1120);
  float *a = fa.get(), *b = fb.get(), *c = fc.get();
  const Loop loops[] = {
      {"read", 1, [=](size_t o, size_t n) { Read(a + o, n); }},
      {"write", 1, [=](size_t o, size_t n) { Write<false>(a + o, n); }},
      {"write_nt", 1, [=](size_t o, size_t n) { Write<true>(a + o, n); }},
      {"copy", 2, [=](size_t o, size_t n) { Copy<false>(a + o, b + o, n); }},
      {"copy_nt", 2, [=](size_t o, size_t n) { Copy<true>(a + o, b + o, n); }},
      {"triad", 3, [=](size_t o, size_t n) { Triad<false>(a + o, b + o, c + o, n); }},
      {"triad_nt", 3, [=](size_t o, size_t n) { Triad<true>(a + o, b + o, c + o, n); }}};
  const size_t cores = std::min(2u, std::thread::hardware_concurrency());
  for (size_t threads = 1; threads <= cores; ++threads) {
    Team team(static_cast<int>(threads));
    constexpr int64_t kRounds = 240000;
    std::vector<double> samples =
        Repeat(repeats, [&] { team.Run([](int) { FmaChains(kRounds); }); });
    const double flops = 2.0 * kRounds * kChains * static_cast<double>(hn::Lanes(D()) * threads);
    for (double& s : samples) s = flops / s / 1e3;
    recorder.Emit("LIMIT.fma_f32", "limit", {{"threads", threads}}, "GFLOP/s", samples);
    for (size_t kib :
         {64, 1024, 3 << 10, 6 << 10, 32 << 10, 64 << 10, 128 << 10, 512 << 10, 1 << 20})
      for (const Loop& loop : loops)
        if (loop.streams > 1 || kib * 1024 <= most)
          MeasureLoop(recorder, team, loop, kib * 1024, threads, repeats);
  }
}

}  // namespace tessera::bench
