// Finds fused groups and layouts, and orders what is left.
#include "spmd/schedule/schedule.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "base/at.h"
#include "ir/infer.h"
#include "sharding/local.h"
#include "spmd/schedule/combine_reductions.h"
#include "spmd/schedule/live_values.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

bool IsView(const Instruction& i) { return std::holds_alternative<ir::AsView>(*i.op->lowering); }
bool IsMove(const Instruction& i) {
  return std::holds_alternative<ir::AsMove>(*i.op->lowering) ||
         std::holds_alternative<ir::AsPermute>(*i.op->lowering);
}

Item::Kind ItemKindOf(const Instruction& i) {
  if (!i.regions.empty()) return Item::kRegion;
  if (std::holds_alternative<ir::AsHostCall>(*i.op->lowering)) return Item::kHostCall;
  return IsMove(i) ? Item::kMove : Item::kKernel;
}

// A fused group while it grows. Values inside are per element of `space`, or per row of it.
struct Group {
  std::vector<int32_t> instructions;
  base::Shape space;
  int32_t reduced = 0;  // trailing dims reduced over; 0: not decided
  int32_t layout = 0;
  bool closed = false;  // an instruction outside uses one of its values: its place stays
  int32_t item = -1;    // its place among the items: that of the last member before it was closed
};

class Scheduler {
 public:
  Scheduler(const ir::Program& device, const std::vector<bool>& shares)
      : program_(device), shares_(shares) {
    size_t n = program_.values.size();
    group_of_.assign(n, -1);
    defined_at_.assign(n, -1);
    is_row_.assign(n, false);
    for (size_t v = 0; v < n; ++v) {
      const auto id = static_cast<ValueId>(v);
      schedule_.values.push_back({.layout = LayoutOf(id), .storage = id});
    }
  }

  Schedule Run() {
    for (size_t i = 0; i < program_.instructions.size(); ++i) Place(static_cast<int32_t>(i));
    Emit();
    FindBorders(program_, defined_at_, schedule_);
    CombineReductions(program_, schedule_);
    return std::move(schedule_);
  }

 private:
  static constexpr size_t kMostMembers = 96;

  // A value on no mesh is one buffer, whichever mesh its program is on: it may be used under
  // another.
  int32_t LayoutOf(ValueId v) {
    const ir::Type* place = program_.place(v);
    bool own = place->mesh() && !shares_.empty() && !base::At(shares_, v);
    auto [it, fresh] = layouts_.try_emplace({place, own}, -1);
    if (fresh) it->second = MakeLayout(place->sharding(), own);
    return it->second;
  }

  // `own`: every device of the mesh has a buffer of its own.
  int32_t MakeLayout(const sharding::TensorSharding& s, bool own) {
    LayoutKey key{s.mesh ? s.mesh->WithoutModes() : nullptr, sharding::VaryingAxes(s)};
    if (own) {
      key.mesh = s.mesh->WithoutModes();
      key.axes.clear();
      for (int a = 0; a < key.mesh->rank(); ++a)
        if (key.mesh->axis_size(a) > 1) key.axes.push_back(sharding::WholeAxis(*key.mesh, a));
    }
    if (key.axes.empty()) key.mesh = nullptr;
    auto it = std::find(schedule_.layouts.begin(), schedule_.layouts.end(), key);
    if (it == schedule_.layouts.end()) it = schedule_.layouts.insert(it, key);
    return static_cast<int32_t>(it - schedule_.layouts.begin());
  }
  int32_t layout(ValueId v) const { return base::At(schedule_.values, v).layout; }
  const base::Shape& shape(ValueId v) const { return program_.type(v)->shape(); }

  void Place(int32_t i) {
    const Instruction& instruction = base::At(program_.instructions, i);
    int32_t group = FusedGroup(i, instruction);
    for (ValueId v : instruction.operands) Close(v, group);
    for (ValueId v : instruction.results) {
      base::At(defined_at_, v) = i;
      base::At(group_of_, v) = group;
      if (IsView(instruction) && group < 0)
        base::At(schedule_.values, v) = base::At(schedule_.values, instruction.operands[0]);
    }
    placed_.push_back(group);
  }

