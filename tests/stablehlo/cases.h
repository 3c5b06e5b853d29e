// The cases of stablehlo_runner: texts with the results of JAX, Shardy and XLA.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace tessera::stablehlo_runner {

using Json = nlohmann::json;
namespace fs = std::filesystem;

struct Skipped {};
struct Failure {
  std::string reason;
};

// Returns the path of a case's text.
inline fs::path TextOf(fs::path path) { return path.replace_extension(".mlir"); }

// Returns differences.json: where JAX's programs have other shardings here, or receive more.
const Json& Differences();

// Throw Skipped if there is nothing to compare in the case, and Failure if it differs.
void RunShardings(const fs::path& path, const Json& c);
void RunCollectives(const fs::path& path, const Json& c);

}  // namespace tessera::stablehlo_runner
