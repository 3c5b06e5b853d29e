// Gather and scatter against their contract, element by element, for random slices.
#include "kernels/index/lookup.h"

#include <gmock/gmock.h>

#include "kernels/index/gather.h"
#include "kernels/index/scatter.h"
#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

class Draws {
 public:
  explicit Draws(uint32_t seed) : engine_(seed) {}
  int64_t In(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(engine_);
  }
  bool OneIn(int64_t n) { return In(1, n) == 1; }

 private:
  std::mt19937 engine_;
};

struct Slices {
  LookupDesc desc;
  Shape shape;                       // shape of the slices
  int64_t operand = 1, vectors = 1;  // number of elements of the operand; number of index vectors
  std::vector<int32_t> indices;
};

// Sets the strides of the slices' dims, in a random order.
void LayOut(Slices& s, Draws& random) {
  std::vector<std::pair<int64_t, int64_t*>> dims;
  for (LookupDesc::Query& q : s.desc.queries) dims.emplace_back(q.size, &q.slice_stride);
  for (LookupDesc::Dim& d : s.desc.dims)
    if (d.query < 0 && d.slice_stride > 0) dims.emplace_back(d.window, &d.slice_stride);
  for (size_t i = dims.size(); i > 1; --i)
    std::swap(dims[i - 1], dims[static_cast<size_t>(random.In(0, static_cast<int64_t>(i) - 1))]);
  int64_t stride = 1;
  for (auto [size, at] : dims) {
    *at = stride;
    stride *= size;
    s.shape.insert(s.shape.begin(), size);
  }
}

// Two devices hold halves of a dim that is looked up, and one of them leads.
Slices RandomSlices(Draws& random, bool windows) {
  Slices s;
  s.desc.index = i32;
  s.desc.dtype = f32;
  s.desc.clip = random.OneIn(2);
  s.desc.leads = {true, false};
  for (int64_t q = random.In(0, 2); q > 0; --q) {
    int64_t size = random.In(1, 20);
    s.desc.queries.push_back({.size = size, .whole = size, .begins = {}});
  }
  for (int64_t d = random.In(1, 3); d > 0; --d) {
    LookupDesc::Dim dim{.size = random.In(1, 12), .begins = {}};
    if (random.OneIn(4)) {
      dim.query = static_cast<int64_t>(s.desc.queries.size());
      s.desc.queries.push_back({.size = dim.size, .whole = dim.size, .begins = {}});
    } else if (random.OneIn(2)) {
      dim.window = dim.size;
      dim.slice_stride = 1;
    } else {
      dim.entry = s.desc.entries++;
      if (windows && random.OneIn(2)) {
        dim.window = random.In(1, dim.size);
        dim.slice_stride = 1;
      }
      dim.last = dim.size - dim.window;
      if (dim.window == 1 && random.OneIn(2)) {
        dim.begins = {0, dim.size};
        dim.last = 2 * dim.size - random.In(1, dim.size);
      }
    }
    s.desc.dims.push_back(dim);
  }
  for (size_t d = s.desc.dims.size(); d-- > 0; s.operand *= s.desc.dims[d].size)
    s.desc.dims[d].stride = s.operand;
  for (size_t q = s.desc.queries.size(); q-- > 0; s.vectors *= s.desc.queries[q].size)
    s.desc.queries[q].index_stride = s.vectors * s.desc.entries;
  LayOut(s, random);
  for (int64_t i = 0; i < s.vectors * s.desc.entries; ++i)
    s.indices.push_back(static_cast<int32_t>(random.In(-3, 25)));
  return s;
}

// Calls f(element of the slices, element of the operand). The latter is -1 outside of the array,
// and -2 on another device.
template <class F>
void ForEachElement(const Slices& s, int32_t device, F f) {
  const LookupDesc& d = s.desc;
  int64_t windows = 1;
  for (const LookupDesc::Dim& dim : d.dims) windows *= dim.query < 0 ? dim.window : 1;
  for (int64_t v = 0; v < s.vectors; ++v) {
    int64_t slice = 0, rest = v;
    std::vector<int64_t> query(d.queries.size());
    for (size_t q = d.queries.size(); q-- > 0; rest /= d.queries[q].size) {
      query[q] = rest % d.queries[q].size;
      slice += query[q] * d.queries[q].slice_stride;
    }
    for (int64_t w = 0; w < windows; ++w) {
      int64_t at = slice, to = 0, left = w;
      bool outside = false, here = true;
      for (const LookupDesc::Dim& dim : d.dims) {
        int64_t position = 0;
        if (dim.query >= 0) position = query[static_cast<size_t>(dim.query)];
        if (dim.entry >= 0) {
          position = s.indices[static_cast<size_t>(v * d.entries + dim.entry)];
          if (d.clip) position = std::clamp<int64_t>(position, 0, dim.last);
          outside = outside || position < 0 || position > dim.last;
          if (!dim.begins.empty()) position -= dim.begins[static_cast<size_t>(device)];
        }
        if (dim.query < 0) {
          position += left % dim.window;
          at += left % dim.window * dim.slice_stride;
          left /= dim.window;
        }
        here = here && position >= 0 && position < dim.size;
        to += position * dim.stride;
      }
      f(at, outside ? -1 : here ? to : -2);
    }
  }
}

