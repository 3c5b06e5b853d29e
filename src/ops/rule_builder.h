// Builds the map of an op tensor by tensor. Tensors are numbered through: operands, then results.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "ir/op.h"
#include "sharding/dim_map.h"

namespace tessera::ops {

// Returns the map of an op that computes element by element and is linear in its first operand.
inline sharding::DimMap LinearInFirst(const ir::DimsCall& c) {
  sharding::DimMap map = sharding::Pointwise(c.operands, *c.results[0]);
  map.linear = {{.operands = {0}, .kinds = sharding::kAnyKind}};
  return map;
}

class RuleBuilder {
 public:
  // The first `num_operands` shapes are those of the operands.
  RuleBuilder(std::vector<base::Shape> shapes, size_t num_operands) : shapes_(std::move(shapes)) {
    for (size_t t = 0; t < shapes_.size(); ++t)
      (t < num_operands ? map_.operands : map_.results).emplace_back(shapes_[t].size());
  }

  struct TensorDim {
    size_t tensor, dim;
  };
  using TensorDims = std::vector<TensorDim>;

  // Adds a factor to the named dims. A factor of size 1 is not added to a dim that has factors.
  void Add(sharding::Factor factor, const TensorDims& dims) {
    int32_t f = map_.AddFactor(factor);
    for (TensorDim d : dims) {
      sharding::FactorList& list = Dims(d.tensor)[d.dim];
      if (factor.size != 1 || list.empty()) list.push_back(f);
    }
  }

  // Returns dim `dim` of the tensors in [first, end) that have dims.
  TensorDims Of(size_t dim, size_t first, size_t end) const {
    TensorDims dims;
    for (size_t t = first; t < end; ++t)
      if (!shapes_[t].empty()) dims.push_back({t, dim});
    return dims;
  }
  int64_t size(size_t tensor, size_t dim) const { return shapes_[tensor][dim]; }
  size_t rank(size_t tensor) const { return shapes_[tensor].size(); }

  // Returns the map. A dim without a factor gets one of size 1.
  sharding::DimMap Build() { return sharding::Completed(std::move(map_)); }

 private:
  sharding::DimFactors& Dims(size_t tensor) {
    size_t operands = map_.operands.size();
    return tensor < operands ? map_.operands[tensor] : map_.results[tensor - operands];
  }

  std::vector<base::Shape> shapes_;
  sharding::DimMap map_;
};

}  // namespace tessera::ops
