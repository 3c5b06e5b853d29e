// Shardings as XLA writes them: "{devices=[2,1,4]<=[8] last_tile_dim_replicate}". Texts from before
// Shardy have them in attributes mhlo.sharding, and have no meshes.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "sharding/tensor_sharding.h"
#include "stablehlo/text/tree.h"

namespace tessera::stablehlo {

// A factor of the device number: its digits at this stride.
struct DeviceDigits {
  int64_t size = 1, stride = 1;
};

// A parsed sharding: the digits that shard each dim, major to minor. Digits that are in no dim are
// replicated, or manual.
struct OlderSharding {
  std::vector<std::vector<DeviceDigits>> dims;
  std::vector<DeviceDigits> manual;  // of a last tile dim that is manual
  bool is_manual = false;            // "{manual}": over all devices
};
// Returns nothing for a text that is not understood, such as a list of devices in another order
// than transposed dims give.
std::optional<OlderSharding> ParseOlderSharding(std::string_view text, int64_t devices);

// Returns a mesh whose axes are the digits of all shardings of a module, with Auto axes: null if
// there are none. Throws a RuntimeError if they have no common axes.
const sharding::MeshDef* MeshOfOlderShardings(const Module& module);

// Returns the axes, or parts of axes, of the digits, which nest in those of the mesh.
sharding::AxisList AxesOfDigits(const sharding::MeshDef& mesh,
                                const std::vector<DeviceDigits>& digits);
// Returns a sharding on the mesh of the module, without modes. `open`: the dims that propagation
// may shard further.
sharding::TensorSharding ShardingOfOlder(const sharding::MeshDef& mesh, const OlderSharding& older,
                                         size_t rank, const std::vector<int64_t>& open = {});

}  // namespace tessera::stablehlo
