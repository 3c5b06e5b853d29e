// Explanations and dumps over the propagated program.
#include "tessera/explain.h"

#include <fmt/format.h>

#include "api/explain.h"
#include "api/operands.h"
#include "base/error.h"
#include "propagation/explain.h"
#include "trace/scopes.h"

namespace tessera {
namespace api {
namespace {

thread_local std::string pinned;

// Numbers as program text has them: in order of definition.
class ValueNames {
 public:
  explicit ValueNames(const ir::Program& program) : program_(program) {
    number_.assign(program.values.size(), -1);
    op_.assign(program.values.size(), "argument");
    for (ir::ValueId v : program.inputs) Add(v);
    for (const ir::Capture& c : program.captures) Add(c.value);
    for (const ir::Instruction& i : program.instructions)
      for (ir::ValueId v : i.results) {
        Add(v);
        op_[static_cast<size_t>(v)] = i.op->name;
      }
  }

  std::string Text(ir::ValueId v) const {
    for (const auto& [name, value] : program_.names)
      if (value == v) return name;
    return Number(v);
  }
  std::string Number(ir::ValueId v) const {
    auto i = static_cast<size_t>(v);
    return i < number_.size() ? fmt::format("%{}", number_[i]) : "a copy of a constant";
  }
  std::string_view OpOf(ir::ValueId v) const { return op_[static_cast<size_t>(v)]; }
  // -1: no value is called so.
  ir::ValueId Find(std::string_view text) const {
    for (const auto& [name, value] : program_.names)
      if (name == text) return value;
    for (ir::ValueId v : order_)
      if (Number(v) == text) return v;
    return -1;
  }
  const std::vector<ir::ValueId>& order() const { return order_; }

 private:
  void Add(ir::ValueId v) {
    number_[static_cast<size_t>(v)] = static_cast<int>(order_.size());
    order_.push_back(v);
  }
  const ir::Program& program_;
  std::vector<int> number_;
  std::vector<std::string_view> op_;
  std::vector<ir::ValueId> order_;
};

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

void Pin(const ir::Program& program, const std::string& dump, propagation::Graph& graph) {
  if (program.instructions.size() <= 1) return;
  ValueNames names(program);
  size_t begin = 0;
  for (ir::ValueId v : names.order()) {
    size_t end = dump.find('\n', begin);
    std::string line = dump.substr(begin, end - begin), head = Head(program, names, v);
    size_t cut = line.find(kSeparator);
    if (end == std::string::npos || cut == std::string::npos || line.substr(0, cut) != head)
      FailPins(program, fmt::format("the program has `{}` where the dump has `{}`", head, line));
    const sharding::MeshDef* mesh = program.type(v)->mesh();
    if (!mesh) mesh = program.mesh;
    if (mesh)
      graph.values[static_cast<size_t>(v)].sharding = sharding::ParseSharding(
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

std::string explain(const Program& program, std::string_view value, Loc loc) {
  const ir::Program& p = *program.program();
  api::ValueNames values(p);
  ir::ValueId v = values.Find(value);
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
  propagation::Options options;
  options.record = true;
  api::Propagated propagated = api::PropagateProgram(p, options);
  const api::ProgramGraph& built = propagated.built;
  auto instruction = [&](propagation::OpId i) {
    return built.ops[static_cast<size_t>(i)].instruction;
  };
  propagation::Names names;
  names.value = [&](propagation::ValueId id) {
    bool inside = built.regions.size() > 1 && id >= built.regions[1].first_value;
    return inside ? std::string("a value of a region") : values.Text(id);
  };
  names.op = [&](propagation::OpId i) {
    return instruction(i) ? std::string(instruction(i)->op->name)
                          : std::string("the border of a region");
  };
  names.where = [&](propagation::OpId i) {
    return instruction(i) ? base::Where(instruction(i)->loc) : std::string();
  };
  names.rounds = {"elementwise and the like, values used once", "elementwise and the like",
                  "dims of operands and results", "all dims", "all dims, broadcasts forward too"};
  return propagation::Explain(propagated.result, v, names);
}

std::string dump_shardings(const Program& program) {
  const ir::Program& p = *program.program();
  api::ValueNames names(p);
  api::Propagated propagated = api::PropagateProgram(p);
  std::string out;
  for (ir::ValueId v : names.order()) {
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
