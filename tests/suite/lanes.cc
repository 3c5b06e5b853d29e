// Makes the data of lanes, and computes the results of an op for each lane.
#include "suite/lanes.h"

#include "suite/run.h"

namespace tessera::suite {
namespace {

using ir::HostTensor;

// Returns an operand for a lane: its vectors in another order (rows of indices stay
// together), or another number.
HostTensor Moved(const HostTensor& data, int64_t lane) {
  HostTensor out = data;
  if (data.shape.empty()) {
    if (data.dtype.is_integer()) out.SetInt(0, data.Int(0) + lane);
    if (data.dtype.is_bool()) out.SetInt(0, (data.Int(0) + lane) % 2);
    const double by = 1 + 0.25 * static_cast<double>(lane);
    if (data.dtype.is_floating()) out.SetFloat(0, data.Float(0) * by);
    if (data.dtype.is_complex()) out.SetComplex(0, std::complex<long double>(data.Complex(0) * by));
    return out;
  }
  const int64_t shift = lane * std::max<int64_t>(data.shape.back(), 1);
  for (int64_t k = 0; k < data.size(); ++k) out.SetFrom(k, data, (k + shift) % data.size());
  return out;
}

}  // namespace

HostTensor Stacked(const std::vector<HostTensor>& lanes) {
  base::Shape shape = lanes[0].shape;
  shape.insert(shape.begin(), static_cast<int64_t>(lanes.size()));
  HostTensor out(lanes[0].dtype, shape);
  int64_t at = 0;
  for (const HostTensor& lane : lanes)
    for (int64_t k = 0; k < lane.size(); ++k) out.SetFrom(at++, lane, k);
  return out;
}

HostTensor LaneOf(const HostTensor& stacked, int64_t lane) {
  HostTensor out(stacked.dtype, {stacked.shape.begin() + 1, stacked.shape.end()});
  for (int64_t k = 0; k < out.size(); ++k) out.SetFrom(k, stacked, lane * out.size() + k);
  return out;
}

std::vector<std::vector<bool>> LaneChoices(const Sample& sample) {
  const size_t n = sample.operands.size();
  std::vector<std::vector<bool>> choices{std::vector<bool>(n, true)};
  for (size_t i = 0; i < n && n > 1; ++i) {
    choices.emplace_back(n);
    choices.back()[i] = true;
  }
  return choices;
}

Lanes::Lanes(Sample s, std::vector<bool> m, const std::vector<HostTensor>& one)
    : sample(std::move(s)), mapped(std::move(m)) {
  for (size_t i = 0; i < mapped.size(); ++i) {
    std::vector<HostTensor> lanes;
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes.push_back(Moved(one[i], lane));
    data.push_back(mapped[i] ? Stacked(lanes) : one[i]);
  }
}

std::string Lanes::name() const {
  std::string text = sample.name() + " mapped in";
  for (size_t i = 0; i < mapped.size(); ++i)
    if (mapped[i]) text += " " + std::to_string(i);
  return text;
}

std::vector<HostTensor> Lanes::InLane(int64_t lane) const {
  std::vector<HostTensor> one;
  for (size_t i = 0; i < data.size(); ++i)
    one.push_back(mapped[i] ? LaneOf(data[i], lane) : data[i]);
  return one;
}

std::vector<HostTensor> Lanes::LaneByLane() const {
  const Case c = Unsharded(sample);
  std::vector<std::vector<HostTensor>> results;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    std::vector<HostTensor> got = RunEager(c, InLane(lane));
    results.resize(got.size());
    for (size_t r = 0; r < got.size(); ++r) results[r].push_back(std::move(got[r]));
  }
  std::vector<HostTensor> stacked;
  for (const auto& lanes : results) stacked.push_back(Stacked(lanes));
  return stacked;
}

}  // namespace tessera::suite
