// Measures figures: repeated calls, their quantiles, and how busy other programs kept the cores.
#include "benchmarks/measure.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tessera::bench {
namespace {

struct CpuSeconds {
  double busy = 0, own = 0;
};

// Reads the CPU time of the machine and of this process. CPU time of children counts as busy.
CpuSeconds ReadCpu() {
  CpuSeconds cpu;
  std::ifstream all("/proc/stat"), self("/proc/self/stat");
  std::string word;
  all >> word;
  double v = 0;
  for (int i = 0; i < 8 && all >> v; ++i) cpu.busy += i == 3 || i == 4 ? 0 : v;  // not idle, iowait
  std::string line;
  std::getline(self, line);
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  for (int i = 0; i < 11; ++i) rest >> word;
  for (int i = 0; i < 2 && rest >> v; ++i) cpu.own += v;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {cpu.busy / ticks, cpu.own / ticks};
}

// Returns the cores used by other programs since the previous call. If that was too recent, returns
// the previous result.
double OtherCores() {
  static double since = Now(), last = 0;
  static CpuSeconds before = ReadCpu();
  const double now = Now();
  if (now - since > 0.2) {
    const CpuSeconds cpu = ReadCpu();
    last = std::max(0.0, (cpu.busy - before.busy - cpu.own + before.own) / (now - since));
    since = now, before = cpu;
  }
  return last;
}

double Round(double v, int digits) {
  const double scale = std::pow(10, digits);
  return std::round(v * scale) / scale;
}

std::vector<double> Take(int samples, int inner, absl::FunctionRef<void()> f) {
  std::vector<double> out;
  for (int s = 0; s < samples; ++s) {
    const double start = Now();
    for (int i = 0; i < inner; ++i) f();
    out.push_back((Now() - start) / inner * 1e6);
  }
  return out;
}

int CallsToFill(double seconds, absl::FunctionRef<void()> f) {
  const double start = Now();
  f();
  return std::max(1, static_cast<int>(seconds / std::max(Now() - start, 1e-8)));
}

}  // namespace

double Now() {
  using std::chrono::steady_clock;
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

double Quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  const auto k = static_cast<size_t>(q * static_cast<double>(samples.size()));
  return samples[std::min(samples.size() - 1, k)];
}

Recorder::Recorder(bool quick) : quick_(quick) { OtherCores(); }

void Recorder::Emit(const std::string& workload, const std::string& peer, Json params,
                    const std::string& unit, const std::vector<double>& samples, Json extra) {
  double load = 0;
  extra["load1"] = getloadavg(&load, 1) == 1 ? Round(load, 2) : 0.0;
  extra["other_cores"] = Round(OtherCores(), 2);
  const Json line = {{"workload", workload},
                     {"peer", peer},
                     {"version", "1"},
                     {"params", std::move(params)},
                     {"unit", unit},
                     {"median", Round(Quantile(samples, 0.5), 3)},
                     {"p10", Round(Quantile(samples, 0.1), 3)},
                     {"p90", Round(Quantile(samples, 0.9), 3)},
                     {"n", samples.size()},
                     {"extra", std::move(extra)}};
  const std::string text = line.dump();
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  Add(text);
}

void Recorder::Add(const std::string& text) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (line.is_discarded() || !line.contains("workload") || !line.contains("params")) return;
  figures_.push_back({line["workload"], line["peer"], line["params"], line["unit"], line["median"],
                      line.value("extra", Json::object())});
}

void Recorder::AddPeer(const std::string& line) {
  Add(line);
  if (figures_.empty()) return;
  const std::string& peer = figures_.back().peer;
  if (peer == "limit" || peer == "threads" || peer == kOurs) figures_.pop_back();
}

std::vector<double> Sample(bool quick, absl::FunctionRef<void()> f, Mode mode) {
  const int most = quick ? 5 : 60;
  const double seconds = quick ? 0.2 : 1.2;
  for (int i = 0; i < 3; ++i) f();
  int inner = CallsToFill(2e-4, f);
  if (mode == Mode::kPipelined) inner = std::max(inner, 100);
  const double start = Now();
  for (int i = 0; i < inner; ++i) f();
  const double fit = seconds / std::max(Now() - start, 1e-7);
  return Take(static_cast<int>(std::clamp(fit, 5.0, static_cast<double>(most))), inner, f);
}

std::vector<double> Repeat(int repeats, absl::FunctionRef<void()> f) {
  f();
  return Take(repeats, CallsToFill(2e-4, f), f);
}

}  // namespace tessera::bench
