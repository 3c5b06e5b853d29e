// Compares the meetings of all processes: first a hash, and the texts only if the hashes differ.
#include "runtime/meeting.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <vector>

#include "base/at.h"
#include "base/error.h"
#include "runtime/only_thread.h"
#include "runtime/transport.h"

namespace tessera::runtime {
namespace {

constexpr std::string_view kComment = " // ";
constexpr size_t kMostShown = 160;  // characters of a line in a message

struct Line {
  std::string_view text, comment;
};

// Takes the next line off the front of a text.
Line TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  Line line{text.substr(0, end), {}};
  text.remove_prefix(std::min(end + 1, text.size()));
  if (const size_t comment = line.text.find(kComment); comment != line.text.npos) {
    line.comment = line.text.substr(comment + kComment.size());
    line.text.remove_suffix(line.text.size() - comment);
  }
  while (line.text.ends_with(' ')) line.text.remove_suffix(1);
  return line;
}

// A meeting that all processes know. As one string, it is the activity, its object, its line in the
// program, and the text.
struct KnownMeeting {
  std::string what, object, where, text;
};
std::string Packed(const Meeting& m) {
  return m.what + "\n" + m.object + "\n" + m.where + "\n" + m.text();
}
KnownMeeting Unpacked(std::string_view packed) {
  const auto take = [&] {
    const std::string_view line = packed.substr(0, packed.find('\n'));
    packed.remove_prefix(line.size() + 1);
    return std::string(line);
  };
  KnownMeeting known;
  known.what = take();
  known.object = take();
  known.where = take();
  known.text = packed;
  return known;
}

// Returns the part of a line around its byte `at`.
std::string Shown(std::string_view line, size_t at) {
  if (line.empty()) return "nothing more";
  const size_t begin = at < kMostShown ? 0 : at - kMostShown / 2;
  std::string_view part = line.substr(begin, kMostShown);
  const bool is_cut = begin + part.size() < line.size();
  while (part.starts_with(' ')) part.remove_prefix(1);
  return fmt::format("{}{}{}", begin > 0 ? "..." : "", part, is_cut ? "..." : "");
}

ErrorOperand OfProcess(size_t process, std::string what, std::string_view where) {
  return {fmt::format("process {}", process), std::move(what), std::string(where)};
}

ErrorDetail Difference(std::string reason, std::vector<ErrorOperand> operands, std::string hint) {
  return {.kind = {},
          .op = "processes",
          .label = "processes.differ",
          .where = "",
          .reason = std::move(reason),
          .operands = std::move(operands),
          .notes = {std::move(hint)},
          .fixes = {}};
}

std::string WhatOf(const KnownMeeting& known) {
  return known.what + (known.object.empty() ? "" : " " + known.object);
}

// Throws the error for processes `a` and `b`, whose meetings differ. `hint` is for meetings that
// differ in their texts alone.
[[noreturn]] void Refuse(size_t a, const KnownMeeting& at_a, size_t b, const KnownMeeting& at_b,
                         const std::string& hint) {
  if (at_a.what != at_b.what)
    base::ThrowRuntime(
        Difference("the processes do different things",
                   {OfProcess(a, WhatOf(at_a), at_a.where), OfProcess(b, WhatOf(at_b), at_b.where)},
                   "all processes must call the same functions in the same order: move the call "
                   "out of the `if`"));
  std::string_view rest_a = at_a.text, rest_b = at_b.text;
  Line line_a, line_b;
  do {
    line_a = TakeLine(rest_a), line_b = TakeLine(rest_b);
  } while (line_a.text == line_b.text && !(rest_a.empty() && rest_b.empty()));
  const auto same =
      base::Size(absl::c_mismatch(line_a.text, line_b.text).first - line_a.text.begin());
  const auto where = [](const Line& line, const KnownMeeting& m) {
    return line.comment.empty() ? m.where : std::string(line.comment);
  };
  base::ThrowRuntime(Difference("each process is " + at_a.what + ", but they differ",
                                {OfProcess(a, Shown(line_a.text, same), where(line_a, at_a)),
                                 OfProcess(b, Shown(line_b.text, same), where(line_b, at_b))},
                                hint));
}

}  // namespace

void Meet(const Meeting& meeting) {
  Transport& transport = *TheTransport();
  const OnlyThread only("meeting the other processes", Loc::Unknown());
  const WaitingFor waiting(
      [&] { return meeting.what + (meeting.where.empty() ? "" : " at " + meeting.where); });
  const std::vector<uint64_t> hashes =
      transport.GatherNumbers(MixShared(SharedHash(meeting.what), meeting.hash));
  const auto other = absl::c_find_if(hashes, [&](uint64_t h) { return h != hashes[0]; });
  if (other == hashes.end()) return;
  const std::vector<std::string> texts = transport.GatherTexts(Packed(meeting));
  const auto b = base::Size(other - hashes.begin());
  Refuse(0, Unpacked(texts[0]), b, Unpacked(texts[b]), meeting.hint);
}

void Meet(const std::string& what, const std::string& where) {
  Meet({what, where, 0, [] { return std::string(); }});
}

uint64_t SharedHash(std::string_view text) { return std::hash<std::string_view>()(text); }

}  // namespace tessera::runtime
