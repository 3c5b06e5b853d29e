// W15: Fourier transforms, linear algebra, sorting, lookups and images, on one device and on eight.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>

#include "benchmarks/inputs.h"
#include "benchmarks/rows.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

Array Numbers(const std::vector<int64_t>& shape, const PartitionSpec& spec = P("d")) {
  return reshard(complex(Random(shape, 1), Random(shape, 2)), spec);
}

void Transforms(Rows& rows) {
  const auto forward = [](Array v) { return fft::fft(v); };
  const auto flops = [](double transforms, double n) {
    return Json{{"flops", 5 * transforms * n * std::log2(n)}};
  };
  if (rows.is_alone()) {
    for (int64_t n : {int64_t{1} << 10, int64_t{1} << 14, int64_t{1} << 18, int64_t{1} << 22}) {
      if (rows.quick() && n > 1024) continue;
      const auto size = static_cast<double>(n);
      rows.Add(fmt::format("fft_{}", n), forward, Numbers({n}, P()), flops(1, size));
      rows.Add(
          fmt::format("rfft_{}", n), [](Array v) { return fft::rfft(v); }, Random({n}, 1));
    }
    rows.Add("fft_prime", forward, Numbers({rows.Size(1000003, 1009)}, P()));
  }
  const int64_t n = rows.Size(1024, 16);
  rows.Add("fft_rows", forward, Numbers({4 * n, n}),
           flops(static_cast<double>(4 * n), static_cast<double>(n)));
  const int64_t side = rows.Size(64, 8);
  rows.Add(
      "fft_batched_3d",
      [](Array v) {
        return fft::fftn(v, {.dims = {{1, 2, 3}}});
      },
      Numbers({8, side, side, side}));
  const int64_t large = rows.Size(256, 16);
  const PartitionSpec columns = P(None, "d");
  rows.Add(
      "fft_pencils", [=](Array v) { return fft::fftn(v, {.out_sharding = columns}); },
      Numbers({large, large, large}));
}

// Returns a symmetric matrix that is positive definite.
Array Definite(int64_t n, DType dtype) {
  const Array a = astype(Random({n, n}, 3), dtype);
  return a + a.T() + 2.0 * static_cast<double>(n) * eye(n, {.dtype = dtype});
}

void Matrices(Rows& rows) {
  const int64_t n = rows.Size(4096, 64);
  const auto size = static_cast<double>(n);
  rows.Add("cholesky",
           [](Array a) {
             return linalg::cholesky(a, {.symmetrize_input = false, .out_sharding = P("d")});
           },
           reshard(Definite(n, f64), P("d")), {{"flops", size * size * size / 3}});
  const int64_t small = rows.Size(1024, 32);
  if (rows.is_alone()) {
    rows.Add(
        "eigh", [](Array a) { return linalg::eigh(a, {.symmetrize_input = false}).eigenvectors; },
        Definite(small, f64));
    rows.Add(
        "svd", [](Array a) { return linalg::svd(a).u; }, astype(Random({small, small}, 4), f64));
  }
  const int64_t batch = rows.Size(4096, 16);
  rows.Add(
      "batched_solve", [](Array a) { return linalg::solve(a, a); },
      reshard(Random({batch, 16, 16}, 5) + 8.0 * eye(16), P("d")));
}

void Sorting(Rows& rows) {
  const int64_t n = rows.Size(1 << 24, 1 << 10);
  rows.Add(
      "sort",
      [](Array v) {
        return auto_axes([](Array a) { return sort(a); }, {.out_sharding = P("d")})(v);
      },
      reshard(Random({n}, 6), P("d")));
}

void RunningSums(Rows& rows) {
  const int64_t n = rows.Size(4096, 32);
  const auto area = static_cast<double>(n * n);
  const Json cost = {{"bytes", 8 * area}, {"ws", 8 * area}, {"kind", "copy"}};
  const Array x = Random({n, n}, 7);
  rows.Add(
      "cumsum_rows", [](Array a) { return cumsum(a, 1); }, reshard(x, P("d")), cost);
  rows.Add(
      "cumsum_columns", [](Array a) { return cumsum(a, 0); }, reshard(x, P(None, "d")), cost);
}

}  // namespace

void Numerics(Recorder& recorder, int devices, const std::string& part) {
  SetDeviceCount(devices);
  MeshScope scope(make_mesh({{"d", devices}}));
  Rows rows(recorder, devices, part);
  Transforms(rows);
  Matrices(rows);
  Sorting(rows);
  RunningSums(rows);
  ImageRows(rows);
  LookupRows(rows);
  EncoderRows(rows);
}

}  // namespace tessera::bench