std::vector<float> RandomNumbers(int64_t n, Draws& random) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < n; ++i) numbers.push_back(static_cast<float>(random.In(-999, 999)) / 7);
  return numbers;
}

TEST(Gather, TakesWhatIsHeldAndFillsTheRest) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Draws random(seed);
    const Slices s = RandomSlices(random, /*windows=*/true);
    const std::vector<float> operand = RandomNumbers(s.operand, random);
    const Bytes in = ToBytes(operand), indices = ToBytes(s.indices);
    const plan::Kernel kernel = Gather(s.desc, 0x40e00000);  // 7
    for (int32_t device : {0, 1}) {
      std::vector<float> want(static_cast<size_t>(Product(s.shape)));
      ForEachElement(s, device, [&](int64_t at, int64_t from) {
        float fill = from == -1 && device == 0 ? 7.0f : -0.0f;
        want[static_cast<size_t>(at)] = from >= 0 ? operand[static_cast<size_t>(from)] : fill;
      });
      for (int32_t parts : {1, 3}) {
        Bytes got(want.size() * sizeof(float));
        RunParts(kernel, {&in, &indices}, {&got}, parts, device);
        ASSERT_TRUE(SameItems(got, ToBytes(want), 4))
            << "seed " << seed << ", device " << device << ", parts " << parts;
      }
    }
  }
}

// Float sums are in the order of the queries, for any number of parts, in place or not.
TEST(Scatter, CombinesInOrderWhateverTheParts) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Draws random(seed);
    const Slices s = RandomSlices(random, /*windows=*/true);
    const bool sums = random.OneIn(2);
    const std::vector<float> operand = RandomNumbers(s.operand, random),
                             slices = RandomNumbers(Product(s.shape), random);
    const Bytes in = ToBytes(operand), indices = ToBytes(s.indices), updates = ToBytes(slices);
    const plan::Kernel kernel =
        Scatter(s.desc, sums ? std::optional(Reduction::kSum) : std::nullopt);
    for (int32_t device : {0, 1}) {
      std::vector<float> want = operand;
      if (device == 1) want.assign(operand.size(), sums ? -0.0f : 0.0f);
      ForEachElement(s, device, [&](int64_t at, int64_t to) {
        if (to < 0) return;
        float& old = want[static_cast<size_t>(to)];
        const float update = slices[static_cast<size_t>(at)];
        old = sums ? old + update : update;
      });
      for (int32_t parts : {1, 2, 3})
        for (bool in_place : {false, true}) {
          Bytes got = in_place ? in : Bytes(in.size());
          RunParts(kernel, {in_place ? &got : &in, &indices, &updates}, {&got}, parts, device);
          ASSERT_TRUE(SameItems(got, ToBytes(want), 4))
              << "seed " << seed << ", device " << device << ", parts " << parts << ", in place "
              << in_place;
        }
    }
  }
}

// Long rows are cut into parts; many short rows are divided between parts.
TEST(Scatter, LongRowsAndManyElementsAreCombinedTheSame) {
  struct {
    int64_t rows, row, queries;
  } const cases[] = {{5, 4096, 40}, {3000, 7, 5000}, {40000, 1, 9000}};
  for (const auto& c : cases) {
    Draws random(1);
    LookupDesc desc{
        .dtype = f32, .index = i64, .entries = 1, .leads = {}, .dims = {}, .queries = {}};
    desc.dims.push_back(
        {.size = c.rows, .stride = c.row, .entry = 0, .last = c.rows - 1, .begins = {}});
    if (c.row > 1)
      desc.dims.push_back(
          {.size = c.row, .stride = 1, .window = c.row, .slice_stride = 1, .begins = {}});
    desc.queries.push_back({.size = c.queries,
                            .index_stride = 1,
                            .slice_stride = c.row,
                            .whole = c.queries,
                            .begins = {}});
    std::vector<int64_t> at;
    for (int64_t q = 0; q < c.queries; ++q) at.push_back(random.In(-2, c.rows + 1));
    const std::vector<float> operand = RandomNumbers(c.rows * c.row, random),
                             updates = RandomNumbers(c.queries * c.row, random);
    std::vector<float> want = operand;
    for (int64_t q = 0; q < c.queries; ++q)
      for (int64_t i = 0; i < c.row && at[static_cast<size_t>(q)] >= 0; ++i)
        if (at[static_cast<size_t>(q)] < c.rows)
          want[static_cast<size_t>(at[static_cast<size_t>(q)] * c.row + i)] +=
              updates[static_cast<size_t>(q * c.row + i)];
    const Bytes in = ToBytes(operand), indices = ToBytes(at), slices = ToBytes(updates);
    const plan::Kernel kernel = Scatter(desc, Reduction::kSum);
    EXPECT_GT(kernel.max_parts, 1);
    for (int32_t parts : {1, 2, 7}) {
      Bytes got(in.size());
      RunParts(kernel, {&in, &indices, &slices}, {&got}, std::min(parts, kernel.max_parts));
      EXPECT_TRUE(SameItems(got, ToBytes(want), 4)) << c.rows << " rows, " << parts << " parts";
    }
  }
}

}  // namespace
}  // namespace tessera::kernels
