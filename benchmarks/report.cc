// Prints the figures next to those of their peers, and whether each of the floors holds.
#include "benchmarks/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

// Formats a parameter so that 8.0 and 8 are the same, whichever program printed it.
std::string Plain(const Json& v) {
  if (v.is_number_float() && v.get<double>() == std::floor(v.get<double>()))
    return std::to_string(v.get<int64_t>());
  return v.is_string() ? v.get<std::string>() : v.dump();
}

// Returns the params that distinguish tasks of one workload. Leaves out params that describe how a
// peer does the task.
std::string TaskOf(const Figure& f) {
  const bool how_variant = f.workload.starts_with("W2.") && f.workload != "W2.transpose";
  std::map<std::string, std::string> sorted;
  for (const auto& [name, value] : f.params.items())
    if (!(f.workload == "W1.matmul" && name == "mesh") && !(how_variant && name == "variant"))
      sorted[name] = Plain(value);
  std::string text = f.workload;
  for (const auto& [name, value] : sorted) text += fmt::format(" {}={}", name, value);
  return text;
}

class Figures {
 public:
  explicit Figures(const std::vector<Figure>& all) : all_(all) {
    for (const Figure& f : all) {
      if (f.workload == "LIMIT.fma_f32") peak_ = std::max(peak_, f.median);
      if (f.workload != "LIMIT.bandwidth") continue;
      std::string kernel = f.params["kernel"];
      if (kernel.ends_with("_nt")) kernel.resize(kernel.size() - 3);
      double& best = bandwidth_[kernel][f.params["ws"].get<double>()];
      best = std::max(best, f.median);
    }
  }

  // Returns the fastest figure of a peer for a task, in the task's unit. Peers report a collective
  // in only one form, without "manual".
  std::optional<double> Of(const std::string& peer, const std::string& task) const {
    constexpr std::string_view kManual = "W3.manual";
    const std::string theirs = peer != kOurs && task.starts_with(kManual)
                                   ? "W3.collective" + task.substr(kManual.size())
                                   : task;
    std::optional<double> best;
    for (const Figure& f : all_)
      if (f.peer == peer && TaskOf(f) == theirs) best = std::min(best.value_or(f.median), f.median);
    return best;
  }
  std::optional<double> Ours(const std::string& task) const { return Of(kOurs, task); }

