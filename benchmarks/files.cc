// W16: a safetensors file with as many small arrays as the state of a long optimiser has.
#include <tessera/io.h>
#include <tessera/tessera.h>

#include <filesystem>
#include <map>

#include "benchmarks/workloads.h"

namespace tessera::bench {

void ManyArraysInAFile(Recorder& recorder) {
  const int count = recorder.quick() ? 2000 : 200'000, repeats = recorder.quick() ? 1 : 3;
  const std::string path = std::filesystem::temp_directory_path() / "tessera_bench.safetensors";
  std::map<std::string, Array> arrays;
  for (int i = 0; i < count; ++i)
    arrays["layers." + std::to_string(i) + ".w"] = full({4}, static_cast<float>(i));
  const auto emit = [&](const char* what, absl::FunctionRef<void()> f) {
    recorder.Emit("W16.safetensors", kOurs, {{"arrays", count}, {"what", what}}, "us",
                  Repeat(repeats, f));
  };
  emit("save", [&] { save_safetensors(path, arrays); });
  emit("load", [&] { load_safetensors(path); });
  emit("load_like", [&] { load_safetensors_like(path, arrays); });
  std::filesystem::remove(path);
}

}  // namespace tessera::bench
