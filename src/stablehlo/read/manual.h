// Computations over Manual axes: shard_map, with the shardings of a text.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "stablehlo/read/importer.h"
#include "tessera/specs.h"

namespace tessera::stablehlo {

struct ManualComputation {
  std::vector<std::string> axes;                    // that become Manual
  std::vector<sharding::TensorSharding> ins, outs;  // over these and other axes

  // Returns the results of `body`, which takes and returns each device's own arrays. A result that
  // `outs` claims to be the same along an axis, and that varies along it, is assumed invariant.
  Arrays Run(const Importer& importer, const Arrays& operands,
             const std::function<Arrays(const Arrays&)>& body, api::Call call) const;

 private:
  bool IsManual(const sharding::MeshDef& mesh, sharding::AxisPart part) const;
  Specs SpecsOf(const std::vector<sharding::TensorSharding>& all, bool of_arguments) const;
  Array AsClaimed(const Array& x, const sharding::TensorSharding& out, Loc loc) const;
};

}  // namespace tessera::stablehlo
