// The copy engine against its contract, element by element, for every item size and strategy.
#include "kernels/copy/copy.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "fuzz.h"
#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

// The contract, element by element.
void NaiveCopy(const CopyDesc& d, int64_t in_shift, int64_t out_shift, bool skip, const Bytes& in,
               const Bytes& value, Bytes* out) {
  if (d.fill)
    for (int64_t i = 0; i < d.out_size; ++i)
      std::memcpy(out->data() + i * d.itemsize, value.data(), d.itemsize);
  const int64_t n = Product(d.box);
  for (int64_t i = 0; i < n && !skip; ++i) {
    int64_t from = d.in_offset + in_shift, to = d.out_offset + out_shift, rest = i;
    for (size_t k = d.box.size(); k-- > 0; rest /= d.box[k]) {
      from += rest % d.box[k] * d.in_strides[k];
      to += rest % d.box[k] * d.out_strides[k];
    }
    std::memcpy(out->data() + to * d.itemsize, in.data() + from * d.itemsize, d.itemsize);
  }
}

void ExpectCopies(const CopyDesc& desc, int64_t in_size, const std::string& name) {
  const Bytes in = RandomBytes(in_size * desc.itemsize, 1);
  const Bytes value = RandomBytes(desc.itemsize, 2);
  Bytes want = RandomBytes(desc.out_size * desc.itemsize, 3);
  const Bytes before = want;
  NaiveCopy(desc, 0, 0, false, in, value, &want);
  const plan::Kernel kernel = Copy(desc);
  for (int32_t parts : {1, 3, kernel.max_parts}) {
    if (parts > kernel.max_parts) continue;
    Bytes got = before;
    RunParts(kernel, {&in, &value}, {&got}, parts);
    ASSERT_TRUE(SameItems(got, want, desc.itemsize))
        << name << ", itemsize " << desc.itemsize << ", parts " << parts;
  }
}

// Returns a copy that permutes the dims.
CopyDesc Transposed(int32_t itemsize, const Shape& in, const std::vector<int>& perm) {
  const Shape strides = DenseStrides(in);
  CopyDesc desc;
  desc.itemsize = itemsize;
  desc.out_size = Product(in);
  for (int d : perm) {
    desc.box.push_back(in[d]);
    desc.in_strides.push_back(strides[d]);
  }
  desc.out_strides = DenseStrides(desc.box);
  return desc;
}

// If the outer dims are short, the columns are divided between parts.
TEST(Copy, RepeatsRowsInPartsOfTheirColumns) {
  CopyDesc desc;
  desc.itemsize = 4;
  desc.box = {12, 15, 180};
  desc.in_strides = {180, 0, 1};
  desc.out_strides = DenseStrides(desc.box);
  desc.out_size = Product(desc.box);
  ExpectCopies(desc, 12 * 180, "rows");
}

TEST(Copy, TransposesEveryShapeAndItemsize) {
  struct {
    Shape shape;
    std::vector<int> perm;
  } const cases[] = {
      {{}, {}},
      {{1}, {0}},
      {{7, 5}, {1, 0}},
      {{64, 64}, {1, 0}},
      {{130, 67}, {1, 0}},
      {{1, 300}, {1, 0}},
      {{256, 3}, {1, 0}},
      {{3, 256}, {1, 0}},
      {{5, 6, 7}, {2, 1, 0}},
      {{5, 6, 7}, {0, 2, 1}},
      {{5, 6, 7}, {1, 0, 2}},
      {{40, 33, 2}, {1, 0, 2}},
      {{9, 40, 4}, {1, 0, 2}},
      {{4, 16, 8, 32}, {0, 2, 1, 3}},
      {{3, 4, 5, 6}, {3, 2, 1, 0}},
      {{2, 2, 2, 2, 2, 2}, {5, 0, 4, 1, 3, 2}},
      {{0, 5}, {1, 0}},
      {{500, 301}, {1, 0}},
      {{33, 1, 65}, {2, 1, 0}},
      {{20, 30, 16}, {1, 2, 0}},
  };
  for (int32_t itemsize : {1, 2, 4, 8})
    for (const auto& [shape, perm] : cases)
      ExpectCopies(Transposed(itemsize, shape, perm), Product(shape),
                   testing::PrintToString(shape) + " by " + testing::PrintToString(perm));
}

