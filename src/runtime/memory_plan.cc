// Assigns memory to every value: shared, in place, in the run's block or in a worker's frame.
#include "runtime/memory_plan.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/alias.h"
#include "runtime/arena.h"
#include "runtime/assign_offsets.h"
#include "runtime/share_inside_nodes.h"

namespace tessera::runtime {
namespace {

using plan::PlanValueId;

constexpr int64_t kLargeInFrame = int64_t{32} << 10;  // bytes

// ---- who shares with whom -----------------------------------------------------------------------

// Gives every value a storage: if possible it shares one with another value.
class Sharer {
 public:
  explicit Sharer(Memory& memory)
      : memory_(memory),
        plan_(memory.plan),
        flow_(memory.flow),
        places_(memory.result.places),
        permuted_(plan_.values.size()),
        zeros_(plan_.values.size()),
        carry_of_(plan_.values.size(), nullptr) {
    places_.resize(plan_.values.size());
    for (const LoopFlow& loop : flow_.loops)
      for (const CarryFlow& carry : loop.carries)
        carry_of_[carry.value] = carry_of_[carry.next] = &carry;
  }

  void Run() {
    for (PlanValueId v : places_.ids()) {
      const plan::ValueKind kind = plan_.values[v].kind;
      if (kind == plan::ValueKind::kInput) AddOutside(v, Binding::kInput);
      if (kind == plan::ValueKind::kConstant) AddOutside(v, Binding::kConstant);
    }
    for (FlowNodeId n : flow_.nodes.ids()) {
      for (const plan::Exchange* exchange : flow_.nodes[n].starts) ReceiveInto(exchange->out);
      for (const plan::Exchange* exchange : flow_.nodes[n].exchanges) ShareExchange(*exchange, n);
      ShareSteps(n);
      if (flow_.nodes[n].control) AddControl(n);
    }
  }

 private:
  const plan::PlanValue& ValueOf(PlanValueId v) const { return memory_.ValueOf(v); }
  StoragePlan& StorageOf(PlanValueId v) { return memory_.StorageOf(v); }

  void AddOutside(PlanValueId v, Binding::How how) {
    NewStorage(v, how);
    memory_.storages.back().owned = false;
  }

  void NewStorage(PlanValueId v, Binding::How how) {
    Allocation& place = places_[v];
    place.how = how;
    place.storage = memory_.storages.next_id();
    StoragePlan storage;
    storage.root = v;
    storage.owned = true;
    storage.made_node = flow_.lives[v].made_node;
    storage.made_step = flow_.lives[v].made_step;
    storage.total = RoundUp(ValueOf(v).bytes, kLine) * memory_.Instances(v);
    memory_.storages.Add(std::move(storage));
    NewFamily(v);
    AddToStorage(v);
  }

  void NewFamily(PlanValueId v) {
    places_[v].family = FamilyId{families_++};
    StorageOf(v).newest.push_back(v);
  }

  void AddToStorage(PlanValueId v) {
    StoragePlan& storage = StorageOf(v);
    const Life& life = flow_.lives[v];
    storage.bytes = std::max(storage.bytes, ValueOf(v).bytes);
    if (const CarryFlow* carry = carry_of_[v]) {
      storage.carries |= storage.carry && storage.carry != carry;
      storage.carry = carry;
    }
    storage.escapes |= life.output;
    if (std::pair(life.last_node, life.last_step) >
        std::pair(storage.last_node, storage.last_step)) {
      storage.last_node = life.last_node;
      storage.last_step = life.last_step;
    }
  }

  void ReceiveInto(PlanValueId v) {
    if (places_[v].storage == kNoStorage) NewStorage(v, Binding::kFresh);
  }