  // Returns the least time in us for the figure's flops and bytes on all cores.
  std::optional<double> Limit(const Figure& f) const {
    if (peak_ == 0 || !(f.extra.contains("flops") || f.extra.contains("bytes"))) return {};
    double us = f.extra.value("flops", 0.0) / peak_ / 1e3;
    if (!f.extra.contains("bytes")) return us;
    const auto table = bandwidth_.find(f.extra.value("kind", "copy"));
    if (table == bandwidth_.end()) return us;
    const double ws = f.extra["ws"].get<double>();
    auto distance = [&](const auto& level) { return std::fabs(std::log(level.first / ws)); };
    const auto level =
        std::min_element(table->second.begin(), table->second.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    return std::max(us, f.extra["bytes"].get<double>() / level->second / 1e3);
  }
  std::optional<double> LimitShare(const std::string& task) const {
    for (const Figure& f : all_) {
      if (f.peer != kOurs || TaskOf(f) != task) continue;
      const std::optional<double> limit = Limit(f);
      return limit ? std::optional(*limit / f.median) : std::nullopt;
    }
    return {};
  }
  const std::vector<Figure>& all() const { return all_; }

 private:
  const std::vector<Figure>& all_;
  double peak_ = 0;
  std::map<std::string, std::map<double, double>> bandwidth_;  // kernel -> ws -> GB/s
};

// Returns the task that does the same work on one device, for a figure with 8 devices; an empty
// string if there is none.
std::string OnOneDevice(const Figure& f) {
  bool compared = false;
  for (const char* workload : {"W1.", "W2.", "W4.", "W10.", "W12."})
    compared = compared || f.workload.starts_with(workload);
  if (!compared || Plain(f.params.value("devices", Json(0))) != "8") return "";
  Figure one = f;
  one.params["devices"] = 1;
  if (f.workload == "W1.matmul") one.params["variant"] = "single";
  if (f.workload == "W4.gpt_step") one.params["mesh"] = "1x1";
  if (f.workload == "W2.transpose") one.params["variant"] = "local";
  if (f.workload == "W2.chain")
    one.params["MiB_per_device"] = f.params["MiB_per_device"].get<double>() * 8;
  return TaskOf(one);
}

std::string Number(std::optional<double> v) {
  if (!v) return "-";
  if (*v >= 100) return fmt::format("{:.0f}", *v);
  return fmt::format("{:.3g}", *v);
}

std::set<std::string> Peers(const Figures& figures) {
  std::set<std::string> peers;
  for (const Figure& f : figures.all())
    if (f.peer != kOurs && f.peer != "limit" && f.peer != "threads") peers.insert(f.peer);
  return peers;
}

void PrintFigures(const Figures& figures) {
  const std::set<std::string> peers = Peers(figures);
  std::string head = fmt::format("{:<70} {:>9} {:>4} {:>8} {:>8} {:>8} {:>6}", "task", "median",
                                 "unit", "of limit", "/threads", "/1 dev", "others");
  for (const std::string& peer : peers) head += fmt::format(" {:>8}x", peer);
  fmt::print(stderr, "\n{}\n", head);
  for (const Figure& f : figures.all()) {
    if (f.peer != kOurs) continue;
    const std::string task = TaskOf(f), single = OnOneDevice(f);
    auto over = [&](std::optional<double> base) {
      return Number(base ? std::optional(f.median / *base) : std::nullopt);
    };
    std::string line = fmt::format(
        "{:<70} {:>9} {:>4} {:>8} {:>8} {:>8} {:>6}", task, Number(f.median), f.unit,
        Number(figures.LimitShare(task)), over(figures.Of("threads", task)),
        over(single.empty() ? std::nullopt : figures.Ours(single)), Plain(f.extra["other_cores"]));
    for (const std::string& peer : peers) {
      const std::optional<double> theirs = figures.Of(peer, task);
      line +=
          fmt::format(" {:>9}", Number(theirs ? std::optional(*theirs / f.median) : std::nullopt));
    }
    fmt::print(stderr, "{}\n", line);
  }
}

class Floors {
 public:
  explicit Floors(const Figures& figures) : figures_(figures) {}

  void AtLeast(const std::string& what, std::optional<double> got, double floor) {
    Row(what, got, floor, ">=", got && *got >= floor);
  }
  void AtMost(const std::string& what, std::optional<double> got, double floor) {
    Row(what, got, floor, "<=", got && *got <= floor);
  }
  // Requires our time to be `times` as fast as JAX's. If there are no JAX figures, requires the
  // share of the limit that corresponds to it.
  void AgainstJax(const std::string& task, double times, double share_of_jax) {
    const std::optional<double> jax = figures_.Of("jax", task), ours = figures_.Ours(task);
    if (jax && ours) return AtLeast(task + ": faster than JAX", *jax / *ours, times);
    AtLeast(task + ": of the limit", figures_.LimitShare(task), times * share_of_jax);
  }

