// Lesson 21: several processes. Every process runs this program: mpirun -n 2 21_processes. Without
// mpirun there is one.
#include <tessera/processes.h>
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main(int argc, char** argv) {
  // 1. The scope comes first in main. SetDeviceCount counts the devices of all processes. They are
  //    split evenly and in order.
  Processes processes(&argc, &argv);
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  std::cout << "process " << process_index() << " of " << process_count() << " hosts devices";
  for (int64_t device : local_devices()) std::cout << " " << device;
  std::cout << "\n";

  // 2. All processes make the same arrays and run the same ops in the same order, so that an op
  // never
  //    stands inside of `if (process_index() == 0)`. Types and reports are the same as in one
  //    process.
  Array x = reshard(arange(8) * 1.0f, P("x"));
  auto normalise = jit([](Array v) { return v / sum(v); });
  Array y = normalise(x);
  std::cout << type_of(y) << "\n" << normalise.lower(x).comm();

  // 3. A process has the shards of its own devices.
  for (const Shard& shard : y.addressable_shards())
    std::cout << "device " << shard.device() << " has rows from " << shard.index()[0].begin
              << " to " << shard.index()[0].end << "\n";

  // 4. A replicated value is on all devices, so each process reads it.
  std::cout << "sum " << sum(y).item<float>() << "\n";

  // 5. A process reads no array that is partly on another. (With ProcessOptions::reads_gather,
  // which
  //    tessera::mpi_main sets, a read gathers it: then all processes must read it.)
  try {
    std::cout << y << "\n";
  } catch (const RuntimeError& e) {
    std::cout << e.what() << "\n";
  }

  // 6. gather_to_host is one such read, in every mode. All processes call it, and one prints.
  Array all = gather_to_host(y);
  if (process_index() == 0) std::cout << "gathered " << all << "\n";
}
