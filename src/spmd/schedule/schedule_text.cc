// Writes one line per item.
#include "spmd/schedule/schedule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sharding/dim_map.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

// The numbers of values in the text of the device program, which counts definitions. Values of a
// region are numbered after the results of its instruction.
struct ValueNumbers {
  base::IdVector<ValueId, int> of;
  base::IdVector<InstructionId, std::vector<ValueNumbers>> regions;
};

ValueNumbers NumbersOf(const ir::Program& program, int& next) {
  ValueNumbers numbers{base::IdVector<ValueId, int>(program.values.size(), -1), {}};
  const auto define = [&](ValueId v) { numbers.of[v] = next++; };
  for (ValueId v : program.inputs) define(v);
  for (const ir::Capture& c : program.captures) define(c.value);
  for (const Instruction& instruction : program.instructions) {
    for (ValueId v : instruction.results) define(v);
    std::vector<ValueNumbers> regions;
    for (const ir::RegionPtr& region : instruction.regions)
      regions.push_back(NumbersOf(*region, next));
    numbers.regions.Add(std::move(regions));
  }
  return numbers;
}

class SchedulePrinter {
 public:
  std::string Run(const Schedule& schedule, const ir::Program& device,
                  const ValueNumbers& numbers) {
    PrintItems({schedule, device, numbers}, "");
    return std::move(out_);
  }

 private:
  // The schedule of one program: the device program, or a region.
  struct Scope {
    const Schedule& schedule;
    const ir::Program& device;
    const ValueNumbers& numbers;

    std::string Value(ValueId v) const { return fmt::format("%{}", numbers.of[v]); }
    template <class Values>
    std::string List(const Values& values) const {
      std::string out;
      for (ValueId v : values) out += (out.empty() ? "" : ", ") + Value(v);
      return out;
    }
    std::string Text(InstructionId i) const { return Text(InstructionAt(device, i)); }
    std::string Text(const Instruction& i) const {
      std::string out = List(i.results) + (i.results.empty() ? "" : " = ");
      out += i.op->name;
      if (!i.operands.empty()) out += " " + List(i.operands);
      if (i.params) out += fmt::format(" {{{}}}", i.params->text());
      return out;
    }
    std::string Layout(ValueId v) const {
      const LayoutKey& key = schedule.layouts[schedule.values[v].layout];
      std::string out;
      for (sharding::AxisPart a : key.axes)
        out += (out.empty() ? "" : ", ") + sharding::AxisText(*key.mesh, a);
      return out.empty() ? "one buffer for all" : "a buffer per " + out;
    }
  };

  void PrintItems(const Scope& scope, const std::string& indent) {
    for (const Item& item : scope.schedule.items)
      std::visit([&](const auto& kind) { PrintItem(scope, kind, indent); }, item);
    const ScheduledValues& values = scope.schedule.values;
    for (ValueId v : values.ids())
      if (values[v].storage != v)
        out_ += fmt::format("{}view {} of {}\n", indent, scope.Value(v),
                            scope.Value(values[v].storage));
  }

  void PrintItem(const Scope& scope, const KernelItem& item, const std::string& indent) {
    PrintInstruction(scope, "kernel", item.instruction, indent);
    for (const ReadPart& part : item.copied)
      out_ +=
          fmt::format("{}  {}\n", indent,
                      Part(scope, InstructionAt(scope.device, item.instruction).results[0], part));
    for (const ReadPart& part : item.assembled)
      out_ +=
          fmt::format("{}  {}\n", indent,
                      Part(scope, InstructionAt(scope.device, item.instruction).operands[0], part));
  }
  void PrintItem(const Scope& scope, const HostCallItem& item, const std::string& indent) {
    PrintInstruction(scope, "host call", item.instruction, indent);
  }

  void PrintItem(const Scope& scope, const RegionItem& item, const std::string& indent) {
    PrintInstruction(scope, "control", item.instruction, indent);
    const Instruction& instruction = InstructionAt(scope.device, item.instruction);
    for (size_t r = 0; r < item.schedules.size(); ++r) {
      out_ += fmt::format("{}  region {}\n", indent, r);
      PrintItems(
          {*item.schedules[r], *instruction.regions[r], scope.numbers.regions[item.instruction][r]},
          indent + "    ");
    }
  }

