// Every way to lay a tensor out over the axes of a mesh.
#pragma once
#include <functional>
#include <vector>

#include "sharding/dim_map.h"

namespace tessera::suite {

struct PlacementOptions {
  bool unreduced = false;  // an axis may also be unreduced, by sum, max or min
  bool reduced = false;    // an axis may also be reduced
  bool permuted = true;    // axes of one dim occur in either order
  bool uneven = false;     // also placements whose sizes do not divide, as Auto axes allow
};

// Returns every placement. Each axis of size > 1 is on some dim, or on none.
std::vector<sharding::TensorSharding> Placements(const sharding::MeshDef* mesh,
                                                 const base::Shape& shape,
                                                 PlacementOptions options = {});

// Returns a placement on a mesh x=2, y=2 with both axes as halves of one axis x=4.
sharding::TensorSharding AsHalves(const sharding::TensorSharding& placement);

// Calls f with every choice of one element index per list, the last changing fastest.
void ForEachChoice(const std::vector<size_t>& sizes,
                   const std::function<void(const std::vector<size_t>&)>& f);

// Returns the mesh with these axis sizes, named x, y, z.
const sharding::MeshDef* MeshOf(const std::vector<int64_t>& sizes,
                                std::vector<int64_t> device_ids = {});
// Same, with Auto axes.
const sharding::MeshDef* AutoMeshOf(const std::vector<int64_t>& sizes,
                                    std::vector<int64_t> device_ids = {});

}  // namespace tessera::suite
