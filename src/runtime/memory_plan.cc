#include "runtime/memory_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/packer.h"

namespace tessera::runtime {
namespace {

// Memory of one or, by aliases and reuse in place, several values.
struct StoragePlan {
  int32_t root = -1;             // the value that it is made for
  bool frame = false;
  bool owned = false;            // the run allocates it; else an input's or a constant's
  bool escapes = false;          // holds an output
  int64_t bytes = 0, total = 0;  // of the largest value's instance; of all of the root's
  int32_t made_node = -1, made_step = -1;
  int32_t last_node = -1, last_step = -1;
  // The newest value of each family: a value that a newer one took over in place is dead.
  std::vector<int32_t> newest;
};

class MemoryPlanner {
 public:
  MemoryPlanner(const plan::Plan& plan, const Flow& flow)
      : plan_(plan), flow_(flow), permuted_(plan.values.size()) {
    result_.places.resize(plan.values.size());
  }

  MemoryPlan Run() {
    for (size_t v = 0; v < plan_.values.size(); ++v) {
      const plan::ValueKind kind = plan_.values[v].kind;
      if (kind == plan::ValueKind::kInput) AddOutside(v, Binding::kInput);
      if (kind == plan::ValueKind::kConstant) AddOutside(v, Binding::kConstant);
    }
    for (size_t n = 0; n < flow_.nodes.size(); ++n) {
      if (flow_.nodes[n].exchange) ShareExchange(static_cast<int32_t>(n));
      else ShareSteps(static_cast<int32_t>(n));
    }
    TakeDonated();
    Pack();
    return std::move(result_);
  }

 private:
  const plan::Value& ValueOf(int32_t v) const { return plan_.values[v]; }
  int32_t Instances(int32_t v) const { return plan_.layouts[ValueOf(v).layout].instances; }
  StoragePlan& StorageOf(int32_t v) { return storages_[result_.places[v].storage]; }

  void AddOutside(size_t v, Binding::How how) {
    NewStorage(static_cast<int32_t>(v), how);
    storages_.back().owned = false;
  }

  void NewStorage(int32_t v, Binding::How how) {
    Place& place = result_.places[v];
    place.how = how;
    place.storage = static_cast<int32_t>(storages_.size());
    StoragePlan storage;
    storage.root = v;
    storage.owned = true;
    storage.made_node = flow_.lives[v].made_node;
    storage.made_step = flow_.lives[v].made_step;
    storage.total = RoundUp(ValueOf(v).bytes, kLine) * Instances(v);
    storages_.push_back(std::move(storage));
    NewFamily(v);
    Join(v);
  }

  void NewFamily(int32_t v) {
    result_.places[v].family = families_++;
    StorageOf(v).newest.push_back(v);
  }

  void Join(int32_t v) {
    StoragePlan& storage = StorageOf(v);
    const Life& life = flow_.lives[v];
    storage.bytes = std::max(storage.bytes, ValueOf(v).bytes);
    storage.escapes |= life.output;
    if (std::pair(life.last_node, life.last_step) >
        std::pair(storage.last_node, storage.last_step)) {
      storage.last_node = life.last_node;
      storage.last_step = life.last_step;
    }
  }

  // ---- who shares with whom -------------------------------------------------------------------

  void ShareExchange(int32_t n) {
    const plan::Exchange& exchange = *flow_.nodes[n].exchange;
    const int32_t in = exchange.in, out = exchange.out;
    auto alias = FindAlias(exchange, ValueOf(in), Instances(in), ValueOf(out));
    if (!alias || (!alias->permutes && permuted_[in])) return NewStorage(out, Binding::kFresh);
    Place& place = result_.places[out];
    place.how = Binding::kAlias;
    place.from = in;
    place.node = alias->permutes ? -1 : n;
    place.storage = result_.places[in].storage;
    permuted_[out] = permuted_[in] || alias->slots != nullptr;
    place.alias = std::move(alias);
    NewFamily(out);
    Join(out);
  }

