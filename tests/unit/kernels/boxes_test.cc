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

// Random boxes of two sources, and the array that they make.
struct Join {
  Bytes in[2], want;
  std::vector<Part> boxes;
};
Join RandomJoin(uint32_t seed, const Shape& shape, int32_t itemsize) {
  std::mt19937 random(seed);
  const int64_t elements = Product(shape), source = 2 * elements;
  Join join{.in = {RandomBytes(source * itemsize, seed), RandomBytes(source * itemsize, 7)},
            .want = Bytes(elements * itemsize),
            .boxes = RandomBoxes(shape, 1 + static_cast<int>(random() % 9), random)};
  const Shape dense = DenseStrides(shape);
  for (Part& box : join.boxes) {
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
      std::memcpy(&join.want[to * itemsize], &join.in[box.operand][from * itemsize], itemsize);
      size_t k = at.size();
      while (k > 0 && ++at[k - 1] == box.end[k - 1]) --k, at[k] = box.begin[k];
      if (k == 0) break;
    }
  }
  return join;
}

void Try(uint32_t seed, const Shape& shape, int32_t itemsize) {
  const Join join = RandomJoin(seed, shape, itemsize);
  Bytes got(join.want.size());
  const plan::Kernel kernel = CopyBoxes(itemsize, shape, join.boxes);
  for (int32_t parts : {1, 3}) {
    std::fill(got.begin(), got.end(), std::byte{1});
    RunParts(kernel, {&join.in[0], &join.in[1]}, {&got}, parts);
    ASSERT_EQ(got, join.want) << "seed " << seed << ", " << testing::PrintToString(shape) << " of "
                              << itemsize << " bytes, in " << parts << " parts";
  }
}

TEST(Boxes, AreCopiedToTheirPlaces) {
  const Shape shapes[] = {{4, 6, 5, 8}, {30, 40}, {7}, {300, 100}, {3, 1, 50, 2}, {20, 30, 16}};
  for (uint32_t seed = 0; seed < FuzzCount(200) && !testing::Test::HasFailure(); ++seed)
    for (int32_t itemsize : {1, 2, 4, 8}) Try(seed, shapes[seed % std::size(shapes)], itemsize);
}

// A kernel that adds the number in[1] to each byte of a tile, which it first copies to scratch.
struct AddByte {
  int64_t bytes;
  static void Run(const plan::KernelArgs& call) {
    const auto& c = *static_cast<const AddByte*>(call.config);
    for (int64_t i = 0; i < c.bytes; ++i) call.scratch[i] = call.in[0][i];
    for (int64_t i = 0; i < c.bytes; ++i)
      call.out[0][i] =
          std::byte(std::to_integer<int>(call.scratch[i]) + std::to_integer<int>(call.in[1][0]));
  }
};

TEST(Boxes, AreAssembledInTilesForAnotherKernel) {
  const Shape shapes[] = {{4, 6, 5, 8}, {30, 40}, {7}, {3, 1, 50, 2}, {20, 3, 16}, {5, 9, 7, 64}};
  for (uint32_t seed = 0; seed < FuzzCount(200) && !testing::Test::HasFailure(); ++seed)
    for (int32_t itemsize : {1, 2, 4, 8}) {
      const Shape& shape = shapes[seed % std::size(shapes)];
      Join join = RandomJoin(seed, shape, itemsize);
      const auto tile_dims = static_cast<int64_t>(seed / 7 % (shape.size() + 1));
      int64_t tile = itemsize;
      for (size_t d = static_cast<size_t>(tile_dims); d < shape.size(); ++d) tile *= shape[d];
      const Bytes number{std::byte{5}};
      for (std::byte& b : join.want) b = std::byte(std::to_integer<int>(b) + 5);
      const plan::Kernel kernel =
          OnTiles({.itemsize = itemsize,
                   .shape = shape,
                   .boxes = join.boxes,
                   .tile_dims = tile_dims,
                   .of_tile = {.fn = AddByte::Run,
                               .config = std::make_shared<const AddByte>(AddByte{tile}),
                               .scratch_bytes = tile},
                   .result_bytes = tile,
                   .sources = 2,
                   .others = 1});
      for (int32_t parts : {1, 3}) {
        Bytes got(join.want.size());
        RunParts(kernel, {&join.in[0], &join.in[1], &number}, {&got}, parts);
        ASSERT_EQ(got, join.want) << "seed " << seed << ", " << testing::PrintToString(shape)
                                  << " in tiles of " << tile << " bytes, " << parts << " parts";
      }
    }
}

// Written by non-temporal stores.
TEST(Boxes, LargerThanTheCaches) {
  for (uint32_t seed = 0; seed < 4; ++seed) Try(seed, {512, 64, 144}, 4);
}

}  // namespace
}  // namespace tessera::kernels
