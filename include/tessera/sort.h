// Sorted arrays, sorted orders, and largest elements.
#pragma once
#include <cstdint>
#include <vector>

#include "tessera/array.h"
#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {

// Returns x sorted along `dim`, NaN last; descending is the reverse. A sharded `dim` needs Auto
// axes or an out_sharding; at most three shards leave each device. Else throws ShardingError.
Array sort(Operand x, int dim = -1, SortOptions options = {}, Loc loc = Loc::Current());
// Returns all arrays, which have one shape, sorted by the first num_keys of them. Equal elements
// keep their order, also in descending order.
std::vector<Array> sort(std::vector<Array> xs, int dim = -1, SortOptions options = {},
                        Loc loc = Loc::Current());
// Returns the indices that sort x; equal elements keep their order. The shape of x, default int.
Array argsort(Operand x, int dim = -1, SortOptions options = {}, Loc loc = Loc::Current());
struct TopK {
  Array values, indices;
};
// Returns the k largest elements along the last dim, in descending order, and their indices: [...,
// k]. NaN is larger than all numbers, and -0 is smaller than 0. Of equal elements the first ones
// are taken. A sharded last dim needs Auto axes or an out_sharding: then devices send the k largest
// of their shards.
TopK top_k(Operand x, int64_t k, OutOptions options = {}, Loc loc = Loc::Current());

}  // namespace tessera
