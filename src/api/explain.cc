// Explanations and dumps over the propagated program.
#include "tessera/explain.h"

#include <fmt/format.h>

#include <algorithm>

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

// Numbers as program text has them: in order of definition, regions included. Values are those of
// the graph; the program's own come first there, with equal ids.
class ValueNames {
 public:
  ValueNames(const ir::Program& program, const ProgramGraph& built)
      : program_(program), built_(built) {
    size_t values = 0;
    for (const ProgramGraph::RegionInfo& r : built.regions)
      values = std::max(values, static_cast<size_t>(r.first_value) + r.program->values.size());
    number_.assign(values, -1);
    op_.assign(values, "argument");
    AddRegion(0);
  }

  std::string Text(GraphValue v) const {
    for (const auto& [name, value] : program_.names)
      if (value == v) return name;
    return Number(v);
  }
  std::string Number(GraphValue v) const {
    auto i = static_cast<size_t>(v);
    return i < number_.size() ? fmt::format("%{}", number_[i]) : "a copy of a constant";
  }
  std::string_view OpOf(GraphValue v) const { return op_[static_cast<size_t>(v)]; }
  // -1: no value is called so.
  GraphValue Find(std::string_view text) const {
    for (const auto& [name, value] : program_.names)
      if (name == text) return value;
    for (GraphValue v : order_)
      if (Number(v) == text) return v;
    return -1;
  }
  const std::vector<GraphValue>& order() const { return order_; }

 private:
  void AddRegion(size_t r) {
    const ProgramGraph::RegionInfo& region = built_.regions[r];
    const ir::Program& program = *region.program;
    for (ir::ValueId v : program.inputs) Add(region.first_value + v);
    for (const ir::Capture& c : program.captures) Add(region.first_value + c.value);
    for (const ir::Instruction& i : program.instructions) {
      for (ir::ValueId v : i.results) {
        Add(region.first_value + v);
        op_[static_cast<size_t>(region.first_value + v)] = i.op->name;
      }
      if (i.regions.empty()) continue;
      for (size_t inner = r + 1; inner < built_.regions.size(); ++inner)
        if (built_.regions[inner].parent == static_cast<int32_t>(r) && InstructionOf(inner) == &i)
          AddRegion(inner);
    }
  }
  const ir::Instruction* InstructionOf(size_t region) const {
    return built_.ops[static_cast<size_t>(built_.regions[region].op)].instruction;
  }
  void Add(GraphValue v) {
    number_[static_cast<size_t>(v)] = static_cast<int>(order_.size());
    order_.push_back(v);
  }

  const ir::Program& program_;
  const ProgramGraph& built_;
  std::vector<int> number_;
  std::vector<std::string_view> op_;
  std::vector<GraphValue> order_;
};

// Whether v is a value of the program itself, not one of a region. Dumps are of those.
bool OfProgram(const ir::Program& program, GraphValue v) {
  return static_cast<size_t>(v) < program.values.size();
}

// One line of a dump, but for the sharding: "%3 dot_general f32[8,64]".
std::string Head(const ir::Program& program, const ValueNames& names, ir::ValueId v) {
  return fmt::format("{} {} {}", names.Number(v), names.OpOf(v), program.type(v)->text());
}

[[noreturn]] void FailPins(const ir::Program& program, std::string reason) {
  Loc loc = program.instructions.empty() ? Loc::Unknown() : program.instructions[0].loc;
  base::ThrowSharding({.kind = {},
                       .op = "PinShardings",
                       .label = "PinShardings.C2",
                       .where = base::Where(loc),
                       .reason = std::move(reason),
                       .operands = {},
                       .notes = {"write the dump again with dump_shardings"},
                       .fixes = {}});
}

constexpr std::string_view kSeparator = " : ";

}  // namespace

const std::string& PinnedShardings() { return pinned; }

