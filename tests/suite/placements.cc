// Enumerates placements: every axis on every dim, on none, or unreduced. Each sharding occurs once.
#include "suite/placements.h"

#include <algorithm>

namespace tessera::suite {
namespace {

using sharding::AxisList;
using sharding::MeshDef;
using sharding::TensorSharding;

// Where an axis may go: a dim (from 0 on), or one of these.
constexpr int kNowhere = -1, kReduced = -2, kUnreduced = -3;

std::vector<int> PlacesFor(size_t rank, PlacementOptions options) {
  std::vector<int> places{kNowhere};
  for (size_t d = 0; d < rank; ++d) places.push_back(static_cast<int>(d));
  if (options.reduced) places.push_back(kReduced);
  if (options.unreduced) places.push_back(kUnreduced);
  return places;
}

TensorSharding Assign(const MeshDef* mesh, size_t rank, const AxisList& axes,
                      const std::vector<int>& at) {
  TensorSharding s = sharding::Replicated(mesh, static_cast<int>(rank));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (at[i] >= 0) s.dims[static_cast<size_t>(at[i])].axes.push_back(axes[i]);
    if (at[i] == kReduced) s.reduced.push_back(axes[i]);
    if (at[i] == kUnreduced) s.unreduced.push_back(axes[i]);
  }
  sharding::SortAndMerge(s.reduced);
  sharding::SortAndMerge(s.unreduced);
  return s;
}

void AddDistinct(std::vector<TensorSharding>& list, TensorSharding s) {
  if (std::find(list.begin(), list.end(), s) == list.end()) list.push_back(std::move(s));
}

}  // namespace

void ForEachChoice(const std::vector<size_t>& sizes,
                   const std::function<void(const std::vector<size_t>&)>& f) {
  if (std::count(sizes.begin(), sizes.end(), 0u)) return;
  std::vector<size_t> at(sizes.size());
  while (true) {
    f(at);
    size_t k = sizes.size();
    while (k > 0 && ++at[k - 1] == sizes[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}

std::vector<TensorSharding> Placements(const MeshDef* mesh, const base::Shape& shape,
                                       PlacementOptions options) {
  AxisList axes;
  for (int a = 0; a < mesh->rank(); ++a)
    if (mesh->axis_size(a) > 1) axes.push_back(sharding::WholeAxis(*mesh, a));
  std::vector<int> places = PlacesFor(shape.size(), options);
  std::vector<TensorSharding> list;
  for (bool reversed : {false, true}) {
    if (reversed && !options.permuted) break;
    if (reversed) std::reverse(axes.begin(), axes.end());
    ForEachChoice(std::vector<size_t>(axes.size(), places.size()),
                  [&](const std::vector<size_t>& choice) {
                    std::vector<int> at;
                    for (size_t c : choice) at.push_back(places[c]);
                    TensorSharding s = Assign(mesh, shape.size(), axes, at);
                    if (!options.uneven && sharding::FirstUnevenDim(s, shape) >= 0) return;
                    AddDistinct(list, s);
                    if (s.unreduced.empty()) return;
                    for (Reduction kind : {Reduction::kMax, Reduction::kMin}) {
                      s.kind = kind;
                      AddDistinct(list, s);
                    }
                  });
  }
  return list;
}

TensorSharding AsHalves(const TensorSharding& placement) {
  TensorSharding s = placement;
  if (s.mesh) s.mesh = MeshOf({4});
  const auto halve = [](AxisList& axes) {
    AxisList halves;
    for (sharding::AxisPart a : axes) sharding::AppendMerged(halves, {0, a.axis == 0 ? 1 : 2, 2});
    axes = std::move(halves);
  };
  for (sharding::DimAxes& d : s.dims) halve(d.axes);
  halve(s.unreduced);
  halve(s.reduced);
  return s;
}

const MeshDef* MeshOf(const std::vector<int64_t>& sizes, std::vector<int64_t> device_ids) {
  std::vector<MeshAxis> axes;
  for (size_t i = 0; i < sizes.size(); ++i)
    axes.push_back({std::string(1, static_cast<char>('x' + i)), sizes[i]});
  return MeshDef::Intern(std::move(axes), std::move(device_ids), sharding::MeshKind::kConcrete);
}

const MeshDef* AutoMeshOf(const std::vector<int64_t>& sizes, std::vector<int64_t> device_ids) {
  return MeshOf(sizes, std::move(device_ids))
      ->WithModes(std::vector<AxisMode>(sizes.size(), AxisMode::Auto));
}

}  // namespace tessera::suite
