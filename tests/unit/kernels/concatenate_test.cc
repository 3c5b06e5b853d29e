// The kernels of concatenate and roll against copies row by row.
#include "kernels/copy/concatenate.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/shape.h"
#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

// In each outer row of the output, the rows of operand k follow those of operand k - 1.
Bytes NaiveConcatenate(int32_t itemsize, const std::vector<Shape>& shapes, int64_t dim,
                       const std::vector<Bytes>& in) {
  int64_t outer = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= shapes[0][d];
  Bytes out;
  for (int64_t o = 0; o < outer; ++o)
    for (size_t k = 0; k < in.size(); ++k) {
      const int64_t row = Product(shapes[k]) / outer * itemsize;
      out.insert(out.end(), in[k].begin() + o * row, in[k].begin() + (o + 1) * row);
    }
  return out;
}

TEST(Concatenate, JoinsEveryShapeAndItemsize) {
  struct {
    std::vector<Shape> shapes;
    int64_t dim;
  } const cases[] = {
      {{{3}}, 0},
      {{{3}, {0}, {5}}, 0},
      {{{2, 3}, {2, 1}}, 1},
      {{{2, 3}, {4, 3}}, 0},
      {{{1000, 1}, {1000, 1}, {1000, 2}}, 1},
      {{{300, 70}, {300, 0}, {300, 130}}, 1},
      {{{40000}, {70001}}, 0},
      {{{5, 200, 64}, {5, 100, 64}}, 1},
      {{{0, 2}, {0, 3}}, 1},
      {{{2, 3, 1}, {2, 3, 4}, {2, 3, 2}}, 2},
  };
  for (int32_t itemsize : {1, 2, 4, 8}) {
    for (const auto& [shapes, dim] : cases) {
      std::vector<Bytes> in;
      std::vector<const Bytes*> operands;
      for (const Shape& shape : shapes)
        in.push_back(RandomBytes(Product(shape) * itemsize, static_cast<uint32_t>(in.size())));
      for (const Bytes& bytes : in) operands.push_back(&bytes);
      const Bytes want = NaiveConcatenate(itemsize, shapes, dim, in);
      const plan::Kernel kernel = Concatenate(itemsize, shapes, dim);
      for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
        Bytes got(want.size());
        RunParts(kernel, operands, {&got}, parts);
        ASSERT_TRUE(SameItems(got, want, itemsize))
            << testing::PrintToString(shapes) << " along " << dim << ", parts " << parts;
      }
    }
  }
}

TEST(Roll, EqualsTheTwoPartsJoined) {
  for (int32_t itemsize : {1, 2, 4, 8}) {
    for (const auto& [shape, dim] : {std::pair<Shape, int64_t>{{7}, 0},
                                     {{5, 12}, 0},
                                     {{5, 12}, 1},
                                     {{3, 6, 4}, 1},
                                     {{200, 300}, 1},
                                     {{0, 3}, 0},
                                     {{3, 0}, 1}}) {
      const int64_t n = shape[static_cast<size_t>(dim)];
      for (int64_t shift : {int64_t{0}, n / 3, std::max<int64_t>(n - 1, 0)}) {
        const Bytes in = RandomBytes(Product(shape) * itemsize, 1);
        const auto [outer, size, inner] = base::Around(shape, dim);
        Bytes want(in.size());
        for (int64_t i = 0; i < outer; ++i)
          for (int64_t k = 0; k < size; ++k) {
            const int64_t to = (i * size + (k + shift) % size) * inner * itemsize;
            const int64_t from = (i * size + k) * inner * itemsize;
            std::memcpy(want.data() + to, in.data() + from, static_cast<size_t>(inner * itemsize));
          }
        const plan::Kernel kernel = Roll(itemsize, shape, dim, shift);
        for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
          Bytes got(want.size());
          RunParts(kernel, {&in}, {&got}, parts);
          ASSERT_TRUE(SameItems(got, want, itemsize))
              << testing::PrintToString(shape) << " along " << dim << " by " << shift;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::kernels
