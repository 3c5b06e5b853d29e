// Holds reductions back until something large needs one of their results.
#include "spmd/schedule/combine_reductions.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_set.h>

#include <utility>

#include "ir/host_call.h"
#include "ir/move_params.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

// A value is large if its shard has at least this many bytes. Sending it takes longer than making
// all devices meet, and delaying it would keep its memory.
constexpr int64_t kLarge = 64 << 10;
// The most operand bytes that may wait for a group of reductions.
constexpr int64_t kMostWaiting = 4 << 20;

// Reductions with equal keys can be one exchange.
struct ReductionKey {
  StepKind step;
  const sharding::MeshDef* mesh;
  sharding::AxisList axes;
  Reduction kind;
  DType dtype;
  friend bool operator==(const ReductionKey&, const ReductionKey&) = default;
};

class ReductionCombiner {
 public:
  ReductionCombiner(const ir::Program& device, Schedule& schedule)
      : program_(device), schedule_(schedule) {}

  void Run() {
    std::vector<Item> items = std::exchange(schedule_.items, {});
    for (Item& item : items) Visit(std::move(item));
    Flush();
  }

 private:
  struct Group {
    ReductionKey key;
    MoveItem item;
  };

  void Visit(Item item) {
    const bool needs_group =
        absl::c_any_of(item.in(), [&](ValueId v) { return held_.contains(Storage(v)); });
    const bool joins = IsReduction(item) && IsSmall(item);
    if ((needs_group && (joins || !MayBeDelayed(item))) || bytes_ > kMostWaiting) {
      Flush();
    } else if (needs_group) {
      Hold(item);
      delayed_.push_back(std::move(item));
      return;
    }
    if (!joins) {
      schedule_.items.push_back(std::move(item));
      return;
    }
    Hold(item);
    Join(std::get<MoveItem>(std::move(item)));
  }

  void Join(MoveItem item) {
    ReductionKey key = KeyOf(item);
    const auto group = absl::c_find_if(groups_, [&](const Group& g) { return g.key == key; });
    if (group == groups_.end()) {
      groups_.push_back({std::move(key), std::move(item)});
      return;
    }
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(group->item.instructions, item.instructions);
    append(group->item.in, item.in);
    append(group->item.out, item.out);
  }

  void Hold(const Item& item) {
    for (ValueId v : item.in()) bytes_ += ShardBytes(program_, v);
    for (ValueId v : item.out()) held_.insert(Storage(v));
  }

  void Flush() {
    for (Group& group : groups_) schedule_.items.push_back(std::move(group.item));
    for (Item& item : delayed_) schedule_.items.push_back(std::move(item));
    groups_.clear();
    delayed_.clear();
    held_.clear();
    bytes_ = 0;
  }

  ValueId Storage(ValueId v) const { return schedule_.values[v].storage; }

  bool IsReduction(const Item& item) const {
    const auto* move = std::get_if<MoveItem>(&item);
    if (!move) return false;
    const StepKind step = KindOf(*InstructionAt(program_, move->instructions[0]).op);
    return step == StepKind::kAllReduce || step == StepKind::kReduceScatter;
  }
  ReductionKey KeyOf(const MoveItem& item) const {
    const Instruction& move = InstructionAt(program_, item.instructions[0]);
    const auto& params = ir::As<ir::MoveParams>(move.params.get());
    const sharding::TensorSharding &from = params.from->sharding(), &to = params.to->sharding();
    return {KindOf(*move.op), from.mesh, sharding::Difference(from.unreduced, to.unreduced),
            from.kind, params.from->dtype()};
  }

  bool IsSmall(const Item& item) const {
    const auto is_small = [&](ValueId v) { return ShardBytes(program_, v) < kLarge; };
    return absl::c_all_of(item.in(), is_small) && absl::c_all_of(item.out(), is_small);
  }
  // Whether the item may run after later ones. Instructions with effects keep their order, but for
  // host calls that take shards; regions may hold some.
  bool MayBeDelayed(const Item& item) const {
    if (std::holds_alternative<RegionItem>(item)) return false;
    if (const auto* call = std::get_if<HostCallItem>(&item)) return CanTakeShards(*call);
    return IsSmall(item) && absl::c_all_of(item.instructions(), [&](InstructionId i) {
             const ir::OpDef& op = *InstructionAt(program_, i).op;
             return op.effect == ir::Effect::kNone && !op.opaque;
           });
  }

  bool CanTakeShards(const HostCallItem& item) const {
    const ir::Params* params = InstructionAt(program_, item.instruction).params.get();
    return ir::As<ir::HostCallParams>(params).function.function->CanTakeShards();
  }

  const ir::Program& program_;
  Schedule& schedule_;
  std::vector<Group> groups_;          // reductions that are held back
  std::vector<Item> delayed_;          // items that need their results, in order
  absl::flat_hash_set<ValueId> held_;  // buffers of the results of both
  int64_t bytes_ = 0;                  // bytes of the operands of both
};

}  // namespace

void CombineReductions(const ir::Program& device, Schedule& schedule) {
  ReductionCombiner(device, schedule).Run();
}

}  // namespace tessera::spmd