  void ShareSteps(int32_t n) {
    const FlowNode& node = flow_.nodes[n];
    for (size_t s = 0; s < node.steps.size(); ++s) {
      const plan::Step& step = *node.steps[s];
      for (size_t k = 0; k < step.out.size(); ++k) {
        const int32_t out = step.out[k];
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
    Place& place = result_.places[out];
    place.how = Binding::kSame;
    place.from = in;
    place.storage = result_.places[in].storage;
    place.family = result_.places[in].family;
    permuted_[out] = permuted_[in];
    std::vector<int32_t>& newest = StorageOf(in).newest;
    std::replace(newest.begin(), newest.end(), in, out);
    Join(out);
  }

  // Returns the operand whose buffer the step's first result may be, or -1.
  int32_t InPlaceOf(const plan::Step& step, int32_t n, int32_t s) {
    const int32_t out = step.out[0];
    if (ValueOf(out).bytes == 0 || ValueOf(out).layout != step.layout) return -1;
    for (int32_t v : step.in) {
      const StoragePlan& storage = StorageOf(v);
      if (!storage.owned || (storage.frame && !DiesInside(out))) continue;
      if (Fits(v, out) && Allows(step, v) && DiesAt(v, n, s) && OthersDead(storage, v, n)) return v;
    }
    return -1;
  }

  bool Fits(int32_t in, int32_t out) const {
    return ValueOf(in).bytes == ValueOf(out).bytes && ValueOf(in).layout == ValueOf(out).layout;
  }

  // True if the kernel may overwrite every operand that is `v`.
  static bool Allows(const plan::Step& step, int32_t v) {
    for (size_t i = 0; i < step.in.size(); ++i) {
      if (step.in[i] == v && (i >= 64 || !(step.kernel.in_place >> i & 1))) return false;
    }
    return true;
  }

  bool DiesAt(int32_t v, int32_t n, int32_t s) const {
    const Life& life = flow_.lives[v];
    return !life.output && life.last_node == n && life.last_step == s;
  }

  // True if all families but v's are dead before node n: there, another instance may read what
  // this one overwrites.
  bool OthersDead(const StoragePlan& storage, int32_t v, int32_t n) const {
    for (int32_t other : storage.newest) {
      if (other != v && flow_.lives[other].last_node >= n) return false;
    }
    return true;
  }

  // ---- outputs in the buffers of donated inputs -------------------------------------------------

  using Size = std::pair<int64_t, int32_t>;  // bytes, instances

  void TakeDonated() {
    std::map<Size, std::vector<int32_t>> donated;
    for (size_t k = 0; k < plan_.inputs.size(); ++k) {
      const int32_t x = plan_.inputs[k];
      if (k >= plan_.donated.size() || !plan_.donated[k] || StorageOf(x).escapes) continue;
      donated[{ValueOf(x).bytes, Instances(x)}].push_back(x);
    }
    if (donated.empty()) return;
    for (StoragePlan& storage : storages_) {
      if (!storage.owned || !storage.escapes) continue;
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

  // Prefers an operand of the step that makes the storage: warm, and the others stay for others.
  int32_t ChooseDonated(const StoragePlan& storage, const std::vector<int32_t>& inputs) {
    const FlowNode& node = flow_.nodes[storage.made_node];
    if (!node.exchange) {
      for (int32_t v : node.steps[storage.made_step]->in) {
        if (std::find(inputs.begin(), inputs.end(), v) != inputs.end() && DeadFor(storage, v)) {
          return v;
        }
      }
    }
    for (int32_t x : inputs) {
      if (DeadFor(storage, x)) return x;
    }
    return -1;
  }

  // True if donated input x is no longer needed where `storage` is first written.
  bool DeadFor(const StoragePlan& storage, int32_t x) {
    const StoragePlan& old = StorageOf(x);
    const int32_t n = storage.made_node;
    if (old.last_node < n) return true;
    const FlowNode& node = flow_.nodes[n];
    // In the same node only if no other instance reads what this one overwrites.
    if (old.last_node > n || node.exchange || ValueOf(x).layout != node.layout ||
        ValueOf(storage.root).layout != node.layout || !OthersDead(old, x, n)) {
      return false;
    }
    if (old.last_step != storage.made_step) return old.last_step < storage.made_step;
    const plan::Step& step = *node.steps[storage.made_step];
    return step.out[0] == storage.root && Allows(step, x);
  }

  // Barriers are placed by storage: one that takes another's buffers is that other one.
  void MergeTaken() {
    for (Place& place : result_.places) {
      if (place.storage < 0) continue;
      const Place& root = result_.places[storages_[place.storage].root];
      if (root.how == Binding::kTake) place.storage = result_.places[root.from].storage;
    }
  }

  // ---- offsets ------------------------------------------------------------------------------

  void Pack() {
    std::vector<std::vector<int32_t>> made(flow_.nodes.size()), dead(flow_.nodes.size());
    std::vector<std::vector<int32_t>> frames(flow_.nodes.size());
    int64_t fresh = 0;
    for (size_t i = 0; i < storages_.size(); ++i) {
      const StoragePlan& storage = storages_[i];
      const auto index = static_cast<int32_t>(i);
      if (!storage.owned) continue;
      if (storage.frame) {
        frames[storage.made_node].push_back(index);
      } else if (!storage.escapes) {
        made[storage.made_node].push_back(index);
        dead[storage.last_node].push_back(index);
      } else if (result_.places[storage.root].how == Binding::kFresh) {
        fresh += storage.bytes;
      }
    }
    Packer block;
    int64_t live = 0, peak = 0;
    for (size_t n = 0; n < flow_.nodes.size(); ++n) {
      for (int32_t i : made[n]) live += storages_[i].bytes, PlaceInBlock(storages_[i], block);
      peak = std::max(peak, live + PackFrame(frames[n], flow_.nodes[n].steps.size()));
      for (int32_t i : dead[n]) {
        live -= storages_[i].bytes;
        block.Give(result_.places[storages_[i].root].offset, storages_[i].total);
      }
    }
    for (Place& place : result_.places) {
      if (place.storage < 0 || !storages_[place.storage].frame) continue;
      place.frame = true;
      place.offset = result_.places[storages_[place.storage].root].offset;
    }
    result_.block_bytes = block.extent();
    result_.peak_bytes = fresh + peak;
  }

  void PlaceInBlock(const StoragePlan& storage, Packer& block) {
    Place& place = result_.places[storage.root];
    place.how = Binding::kBlock;
    place.offset = block.Take(storage.total);
  }

  // Places what lives inside one node; returns the most bytes that live at one step.
  int64_t PackFrame(const std::vector<int32_t>& storages, size_t steps) {
    std::vector<std::vector<int32_t>> made(steps), dead(steps);
    for (int32_t i : storages) {
      made[storages_[i].made_step].push_back(i);
      dead[storages_[i].last_step].push_back(i);
    }
    Packer frame;
    for (size_t s = 0; s < steps; ++s) {
      for (int32_t i : made[s]) {
        result_.places[storages_[i].root].offset = frame.Take(storages_[i].bytes);
      }
      for (int32_t i : dead[s]) {
        frame.Give(result_.places[storages_[i].root].offset, storages_[i].bytes);
      }
    }
    result_.frame_bytes = std::max(result_.frame_bytes, frame.extent());
    return frame.peak();
  }

  const plan::Plan& plan_;
  const Flow& flow_;
  MemoryPlan result_;
  std::vector<StoragePlan> storages_;
  std::vector<bool> permuted_;  // per value: its instances are surely not in order in one block
  int32_t families_ = 0;
};

}  // namespace

MemoryPlan PlanMemory(const plan::Plan& plan, const Flow& flow) {
  return MemoryPlanner(plan, flow).Run();
}

}  // namespace tessera::runtime
