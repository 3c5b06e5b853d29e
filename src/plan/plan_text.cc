// Prints the steps, exchanges and boxes of a plan, nested in their loops and switches.
#include "plan/plan_text.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/at.h"

namespace tessera::plan {
namespace {

// The number of pieces is quadratic in the devices. Exchanges of more instances show only a count.
constexpr size_t kMostInstances = 8;

std::string Name(PlanValueId v) { return fmt::format("v{}", base::Number(v)); }

std::string List(const std::vector<PlanValueId>& values) {
  std::string out;
  for (PlanValueId v : values) out += (out.empty() ? "" : ", ") + Name(v);
  return out;
}

const char* Name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInput:
      return "input";
    case ValueKind::kConstant:
      return "constant";
    case ValueKind::kTemp:
      return "temporary";
    case ValueKind::kOutput:
      return "output";
  }
  return nullptr;
}

class Printer {
 public:
  explicit Printer(const Plan& plan) : plan_(plan) {}

  std::string Run() {
    out_ = fmt::format("devices {}\n", plan_.devices);
    for (PlanLayoutId l : plan_.layouts.ids())
      out_ += fmt::format("layout {}: instances [{}]\n", base::Number(l),
                          fmt::join(plan_.layouts[l].instance_of_device, ","));
    for (PlanValueId v : plan_.values.ids()) Value(v);
    Nodes(plan_.nodes, "");
    out_ += fmt::format("return {}\n", List(plan_.outputs));
    return std::move(out_);
  }

 private:
  void Value(PlanValueId v) {
    const PlanValue& value = plan_.values[v];
    out_ += fmt::format("{}: {} of {} B, layout {}", Name(v), Name(value.kind), value.bytes,
                        base::Number(value.layout));
    const auto input =
        absl::c_find_if(plan_.inputs, [&](const PlanInput& in) { return in.value == v; });
    if (input != plan_.inputs.end() && input->donated) out_ += ", donated";
    out_ += "\n";
  }

  std::string Note(NoteId note) const {
    return note == kNoNote ? "" : "  // " + plan_.notes[note].text();
  }

  void Nodes(const std::vector<Node>& nodes, const std::string& indent) {
    for (const Node& node : nodes) {
      if (auto* segment = std::get_if<Segment>(&node)) Steps(*segment, indent);
      if (auto* exchange = std::get_if<Exchange>(&node)) Pieces(*exchange, indent);
      if (auto* loop = std::get_if<Loop>(&node)) Around(*loop, indent);
      if (auto* branches = std::get_if<Switch>(&node)) Branches(*branches, indent);
      if (auto* call = std::get_if<HostCall>(&node))
        out_ += fmt::format("{}host call({}){}\n", indent, List(call->in), Note(call->note));
    }
  }

  void Steps(const Segment& segment, const std::string& indent) {
    out_ += indent + "segment\n";
    for (const Step& step : segment.steps)
      out_ += fmt::format("{}  {} = step({}), layout {}{}\n", indent, List(step.out), List(step.in),
                          base::Number(step.layout), Note(step.note));
  }

  void Pieces(const Exchange& e, const std::string& indent) {
    out_ += fmt::format(
        "{}{} {} = {}({}), {}{}{}\n", indent, e.joined ? "with it" : "exchange", Name(e.out),
        e.combine ? "combine" : "copy", List(e.in), e.dtype.name(),
        e.computed_from ? fmt::format(" computed from {}", e.computed_from->name()) : "",
        Note(e.note));
    for (size_t b = 0; b < e.boxes.size(); ++b)
      out_ += fmt::format("{}  box {}: [{}] strides [{}] -> [{}]\n", indent, b,
                          fmt::join(e.boxes[b].extents, ","), fmt::join(e.boxes[b].in_strides, ","),
                          fmt::join(e.boxes[b].out_strides, ","));
    for (size_t i = 0; i < std::min(e.pieces.size(), kMostInstances); ++i) {
      if (e.pieces[i].empty() && !(e.receives.empty() && e.reductions.empty())) continue;
      std::string pieces;
      for (const Exchange::Piece& p : e.pieces[i])
        pieces += fmt::format("{}box {} of {}.{} at {} -> {}", pieces.empty() ? "" : "; ", p.box,
                              Name(base::At(e.in, p.operand)), p.source, p.in_offset, p.out_offset);
      out_ += fmt::format("{}  {}.{}: {}\n", indent, Name(e.out), i, pieces);
    }
    if (e.pieces.size() > kMostInstances)
      out_ += fmt::format("{}  and {} more instances\n", indent, e.pieces.size() - kMostInstances);
    for (const Exchange::Message& m : e.sends)
      out_ += fmt::format("{}  to process {}: box {} of {}.{} at {}\n", indent, m.process, m.box,
                          Name(base::At(e.in, m.operand)), m.instance, m.offset);
    for (const Exchange::GroupReduction& r : e.reductions)
      out_ += fmt::format("{}  {} with processes [{}]: {} elements of {}.{} at {} -> {}.{}\n",
                          indent, r.scatters ? "reduce and scatter" : "reduce",
                          fmt::join(r.processes, ","), r.elements, Name(base::At(e.in, r.operand)),
                          r.source, r.in_offset, Name(e.out), r.instance);
    for (const Exchange::Message& m : e.receives)
      out_ += fmt::format("{}  from process {}: box {} in {}.{} at {}{}\n", indent, m.process,
                          m.box, Name(e.out), m.instance, m.offset,
                          e.receives_as_sent ? ", with the strides of the operand" : "");
  }

  void Around(const Loop& loop, const std::string& indent) {
    out_ += loop.has_predicate() ? fmt::format("{}loop while {}", indent, Name(loop.predicate))
                                 : fmt::format("{}loop {} times", indent, loop.trips);
    out_ += loop.reverse ? ", reversed\n" : "\n";
    for (const Carry& c : loop.carries)
      out_ += fmt::format("{}  {} becomes {}\n", indent, Name(c.value), Name(c.next));
    for (const LoopSlice& s : loop.reads)
      out_ += fmt::format("{}  reads {}, a slice of {}\n", indent, Name(s.slice), Name(s.whole));
    for (const LoopSlice& s : loop.writes)
      out_ += fmt::format("{}  writes {}, a slice of {}\n", indent, Name(s.slice), Name(s.whole));
    if (!loop.condition.empty()) {
      out_ += indent + "  condition\n";
      Nodes(loop.condition, indent + "    ");
    }
    out_ += indent + "  body\n";
    Nodes(loop.body, indent + "    ");
  }

  void Branches(const Switch& node, const std::string& indent) {
    out_ += fmt::format("{}switch on {} -> {}\n", indent, Name(node.index), List(node.results));
    for (size_t b = 0; b < node.branches.size(); ++b) {
      out_ += fmt::format("{}  branch {}\n", indent, b);
      Nodes(node.branches[b], indent + "    ");
    }
  }

  const Plan& plan_;
  std::string out_;
};

}  // namespace

std::string Text(const Plan& plan) { return Printer(plan).Run(); }

}  // namespace tessera::plan
