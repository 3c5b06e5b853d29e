// Exchanges of rows whose numbers are data, between devices of several processes.
#include "arrays.h"

namespace tessera::processes_test {
namespace {

using testing::HasSubstr;

// Position p sends (p + q) % 3 rows, from row q on, to position q.
TEST_F(Arrays, RaggedRowsAreSentAndCheckedEverywhere) {
  MeshScope scope(make_mesh({{"x", kDevices}}));
  constexpr int64_t kRows = kDevices + 2;
  using Table = std::vector<int64_t>;  // [positions, positions]
  Table counts, firsts, targets(kDevices * kDevices);
  for (int64_t p = 0; p < kDevices; ++p)
    for (int64_t q = 0; q < kDevices; ++q) {
      counts.push_back((p + q) % 3), firsts.push_back(q);
      if (p > 0) targets[p * kDevices + q] = targets[(p - 1) * kDevices + q] + (p - 1 + q) % 3;
    }
  const auto f = jit([&](Array x, Array n) {
    return shard_map(
        [&](Array rows, Array count) {
          const auto row = [&](const Table& table) {
            return take(array(table).reshape({kDevices, kDevices}), axis_index("x"), 0);
          };
          const Array at = axis_index("x");
          return ragged_all_to_all(rows, -ones({kRows, 2}), row(firsts), take(count, at, 0),
                                   row(targets), take(count, at, 1), "x");
        },
        {.in_specs = {P("x"), P()}, .out_specs = P("x")})(x, n);
  });
  const Array x = Counted(kDevices * kRows, 2, P("x"));
  const Array n = array(counts).reshape({kDevices, kDevices});
  std::vector<float> want(static_cast<size_t>(kDevices * kRows * 2), -1);
  for (int64_t p = 0; p < kDevices; ++p)
    for (int64_t q = 0; q < kDevices; ++q)
      for (int64_t i = 0; i < counts[p * kDevices + q] * 2; ++i)
        want[(q * kRows + targets[p * kDevices + q]) * 2 + i] =
            static_cast<float>((p * kRows + q) * 2 + i);
  EXPECT_EQ(gather_to_host(f(x, n)).to_vector<float>(), want);
  Table wrong = counts;
  wrong[5 * kDevices + 7] = wrong[7 * kDevices + 5] = 8;
  const std::string error = ErrorOf([&] {
    gather_to_host(f(x, array(wrong).reshape({kDevices, kDevices})));
  });
  EXPECT_THAT(error, HasSubstr("slice 7 of the device at position 5, for position 7, has 8 rows"));
  EXPECT_EQ(gather_to_host(f(x, n)).to_vector<float>(), want);
}

}  // namespace
}  // namespace tessera::processes_test