 private:
  void Row(const std::string& what, std::optional<double> got, double floor, const char* sign,
           bool met) {
    if (!got) return;
    fmt::print(stderr, "{:<92} {:>8} {} {:<6} {}\n", what, Number(got), sign, Number(floor),
               met ? "met" : "NOT met");
  }
  const Figures& figures_;
};

void AgainstLibraries(const Figures& figures, Floors& floors) {
  for (const MatmulVariant& v : kMatmulVariants)
    for (int64_t n : MatmulSizes(/*quick=*/false)) {
      const std::string task =
          fmt::format("W1.matmul devices={} n={} variant={}", v.devices, n, v.name);
      const std::optional<double> ours = figures.Ours(task), dnnl = figures.Of("onednn", task),
                                  blas = figures.Of("openblas", task);
      if (!ours || !dnnl) continue;
      floors.AtLeast(task + ": of the better library",
                     std::min(*dnnl, blas.value_or(*dnnl)) / *ours, 0.97);
    }
}

void ProductFloors(const Figures& figures, Floors& floors) {
  struct {
    const char* variant;
    double jax_512, jax_2048;  // JAX's shares of the limit, used if its figures are missing
  } const variants[] = {{"rows_cols", 0.47, 0.75},
                        {"contract_all_reduce", 0.36, 0.64},
                        {"contract_reduce_scatter", 0.35, 0.69}};
  for (const auto& v : variants) {
    floors.AgainstJax(fmt::format("W1.matmul devices=8 n=512 variant={}", v.variant), 1.2,
                      v.jax_512);
    floors.AgainstJax(fmt::format("W1.matmul devices=8 n=2048 variant={}", v.variant), 1.0,
                      v.jax_2048);
  }
  AgainstLibraries(figures, floors);
  for (const char* ops : {"cheap8", "math8"}) {
    const std::string task = fmt::format("W2.chain MiB_per_device=64 devices=8 ops={}", ops);
    floors.AtLeast(task + ": of the limit", figures.LimitShare(task), 0.6);
  }
  for (const Figure& f : figures.all()) {
    if (f.peer != kOurs || !f.workload.starts_with("W2.") || f.workload == "W2.chain") continue;
    if (Plain(f.params["devices"]) != "8") continue;
    floors.AtLeast(TaskOf(f) + ": of the limit", figures.LimitShare(TaskOf(f)),
                   f.workload == "W2.transpose" ? 0.25 : 0.5);
  }
  for (const Figure& f : figures.all()) {
    const std::string single = f.peer == kOurs ? OnOneDevice(f) : "";
    if (single.empty()) continue;
    const std::optional<double> one = figures.Ours(single);
    floors.AtMost(TaskOf(f) + ": of 1 device's time",
                  one ? std::optional(f.median / *one) : std::nullopt,
                  f.workload == "W4.gpt_step" ? 1.1 : 1.25);
  }
}

void TrainingFloors(const Figures& figures, Floors& floors) {
  const std::map<std::string, double> times_of_limit = {
      {"W4.gpt_step", 1.9}, {"W10.mlp_grad", 1.3}, {"W12.fsdp_grad", 1.25}};
  for (const Figure& f : figures.all()) {
    const auto goal = times_of_limit.find(f.workload);
    if (f.peer != kOurs || goal == times_of_limit.end() || Plain(f.params["devices"]) != "8")
      continue;
    const std::optional<double> limit = figures.Limit(f);
    floors.AtMost(TaskOf(f) + ": of the limit's time",
                  limit ? std::optional(f.median / *limit) : std::nullopt, goal->second);
  }
}

// At 4 KiB: a call plus twice the work of two threads. Above: 1.3 times the threads. ppermute only
// renames buffers.
void ManualFloors(const Figures& figures, Floors& floors) {
  for (const Figure& f : figures.all()) {
    if (f.peer != kOurs || f.workload != "W3.manual") continue;
    const std::string task = TaskOf(f);
    Figure nothing = f;
    nothing.params["op"] = "call";
    const std::optional<double> call = figures.Ours(TaskOf(nothing));
    const std::optional<double> threads = figures.Of("threads", task);
    if (f.params["op"].get<std::string>().starts_with("ppermute") && call)
      floors.AtMost(task + ": of a call", f.median / *call, 1.5);
    if (!threads || !call) continue;
    if (f.params["bytes_per_device"] == 4096)
      floors.AtMost(task + ": us", f.median, 2 * *threads + *call);
    else
      floors.AtMost(task + ": of threads", f.median / *threads, 1.3);
  }
  for (const Figure& f : figures.all()) {
    if (f.peer != kOurs || f.workload != "W9.heat" || f.params["variant"] != "shard_map_1d")
      continue;
    Figure automatic = f;
    automatic.params["variant"] = "auto_roll_1d";
    const std::optional<double> us = figures.Ours(TaskOf(automatic));
    floors.AtMost(TaskOf(f) + ": of the Auto version's time",
                  us ? std::optional(f.median / *us) : std::nullopt, 1.05);
  }
}

void ProgramFloors(const Figures& figures, Floors& floors) {
  for (const Figure& f : figures.all()) {
    if (f.peer != kOurs || f.workload != "W3.collective") continue;
    const std::string task = TaskOf(f);
    if (f.params["bytes_per_device"] == 4096) {
      floors.AtMost(task + ": us", f.median, 1.5);
    } else if (const std::optional<double> threads = figures.Of("threads", task)) {
      floors.AtMost(task + ": of threads", f.median / *threads, 1.5);
    }
  }
  const auto many = [&](const char* how) {
    return figures.Ours(fmt::format("W3.many_reductions arrays=200 devices=8 how={}", how));
  };
  if (many("each") && many("one"))
    floors.AtMost("W3.many_reductions: 200 arrays to one of their size",
                  *many("each") / *many("one"), 1.2);
  ManualFloors(figures, floors);
  auto chain = [&](int ops) -> std::optional<double> {
    const std::optional<double> us =
        figures.Ours(fmt::format("W5.compile_chain devices=8 ops={} stage=total", ops));
    return us ? std::optional(*us / ops) : std::nullopt;
  };
  floors.AtMost("W5.compile_chain 10000 ops: us per op", chain(10000), 8);
  if (chain(1000) && chain(10000))
    floors.AtMost("W5.compile_chain: an op of 10000 to one of 1000", *chain(10000) / *chain(1000),
                  1.1);
  if (chain(1000) && chain(100000))
    floors.AtMost("W5.compile_chain: an op of 100000 to one of 1000", *chain(100000) / *chain(1000),
                  1.1);
  auto stage = [&](const char* name) {
    return figures.Ours(fmt::format("W5.compile_chain devices=8 ops=10000 stage={}", name));
  };
  if (stage("trace") && stage("lower") && stage("grad_trace"))
    floors.AtMost("W5.compile_chain 10000 ops: making its gradient to tracing and lowering it",
                  *stage("grad_trace") / (*stage("trace") + *stage("lower")), 4);
  if (stage("trace") && stage("lower") && stage("load_lower"))
    floors.AtMost("W5.compile_chain 10000 ops: loading and lowering it to tracing and lowering it",
                  *stage("load_lower") / (*stage("trace") + *stage("lower")), 4);
  const std::optional<double> forward = figures.Ours("W5.large_step devices=65536 what=forward"),
                              step = figures.Ours("W5.large_step devices=65536 what=step");
  if (forward && step) floors.AtMost("W5.large_step: step to forward", *step / *forward, 5);
  const std::optional<double> llama = figures.Ours("W5.llama_70b devices=65536 what=forward"),
                              llama_step = figures.Ours("W5.llama_70b devices=65536 what=step");
  if (llama && llama_step) floors.AtMost("W5.llama_70b: step to forward", *llama_step / *llama, 5);
  struct {
    const char* what;
    double most;  // a fiftieth of JAX's time, used if its figures are missing
  } const calls[] = {{"eager_add", 2.7}, {"jit_1_op", 2.0}, {"jit_50_ops", 2.4}};
  for (const auto& c : calls) {
    const std::string task = fmt::format("W6.dispatch devices=8 mode=latency what={}", c.what);
    const std::optional<double> jax = figures.Of("jax", task), ours = figures.Ours(task);
    if (jax && ours)
      floors.AtLeast(task + ": faster than JAX", *jax / *ours, 50);
    else
      floors.AtMost(task + ": us", ours, c.most);
  }
  // 1.6 times the limit, which is estimated as 6400 us.
  floors.AtMost("W11.normal: us",
                figures.Ours("W11.normal elements=16777216 generator=threefry2x32"), 10240);
  const std::optional<double> of_1 = figures.Ours("W8.many_devices devices=1 what=run"),
                              of_512 = figures.Ours("W8.many_devices devices=512 what=run");
  floors.AtMost("W8.many_devices 512: us a run", of_512, 60);
  if (of_1 && of_512) floors.AtMost("W8.many_devices 512: of a run on 1", *of_512 / *of_1, 40);
  floors.AtLeast("W13.decode: of the limit", figures.LimitShare("W13.decode devices=8 length=8192"),
                 0.7);
  for (int devices : {1, 8}) {
    const auto of = [&](const char* how) {
      return figures.Ours(
          fmt::format("W14.attention devices={} how={} length=8192 what=forward", devices, how));
    };
    if (of("blocks") && of("whole"))
      floors.AtMost(fmt::format("W14.attention on {}: in blocks to whole", devices),
                    *of("blocks") / *of("whole"), 0.5);
    if (of("blocks") && of("function"))
      floors.AtMost(fmt::format("W14.attention on {}: dot_product_attention to blocks", devices),
                    *of("function") / *of("blocks"), 1.05);
    const auto gradient = [&](const char* how) {
      return figures.Ours(
          fmt::format("W14.attention devices={} how={} length=4096 what=gradient", devices, how));
    };
    if (gradient("blocks") && gradient("whole"))
      floors.AtMost(fmt::format("W14.attention's gradient on {}: in blocks to whole", devices),
                    *gradient("blocks") / *gradient("whole"), 1.1);
    if (gradient("blocks") && gradient("function"))
      floors.AtMost(
          fmt::format("W14.attention's gradient on {}: dot_product_attention to blocks", devices),
          *gradient("function") / *gradient("blocks"), 1.05);
    const std::optional<double> bare = figures.Ours(
                                    devices == 1 ? "W1.matmul devices=1 n=2048 variant=single"
                                                 : "W1.matmul devices=8 n=2048 variant=rows_cols"),
                                with_more = figures.Ours(fmt::format(
                                    "W1.matmul devices={} n=2048 variant=epilogue", devices));
    if (bare && with_more)
      floors.AtMost(fmt::format("W1.matmul on {}: with bias, gelu and residual to bare", devices),
                    *with_more / *bare, 1.05);
  }
  const std::optional<double> ring = figures.Ours("W14.ring devices=8 length=4096"),
                              dense = figures.Ours(
                                  "W14.attention devices=1 how=blocks length=4096 what=forward");
  if (ring && dense)
    floors.AtMost("W14.ring: to dense attention on 1 device", *ring / *dense, 1.15);
  floors.AtMost("W8.many_devices 512: MiB", figures.Ours("W8.many_devices devices=512 what=rss"),
                50);
  for (const char* what : {"save", "load", "load_like"})
    floors.AtMost(fmt::format("W16.safetensors {}: us", what),
                  figures.Ours(fmt::format("W16.safetensors arrays=200000 what={}", what)), 2e6);
  for (const Figure& f : figures.all())
    if (f.peer == kOurs && TaskOf(f) == "W8.many_devices devices=512 what=rss")
      floors.AtMost("W8.many_devices 512: threads", f.extra["threads"].get<double>(),
                    std::thread::hardware_concurrency());
}

// Shardy's sdy-user-priority-propagate took 198 ms for a program of 10000 traced ops, 16010 ops in
// its own form. Used if no peer was measured on this machine.
constexpr double kShardyUs = 198e3, kShardyOps = 16010;

void PropagationFloors(const Figures& figures, Floors& floors) {
  const std::optional<double> measured =
      figures.Of("jax", "W7.propagate devices=16 ops=10000 what=sdy_user_priority_propagate");
  const double shardy = measured.value_or(kShardyUs) / kShardyOps;
  for (const char* program : {"layers", "elementwise"}) {
    auto per_op = [&](int ops) -> std::optional<double> {
      const std::optional<double> us = figures.Ours(
          fmt::format("W7.propagation ops={} program={} what=propagate", ops, program));
      return us ? std::optional(*us / ops) : std::nullopt;
    };
    const std::optional<double> small = per_op(10000), large = per_op(100000);
    if (!small || !large) continue;
    const std::string what = fmt::format("W7.propagation {}: ", program);
    floors.AtMost(what + "us per op of 10000", small, 3);
    floors.AtMost(what + "us per op of 100000", large, 4);
    floors.AtMost(what + "an op of 100000 to one of 10000", *large / *small, 1.5);
    floors.AtLeast(what + fmt::format("faster than Shardy's {} {:.1f} us per op",
                                      measured ? "measured" : "stated", shardy),
                   shardy / *small, 4);
  }
}

// `spots`: our time against JAX's for the same work, or against a form that is known to be fast.
void SpotFloors(const Figures& figures, Floors& floors) {
  const auto ours = [&](const std::string& what) { return figures.Ours("spots what=" + what); };
  // An interpreter of steps is slower than a compiled loop, so these have limits in us
  // per iteration.
  const std::map<std::string, double> most_us = {
      {"loop_small_op", 0.07}, {"loop_set", 0.2}, {"loop_rk4", 0.67}};
  // Outside of jit a function is traced at each call, with captures or without.
  for (const std::string what : {"eager_grad", "eager_grad_captures"})
    if (const auto us = ours(what)) floors.AtMost("spots " + what + ": us", *us, 20);
  for (const Figure& f : figures.all()) {
    const std::optional<double> jax = figures.Of("jax", TaskOf(f));
    if (f.peer != kOurs || f.workload != "spots" || !jax) continue;
    const std::string what = f.params["what"];
    if (const auto most = most_us.find(what); most != most_us.end())
      floors.AtMost(TaskOf(f) + ": us", f.median, most->second);
    else
      floors.AtMost(TaskOf(f) + ": of JAX's time", f.median / *jax,
                    what == "sum_columns" ? 1.1 : 1.0);
  }
  struct {
    std::string what, base;
    double most;
  } const pairs[] = {{"bodies_rows_of_3", "bodies_columns", 1.5},
                     {"last_abstract_meshes", "first_abstract_meshes", 1.5},
                     {"gelu_f16", "gelu_f32", 1.2},
                     {"gelu_bf16", "gelu_f32", 1.2},
                     {"softmax_f16", "softmax_f32", 1.2},
                     {"softmax_bf16", "softmax_f32", 1.2},
                     {"layer_norm_f16", "layer_norm_f32", 1.2},
                     {"layer_norm_bf16", "layer_norm_f32", 1.2}};
  for (const auto& [what, base, most] : pairs)
    if (ours(what) && ours(base))
      floors.AtMost(fmt::format("spots {}: of {}'s time", what, base), *ours(what) / *ours(base),
                    most);
}

// The most of JAX's time that a row of W15 may take.
double MostOfJax(const std::string& what, bool alone) {
  if (what.starts_with("fft") || what.starts_with("rfft")) return 2;
  if (what == "sort") return 0.5;
  return what == "fashion_step" && !alone ? 1 / 1.1 : 1;
}

// `W15`: our time against JAX's, and on eight devices against one; convolutions also against
// oneDNN, pooling and running sums against the limit of memory, sums of segments against a loop,
// and the memory of losses against a shard of their logits.
void NumericFloors(const Figures& figures, Floors& floors) {
  for (const Figure& f : figures.all()) {
    if (f.peer != kOurs || !f.workload.starts_with("W15.")) continue;
    const std::string what = f.workload.substr(4), task = TaskOf(f);
    const bool is_fourier = what.starts_with("fft") || what.starts_with("rfft");
    const bool alone = f.params["devices"] == 1;
    if (const auto jax = figures.Of("jax", task))
      floors.AtMost(task + ": of JAX's time", f.median / *jax, MostOfJax(what, alone));
    if (const auto library = figures.Of("onednn", task))
      floors.AtMost(task + ": of oneDNN's time", f.median / *library, 1.25);
    if (what.starts_with("pool") || what.starts_with("cumsum"))
      floors.AtLeast(task + ": of the limit", figures.LimitShare(task), 0.6);
    if (const auto loop = figures.Of("loop", task))
      floors.AtLeast(task + ": of a loop's speed", *loop / f.median, 0.5);
    // The loss holds its logits; the gradient also its result.
    if (f.extra.contains("shard_bytes"))
      floors.AtMost(task + ": shards in memory",
                    f.extra["peak_bytes"].get<double>() / f.extra["shard_bytes"].get<double>(),
                    what.ends_with("grad") ? 2.05 : 1.05);
    const auto one = figures.Ours(f.workload + " devices=1");
    if (!alone && one && (is_fourier || what == "cholesky"))
      floors.AtMost(task + ": of one device's time", f.median / *one, is_fourier ? 1.2 : 1.3);
  }
}

}  // namespace

void PrintTables(const std::vector<Figure>& all, bool quick) {
  const Figures figures(all);
  PrintFigures(figures);
  if (quick) return;
  fmt::print(stderr, "\n{:<92} {:>8}    floor\n", "floors", "got");
  Floors floors(figures);
  ProductFloors(figures, floors);
  TrainingFloors(figures, floors);
  ProgramFloors(figures, floors);
  PropagationFloors(figures, floors);
  SpotFloors(figures, floors);
  NumericFloors(figures, floors);
}

}  // namespace tessera::bench
