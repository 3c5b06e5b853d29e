// Lowers a program with dims padded and with dims over parts of axes, and keeps the cheaper one.
#include "compile/auto/parts.h"

#include <absl/algorithm/container.h>

#include <utility>

#include "sharding/partition.h"
#include "spmd/cost.h"
#include "spmd/pipeline.h"

namespace tessera::compile {

using sharding::TensorSharding;

TensorSharding OverParts(const TensorSharding& place, const ir::Shape& shape,
                         const std::vector<UnevenDim>& dims) {
  TensorSharding s = place;
  for (size_t d = 0; d < shape.size(); ++d) {
    sharding::AxisList& axes = s.dims[d].axes;
    if (absl::c_linear_search(dims, UnevenDim{axes, shape[d]}))
      axes = sharding::PrefixThatDivides(axes, shape[d]);
  }
  return s;
}

namespace {

constexpr size_t kMostDims = 4;  // that are tried; others stay padded

// Adds dims whose size a part of their axes divides.
void AddUnevenDims(const ir::Program& program, std::vector<UnevenDim>& dims) {
  for (const ir::Value& v : program.values)
    for (int d = 0; v.place && d < v.place->rank() && dims.size() < kMostDims; ++d) {
      UnevenDim dim{base::At(v.place->sharding().dims, d).axes, base::At(v.place->shape(), d)};
      const sharding::AxisList even = sharding::PrefixThatDivides(dim.axes, dim.size);
      if (even == dim.axes || even.empty()) continue;
      if (!absl::c_linear_search(dims, dim)) dims.push_back(std::move(dim));
    }
  for (const ir::Instruction& i : program.instructions)
    for (const ir::RegionPtr& region : i.regions) AddUnevenDims(*region, dims);
}

// Whether an argument has this dim: its place stays.
bool IsOfArgument(const ir::Program& program, const UnevenDim& dim) {
  const auto has = [&](ir::ValueId v) {
    const ir::Type* place = program.place(v);
    return place && OverParts(place->sharding(), place->shape(), {dim}) != place->sharding();
  };
  return absl::c_any_of(program.inputs, has) ||
         absl::c_any_of(program.captures, [&](const ir::Capture& c) { return has(c.value); });
}

ir::Program OverParts(ir::Program program, const std::vector<UnevenDim>& dims) {
  for (ir::Value& v : program.values)
    if (v.place)
      v.place = v.place->WithSharding(OverParts(v.place->sharding(), v.place->shape(), dims));
  for (ir::Instruction& i : program.instructions)
    for (ir::RegionPtr& region : i.regions) region = ir::Shared(OverParts(*region, dims));
  return program;
}

// Returns the cost on one device, in bytes.
double CostOf(const ir::Program& placed) {
  const ir::Program device = spmd::Lower(placed);
  return spmd::SentBytes(device) + spmd::FlopsOf(device).device / sharding::FlopsPerByte();
}

}  // namespace

PartsOfProgram PaddedOrOverParts(std::shared_ptr<const ir::Program> placed) {
  std::vector<UnevenDim> dims;
  AddUnevenDims(*placed, dims);
  std::erase_if(dims, [&](const UnevenDim& dim) { return IsOfArgument(*placed, dim); });
  PartsOfProgram best{std::move(placed), {}};
  if (dims.empty()) return best;
  double least = CostOf(*best.program);
  for (const UnevenDim& dim : dims) {
    std::shared_ptr<const ir::Program> next = ir::Shared(OverParts(*best.program, {dim}));
    const double cost = CostOf(*next);
    if (cost >= least) continue;
    least = cost;
    best.program = std::move(next);
    best.dims.push_back(dim);
  }
  return best;
}

}  // namespace tessera::compile
