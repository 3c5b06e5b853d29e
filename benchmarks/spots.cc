// spots: slow places that users found. Each is compared with JAX's time for the same work,
// measured in turn with ours (jax/spots.py), or with the time of a form that is known to be fast.
// One device.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <utility>

#include "benchmarks/beside_jax.h"
#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

class Spots {
 public:
  // Measures only the rows whose name contains `part`.
  Spots(Recorder& recorder, std::string part) : recorder_(recorder), part_(std::move(part)) {}

  // Measures our time for a call of f, then JAX's time for the row of that name. Both are divided
  // by `iterations`.
  template <class F, class... A>
  void BesideJax(const std::string& what, int64_t iterations, const F& f, const A&... arguments) {
    if (!IsWanted(what)) return;
    Measure(what, iterations, f, arguments...);
    RunJax(recorder_, "spots.py", what);
  }
  template <class F, class... A>
  void Measure(const std::string& what, int64_t iterations, const F& f, const A&... arguments) {
    if (!IsWanted(what)) return;
    const auto run = jit([&f](A... a) { return f(a...); });
    Emit(what, Sample(recorder_.quick(), [&] { run(arguments...); }), iterations);
  }
  void Emit(const std::string& what, std::vector<double> samples, int64_t iterations = 1) {
    for (double& us : samples) us /= static_cast<double>(iterations);
    recorder_.Emit("spots", kOurs, {{"what", what}}, "us", samples);
  }
  bool IsWanted(const std::string& what) const { return what.find(part_) != std::string::npos; }
  bool quick() const { return recorder_.quick(); }

 private:
  Recorder& recorder_;
  std::string part_;
};

Array WholeNumbers(std::vector<int64_t> shape) {
  return astype(Random(std::move(shape), 1) * 2000.0 - 1000.0, i32);
}

Array ExactGelu(Array x) { return gelu(x, {.approximate = false}); }

// ---- rows of few elements -----------------------------------------------------------------------

void ShortRows(Spots& spots) {
  const int64_t elements = int64_t{1} << (spots.quick() ? 14 : 22);
  for (const int64_t n : {3, 16}) {
    const Array x = Random({elements / n, n}, 1);
    const auto name = [&](const char* what) { return fmt::format("{}_rows_of_{}", what, n); };
    spots.BesideJax(
        name("sum_of_squares"), 1, [](Array a) { return sum(a * a, -1); }, x);
    spots.BesideJax(
        name("softmax"), 1, [](Array a) { return softmax(a, -1); }, x);
    spots.BesideJax(
        name("argmin"), 1, [](Array a) { return argmin(a, -1); }, x);
  }
}

// The force of all bodies on each: for positions [n, 3] by vmap, and for [3, n] in one expression.
void Bodies(Spots& spots) {
  const int64_t n = spots.quick() ? 48 : 480;
  const Array x = Random({n, 3}, 1);
  spots.Measure(
      "bodies_rows_of_3", 1,
      [](Array all) {
        return vmap(
            [](Array one, Array others) {
              const Array d = others - one;
              const Array r2 = sum(d * d, -1, {.keepdims = true}) + 1e-3;
              return sum(d * (rsqrt(r2) / r2), 0);
            },
            {.in_dims = {0, None}})(all, all);
      },
      x);
  spots.Measure(
      "bodies_columns", 1,
      [](Array all) {
        const Array d = expand_dims(all, 1) - expand_dims(all, 2);
        const Array r2 = sum(d * d, 0, {.keepdims = true}) + 1e-3;
        return sum(d * (rsqrt(r2) / r2), -1);
      },
      x.T());
}

// ---- functions of elements ----------------------------------------------------------------------

void Elements(Spots& spots) {
  const int64_t elements = int64_t{1} << (spots.quick() ? 14 : 22);
  const Array x = Random({elements}, 1), ints = WholeNumbers({elements});
  spots.BesideJax(
      "erf", 1, [](Array a) { return erf(a); }, x);
  spots.BesideJax("gelu_by_erf", 1, ExactGelu, x);
  spots.BesideJax(
      "remainder_i32_by_7", 1, [](Array a) { return a % 7; }, ints);
  spots.BesideJax(
      "quotient_i32_by_7", 1, [](Array a) { return floor_divide(a, 7); }, ints);
  spots.BesideJax(
      "lgamma", 1, [](Array a) { return lgamma(a); }, x);
  spots.BesideJax(
      "where_20", 1,
      [](Array a) {
        for (int i = 0; i < 20; ++i) a = where(a > 0.05 * i, a * 0.9, a + 0.1);
        return a;
      },
      x);
  const int64_t side = spots.quick() ? 64 : 4096;
  const Array square = Random({side, side}, 1);
  spots.BesideJax(
      "sum_all", 1, [](Array a) { return sum(a); }, square);
  spots.BesideJax(
      "sum_columns", 1, [](Array a) { return sum(a, 0); }, square);
}

