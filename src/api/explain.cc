// Explanations and dumps over the propagated program.
#include "tessera/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/driver.h"
#include "api/explain.h"
#include "api/operands.h"
#include "base/error.h"
#include "propagation/explain.h"
#include "propagation/priorities.h"
#include "trace/scopes.h"

namespace tessera {
namespace api {
namespace {

using GraphValue = propagation::engine::ValueId;

thread_local std::string pinned;

// The values of a program and its regions, in the order and with the numbers of program text.
class ValueNames {
 public:
  struct Entry {
    GraphValue id;
    size_t region;
    ir::ValueId value;    // in the region's program
    std::string_view op;  // that makes it
    const ir::Type* type;
  };

  explicit ValueNames(const ProgramGraph& built) : built_(built), seen_(built.regions.size()) {
    Region(0);
  }

  const std::vector<Entry>& entries() const { return entries_; }
  std::string Text(GraphValue id) const {
    auto at = first_.find(id);
    if (at == first_.end()) return "a copy of a constant";
    const Entry& e = entries_[at->second];
    for (const auto& [name, value] : ProgramOf(e).names)
      if (value == e.value) return name;
    return Number(e);
  }
  std::string Number(const Entry& e) const { return fmt::format("%{}", &e - entries_.data()); }
  // Null: no value is called so.
  const Entry* Find(std::string_view text) const {
    for (const Entry& e : entries_)
      for (const auto& [name, value] : ProgramOf(e).names)
        if (name == text && value == e.value) return &e;
    for (const Entry& e : entries_)
      if (text == Number(e)) return &e;
    return nullptr;
  }
  // One line of a dump, but for the sharding: "%3 dot_general f32[8,64]".
  std::string Head(const Entry& e) const {
    return fmt::format("{} {} {}", Number(e), e.op, e.type->text());
  }

 private:
  const ir::Program& ProgramOf(const Entry& e) const { return *built_.regions[e.region].program; }

  void Region(size_t r) {
    const ir::Program& program = *built_.regions[r].program;
    for (ir::ValueId v : program.inputs) Add(r, v, r == 0 ? "argument" : "region input");
    for (const ir::Capture& c : program.captures) Add(r, c.value, "argument");
    for (const ir::Instruction& i : program.instructions) {
      for (ir::ValueId v : i.results) Add(r, v, i.op->name);
      for (const ir::RegionPtr& inner : i.regions) Region(Next(inner.get()));
    }
  }
  // Of regions that share one program, the first that has not been met.
  size_t Next(const ir::Program* program) {
    size_t r = 1;
    while (built_.regions[r].program != program || seen_[r]) ++r;
    seen_[r] = true;
    return r;
  }
  void Add(size_t region, ir::ValueId v, std::string_view op) {
    const ProgramGraph::RegionInfo& info = built_.regions[region];
    GraphValue id = info.values[static_cast<size_t>(v)];
    first_.emplace(id, entries_.size());
    entries_.push_back({id, region, v, op, info.program->type(v)});
  }

