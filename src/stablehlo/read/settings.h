// Shardings of arguments that the caller gives in place of the text's.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sharding/tensor_sharding.h"
#include "stablehlo/text/tree.h"
#include "tessera/stablehlo.h"

namespace tessera::stablehlo {

// Returns the reason why a sharding does not divide a type evenly: "dim 0 of size 12 cannot be
// divided evenly into 8 shards"; "" if it does.
std::string WhyUneven(const TextType& type, const sharding::TensorSharding& s);
// Throws RuntimeError if the text's sharding of an argument does not divide it on a mesh that the
// caller gave: the text was written for another one.
void CheckDivides(const Module& module, const TextType& type, const std::string& argument,
                  const sharding::MeshDef& mesh, const sharding::TensorSharding& s);

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
