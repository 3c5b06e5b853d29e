// W1 and W2: products, elementwise chains, rows, reductions and transposes.
#include <tessera/tessera.h>

#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

void EmitMatmul(Recorder& recorder, int64_t n, const char* mesh, const char* variant,
                absl::FunctionRef<Array()> product) {
  const double size = static_cast<double>(n);
  recorder.Emit(
      "W1.matmul", kOurs,
      {{"n", n}, {"mesh", mesh}, {"variant", variant}, {"devices", DeviceCount()}}, "us",
      Sample(recorder.quick(), product),
      {{"flops", 2 * size * size * size}, {"bytes", 12 * size * size}, {"ws", 12 * n * n}});
}

// Products followed by the elementwise ops of a layer.
void MatmulWithMore(Recorder& recorder, const char* mesh, const Array& x, const Array& y,
                    const Array& bias, const Array& kept) {
  const auto layer = jit(
      [](Array x, Array y, Array bias, Array kept) { return kept + gelu(matmul(x, y) + bias); });
  EmitMatmul(recorder, type_of(x).shape()[0], mesh, "epilogue",
             [&] { return layer(x, y, bias, kept); });
}

void MatmulOf(Recorder& recorder, int devices, int64_t n) {
  const Array a = Random({n, n}, 1), b = Random({n, n}, 2);
  const auto product = jit([](Array x, Array y) { return matmul(x, y); });
  if (devices == 1) {
    MeshScope scope(make_mesh({{"d", 1}}));
    const Array x = reshard(a, P("d", None)), y = reshard(b, P(None, None));
    EmitMatmul(recorder, n, "1", "single", [&] { return product(x, y); });
    return MatmulWithMore(recorder, "1", x, y, Random({n}, 3), x);
  }
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  {
    const Array x = reshard(a, P("x", None)), y = reshard(b, P(None, "y"));
    EmitMatmul(recorder, n, "2x4", "rows_cols", [&] { return product(x, y); });
    MatmulWithMore(recorder, "2x4", x, y, reshard(Random({n}, 3), P("y")), reshard(a, P("x", "y")));
  }
  const Array x = reshard(a, P("x", "y")), y = reshard(b, P("y", None));
  const auto all =
      jit([](Array p, Array q) { return matmul(p, q, {.out_sharding = P("x", None)}); });
  const auto scattered =
      jit([](Array p, Array q) { return matmul(p, q, {.out_sharding = P("x", "y")}); });
  EmitMatmul(recorder, n, "2x4", "contract_all_reduce", [&] { return all(x, y); });
  EmitMatmul(recorder, n, "2x4", "contract_reduce_scatter", [&] { return scattered(x, y); });
}

Array Cheap8(Array x, Array b) {
  Array t = x * b;
  t = t + 0.25;
  t = maximum(t, b);
  t = t - x;
  t = t * 0.9;
  t = minimum(t, 4.0);
  t = t + b;
  return t * 0.5;
}

Array Math8(Array x, Array b) {
  Array t = x + b;
  t = t * 0.5;
  t = tanh(t);
  t = t * 0.25;
  t = t + 0.9;
  t = exp(t);
  t = t * 0.7;
  return t + b;
}

void Chain(Recorder& recorder, int devices, double mib) {
  const auto n = static_cast<int64_t>(mib * (1 << 20)) / 4 * devices;
  const Array x = reshard(Random({n}, 1), P("d")), b = reshard(Random({n}, 2), P("d"));
  auto run = [&](const char* ops, const auto& f, double flops) {
    recorder.Emit("W2.chain", kOurs, {{"ops", ops}, {"MiB_per_device", mib}, {"devices", devices}},
                  "us", Sample(recorder.quick(), [&] { f(x, b); }),
                  {{"bytes", 12.0 * static_cast<double>(n)},
                   {"ws", 12 * n},
                   {"elements", n},
                   {"kind", "triad"},
                   {"flops", flops * static_cast<double>(n)}});
  };
  run("cheap8", jit(Cheap8), 8);
  run("math8", jit(Math8), 40);
}

