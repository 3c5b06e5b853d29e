// Finds the values that keep their places, and replicates all others.
#include "compile/auto/keep_only.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/ids.h"
#include "spmd/local_type.h"

namespace tessera::compile {
namespace {

// The values of a program, and of its regions in order, that keep their places.
struct KeptValues {
  base::IdVector<ir::ValueId, bool> here;
  std::vector<KeptValues> regions;
};

// Marks values by name, in the order of program text.
class KeptByName {
 public:
  explicit KeptByName(const std::vector<std::string>& names)
      : names_(names.begin(), names.end()), unknown_(names_) {}

  KeptValues In(const ir::Program& program) {
    KeptValues kept{.here = base::IdVector<ir::ValueId, bool>(program.values.size()),
                    .regions = {}};
    for (ir::ValueId v : program.inputs) Add(program, v, kept);
    for (const ir::Capture& c : program.captures) Add(program, c.value, kept);
    for (const ir::Instruction& i : program.instructions) {
      for (ir::ValueId v : i.results) Add(program, v, kept);
      for (const ir::RegionPtr& region : i.regions) kept.regions.push_back(In(*region));
    }
    return kept;
  }

  const std::set<std::string>& unknown() const { return unknown_; }

 private:
  void Add(const ir::Program& program, ir::ValueId v, KeptValues& kept) {
    Mark(fmt::format("%{}", number_++), v, kept);
    for (const auto& [name, value] : program.names)
      if (value == v) Mark(name, v, kept);
  }
  void Mark(const std::string& name, ir::ValueId v, KeptValues& kept) {
    if (!names_.contains(name)) return;
    kept.here[v] = true;
    unknown_.erase(name);
  }

  const std::set<std::string> names_;
  std::set<std::string> unknown_;
  size_t number_ = 0;
};

// A value, and the flags of the program that it is in.
struct KeptValue {
  KeptValues& program;
  ir::ValueId value;
};

// Returns the value at one end of a data-flow edge.
KeptValue ValueAt(const ir::Instruction& i, const ir::FlowEnd& end, KeptValues& outside,
                  KeptValues* regions) {
  const auto at = static_cast<size_t>(end.index), r = static_cast<size_t>(end.region);
  switch (end.kind) {
    case ir::FlowEnd::kOperand:
      break;
    case ir::FlowEnd::kResult:
      return {outside, i.results[at]};
    case ir::FlowEnd::kRegionInput:
      return {regions[r], i.regions[r]->inputs[at]};
    case ir::FlowEnd::kRegionOutput:
      return {regions[r], i.regions[r]->outputs[at]};
  }
  return {outside, i.operands[at]};
}

// Keeps all ends of an edge if one is kept. Returns whether more values are kept now.
bool KeepAlongEdges(const ir::Program& program, KeptValues& kept) {
  bool more = false;
  KeptValues* regions = kept.regions.data();
  for (const ir::Instruction& i : program.instructions) {
    if (i.regions.empty()) continue;
    const ir::FlowCall call{i.params.get(), i.operands.size(), i.regions};
    for (const ir::FlowEdge& edge : std::get<ir::DataFlowEdges>(*i.op->dims).edges(call)) {
      std::vector<ir::FlowEnd> ends = edge.sources;
      ends.push_back(edge.owner);
      ends.insert(ends.end(), edge.targets.begin(), edge.targets.end());
      const auto is_kept = [&](const ir::FlowEnd& end) {
        const KeptValue v = ValueAt(i, end, kept, regions);
        return bool{v.program.here[v.value]};
      };
      if (absl::c_none_of(ends, is_kept) || absl::c_all_of(ends, is_kept)) continue;
      for (const ir::FlowEnd& end : ends) {
        const KeptValue v = ValueAt(i, end, kept, regions);
        v.program.here[v.value] = true;
      }
      more = true;
    }
    for (const ir::RegionPtr& region : i.regions) more |= KeepAlongEdges(*region, *regions++);
  }
  return more;
}

ir::Program Replicated(ir::Program program, const KeptValues& kept) {
  const KeptValues* region = kept.regions.data();
  for (ir::ValueId v : kept.here.ids()) {
    const sharding::MeshDef* mesh = program.type(v)->mesh();
    const ir::Type* place = spmd::PlaceIn(program, v);
    if (kept.here[v] || !place->mesh() || (mesh && mesh->has_mode(AxisMode::Manual))) continue;
    sharding::TensorSharding s = sharding::Replicated(place->mesh(), place->rank());
    s.reduced = place->sharding().reduced;
    s.varying = place->sharding().varying;
    program.SetPlace(v, place->WithSharding(std::move(s)));
  }
  for (ir::Instruction& i : program.instructions)
    for (ir::RegionPtr& r : i.regions) r = ir::Shared(Replicated(*r, *region++));
  return program;
}

}  // namespace

std::shared_ptr<const ir::Program> KeepOnly(const ir::Program& program,
                                            const std::vector<std::string>& names) {
  KeptByName by_name(names);
  KeptValues kept = by_name.In(program);
  const bool is_of_text =
      absl::c_any_of(program.names, [](const auto& n) { return n.first.starts_with('%'); });
  if (!by_name.unknown().empty())
    base::ThrowRuntime(base::Refusal(
        "partition", 2, "",
        fmt::format("the program has no value \"{}\"", *by_name.unknown().begin()),
        {is_of_text ? "values have their names in the text, such as %3 or @relu/%0"
                    : "name it in the function with named(x, \"name\"), or use a number that "
                      "`tessera propagate` prints"}));
  for (ir::ValueId v : program.inputs) kept.here[v] = true;
  for (const ir::Capture& c : program.captures) kept.here[c.value] = true;
  for (ir::ValueId v : program.outputs) kept.here[v] = true;
  while (KeepAlongEdges(program, kept)) {
  }
  return ir::Shared(Replicated(program, kept));
}

}  // namespace tessera::compile
