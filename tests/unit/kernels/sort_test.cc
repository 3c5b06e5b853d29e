// Sort kernels against std::stable_sort, with several keys and with operands that are not keys.
#include "kernels/sort/sort.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "unit/kernels/sort_test_util.h"

namespace tessera::kernels {
namespace {

struct Case {
  Shape shape;
  int64_t dim;
};

const Case kShapes[] = {{{0}, 0},    {{1}, 0},      {{2}, 0},       {{23}, 0},       {{24}, 0},
                        {{700}, 0},  {{5, 40}, 1},  {{40, 5}, 0},   {{3, 30, 4}, 1}, {{3, 0, 4}, 1},
                        {{0, 3}, 1}, {{900, 8}, 1}, {{30, 300}, 0}, {{6, 1000}, 1}};

// Applies std::stable_sort to the indices of each lane.
std::vector<Bytes> NaiveSort(const std::vector<DType>& dtypes, const Case& c, int64_t num_keys,
                             bool descending, const std::vector<Bytes>& in) {
  const int64_t n = c.shape[c.dim], inner = DenseStrides(c.shape)[c.dim];
  std::vector<Bytes> out = in;
  const int64_t lanes = n == 0 ? 0 : Product(c.shape) / n;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t at = lane / inner * n * inner + lane % inner;
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      for (int64_t k = 0; k < num_keys; ++k) {
        const int order = CompareAt(dtypes[k], in[k], at + a * inner, at + b * inner);
        if (order != 0) return descending ? order > 0 : order < 0;
      }
      return false;
    });
    for (size_t k = 0; k < in.size(); ++k)
      for (int64_t j = 0; j < n; ++j)
        std::memcpy(out[k].data() + (at + j * inner) * dtypes[k].size(),
                    in[k].data() + (at + order[j] * inner) * dtypes[k].size(), dtypes[k].size());
  }
  return out;
}

void ExpectSorts(const std::vector<DType>& dtypes, const Case& c, int64_t num_keys, bool descending,
                 int64_t distinct) {
  std::vector<Bytes> in;
  for (DType dtype : dtypes)
    in.push_back(
        SortInput(dtype, Product(c.shape), static_cast<uint32_t>(in.size() + 1), distinct));
  const std::vector<Bytes> want = NaiveSort(dtypes, c, num_keys, descending, in);
  const plan::Kernel kernel = Sort(dtypes, c.shape, c.dim, num_keys, descending);
  for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
    std::vector<Bytes> got(want);
    std::vector<const Bytes*> operands;
    std::vector<Bytes*> results;
    for (Bytes& bytes : got) std::fill(bytes.begin(), bytes.end(), std::byte{0xcd});
    for (size_t k = 0; k < in.size(); ++k) {
      operands.push_back(&in[k]);
      results.push_back(&got[k]);
    }
    RunParts(kernel, operands, results, parts);
    for (size_t k = 0; k < got.size(); ++k)
      ASSERT_TRUE(SameItems(got[k], want[k], dtypes[k].size()))
          << "operand " << k << " " << dtypes[k].name() << testing::PrintToString(c.shape)
          << " dim " << c.dim << ", keys " << num_keys << ", descending " << descending
          << ", parts " << parts;
  }
}

std::vector<DType> AllDTypes() {
  std::vector<DType> all;
  for (int code = DType::kBool; code <= DType::kF64; ++code)
    all.push_back(DType(static_cast<DType::Code>(code)));
  return all;
}

TEST(Sort, SortsOneOperandOfEveryDType) {
  for (DType dtype : AllDTypes())
    for (const Case& c : kShapes)
      for (const bool descending : {false, true})
        for (int64_t distinct : {3, 100000}) ExpectSorts({dtype}, c, 1, descending, distinct);
}

TEST(Sort, MovesTheOtherOperandsWithTheKey) {
  for (DType dtype : AllDTypes())
    for (const Case& c : kShapes)
      for (const bool descending : {false, true}) {
        ExpectSorts({dtype, i32}, c, 1, descending, 5);
        ExpectSorts({dtype, f64, i8, bf16}, c, 1, descending, 1000);
      }
}

TEST(Sort, ComparesSeveralKeysInTurn) {
  for (const Case& c : kShapes)
    for (const bool descending : {false, true}) {
      ExpectSorts({f32, i32, f64}, c, 2, descending, 4);
      ExpectSorts({u8, f16, bool_, i64}, c, 3, descending, 6);
      ExpectSorts({f64, u64}, c, 2, descending, 3);
      ExpectSorts({i16, f32}, c, 0, descending, 3);
    }
}

TEST(Sort, SortsValuesWithPositions) {
  for (DType dtype : AllDTypes())
    for (const Case& c : kShapes)
      for (const bool descending : {false, true})
        for (DType positions : {i32, i64})
          for (int64_t distinct : {3, 100000})
            ExpectSorts({dtype, positions}, c, 2, descending, distinct);
}

// A few sorted runs are merged, many are sorted.
TEST(Sort, JoinsSortedRuns) {
  constexpr int64_t kSize = 1000;
  for (int64_t runs : {1, 2, 3, 7, 8, 9, 100}) {
    const int64_t length = kSize / runs;
    std::vector<float> values(kSize), want(kSize);
    std::vector<int32_t> positions(kSize), want_positions(kSize);
    for (int64_t i = 0; i < kSize; ++i) {
      // equal values in all runs, whose positions decrease from run to run
      const auto at = static_cast<size_t>(i);
      values[at] = static_cast<float>(i % length / 2 - 20);
      positions[at] = static_cast<int32_t>((runs - i / length) * kSize + i % length);
    }
    std::vector<size_t> order(kSize);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(values[a], positions[a]) < std::pair(values[b], positions[b]);
    });
    for (size_t i = 0; i < order.size(); ++i)
      want[i] = values[order[i]], want_positions[i] = positions[order[i]];
    const Bytes in = ToBytes(values), in_positions = ToBytes(positions);
    Bytes got(in.size()), got_positions(in.size());
    RunParts(Sort({f32, i32}, {kSize}, 0, 2, false), {&in, &in_positions}, {&got, &got_positions},
             1);
    EXPECT_TRUE(SameItems(got, ToBytes(want), 4)) << runs;
    EXPECT_TRUE(SameItems(got_positions, ToBytes(want_positions), 4)) << runs;
  }
}

TEST(Sort, KeepsZerosAndNaNsInTheirOrder) {
  const float nan = FromBits<float>(0x7fc00001), other = FromBits<float>(0xffc00002);
  struct {
    bool descending;
    std::vector<float> want;
  } const cases[] = {{false, {-1, 0.0f, -0.0f, 0.0f, 2, nan, other}},
                     {true, {nan, other, 2, 0.0f, -0.0f, 0.0f, -1}}};
  const Bytes in = ToBytes<float>({0.0f, nan, 2, -0.0f, other, -1, 0.0f});
  for (const auto& [descending, want] : cases) {
    Bytes got(in.size());
    RunParts(Sort({f32}, {7}, 0, 1, descending), {&in}, {&got}, 1);
    EXPECT_TRUE(SameItems(got, ToBytes(want), 4)) << "descending " << descending;
  }
}

TEST(Sort, SortsALongLane) {
  for (DType dtype : {f32, i32, f64}) ExpectSorts({dtype}, {{200000}, 0}, 1, false, 1 << 20);
  ExpectSorts({f32, i32}, {{100000}, 0}, 1, true, 1 << 20);
}

}  // namespace
}  // namespace tessera::kernels