// The same work in f32, f16 and bf16: a narrow float should take about as long as f32.
void NarrowFloats(Spots& spots) {
  const int64_t rows = spots.quick() ? 16 : 4096, columns = 1024;
  const Array gain = Random({columns}, 2), bias = Random({columns}, 3);
  const std::pair<const char*, DType> dtypes[] = {{"f32", f32}, {"f16", f16}, {"bf16", bf16}};
  for (const auto& [suffix, dtype] : dtypes) {
    const Array x = astype(Random({rows, columns}, 1), dtype);
    const Array g = astype(gain, dtype), b = astype(bias, dtype);
    const auto name = [end = suffix](const char* what) { return fmt::format("{}_{}", what, end); };
    spots.Measure(
        name("gelu"), 1, [](Array a) { return gelu(a); }, x);
    spots.Measure(
        name("softmax"), 1, [](Array a) { return softmax(a, -1); }, x);
    spots.Measure(
        name("layer_norm"), 1, [](Array a, Array s, Array t) { return layer_norm(a, s, t); }, x, g,
        b);
  }
}

// ---- products -----------------------------------------------------------------------------------

void Products(Spots& spots) {
  const int64_t n = spots.quick() ? 64 : 1024, images = spots.quick() ? 4 : 256;
  const Array a = WholeNumbers({n, n});
  spots.BesideJax(
      "matmul_i32", 1, [](Array x, Array y) { return matmul(x, y); }, a, a);
  spots.BesideJax(
      "im2col_3x3", 1,
      [](Array x, Array w) {
        const Array p = pad(x, {{0, 0}, {1, 1}, {1, 1}, {0, 0}});
        std::vector<Array> taps;
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            taps.push_back(p[{All, Slice(i, i + 28), Slice(j, j + 28), All}]);
        return matmul(concatenate(taps, -1), w.reshape({144, 16}));
      },
      Random({images, 28, 28, 16}, 1), Random({3, 3, 16, 16}, 2));
}

// ---- overhead of small work ---------------------------------------------------------------------

void Loops(Spots& spots) {
  const int64_t steps = spots.quick() ? 100 : 10000;
  const auto loop = [steps](const auto& body) {
    return [steps, body](Array x) { return fori_loop(0, steps, body, x); };
  };
  spots.BesideJax("loop_small_op", steps, loop([](Array, Array x) { return x * 0.999; }),
                  Random({8}, 1));
  spots.BesideJax("loop_set", steps, loop([](Array i, Array x) { return x.at({i}).set(0.5); }),
                  Random({steps}, 1));
  const auto slope = [](const Array& v) { return sin(v) * 0.5 - v * 0.1; };
  spots.BesideJax("loop_rk4", steps, loop([slope](Array, Array y) {
                    const Array k1 = slope(y), k2 = slope(y + 0.005 * k1),
                                k3 = slope(y + 0.005 * k2), k4 = slope(y + 0.01 * k3);
                    return y + (k1 + 2 * k2 + 2 * k3 + k4) * (0.01 / 6);
                  }),
                  Random({8}, 1));
}

void EagerGradients(Spots& spots) {
  const Array scale = Random({16}, 1), x = Random({16}, 2);
  if (!spots.IsWanted("eager_grad_captures")) return;
  spots.Emit("eager_grad",
             Sample(spots.quick(), [&] { grad([](Array v) { return sum(v * v); })(x); }));
  spots.Emit("eager_grad_captures",
             Sample(spots.quick(), [&] { grad([&](Array v) { return sum(v * v * scale); })(x); }));
}

// The time of creating many different abstract meshes, per mesh.
void Meshes(Spots& spots) {
  if (!spots.IsWanted("abstract_meshes")) return;
  static int64_t used = 0;
  const auto time_of = [](int64_t count) {
    const double start = Now();
    for (int64_t i = 0; i < count; ++i, ++used)
      abstract_mesh({{"x" + std::to_string(used), 8}, {"y", 4}});
    return (Now() - start) * 1e6 / static_cast<double>(count);
  };
  const int64_t few = spots.quick() ? 100 : 2000;
  spots.Emit("first_abstract_meshes", {time_of(few)});
  time_of(8 * few);
  spots.Emit("last_abstract_meshes", {time_of(few)});
}

}  // namespace

void SlowSpots(Recorder& recorder, const std::string& part) {
  SetDeviceCount(1);
  const MeshScope scope(make_mesh({{"d", 1}}));
  Spots spots(recorder, part);
  ShortRows(spots);
  Bodies(spots);
  Elements(spots);
  NarrowFloats(spots);
  Products(spots);
  Loops(spots);
  EagerGradients(spots);
  Meshes(spots);
}

}  // namespace tessera::bench