  void ShareExchange(const plan::Exchange& exchange, FlowNodeId n) {
    const PlanValueId in = exchange.in[0], out = exchange.out;
    if (places_[out].storage != kNoStorage) return;
    std::optional<Alias> alias;
    if (flow_.nodes[n].exchanges.size() == 1)
      alias = FindAlias(exchange, ValueOf(in), memory_.Instances(in), ValueOf(out));
    if (!alias || places_[in].how == Binding::kWindow ||
        (carry_of_[out] && !CanReorder(in, out, *alias)) ||
        (!alias->permutes && (permuted_[in] || StorageOf(in).carry))) {
      return NewStorage(out, Binding::kFresh);
    }
    StorageOf(in).ranged |= !alias->permutes;
    if (carry_of_[out]) ReorderCarried(*carry_of_[out], alias->zeros || zeros_[in]);
    Allocation& place = places_[out];
    place.how = Binding::kAlias;
    place.from = in;
    place.node = alias->permutes ? kNoNode : n;
    place.storage = places_[in].storage;
    permuted_[out] = permuted_[in] || alias->slots != nullptr;
    zeros_[out] = zeros_[in] || alias->zeros;
    if (alias->zeros)
      memory_.result.zero_bytes = std::max(memory_.result.zero_bytes, ValueOf(out).bytes);
    place.alias = std::move(alias);
    NewFamily(out);
    AddToStorage(out);
  }

  // Whether the value that a loop carries next may be a reordering of the operand's instances. Its
  // storage must hold only values of the body, and nothing may write where instances may be zeros.
  bool CanReorder(PlanValueId in, PlanValueId out, const Alias& alias) {
    const CarryFlow& carry = *carry_of_[out];
    const StoragePlan &from = StorageOf(in), &to = StorageOf(carry.value);
    const bool same = &from == &to;
    if (out != carry.next || !alias.permutes || !from.owned || from.ranged) return false;
    if (to.carry != &carry || to.carries || (from.carry && !same)) return false;
    if (!same && from.made_node <= carry.first) return false;
    return !(alias.zeros || zeros_[in]) || !to.taken_over;
  }

  // Records that from the second iteration on the carried value has the successor's instance order.
  void ReorderCarried(const CarryFlow& carry, bool zeros) {
    memory_.reordered.push_back(carry.next);
    for (PlanValueId v : places_.ids()) {
      if (places_[v].storage != places_[carry.value].storage) continue;
      permuted_[v] = true;
      zeros_[v] = zeros_[v] || zeros;
    }
  }

  void ShareSteps(FlowNodeId n) {
    const FlowNode& node = flow_.nodes[n];
    for (size_t s = 0; s < node.steps.size(); ++s) {
      const plan::Step& step = *node.steps[s];
      for (size_t k = 0; k < step.out.size(); ++k) {
        const PlanValueId out = step.out[k];
        if (places_[out].storage != kNoStorage) continue;
        const PlanValueId in =
            k == 0 ? InPlaceOf(step, n, static_cast<int32_t>(s)) : plan::kNoPlanValue;
        if (in != plan::kNoPlanValue) {
          TakeOver(out, in);
        } else {
          NewStorage(out, Binding::kFresh);
          memory_.storages.back().frame = DiesInside(out) && !SharesBlock(step, out);
        }
      }
    }
  }

  // Every worker has a frame. A large value with one instance is in the run's block instead, where
  // others use its memory too.
  bool SharesBlock(const plan::Step& step, PlanValueId out) const {
    return plan_.layouts[step.layout].instances == 1 && ValueOf(out).bytes >= kLargeInFrame;
  }

  bool DiesInside(PlanValueId v) const {
    const Life& life = flow_.lives[v];
    return !life.output && life.last_node == life.made_node;
  }

  void TakeOver(PlanValueId out, PlanValueId in) {
    Allocation& place = places_[out];
    place.how = Binding::kSame;
    place.from = in;
    place.storage = places_[in].storage;
    place.family = places_[in].family;
    permuted_[out] = permuted_[in];
    StorageOf(in).taken_over = true;
    std::vector<PlanValueId>& newest = StorageOf(in).newest;
    // A carried value is the newest again once its successor has taken its place.
    const CarryFlow* carry = carry_of_[out];
    if (carry && out == carry->next)
      newest.push_back(out);
    else
      absl::c_replace(newest, in, out);
    AddToStorage(out);
  }

  // Returns the operand whose buffer the step's first result may overwrite, or kNoPlanValue.
  PlanValueId InPlaceOf(const plan::Step& step, FlowNodeId n, int32_t s) {
    const PlanValueId out = step.out[0];
    if (ValueOf(out).bytes == 0 || ValueOf(out).layout != step.layout) return plan::kNoPlanValue;
    for (PlanValueId v : step.in) {
      const StoragePlan& storage = StorageOf(v);
      if (!storage.owned || (storage.frame && !DiesInside(out))) continue;
      if (places_[v].how == Binding::kWindow || zeros_[v] || !CanHoldCarried(out, v)) continue;
      if (HasSameBuffers(v, out) && CanOverwrite(step, v) && DiesAt(v, out, n, s) &&
          AreOthersDead(flow_, storage, v, n)) {
        return v;
      }
    }
    return plan::kNoPlanValue;
  }