void Rows(Recorder& recorder, int devices, int64_t rows, int64_t cols) {
  const Array x = reshard(Random({rows, cols}, 3), P("d", None));
  const Array gain = Random({cols}, 4), bias = Random({cols}, 5);
  const Json params = {{"shape", {rows, cols}}, {"devices", devices}};
  const Json cost = {{"bytes", 8.0 * static_cast<double>(rows * cols)},
                     {"ws", 8 * rows * cols},
                     {"elements", rows * cols}};
  const auto soft = jit([](Array v) { return softmax(v, -1); });
  recorder.Emit("W2.softmax_rows", kOurs, params, "us", Sample(recorder.quick(), [&] { soft(x); }),
                cost);
  const auto norm = jit([](Array v, Array g, Array b) { return layer_norm(v, g, b); });
  recorder.Emit("W2.layer_norm", kOurs, params, "us",
                Sample(recorder.quick(), [&] { norm(x, gain, bias); }), cost);
}

void Square(Recorder& recorder, int devices) {
  const int64_t n = recorder.quick() ? 128 : 4096;
  const double area = static_cast<double>(n * n);
  const Array x = reshard(Random({n, n}, 6), P("d", None));
  Json params = {{"shape", {n, n}}, {"devices", devices}};
  auto run = [&](const char* workload, const Json& p, const auto& f, const Json& cost) {
    recorder.Emit(workload, kOurs, p, "us", Sample(recorder.quick(), [&] { f(x); }), cost);
  };
  const Json reads = {{"bytes", 4 * area}, {"ws", 4 * n * n}, {"kind", "read"}};
  run("W2.sum_all", params, jit([](Array v) { return sum(v); }), reads);
  run("W2.sum_rows", params, jit([](Array v) { return sum(v, 1); }), reads);
  run("W2.sum_cols", params, jit([](Array v) { return sum(v, 0); }), reads);
  const Json copies = {{"bytes", 8 * area}, {"ws", 8 * n * n}};
  params["variant"] = "local";
  run("W2.transpose", params, jit([](Array v) { return v.T(); }), copies);
  params["variant"] = "rows_to_rows";
  if (devices == 1) return;
  run("W2.transpose", params, jit([](Array v) { return reshard(v.T(), P("d", None)); }), copies);
  params.erase("variant");
  run("W2.move_as_bf16", params,
      jit([](Array v) { return reshard(astype(v, bf16), P(None, "d")); }),
      {{"bytes", 6 * area}, {"ws", 6 * n * n}});
}

// A running sum along the sharded dim: of one row, and of columns.
void RunningSums(Recorder& recorder, int devices) {
  const int64_t n = recorder.quick() ? 1 << 12 : 1 << 24;
  const auto f = jit([](Array v) { return cumsum(v, 0, {.out_sharding = P("d")}); });
  for (int64_t columns : {int64_t{1}, int64_t{64}}) {
    const Array x = reshard(Random({n / columns, columns}, 7), P("d"));
    recorder.Emit("W2.cumsum", kOurs, {{"columns", columns}, {"devices", devices}}, "us",
                  Sample(recorder.quick(), [&] { f(x); }),
                  {{"bytes", 8.0 * static_cast<double>(n)}, {"ws", 8 * n}});
  }
}

}  // namespace

std::vector<int64_t> MatmulSizes(bool quick) {
  return quick ? std::vector<int64_t>{64} : std::vector<int64_t>{512, 2048};
}

void Matmul(Recorder& recorder, int devices) {
  SetDeviceCount(devices);
  for (int64_t n : MatmulSizes(recorder.quick())) MatmulOf(recorder, devices, n);
}

void Elementwise(Recorder& recorder, int devices) {
  SetDeviceCount(devices);
  MeshScope scope(make_mesh({{"d", devices}}));
  // One device also runs the total sizes of eight devices.
  std::vector<double> sizes =
      devices == 1 ? std::vector<double>{8, 64, 512} : std::vector<double>{1, 64};
  if (recorder.quick()) sizes = {0.0625};
  for (double mib : sizes) Chain(recorder, devices, mib);
  if (recorder.quick()) {
    Rows(recorder, devices, 64, 128);
  } else {
    Rows(recorder, devices, 4096, 1024);
    Rows(recorder, devices, 65536, 64);
  }
  Square(recorder, devices);
  RunningSums(recorder, devices);
}

}  // namespace tessera::bench
