// Visits items from the last to the first, so that all readers of a value are known before it.
#include "spmd/schedule/live_values.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/at.h"
#include "sharding/local.h"
#include "spmd/moves.h"
#include "spmd/schedule/tiles.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

// The position of an item in the schedule before this pass.
enum class ItemId : int32_t {};
constexpr ItemId kNoItem{-1};

base::Shape WithoutOnes(base::Shape s) {
  std::erase(s, 1);
  return s;
}

bool CoversAll(const ReadPart& part, const base::Shape& shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (part.begin[d] != 0 || part.end[d] != shape[d]) return false;
  return true;
}

// Whether the part reads no element twice and steps forward along every dim.
bool ReadsEachOnceForward(const ReadPart& part) {
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

// Whether a move takes each element of its result from one device, without passing another.
bool CopiesOnce(const Instruction& move) {
  if (std::holds_alternative<ir::AsPermute>(*move.op->lowering)) return true;
  const StepKind kind = KindOf(*move.op);
  return kind == StepKind::kAllGather || kind == StepKind::kAllToAll ||
         kind == StepKind::kCollectivePermute;
}

// Whether a move copies long runs, and not whole shards. A move of whole shards may only rename
// buffers, and a permutation that sends nothing leaves zeros, with which nothing must compute.
bool MovesLongRuns(const ir::Program& p, const Instruction& move) {
  constexpr int64_t kLongRun = 256;  // elements
  const ir::Type& operand = *p.type(move.operands[0]);
  const base::Shape &from = operand.shape(), &to = p.type(move.results[0])->shape();
  if (!CopiesOnce(move)) return false;
  int64_t run = 1;
  for (size_t d = from.size(); d-- > 0;) {
    run *= std::min(from[d], to[d]);
    if (from[d] != to[d]) break;
  }
  return run >= kLongRun && run < operand.elements();
}

// Whether a group that reads the larger of two items' results may run with the other one. Far away
// from it, a value that was converted in order to be kept for long should stay converted.
bool AreNear(ItemId item, ItemId later) {
  constexpr int32_t kNear = 8;
  return base::Number(later) - base::Number(item) <= kNear;
}

class LiveValueFinder {
 public:
  LiveValueFinder(const ir::Program& device, Schedule& schedule)
      : program_(device),
        definitions_(DefinitionsOf(device)),
        reads_(device),
        schedule_(schedule),
        use_count_(device.values.size(), 0),
        item_of_(device.values.size(), kNoItem),
        in_memory_(device.values.size(), false) {}

  void Run() {
    for (size_t k = 0; k < schedule_.items.size(); ++k)
      for (InstructionId i : schedule_.items[k].instructions())
        for (ValueId v : InstructionAt(program_, i).results)
          item_of_[v] = ItemId{static_cast<int32_t>(k)};
    for (ValueId v : program_.outputs) in_memory_[Storage(v)] = true;
    CountUses();
    std::vector<Item> kept;
    for (size_t k = schedule_.items.size(); k-- > 0;) {
      const ItemId id{static_cast<int32_t>(k)};
      Item& item = schedule_.items[k];
      if (IsUnread(item)) continue;
      if (TryStoreThroughMove(item)) continue;
      if (TryComputeThroughMove(item, id)) continue;
      if (!TryCopyParts(item) && !TryAssembleTiles(item))
        for (InstructionId i : item.instructions())
          for (ValueId v : InstructionAt(program_, i).operands)
            if (item_of_[Storage(v)] != id) AddOperand(item, v);
      kept.push_back(std::move(item));
    }
    absl::c_reverse(kept);
    for (Item& item : kept) SetLiveOuts(item);
    schedule_.items = std::move(kept);
  }

 private:
  // Whether no item needs this item's results in memory.
  bool IsUnread(const Item& item) {
    const auto is_in_memory = [&](ValueId v) { return bool{in_memory_[v]}; };
    if (const auto* group = std::get_if<FusedItem>(&item))
      return absl::c_none_of(group->instructions, [&](InstructionId i) {
        return absl::c_any_of(InstructionAt(program_, i).results, is_in_memory);
      });
    const auto* kernel = std::get_if<KernelItem>(&item);
    if (!kernel) return false;
    const Instruction& instruction = InstructionAt(program_, kernel->instruction);
    if (instruction.results.size() != 1) return false;
    const ValueId result = instruction.results[0];
    return !in_memory_[result] && (IsRematerialised(result) || reads_.Of(result));
  }

  // A move that does the work of another item already lists that item's result in out().
  void SetLiveOuts(Item& item) {
    if (!item.out().empty()) return;
    const bool fused = std::holds_alternative<FusedItem>(item);
    for (InstructionId i : item.instructions())
      for (ValueId v : InstructionAt(program_, i).results)
        if (in_memory_[v] || !fused) item.out().push_back(v);
  }

  // If the item only moves elements, makes it copy them out of the sources of its operands, which
  // then need not be in memory.
  bool TryCopyParts(Item& item) {
    auto* kernel = std::get_if<KernelItem>(&item);
    if (!kernel) return false;
    const Instruction& instruction = InstructionAt(program_, kernel->instruction);
    if (instruction.results.size() != 1) return false;
    const ReadParts* parts = reads_.ForCopy(instruction.results[0]);
    if (!parts) return false;
    kernel->copied = *parts;
    AddSources(kernel->in, *parts);
    return true;
  }

  // If the item is a product and the only reader of its first operand, whose elements are only
  // moved, makes it copy them out of their sources, tile by tile.
  bool TryAssembleTiles(Item& item) {
    auto* kernel = std::get_if<KernelItem>(&item);
    if (!kernel) return false;
    const Instruction& instruction = InstructionAt(program_, kernel->instruction);
    if (instruction.operands.empty()) return false;
    const ValueId v = instruction.operands[0];
    if (Storage(v) != v || use_count_[v] != 1) return false;
    const std::optional<int64_t> dims = TileDims(program_, instruction);
    const ReadParts* parts = dims ? reads_.ForCopy(v) : nullptr;
    if (!parts) return false;
    kernel->assembled = *parts;
    kernel->tile_dims = *dims;
    AddSources(kernel->in, *parts);
    for (size_t k = 1; k < instruction.operands.size(); ++k)
      AddLiveIn(kernel->in, instruction.operands[k]);
    return true;
  }

  void AddSources(std::vector<ValueId>& in, const ReadParts& parts) {
    for (const ReadPart& part : parts)
      if (!absl::c_linear_search(in, part.source)) AddLiveIn(in, part.source);
  }

  // Makes an operand of a member available to the item: in memory, or by another way.
  void AddOperand(Item& item, ValueId v) {
    if (auto* group = std::get_if<FusedItem>(&item)) return AddGroupOperand(*group, v);
    if (auto* move = std::get_if<MoveItem>(&item)) return AddMoveOperand(*move, v);
    AddLiveIn(item.in(), v);
  }

  void AddLiveIn(std::vector<ValueId>& in, ValueId v) {
    in_memory_[Storage(v)] = true;
    in.push_back(v);
  }

  void AddGroupOperand(FusedItem& group, ValueId v) {
    const auto add = [&](ValueId value) {
      if (!absl::c_linear_search(group.in, value)) AddLiveIn(group.in, value);
    };
    if (IsRematerialised(v)) {
      group.rematerialised.emplace(v, definitions_[Storage(v)]);
    } else if (const ReadParts* parts = PartsFor(group, v)) {
      if (group.reads.emplace(v, *parts).second)
        for (const ReadPart& part : *parts) add(part.source);
    } else {
      add(v);
    }
  }

  void AddMoveOperand(MoveItem& move, ValueId v) {
    if (!move.computes && CanReadThrough(move, v)) {
      const ReadParts& parts = *reads_.Of(v);
      move.reads.emplace(v, parts);
      v = parts[0].source;
    } else if (TryComputeOperand(move, v)) {
      v = move.computes->in[0];
    }
    AddLiveIn(move.in, v);
  }

  const ReadParts* PartsFor(const FusedItem& group, ValueId v) {
    if (const ReadParts* element = reads_.Element(v)) return element;
    if (const ReadParts* repeated = reads_.Repeated(v, group.space)) return repeated;
    return reads_.For(v, group.space, group.reduced);
  }

  // ---- work that moves do on the way ----

  void CountUses() {
    for (const Instruction& i : program_.instructions)
      for (ValueId v : i.operands) ++use_count_[Storage(v)];
    for (ValueId v : program_.outputs) ++use_count_[Storage(v)];
  }

  int64_t ElementsOnAllDevices(ValueId v) const {
    return program_.type(v)->elements() * sharding::SizeOf(schedule_.layouts[layout(v)].axes);
  }

  // Whether the move, the only reader of v, may read v's source in its place. One pass then does
  // the work of two, unless a gather repeats v more than a copy would.
  bool CanReadThrough(const MoveItem& move, ValueId v) {
    const Instruction& instruction = InstructionAt(program_, move.instructions[0]);
    if (!CopiesOnce(instruction) || Storage(v) != v || use_count_[v] != 1) return false;
    if (ElementsOnAllDevices(instruction.results[0]) > 2 * ElementsOnAllDevices(v)) return false;
    const ReadParts* parts = reads_.Of(v);
    if (!parts || parts->size() != 1) return false;
    const ReadPart& part = parts->front();
    return CoversAll(part, shape(v)) && ReadsEachOnceForward(part) &&
           2 * program_.type(v)->elements() >= program_.type(part.source)->elements();
  }

  Item& ItemAt(ItemId k) { return schedule_.items[base::Size(base::Number(k))]; }
  // Returns the move that defines v; null if none does.
  MoveItem* MoveOf(ValueId v) {
    const ItemId k = item_of_[v];
    return k == kNoItem ? nullptr : std::get_if<MoveItem>(&ItemAt(k));
  }

  // If the item permutes the elements of a move's result and nothing else reads that result, makes
  // the move store it in the item's order. The item is then done.
  bool TryStoreThroughMove(const Item& item) {
    const auto* kernel = std::get_if<KernelItem>(&item);
    if (!kernel) return false;
    const Instruction& instruction = InstructionAt(program_, kernel->instruction);
    const ValueId result = instruction.results[0];
    if (absl::c_none_of(instruction.operands, [&](ValueId v) { return MoveOf(v) != nullptr; }))
      return false;
    const ReadParts* parts = reads_.InOperands(result);
    if (!parts || parts->size() != 1) return false;
    const ReadPart& part = parts->front();
    const ValueId source = part.source;
    MoveItem* move = MoveOf(source);
    if (!move || !CopiesOnce(InstructionAt(program_, move->instructions[0]))) return false;
    if (use_count_[source] != 1 || in_memory_[source] || Storage(source) != source ||
        layout(source) != layout(result) || !CoversAll(part, shape(result)) ||
        !ReadsEachOnceForward(part) ||
        program_.type(source)->elements() != program_.type(result)->elements())
      return false;
    move->stored = part;
    move->out = {result};
    return true;
  }

  // If the item is an elementwise group of a move's result, makes the move compute the group on the
  // way. The item is then done.
  bool TryComputeThroughMove(const Item& item, ItemId id) {
    const auto* fused = std::get_if<FusedItem>(&item);
    const auto group = fused ? AsUnary(*fused) : nullptr;
    MoveItem* move = group ? MoveOf(group->in[0]) : nullptr;
    if (!move) return false;
    if (move->stored || !MovesLongRuns(program_, InstructionAt(program_, move->instructions[0])))
      return false;
    const ValueId v = group->in[0];
    if (use_count_[v] != UsesIn(*fused, v) || layout(v) != layout(group->out[0]) ||
        (Bytes(group->out[0]) > Bytes(v) && !AreNear(item_of_[v], id)))
      return false;
    move->out = group->out;
    move->computes = group;
    return true;
  }

  // If an elementwise group defines v and only the move reads v, makes the move compute the group
  // on the way, unless that computes an element more than once.
  bool TryComputeOperand(MoveItem& move, ValueId v) {
    const Instruction& instruction = InstructionAt(program_, move.instructions[0]);
    const ItemId k = item_of_[v];
    if (move.stored || move.computes || k == kNoItem || use_count_[v] != 1 ||
        !MovesLongRuns(program_, instruction) ||
        ElementsOnAllDevices(instruction.results[0]) > ElementsOnAllDevices(v))
      return false;
    const auto* fused = std::get_if<FusedItem>(&ItemAt(k));
    const auto group = fused ? AsUnary(*fused) : nullptr;
    if (!group || group->out[0] != v || layout(group->in[0]) != layout(v)) return false;
    const ValueId read = group->in[0], root = Storage(read);
    const bool stays = definitions_[root] == kNoInstruction || in_memory_[root];
    if (Bytes(read) > Bytes(v) && !stays && !AreNear(k, item_of_[instruction.results[0]]))
      return false;
    move.computes = group;
    return true;
  }

  // Returns the group with its one operand and its one result, if each element of the result
  // depends on one element of the operand, at the same position; else null.
  std::shared_ptr<const FusedItem> AsUnary(const FusedItem& group) {
    if (group.reduced > 0) return nullptr;
    const std::optional<ValueId> operand = OnlyOperand(group);
    if (!operand || shape(*operand) != group.space || IsRematerialised(*operand) ||
        PartsFor(group, *operand))
      return nullptr;
    auto unary = std::make_shared<FusedItem>(group);
    unary->in = {*operand};
    for (InstructionId i : group.instructions) {
      const Instruction& instruction = InstructionAt(program_, i);
      for (ValueId v : instruction.operands)
        if (IsLiteral(v)) unary->rematerialised.emplace(v, definitions_[Storage(v)]);
      for (ValueId v : instruction.results)
        if (use_count_[v] != UsesIn(group, v)) unary->out.push_back(v);
    }
    return unary->out.size() == 1 ? unary : nullptr;
  }

  // Returns the one value that the group reads apart from literals; none if it reads several.
  std::optional<ValueId> OnlyOperand(const FusedItem& group) const {
    const ItemId k = item_of_[InstructionAt(program_, group.instructions[0]).results[0]];
    std::optional<ValueId> only;
    for (InstructionId i : group.instructions)
      for (ValueId v : InstructionAt(program_, i).operands) {
        if (item_of_[v] == k || v == only || IsLiteral(v)) continue;
        if (only) return std::nullopt;
        only = v;
      }
    return only;
  }

  int32_t UsesIn(const FusedItem& group, ValueId v) const {
    int32_t uses = 0;
    for (InstructionId i : group.instructions)
      uses += static_cast<int32_t>(absl::c_count(InstructionAt(program_, i).operands, v));
    return uses;
  }

  bool IsLiteral(ValueId v) const {
    return IsRematerialised(v) &&
           std::holds_alternative<ir::AsConstant>(
               *InstructionAt(program_, definitions_[Storage(v)]).op->lowering);
  }

  bool IsRematerialised(ValueId v) const {
    return spmd::IsRematerialised(program_, definitions_, v, Storage(v));
  }
  int64_t Bytes(ValueId v) const { return ShardBytes(program_, v); }
  ValueId Storage(ValueId v) const { return schedule_.values[v].storage; }
  LayoutId layout(ValueId v) const { return schedule_.values[v].layout; }
  const base::Shape& shape(ValueId v) const { return program_.type(v)->shape(); }

  const ir::Program& program_;
  const ValueDefinitions definitions_;
  Reads reads_;
  Schedule& schedule_;
  base::IdVector<ValueId, int32_t> use_count_;  // of the buffer that the value owns
  base::IdVector<ValueId, ItemId> item_of_;     // the item that defines the value
  base::IdVector<ValueId, bool> in_memory_;  // an item reads its buffer, or the program returns it
};

}  // namespace

bool IsRematerialised(const ir::Program& device, const ValueDefinitions& definitions, ValueId v,
                      ValueId root) {
  const InstructionId i = definitions[root];
  if (i == kNoInstruction) return false;
  const ir::Lowering& lowering = *InstructionAt(device, i).op->lowering;
  const DType view = device.type(v)->dtype(), stored = device.type(root)->dtype();
  // A view of a literal is a literal with the same bits, if elements keep their size.
  if (std::holds_alternative<ir::AsConstant>(lowering)) return view.size() == stored.size();
  return std::holds_alternative<ir::AsIota>(lowering) && view == stored &&
         WithoutOnes(device.type(v)->shape()) == WithoutOnes(device.type(root)->shape());
}

void FindLiveValues(const ir::Program& device, Schedule& schedule) {
  LiveValueFinder(device, schedule).Run();
}

}  // namespace tessera::spmd
