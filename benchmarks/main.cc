// tessera_bench [--quick] [--only W1,spots:erf,...] [--peers FILE]...
//
// Runs the workloads. Prints one JSON line per figure to stdout, and the ratios and floors
// to stderr.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/report.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

struct Options {
  bool quick = false;
  std::string only;  // empty: all workloads
  std::vector<std::string> peers;
  std::optional<int> process;  // the number of devices, if this process runs only its part of W8
};

constexpr char kUsage[] =
    "tessera_bench [--quick] [--only W1,...,W16,spots] [--peers FILE]...\n"
    "  --quick       small sizes and few samples: does everything run?\n"
    "  --only LIST   only these workloads; spots:NAME, W15:NAME: the rows with NAME in their name\n"
    "  --peers FILE  JSON lines of other programs on this machine, to compare with\n";

// Returns null if the arguments are invalid.
std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool value = i + 1 < argc;
    if (arg == "--quick")
      options.quick = true;
    else if (arg == "--only" && value)
      options.only = argv[++i];
    else if (arg == "--peers" && value)
      options.peers.emplace_back(argv[++i]);
    else if (arg == "--process" && value)
      options.process = std::atoi(argv[++i]);
    else
      return {};
  }
  return options;
}

bool Wanted(const Options& options, const std::string& workload) {
  return options.only.empty() ||
         ("," + options.only + ",").find("," + workload + ",") != std::string::npos;
}

// Calls f for all rows of a workload, or for those that the options name.
void RunRows(const Options& options, const std::string& workload,
             const std::function<void(const std::string& part)>& f) {
  if (Wanted(options, workload)) return f("");
  std::istringstream items(options.only);
  for (std::string item; std::getline(items, item, ',');)
    if (item.starts_with(workload + ":")) f(item.substr(workload.size() + 1));
}

// Reads the peers' files before the workloads run, so that a wrong name fails at once.
void AddPeers(Recorder& recorder, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("cannot read " + file);
    for (std::string line; std::getline(in, line);) recorder.AddPeer(line);
  }
}

void Run(const Options& options) {
  Recorder recorder(options.quick);
  if (options.process) return ManyDevicesProcess(recorder, *options.process);
  AddPeers(recorder, options.peers);
  PrintTargets();
  bool limits = false;
  for (const char* workload : {"W1", "W2", "W3", "W4", "W9", "W10", "W11", "W13"})
    limits = limits || Wanted(options, workload);
  RunRows(options, "W15", [&](const std::string&) { limits = true; });
  // On a thread of their own, as it stays pinned.
  std::thread([&] {
    if (limits) Limits(recorder);
    if (Wanted(options, "W1")) ProductLibraries(recorder);
    if (Wanted(options, "W3")) ThreadReference(recorder);
  }).join();
  for (int devices : {8, 1}) {
    if (Wanted(options, "W1")) Matmul(recorder, devices);
    if (Wanted(options, "W2")) Elementwise(recorder, devices);
    if (Wanted(options, "W3") && devices == 8) Collectives(recorder);
    if (Wanted(options, "W3") && devices == 8) ManualCollectives(recorder);
    if (Wanted(options, "W4")) GptStep(recorder, devices);
    if (Wanted(options, "W5") && devices == 8) {
      CompileChain(recorder);
      LowerLargeStep(recorder);
      LowerLlama(recorder);
    }
    if (Wanted(options, "W6")) Dispatch(recorder, devices);
    if (Wanted(options, "W9")) HeatEquation(recorder, devices);
    if (Wanted(options, "W10")) Gradients(recorder, devices);
    if (Wanted(options, "W13")) Decoding(recorder, devices);
    if (Wanted(options, "W14")) Attention(recorder, devices);
    if (Wanted(options, "W14") && devices == 8) RingAttention(recorder);
    RunRows(options, "W15", [&](const std::string& part) { Numerics(recorder, devices, part); });
  }
  RunRows(options, "W15", [&](const std::string& part) { ConvolutionLibrary(recorder, part); });
  if (Wanted(options, "W7")) Propagation(recorder);
  if (Wanted(options, "W8")) ManyDevices(recorder);
  if (Wanted(options, "W11")) RandomNumbers(recorder);
  if (Wanted(options, "W16")) ManyArraysInAFile(recorder);
  RunRows(options, "spots", [&](const std::string& part) { SlowSpots(recorder, part); });
  PrintTables(recorder.figures(), options.quick);
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  const auto options = tessera::bench::Parse(argc, argv);
  if (!options) {
    std::fputs(tessera::bench::kUsage, stderr);
    return 2;
  }
  try {
    tessera::bench::Run(*options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tessera_bench: %s\n", e.what());
    return 1;
  }
}
