// W11: normal samples from one key, divided between the devices.
#include <tessera/tessera.h>

#include "benchmarks/workloads.h"

namespace tessera::bench {

void RandomNumbers(Recorder& recorder) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"d", 8}}));
  const int64_t n = int64_t{1} << (recorder.quick() ? 14 : 24);
  const double elements = static_cast<double>(n);
  const auto draw = jit([n](Array key) {
    return random::normal(key, Shape(n), {.dtype = f32, .out_sharding = P("d")});
  });
  const Array key = random::key(0);
  recorder.Emit("W11.normal", kOurs, {{"elements", n}, {"generator", "threefry2x32"}}, "us",
                Sample(recorder.quick(), [&] { return draw(key); }),
                {{"bytes", 4 * elements},
                 {"ws", 4 * n},
                 {"kind", "write"},
                 {"elements", n},
                 {"flops", 140 * elements}});
}

}  // namespace tessera::bench
