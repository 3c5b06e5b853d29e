// What items read and make: who reads what another item would have made, and makes it on the way.
#include "spmd/schedule/live_values.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/at.h"
#include "sharding/local.h"
#include "spmd/moves.h"
#include "spmd/schedule/reads.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

base::Shape WithoutOnes(base::Shape s) {
  std::erase(s, 1);
  return s;
}

class Borders {
 public:
  Borders(const ir::Program& device, const std::vector<int32_t>& defined_at, Schedule& schedule)
      : program_(device), defined_at_(defined_at), reads_(device), schedule_(schedule) {}

  void Find() {
    maker_.assign(program_.values.size(), -1);
    for (size_t k = 0; k < schedule_.items.size(); ++k)
      for (int32_t i : schedule_.items[k].instructions)
        for (ValueId v : base::At(program_.instructions, i).results)
          base::At(maker_, v) = static_cast<int32_t>(k);
    std::vector<bool> crosses(program_.values.size());
    for (ValueId v : program_.outputs) base::At(crosses, Storage(v)) = true;
    CountUses();
    std::vector<Item> kept;
    // Users before what they use: what is read through is not made if nobody else reads it.
    for (size_t k = schedule_.items.size(); k-- > 0;) {
      Item& item = schedule_.items[k];
      if (IsUnread(item, crosses) || StoredByMove(item, crosses) || ComputedByMove(item, k))
        continue;
      for (int32_t i : item.instructions)
        for (ValueId v : base::At(program_.instructions, i).operands)
          if (base::At(maker_, Storage(v)) != static_cast<int32_t>(k)) Enter(item, v, crosses);
      kept.push_back(std::move(item));
    }
    std::reverse(kept.begin(), kept.end());
    for (Item& item : kept) {
      if (!item.out.empty()) continue;  // a move that makes what another item would
      for (int32_t i : item.instructions)
        for (ValueId v : base::At(program_.instructions, i).results)
          if (base::At(crosses, v) || item.kind != Item::kFused) item.out.push_back(v);
    }
    schedule_.items = std::move(kept);
  }

 private:
  // Whether all users of what an item makes do without: what a group reads through may turn out to
  // be of something else altogether.
  bool IsUnread(const Item& item, const std::vector<bool>& crosses) {
    if (item.kind == Item::kFused)
      return std::none_of(item.instructions.begin(), item.instructions.end(), [&](int32_t i) {
        const auto& results = base::At(program_.instructions, i).results;
        return std::any_of(results.begin(), results.end(),
                           [&](ValueId v) { return base::At(crosses, v); });
      });
    if (item.kind != Item::kKernel) return false;
    const Instruction& made = base::At(program_.instructions, item.instructions[0]);
    if (made.results.size() != 1 || base::At(crosses, made.results[0])) return false;
    return IsMadeByUsers(made.results[0], made.results[0]) || reads_.Of(made.results[0]);
  }

  // Brings operand v into the item: its buffer, or how to make it, or the buffers that its parts
  // are in.
  void Enter(Item& item, ValueId v, std::vector<bool>& crosses) {
    const ValueId root = Storage(v);
    const auto take = [&](ValueId value) {
      base::At(crosses, Storage(value)) = true;
      if (item.kind != Item::kFused ||
          std::find(item.in.begin(), item.in.end(), value) == item.in.end())
        item.in.push_back(value);
    };
    if (item.kind == Item::kMove && !item.each && IsReadByMove(item, v)) {
      const ReadParts& parts = *reads_.Of(v);
      item.reads.emplace(v, parts);
      return take(parts[0].source);
    }
    if (item.kind == Item::kMove && ComputesOperand(item, v, crosses))
      return take(item.each->in[0]);
    if (item.kind != Item::kFused) return take(v);
    if (IsMadeByUsers(v, root)) {
      item.made_here.emplace(v, base::At(defined_at_, root));
    } else if (const ReadParts* parts = PartsFor(item, v)) {
      if (item.reads.emplace(v, *parts).second)
        for (const ReadPart& part : *parts) take(part.source);
    } else {
      take(v);
    }
  }

  const ReadParts* PartsFor(const Item& group, ValueId v) {
    const ReadParts* element = reads_.Element(v);
    return element ? element : reads_.For(v, group.space, group.reduced);
  }

  // ---- what moves between devices do on the way ----

  void CountUses() {
    uses_.assign(program_.values.size(), 0);
    for (const Instruction& i : program_.instructions)
      for (ValueId v : i.operands) ++base::At(uses_, Storage(v));
    for (ValueId v : program_.outputs) ++base::At(uses_, Storage(v));
  }

