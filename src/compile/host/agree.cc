// Gathers the reasons of failures.
#include "compile/host/agree.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <vector>

#include "runtime/transport.h"

namespace tessera::compile {
std::string FirstProblem(std::string_view problem) {
  runtime::Transport* transport = runtime::TheTransport();
  if (!transport) return std::string(problem);
  const std::vector<std::string> problems = transport->Gather(problem);
  const auto first =
      absl::c_find_if(problems, [](const std::string& of_process) { return !of_process.empty(); });
  if (first == problems.end()) return "";
  return fmt::format("{} (on process {})", *first, first - problems.begin());
}

}  // namespace tessera::compile