  // A use from outside closes a group to members that need what is made after its place.
  void Close(ValueId v, int32_t user_group) {
    int32_t g = base::At(group_of_, v);
    if (g >= 0 && g != user_group) base::At(groups_, g).closed = true;
  }

  // Returns the place among the items from which on v is there.
  int32_t PlaceOf(ValueId v) const {
    ValueId root = Storage(v);
    if (IsMadeByUsers(program_, defined_at_, v, root)) return -1;
    int32_t g = base::At(group_of_, root);
    return g >= 0 ? base::At(groups_, g).item : base::At(defined_at_, root);
  }

  // Returns the group that instruction i joins or founds, -1 if it is not fused.
  int32_t FusedGroup(int32_t i, const Instruction& instruction) {
    const ir::Lowering& lowering = *instruction.op->lowering;
    bool elementwise = std::holds_alternative<ir::AsElementwise>(lowering);
    bool reduce = std::holds_alternative<ir::AsReduction>(lowering);
    bool broadcast = std::holds_alternative<ir::AsBroadcast>(lowering);
    if (!elementwise && !reduce && !broadcast && !IsView(instruction)) return -1;
    int32_t g = Joinable(instruction);
    if (g < 0 && elementwise) g = JoinableScalars(instruction);
    if (g < 0 && (elementwise || (reduce && ReducedDims(instruction) >= 0))) g = Found(instruction);
    if (g >= 0) {
      for (ValueId v : instruction.operands) Absorb(base::At(group_of_, v), g);
      base::At(groups_, g).instructions.push_back(i);
      if (!base::At(groups_, g).closed) base::At(groups_, g).item = i;
    }
    return g;
  }

  // Group `other`, which something in group g uses, becomes part of it if it may: nobody outside
  // waits for what it makes, so that it can be made at g's place.
  void Absorb(int32_t other, int32_t g) {
    if (other < 0 || other == g) return;
    Group &from = base::At(groups_, other), &to = base::At(groups_, g);
    if (from.closed || from.space != to.space || from.layout != to.layout ||
        (from.reduced != 0 && to.reduced != 0 && from.reduced != to.reduced) ||
        from.instructions.size() + to.instructions.size() >= kMostMembers)
      return;
    if (to.closed)
      for (int32_t i : from.instructions)
        for (ValueId v : base::At(program_.instructions, i).operands)
          if (base::At(group_of_, v) != other && PlaceOf(v) >= to.item) return;
    for (int32_t i : from.instructions) {
      base::At(placed_, i) = g;
      for (ValueId v : base::At(program_.instructions, i).results) base::At(group_of_, v) = g;
    }
    to.reduced = std::max(to.reduced, from.reduced);
    const auto middle = static_cast<long>(to.instructions.size());
    to.instructions.insert(to.instructions.end(), from.instructions.begin(),
                           from.instructions.end());
    std::inplace_merge(to.instructions.begin(), to.instructions.begin() + middle,
                       to.instructions.end());
    from.instructions.clear();
    from.item = -1;
  }

  // Returns how many trailing dims a reduction reduces; -1 if they are not just trailing ones.
  int32_t ReducedDims(const Instruction& instruction) const {
    sharding::DimMap map = MapOf(instruction);
    const sharding::DimFactors& dims = map.operands[0];
    size_t kept = map.results[0].size();
    for (size_t d = 0; d < dims.size(); ++d) {
      bool reduced = base::At(map.factors, dims[d][0]).kind == sharding::FactorKind::kReduce;
      if (reduced != (d >= kept)) return -1;
    }
    return static_cast<int32_t>(dims.size() - kept);
  }

  sharding::DimMap MapOf(const Instruction& instruction) const {
    std::vector<const ir::Type*> in, out;
    for (ValueId v : instruction.operands) in.push_back(program_.type(v));
    for (ValueId v : instruction.results) out.push_back(program_.type(v));
    return ir::DimMapOf(*instruction.op, instruction.params.get(), in, out);
  }

