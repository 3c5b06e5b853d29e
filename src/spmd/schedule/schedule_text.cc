// Schedules as text, an item a line.
#include "spmd/schedule/schedule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/at.h"
#include "sharding/dim_map.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

// The numbers that values have in the text of the device program, which go by definition. A
// region's go on after the results of its instruction.
struct Numbers {
  std::vector<int> of;                        // per value
  std::vector<std::vector<Numbers>> regions;  // per instruction
};

Numbers NumbersOf(const ir::Program& program, int& next) {
  Numbers numbers{std::vector<int>(program.values.size(), -1), {}};
  auto define = [&](ValueId v) { base::At(numbers.of, v) = next++; };
  for (ValueId v : program.inputs) define(v);
  for (const ir::Capture& c : program.captures) define(c.value);
  for (const Instruction& instruction : program.instructions) {
    for (ValueId v : instruction.results) define(v);
    numbers.regions.emplace_back();
    for (const ir::RegionPtr& region : instruction.regions)
      numbers.regions.back().push_back(NumbersOf(*region, next));
  }
  return numbers;
}

class Printer {
 public:
  std::string Run(const Schedule& schedule, const ir::Program& device, const Numbers& numbers) {
    Items(schedule, device, numbers, "");
    return std::move(out_);
  }

 private:
  // One program's schedule, the region's inside of one.
  struct Scope {
    const Schedule& schedule;
    const ir::Program& device;
    const Numbers& numbers;

    std::string Value(ValueId v) const { return fmt::format("%{}", base::At(numbers.of, v)); }
    template <class Values>
    std::string List(const Values& values) const {
      std::string out;
      for (ValueId v : values) out += (out.empty() ? "" : ", ") + Value(v);
      return out;
    }
    const Instruction& At(int32_t i) const { return base::At(device.instructions, i); }
    std::string Text(const Instruction& i) const {
      std::string out = List(i.results) + (i.results.empty() ? "" : " = ");
      out += i.op->name;
      if (!i.operands.empty()) out += " " + List(i.operands);
      if (i.params) out += fmt::format(" {{{}}}", i.params->text());
      return out;
    }
    // The axes along which devices hold different bits of v.
    std::string Layout(ValueId v) const {
      const LayoutKey& key = base::At(schedule.layouts, base::At(schedule.values, v).layout);
      std::string out;
      for (sharding::AxisPart a : key.axes)
        out += (out.empty() ? "" : ", ") + sharding::AxisText(*key.mesh, a);
      return out.empty() ? "one buffer for all" : "a buffer per " + out;
    }
  };

  void Items(const Schedule& schedule, const ir::Program& device, const Numbers& numbers,
             const std::string& indent) {
    Scope scope{schedule, device, numbers};
    for (const Item& item : schedule.items) {
      if (item.kind == Item::kFused)
        Group(scope, item, indent);
      else
        Single(scope, item, indent);
      for (size_t r = 0; r < item.schedules.size(); ++r) {
        const auto at = item.instructions[0];
        out_ += fmt::format("{}  region {}\n", indent, r);
        Items(*item.schedules[r], *base::At(device.instructions, at).regions[r],
              base::At(numbers.regions, at)[r], indent + "    ");
      }
    }
    for (size_t v = 0; v < schedule.values.size(); ++v)
      if (schedule.values[v].storage != static_cast<ValueId>(v))
        out_ += fmt::format("{}view {} of {}\n", indent, scope.Value(static_cast<ValueId>(v)),
                            scope.Value(schedule.values[v].storage));
  }

  void Group(const Scope& scope, const Item& item, const std::string& indent) {
    out_ += fmt::format("{}fused over [{}]", indent, fmt::join(item.space, ","));
    if (item.reduced > 0) out_ += fmt::format(", the last {} reduced", item.reduced);
    out_ += fmt::format(": ({}) -> ({}), {}\n", scope.List(item.in), scope.List(item.out),
                        scope.Layout(item.out[0]));
    for (const auto& [value, maker] : item.made_here)
      out_ += fmt::format("{}  {}\n", indent, scope.Text(scope.At(maker)));
    for (const auto& [value, parts] : item.reads)
      for (const ReadPart& part : parts)
        out_ += fmt::format("{}  {}\n", indent, Part(scope, value, part));
    for (int32_t i : item.instructions)
      out_ += fmt::format("{}  {}\n", indent, scope.Text(scope.At(i)));
  }

  // `%3[0:1,0:64] = %1[7 + i,j]`: indices of the source by those of the value.
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

  static const char* KindName(Item::Kind kind) {
    switch (kind) {
      case Item::kKernel:
        return "kernel";
      case Item::kFused:
        return "fused";
      case Item::kMove:
        return "move";
      case Item::kRegion:
        return "control";
      case Item::kHostCall:
        return "host call";
    }
    return "";
  }

  void Single(const Scope& scope, const Item& item, const std::string& indent) {
    for (int32_t i : item.instructions) Line(scope, item, scope.At(i), indent);
  }
  void Line(const Scope& scope, const Item& item, const Instruction& instruction,
            const std::string& indent) {
    const bool joined = &instruction != &scope.At(item.instructions[0]);
    out_ += fmt::format(
        "{}{}: {}, {}\n", indent, joined ? "  with it" : KindName(item.kind),
        scope.Text(instruction),
        instruction.results.empty() ? "no results" : scope.Layout(instruction.results[0]));
    for (const auto& [value, parts] : item.reads)
      for (const ReadPart& part : parts)
        out_ += fmt::format("{}  {}\n", indent, Part(scope, value, part));
    if (item.each) {
      out_ += fmt::format("{}  computed on the way: {} -> {}\n", indent,
                          scope.Value(item.each->in[0]), scope.Value(item.each->out[0]));
      for (const auto& [value, maker] : item.each->made_here)
        out_ += fmt::format("{}    {}\n", indent, scope.Text(scope.At(maker)));
      for (int32_t i : item.each->instructions)
        out_ += fmt::format("{}    {}\n", indent, scope.Text(scope.At(i)));
    }
    if (item.stored)
      out_ += fmt::format("{}  stored as {}\n", indent, Part(scope, item.out[0], *item.stored));
  }

  std::string out_;
};

}  // namespace

std::string Text(const Schedule& schedule, const ir::Program& device) {
  int next = 0;
  return Printer().Run(schedule, device, NumbersOf(device, next));
}

}  // namespace tessera::spmd