// Larger than the cache: non-temporal stores to rows that begin at any byte of a line.
TEST(Copy, TransposesLargeArrays) {
  for (int32_t itemsize : {1, 4, 8}) {
    const int64_t side = itemsize == 1 ? 4200 : 2117;
    ExpectCopies(Transposed(itemsize, {side, side + 2}, {1, 0}), side * (side + 2), "large");
  }
}

TEST(Copy, CopiesAndBroadcastsLargeArrays) {
  const int64_t n = (int64_t{17} << 18) + 3;
  ExpectCopies({.box = {n}, .in_strides = {1}, .out_strides = {1}, .out_size = n}, n, "dense");
  ExpectCopies({.box = {n}, .in_strides = {0}, .out_strides = {1}, .out_size = n}, 1, "fill");
  ExpectCopies(
      {.box = {n}, .in_strides = {-1}, .out_strides = {1}, .in_offset = n - 1, .out_size = n}, n,
      "reverse");
  for (int64_t row : {1, 3, 100, 1025}) {
    const int64_t rows = n / row;
    ExpectCopies(
        {.box = {rows, row}, .in_strides = {0, 1}, .out_strides = {row, 1}, .out_size = rows * row},
        row, "repeat");
    ExpectCopies(
        {.box = {rows, row}, .in_strides = {1, 0}, .out_strides = {row, 1}, .out_size = rows * row},
        rows, "expand");
  }
}

// A pad, given by low, high and interior padding per dim.
CopyDesc Padded(int32_t itemsize, const Shape& in, const Shape& low, const Shape& high,
                const Shape& interior) {
  Shape out;
  for (size_t d = 0; d < in.size(); ++d)
    out.push_back(low[d] + high[d] + std::max<int64_t>(0, in[d] + (in[d] - 1) * interior[d]));
  CopyDesc desc{.itemsize = itemsize,
                .box = in,
                .in_strides = DenseStrides(in),
                .out_strides = {},
                .out_size = Product(out),
                .fill = true};
  const Shape strides = DenseStrides(out);
  for (size_t d = 0; d < in.size(); ++d) {
    desc.out_strides.push_back(strides[d] * (interior[d] + 1));
    desc.out_offset += strides[d] * low[d];
  }
  return desc;
}

TEST(Copy, FillsWhatTheBoxLeaves) {
  struct {
    Shape in, low, high, interior;
  } const cases[] = {
      {{5}, {2}, {3}, {0}},
      {{5}, {0}, {0}, {2}},
      {{4, 5}, {1, 2}, {3, 0}, {0, 0}},
      {{4, 5}, {0, 0}, {0, 0}, {1, 2}},
      {{2, 3, 4}, {0, 1, 0}, {0, 1, 0}, {0, 0, 0}},
      {{2, 3, 4}, {1, 1, 1}, {2, 2, 2}, {1, 0, 3}},
      {{0, 4}, {2, 1}, {2, 1}, {0, 0}},
      {{1, 1}, {4, 4}, {4, 4}, {0, 0}},
      {{200, 300}, {3, 1}, {2, 5}, {0, 0}},
      {{300, 70}, {0, 40}, {0, 40}, {0, 0}},
      {{200, 100}, {1, 1}, {1, 1}, {1, 1}},
      {{64, 3, 32, 32}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 0, 0}},
      {{70000}, {5}, {100}, {0}},
  };
  for (int32_t itemsize : {1, 2, 4, 8})
    for (const auto& c : cases)
      ExpectCopies(Padded(itemsize, c.in, c.low, c.high, c.interior), Product(c.in),
                   testing::PrintToString(c.in) + " padded " + testing::PrintToString(c.low));
}

TEST(Copy, FillsRoundATransposedBox) {
  // [120, 90] transposed into the middle of [100, 130].
  ExpectCopies({.box = {90, 120},
                .in_strides = {1, 90},
                .out_strides = {130, 1},
                .out_offset = 5 * 130 + 4,
                .out_size = 100 * 130,
                .fill = true},
               120 * 90, "in order");
  // Output strides that do not nest: the box's rows interleave.
  ExpectCopies({.box = {3, 4},
                .in_strides = {4, 1},
                .out_strides = {2, 3},
                .out_offset = 1,
                .out_size = 20,
                .fill = true},
               12, "interleaved");
}

TEST(Copy, LeavesTheRestWithoutFill) {
  CopyDesc desc = Padded(4, {30, 40}, {1, 2}, {3, 4}, {0, 1});
  desc.fill = false;
  ExpectCopies(desc, 1200, "no fill");
}

