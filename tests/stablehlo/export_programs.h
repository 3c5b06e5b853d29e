// Whole programs that stablehlo_samples writes.
#pragma once
#include <tessera/tessera.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::stablehlo_samples {

struct TestProgram {
  using Function = std::function<std::vector<Array>(const std::vector<Array>&)>;
  std::string name;
  Function f;
  std::vector<Array> arguments = {};  // on no mesh
  std::optional<Mesh> mesh = {};      // on which f is traced
  Function without_mesh = nullptr;    // gives the same numbers; null: f, on the mesh
};

std::vector<TestProgram> TestPrograms();

}  // namespace tessera::stablehlo_samples