  int32_t Found(const Instruction& instruction) {
    bool reduce = std::holds_alternative<ir::AsReduction>(*instruction.op->lowering);
    Group group;
    group.space = shape(reduce ? instruction.operands[0] : instruction.results[0]);
    group.layout = layout(instruction.results[0]);
    if (reduce) group.reduced = ReducedDims(instruction);
    base::At(is_row_, instruction.results[0]) = reduce;
    groups_.push_back(std::move(group));
    return static_cast<int32_t>(groups_.size()) - 1;
  }

  int32_t Joinable(const Instruction& instruction) {
    // Latest group first: it is the one most likely still open.
    std::vector<int32_t> candidates;
    for (ValueId v : instruction.operands)
      if (base::At(group_of_, v) >= 0) candidates.push_back(base::At(group_of_, v));
    std::sort(candidates.rbegin(), candidates.rend());
    for (int32_t g : candidates)
      if (MayJoin(base::At(groups_, g), g, instruction)) return g;
    return -1;
  }

  // One element takes longer to call for than to compute: such groups need have nothing in common.
  int32_t JoinableScalars(const Instruction& instruction) {
    constexpr int32_t kNear = 4;
    const auto groups = static_cast<int32_t>(groups_.size());
    if (program_.type(instruction.results[0])->elements() != 1) return -1;
    for (int32_t g = groups - 1; g >= std::max(0, groups - kNear); --g) {
      Group& group = base::At(groups_, g);
      if (group.space == shape(instruction.results[0]) && !group.instructions.empty() &&
          MayJoin(group, g, instruction))
        return g;
    }
    return -1;
  }

  bool MayJoin(Group& group, int32_t g, const Instruction& instruction) {
    ValueId result = instruction.results[0];
    if (layout(result) != group.layout || group.instructions.size() >= kMostMembers) return false;
    for (ValueId v : instruction.operands) {
      if (base::At(group_of_, v) == g) continue;
      if (group.closed && PlaceOf(v) >= group.item) return false;
    }
    const ir::Lowering& lowering = *instruction.op->lowering;
    if (std::holds_alternative<ir::AsReduction>(lowering)) return JoinReduce(group, g, instruction);
    if (IsView(instruction)) return JoinView(group, instruction);
    if (std::holds_alternative<ir::AsBroadcast>(lowering))
      return JoinBroadcast(group, g, instruction);
    return JoinElementwise(group, g, instruction);
  }

  bool JoinReduce(Group& group, int32_t g, const Instruction& instruction) {
    ValueId operand = instruction.operands[0];
    int32_t reduced = ReducedDims(instruction);
    if (base::At(group_of_, operand) != g || base::At(is_row_, operand)) return false;
    if (reduced <= 0 || (group.reduced != 0 && group.reduced != reduced)) return false;
    group.reduced = reduced;
    base::At(is_row_, instruction.results[0]) = true;
    return true;
  }

  // A row value with ones in place of the reduced dims, or without them, is the same row value.
  bool JoinView(Group& group, const Instruction& instruction) {
    ValueId operand = instruction.operands[0], result = instruction.results[0];
    if (!base::At(is_row_, operand) ||
        program_.type(operand)->dtype() != program_.type(result)->dtype())
      return false;
    if (!IsRowShape(group, shape(result))) return false;
    base::At(is_row_, result) = true;
    return true;
  }

  static base::Shape RowShape(const Group& group, bool ones) {
    base::Shape row(group.space.begin(), group.space.end() - group.reduced);
    if (ones) row.insert(row.end(), base::Size(group.reduced), 1);
    return row;
  }
  static bool IsRowShape(const Group& group, const base::Shape& s) {
    return group.reduced > 0 && (s == RowShape(group, false) || s == RowShape(group, true));
  }

