// A partial value on both sides of a manual region's border.
#include "propagation/manual.h"

#include <gmock/gmock.h>

namespace tessera::propagation::engine {
namespace {

// Shardy forgets the reduction there, so that a partial maximum becomes a sum.
TEST(Manual, APartialMaximumStaysOneAcrossTheBorderOfARegion) {
  const sharding::MeshDef* mesh =
      sharding::MeshDef::Intern({{"x", 2}, {"y", 2}, {"z", 2}}, {}, sharding::MeshKind::kConcrete);
  TensorSharding s = sharding::Replicated(mesh, 1);
  s.dims[0].axes = {sharding::WholeAxis(*mesh, 0)};
  s.unreduced = {sharding::WholeAxis(*mesh, 2)};
  s.kind = Reduction::kMax;
  Edge edge;
  edge.outer = s;
  edge.manual = {sharding::WholeAxis(*mesh, 0)};
  TensorSharding inside = SeenByTargets(edge, s);
  EXPECT_EQ(inside.kind, Reduction::kMax);
  EXPECT_EQ(inside.unreduced, s.unreduced);
  EXPECT_EQ(SeenBySources(edge, &inside), s);
}

}  // namespace
}  // namespace tessera::propagation::engine
