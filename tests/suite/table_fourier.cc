// Sample table: Fourier transforms.
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;

constexpr Tolerance kFourierTolerance{.eps = 30, .magnitude = 8};

// Adds a transform of n elements along a dim of an operand of this shape.
Sample& AddTransform(Table& table, const OpDef& op, DType dtype, const Shape& shape, int64_t dim,
                     int64_t n) {
  Sample& s =
      Add(table, op, ir::MakeParams(FourierParams{{dim}, n}), {{shape, dtype, Range(-2, 2)}});
  s.forward = kFourierTolerance;
  s.sharded = kFourierTolerance;
  return s;
}

}  // namespace

void AddFourier(Table& table) {
  struct Size {
    Shape shape;
    int64_t dim;
  };
  const Size sizes[] = {{{8}, 0},        {{1}, 0},     {{4, 12}, 1}, {{12, 4}, 0},
                        {{24, 5, 2}, 1}, {{2, 37}, 1}, {{0, 4}, 1}};
  for (const Size& size : sizes) {
    const int64_t n = size.shape[static_cast<size_t>(size.dim)];
    for (DType dtype : {c64, c128})
      for (const OpDef* op : {&kFft, &kIfft})
        AddTransform(table, *op, dtype, size.shape, size.dim, n);
    for (DType dtype : {f32, f64}) AddTransform(table, kRfft, dtype, size.shape, size.dim, n);
    // Transforms of an even and of an odd number of elements read n / 2 + 1 of them.
    for (DType dtype : {c64, c128})
      for (int64_t made : {2 * n - 1, 2 * n - 2})
        if (made > 0) AddTransform(table, kIrfft, dtype, size.shape, size.dim, made);
  }
  for (const OpDef* op : {&kFft, &kIfft}) AddTransform(table, *op, c64, {4, 4}, 1, 4).truth = true;
  AddTransform(table, kRfft, f32, {4, 4}, 1, 4).truth = true;
  AddTransform(table, kIrfft, c64, {4, 3}, 1, 4).truth = true;
}

}  // namespace tessera::suite
