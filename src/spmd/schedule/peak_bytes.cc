// Follows values from the item that makes them to the last one that reads them.
#include "spmd/schedule/peak_bytes.h"

#include <absl/algorithm/container.h>

#include <algorithm>

namespace tessera::spmd {

using ir::ValueId;

namespace {

// Returns the bytes that are held during each item.
std::vector<int64_t> BytesOfItems(const std::vector<HeldValue>& held, size_t items) {
  std::vector<int64_t> bytes(items + 1, 0);
  for (const HeldValue& h : held) {
    bytes[h.begin] += h.bytes;
    bytes[h.end] -= h.bytes;
  }
  int64_t live = 0;
  for (int64_t& b : bytes) b = live += b;
  bytes.pop_back();
  return bytes;
}

bool IsBackward(const ir::Program& device, const Item& item) {
  return absl::c_any_of(item.instructions(), [&](InstructionId i) {
    return InstructionAt(device, i).loc.is_backward();
  });
}

class Follower {
 public:
  // `in_backward`: the whole program runs in a backward pass.
  Follower(const ir::Program& device, const Schedule& schedule, bool in_backward)
      : device_(device), schedule_(schedule), in_backward_(in_backward) {}

  std::vector<HeldValue> Run() {
    FindLastReads();
    for (ValueId v : device_.inputs) Hold(v, 0);
    for (const ir::Capture& c : device_.captures) Hold(c.value, 0);
    for (size_t k = 0; k < schedule_.items.size(); ++k) {
      const Item& item = schedule_.items[k];
      for (ValueId v : item.out()) {
        Hold(v, k + 1);
        held_.back().is_of_backward = in_backward_ || IsBackward(device_, item);
        held_.back().is_kept = !held_.back().is_of_backward && read_backward_[v];
        held_.back().is_received = std::holds_alternative<MoveItem>(item);
      }
      if (const auto* regions = std::get_if<RegionItem>(&item)) HoldRegions(*regions, k + 1);
    }
    return std::move(held_);
  }

  // Ends inputs where results take their memory. `held`: the values that Run returned.
  void GiveUp(const std::vector<bool>& donated, std::vector<HeldValue>& held) const {
    std::vector<HeldValue*> inputs;
    for (size_t k = 0; k < donated.size() && k < device_.inputs.size(); ++k)
      if (donated[k] && !output_[device_.inputs[k]]) inputs.push_back(&held[k]);
    for (HeldValue& result : held) {
      if (!result.is_output) continue;
      const auto taken = absl::c_find_if(inputs, [&](const HeldValue* input) {
        return input->bytes == result.bytes && IsReadBefore(input->value, result.begin);
      });
      if (taken == inputs.end()) continue;
      (*taken)->end = result.begin;
      inputs.erase(taken);
    }
  }

 private:
  // Whether nothing reads the input once the item writes its result.
  bool IsReadBefore(ValueId input, size_t item) const {
    const size_t last = last_read_[input];
    return last < item || (last == item && CanOverwrite(schedule_.items[item - 1], input));
  }
  // A fused kernel with one result writes it over an operand that it reads element by element.
  bool CanOverwrite(const Item& item, ValueId input) const {
    const auto* fused = std::get_if<FusedItem>(&item);
    if (!fused || fused->out.size() != 1 ||
        device_.type(fused->out[0])->dtype() != device_.type(input)->dtype())
      return false;
    const auto is_view = [&](ValueId v) {
      return schedule_.values[v].storage == input &&
             (v != input || device_.type(v)->shape() != fused->space);
    };
    if (absl::c_any_of(fused->in, is_view)) return false;
    return absl::c_none_of(fused->reads, [&](const auto& read) {
      return absl::c_any_of(read.second,
                            [&](const ReadPart& part) { return part.source == input; });
    });
  }

  // Sets the last item that reads each buffer: one past the last for buffers that are never freed.
  void FindLastReads() {
    last_.assign(device_.values.size(), 0);
    read_backward_.assign(device_.values.size(), false);
    output_.assign(device_.values.size(), false);
    const size_t end = schedule_.items.size() + 1;
    for (size_t k = 0; k + 1 < end; ++k) {
      const bool is_backward = IsBackward(device_, schedule_.items[k]);
      for (ValueId v : schedule_.items[k].in()) {
        const ValueId storage = schedule_.values[v].storage;
        last_[storage] = k + 1;
        if (is_backward) read_backward_[storage] = true;
      }
    }
    for (ValueId v : device_.outputs) {
      last_[schedule_.values[v].storage] = end;
      output_[schedule_.values[v].storage] = true;
    }
    last_read_ = last_;
    for (ValueId v : device_.inputs) last_[v] = end;
    for (const ir::Capture& c : device_.captures) last_[c.value] = end;
  }

  void Hold(ValueId v, size_t begin) {
    const size_t all = schedule_.items.size() + 1;
    held_.push_back({.program = &device_,
                     .value = v,
                     .bytes = ShardBytes(device_, v),
                     .begin = begin,
                     .end = std::min(std::max(last_[v], begin) + 1, all),
                     .is_input = begin == 0,
                     .is_output = begin > 0 && output_[v],
                     .is_received = false,
                     .is_kept = false,
                     .is_of_backward = false});
  }

  // Adds the values of the region that holds most, at its peak and without its inputs.
  void HoldRegions(const RegionItem& item, size_t at) {
    const bool backward =
        in_backward_ || InstructionAt(device_, item.instruction).loc.is_backward();
    std::vector<HeldValue> most;
    int64_t most_bytes = 0;
    for (size_t r = 0; r < item.schedules.size(); ++r) {
      const ir::Program& region = *InstructionAt(device_, item.instruction).regions[r];
      const Schedule& schedule = *item.schedules[r];
      std::vector<HeldValue> held = Follower(region, schedule, backward).Run();
      const std::vector<int64_t> bytes = BytesOfItems(held, schedule.items.size() + 1);
      const auto peak = static_cast<size_t>(absl::c_max_element(bytes) - bytes.begin());
      std::erase_if(
          held, [&](const HeldValue& h) { return h.is_input || h.begin > peak || h.end <= peak; });
      int64_t sum = 0;
      for (const HeldValue& h : held) sum += h.bytes;
      if (sum <= most_bytes) continue;
      most_bytes = sum;
      most = std::move(held);
    }
    for (HeldValue& h : most) {
      h.begin = at;
      h.end = at + 1;
      h.is_output = false;
      held_.push_back(h);
    }
  }

  const ir::Program& device_;
  const Schedule& schedule_;
  const bool in_backward_;
  base::IdVector<ValueId, size_t> last_, last_read_;
  ir::ValueSet read_backward_, output_;
  std::vector<HeldValue> held_;
};

}  // namespace

std::vector<HeldValue> HeldValues(const ir::Program& device, const Schedule& schedule,
                                  const std::vector<bool>& donated) {
  Follower follower(device, schedule, /*in_backward=*/false);
  std::vector<HeldValue> held = follower.Run();
  follower.GiveUp(donated, held);
  return held;
}

int64_t PeakBytes(const ir::Program& device, const Schedule& schedule,
                  const std::vector<bool>& donated) {
  const std::vector<int64_t> bytes =
      BytesOfItems(HeldValues(device, schedule, donated), schedule.items.size() + 1);
  return *absl::c_max_element(bytes);
}

}  // namespace tessera::spmd