  const ProgramGraph& built_;
  std::vector<bool> seen_;
  std::vector<Entry> entries_;
  // Index into entries_. A branch's input is a value of the outside, and called as there.
  absl::flat_hash_map<GraphValue, size_t> first_;
};

// Where a value lies in the end.
std::string PlaceText(const Propagated& propagated, const ValueNames::Entry& e) {
  const ir::Type* place = e.region == 0 ? propagated.program->place(e.value) : nullptr;
  if (place) return Text(place->sharding());
  const sharding::TensorSharding* s = propagated.result.sharding(e.id);
  return Text(s ? propagation::engine::Closed(*s) : e.type->sharding());
}

[[noreturn]] void FailPins(const ir::Program& program, std::string reason) {
  Loc loc = program.instructions.empty() ? Loc::Unknown() : program.instructions[0].loc;
  base::ThrowSharding(base::Refusal("PinShardings", 2, base::Where(loc), std::move(reason),
                                    {"write the dump again with dump_shardings"}));
}

constexpr std::string_view kSeparator = " : ";

}  // namespace

const std::string& PinnedShardings() { return pinned; }

void Pin(const std::string& dump, ProgramGraph& built) {
  const ir::Program& program = *built.regions[0].program;
  if (program.instructions.size() <= 1) return;
  ValueNames names(built);
  size_t begin = 0;
  for (const ValueNames::Entry& e : names.entries()) {
    size_t end = dump.find('\n', begin);
    std::string line = dump.substr(begin, end - begin), head = names.Head(e);
    size_t cut = line.find(kSeparator);
    if (end == std::string::npos || cut == std::string::npos || line.substr(0, cut) != head)
      FailPins(program, fmt::format("the program has `{}` where the dump has `{}`", head, line));
    const sharding::MeshDef* mesh = e.type->mesh();
    if (!mesh) mesh = program.mesh;
    if (mesh)
      built.graph.values[static_cast<size_t>(e.id)].sharding = sharding::ParseSharding(
          line.substr(cut + kSeparator.size()), mesh->WithoutModes(), Loc::Unknown());
    begin = end + 1;
  }
  if (begin < dump.size())
    FailPins(program, fmt::format("the program ends where the dump has `{}`",
                                  dump.substr(begin, dump.find('\n', begin) - begin)));
}

}  // namespace api

Array named(Operand x, std::string_view name, Loc loc) {
  Array a = api::ToArray(x, {"named", loc});
  if (a.is_traced()) {
    auto* traced = static_cast<const trace::TracedArray*>(trace::Use(a, "named", loc).get());
    traced->trace->Name(std::string(name), traced->value);
  }
  return a;
}

namespace {

// A program propagated so that it can be explained.
class Explainer {
 public:
  Explainer(const Program& program, propagation::Stage stop_after)
      : propagated_(Propagate(*program.program(), stop_after)), values_(propagated_.built) {
    auto info = [this](propagation::engine::OpId i) -> const api::ProgramGraph::OpInfo& {
      return propagated_.built.ops[static_cast<size_t>(i)];
    };
    names_.value = [this](propagation::engine::ValueId v) { return values_.Text(v); };
    names_.op = [=](propagation::engine::OpId i) {
      if (info(i).instruction) return std::string(info(i).instruction->op->name);
      const ir::Instruction* edge = info(i).edge_of;
      if (!edge) return std::string("return");
      return (edge->regions.empty() ? "" : "the border of ") + std::string(edge->op->name);
    };
    names_.where = [=](propagation::engine::OpId i) {
      const ir::Instruction* at = info(i).instruction ? info(i).instruction : info(i).edge_of;
      return at ? base::Where(at->loc) : std::string();
    };
    names_.given = [this](propagation::engine::ValueId v, const std::string& maker) {
      return maker.empty() ? "the place of argument " + values_.Text(v)
                           : "the type of the result of " + maker;
    };
    if (stop_after >= propagation::Stage::kOpPriority)
      names_.rounds = propagation::engine::DefaultRoundNames();
    explainer_.emplace(propagated_.result, names_);
  }
  Explainer(const Explainer&) = delete;

  const api::ValueNames& values() const { return values_; }
  Explanation Of(const api::ValueNames::Entry& e) {
    const sharding::TensorSharding* s = propagated_.result.sharding(e.id);
    return {values_.Number(e), s ? Text(*s) : std::string(), explainer_->Of(e.id)};
  }

 private:
  static api::Propagated Propagate(const ir::Program& program, propagation::Stage stop_after) {
    if (program.per_device) base::ThrowRuntime(base::Refusal("explain", 2, "", api::kOfDevice));
    propagation::engine::Options options;
    options.stop_after = stop_after;
    options.record = true;
    return api::PropagateProgram(program, options);
  }

  api::Propagated propagated_;
  api::ValueNames values_;
  propagation::engine::Names names_;
  std::optional<propagation::engine::Explainer> explainer_;
};

}  // namespace

std::string explain(const Program& program, std::string_view value, propagation::Stage stop_after,
                    Loc loc) {
  Explainer explainer(program, stop_after);
  const api::ValueNames::Entry* e = explainer.values().Find(value);
  if (!e)
    base::ThrowRuntime(base::Refusal(
        "explain", 1, base::Where(loc), fmt::format("the program has no value \"{}\"", value),
        {"name one in the function with named(x, \"name\"), or take a number of its text"}));
  return explainer.Of(*e).text;
}

std::vector<Explanation> explain_all(const Program& program, propagation::Stage stop_after) {
  Explainer explainer(program, stop_after);
  std::vector<Explanation> all;
  for (const api::ValueNames::Entry& e : explainer.values().entries())
    all.push_back(explainer.Of(e));
  return all;
}

std::string dump_shardings(const Program& program) {
  api::Propagated propagated = api::PropagateProgram(*program.program());
  api::ValueNames names(propagated.built);
  std::string out;
  for (const api::ValueNames::Entry& e : names.entries())
    out += names.Head(e) + std::string(api::kSeparator) + api::PlaceText(propagated, e) + "\n";
  return out;
}

PinShardings::PinShardings(std::string_view text, Loc loc) : old_(api::pinned) {
  if (text.empty() || text[0] != '%' || text.find(api::kSeparator) == std::string_view::npos)
    base::ThrowRuntime(base::Refusal(
        "PinShardings", 1, base::Where(loc), "the text is not what dump_shardings writes",
        {"lines like `%3 dot_general f32[8,64] : <@mesh, [{\"x\"}, {}]>`"}));
  api::pinned = std::string(text);
}
PinShardings::~PinShardings() { api::pinned = old_; }

}  // namespace tessera
