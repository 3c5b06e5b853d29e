#include <memory>
#include <utility>

#include "base/shape.h"
#include "kernels/copy_plan.h"
#include "kernels/kernels.h"

namespace tessera::kernels {
namespace {

struct ConcatenateConfig {
  std::vector<CopyPlan> plans;  // of each operand, outer dim [outer]
  int64_t outer = 1;
  int64_t chunk = 1;  // outer rows for which the output stays in the cache
};

// Every part takes its share of the outer rows; if there is only one row, of each operand.
void RunConcatenate(const plan::KernelCall& call) {
  const auto& config = *static_cast<const ConcatenateConfig*>(call.config);
  if (config.outer == 1) {
    for (size_t k = 0; k < config.plans.size(); ++k)
      RunCopy(config.plans[k], {call.in[k], call.out[0]}, call.part, call.parts);
    return;
  }
  const Range rows = Share(config.outer, 1, call.part, call.parts);
  for (int64_t i = rows.begin; i < rows.end; i += config.chunk)
    for (size_t k = 0; k < config.plans.size(); ++k)
      RunCopyRange(config.plans[k], {call.in[k], call.out[0]},
                   {i, std::min(rows.end, i + config.chunk)});
}

}  // namespace

plan::Kernel Concatenate(int32_t itemsize, const std::vector<Shape>& shapes, int64_t dim) {
  ConcatenateConfig config;
  config.outer = base::Around(shapes[0], dim).outer;
  std::vector<int64_t> rows;  // elements of each operand per outer row
  int64_t total = 0;
  for (const Shape& shape : shapes) {
    const auto [outer, n, inner] = base::Around(shape, dim);
    rows.push_back(n * inner);
    total += n * inner;
  }
  int64_t offset = 0;
  for (int64_t row : rows) {
    const CopyDesc desc{.itemsize = itemsize,
                        .box = {config.outer, row},
                        .in_strides = {row, 1},
                        .out_strides = {total, 1},
                        .out_offset = offset,
                        .out_size = config.outer * total};
    config.plans.push_back(MakeCopyPlan(desc, config.outer != 1));
    offset += row;
  }
  constexpr int64_t kChunkBytes = int64_t{128} << 10;
  config.chunk = std::max<int64_t>(1, kChunkBytes / std::max<int64_t>(1, total * itemsize));
  const double bytes = 2.0 * static_cast<double>(config.outer * total * itemsize);
  const int64_t units = config.outer == 1 ? total * itemsize / 4096 : config.outer;
  return {.fn = RunConcatenate,
          .config = std::make_shared<const ConcatenateConfig>(std::move(config)),
          .bytes = bytes,
          .max_parts = MaxParts(bytes, units)};
}

}  // namespace tessera::kernels
