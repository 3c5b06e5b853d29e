// Compares texts that all processes gather.
#include "compile/host/agree.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "runtime/transport.h"

namespace tessera::compile {
namespace {

constexpr size_t kLongest = 120;  // characters of a line in a message

// Returns the part of a line around its byte `at`.
std::string Shown(std::string_view line, size_t at) {
  if (line.empty()) return "nothing more";
  const bool is_text =
      absl::c_all_of(line, [](unsigned char c) { return std::isprint(c) || c > 127; });
  if (!is_text) return "data of another call";
  const size_t begin = at < kLongest ? 0 : at - kLongest / 2;
  const std::string_view part = line.substr(begin, kLongest);
  return fmt::format("{}{}{}", begin > 0 ? "..." : "", part,
                     begin + part.size() < line.size() ? "..." : "");
}

// Removes the first line of a text and returns it.
std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// Returns the first line of each that differs, cut to where they differ.
std::pair<std::string, std::string> Difference(std::string_view a, std::string_view b) {
  std::string_view line_a, line_b;
  while (line_a == line_b && !(a.empty() && b.empty())) {
    line_a = TakeLine(a);
    line_b = TakeLine(b);
  }
  const size_t same = base::Size(absl::c_mismatch(line_a, line_b).first - line_a.begin());
  return {Shown(line_a, same), Shown(line_b, same)};
}

}  // namespace

void AgreeOn(const char* op, std::string_view text, Loc loc) {
  runtime::Transport* transport = runtime::TheTransport();
  if (!transport) return;
  const std::vector<std::string> texts = transport->Gather(fmt::format("{} {}", op, text));
  const auto is_same = [&](const std::string& of_process) { return of_process == texts[0]; };
  if (!absl::c_all_of(texts, is_same)) FailDifferent(op, texts, loc);
}

void FailDifferent(const char* op, const std::vector<std::string>& texts, Loc loc) {
  const auto other =
      absl::c_find_if(texts, [&](const std::string& text) { return text != texts[0]; });
  const auto [first, second] = Difference(texts[0], *other);
  base::ThrowRuntime(base::Refusal(op, "processes", base::Where(loc),
                                   "the processes do not make the same call",
                                   {fmt::format("process 0: {}", first),
                                    fmt::format("process {}: {}", other - texts.begin(), second),
                                    "every process makes the same calls with the same arguments"}));
}

std::string FirstProblem(std::string_view problem) {
  runtime::Transport* transport = runtime::TheTransport();
  if (!transport) return std::string(problem);
  const std::vector<std::string> problems = transport->Gather(problem);
  const auto first =
      absl::c_find_if(problems, [](const std::string& of_process) { return !of_process.empty(); });
  if (first == problems.end()) return "";
  return fmt::format("{} (on process {})", *first, first - problems.begin());
}

}  // namespace tessera::compile
