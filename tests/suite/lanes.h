// Samples in lanes: some operands differ by lane, as those of mapped functions and of devices do.
#pragma once
#include <string>
#include <vector>

#include "suite/samples.h"

namespace tessera::suite {

constexpr int64_t kLanes = 4;

// Returns the tensors in a new dim in front; one of those that are.
ir::HostTensor Stacked(const std::vector<ir::HostTensor>& lanes);
ir::HostTensor LaneOf(const ir::HostTensor& stacked, int64_t lane);

// Which operands differ by lane: all, and each alone.
std::vector<std::vector<bool>> LaneChoices(const Sample& sample);

// One sample with data of which some operands differ by lane.
struct Lanes {
  Sample sample;
  std::vector<bool> mapped;
  std::vector<ir::HostTensor> data;  // with the lanes in front where mapped

  // `one`: the data of lane 0.
  Lanes(Sample s, std::vector<bool> m, const std::vector<ir::HostTensor>& one);
  std::string name() const;
  std::vector<ir::HostTensor> InLane(int64_t lane) const;
  // Returns the op's results, computed for one lane after the other, stacked.
  std::vector<ir::HostTensor> LaneByLane() const;
};

}  // namespace tessera::suite
