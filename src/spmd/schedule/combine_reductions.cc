// Collects reductions that wait for no other, and puts off small items that need their results.
#include "spmd/schedule/combine_reductions.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <utility>

#include "base/at.h"
#include "ir/move_params.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

// Bytes of one device's part from which on a value is large: a meeting of all devices then takes
// less time than its data, and putting it off would keep memory.
constexpr int64_t kLarge = 64 << 10;
// Most bytes that wait for a group of reductions to be complete.
constexpr int64_t kMostWaiting = 4 << 20;

// What reductions have in common that one message can carry.
struct Alike {
  const ir::OpDef* op;
  const sharding::MeshDef* mesh;
  sharding::AxisList axes;
  Reduction kind;
  DType dtype;
  friend bool operator==(const Alike&, const Alike&) = default;
};

class Combiner {
 public:
  Combiner(const ir::Program& device, Schedule& schedule) : program_(device), schedule_(schedule) {}

  void Run() {
    std::vector<Item> items = std::exchange(schedule_.items, {});
    for (Item& item : items) Visit(std::move(item));
    Flush();
  }

 private:
  struct Group {
    Alike alike;
    Item item;
  };

  void Visit(Item item) {
    const bool waits = std::any_of(item.in.begin(), item.in.end(),
                                   [&](ValueId v) { return waiting_.contains(Storage(v)); });
    const bool joins = Reduces(item) && IsSmall(item);
    if ((waits && (joins || !MayWait(item))) || bytes_ > kMostWaiting) {
      Flush();
    } else if (waits) {
      Wait(item);
      late_.push_back(std::move(item));
      return;
    }
    if (!joins) {
      schedule_.items.push_back(std::move(item));
      return;
    }
    Wait(item);
    Join(std::move(item));
  }

  void Join(Item item) {
    const Alike alike = AlikeOf(item);
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& g) { return g.alike == alike; });
    if (group == groups_.end()) {
      groups_.push_back({alike, std::move(item)});
      return;
    }
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(group->item.instructions, item.instructions);
    append(group->item.in, item.in);
    append(group->item.out, item.out);
  }

  void Wait(const Item& item) {
    for (ValueId v : item.in) bytes_ += Bytes(v);
    for (ValueId v : item.out) waiting_.insert(Storage(v));
  }

  void Flush() {
    for (Group& group : groups_) schedule_.items.push_back(std::move(group.item));
    for (Item& item : late_) schedule_.items.push_back(std::move(item));
    groups_.clear();
    late_.clear();
    waiting_.clear();
    bytes_ = 0;
  }

  const Instruction& First(const Item& item) const {
    return base::At(program_.instructions, item.instructions[0]);
  }
  ValueId Storage(ValueId v) const { return base::At(schedule_.values, v).storage; }
  int64_t Bytes(ValueId v) const {
    return program_.type(v)->elements() * program_.type(v)->dtype().size();
  }

  bool Reduces(const Item& item) const {
    if (item.kind != Item::kMove) return false;
    const ir::OpDef* op = First(item).op;
    return op == &OpOf(StepKind::kAllReduce) || op == &OpOf(StepKind::kReduceScatter);
  }
  Alike AlikeOf(const Item& item) const {
    const Instruction& move = First(item);
    const auto& params = ir::As<ir::MoveParams>(move.params.get());
    const sharding::TensorSharding &from = params.from->sharding(), &to = params.to->sharding();
    return {move.op, from.mesh, sharding::Difference(from.unreduced, to.unreduced), from.kind,
            params.from->dtype()};
  }

  bool IsSmall(const Item& item) const {
    const auto small = [&](ValueId v) { return Bytes(v) < kLarge; };
    return std::all_of(item.in.begin(), item.in.end(), small) &&
           std::all_of(item.out.begin(), item.out.end(), small);
  }
  // Effects keep their order, and regions may have some.
  bool MayWait(const Item& item) const {
    const bool computes = item.kind == Item::kKernel || item.kind == Item::kFused;
    if (!computes && item.kind != Item::kMove) return false;
    return IsSmall(item) &&
           std::all_of(item.instructions.begin(), item.instructions.end(), [&](int32_t i) {
             const auto& op = *base::At(program_.instructions, i).op;
             return op.effect == ir::Effect::kNone && !op.opaque;
           });
  }

  const ir::Program& program_;
  Schedule& schedule_;
  std::vector<Group> groups_;             // complete up to here, but not in the schedule yet
  std::vector<Item> late_;                // what needs their results, in order
  absl::flat_hash_set<ValueId> waiting_;  // storages of the results of both
  int64_t bytes_ = 0;                     // that both read
};

}  // namespace

void CombineReductions(const ir::Program& device, Schedule& schedule) {
  Combiner(device, schedule).Run();
}

}  // namespace tessera::spmd