TEST(Copy, FollowsRandomStrides) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int64_t>(random() % n); };
  for (int64_t trial = FuzzCount(400); trial > 0; --trial) {
    const int rank = static_cast<int>(pick(5));
    CopyDesc desc;
    desc.itemsize = 1 << pick(4);
    for (int d = 0; d < rank; ++d)
      desc.box.push_back(pick(12) == 0 ? 0 : 1 + pick(trial % 3 ? 9 : 40));
    if (Product(desc.box) > 200000) continue;
    // A random order of output dims, each of which may be spread or reversed.
    std::vector<int> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    desc.in_strides.resize(rank);
    desc.out_strides.resize(rank);
    int64_t out_size = 1, in_size = 1;
    for (int d : order) {
      const int64_t spread = 1 + (pick(4) == 0 ? pick(3) : 0);
      desc.out_strides[d] = out_size * spread;
      if (pick(5) == 0) {
        desc.out_offset += out_size * spread * std::max<int64_t>(0, desc.box[d] - 1);
        desc.out_strides[d] *= -1;
      }
      out_size *= std::max<int64_t>(1, desc.box[d]) * spread;
    }
    std::shuffle(order.begin(), order.end(), random);
    for (int d : order) {
      if (pick(5) == 0) continue;  // broadcast
      desc.in_strides[d] = in_size;
      if (pick(5) == 0) {
        desc.in_offset += in_size * std::max<int64_t>(0, desc.box[d] - 1);
        desc.in_strides[d] *= -1;
      }
      in_size *= std::max<int64_t>(1, desc.box[d]);
    }
    const int64_t edge = pick(3);
    desc.out_offset += edge;
    desc.out_size = out_size + 2 * edge;
    desc.fill = pick(2) == 0;
    ExpectCopies(desc, in_size,
                 "box " + testing::PrintToString(desc.box) + " in " +
                     testing::PrintToString(desc.in_strides) + " out " +
                     testing::PrintToString(desc.out_strides));
  }
}

TEST(Copy, SmallWorkIsNotSplit) {
  EXPECT_EQ(Copy(Transposed(4, {16, 16}, {1, 0})).max_parts, 1);
  EXPECT_GT(Copy(Transposed(4, {512, 512}, {1, 0})).max_parts, 1);
}

TEST(DeviceCopy, AddsTheOffsetsOfTheDevice) {
  // Two devices hold halves of [200, 300]; a third device only fills.
  for (const bool fill : {false, true}) {
    for (int32_t itemsize : {1, 2, 4, 8}) {
      DeviceCopyDesc desc{.copy = {.itemsize = itemsize,
                                   .box = {100, 300},
                                   .in_strides = {300, 1},
                                   .out_strides = {300, 1},
                                   .out_size = 60000,
                                   .fill = fill},
                          .in_offsets = {0, 30000, 0},
                          .out_offsets = {30000, 0, 0},
                          .skip = {false, false, true}};
      const Bytes in = RandomBytes(60000 * itemsize, 4), value = RandomBytes(itemsize, 5);
      const plan::Kernel kernel = DeviceCopy(desc);
      for (int32_t device = 0; device < 3; ++device) {
        const Bytes before = RandomBytes(60000 * itemsize, 6);
        Bytes want = before;
        NaiveCopy(desc.copy, desc.in_offsets[device], desc.out_offsets[device], desc.skip[device],
                  in, value, &want);
        for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
          Bytes got = before;
          RunParts(kernel, {&in, &value}, {&got}, parts, device);
          ASSERT_TRUE(SameItems(got, want, itemsize)) << "device " << device << " fill " << fill;
        }
      }
    }
  }
}

TEST(DeviceCopy, TablesMayBeEmpty) {
  const DeviceCopyDesc desc{
      .copy = Transposed(4, {20, 30}, {1, 0}), .in_offsets = {}, .out_offsets = {}, .skip = {}};
  const Bytes in = RandomBytes(2400, 1);
  Bytes got(2400), want(2400);
  NaiveCopy(desc.copy, 0, 0, false, in, {}, &want);
  RunParts(DeviceCopy(desc), {&in}, {&got}, 1, 5);
  EXPECT_TRUE(SameItems(got, want, 4));
}

}  // namespace
}  // namespace tessera::kernels
