#include <gmock/gmock.h>

#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

// Operand k's rows lie one after the other in each outer row of the output.
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

}  // namespace
}  // namespace tessera::kernels
