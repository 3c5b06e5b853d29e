// Parts of errors that say where a host call ran.
#include "ir/host_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/type.h"
#include "sharding/mesh.h"

namespace tessera::ir {

std::string DeviceNote(const HostArguments& arguments, const Type& type, int64_t position) {
  const sharding::MeshDef* mesh = type.mesh();
  if (arguments.device < 0 && mesh == nullptr) return "";
  return fmt::format("on device {}",
                     arguments.device >= 0 ? arguments.device : mesh->Device(position));
}

std::vector<std::string> IterationNotes(const HostArguments& arguments) {
  if (arguments.iterations.empty()) return {};
  return {fmt::format("in iteration {} of the loop{} around it, counted from 0",
                      fmt::join(arguments.iterations, ", "),
                      arguments.iterations.size() > 1 ? "s" : "")};
}

}  // namespace tessera::ir
