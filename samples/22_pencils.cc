// Lesson 22: Poisson's equation by Fourier transforms of a grid whose dims are sharded. A transform
// needs its dim whole, so axes move between dims: from pencil to pencil.
#include <tessera/tessera.h>

#include <iostream>
#include <numbers>

#include "compare.h"

using namespace tessera;

constexpr int64_t kSize = 32;

// Returns sin(2 pi n x) along a dim of the grid, with sizes 1 along the others.
Array wave(int dim, int n) {
  Array x = 2 * std::numbers::pi * n * arange(kSize, {.dtype = f64}) / kSize;
  std::vector<int64_t> shape(3, 1);
  shape[static_cast<size_t>(dim)] = kSize;
  return sin(x).reshape(Shape(shape));
}

// Returns the squares of the frequencies along a dim, likewise.
Array squares(int dim) {
  std::vector<int64_t> shape(3, 1);
  shape[static_cast<size_t>(dim)] = kSize;
  Array k = 2 * std::numbers::pi * fft::fftfreq(kSize, {.d = 1.0 / kSize, .dtype = f64});
  return square(k).reshape(Shape(shape));
}

// Returns the periodic u with mean 0 whose Laplacian is f. The transform is laid out by `between`.
Array solve(Array f, PartitionSpec layout, PartitionSpec between) {
  Array spectrum = fft::fftn(f, {.out_sharding = between});
  Array k2 = squares(0) + squares(1) + squares(2);
  Array u = where(k2 == 0, 0.0, -spectrum / where(k2 == 0, 1.0, k2));
  return real(fft::ifftn(u, {.out_sharding = layout}));
}

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
  Array u = wave(0, 1) * wave(1, 2) * wave(2, 3);
  Array f = -4 * std::numbers::pi * std::numbers::pi * (1 + 4 + 9) * u;

  // 1. A transform of a sharded dim needs an out_sharding: you choose the layout of the spectrum.
  Array cut = reshard(f, P("x", "y", None));
  try {
    fft::fftn(cut);
  } catch (const ShardingError& e) {
    std::cout << e.what() << "\n\n";
  }

  // 2. Pencils: each dim is transformed on the devices that hold it whole. If the spectrum may stay
  //    where the last transform left it, two moves are enough for each direction.
  auto pencils = jit([](Array f) { return solve(f, P("x", "y", None), P(None, "x", "y")); });
  std::cout << "pencils, there and back\n" << pencils.lower(cut).comm();
  compare("pencils", pencils(cut), u, 1e-12);

  // 3. Back to the same layout for the spectrum costs more.
  auto same = jit([](Array f) { return solve(f, P("x", "y", None), P("x", "y", None)); });
  std::cout << "the same layout for the spectrum\n" << same.lower(cut).comm();
  compare("same layout", same(cut), u, 1e-12);

  // 4. Slabs: one dim is cut over all devices. One move each way.
  Array slab = reshard(f, P({"x", "y"}, None, None));
  auto slabs = jit([](Array f) {
    return solve(f, P({"x", "y"}, None, None), P(None, {"x", "y"}, None));
  });
  std::cout << "slabs\n" << slabs.lower(slab).comm();
  compare("slabs", slabs(slab), u, 1e-12);
}
