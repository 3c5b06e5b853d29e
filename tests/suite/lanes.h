// Samples in lanes: some operands differ by lane, as in mapped functions and on devices.
#pragma once
#include <string>
#include <vector>

#include "suite/samples.h"

namespace tessera::suite {

constexpr int64_t kLanes = 4;

// Returns the tensors stacked along a new leading dim, and one tensor of such a stack.
ir::HostTensor Stacked(const std::vector<ir::HostTensor>& lanes);
ir::HostTensor LaneOf(const ir::HostTensor& stacked, int64_t lane);

// Returns the choices of operands that differ by lane: all of them, and each one alone.
std::vector<std::vector<bool>> LaneChoices(const Sample& sample);

// One sample with data for each lane.
struct Lanes {
  Sample sample;
  std::vector<bool> mapped;
  std::vector<ir::HostTensor> data;  // with leading lanes for mapped operands

  // `one`: the data of lane 0.
  Lanes(Sample s, std::vector<bool> m, const std::vector<ir::HostTensor>& one);
  std::string name() const;
  std::vector<ir::HostTensor> InLane(int64_t lane) const;
  // Returns the op's results, computed lane by lane and stacked.
  std::vector<ir::HostTensor> LaneByLane() const;
};

}  // namespace tessera::suite
