// Puts the parts of values together, and brings values into program order.
#include "compile/checks/made_values.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/at.h"

namespace tessera::compile {
namespace {

// Returns the fingerprint of an array. Elements that several buffers hold count once.
Fingerprint SumOf(std::vector<MadePart> parts) {
  std::ranges::sort(parts, {}, &MadePart::at);
  std::map<std::tuple<int64_t, int64_t, int64_t>, uint64_t> hashes;  // by elements and part
  Fingerprint sum;
  for (const MadePart& p : parts)
    for (const auto& [array, shard] : p.elements) {
      const auto [first, is_new] = hashes.emplace(std::tuple(array, shard, p.at.second), p.hash);
      if (is_new)
        Add(p.print, sum);
      else
        sum.replicas_differ |= first->second != p.hash;
    }
  return sum;
}

// Returns numbers that order the moments of one run: of each instruction around a value its number,
// the iteration of a loop, and the region.
std::vector<int64_t> OrderOf(const MadeValue& made, const InstructionPath& path) {
  std::vector<int64_t> order;
  size_t loop = 0;
  for (const InstructionStep& step : path) {
    order.push_back(step.instruction);
    if (step.is_loop) {
      order.push_back(loop < made.iterations.size() ? made.iterations[loop] : 0);
      ++loop;
    }
    order.push_back(step.region);
  }
  order.push_back(made.device);
  return order;
}

}  // namespace

void MadeValues::BeginRun(int64_t program) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const std::lock_guard lock(mutex_);
  runs_[program] = begins_.size();
  begins_.push_back(complete_.size());
  moments_.erase(moments_.lower_bound({program, kLeast, kLeast}),
                 moments_.lower_bound({program + 1, kLeast, kLeast}));
}

void MadeValues::Add(MadePart part) {
  const std::lock_guard lock(mutex_);
  Moments& moments = moments_[{part.program, part.value, part.device}];
  const size_t number = moments.seen[part.at]++;
  std::vector<MadePart>& parts = moments.incomplete[number];
  parts.push_back(std::move(part));
  if (parts.size() < parts[0].parts) return;
  MadeValue made{parts[0].value, std::move(parts[0].iterations), parts[0].device, {}};
  const size_t run = runs_[parts[0].program];
  made.print = SumOf(std::move(parts));
  complete_.push_back({run, std::move(made)});
  moments.incomplete.erase(number);
}

std::vector<MadeValue> MadeValues::InOrder(const std::vector<InstructionPath>& paths) const {
  const std::lock_guard lock(mutex_);
  using Ordered = std::pair<std::vector<int64_t>, size_t>;  // its order in the run, and its number
  std::vector<std::vector<Ordered>> runs(begins_.size());
  for (size_t k = 0; k < complete_.size(); ++k) {
    const MadeValue& made = complete_[k].made;
    runs[complete_[k].run].emplace_back(OrderOf(made, paths[base::Size(made.value)]), k);
  }
  std::vector<size_t> order;
  size_t end = 0;  // numbers in `order` are less
  for (size_t run = 0; run < runs.size(); ++run) {
    std::ranges::sort(runs[run]);
    const auto was_incomplete = [&](size_t k) { return k >= begins_[run]; };
    auto at = begins_[run] < end ? std::ranges::find_if(order, was_incomplete) : order.end();
    for (const auto& [place, k] : runs[run]) {
      at = order.insert(at, k) + 1;
      end = std::max(end, k + 1);
    }
  }
  std::vector<MadeValue> sorted;
  for (const size_t k : order) sorted.push_back(complete_[k].made);
  return sorted;
}

}  // namespace tessera::compile
