// Compares reports with expectations.
#include "tessera/expectations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/error.h"

namespace tessera::expectations {
namespace {

constexpr std::array kKinds = {CommKind::kAllReduce,         CommKind::kReduceScatter,
                               CommKind::kAllGather,         CommKind::kAllToAll,
                               CommKind::kCollectivePermute, CommKind::kHaloExchange};

struct Sent {
  std::string_view kind;
  std::string_view axes;  // "data,model"; empty: any
};

Sent Parsed(std::string_view what, Loc loc) {
  const size_t over = what.find(" over ");
  const Sent sent{what.substr(0, over),
                  over == what.npos ? std::string_view() : what.substr(over + 6)};
  for (CommKind kind : kKinds)
    if (sent.kind == comm_name(kind)) return sent;
  std::string names;
  for (CommKind kind : kKinds) names += (names.empty() ? "" : ", ") + std::string(comm_name(kind));
  base::ThrowRuntime(base::Refusal(
      "EXPECT_SENDS", 1, base::Where(loc), fmt::format("there is no collective \"{}\"", sent.kind),
      {"write one of " + names + ", with or without its axes: \"all_reduce over data,model\""}));
}

std::string WithReport(std::string problem, const CommReport& report) {
  return fmt::format("{}\n{}", problem, report.empty() ? "it sends nothing\n" : report.text());
}

}  // namespace

std::string Sends(const CommReport& report, std::string_view collective, int64_t times,
                  int64_t bytes, Loc loc) {
  const Sent sent = Parsed(collective, loc);
  int64_t runs = 0, sum = 0;
  for (const CommEvent& e : report.events()) {
    if (sent.kind != comm_name(e.kind)) continue;
    if (!sent.axes.empty() && sent.axes != fmt::format("{}", fmt::join(e.axes, ","))) continue;
    runs += e.times;
    sum += e.times * e.bytes;
  }
  if (runs != times)
    return WithReport(fmt::format("{} runs {} times, not {}", collective, runs, times), report);
  if (bytes >= 0 && sum != bytes)
    return WithReport(fmt::format("{} sends {} B from a device, not {} B", collective, sum, bytes),
                      report);
  return "";
}

std::string SendsNothing(const CommReport& report) {
  return report.empty() ? ""
                        : WithReport(fmt::format("{} B leave each device", report.bytes()), report);
}

std::string PeakIsAtMost(const Lowered& lowered, int64_t bytes) {
  const int64_t peak = lowered.peak_bytes();
  if (peak <= bytes) return "";
  return fmt::format("a device needs {} B, more than {} B\n{}", peak, bytes,
                     lowered.memory().text());
}

std::string IsSame(const FirstDifference& difference, size_t place) {
  if (!difference.found) return "";
  return fmt::format("place 0 (a) and place {} (b) differ\n{}", place, difference.text());
}

}  // namespace tessera::expectations
