// Finds the groups, and writes them.
#include "stablehlo/write/manual.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <numeric>

#include "ops/manual.h"
#include "sharding/text.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

// Whether an instruction computes on more Manual axes than there are outside.
bool IsInner(const ir::Program& program, const ir::Instruction& i, int outside) {
  const auto inner = [&](ir::ValueId v) { return ManualAxes(program.type(v)) > outside; };
  return absl::c_any_of(i.results, inner) || absl::c_any_of(i.operands, inner);
}

// Sets that are joined.
struct Sets {
  explicit Sets(size_t n) : parent(n) { std::iota(parent.begin(), parent.end(), size_t{0}); }
  size_t Find(size_t i) { return parent[i] == i ? i : parent[i] = Find(parent[i]); }
  void Join(size_t a, size_t b) { parent[Find(a)] = Find(b); }
  std::vector<size_t> parent;
};

}  // namespace

int ManualAxes(const ir::Type* type) {
  if (!type->mesh()) return 0;
  return static_cast<int>(absl::c_count_if(
      type->mesh()->axes(), [](const MeshAxis& a) { return a.mode == AxisMode::Manual; }));
}

// Levels alternate: even ones are outside, odd ones inner. An instruction has the lowest level that
// is not below those of its operands. Instructions of an inner level that share inner values are in
// one group.
std::vector<InstructionGroup> GroupsOf(const ir::Program& program, const Instructions& all,
                                       int outside) {
  absl::flat_hash_map<ir::ValueId, size_t> maker;
  std::vector<int> level(all.size());
  Sets sets(all.size());
  std::vector<bool> inner(all.size());
  for (size_t k = 0; k < all.size(); ++k) {
    inner[k] = IsInner(program, *all[k], outside);
    level[k] = inner[k] ? 1 : 0;
    for (ir::ValueId v : all[k]->operands) {
      const auto made = maker.find(v);
      if (made == maker.end()) continue;
      const int at = level[made->second];
      level[k] = std::max(level[k], (at % 2 == 1) == inner[k] ? at : at + 1);
    }
    // A value on the outside that an inner group makes is there after the group only.
    for (ir::ValueId v : all[k]->operands) {
      const auto made = maker.find(v);
      if (made == maker.end() || !inner[k]) continue;
      const bool is_shared = ManualAxes(program.type(v)) > outside;
      if (is_shared && level[made->second] == level[k]) sets.Join(made->second, k);
      if (!is_shared && level[made->second] == level[k]) level[k] += 2;
    }
    for (ir::ValueId v : all[k]->results) maker[v] = k;
  }
  std::map<std::pair<int, size_t>, InstructionGroup> groups;
  for (size_t k = 0; k < all.size(); ++k) {
    InstructionGroup& group = groups[{level[k], inner[k] ? 1 + sets.Find(k) : 0}];
    group.is_inner = inner[k];
    group.instructions.push_back(all[k]);
  }
  std::vector<InstructionGroup> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

namespace {

// Returns `[{"x", ?}, {?}]` with these axes in each dim.
std::string BorderText(const sharding::MeshDef* mesh, const std::vector<sharding::AxisList>& dims,
                       bool is_open) {
  sharding::TensorSharding s = sharding::Replicated(mesh, static_cast<int>(dims.size()));
  for (size_t d = 0; d < dims.size(); ++d) {
    s.dims[d].axes = dims[d];
    s.dims[d].open = is_open;
  }
  return sharding::Text(s);
}

sharding::AxisList ManualList(const sharding::MeshDef* mesh) {
  sharding::AxisList axes;
  for (int a = 0; a < mesh->rank(); ++a)
    if (mesh->axes()[static_cast<size_t>(a)].mode == AxisMode::Manual && mesh->axis_size(a) > 1)
      axes.push_back(sharding::WholeAxis(*mesh, a));
  return axes;
}

std::vector<sharding::AxisList> BorderDims(const sharding::MeshDef* mesh,
                                           const ops::ManualParams& params, int rank) {
  std::vector<sharding::AxisList> dims(static_cast<size_t>(rank));
  const sharding::AxisList axes = ops::AxesOf(mesh, params.axes);
  for (size_t k = 0; k < axes.size(); ++k)
    sharding::AppendMerged(dims[static_cast<size_t>(params.dims[k])], axes[k]);
  return dims;
}

}  // namespace

// Writes a group as a manual computation over the Manual axes that it has and the outside has not.
// Devices' own arrays that another group uses go out as parts of an array with one more dim.
class ManualWriter {
 public:
  ManualWriter(Exporter& exporter, TextWriter& w, const ir::Program& program, OutValuesById& values,
               OwnArrays& own, int outside)
      : exporter_(exporter),
        w_(w),
        program_(program),
        values_(values),
        own_(own),
        outside_(outside) {}

  void Write(const InstructionGroup& group, const ir::ValueSet& used_elsewhere) {
    FindMesh(group);
    absl::flat_hash_set<ir::ValueId> made;
    for (const ir::Instruction* i : group.instructions) {
      for (ir::ValueId v : i->operands)
        if (!made.contains(v)) Enter(*i, v);
      for (ir::ValueId v : i->results) made.insert(v);
    }
    for (const ir::Instruction* i : group.instructions)
      for (ir::ValueId v : i->results) {
        if (ManualAxes(program_.type(v)) <= outside_)
          Leave(i->operands[0], v, &ir::As<ops::ManualParams>(i->params.get()));
        else if (used_elsewhere[v])
          Leave(v, v, nullptr);
      }
    const std::string region = w_.Region(
        TypesOf(arguments_), [&](const OutValues& in) { return Body(group, in); }, "sdy.return");
    for (size_t k = 0; k < entering_.size(); ++k)
      if (!entering_[k].by && !entering_[k].is_own) values_[entering_[k].from] = operands_[k];
    const OutValues results =
        w_.Add("sdy.manual_computation", operands_, result_types_,
               fmt::format("in_shardings = #sdy.sharding_per_value<[{}]>, manual_axes = "
                           "#sdy<manual_axes{{{}}}>, out_shardings = #sdy.sharding_per_value<[{}]>",
                           fmt::join(in_, ", "), AxesText(), fmt::join(out_, ", ")),
               {region});
    for (size_t k = 0; k < results.size(); ++k)
      leaving_[k].params ? values_[leaving_[k].to] = results[k] : own_[leaving_[k].to] = results[k];
  }

 private:
  struct Entering {
    ir::ValueId from;
    const ir::Instruction* by;  // full_to_shard; null: the instructions use the value itself
    bool is_own = false;        // an array of each device
  };
  struct Leaving {
    ir::ValueId from, to;
    const ops::ManualParams* params;  // null: an own array
  };

  // The mesh with the fewest Manual axes: nested groups have more.
  void FindMesh(const InstructionGroup& group) {
    for (const ir::Instruction* i : group.instructions)
      for (ir::ValueId v : i->results) {
        const ir::Type* type = program_.type(v);
        const int n = ManualAxes(type);
        if (n > outside_ && (!mesh_ || n < manual_)) {
          mesh_ = type->mesh();
          manual_ = n;
        }
      }
  }
  bool is_open() const {
    return absl::c_any_of(mesh_->axes(),
                          [](const MeshAxis& a) { return a.mode != AxisMode::Manual; });
  }
  std::string AxesText() const {
    std::vector<std::string> names;
    for (const MeshAxis& a : mesh_->axes())
      if (a.mode == AxisMode::Manual) names.push_back(QuotedText(a.name));
    return fmt::format("{}", fmt::join(names, ", "));
  }
  // An own array has a leading dim, which all Manual axes shard.
  std::string OwnText(const OutType& type) const {
    std::vector<sharding::AxisList> dims(static_cast<size_t>(type.rank()));
    dims[0] = ManualList(mesh_);
    return BorderText(mesh_->WithoutModes(), dims, is_open());
  }
  OutType OwnType(OutType type, int64_t parts) const {
    type.shape.insert(type.shape.begin(), parts);
    return type;
  }

  void Enter(const ir::Instruction& i, ir::ValueId v) {
    const ir::Type* type = program_.type(v);
    const bool is_known =
        absl::c_any_of(entering_, [&](const Entering& e) { return !e.by && e.from == v; });
    const bool is_inside = ManualAxes(type) > outside_;
    if (is_inside && own_.contains(v)) {
      if (is_known) return;
      entering_.push_back({v, nullptr, true});
      operands_.push_back(own_.at(v));
      arguments_.push_back({"", OwnType(OutTypeOf(type), 1)});
      in_.push_back(OwnText(operands_.back().type));
      return;
    }
    // A number without a mesh, or a captured array, which is the same on all devices.
    if (is_inside || i.op != &ops::kFullToShard) {
      if (is_known) return;
      entering_.push_back({v, nullptr});
      operands_.push_back(values_[v]);
      arguments_.push_back({"", operands_.back().type});
      in_.push_back(
          BorderText(mesh_->WithoutModes(), BorderDims(mesh_, {}, type->rank()), is_open()));
      return;
    }
    entering_.push_back({v, &i});
    operands_.push_back(values_[v]);
    arguments_.push_back({"", OutTypeOf(program_.type(i.results[0]))});
    in_.push_back(BorderText(
        mesh_->WithoutModes(),
        BorderDims(mesh_, ir::As<ops::ManualParams>(i.params.get()), operands_.back().type.rank()),
        is_open()));
  }
  void Leave(ir::ValueId from, ir::ValueId to, const ops::ManualParams* params) {
    leaving_.push_back({from, to, params});
    const OutType type = OutTypeOf(program_.type(to));
    if (params) {
      result_types_.push_back(type);
      out_.push_back(
          BorderText(mesh_->WithoutModes(), BorderDims(mesh_, *params, type.rank()), is_open()));
    } else {
      result_types_.push_back(OwnType(type, sharding::SizeOf(ManualList(mesh_))));
      out_.push_back(OwnText(result_types_.back()));
    }
  }

  OutValues Body(const InstructionGroup& group, const OutValues& in) {
    for (size_t k = 0; k < in.size(); ++k) {
      const Entering& e = entering_[k];
      if (e.by) {
        const ir::ValueId result = e.by->results[0];
        values_[result] = OnFirst(w_, in[k], program_.type(result)->sharding());
      } else {
        values_[e.from] =
            e.is_own ? w_.Reshape(in[k], OutTypeOf(program_.type(e.from)).shape) : in[k];
      }
    }
    Instructions inside;
    for (const ir::Instruction* i : group.instructions) {
      const bool enters = absl::c_any_of(entering_, [&](const Entering& e) { return e.by == i; });
      const bool leaves = absl::c_any_of(
          leaving_, [&](const Leaving& l) { return l.params && l.to == i->results[0]; });
      if (!enters && !leaves) inside.push_back(i);
    }
    exporter_.RunList(program_, inside, values_, manual_);
    OutValues out;
    for (const Leaving& l : leaving_) {
      const OutValue& x = values_[l.from];
      out.push_back(l.params ? SummedOver(w_, x, program_.type(l.from)->sharding())
                             : w_.Reshape(x, OwnType(x.type, 1).shape));
    }
    return out;
  }

  Exporter& exporter_;
  TextWriter& w_;
  const ir::Program& program_;
  OutValuesById& values_;
  OwnArrays& own_;
  const int outside_;
  const sharding::MeshDef* mesh_ = nullptr;
  int manual_ = 0;
  std::vector<Entering> entering_;
  std::vector<Leaving> leaving_;
  OutValues operands_, arguments_;
  OutTypes result_types_;
  std::vector<std::string> in_, out_;
};

void Exporter::RunList(const ir::Program& program, const Instructions& all, OutValuesById& values,
                       int outside) {
  const std::vector<InstructionGroup> groups = GroupsOf(program, all, outside);
  // Inner values that a group uses which did not make them.
  ir::ValueSet used_elsewhere(program.values.size());
  base::IdVector<ir::ValueId, int> group_of(program.values.size());
  for (size_t g = 0; g < groups.size(); ++g)
    for (const ir::Instruction* i : groups[g].instructions) {
      for (ir::ValueId v : i->operands)
        if (group_of[v] != 0 && group_of[v] != static_cast<int>(g) + 1) used_elsewhere[v] = true;
      for (ir::ValueId v : i->results) group_of[v] = static_cast<int>(g) + 1;
    }
  OwnArrays own;
  for (const InstructionGroup& group : groups) {
    if (group.is_inner) {
      writer_.set_loc(group.instructions[0]->loc);
      ManualWriter(*this, writer_, program, values, own, outside).Write(group, used_elsewhere);
      continue;
    }
    for (const ir::Instruction* i : group.instructions) RunOne(program, *i, values);
  }
}

}  // namespace tessera::stablehlo
