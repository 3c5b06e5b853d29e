// Several processes: collectives and the heat equation, each next to the same work in plain MPI.
//   mpirun -n 2 tessera_process_bench [quick]
// One device per process. Times are those of the slowest process.
#include <fmt/format.h>
#include <mpi.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

struct Pair {
  double ours = 0, plain = 0;  // us, medians
};

class Bench {
 public:
  explicit Bench(bool quick) : samples_(quick ? 5 : 41) {}

  // Times both in turn, `inner` calls in each sample.
  Pair Time(int inner, const std::function<void()>& ours,
            const std::function<void()>& plain) const {
    std::vector<double> a, b;
    for (int s = -2; s < samples_; ++s) {
      const double first = Sample(inner, ours), second = Sample(inner, plain);
      if (s < 0) continue;
      a.push_back(first);
      b.push_back(second);
    }
    return {Median(a), Median(b)};
  }

  static void Print(const std::string& what, int64_t bytes, const Pair& p) {
    if (process_index() != 0) return;
    fmt::print(
        "{:16} {:>10} B  tessera {:10.1f} us  mpi {:10.1f} us  ratio {:.2f}, difference "
        "{:.1f} us\n",
        what, bytes, p.ours, p.plain, p.ours / p.plain, p.ours - p.plain);
    std::fflush(stdout);
  }

 private:
  static double Sample(int inner, const std::function<void()>& f) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < inner; ++i) f();
    double taken = (MPI_Wtime() - begin) / inner * 1e6, slowest = 0;
    MPI_Allreduce(&taken, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
  }
  static double Median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  }

  const int samples_;
};

float* Buffer(int64_t n) {
  auto* p =
      static_cast<float*>(std::aligned_alloc(64, static_cast<size_t>((n * 4 + 63) / 64 * 64)));
  std::fill_n(p, n, 1.0f);
  return p;
}

void Collectives(const Bench& bench) {
  const int p = process_count(), rank = process_index();
  MeshScope scope(make_mesh({{"d", p}}));
  MPI_Comm w = MPI_COMM_WORLD;
  for (int64_t bytes : {int64_t{4} << 10, int64_t{256} << 10, int64_t{16} << 20}) {
    const int64_t n = bytes / 4;
    const int count = static_cast<int>(n), part = count / p;
    const int inner = bytes <= 4096 ? 200 : bytes <= (256 << 10) ? 20 : 2;
    float *x = Buffer(n), *y = Buffer(n), *g = Buffer(n * p);
    const Array v = reshard(ones({p * n}), P("d"));
    const auto run = [&](const char* op, const auto& f, PartitionSpec out,
                         const std::function<void()>& plain) {
      const auto g = jit(shard_map(f, {.out_specs = std::move(out)}));
      Bench::Print(op, bytes,
                   bench.Time(
                       inner, [&] { g(v); }, plain));
    };
    run(
        "call", [](Array a) { return a; }, P("d"), [&] { MPI_Barrier(w); });
    run(
        "all_reduce", [](Array a) { return psum(a, "d"); }, P(),
        [&] { MPI_Allreduce(x, y, count, MPI_FLOAT, MPI_SUM, w); });
    run(
        "all_gather",
        [](Array a) { return all_gather(a, "d", {.tiled = true, .to = Variance::kInvarying}); },
        P(), [&] { MPI_Allgather(x, count, MPI_FLOAT, g, count, MPI_FLOAT, w); });
    run(
        "reduce_scatter", [](Array a) { return psum_scatter(a, "d", {.tiled = true}); }, P("d"),
        [&] { MPI_Reduce_scatter_block(x, y, part, MPI_FLOAT, MPI_SUM, w); });
    run(
        "all_to_all", [](Array a) { return all_to_all(a, "d", 0, 0, {.tiled = true}); }, P("d"),
        [&] { MPI_Alltoall(x, part, MPI_FLOAT, y, part, MPI_FLOAT, w); });
    run(
        "ppermute", [](Array a) { return pshift(a, "d", 1); }, P("d"),
        [&] {
          MPI_Sendrecv(x, count, MPI_FLOAT, (rank + 1) % p, 0, y, count, MPI_FLOAT,
                       (rank + p - 1) % p, 0, w, MPI_STATUS_IGNORE);
        });
    std::free(x), std::free(y), std::free(g);
  }
}

