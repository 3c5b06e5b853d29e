// Places that are chosen for a whole program: never worse than those that types say, and better
// where that can be seen.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <functional>

#include "spmd/placing.h"
#include "suite/random_program.h"

namespace tessera::suite {
namespace {

class AsTyped {
 public:
  AsTyped() { spmd::ChoosesPlaces() = false; }
  ~AsTyped() { spmd::ChoosesPlaces() = true; }
};

using Function = std::function<std::vector<Array>(const std::vector<Array>&)>;

template <class F>
Lowered LoweredAsTyped(const F& f, const std::vector<Array>& arguments) {
  const AsTyped scope;
  return jit(f).lower(arguments);
}

TEST(RandomPlaces, AreNeverWorse) {
  int better = 0;
  for (int seed = 0; seed < 300; ++seed) {
    for (AxisMode mode : {Auto, Explicit}) {
      const std::vector<Array> arguments = RandomArguments(seed);
      MeshScope scope(make_mesh({{"x", 2, mode}, {"y", 4, Auto}}));
      const auto f = [&](const std::vector<Array>& in) { return RandomProgram(seed, seed, in); };
      const Lowered chosen = jit(f).lower(arguments), typed = LoweredAsTyped(f, arguments);
      EXPECT_LE(chosen.comm().bytes(), typed.comm().bytes()) << "seed " << seed;
      EXPECT_LE(chosen.flops(), typed.flops()) << "seed " << seed;
      // What is moved later may be fused otherwise.
      EXPECT_LE(chosen.peak_bytes(), typed.peak_bytes() * 11 / 10) << "seed " << seed;
      better += chosen.comm().bytes() < typed.comm().bytes();
    }
  }
  EXPECT_GT(better, 0);
}

bool Implied(const CommReport& comm) {
  return std::any_of(comm.events().begin(), comm.events().end(),
                     [](const CommEvent& e) { return e.implied; });
}

Array Whole(const Array& x) { return reshard(x, P()); }

// Programs of rows [64@x, 64] that say why placements are chosen together.
struct Named {
  const char* name;
  std::vector<Array> (*run)(const std::vector<Array>& rows);
  int64_t bytes, as_typed;  // that leave a device
};
const Named kNamed[] = {
    {"a_gather_then_a_slice_is_a_direct_move",
     [](const std::vector<Array>& rows) {
       return std::vector{reshard(exp(Whole(rows[0])), P(None, "x"))};
     },
     3072, 12288},
    {"both_ways_of_a_diamond_lie_alike",
     [](const std::vector<Array>& rows) {
       const Array whole = Whole(rows[0]);
       return std::vector{reshard(exp(whole) * (sin(whole) + 1.0f), P(None, "x"))};
     },
     3072, 12288},
    {"a_sum_is_gathered_instead_of_its_terms",
     [](const std::vector<Array>& rows) { return std::vector{Whole(rows[0]) + Whole(rows[1])}; },
     12288, 24576},
    {"what_is_converted_is_moved_as_the_smaller_of_both",
     [](const std::vector<Array>& rows) { return std::vector{astype(Whole(rows[0]), bf16)}; }, 6144,
     12288},
    {"a_sum_that_is_cut_later_is_scattered",
     [](const std::vector<Array>& rows) {
       return std::vector{reshard(exp(sum(rows[0], 0)), P("x"))};
     },
     192, 384},
    {"rows_that_are_summed_stay_where_they_are",
     [](const std::vector<Array>& rows) {
       return std::vector{reshard(sum(transpose(exp(Whole(rows[0])), {1, 0}), 0), P("x"))};
     },
     0, 12288},
};

class NamedPlaces : public testing::TestWithParam<size_t> {};

TEST_P(NamedPlaces, SendFewerBytes) {
  const Named& c = kNamed[GetParam()];
  MeshScope scope(make_mesh({{"x", 4}}));
  const auto ramp = [](double first) {
    return reshard(reshape(astype(arange(64 * 64), f32) * 0.001f + first, {64, 64}), P("x", None));
  };
  const std::vector<Array> rows = {ramp(0), ramp(1)};
  const Lowered chosen = jit(Function(c.run)).lower(rows);
  const CommReport comm = chosen.comm();
  EXPECT_EQ(comm.bytes(), c.bytes) << comm;
  const CommReport as_typed = LoweredAsTyped(c.run, rows).comm();
  EXPECT_EQ(as_typed.bytes(), c.as_typed);
  EXPECT_EQ(Implied(comm), Implied(as_typed)) << comm;
  const Array got = jit(Function(c.run))(rows)[0], want = c.run(rows)[0];
  EXPECT_TRUE(all(Whole(got) == Whole(want)).item<bool>());
}

INSTANTIATE_TEST_SUITE_P(All, NamedPlaces, testing::Range(size_t{0}, std::size(kNamed)),
                         [](const auto& info) { return kNamed[info.param].name; });

}  // namespace
}  // namespace tessera::suite
