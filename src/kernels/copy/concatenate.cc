// The kernels of concatenate and roll. Each row of the result joins parts of operand rows.
#include "kernels/copy/concatenate.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "kernels/copy/copy.h"
#include "kernels/copy/copy_plan.h"

namespace tessera::kernels {
namespace {

// `count` elements from `offset` of every outer row of an operand. The operand's rows have
// `row` elements.
struct OperandRows {
  size_t operand;
  int64_t row, offset, count;
};

struct JoinConfig {
  struct Part {
    size_t operand;
    CopyPlan plan;  // outer dim [outer]
  };
  std::vector<Part> parts;
  int64_t outer = 1;
  int64_t chunk = 1;  // number of outer rows whose output fits in the cache
};

// A part of a single row that has only a few bytes.
struct SmallPart {
  size_t operand;
  int64_t from, to, bytes;
};
constexpr int64_t kSmallBytes = 1024;

void RunSmallJoin(const plan::KernelArgs& call) {
  for (const SmallPart& part : *static_cast<const std::vector<SmallPart>*>(call.config)) {
    std::byte* to = call.out[0] + part.to;
    const std::byte* from = call.in[part.operand] + part.from;
    // For so few bytes, calling memcpy takes longer than copying.
    if (part.bytes == 4)
      std::memcpy(to, from, 4);
    else if (part.bytes == 8)
      std::memcpy(to, from, 8);
    else
      std::memcpy(to, from, static_cast<size_t>(part.bytes));
  }
}

plan::Kernel SmallJoin(int32_t itemsize, const std::vector<OperandRows>& parts) {
  std::vector<SmallPart> small;
  int64_t at = 0;
  for (const OperandRows& part : parts) {
    const int64_t bytes = part.count * itemsize;
    if (bytes > 0) small.push_back({part.operand, part.offset * itemsize, at, bytes});
    at += bytes;
  }
  return {.fn = RunSmallJoin,
          .config = std::make_shared<const std::vector<SmallPart>>(std::move(small)),
          .bytes = 2.0 * static_cast<double>(at),
          .max_parts = 1};
}

// Each part of the call copies its share of the outer rows. If there is only one row, it copies its
// share of every operand.
void RunJoin(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const JoinConfig*>(call.config);
  if (config.outer == 1) {
    for (const JoinConfig::Part& part : config.parts)
      RunCopy(part.plan, {call.in[part.operand], call.out[0]}, call.part, call.parts);
    return;
  }
  const Range rows = Share(config.outer, 1, call.part, call.parts);
  for (int64_t i = rows.begin; i < rows.end; i += config.chunk)
    for (const JoinConfig::Part& part : config.parts)
      RunCopyRange(part.plan, {call.in[part.operand], call.out[0]},
                   {i, std::min(rows.end, i + config.chunk)});
}

// Makes a kernel that writes the parts one after the other into every outer row of the result.
plan::Kernel Join(int32_t itemsize, int64_t outer, const std::vector<OperandRows>& parts) {
  JoinConfig config;
  config.outer = outer;
  int64_t total = 0, offset = 0;
  for (const OperandRows& part : parts) total += part.count;
  if (outer == 1 && total * itemsize <= kSmallBytes) return SmallJoin(itemsize, parts);
  for (const OperandRows& part : parts) {
    const CopyDesc desc{.itemsize = itemsize,
                        .box = {outer, part.count},
                        .in_strides = {part.row, 1},
                        .out_strides = {total, 1},
                        .in_offset = part.offset,
                        .out_offset = offset,
                        .out_size = outer * total};
    config.parts.push_back({part.operand, MakeCopyPlan(desc, outer != 1)});
    offset += part.count;
  }
  constexpr int64_t kChunkBytes = int64_t{128} << 10;
  config.chunk = std::max<int64_t>(1, kChunkBytes / std::max<int64_t>(1, total * itemsize));
  const double bytes = 2.0 * static_cast<double>(outer * total * itemsize);
  const int64_t units = outer == 1 ? total * itemsize / 4096 : outer;
  return {.fn = RunJoin,
          .config = std::make_shared<const JoinConfig>(std::move(config)),
          .bytes = bytes,
          .max_parts = MaxParts(bytes, units)};
}

}  // namespace

plan::Kernel Concatenate(int32_t itemsize, const std::vector<Shape>& shapes, int64_t dim) {
  std::vector<OperandRows> parts;
  for (size_t k = 0; k < shapes.size(); ++k) {
    const auto [outer, n, inner] = base::Around(shapes[k], dim);
    parts.push_back({k, n * inner, 0, n * inner});
  }
  return Join(itemsize, base::Around(shapes[0], dim).outer, parts);
}

plan::Kernel Roll(int32_t itemsize, const Shape& shape, int64_t dim, int64_t shift) {
  const auto [outer, n, inner] = base::Around(shape, dim);
  const int64_t row = n * inner, last = shift * inner;
  return Join(itemsize, outer, {{0, row, row - last, last}, {0, row, 0, row - last}});
}

}  // namespace tessera::kernels
