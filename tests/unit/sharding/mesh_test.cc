// The registry of meshes.
#include "sharding/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

// Returns the shortest time, in seconds, for making 500 of the meshes from `first` to `last`.
double Shortest(int first, int last) {
  using Clock = std::chrono::steady_clock;
  double shortest = 1e9;
  for (int begin = first; begin < last; begin += 500) {
    const auto start = Clock::now();
    for (int i = begin; i < begin + 500; ++i) testing::MeshOf(fmt::format("many{}=2 y=2", i));
    shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return shortest;
}

TEST(Mesh, IsMadeInTheSameTimeHoweverManyThereAre) {
  const double early = Shortest(0, 2000), middle = Shortest(2000, 18000),
               late = Shortest(18000, 20000);
  EXPECT_LT(late, 5 * std::min(early, middle));
}

TEST(Mesh, IsOnePerAxesModesAndDevices) {
  const MeshDef* mesh = testing::MeshOf("x=2 y=2");
  EXPECT_EQ(mesh, testing::MeshOf("x=2 y=2"));
  EXPECT_EQ(mesh, testing::MeshOf("x=2 y=2", {0, 1, 2, 3}));
  EXPECT_EQ(mesh, mesh->WithModes({AxisMode::Auto, AxisMode::Auto})->WithoutModes());
  const MeshDef* others[] = {testing::MeshOf("y=2 x=2"), testing::MeshOf("x=2 y=4"),
                             testing::MeshOf("x=2 y=2", {3, 2, 1, 0}),
                             MeshDef::Intern(mesh->axes(), {}, MeshKind::kAbstract),
                             mesh->WithModes({AxisMode::Auto, AxisMode::Explicit})};
  for (const MeshDef* other : others) EXPECT_NE(mesh, other) << other->text();
}

}  // namespace
}  // namespace tessera::sharding