  // Whether each element of the result comes from one place, by way of no other device.
  bool IsCopiedOnce(const Instruction& move) const {
    if (std::holds_alternative<ir::AsPermute>(*move.op->lowering)) return true;
    const StepKind kind = KindOf(*move.op);
    return kind == StepKind::kAllGather || kind == StepKind::kAllToAll ||
           kind == StepKind::kCollectivePermute;
  }
  int64_t AllElements(ValueId v) const {
    const LayoutKey& key = base::At(schedule_.layouts, layout(v));
    return program_.type(v)->elements() * sharding::SizeOf(key.axes);
  }

  // Whether the move of v, which nobody else reads, reads what v is made of in its place: in one
  // pass, unless that gathers from far more places than a copy would.
  bool IsReadByMove(const Item& item, ValueId v) {
    const Instruction& move = base::At(program_.instructions, item.instructions[0]);
    if (!IsCopiedOnce(move) || Storage(v) != v || base::At(uses_, v) != 1) return false;
    if (AllElements(move.results[0]) > 2 * AllElements(v)) return false;
    const ReadParts* parts = reads_.Of(v);
    if (!parts || parts->size() != 1) return false;
    const ReadPart& part = parts->front();
    return IsWhole(part, shape(v)) && Injects(part) &&
           2 * program_.type(v)->elements() >= program_.type(part.source)->elements();
  }

  // Lets the move that makes all that `item` puts into another order write in that order.
  bool StoredByMove(const Item& item, const std::vector<bool>& crosses) {
    if (item.kind != Item::kKernel) return false;
    const Instruction& last = base::At(program_.instructions, item.instructions[0]);
    const std::optional<ReadParts> parts = PartsOf(program_, last);
    if (!parts || parts->size() != 1) return false;
    const ReadPart& part = parts->front();
    const ValueId source = part.source, result = last.results[0];
    const int32_t k = base::At(maker_, source);
    if (k < 0 || base::At(schedule_.items, k).kind != Item::kMove) return false;
    Item& move = base::At(schedule_.items, k);
    if (!IsCopiedOnce(base::At(program_.instructions, move.instructions[0]))) return false;
    if (base::At(uses_, source) != 1 || base::At(crosses, source) || Storage(source) != source ||
        layout(source) != layout(result) || !IsWhole(part, shape(result)) || !Injects(part) ||
        program_.type(source)->elements() != program_.type(result)->elements())
      return false;
    move.stored = part;
    move.out = {result};
    return true;
  }

  // Lets the move that makes all that a group reads compute what the group does.
  bool ComputedByMove(const Item& item, size_t at) {
    if (item.kind != Item::kFused) return false;
    const auto group = EachElement(item);
    const int32_t k = group ? base::At(maker_, group->in[0]) : -1;
    if (k < 0 || base::At(schedule_.items, k).kind != Item::kMove) return false;
    Item& move = base::At(schedule_.items, k);
    const Instruction& from = base::At(program_.instructions, move.instructions[0]);
    if (move.stored || !MovesRows(from)) return false;
    const ValueId v = group->in[0];
    if (base::At(uses_, v) != UsesIn(item, v) || layout(v) != layout(group->out[0]) ||
        (Bytes(group->out[0]) > Bytes(v) && !IsNear(k, static_cast<int32_t>(at))))
      return false;
    move.out = group->out;
    move.each = group;
    return true;
  }

  // Lets the move of v, which nobody else reads, compute it of what the group that makes v reads,
  // unless that computes an element for more than one place.
  bool ComputesOperand(Item& move, ValueId v, const std::vector<bool>& crosses) {
    const Instruction& to = base::At(program_.instructions, move.instructions[0]);
    const int32_t k = base::At(maker_, v);
    if (move.stored || move.each || k < 0 || base::At(uses_, v) != 1 || !MovesRows(to) ||
        AllElements(to.results[0]) > AllElements(v) ||
        base::At(schedule_.items, k).kind != Item::kFused)
      return false;
    const auto group = EachElement(base::At(schedule_.items, k));
    if (!group || group->out[0] != v || layout(group->in[0]) != layout(v)) return false;
    const ValueId read = group->in[0];
    const bool stays = base::At(defined_at_, Storage(read)) < 0 || base::At(crosses, Storage(read));
    if (Bytes(read) > Bytes(v) && !stays && !IsNear(k, base::At(maker_, to.results[0])))
      return false;
    move.each = group;
    return true;
  }

  // Whether the larger of what two items make may be kept from one to the other: what was converted
  // to be kept until much later should stay so.
  static bool IsNear(int32_t item, int32_t later) {
    constexpr int32_t kNear = 8;
    return later - item <= kNear;
  }
  int64_t Bytes(ValueId v) const {
    return program_.type(v)->elements() * program_.type(v)->dtype().size();
  }

