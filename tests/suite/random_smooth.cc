// Smooth functions with random numbers in them.
#include "suite/random_program.h"

namespace tessera::suite {

SmoothStep RandomSmoothStep(Dice& dice, int rank) {
  const auto number = [&] { return dice.Below(200) / 100.0 - 1; };
  const double a = number(), b = number();
  switch (dice.Below(12)) {
    case 0:
      return {"sin", [=](Array x) { return sin(x * a) + b; }};
    case 1:
      return {"tanh", [=](Array x) { return tanh(x) * a - x; }};
    case 2:
      return {"product", [=](Array x) { return x * sin(x + a); }};
    case 3:
      return {"softmax", [=](Array x) { return softmax(x * a, -1) + x * b; }};
    case 4:
      return {"matmul", [=](Array x) {
                Array w =
                    sin(iota({6, 6}, 0, {.dtype = f64}) * 3 + iota({6, 6}, 1, {.dtype = f64}) + a);
                return matmul(x, w) * 0.3;
              }};
    case 5:
      return {"cumsum", [=](Array x) { return cumsum(x, -1) * 0.2; }};
    case 6:
      return {"pieces", [=](Array x) {
                return concatenate(
                    {x[{Ellipsis, Slice(2, None)}], x[{Ellipsis, Slice(None, 2)}] * a}, -1);
              }};
    case 7:
      return {"mean", [=](Array x) { return x - mean(x, -1, {.keepdims = true}) * a; }};
    case 8:
      return {"lookup", [=](Array x) { return take(x, array({5, 0, 3, 3, 1, 2}), rank - 1) * b; }};
    case 9:
      return {"where", [=](Array x) { return where(x > 10, x * a, sqrt(square(x) + 1)); }};
    case 10:
      return {"dynamic", [=](Array x) {
                // A row has a number of its own; a matrix has one that all devices know.
                Array i =
                    rank == 2 ? Array(1) : astype(floor(stop_gradient(sum(square(x)))), i32) % 3;
                std::vector<Array> starts(static_cast<size_t>(rank), Array(0));
                starts.back() = i;
                std::vector<int64_t> sizes = x.shape();
                sizes.back() = 3;
                Array part = dynamic_slice(x, {starts.begin(), starts.end()}, sizes);
                return concatenate({part, part * a}, -1);
              }};
    default:
      return {"logsumexp",
              [=](Array x) { return x * b + logsumexp(x, -1, {.keepdims = true}) * 0.1; }};
  }
}

}  // namespace tessera::suite
