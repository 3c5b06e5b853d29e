// Lesson 4: plan for 4096 devices on one laptop.
//
// An abstract mesh has a size and no devices. Types, device programs and reports are the same as on
// the real machine, but nothing can run.
#include <tessera/tessera.h>

#include <chrono>
#include <iostream>

using namespace tessera;

int main() {
  MeshScope scope(abstract_mesh({{"data", 64}, {"model", 64}}));

  // Arrays without data: a batch of 65536 rows and two weights of 2 GB each.
  Array x = abstract_array("f32[65536@data,8192]");
  Array w1 = abstract_array("f32[8192,65536@model]"), w2 = abstract_array("f32[65536@model,8192]");
  std::cout << "mesh " << current_mesh() << ": " << current_mesh().size() << " devices\n";

  // Two layers, with hidden units that are sharded over model, as large models are trained.
  auto block = jit([](Array x, Array w1, Array w2) {
    Array hidden = gelu(matmul(x, w1));
    std::cout << "while tracing: hidden is " << type_of(hidden) << "\n";
    return x + matmul(hidden, w2, {.out_sharding = P("data", None)});
  });

  auto start = std::chrono::steady_clock::now();
  Lowered lowered = block.lower(x, w1, w2);
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

  std::cout << "\n" << lowered.device_program() << "\n" << lowered.comm();
  std::cout << "per device: at most " << lowered.peak_bytes() / (1 << 20) << " MiB of memory, "
            << static_cast<double>(lowered.flops()) / 1e9 << " GFLOP\n";
  std::cerr << "traced and lowered in " << took.count() << " ms\n";

  // Ops outside of jit check types as well, but there are no values to read.
  std::cout << "\nx @ w1 would be " << type_of(matmul(x, w1)) << "\n";
  try {
    sum(x).item<float>();
  } catch (const TraceError& e) {
    std::cout << e.what() << "\n";
  }
}