  // A row value repeated over the reduced dims is what every element of the row sees.
  bool JoinBroadcast(Group& group, int32_t g, const Instruction& instruction) {
    ValueId operand = instruction.operands[0], result = instruction.results[0];
    if (base::At(group_of_, operand) != g || !base::At(is_row_, operand)) return false;
    if (shape(result) != group.space) return false;
    sharding::DimMap map = MapOf(instruction);
    const base::Shape& from = shape(operand);
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] == 1) continue;
      if (map.operands[0][d] != map.results[0][d]) return false;
    }
    return true;
  }

  bool JoinElementwise(Group& group, int32_t g, const Instruction& instruction) {
    ValueId result = instruction.results[0];
    const base::Shape& s = shape(result);
    bool element = s == group.space, row = !element && IsRowShape(group, s);
    if (!element && !row) return false;
    for (ValueId v : instruction.operands) {
      if (base::At(group_of_, v) != g) continue;
      bool operand_row = base::At(is_row_, v);
      if (row && !operand_row) return false;
      // Seen by elements, a row value must have ones in place of the reduced dims, or be a scalar.
      if (element && operand_row && shape(v).size() != group.space.size() && !shape(v).empty())
        return false;
      if (row && shape(v) != s && !shape(v).empty()) return false;
    }
    base::At(is_row_, result) = row;
    return true;
  }

  void Emit() {
    for (size_t i = 0; i < placed_.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      int32_t g = placed_[i];
      if (g >= 0) {
        Group& group = base::At(groups_, g);
        if (group.item != static_cast<int32_t>(i)) continue;
        if (Alone(group)) {
          schedule_.items.push_back(
              {.kind = Item::kKernel, .instructions = std::move(group.instructions)});
          continue;
        }
        schedule_.items.push_back({.kind = Item::kFused,
                                   .instructions = std::move(group.instructions),
                                   .space = std::move(group.space),
                                   .reduced = group.reduced});
      } else if (!IsView(instruction)) {
        schedule_.items.push_back(
            {.kind = ItemKindOf(instruction), .instructions = {static_cast<int32_t>(i)}});
        for (const ir::RegionPtr& region : instruction.regions)
          schedule_.items.back().schedules.push_back(RegionSchedule(*region, instruction));
      }
    }
  }

  // What a region makes shares buffers as the instruction's results do.
  std::shared_ptr<const Schedule> RegionSchedule(const ir::Program& region,
                                                 const Instruction& instruction) const {
    bool share =
        shares_.empty() || instruction.results.empty() || base::At(shares_, instruction.results[0]);
    std::vector<bool> own;
    if (!share) own.assign(region.values.size(), false);
    return std::make_shared<const Schedule>(tessera::spmd::MakeSchedule(region, own));
  }

  // A reduction by itself has a kernel of its own.
  bool Alone(const Group& group) const {
    return group.instructions.size() == 1 &&
           !std::holds_alternative<ir::AsElementwise>(
               *base::At(program_.instructions, group.instructions[0]).op->lowering);
  }

  ValueId Storage(ValueId v) const { return base::At(schedule_.values, v).storage; }

  const ir::Program& program_;
  const std::vector<bool>& shares_;
  Schedule schedule_;
  absl::flat_hash_map<std::pair<const ir::Type*, bool>, int32_t> layouts_;
  std::vector<Group> groups_;
  std::vector<int32_t> placed_;                 // per instruction: its group
  std::vector<int32_t> group_of_, defined_at_;  // per value
  std::vector<bool> is_row_;                    // per value of a group: one per row
};

}  // namespace

Schedule MakeSchedule(const ir::Program& device, const std::vector<bool>& shares) {
  return Scheduler(device, shares).Run();
}

Schedule AloneOn(Schedule s) {
  s.layouts.assign(s.layouts.size(), LayoutKey{});
  for (Item& item : s.items)
    for (auto& region : item.schedules)
      region = std::make_shared<const Schedule>(AloneOn(Schedule(*region)));
  return s;
}

}  // namespace tessera::spmd