// ---- the heat equation: a periodic five-point stencil, rows over the processes
// -------------------

Array After(Array u, Array above, Array below, Array left, Array right) {
  return u + 0.1f * (above + below + left + right - 4 * u);
}
Array StepByHand(Array u) {
  Array last = u[{Slice(-1, None)}], first = u[{Slice(0, 1)}];
  Array above = concatenate({pshift(last, "d", 1), u[{Slice(None, -1)}]});
  Array below = concatenate({u[{Slice(1, None)}], pshift(first, "d", -1)});
  return After(u, above, below, roll(u, 1, 1), roll(u, -1, 1));
}
Array StepByItself(Array u) {
  return After(u, roll(u, 1, 0), roll(u, -1, 0), roll(u, 1, 1), roll(u, -1, 1));
}
template <class Step>
auto Steps(Step step, int64_t steps) {
  return [step, steps](Array u) {
    return fori_loop(
        0, steps, [&](Array, Array v) { return step(v); }, u);
  };
}

// One step on rows 1 .. rows of `a`; rows 0 and rows + 1 are those of the neighbours.
void PlainStep(float* a, float* b, int rows, int n, int up, int down) {
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Sendrecv(a + n, n, MPI_FLOAT, up, 0, a + static_cast<int64_t>(rows + 1) * n, n, MPI_FLOAT,
               down, 0, w, MPI_STATUS_IGNORE);
  MPI_Sendrecv(a + static_cast<int64_t>(rows) * n, n, MPI_FLOAT, down, 1, a, n, MPI_FLOAT, up, 1, w,
               MPI_STATUS_IGNORE);
  for (int i = 1; i <= rows; ++i) {
    const float* mid = a + static_cast<int64_t>(i) * n;
    const float *above = mid - n, *below = mid + n;
    float* out = b + static_cast<int64_t>(i) * n;
    const auto at = [&](int j, int left, int right) {
      out[j] = mid[j] + 0.1f * (above[j] + below[j] + mid[left] + mid[right] - 4 * mid[j]);
    };
    at(0, n - 1, 1);
#pragma GCC ivdep
    for (int j = 1; j < n - 1; ++j) at(j, j - 1, j + 1);
    at(n - 1, n - 2, 0);
  }
}

void Heat(const Bench& bench, bool quick) {
  const int n = quick ? 256 : 2048, steps = quick ? 4 : 100;
  const int p = process_count(), rank = process_index(), rows = n / p;
  float *a = Buffer(static_cast<int64_t>(rows + 2) * n),
        *b = Buffer(static_cast<int64_t>(rows + 2) * n);
  const auto plain = [&] {
    for (int k = 0; k < steps; k += 2) {
      PlainStep(a, b, rows, n, (rank + p - 1) % p, (rank + 1) % p);
      PlainStep(b, a, rows, n, (rank + p - 1) % p, (rank + 1) % p);
    }
  };
  {
    MeshScope scope(make_mesh({{"d", p}}));
    const Array u = reshard(ones({n, n}), P("d", None));
    const auto f = jit(shard_map(Steps(StepByHand, steps), {.out_specs = P("d", None)}));
    Bench::Print("heat, shard_map", int64_t{4} * n * n,
                 bench.Time(
                     1, [&] { f(u); }, plain));
  }
  {
    MeshScope scope(make_mesh({{"d", p, Auto}}));
    const Array u = with_sharding_constraint(ones({n, n}), P("d", None));
    const auto f = jit(Steps(StepByItself, steps));
    Bench::Print("heat, Auto", int64_t{4} * n * n,
                 bench.Time(
                     1, [&] { f(u); }, plain));
  }
  std::free(a), std::free(b);
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera;
  Processes processes(&argc, &argv);
  if (process_count() == 1) {
    fmt::print(stderr, "run it as mpirun -n 2 {}\n", argv[0]);
    return 2;
  }
  const bool quick = argc > 1 && std::string(argv[1]) == "quick";
  SetDeviceCount(process_count());
  const bench::Bench bench(quick);
  bench::Collectives(bench);
  bench::Heat(bench, quick);
}
