// Shardings of arguments that the caller gives in place of the text's.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sharding/tensor_sharding.h"
#include "stablehlo/text/tree.h"
#include "tessera/stablehlo.h"

namespace tessera::stablehlo {

class Settings {
 public:
  // Throws a RuntimeError for a setting of no argument of the function, for one whose text is not
  // a sharding of its arguments on `mesh`, and for any if `mesh` is null.
  Settings(const Module& module, const TextFunction& function, const sharding::MeshDef* mesh,
           const std::vector<ArgumentSharding>& shardings);
  // Returns the sharding that is set of argument k, on the mesh without modes.
  const std::optional<sharding::TensorSharding>& Of(size_t k) const { return of_[k]; }

 private:
  std::vector<std::optional<sharding::TensorSharding>> of_;
};

}  // namespace tessera::stablehlo
