#include <algorithm>
#include <numeric>

#include "ops/params.h"
#include "ops/reference.h"
#include "ops/reference_values.h"

namespace tessera::ops::reference {
namespace {

std::vector<size_t> Positions(size_t n) {
  std::vector<size_t> positions(n);
  std::iota(positions.begin(), positions.end(), size_t{0});
  return positions;
}

}  // namespace

// `descending` turns the whole order around (NaN comes first), but equal elements stay in order.
void Sort(const ReferenceCall& call) {
  const auto& params = ir::As<SortParams>(call.params);
  const auto keys = static_cast<size_t>(params.num_keys);
  for (const auto& lane : Lanes(call.operands[0]->shape, params.dim[0])) {
    std::vector<size_t> sorted = Positions(lane.size());
    std::ranges::stable_sort(sorted, [&](size_t a, size_t b) {
      for (size_t k = 0; k < keys; ++k) {
        const int order = Order(*call.operands[k], lane[a], lane[b], Zeros::kEqual);
        if (order != 0) return params.descending ? order > 0 : order < 0;
      }
      return false;
    });
    for (size_t k = 0; k < call.operands.size(); ++k)
      for (size_t j = 0; j < lane.size(); ++j)
        call.results[k]->SetFrom(lane[j], *call.operands[k], lane[sorted[j]]);
  }
}

// Results are the values and their indices.
void TopK(const ReferenceCall& call) {
  const HostTensor& x = *call.operands[0];
  HostTensor &values = *call.results[0], &indices = *call.results[1];
  const auto last = static_cast<int64_t>(x.shape.size()) - 1;
  const auto from = Lanes(x.shape, last), to = Lanes(values.shape, last);
  for (size_t lane = 0; lane < to.size(); ++lane) {
    std::vector<size_t> sorted = Positions(from[lane].size());
    std::ranges::stable_sort(sorted, [&](size_t a, size_t b) {
      return Order(x, from[lane][a], from[lane][b], Zeros::kNegativeFirst) > 0;
    });
    for (size_t j = 0; j < to[lane].size(); ++j) {
      values.SetFrom(to[lane][j], x, from[lane][sorted[j]]);
      indices.SetInt(to[lane][j], static_cast<int64_t>(sorted[j]));
    }
  }
}

}  // namespace tessera::ops::reference