  // Whether `out` may be in the storage of `in`. Storages that change places must have the same
  // instance order. A successor must be in place of its carried value or in a storage of its own.
  bool CanHoldCarried(PlanValueId out, PlanValueId in) {
    const CarryFlow* carry = carry_of_[out];
    if (!carry) return true;
    return !permuted_[in] && !StorageOf(in).ranged && (out == carry->value || in == carry->value);
  }

  bool HasSameBuffers(PlanValueId in, PlanValueId out) const {
    return ValueOf(in).bytes == ValueOf(out).bytes && ValueOf(in).layout == ValueOf(out).layout;
  }

  bool DiesAt(PlanValueId v, PlanValueId out, FlowNodeId n, int32_t s) const {
    const Life& life = flow_.lives[v];
    const CarryFlow* carry = carry_of_[out];
    if (carry && out == carry->next) return carry->read_node == n && carry->read_step == s;
    return !life.output && life.last_node == n && life.last_step == s;
  }

  // ---- loops and branches ---------------------------------------------------------------------

  void AddControl(FlowNodeId n) {
    const Control& control = *flow_.nodes[n].control;
    const LoopFlow* loop = control.kind == Control::kEnter && control.loop != kNoLoop
                               ? &flow_.loops[control.loop]
                               : nullptr;
    if (loop) AddWindows(loop->loop->reads);
    for (PlanValueId v : flow_.nodes[n].makes) {
      if (places_[v].storage == kNoStorage && !IsSlice(loop, v)) NewStorage(v, Binding::kFresh);
    }
    if (loop) AddWindows(loop->loop->writes);
  }

  static bool IsSlice(const LoopFlow* loop, PlanValueId v) {
    if (!loop) return false;
    const auto& writes = loop->loop->writes;
    return absl::c_any_of(writes, [v](const plan::LoopSlice& slice) { return slice.slice == v; });
  }

  void AddWindows(const std::vector<plan::LoopSlice>& slices) {
    for (const plan::LoopSlice& slice : slices) {
      Allocation& place = places_[slice.slice];
      place.how = Binding::kWindow;
      place.from = slice.whole;
      place.storage = places_[slice.whole].storage;
      place.family = places_[slice.whole].family;
      permuted_[slice.slice] = permuted_[slice.whole];
      zeros_[slice.slice] = zeros_[slice.whole];
    }
  }

