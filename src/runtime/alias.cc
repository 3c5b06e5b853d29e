// Finds exchanges that only rename buffers.
#include "runtime/alias.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <numeric>

#include "runtime/arena.h"
#include "runtime/exchange.h"

namespace tessera::runtime {
namespace {

// Returns the number of elements of a box if it is dense in both buffers, else -1.
int64_t DenseElements(const plan::Box& box) {
  int64_t elements = 1;
  for (size_t d = box.extents.size(); d-- > 0;) {
    if (box.extents[d] == 1) continue;
    if (box.in_strides[d] != elements || box.out_strides[d] != elements) return -1;
    elements *= box.extents[d];
  }
  return elements;
}

// Returns where an instance of the result begins in the operand's storage if it is one
// contiguous range there, else -1. Counts elements, as if the instances of the operand had no
// gaps between them.
int64_t RangeBegin(std::vector<plan::Exchange::Piece> pieces, int64_t elements, int64_t in_elements,
                   int64_t out_elements) {
  if (elements * static_cast<int64_t>(pieces.size()) != out_elements) return -1;
  absl::c_sort(pieces, [](const auto& a, const auto& b) { return a.out_offset < b.out_offset; });
  const int64_t begin = pieces[0].source * in_elements + pieces[0].in_offset;
  for (size_t k = 0; k < pieces.size(); ++k) {
    const int64_t at = static_cast<int64_t>(k) * elements;
    if (pieces[k].out_offset != at) return -1;
    if (pieces[k].source * in_elements + pieces[k].in_offset != begin + at) return -1;
  }
  return begin;
}

// Stands for the start of an instance that no piece covers, which is all zeros.
constexpr int64_t kZeros = -1;

bool Injective(std::vector<int64_t> begins, int64_t bytes) {
  std::erase(begins, kZeros);
  absl::c_sort(begins);
  for (size_t i = 1; i < begins.size(); ++i) {
    if (begins[i] - begins[i - 1] < bytes) return false;
  }
  return true;
}

}  // namespace

std::optional<Alias> FindAlias(const plan::Exchange& exchange, const plan::PlanValue& in,
                               int32_t in_instances, const plan::PlanValue& out) {
  if (exchange.in.size() != 1 || exchange.boxes.size() != 1 || exchange.computed_from ||
      exchange.in_one_block)
    return std::nullopt;
  const int64_t item = exchange.dtype.size();
  const auto instances = static_cast<int64_t>(exchange.pieces.size());
  const int64_t elements = DenseElements(exchange.boxes[0]);
  if (elements <= 0 || out.bytes * instances != in.bytes * in_instances) return std::nullopt;
  std::vector<int64_t> begins;
  bool permutes = in.bytes == out.bytes, aligned = in.bytes % kLine == 0;
  bool zeros = false;
  for (const auto& pieces : exchange.pieces) {
    if (exchange.combine && pieces.size() != 1) return std::nullopt;
    if (pieces.empty()) {
      zeros = true;
      begins.push_back(kZeros);
      continue;
    }
    const int64_t begin = RangeBegin(pieces, elements, in.bytes / item, out.bytes / item);
    if (begin < 0) return std::nullopt;
    permutes &= pieces.size() == 1 && pieces[0].in_offset == 0;
    aligned &= begin * item % kLine == 0;
    begins.push_back(begin * item);
  }
  if (!(permutes || (aligned && !zeros)) || !Injective(begins, out.bytes)) return std::nullopt;
  Alias alias{.permutes = permutes, .zeros = zeros, .stride = out.bytes, .slots = nullptr};
  for (int64_t begin : begins)
    if (begin != kZeros) alias.stride = std::gcd(alias.stride, begin);
  std::vector<int32_t> slots;
  slots.reserve(begins.size());
  for (int64_t begin : begins)
    slots.push_back(begin == kZeros ? kZeroSlot : static_cast<int32_t>(begin / alias.stride));
  bool identity = alias.stride == out.bytes;
  for (size_t i = 0; i < slots.size(); ++i) identity &= slots[i] == static_cast<int32_t>(i);
  if (!identity) alias.slots = std::make_shared<const std::vector<int32_t>>(std::move(slots));
  return alias;
}

}  // namespace tessera::runtime
