// Fingerprints of shards: their rows, and that the sum over shards does not depend on the layout.
#include "compile/checks/fingerprint.h"

#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <vector>

#include "compile/host/host_array.h"

namespace tessera::compile {
namespace {

// Returns the fingerprint of x, each shard in `parts` parts.
Fingerprint OfAll(const Array& x, int64_t parts) {
  const ir::HostArgument value = ArgumentOf(static_cast<const trace::ConcreteArray&>(*x.impl()));
  Fingerprint sum;
  for (const int64_t p : DistinctPositions(*value.place, [](int64_t) { return true; })) {
    const std::vector<ShardRows> rows = RowsOf(*value.place, p);
    for (int64_t part = 0; part < parts; ++part)
      Add(FingerprintOf(value.place->dtype(), rows,
                        {value.shards[static_cast<size_t>(p)], part, parts}),
          sum);
  }
  return sum;
}

TEST(Fingerprints, DoNotDependOnTheLayout) {
  SetDeviceCount(8);
  const MeshScope mesh(make_mesh({{"a", 2}, {"b", 4}}));
  for (const DType dtype : {f32, f64, f16, bf16, i32, c64, bool_}) {
    const Array x = astype(arange(8 * 12 * 16) % 97, dtype).reshape({8, 12, 16});
    const Fingerprint whole = OfAll(reshard(x, P()), 1);
    for (const PartitionSpec& spec :
         {P("a"), P(None, "b"), P(None, None, "b"), P("a", None, "b"), P("b", "a")})
      for (const int64_t parts : {1, 3}) {
        const Fingerprint sum = OfAll(reshard(x, spec), parts);
        EXPECT_EQ(DifferenceOf(whole, sum), 0) << type_of(reshard(x, spec)) << " " << parts;
        EXPECT_EQ(whole.exact, sum.exact);
      }
  }
}

TEST(Fingerprints, RowsOfAShardAreFew) {
  SetDeviceCount(8);
  const MeshScope mesh(make_mesh({{"a", 2}, {"b", 4}}));
  const auto rows = [](const PartitionSpec& spec, int64_t position) {
    const Array x = reshard(zeros({8, 12, 16}, f32), spec);
    return RowsOf(*ArgumentOf(static_cast<const trace::ConcreteArray&>(*x.impl())).place, position);
  };
  ASSERT_EQ(rows(P("a", None, "b"), 5).size(), 1u);
  const ShardRows r = rows(P("a", None, "b"), 5)[0];
  EXPECT_EQ(r.rows.rows, 4 * 12);
  EXPECT_EQ(r.rows.count, 4);
  EXPECT_EQ(r.rows.first, 4 * 12 * 16 + 4);
  EXPECT_EQ(r.rows.step, 16);
  EXPECT_EQ(r.rows.stride, 4);
  EXPECT_EQ(r.begin, 0);
  EXPECT_EQ(rows(P(), 0).size(), 1u);
  EXPECT_EQ(rows(P(None, "b"), 2).size(), 1u);
}

}  // namespace
}  // namespace tessera::compile
