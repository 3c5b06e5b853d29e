// The functions of the C interface that explain programs and tell their costs.
#include <tessera/explain.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "c/loaded.h"
#include "cli/explain_line.h"
#include "cli/html.h"
#include "cli/stages.h"

namespace tessera::c {
namespace {

propagation::Stage StageOf(const char* strategy) {
  if (!strategy) return propagation::Stage::kUserPriority;
  const auto name = std::ranges::find(cli::kStageNames, std::string_view(strategy));
  if (name == cli::kStageNames.end())
    throw ArgumentError("there is no strategy '" + std::string(strategy) +
                        "': basic, aggressive, op-priority or user-priority");
  return static_cast<propagation::Stage>(name - cli::kStageNames.begin());
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", code);
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string JsonOf(const CommEvent& e) {
  const auto flag = [](bool is) { return is ? "true" : "false"; };
  std::string axes;
  for (const std::string& axis : e.axes) axes += (axes.empty() ? "" : ", ") + Quoted(axis);
  return "{\"kind\": " + Quoted(comm_name(e.kind)) + ", \"axes\": [" + axes +
         "], \"bytes\": " + std::to_string(e.bytes) + ", \"times\": " + std::to_string(e.times) +
         ", \"where\": " + Quoted(e.where) + ", \"backward\": " + flag(e.backward) +
         ", \"implied\": " + flag(e.implied) + ", \"repeats\": " + flag(e.repeats) +
         ", \"scope\": " + Quoted(e.scope) + ", \"made_by\": " + Quoted(e.made_by) +
         ", \"made_at\": " + Quoted(e.made_at) + ", \"read_by\": " + Quoted(e.read_by) +
         ", \"read_at\": " + Quoted(e.read_at) + "}";
}

std::string JsonOf(const std::vector<CommEvent>& events) {
  std::string text;
  for (const CommEvent& e : events) text += (text.empty() ? "[" : ",\n ") + JsonOf(e);
  return text.empty() ? "[]" : text + "]";
}

tessera_costs CostsOf(const Lowered& lowered) {
  const CommReport report = lowered.comm();
  int64_t collectives = 0;
  for (const CommEvent& e : report.events()) collectives += e.times;
  return {report.bytes(), collectives, lowered.peak_bytes(), report.flops(), report.split_flops()};
}

}  // namespace
}  // namespace tessera::c

using namespace tessera::c;  // NOLINT: the functions of C are outside of namespaces

tessera_status tessera_propagate(tessera_program program, const char* strategy, char** text) {
  return Guarded(__func__, [&] {
    Require(text, "text");
    *text = Given(Programs().At(program)->program().propagated(StageOf(strategy), kHere).text());
  });
}

tessera_status tessera_explain(tessera_program program, const char* value, const char* strategy,
                               char** text) {
  return Guarded(__func__, [&] {
    Require(value, "value");
    Require(text, "text");
    const tessera::Program loaded = Programs().At(program)->program();
    *text = Given(tessera::cli::IsLine(value)
                      ? tessera::cli::ExplainLine(loaded, value, StageOf(strategy))
                      : tessera::explain(loaded, value, StageOf(strategy), kHere));
  });
}

tessera_status tessera_report(tessera_program program, char** text) {
  return Guarded(__func__, [&] {
    Require(text, "text");
    const tessera::Lowered& lowered = Programs().At(program)->lowered();
    *text = Given(lowered.comm().text() + "at most " + std::to_string(lowered.peak_bytes()) +
                  " B on each device\n");
  });
}

tessera_status tessera_comm(tessera_program program, char** json) {
  return Guarded(__func__, [&] {
    Require(json, "json");
    *json = Given(JsonOf(Programs().At(program)->lowered().comm().lines()));
  });
}

tessera_status tessera_costs_of(tessera_program program, tessera_costs* costs, int64_t bytes) {
  return Guarded(__func__, [&] {
    Require(costs, "costs");
    constexpr auto kFigure = static_cast<int64_t>(sizeof(int64_t));
    constexpr auto kAll = static_cast<int64_t>(sizeof(tessera_costs));
    if (bytes < kFigure || bytes > kAll || bytes % kFigure != 0)
      throw ArgumentError("bytes is " + std::to_string(bytes) +
                          ", not a multiple of 8 up to the size of all figures, " +
                          std::to_string(kAll));
    const tessera_costs all = CostsOf(Programs().At(program)->lowered());
    std::memcpy(costs, &all, static_cast<size_t>(bytes));
  });
}

tessera_status tessera_lower(tessera_program program, const char* stop_after, char** text) {
  return Guarded(__func__, [&] {
    Require(text, "text");
    const std::shared_ptr<Loaded> loaded = Programs().At(program);
    *text = Given(
        stop_after ? tessera::partition_text(loaded->program(), {.stop_after = stop_after}, kHere)
                   : loaded->lowered().device_program().text());
  });
}

tessera_status tessera_html(tessera_program program, const char* title, char** page) {
  return Guarded(__func__, [&] {
    Require(page, "page");
    *page = Given(tessera::cli::HtmlPage(Programs().At(program)->program(), OrEmpty(title),
                                         tessera::propagation::Stage::kUserPriority));
  });
}
