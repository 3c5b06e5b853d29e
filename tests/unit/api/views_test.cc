// Arrays over memory of others: which memory they share, how long they keep it, and that nothing
// writes to it. DLPack tensors in and out.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <complex>
#include <cstring>
#include <numeric>
#include <span>

#include "api/io/dlpack_structs.h"

namespace tessera::views_test {
namespace {

using testing::ElementsAre;
using Floats = std::vector<float>;

const void* MemoryOf(const Array& x) { return x.addressable_shards().front().bytes().data(); }
Floats Count(int n) {
  Floats v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

TEST(Views, OfAPointerShareItsMemory) {
  const Floats v = Count(6);
  const Array x = array_view(v.data(), {2, 3});
  EXPECT_EQ(type_of(x).text(), "f32[2,3]");
  EXPECT_EQ(MemoryOf(x), v.data());
  EXPECT_THAT((x + 1).to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(MemoryOf(array_view(v.data(), f32, {3, 2})), v.data());
}

TEST(Views, OfRangesHaveTheirElements) {
  const Floats v = Count(4);
  EXPECT_EQ(MemoryOf(array_view(v)), v.data());
  EXPECT_EQ(MemoryOf(array_view(std::span(v).subspan(1))), v.data() + 1);
  const std::complex<float> z[] = {{1, 2}, {3, 4}};
  EXPECT_EQ(type_of(array_view(z)).text(), "c64[2]");
  EXPECT_EQ(MemoryOf(array_view(z)), z);
  EXPECT_EQ(type_of(array_view(std::array<int64_t, 3>{1, 2, 3})).text(), "i64[3]");
}

TEST(Views, KeepAContainerThatIsMovedIn) {
  Floats v = Count(5);
  const float* const memory = v.data();
  const Array x = array_view(std::move(v));
  EXPECT_EQ(MemoryOf(x), memory);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(0, 1, 2, 3, 4));
}

TEST(Views, KeepTheirOwnerUntilNoArrayUsesTheMemory) {
  auto owner = std::make_shared<const Floats>(Count(4));
  const std::weak_ptr<const Floats> alive = owner;
  Array x = array_view(owner->data(), {2, 2}, {.owner = owner});
  owner.reset();
  Array same = x.reshape({4});
  x = Array();
  EXPECT_FALSE(alive.expired());
  EXPECT_THAT(same.to_vector<float>(), ElementsAre(0, 1, 2, 3));
  same = Array();
  EXPECT_TRUE(alive.expired());
}

TEST(Views, PackStridedMemoryAndLetItGo) {
  auto owner = std::make_shared<const Floats>(Count(6));
  const std::weak_ptr<const Floats> alive = owner;
  const float* const p = owner->data();
  const auto view = [&](Shape shape, std::vector<int64_t> strides, const float* begin) {
    return array_view(begin, shape, {.strides = strides, .owner = owner}).to_vector<float>();
  };
  EXPECT_THAT(view({3, 2}, {1, 3}, p), ElementsAre(0, 3, 1, 4, 2, 5));  // columns
  EXPECT_THAT(view({3}, {-2}, p + 4), ElementsAre(4, 2, 0));
  EXPECT_THAT(view({2, 2}, {0, 1}, p), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(view({2, 0}, {7, 7}, p), ElementsAre());
  // The stride of a dim of size 1 is not used.
  EXPECT_EQ(MemoryOf(array_view(p, {1, 6}, {.strides = {{99, 1}}})), p);
  const Array x = array_view(p, {3, 2}, {.strides = {{1, 3}}, .owner = owner});
  owner.reset();
  EXPECT_TRUE(alive.expired());
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Views, CopyMisalignedElements) {
  std::vector<char> bytes(4 * sizeof(float) + 1);
  const Floats v = Count(4);
  std::memcpy(bytes.data() + 1, v.data(), 4 * sizeof(float));
  const Array x = array_view(static_cast<const void*>(bytes.data() + 1), f32, {4});
  EXPECT_NE(MemoryOf(x), bytes.data() + 1);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(0, 1, 2, 3));
}

TEST(Views, AreNeverWrittenByDonation) {
  const Floats v = Count(1000);
  const Floats before = v;
  Array x = array_view(v);
  const auto step = jit([](Array a) { return 2 * a + 1; }, {.donate = {0}});
  for (int i = 0; i < 3; ++i) x = step(x);
  EXPECT_EQ(v, before);
  EXPECT_EQ(x.to_vector<float>()[999], 999 * 8 + 7);
  const auto update = jit([](Array a) { return a.at({0}).set(7); }, {.donate = {0}});
  EXPECT_EQ(update(array_view(v)).to_vector<float>()[0], 7);
  EXPECT_EQ(v, before);
}

TEST(Views, AreReplicatedOverAMeshAndCanBeSharded) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Floats v = Count(8);
  const Array x = array_view(v.data(), {8});
  for (const Shard& s : x.addressable_shards()) EXPECT_EQ(s.bytes().data(), MemoryOf(x));
  EXPECT_EQ(MemoryOf(x), v.data());
  const Array cut = array_view(v.data(), {8}, {.out_sharding = P("x")});
  EXPECT_EQ(type_of(cut).text(), "f32[8@x]");
  EXPECT_EQ((cut + x).to_vector<float>()[7], 14);
  MeshScope on_paper(abstract_mesh({{"x", 4}}));
  EXPECT_TRUE(array_view(v).is_abstract());
}

// As std::mdspan has them, with columns one after the other.
struct Columns {
  const double* p;
  int64_t rows, cols;
  static constexpr size_t rank() { return 2; }
  const double* data_handle() const { return p; }
  int64_t extent(size_t d) const { return d == 0 ? rows : cols; }
  int64_t stride(size_t d) const { return d == 0 ? 1 : rows; }
};
// As Kokkos has them.
struct Strided {
  static constexpr unsigned rank = 1;
  int32_t* p;
  int32_t* data() const { return p; }
  size_t extent(size_t) const { return 3; }
  size_t stride(size_t) const { return 2; }
};
// As Eigen has them.
struct Matrix {
  const float* p;
  const float* data() const { return p; }
  int64_t rows() const { return 2; }
  int64_t cols() const { return 2; }
  int64_t rowStride() const { return 2; }
  int64_t colStride() const { return 1; }
};

TEST(Views, WithExtentsAreReadByTheirStrides) {
  const double d[] = {0, 1, 2, 3, 4, 5};
  EXPECT_THAT(array_view(Columns{d, 3, 2}).to_vector<double>(), ElementsAre(0, 3, 1, 4, 2, 5));
  int32_t n[] = {0, 1, 2, 3, 4};
  EXPECT_THAT(array_view(Strided{n}).to_vector<int32_t>(), ElementsAre(0, 2, 4));
  const Floats v = Count(4);
  const Matrix m{v.data()};
  EXPECT_EQ(type_of(array_view(m)).text(), "f32[2,2]");
  EXPECT_EQ(MemoryOf(array_view(m)), v.data());
}

// ---- DLPack ----

// A tensor of the test, which counts how often it is deleted.
struct Tensor {
  Tensor() {
    managed.version = {1, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* m) {
      ++static_cast<Tensor*>(m->manager_ctx)->deleted;
    };
    managed.dl_tensor = {.data = elements,
                         .device = {dlpack::kCpu, 0},
                         .ndim = 2,
                         .dtype = {dlpack::kFloat, 32, 1},
                         .shape = shape,
                         .strides = nullptr,
                         .byte_offset = 0};
  }
  alignas(64) float elements[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  DLManagedTensorVersioned managed = {};
  int deleted = 0;
};

TEST(DLPack, TensorsAreSharedAndDeletedOnce) {
  Tensor t;
  {
    const Array x = from_dlpack(&t.managed);
    EXPECT_EQ(type_of(x).text(), "f32[2,3]");
    EXPECT_EQ(MemoryOf(x), t.elements);
    EXPECT_EQ(sum(x).item<float>(), 15);
    EXPECT_EQ(t.deleted, 0);
  }
  EXPECT_EQ(t.deleted, 1);
}

TEST(DLPack, StridesAndOffsetsAreRead) {
  Tensor t;
  t.managed.dl_tensor.strides = t.strides;
  t.managed.dl_tensor.byte_offset = 0;
  const Array x = from_dlpack(&t.managed);
  EXPECT_EQ(t.deleted, 1);  // it was packed
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(0, 2, 4, 1, 3, 5));
  Tensor later;
  later.managed.dl_tensor.ndim = 1;
  later.managed.dl_tensor.byte_offset = 4 * sizeof(float);
  EXPECT_THAT(from_dlpack(&later.managed).to_vector<float>(), ElementsAre(4, 5));
}

TEST(DLPack, ARefusedTensorStaysWithTheCaller) {
  Tensor t;
  t.managed.dl_tensor.device.type = 2;
  EXPECT_THROW(from_dlpack(&t.managed), RuntimeError);
  EXPECT_EQ(t.deleted, 0);
  t.managed.dl_tensor.device.type = 1;
  EXPECT_THROW(from_dlpack(&t.managed, {.out_sharding = P("x")}), ShardingError);
  EXPECT_EQ(t.deleted, 0);
}

TEST(DLPack, ArraysGoOutAndComeBackWithoutACopy) {
  for (DType dtype : {bool_,   i2,      i4,          i8,          i16,           i32,       i64,
                      u2,      u4,      u8,          u16,         u32,           u64,       f16,
                      bf16,    f32,     f64,         c64,         c128,          f8_e4m3fn, f8_e5m2,
                      f8_e3m4, f8_e4m3, f8_e4m3fnuz, f8_e5m2fnuz, f8_e4m3b11fnuz}) {
    const Array x = ones({2, 3}, dtype);
    DLManagedTensorVersioned* tensor = to_dlpack(x);
    EXPECT_TRUE(tensor->flags & dlpack::kReadOnly);
    const Array back = from_dlpack(tensor);
    EXPECT_EQ(type_of(back).text(), type_of(x).text());
    EXPECT_EQ(MemoryOf(back), MemoryOf(x));
  }
}

TEST(DLPack, ATensorKeepsTheMemoryOfItsArray) {
  Array x = arange(6.0).reshape({2, 3});
  DLManagedTensor* tensor = to_dlpack_unversioned(x);
  x = Array();
  EXPECT_EQ(static_cast<float*>(tensor->dl_tensor.data)[5], 5);
  EXPECT_THAT(std::span(tensor->dl_tensor.strides, 2), ElementsAre(3, 1));
  EXPECT_EQ(from_dlpack(tensor).to_vector<float>()[4], 4);
  const Array scalar = array(2.0f);
  EXPECT_EQ(from_dlpack(to_dlpack(scalar)).item<float>(), 2);
}

TEST(DLPack, ShardsAreGathered) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = reshard(arange(8.0), P("x"));
  EXPECT_THAT(from_dlpack(to_dlpack(x)).to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

}  // namespace
}  // namespace tessera::views_test
