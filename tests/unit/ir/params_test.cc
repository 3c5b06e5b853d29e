// Params are equal if they have one type and all fields are equal.
#include "ir/params.h"

#include <gtest/gtest.h>

#include "ir/control_params.h"
#include "ops/params.h"

namespace tessera::ir {
namespace {

TEST(Params, AreEqualIfAllFieldsAre) {
  const ParamsPtr roll = MakeParams(ops::RollParams{{1}, 3});
  EXPECT_TRUE(roll->Equals(*MakeParams(ops::RollParams{{1}, 3})));
  EXPECT_EQ(roll->Hash(), MakeParams(ops::RollParams{{1}, 3})->Hash());
  EXPECT_FALSE(roll->Equals(*MakeParams(ops::RollParams{{0}, 3})));
  EXPECT_FALSE(roll->Equals(*MakeParams(ops::RollParams{{1}, 2})));
}

TEST(Params, OfDifferentStructsDiffer) {
  EXPECT_FALSE(MakeParams(ops::DimParams{{1}})->Equals(*MakeParams(ops::IotaParams{{1}})));
  EXPECT_FALSE(MakeParams(WhileParams{1})->Equals(*MakeParams(ScanParams{1})));
}

}  // namespace
}  // namespace tessera::ir
