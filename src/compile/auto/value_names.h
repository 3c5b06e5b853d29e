// Names of the values of a program: the numbers of its text, or names that the user gave.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/near_names.h"
#include "compile/auto/program_graph.h"

namespace tessera::compile {

// The values of a program and its regions, in the order and with the numbers of program text.
class ValueNames {
 public:
  struct Entry {
    size_t number;  // in texts
    propagation::ValueId id;
    propagation::RegionId region;
    ir::ValueId value;    // in the region's program
    std::string_view op;  // that defines it
    const ir::Type* type;
    std::string_view name;  // by the user; "" if there is none
  };

  explicit ValueNames(const ProgramGraph& built) : built_(built) {
    Region(propagation::RegionId::kOutermost);
  }

  const std::vector<Entry>& entries() const { return entries_; }
  // Returns the first entry of a value, null for a copy of a constant.
  const Entry* First(propagation::ValueId id) const {
    auto at = first_.find(id);
    return at == first_.end() ? nullptr : &entries_[at->second];
  }
  std::string Text(propagation::ValueId id) const {
    const Entry* e = First(id);
    if (!e) return "a copy of a constant";
    return e->name.empty() ? Number(*e) : std::string(e->name);
  }
  static std::string Number(const Entry& e) { return fmt::format("%{}", e.number); }
  // Whether the names are those of another text, which the program was read from.
  bool are_of_text() const { return are_of_text_; }
  // Returns the values that have the name: a function that is called twice makes each value twice.
  std::vector<const Entry*> Find(std::string_view text) const {
    std::vector<const Entry*> found;
    if (const auto named = by_name_.find(text); named != by_name_.end())
      for (size_t k : named->second) found.push_back(&entries_[k]);
    for (const Entry& e : entries_)
      if (found.empty() && text == Number(e)) found.push_back(&e);
    return found;
  }
  // Returns the end of a message that no value has this name: `; did you mean "h1", "h2"?`.
  std::string Suggestion(std::string_view text) const {
    if (!are_of_text_ && text.starts_with('%') && !entries_.empty())
      return fmt::format(": the last is {}", Number(entries_.back()));
    std::vector<std::string> names;
    for (const auto& [name, entries] : by_name_)
      if (are_of_text_ || !name.starts_with('%')) names.emplace_back(name);
    std::ranges::sort(names);
    if (names.empty()) return "";
    return fmt::format("; did you mean \"{}\"?",
                       fmt::join(base::NearNames(std::move(names), text), "\", \""));
  }
  // Returns a line of a dump up to the sharding: "%3 dot_general f32[8,64]".
  std::string Head(const Entry& e) const {
    return fmt::format("{} {} {}", Number(e), e.op, e.type->text());
  }

 private:
  void Region(propagation::RegionId r) {
    const ir::Program& program = *built_.regions[r].program;
    const bool outermost = r == propagation::RegionId::kOutermost;
    const size_t first = entries_.size();
    for (ir::ValueId v : program.inputs) Add(r, v, outermost ? "argument" : "region input");
    for (const ir::Capture& c : program.captures) Add(r, c.value, "argument");
    size_t inner = 0;
    for (const ir::Instruction& i : program.instructions) {
      for (ir::ValueId v : i.results) Add(r, v, i.op->name);
      for (size_t k = 0; k < i.regions.size(); ++k) Region(built_.regions[r].inner[inner++]);
    }
    AddNames(r, first);
  }
  // A value may have several names: the first one counts.
  void AddNames(propagation::RegionId r, size_t first) {
    const ir::Program& program = *built_.regions[r].program;
    if (program.names.empty()) return;
    absl::flat_hash_map<ir::ValueId, size_t> entry_of;
    for (size_t k = first; k < entries_.size(); ++k)
      if (entries_[k].region == r) entry_of.emplace(entries_[k].value, k);
    for (const auto& [name, value] : program.names) {
      const auto at = entry_of.find(value);
      if (at == entry_of.end()) continue;
      if (entries_[at->second].name.empty()) entries_[at->second].name = name;
      std::vector<size_t>& values = by_name_[name];
      if (values.empty() || values.back() != at->second) values.push_back(at->second);
      are_of_text_ = are_of_text_ || name.starts_with('%');
    }
  }
  void Add(propagation::RegionId region, ir::ValueId v, std::string_view op) {
    const ProgramGraph::RegionInfo& info = built_.regions[region];
    const propagation::ValueId id = info.values[v];
    first_.emplace(id, entries_.size());
    entries_.push_back({entries_.size(), id, region, v, op, info.program->type(v), {}});
  }

  const ProgramGraph& built_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string_view, std::vector<size_t>> by_name_;
  bool are_of_text_ = false;
  // Indices into entries_. An input of a branch has the name of the value outside.
  absl::flat_hash_map<propagation::ValueId, size_t> first_;
};

}  // namespace tessera::compile