void Pin(const ir::Program& program, const std::string& dump, ProgramGraph& built) {
  if (program.instructions.size() <= 1) return;
  ValueNames names(program, built);
  size_t begin = 0;
  for (ir::ValueId v : names.order()) {
    if (!OfProgram(program, v)) continue;
    size_t end = dump.find('\n', begin);
    std::string line = dump.substr(begin, end - begin), head = Head(program, names, v);
    size_t cut = line.find(kSeparator);
    if (end == std::string::npos || cut == std::string::npos || line.substr(0, cut) != head)
      FailPins(program, fmt::format("the program has `{}` where the dump has `{}`", head, line));
    const sharding::MeshDef* mesh = program.type(v)->mesh();
    if (!mesh) mesh = program.mesh;
    if (mesh)
      built.graph.values[static_cast<size_t>(v)].sharding = sharding::ParseSharding(
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
      : propagated_(Propagate(*program.program(), stop_after)),
        values_(*program.program(), propagated_.built) {
    auto instruction = [this](propagation::engine::OpId i) {
      return propagated_.built.ops[static_cast<size_t>(i)].instruction;
    };
    names_.value = [this](propagation::engine::ValueId v) { return values_.Text(v); };
    names_.op = [=, this](propagation::engine::OpId i) -> std::string {
      if (instruction(i)) return std::string(instruction(i)->op->name);
      bool end = propagated_.built.ops[static_cast<size_t>(i)].ends_region;
      return end ? "return" : "the border of a loop or branch";
    };
    names_.where = [=](propagation::engine::OpId i) {
      return instruction(i) ? base::Where(instruction(i)->loc) : std::string();
    };
    if (stop_after >= propagation::Stage::kOpPriority)
      names_.rounds = propagation::engine::DefaultRoundNames();
  }
  Explainer(const Explainer&) = delete;

  const api::ValueNames& values() const { return values_; }
  Explanation Of(propagation::engine::ValueId v) const {
    const sharding::TensorSharding* s = propagated_.result.sharding(v);
    return {values_.Number(v), s ? Text(*s) : std::string(),
            propagation::engine::Explain(propagated_.result, v, names_)};
  }

 private:
  static api::Propagated Propagate(const ir::Program& program, propagation::Stage stop_after) {
    if (program.per_device)
      base::ThrowRuntime({.kind = {},
                          .op = "explain",
                          .label = "explain.C2",
                          .where = {},
                          .reason = "the program is one device's already",
                          .operands = {},
                          .notes = {},
                          .fixes = {}});
    propagation::engine::Options options;
    options.stop_after = stop_after;
    options.record = true;
    return api::PropagateProgram(program, options);
  }

  api::Propagated propagated_;
  api::ValueNames values_;
  propagation::engine::Names names_;
};

}  // namespace

std::string explain(const Program& program, std::string_view value, propagation::Stage stop_after,
                    Loc loc) {
  Explainer explainer(program, stop_after);
  propagation::engine::ValueId v = explainer.values().Find(value);
  if (v < 0)
    base::ThrowRuntime(
        {.kind = {},
         .op = "explain",
         .label = "explain.C1",
         .where = base::Where(loc),
         .reason = fmt::format("the program has no value \"{}\"", value),
         .operands = {},
         .notes =
             {"name one in the function with named(x, \"name\"), or take a number of its text"},
         .fixes = {}});
  return explainer.Of(v).text;
}

std::vector<Explanation> explain_all(const Program& program, propagation::Stage stop_after) {
  Explainer explainer(program, stop_after);
  std::vector<Explanation> all;
  for (propagation::engine::ValueId v : explainer.values().order()) all.push_back(explainer.Of(v));
  return all;
}

std::string dump_shardings(const Program& program) {
  const ir::Program& p = *program.program();
  api::Propagated propagated = api::PropagateProgram(p);
  api::ValueNames names(p, propagated.built);
  std::string out;
  for (ir::ValueId v : names.order()) {
    if (!api::OfProgram(p, v)) continue;
    const ir::Type* place = propagated.program->place(v);
    out += api::Head(p, names, v) + std::string(api::kSeparator) +
           Text((place ? place : p.type(v))->sharding()) + "\n";
  }
  return out;
}

PinShardings::PinShardings(std::string_view text, Loc loc) : old_(api::pinned) {
  if (text.empty() || text[0] != '%' || text.find(api::kSeparator) == std::string_view::npos)
    base::ThrowRuntime({.kind = {},
                        .op = "PinShardings",
                        .label = "PinShardings.C1",
                        .where = base::Where(loc),
                        .reason = "the text is not what dump_shardings writes",
                        .operands = {},
                        .notes = {"lines like `%3 dot_general f32[8,64] : <@mesh, [{\"x\"}, {}]>`"},
                        .fixes = {}});
  api::pinned = std::string(text);
}
PinShardings::~PinShardings() { api::pinned = old_; }

}  // namespace tessera