  Memory& memory_;
  const plan::Plan& plan_;
  const Flow& flow_;
  base::IdVector<PlanValueId, Allocation>& places_;
  // Its instances may not be in order in one block; some may be zeros without storage.
  base::IdVector<PlanValueId, bool> permuted_, zeros_;
  // The carry whose value or successor it is.
  base::IdVector<PlanValueId, const CarryFlow*> carry_of_;
  int32_t families_ = 0;
};

// ---- storages that change places ----------------------------------------------------------------

// Makes both storages live as long as either. Returns whether that changed one of them.
bool LiveTogether(StoragePlan& a, StoragePlan& b) {
  const auto made =
      std::min(std::pair(a.made_node, a.made_step), std::pair(b.made_node, b.made_step));
  const auto last =
      std::max(std::pair(a.last_node, a.last_step), std::pair(b.last_node, b.last_step));
  const bool escapes = a.escapes || b.escapes;
  bool changed = false;
  for (StoragePlan* s : {&a, &b}) {
    changed |= std::tie(s->made_node, s->last_node, s->escapes) !=
               std::tie(made.first, last.first, escapes);
    std::tie(s->made_node, s->made_step) = made;
    std::tie(s->last_node, s->last_step) = last;
    s->escapes = escapes;
    s->swapped = true;
  }
  return changed;
}

// Makes a carried value and its successor change places if they are in different storages. Both
// storages then live as long as either.
void FindSwaps(Memory& memory) {
  MemoryPlan& result = memory.result;
  for (LoopId l : memory.flow.loops.ids()) {
    for (const CarryFlow& carry : memory.flow.loops[l].carries) {
      const CarryUpdate swap{l, carry.value, carry.next};
      const bool reorders = absl::c_linear_search(memory.reordered, carry.next);
      if (reorders) result.reorders.push_back(swap);
      if (result.places[carry.value].storage == result.places[carry.next].storage) continue;
      result.swaps.push_back(swap);
      if (!reorders) result.places[carry.next].family = result.places[carry.value].family;
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const CarryUpdate& swap : result.swaps) {
      changed |= LiveTogether(memory.StorageOf(swap.value), memory.StorageOf(swap.next));
    }
  }
}

// ---- outputs in the buffers of donated inputs ---------------------------------------------------

// Whether donated input x is dead where `storage` is first written.
bool IsDeadFor(const Memory& memory, const StoragePlan& storage, PlanValueId x) {
  const StoragePlan& old = memory.StorageOf(x);
  const FlowNodeId n = storage.made_node;
  if (old.last_node < n) return true;
  const FlowNode& node = memory.flow.nodes[n];
  // If both are in one node, no other instance may read the memory that this one overwrites.
  if (old.last_node > n || node.steps.empty() || memory.ValueOf(x).layout != node.layout ||
      memory.ValueOf(storage.root).layout != node.layout ||
      !AreOthersDead(memory.flow, old, x, n)) {
    return false;
  }
  if (old.last_step != storage.made_step) return old.last_step < storage.made_step;
  const plan::Step& step = *node.steps[storage.made_step];
  return step.out[0] == storage.root && CanOverwrite(step, x);
}

// Returns the donated input to take, or kNoPlanValue. Prefers an operand of the step that defines
// the storage: it is in the caches, and the other inputs stay available.
PlanValueId ChooseDonated(const Memory& memory, const StoragePlan& storage,
                          const std::vector<PlanValueId>& inputs) {
  const FlowNode& node = memory.flow.nodes[storage.made_node];
  if (!node.steps.empty()) {
    for (PlanValueId v : node.steps[storage.made_step]->in) {
      if (absl::c_linear_search(inputs, v) && IsDeadFor(memory, storage, v)) {
        return v;
      }
    }
  }
  for (PlanValueId x : inputs) {
    if (IsDeadFor(memory, storage, x)) return x;
  }
  return plan::kNoPlanValue;
}

// Barriers are placed per storage, so a storage that takes an input's buffers gets the
// input's number.
void MergeTaken(Memory& memory) {
  for (Allocation& place : memory.result.places) {
    if (place.storage == kNoStorage) continue;
    const Allocation& root = memory.result.places[memory.storages[place.storage].root];
    if (root.how == Binding::kTake) place.storage = memory.result.places[root.from].storage;
  }
}

// Gives outputs the buffers of donated inputs that are dead by then.
void TakeDonated(Memory& memory) {
  using Size = std::pair<int64_t, int32_t>;  // bytes, instances
  std::map<Size, std::vector<PlanValueId>> donated;
  for (const auto& [x, is_donated] : memory.plan.inputs) {
    if (!is_donated || memory.StorageOf(x).escapes) continue;
    donated[{memory.ValueOf(x).bytes, memory.Instances(x)}].push_back(x);
  }
  if (donated.empty()) return;
  for (StoragePlan& storage : memory.storages) {
    if (!storage.owned || !storage.escapes || storage.swapped) continue;
    const auto list =
        donated.find({memory.ValueOf(storage.root).bytes, memory.Instances(storage.root)});
    if (list == donated.end()) continue;
    const PlanValueId x = ChooseDonated(memory, storage, list->second);
    if (x == plan::kNoPlanValue) continue;
    std::erase(list->second, x);
    memory.result.places[storage.root].how = Binding::kTake;
    memory.result.places[storage.root].from = x;
  }
  MergeTaken(memory);
}

}  // namespace

MemoryPlan PlanMemory(const plan::Plan& plan, const Flow& flow) {
  Memory memory{plan, flow};
  Sharer(memory).Run();
  FindSwaps(memory);
  TakeDonated(memory);
  ShareInsideNodes(memory);
  AssignOffsets(memory);
  return std::move(memory.result);
}

}  // namespace tessera::runtime