  void PrintItem(const Scope& scope, const FusedItem& group, const std::string& indent) {
    out_ += fmt::format("{}fused over [{}]", indent, fmt::join(group.space, ","));
    if (group.reduced > 0) out_ += fmt::format(", the last {} reduced", group.reduced);
    out_ += fmt::format(": ({}) -> ({}), {}\n", scope.List(group.in), scope.List(group.out),
                        group.out.empty() ? "no live values yet" : scope.Layout(group.out[0]));
    PrintRematerialised(scope, group, indent + "  ");
    PrintReads(scope, group.reads, indent);
    PrintMembers(scope, group, indent + "  ");
  }

  void PrintItem(const Scope& scope, const MoveItem& move, const std::string& indent) {
    for (InstructionId i : move.instructions) {
      PrintInstruction(scope, i == move.instructions[0] ? "move" : "  with it", i, indent);
      PrintReads(scope, move.reads, indent);
      if (move.computes) {
        out_ += fmt::format("{}  computed on the way: {} -> {}\n", indent,
                            scope.Value(move.computes->in[0]), scope.Value(move.computes->out[0]));
        PrintRematerialised(scope, *move.computes, indent + "    ");
        PrintMembers(scope, *move.computes, indent + "    ");
      }
      if (move.stored)
        out_ += fmt::format("{}  stored as {}\n", indent, Part(scope, move.out[0], *move.stored));
    }
  }

  void PrintInstruction(const Scope& scope, const char* kind, InstructionId i,
                        const std::string& indent) {
    const Instruction& instruction = InstructionAt(scope.device, i);
    out_ += fmt::format(
        "{}{}: {}, {}\n", indent, kind, scope.Text(instruction),
        instruction.results.empty() ? "no results" : scope.Layout(instruction.results[0]));
  }
  void PrintRematerialised(const Scope& scope, const FusedItem& group, const std::string& indent) {
    for (const auto& [value, definition] : group.rematerialised)
      out_ += fmt::format("{}{}\n", indent, scope.Text(definition));
  }
  void PrintMembers(const Scope& scope, const FusedItem& group, const std::string& indent) {
    for (InstructionId i : group.instructions) out_ += fmt::format("{}{}\n", indent, scope.Text(i));
  }
  void PrintReads(const Scope& scope, const std::map<ValueId, ReadParts>& reads,
                  const std::string& indent) {
    for (const auto& [value, parts] : reads)
      for (const ReadPart& part : parts)
        out_ += fmt::format("{}  {}\n", indent, Part(scope, value, part));
  }

  // Returns `%3[0:1,0:64] = %1[7 + i,j]`: element (i, j) of %3 is element (7 + i, j) of %1.
  static std::string Part(const Scope& scope, ValueId value, const ReadPart& part) {
    std::string box, index;
    for (size_t d = 0; d < part.begin.size(); ++d)
      box += fmt::format("{}{}:{}", d ? "," : "", part.begin[d], part.end[d]);
    for (const ReadDim& dim : part.dims) {
      if (!index.empty()) index += ",";
      const std::string at = dim.dim < 0 ? "" : sharding::FactorSymbol(dim.dim);
      const std::string step = dim.step == 1 ? "" : fmt::format("{}*", dim.step);
      index += dim.dim < 0      ? fmt::format("{}", dim.start)
               : dim.start == 0 ? step + at
                                : fmt::format("{} + {}{}", dim.start, step, at);
    }
    return fmt::format("{}[{}] = {}[{}]", scope.Value(value), box, scope.Value(part.source), index);
  }

  std::string out_;
};

}  // namespace

std::string Text(const Schedule& schedule, const ir::Program& device) {
  int next = 0;
  return SchedulePrinter().Run(schedule, device, NumbersOf(device, next));
}

}  // namespace tessera::spmd