  // Returns the group with its operand and its result, if that is one of each and each element of
  // the result depends on nothing but the one at its place; else null.
  std::shared_ptr<const Item> EachElement(const Item& group) {
    if (group.reduced > 0) return nullptr;
    const std::optional<ValueId> read = OnlyOperand(group);
    if (!read || shape(*read) != group.space || IsMadeByUsers(*read, Storage(*read)) ||
        PartsFor(group, *read))
      return nullptr;
    auto each = std::make_shared<Item>(group);
    each->in = {*read};
    for (int32_t i : group.instructions) {
      const Instruction& instruction = base::At(program_.instructions, i);
      for (ValueId v : instruction.operands)
        if (IsLiteral(v)) each->made_here.emplace(v, base::At(defined_at_, Storage(v)));
      for (ValueId v : instruction.results)
        if (base::At(uses_, v) != UsesIn(group, v)) each->out.push_back(v);
    }
    return each->out.size() == 1 ? each : nullptr;
  }
  // Returns what a group reads beside literals, if it is one value.
  std::optional<ValueId> OnlyOperand(const Item& group) const {
    const int32_t first = group.instructions[0];
    const int32_t k = base::At(maker_, base::At(program_.instructions, first).results[0]);
    std::optional<ValueId> only;
    for (int32_t i : group.instructions)
      for (ValueId v : base::At(program_.instructions, i).operands) {
        if (base::At(maker_, v) == k || v == only || IsLiteral(v)) continue;
        if (only) return std::nullopt;
        only = v;
      }
    return only;
  }
  int32_t UsesIn(const Item& group, ValueId v) const {
    int32_t uses = 0;
    for (int32_t i : group.instructions) {
      const auto& operands = base::At(program_.instructions, i).operands;
      uses += static_cast<int32_t>(std::count(operands.begin(), operands.end(), v));
    }
    return uses;
  }
  bool IsLiteral(ValueId v) const {
    const ValueId root = Storage(v);
    return IsMadeByUsers(v, root) &&
           std::holds_alternative<ir::AsConstant>(
               *base::At(program_.instructions, base::At(defined_at_, root)).op->lowering);
  }

  // Whether a move copies, by runs that are long but not whole shards: these may be renamed only,
  // and where a permutation sends nothing, there are zeros, which are not to be computed with.
  bool MovesRows(const Instruction& move) const {
    constexpr int64_t kLongRun = 256;  // elements
    const base::Shape &from = shape(move.operands[0]), &to = shape(move.results[0]);
    if (!IsCopiedOnce(move)) return false;
    int64_t run = 1;
    for (size_t d = from.size(); d-- > 0;) {
      run *= std::min(from[d], to[d]);
      if (from[d] != to[d]) break;
    }
    return run >= kLongRun && run < program_.type(move.operands[0])->elements();
  }

  static bool IsWhole(const ReadPart& part, const base::Shape& shape) {
    for (size_t d = 0; d < shape.size(); ++d)
      if (part.begin[d] != 0 || part.end[d] != shape[d]) return false;
    return true;
  }
  // Whether no element is read twice, and all that are read lie forward.
  static bool Injects(const ReadPart& part) {
    std::vector<bool> read(part.begin.size());
    for (const ReadDim& dim : part.dims) {
      if (dim.dim < 0) continue;
      if (dim.step <= 0 || base::At(read, dim.dim)) return false;
      base::At(read, dim.dim) = true;
    }
    for (size_t d = 0; d < read.size(); ++d)
      if (!read[d] && part.end[d] - part.begin[d] != 1) return false;
    return true;
  }

  bool IsMadeByUsers(ValueId v, ValueId root) const {
    return spmd::IsMadeByUsers(program_, defined_at_, v, root);
  }
  ValueId Storage(ValueId v) const { return base::At(schedule_.values, v).storage; }
  int32_t layout(ValueId v) const { return base::At(schedule_.values, v).layout; }
  const base::Shape& shape(ValueId v) const { return program_.type(v)->shape(); }

  const ir::Program& program_;
  const std::vector<int32_t>& defined_at_;  // per value
  Reads reads_;
  Schedule& schedule_;
  std::vector<int32_t> uses_;   // per storage
  std::vector<int32_t> maker_;  // per value: the item that makes it
};

}  // namespace

bool IsMadeByUsers(const ir::Program& device, const std::vector<int32_t>& defined_at, ValueId v,
                   ValueId root) {
  const int32_t at = base::At(defined_at, root);
  if (at < 0) return false;
  const ir::Lowering& lowering = *base::At(device.instructions, at).op->lowering;
  const DType view = device.type(v)->dtype(), made = device.type(root)->dtype();
  // Each element of a view of a literal is that literal, if under another dtype.
  if (std::holds_alternative<ir::AsConstant>(lowering)) return view.size() == made.size();
  return std::holds_alternative<ir::AsIota>(lowering) && view == made &&
         WithoutOnes(device.type(v)->shape()) == WithoutOnes(device.type(root)->shape());
}

void FindBorders(const ir::Program& device, const std::vector<int32_t>& defined_at,
                 Schedule& schedule) {
  Borders(device, defined_at, schedule).Find();
}

}  // namespace tessera::spmd
