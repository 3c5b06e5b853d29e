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

// Returns "argument 1[0]". The first level of a path counts the arguments.
std::string ArgumentName(const detail::Path& path) {
  std::string name = fmt::format("argument {}", path.at(0));
  for (size_t i = 1; i < path.size(); ++i) name += fmt::format("[{}]", path[i]);
  return name;
}

using Facts = std::vector<std::pair<detail::Path, std::string>>;

// Returns every fact about the arguments that a trace depends on, in the order of the note.
Facts FactsOf(const Given& given) {
  Facts facts = given.outline.statics;
  for (const auto& [path, parts] : given.outline.nodes)
    if (!path.empty()) facts.emplace_back(path, fmt::format("{} parts", parts));
  for (size_t i = 0; i < given.types.size(); ++i)
    facts.emplace_back(given.outline.arrays[i], given.types[i]->text());
  return facts;
}

}  // namespace

std::string ChangeText(const Given& before, const Given& now) {
  constexpr size_t kShown = 3;
  const Facts old = FactsOf(before), fresh = FactsOf(now);
  std::string text;
  size_t changes = 0;
  for (size_t i = 0; i < std::min(old.size(), fresh.size()); ++i) {
    if (old[i] == fresh[i] || ++changes > kShown) continue;
    text += fmt::format("{}{} from {} to {}", text.empty() ? "" : ", ",
                        ArgumentName(fresh[i].first), old[i].second, fresh[i].second);
    if (old[i].first != fresh[i].first) return text;  // a different tree
  }
  if (changes > kShown) text += fmt::format(", and {} more", changes - kShown);
  return text;
}

bool RetraceNotesOn() { return notes; }

}  // namespace trace

void RetraceNotes(bool on) { trace::notes = on; }

}  // namespace tessera
