// Assigns memory to every value: shared, in place, in the run's block or in a worker's frame.
#include "runtime/memory_plan.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/alias.h"
#include "runtime/packer.h"

namespace tessera::runtime {
namespace {

// The memory of one value, or of several that share it by aliasing or reuse in place.
struct StoragePlan {
  int32_t root = -1;  // the value that it is made for
  bool frame = false;
  bool owned = false;       // allocated by the run; false for inputs and constants
  bool escapes = false;     // holds an output
  bool taken_over = false;  // some value is written in place of another
  bool swapped = false;     // changes places with another storage
  bool ranged = false;      // some value is a range of it, with another size
  // bytes of the largest value's instance; bytes of all instances of the root
  int64_t bytes = 0, total = 0;
  FlowNodeId made_node = kNoNode, last_node = kNoNode;
  int32_t made_step = -1, last_step = -1;
  // The newest value of each family. A value overwritten in place by a newer one is dead, unless a
  // loop carries it.
  std::vector<int32_t> newest;
  const CarryFlow* carry = nullptr;  // the carry whose value or successor it holds
  bool carries = false;              // it holds values of several carries
};

class MemoryPlanner {
 public:
  MemoryPlanner(const plan::Plan& plan, const Flow& flow)
      : plan_(plan),
        flow_(flow),
        permuted_(plan.values.size()),
        zeros_(plan.values.size()),
        carry_of_(plan.values.size(), nullptr) {
    result_.places.resize(plan.values.size());
    for (const LoopFlow& loop : flow.loops) {
      for (const CarryFlow& carry : loop.carries) {
        carry_of_[carry.value] = carry_of_[carry.next] = &carry;
      }
    }
  }

  MemoryPlan Run() {
    for (int32_t v : result_.places.ids()) {
      const plan::ValueKind kind = plan_.values[v].kind;
      if (kind == plan::ValueKind::kInput) AddOutside(v, Binding::kInput);
      if (kind == plan::ValueKind::kConstant) AddOutside(v, Binding::kConstant);
    }
    for (FlowNodeId n : flow_.nodes.ids()) {
      for (const plan::Exchange* exchange : flow_.nodes[n].exchanges) ShareExchange(*exchange, n);
      ShareSteps(n);
      if (flow_.nodes[n].control) AddControl(n);
    }
    FindSwaps();
    TakeDonated();
    Pack();
    return std::move(result_);
  }

 private:
  const plan::PlanValue& ValueOf(int32_t v) const { return plan_.values[v]; }
  int32_t Instances(int32_t v) const { return plan_.layouts[ValueOf(v).layout].instances; }
  StoragePlan& StorageOf(int32_t v) { return storages_[result_.places[v].storage]; }

  void AddOutside(int32_t v, Binding::How how) {
    NewStorage(v, how);
    storages_.back().owned = false;
  }

  void NewStorage(int32_t v, Binding::How how) {
    Allocation& place = result_.places[v];
    place.how = how;
    place.storage = storages_.next_id();
    StoragePlan storage;
    storage.root = v;
    storage.owned = true;
    storage.made_node = flow_.lives[v].made_node;
    storage.made_step = flow_.lives[v].made_step;
    storage.total = RoundUp(ValueOf(v).bytes, kLine) * Instances(v);
    storages_.Add(std::move(storage));
    NewFamily(v);
    AddToStorage(v);
  }

  void NewFamily(int32_t v) {
    result_.places[v].family = FamilyId{families_++};
    StorageOf(v).newest.push_back(v);
  }

