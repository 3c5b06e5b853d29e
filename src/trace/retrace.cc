// Notes about functions that are traced again and again.
#include "trace/retrace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "tessera/debug.h"

namespace tessera {
namespace trace {
namespace {

std::atomic<bool> notes{true};

// Returns "4" for "is 4", "2 parts" for "has 2 parts".
std::string WithoutVerb(const std::string& what) { return what.substr(what.find(' ') + 1); }

}  // namespace

Given GivenOf(detail::TreeRef arguments, const std::vector<const ir::Type*>& types) {
  Given given = TakeArguments(arguments).facts;
  auto type = types.begin();
  for (Fact& fact : given)
    if (fact.what == kIsArray) fact.what = "is " + (*type++)->text();
  std::erase_if(given, [](const Fact& fact) { return fact.where == kArguments; });
  return given;
}

std::string ChangeText(const Given& before, const Given& now) {
  constexpr size_t kShown = 3;
  std::string text;
  size_t changes = 0;
  for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    const Fact &old = before[i], &fresh = now[i];
    if (old.where != fresh.where) {  // a different tree; its first change may be in the text
      if (text.empty()) text = fmt::format("{} became {}", old.where, fresh.where);
      return text;
    }
    if (old.what == fresh.what || ++changes > kShown) continue;
    text += fmt::format("{}{} from {} to {}", text.empty() ? "" : ", ", fresh.where,
                        WithoutVerb(old.what), WithoutVerb(fresh.what));
  }
  if (changes > kShown) text += fmt::format(", and {} more", changes - kShown);
  return text;
}

bool RetraceNotesOn() { return notes; }

}  // namespace trace

void RetraceNotes(bool on) { trace::notes = on; }

}  // namespace tessera
