// Timing, and one JSON line per figure: {workload, peer, version, params, unit, median, p10, p90,
// n, extra}. Two figures belong to the same task if workload and params are equal.
#pragma once
#include <absl/functional/function_ref.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::bench {

inline constexpr const char* kOurs = "tessera";  // the peer of our own figures

using Json = nlohmann::ordered_json;

// Returns seconds of a clock that never jumps.
double Now();
// Returns the q-quantile of the samples.
double Quantile(std::vector<double> samples, double q);

struct Figure {
  std::string workload, peer;
  Json params;
  std::string unit;
  double median = 0;
  Json extra;
};

// Prints figures as they come and keeps them for the tables at the end.
class Recorder {
 public:
  explicit Recorder(bool quick);
  bool quick() const { return quick_; }
  const std::vector<Figure>& figures() const { return figures_; }

  void Emit(const std::string& workload, const std::string& peer, Json params,
            const std::string& unit, const std::vector<double>& samples,
            Json extra = Json::object());
  // Keeps a figure from a line that another program, or another run of this one, has printed.
  void Add(const std::string& line);
  // The same for another library's line. Limits, references and our own figures are not taken from
  // it: those of this run count.
  void AddPeer(const std::string& line);

 private:
  bool quick_;
  std::vector<Figure> figures_;
};

enum class Mode : uint8_t { kLatency, kPipelined };

// Returns samples of f in us per call, after three warm-up calls. A sample is one call, or as many
// as fill 0.2 ms (pipelined: at least 100); up to 60 samples or 1.2 s.
std::vector<double> Sample(bool quick, absl::FunctionRef<void()> f, Mode mode = Mode::kLatency);

// Returns `repeats` samples, for limits and references.
std::vector<double> Repeat(int repeats, absl::FunctionRef<void()> f);

}  // namespace tessera::bench