  void AddToStorage(int32_t v) {
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

  // ---- who shares with whom -------------------------------------------------------------------

  void ShareExchange(const plan::Exchange& exchange, FlowNodeId n) {
    const int32_t in = exchange.in[0], out = exchange.out;
    if (result_.places[out].storage != kNoStorage) return;
    std::optional<Alias> alias;
    if (flow_.nodes[n].exchanges.size() == 1)
      alias = FindAlias(exchange, ValueOf(in), Instances(in), ValueOf(out));
    if (!alias || result_.places[in].how == Binding::kWindow ||
        (carry_of_[out] && !CanReorder(in, out, *alias)) ||
        (!alias->permutes && (permuted_[in] || StorageOf(in).carry))) {
      return NewStorage(out, Binding::kFresh);
    }
    StorageOf(in).ranged |= !alias->permutes;
    if (carry_of_[out]) ReorderCarried(*carry_of_[out], alias->zeros || zeros_[in]);
    Allocation& place = result_.places[out];
    place.how = Binding::kAlias;
    place.from = in;
    place.node = alias->permutes ? kNoNode : n;
    place.storage = result_.places[in].storage;
    permuted_[out] = permuted_[in] || alias->slots != nullptr;
    zeros_[out] = zeros_[in] || alias->zeros;
    if (alias->zeros) result_.zero_bytes = std::max(result_.zero_bytes, ValueOf(out).bytes);
    place.alias = std::move(alias);
    NewFamily(out);
    AddToStorage(out);
  }

  // Whether the value that a loop carries next may be a reordering of the operand's instances. Its
  // storage must hold only values of the body, and nothing may write where instances may be zeros.
  bool CanReorder(int32_t in, int32_t out, const Alias& alias) {
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
    reordered_.push_back(carry.next);
    for (int32_t v : result_.places.ids()) {
      if (result_.places[v].storage != result_.places[carry.value].storage) continue;
      permuted_[v] = true;
      zeros_[v] = zeros_[v] || zeros;
    }
  }

  void ShareSteps(FlowNodeId n) {
    const FlowNode& node = flow_.nodes[n];
    for (size_t s = 0; s < node.steps.size(); ++s) {
      const plan::Step& step = *node.steps[s];
      for (size_t k = 0; k < step.out.size(); ++k) {
        const int32_t out = step.out[k];
        if (result_.places[out].storage != kNoStorage) continue;
        const int32_t in = k == 0 ? InPlaceOf(step, n, static_cast<int32_t>(s)) : -1;
        if (in >= 0) {
          TakeOver(out, in);
        } else {
          NewStorage(out, Binding::kFresh);
          storages_.back().frame = DiesInside(out);
        }
      }
    }
  }

  bool DiesInside(int32_t v) const {
    const Life& life = flow_.lives[v];
    return !life.output && life.last_node == life.made_node;
  }

  void TakeOver(int32_t out, int32_t in) {
    Allocation& place = result_.places[out];
    place.how = Binding::kSame;
    place.from = in;
    place.storage = result_.places[in].storage;
    place.family = result_.places[in].family;
    permuted_[out] = permuted_[in];
    StorageOf(in).taken_over = true;
    std::vector<int32_t>& newest = StorageOf(in).newest;
    // A carried value is the newest again once its successor has taken its place.
    const CarryFlow* carry = carry_of_[out];
    if (carry && out == carry->next)
      newest.push_back(out);
    else
      absl::c_replace(newest, in, out);
    AddToStorage(out);
  }

  // Returns the operand whose buffer the step's first result may overwrite, or -1.
  int32_t InPlaceOf(const plan::Step& step, FlowNodeId n, int32_t s) {
    const int32_t out = step.out[0];
    if (ValueOf(out).bytes == 0 || ValueOf(out).layout != step.layout) return -1;
    for (int32_t v : step.in) {
      const StoragePlan& storage = StorageOf(v);
      if (!storage.owned || (storage.frame && !DiesInside(out))) continue;
      if (result_.places[v].how == Binding::kWindow || zeros_[v] || !CanHoldCarried(out, v))
        continue;
      if (HasSameBuffers(v, out) && CanOverwrite(step, v) && DiesAt(v, out, n, s) &&
          AreOthersDead(storage, v, n)) {
        return v;
      }
    }
    return -1;
  }

  // Whether `out` may be in the storage of `in`. Storages that change places must have the same
  // instance order. A successor must be in place of its carried value or in a storage of its own.
  bool CanHoldCarried(int32_t out, int32_t in) {
    const CarryFlow* carry = carry_of_[out];
    if (!carry) return true;
    return !permuted_[in] && !StorageOf(in).ranged && (out == carry->value || in == carry->value);
  }

  bool HasSameBuffers(int32_t in, int32_t out) const {
    return ValueOf(in).bytes == ValueOf(out).bytes && ValueOf(in).layout == ValueOf(out).layout;
  }

  // Whether the kernel may overwrite every operand that is `v`.
  static bool CanOverwrite(const plan::Step& step, int32_t v) {
    for (size_t i = 0; i < step.in.size(); ++i) {
      if (step.in[i] == v && (i >= 64 || !(step.kernel.in_place >> i & 1))) return false;
    }
    return true;
  }

  bool DiesAt(int32_t v, int32_t out, FlowNodeId n, int32_t s) const {
    const Life& life = flow_.lives[v];
    const CarryFlow* carry = carry_of_[out];
    if (carry && out == carry->next) return carry->read_node == n && carry->read_step == s;
    return !life.output && life.last_node == n && life.last_step == s;
  }

  // ---- loops and branches ---------------------------------------------------------------------

  void AddControl(FlowNodeId n) {
    const Control& control = *flow_.nodes[n].control;
    const LoopFlow* loop =
        control.kind == Control::kEnter && control.loop >= 0 ? &flow_.loops[control.loop] : nullptr;
    if (loop) AddWindows(loop->loop->reads);
    for (int32_t v : flow_.nodes[n].makes) {
      if (result_.places[v].storage == kNoStorage && !IsSlice(loop, v))
        NewStorage(v, Binding::kFresh);
    }
    if (loop) AddWindows(loop->loop->writes);
  }

  static bool IsSlice(const LoopFlow* loop, int32_t v) {
    if (!loop) return false;
    const auto& writes = loop->loop->writes;
    return absl::c_any_of(writes, [v](const plan::LoopSlice& slice) { return slice.slice == v; });
  }

  void AddWindows(const std::vector<plan::LoopSlice>& slices) {
    for (const plan::LoopSlice& slice : slices) {
      Allocation& place = result_.places[slice.slice];
      place.how = Binding::kWindow;
      place.from = slice.whole;
      place.storage = result_.places[slice.whole].storage;
      place.family = result_.places[slice.whole].family;
      permuted_[slice.slice] = permuted_[slice.whole];
      zeros_[slice.slice] = zeros_[slice.whole];
    }
  }

  // Makes a carried value and its successor change places if they are in different storages. Both
  // storages then live as long as either.
  void FindSwaps() {
    for (size_t l = 0; l < flow_.loops.size(); ++l) {
      for (const CarryFlow& carry : flow_.loops[l].carries) {
        const CarryUpdate update{static_cast<int32_t>(l), carry.value, carry.next};
        const bool reorders = absl::c_linear_search(reordered_, carry.next);
        if (reorders) result_.reorders.push_back(update);
        if (result_.places[carry.value].storage == result_.places[carry.next].storage) continue;
        result_.swaps.push_back(update);
        if (!reorders) result_.places[carry.next].family = result_.places[carry.value].family;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const CarryUpdate& swap : result_.swaps) {
        changed |= LiveTogether(StorageOf(swap.value), StorageOf(swap.next));
      }
    }
  }

  static bool LiveTogether(StoragePlan& a, StoragePlan& b) {
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

  // Whether all families except the family of `v` are dead before node n. In node n another
  // instance may still read the memory that this one overwrites.
  bool AreOthersDead(const StoragePlan& storage, int32_t v, FlowNodeId n) const {
    for (int32_t other : storage.newest) {
      if (other != v && flow_.lives[other].last_node >= n) return false;
    }
    return true;
  }

  // ---- outputs in the buffers of donated inputs -------------------------------------------------

  using Size = std::pair<int64_t, int32_t>;  // bytes, instances

  void TakeDonated() {
    std::map<Size, std::vector<int32_t>> donated;
    for (const auto& [x, is_donated] : plan_.inputs) {
      if (!is_donated || StorageOf(x).escapes) continue;
      donated[{ValueOf(x).bytes, Instances(x)}].push_back(x);
    }
    if (donated.empty()) return;
    for (StoragePlan& storage : storages_) {
      if (!storage.owned || !storage.escapes || storage.swapped) continue;
      const auto list = donated.find({ValueOf(storage.root).bytes, Instances(storage.root)});
      if (list == donated.end()) continue;
      const int32_t x = ChooseDonated(storage, list->second);
      if (x < 0) continue;
      std::erase(list->second, x);
      result_.places[storage.root].how = Binding::kTake;
      result_.places[storage.root].from = x;
    }
    MergeTaken();
  }

  // Returns the donated input to take, or -1. Prefers an operand of the step that defines the
  // storage: it is in the caches, and the other inputs stay available.
  int32_t ChooseDonated(const StoragePlan& storage, const std::vector<int32_t>& inputs) {
    const FlowNode& node = flow_.nodes[storage.made_node];
    if (!node.steps.empty()) {
      for (int32_t v : node.steps[storage.made_step]->in) {
        if (absl::c_linear_search(inputs, v) && IsDeadFor(storage, v)) {
          return v;
        }
      }
    }
    for (int32_t x : inputs) {
      if (IsDeadFor(storage, x)) return x;
    }
    return -1;
  }

  // Whether donated input x is dead where `storage` is first written.
  bool IsDeadFor(const StoragePlan& storage, int32_t x) {
    const StoragePlan& old = StorageOf(x);
    const FlowNodeId n = storage.made_node;
    if (old.last_node < n) return true;
    const FlowNode& node = flow_.nodes[n];
    // If both are in one node, no other instance may read the memory that this one overwrites.
    if (old.last_node > n || node.steps.empty() || ValueOf(x).layout != node.layout ||
        ValueOf(storage.root).layout != node.layout || !AreOthersDead(old, x, n)) {
      return false;
    }
    if (old.last_step != storage.made_step) return old.last_step < storage.made_step;
    const plan::Step& step = *node.steps[storage.made_step];
    return step.out[0] == storage.root && CanOverwrite(step, x);
  }

  // Barriers are placed per storage, so a storage that takes an input's buffers gets the
  // input's number.
  void MergeTaken() {
    for (Allocation& place : result_.places) {
      if (place.storage == kNoStorage) continue;
      const Allocation& root = result_.places[storages_[place.storage].root];
      if (root.how == Binding::kTake) place.storage = result_.places[root.from].storage;
    }
  }

  // ---- offsets ------------------------------------------------------------------------------

  void Pack() {
    const size_t nodes = flow_.nodes.size();
    base::IdVector<FlowNodeId, std::vector<StorageId>> made(nodes), dead(nodes), frames(nodes);
    int64_t fresh = 0;
    for (StorageId i : storages_.ids()) {
      const StoragePlan& storage = storages_[i];
      if (!storage.owned) continue;
      if (storage.frame) {
        frames[storage.made_node].push_back(i);
      } else if (!storage.escapes) {
        made[storage.made_node].push_back(i);
        dead[storage.last_node].push_back(i);
      } else if (result_.places[storage.root].how == Binding::kFresh) {
        fresh += storage.bytes;
      }
    }
    Packer block;
    int64_t live = 0, peak = 0;
    for (FlowNodeId n : flow_.nodes.ids()) {
      for (StorageId i : made[n]) live += storages_[i].bytes, PlaceInBlock(storages_[i], block);
      peak = std::max(peak, live + PackFrame(frames[n], flow_.nodes[n].steps.size()));
      for (StorageId i : dead[n]) {
        live -= storages_[i].bytes;
        block.Give(result_.places[storages_[i].root].offset, storages_[i].total);
      }
    }
    for (Allocation& place : result_.places) {
      if (place.storage == kNoStorage || !storages_[place.storage].frame) continue;
      place.frame = true;
      place.offset = result_.places[storages_[place.storage].root].offset;
    }
    result_.block_bytes = block.extent();
    result_.peak_bytes = fresh + peak;
  }

  void PlaceInBlock(const StoragePlan& storage, Packer& block) {
    Allocation& place = result_.places[storage.root];
    place.how = Binding::kBlock;
    place.offset = block.Take(storage.total);
  }

  // Assigns frame offsets to the values that live inside one node; returns their peak bytes.
  int64_t PackFrame(const std::vector<StorageId>& storages, size_t steps) {
    std::vector<std::vector<StorageId>> made(steps), dead(steps);
    for (StorageId i : storages) {
      made[storages_[i].made_step].push_back(i);
      dead[storages_[i].last_step].push_back(i);
    }
    Packer frame;
    for (size_t s = 0; s < steps; ++s) {
      for (StorageId i : made[s]) {
        result_.places[storages_[i].root].offset = frame.Take(storages_[i].bytes);
      }
      for (StorageId i : dead[s]) {
        frame.Give(result_.places[storages_[i].root].offset, storages_[i].bytes);
      }
    }
    result_.frame_bytes = std::max(result_.frame_bytes, frame.extent());
    return frame.peak();
  }

  const plan::Plan& plan_;
  const Flow& flow_;
  MemoryPlan result_;
  base::IdVector<StorageId, StoragePlan> storages_;
  base::IdVector<int32_t, bool>
      permuted_;                         // by value: its instances may not be in order in one block
  base::IdVector<int32_t, bool> zeros_;  // by value: some instances may be zeros without storage
  std::vector<int32_t> reordered_;       // successors with an instance order of their own
  // by value: the carry whose value or successor it is
  base::IdVector<int32_t, const CarryFlow*> carry_of_;
  int32_t families_ = 0;
};

}  // namespace

MemoryPlan PlanMemory(const plan::Plan& plan, const Flow& flow) {
  return MemoryPlanner(plan, flow).Run();
}

}  // namespace tessera::runtime
