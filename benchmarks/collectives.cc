// W3: each collective as the reshard that it implements.
#include <tessera/tessera.h>

#include <string_view>

#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

constexpr int kDevices = 8;

}  // namespace

std::vector<size_t> CollectiveSizes(bool quick) {
  if (quick) return {4096};
  return {4096, size_t{256} << 10, size_t{16} << 20};
}

Json CollectiveParams(const char* op, size_t bytes) {
  return {{"op", op}, {"bytes_per_device", bytes}, {"devices", kDevices}};
}

Json CollectiveCost(const char* op, size_t bytes) {
  const bool reduces = std::string_view(op).find("reduce") != std::string_view::npos;
  const size_t total = (reduces ? kDevices + 1 : 2 * kDevices) * bytes;
  return {{"bytes", total}, {"ws", total}, {"kind", reduces ? "read" : "copy"}};
}

void Collectives(Recorder& recorder) {
  SetDeviceCount(kDevices);
  MeshScope scope(make_mesh({{"d", kDevices}}));
  for (size_t bytes : CollectiveSizes(recorder.quick())) {
    auto run = [&](const char* op, const auto& f, const Array& x) {
      recorder.Emit("W3.collective", "tessera", CollectiveParams(op, bytes), "us",
                    Sample(recorder.quick(), [&] { f(x); }), CollectiveCost(op, bytes));
    };
    const auto n = static_cast<int64_t>(bytes / 4);
    const Array blocks = reshard(Random({kDevices, n}, 1), P("d", None));
    const Array partial = sum(blocks, 0, {.out_sharding = P(None).unreduced("d")});
    const Array flat = reshard(Random({kDevices * n}, 1), P("d"));
    const auto replicate = jit([](Array v) { return reshard(v, P(None)); });
    run("all_reduce", replicate, partial);
    run("all_gather", replicate, flat);
    run("reduce_scatter", jit([](Array v) { return reshard(v, P("d")); }), partial);
    run("all_to_all", jit([](Array v) { return reshard(v, P(None, "d")); }), blocks);
  }
}

}  // namespace tessera::bench
