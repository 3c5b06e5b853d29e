// Arrays put together from boxes, against the elements one by one.
#include "kernels/copy/boxes.h"

#include <gmock/gmock.h>

#include <random>

#include "fuzz.h"
#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

using Part = plan::FusedDesc::Part;

// Cuts a box at random until `pieces` are left.
std::vector<Part> RandomBoxes(const Shape& shape, int pieces, std::mt19937& random) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  std::vector<Part> boxes{{.begin = Shape(shape.size(), 0), .end = shape, .strides = {}}};
  for (int k = 1; k < pieces; ++k) {
    const auto b = static_cast<size_t>(below(std::ssize(boxes)));
    const auto d = static_cast<size_t>(below(std::ssize(shape)));
    const int64_t size = boxes[b].end[d] - boxes[b].begin[d];
    if (size < 2) continue;
    Part rest = boxes[b];
    boxes[b].end[d] = rest.begin[d] = boxes[b].begin[d] + 1 + below(size - 1);
    boxes.push_back(std::move(rest));
  }
  return boxes;
}

void Try(uint32_t seed, const Shape& shape, int32_t itemsize) {
  std::mt19937 random(seed);
  const int64_t elements = Product(shape), source = 2 * elements;
  const Bytes in[2] = {RandomBytes(source * itemsize, seed), RandomBytes(source * itemsize, 7)};
  Bytes want(elements * itemsize), got(elements * itemsize);
  std::vector<Part> boxes = RandomBoxes(shape, 1 + static_cast<int>(random() % 9), random);
  const Shape dense = DenseStrides(shape);
  for (Part& box : boxes) {
    box.operand = static_cast<int32_t>(random() % 2);
    box.strides = dense;
    box.offset = static_cast<int64_t>(random() % static_cast<uint64_t>(elements));
    if (random() % 4 == 0) box.strides.assign(shape.size(), 0);
    // A dim that is repeated, or read backward.
    const size_t d = random() % shape.size();
    if (d + 1 < shape.size() && box.strides[d] != 0) {
      if (random() % 3 == 0) box.strides[d] = 0;
      if (random() % 3 == 0)
        box.offset += 2 * (shape[d] - 1) * box.strides[d], box.strides[d] *= -1;
      box.offset %= elements;
      if (box.strides[d] < 0) box.offset += (shape[d] - 1) * dense[d];
      box.offset = std::min(box.offset, source - elements);
      if (box.strides[d] < 0) box.offset = std::max(box.offset, (shape[d] - 1) * dense[d]);
    }
    Shape at = box.begin;
    for (;;) {
      int64_t from = box.offset, to = 0;
      for (size_t k = 0; k < at.size(); ++k) from += at[k] * box.strides[k], to += at[k] * dense[k];
      std::memcpy(&want[to * itemsize], &in[box.operand][from * itemsize], itemsize);
      size_t k = at.size();
      while (k > 0 && ++at[k - 1] == box.end[k - 1]) --k, at[k] = box.begin[k];
      if (k == 0) break;
    }
  }
  const plan::Kernel kernel = CopyBoxes(itemsize, shape, boxes);
  for (int32_t parts : {1, 3}) {
    std::fill(got.begin(), got.end(), std::byte{1});
    RunParts(kernel, {&in[0], &in[1]}, {&got}, parts);
    ASSERT_EQ(got, want) << "seed " << seed << ", " << testing::PrintToString(shape) << " of "
                         << itemsize << " bytes, in " << parts << " parts";
  }
}

TEST(Boxes, AreCopiedToTheirPlaces) {
  const Shape shapes[] = {{4, 6, 5, 8}, {30, 40}, {7}, {300, 100}, {3, 1, 50, 2}, {20, 30, 16}};
  for (uint32_t seed = 0; seed < FuzzCount(200) && !testing::Test::HasFailure(); ++seed)
    for (int32_t itemsize : {1, 2, 4, 8}) Try(seed, shapes[seed % std::size(shapes)], itemsize);
}

// Written by non-temporal stores.
TEST(Boxes, LargerThanTheCaches) {
  for (uint32_t seed = 0; seed < 4; ++seed) Try(seed, {512, 64, 144}, 4);
}

}  // namespace
}  // namespace tessera::kernels
