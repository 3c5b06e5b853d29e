// W5, W6 and W8: the costs of a program besides its computation.
#include <tessera/tessera.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "benchmarks/inputs.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

Array ChainOf(int ops, Array x, const Array& w) {
  for (int i = 0; i < ops; ++i) {
    const int k = i % 10;
    if (k == 9)
      x = matmul(x, w);
    else if (k % 3 == 0)
      x = x * 0.99;
    else if (k % 3 == 1)
      x = x + w[0];
    else
      x = tanh(x);
  }
  return x;
}

// A lambda that captures a number is compiled again each time it is created.
auto NewChain(int ops) {
  return jit([ops](Array x, Array w) { return ChainOf(ops, x, w); });
}

struct Stages {
  std::vector<double> trace, lower, compile, total, grad_trace, load, load_lower;
};

void TimeStages(int ops, const Array& x, const Array& w, Stages& stages) {
  const auto parts = NewChain(ops), whole = NewChain(ops);
  const double t0 = Now();
  parts.trace(x, w);
  const double t1 = Now();
  parts.lower(x, w);
  const double t2 = Now();
  whole(x, w);
  const double t3 = Now();
  whole(x, w);
  const double run = Now() - t3, trace = t1 - t0, lower = t2 - t1, total = t3 - t2;
  stages.trace.push_back(trace * 1e6);
  stages.lower.push_back(lower * 1e6);
  stages.compile.push_back(std::max(0.0, total - trace - lower - run) * 1e6);
  stages.total.push_back(total * 1e6);
  const auto gradient = grad([ops](Array a, Array b) { return sum(ChainOf(ops, a, b)); });
  const double t4 = Now();
  gradient.trace(x, w);
  stages.grad_trace.push_back((Now() - t4) * 1e6);
}

// Beside tracing and lowering: a program in a file is read and lowered.
void TimeFile(int ops, const Array& x, const Array& w, Stages& stages) {
  const std::string path = fmt::format("/tmp/tessera-benchmark-{}.program", getpid());
  NewChain(ops).trace(x, w).save(path);
  const double t0 = Now();
  const Program loaded = Program::Load(path);
  const double t1 = Now();
  lower(loaded);
  const double t2 = Now();
  std::remove(path.c_str());
  stages.load.push_back((t1 - t0) * 1e6);
  stages.load_lower.push_back((t2 - t0) * 1e6);
}

// Returns a number of /proc/self/status.
double Status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1));
  return 0;
}

}  // namespace

void CompileChain(Recorder& recorder) {
  constexpr int kDevices = 8;
  SetDeviceCount(kDevices);
  MeshScope scope(make_mesh({{"d", kDevices}}));
  const Array x = reshard(Random({64, 64}, 0), P("d", None)),
              w = reshard(Random({64, 64}, 1), P(None, None));
  const std::vector<int> sizes =
      recorder.quick() ? std::vector<int>{100} : std::vector<int>{100, 1000, 10000, 100000};
  for (int ops : sizes) {
    Stages stages;
    const int repeats = ops == 100000 ? 3 : ops == 10000 ? 5 : 9;
    for (int r = 0; r < repeats; ++r) {
      TimeStages(ops, x, w, stages);
      TimeFile(ops, x, w, stages);
    }
    auto emit = [&](const char* stage, const std::vector<double>& samples) {
      recorder.Emit("W5.compile_chain", kOurs,
                    {{"ops", ops}, {"stage", stage}, {"devices", kDevices}}, "us", samples,
                    {{"ops", ops}});
    };
    emit("trace", stages.trace);
    emit("lower", stages.lower);
    emit("compile", stages.compile);
    emit("total", stages.total);
    emit("grad_trace", stages.grad_trace);
    emit("load", stages.load);
    emit("load_lower", stages.load_lower);
  }
}

void Dispatch(Recorder& recorder, int devices) {
  SetDeviceCount(devices);
  MeshScope scope(make_mesh({{"d", devices}}));
  const Array a = reshard(arange(8.0f), P("d")), b = reshard(ones({8}), P("d"));
  auto run = [&](const char* what, const auto& f) {
    for (Mode mode : {Mode::kLatency, Mode::kPipelined})
      recorder.Emit("W6.dispatch", kOurs,
                    {{"what", what},
                     {"mode", mode == Mode::kLatency ? "latency" : "pipelined"},
                     {"devices", devices}},
                    "us",
                    Sample(
                        recorder.quick(), [&] { f(a, b); }, mode));
  };
  run("eager_add", [](const Array& x, const Array& y) { return x + y; });
  run("jit_1_op", jit([](Array x, Array y) { return x + y; }));
  run("jit_50_ops", jit([](Array x, Array y) {
        for (int i = 0; i < 25; ++i) {
          x = x + y;
          x = i % 5 == 0 ? sin(x) : x * y;
        }
        return x;
      }));
}

void ManyDevicesProcess(Recorder& recorder, int devices) {
  const double base = Status("VmRSS") / 1024;
  SetDeviceCount(devices);
  MeshScope scope(make_mesh({{"d", devices}}));
  const Array x = reshard(ones({devices}), P("d"));
  const double with_devices = Status("VmRSS") / 1024;
  const auto f = jit([](Array v) { return sum(v) + v; });
  const double t0 = Now();
  f.lower(x);
  const double t1 = Now();
  f(x);
  const double t2 = Now();
  recorder.Emit("W8.many_devices", kOurs, {{"what", "compile"}, {"devices", devices}}, "us",
                {(t2 - t1) * 1e6}, {{"trace_lower_us", (t1 - t0) * 1e6}});
  recorder.Emit("W8.many_devices", kOurs, {{"what", "run"}, {"devices", devices}}, "us",
                Sample(recorder.quick(), [&] { f(x); }));
  recorder.Emit("W8.many_devices", kOurs, {{"what", "rss"}, {"devices", devices}}, "MiB",
                {Status("VmRSS") / 1024},
                {{"rss_before_devices", base},
                 {"rss_with_devices", with_devices},
                 {"threads", Status("Threads")},
                 {"peak_rss", Status("VmHWM") / 1024}});
}

void ManyDevices(Recorder& recorder) {
  for (int devices : {1, 8, 64, 512}) {
    const std::string command = "/proc/" + std::to_string(getpid()) + "/exe --process " +
                                std::to_string(devices) + (recorder.quick() ? " --quick" : "");
    std::FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot start " + command);
    std::string line;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      std::printf("%s\n", line.c_str());
      recorder.Add(line);
      line.clear();
    }
    if (pclose(pipe) != 0) throw std::runtime_error(command + " failed");
  }
  std::fflush(stdout);
}

}  // namespace tessera::bench
