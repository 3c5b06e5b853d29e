// Schedules of loops and branches that each device runs by itself.
#include <absl/algorithm/container.h>
#include <gtest/gtest.h>

#include "ir/program_text.h"
#include "kernels/initialize.h"
#include "ops/ops.h"
#include "spmd/pipeline.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {
namespace {

// Returns the only region item of a schedule.
const RegionItem* RegionIn(const Schedule& schedule) {
  for (const Item& item : schedule.items)
    if (const auto* region = std::get_if<RegionItem>(&item)) return region;
  return nullptr;
}

bool SharesAllBuffers(const Schedule& schedule) {
  return absl::c_all_of(schedule.layouts, [](const LayoutKey& key) { return key == LayoutKey{}; });
}

// Returns the schedule of a switch with another one in its first branch.
Schedule ScheduleOfSwitch(const std::string& index) {
  ops::Install();
  kernels::Initialize();
  std::string text = R"(mesh @mesh = <["x"=2]> manual={"x"}
func @main(%0: INDEX, %1: f32[4]{V:x}) -> f32[4]{V:x} {
  %2: f32[4]{V:x} = switch_case %0, %0, %1
    region(%3: INDEX, %4: f32[4]{V:x}) -> f32[4]{V:x} {
      %5: f32[4]{V:x} = switch_case %3, %4
        region(%6: f32[4]{V:x}) -> f32[4]{V:x} {
          return %6
        }
        region(%7: f32[4]{V:x}) -> f32[4]{V:x} {
          %8: f32[4]{V:x} = exp %7
          return %8
        }
      return %5
    }
    region(%9: INDEX, %10: f32[4]{V:x}) -> f32[4]{V:x} {
      return %10
    }
  return %2
})";
  for (size_t at; (at = text.find("INDEX")) != std::string::npos;) text.replace(at, 5, index);
  return MakeSchedule(Lower(ir::ParseProgram(text, Loc::Unknown())), {});
}

TEST(RegionSchedules, ADeviceThatChoosesByItselfHasOneBufferPerValue) {
  const Schedule schedule = ScheduleOfSwitch("i32[]{V:x}");
  const RegionItem* region = RegionIn(schedule);
  ASSERT_TRUE(region && region->per_device);
  EXPECT_FALSE(SharesAllBuffers(schedule));
  const Schedule& alone = *region->per_device->schedule;
  EXPECT_TRUE(SharesAllBuffers(alone));
  const RegionItem* inside = RegionIn(alone);
  ASSERT_TRUE(inside);
  for (const auto& branch : inside->schedules) EXPECT_TRUE(SharesAllBuffers(*branch));
}

TEST(RegionSchedules, ARegionInsideOfOneThatADeviceRunsByItselfIsNotScheduledTwice) {
  const Schedule schedule = ScheduleOfSwitch("i32[]{V:x}");
  const RegionItem* region = RegionIn(schedule);
  ASSERT_TRUE(region && region->per_device);
  const RegionItem* in_branch = RegionIn(*region->schedules[0]);
  ASSERT_TRUE(in_branch);
  EXPECT_FALSE(in_branch->per_device);
}

TEST(RegionSchedules, DevicesThatChooseAlikeRunTogether) {
  const Schedule schedule = ScheduleOfSwitch("i32[]");
  const RegionItem* region = RegionIn(schedule);
  ASSERT_TRUE(region);
  EXPECT_FALSE(region->per_device);
}

}  // namespace
}  // namespace tessera::spmd
