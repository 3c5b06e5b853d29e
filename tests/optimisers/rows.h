// The table of optimisers and schedules. values.py runs the `optax` of a row and writes
// values.jsonl.
#pragma once
#include <tessera/tessera.h>

#include <string_view>
#include <vector>

namespace tessera::optimisers_test {

struct OptimiserRow {
  std::string_view name, optax;
  Optimiser (*make)(AxisSet axes);  // the axes over which arrays are sharded, for norms
  bool whole = false;               // means over dims need whole arrays: not inside of shard_map
  double tolerance = 2e-6;          // absolute; parameters are about 1
  std::string_view dtype = "f32";
};
const std::vector<OptimiserRow>& OptimiserRows();

struct ScheduleRow {
  std::string_view name, optax;
  RateSchedule (*make)();
};
const std::vector<ScheduleRow>& ScheduleRows();

}  // namespace tessera::optimisers_test
