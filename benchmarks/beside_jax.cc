// Runs the scripts of jax/ and reads their figures.
#include "benchmarks/beside_jax.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace tessera::bench {

void RunJax(Recorder& recorder, const std::string& script, const std::string& arguments) {
  const char* python = std::getenv("TESSERA_JAX_PYTHON");
  if (python == nullptr) return;
  const std::string command = fmt::format("{} {}/jax/{} {}{}", python, TESSERA_BENCHMARKS, script,
                                          arguments, recorder.quick() ? " --quick" : "");
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    std::fputs(line.data(), stdout);
    recorder.AddPeer(line.data());
  }
  pclose(pipe);
}

}  // namespace tessera::bench
