// f8 and integers of 2 and 4 bits through the public functions: values in and out, text, files,
// promotion, derivatives, and the bytes of reports.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <filesystem>

#include "ir/program_text.h"

namespace tessera::storage_test {
namespace {

using testing::ElementsAre;

const DType kEvery[] = {
    f8_e3m4, f8_e4m3, f8_e4m3b11fnuz, f8_e4m3fn, f8_e4m3fnuz, f8_e5m2, f8_e5m2fnuz, i2, i4, u2, u4};

std::string TypeText(const Array& x) { return type_of(x).text(); }

TEST(Storage, GoesInAndOut) {
  const Array x = array(std::vector{Float8E4M3FN(1.5f), Float8E4M3FN(-0.3f), Float8E4M3FN(500.f)});
  EXPECT_EQ(TypeText(x), "f8_e4m3fn[3]");
  const std::vector<float> read = x.to_vector<float>();
  EXPECT_EQ(read[0], 1.5f);
  EXPECT_EQ(read[1], -0.3125f);
  EXPECT_TRUE(std::isnan(read[2]));
  EXPECT_EQ(x.to_vector<Float8E4M3FN>()[1].bits, Float8E4M3FN(-0.3f).bits);
  const Array n = array({-8, 7, 3}).astype(i4);
  EXPECT_THAT(n.to_vector<int8_t>(), ElementsAre(-8, 7, 3));
  EXPECT_THAT(n.to_vector<double>(), ElementsAre(-8, 7, 3));
  EXPECT_EQ(n[1].item<Int4>().value, 7);
  EXPECT_EQ(ArrayType::Parse("u2[4]").dtype(), u2);
}

TEST(Storage, HasText) {
  EXPECT_EQ(to_text(array({1.5, -0.3}).astype(f8_e5m2)), "f8_e5m2[2]\n[    1.5, -0.3125]");
  EXPECT_EQ(to_text(array({-8, 7}).astype(i4)), "i4[2]\n[-8,  7]");
}

TEST(Storage, PromotesWithWeakNumbers) {
  EXPECT_EQ(TypeText(ones({2}, f8_e4m3) + 1.5), "f8_e4m3[2]");
  EXPECT_EQ(TypeText(ones({2}, f8_e4m3) * 2), "f8_e4m3[2]");
  EXPECT_EQ(TypeText(ones({2}, f8_e4m3) + ones({2}, i32)), "f8_e4m3[2]");
  EXPECT_EQ(TypeText(ones({2}, u4) + 1), "u4[2]");
  EXPECT_EQ(TypeText(ones({2}, u4) + ones({2}, bool_)), "u4[2]");
}

// In any order, as in JAX's lattice: u64 with i64 is a float that takes the dtype of the f8.
TEST(Storage, PromotesWithSeveral) {
  const Array a = ones({2}, u64), b = ones({2}, i64), c = ones({2}, f8_e5m2);
  EXPECT_EQ(TypeText(concatenate({a, b, c}, 0)), "f8_e5m2[6]");
  EXPECT_EQ(TypeText(concatenate({c, a, b}, 0)), "f8_e5m2[6]");
}

TEST(Storage, ConstantsArePrintedAndParsed) {
  for (DType t : kEvery) {
    const auto f = jit([=](Array x) { return x + full({2}, 1, {.dtype = t}); });
    const std::string text = f.trace(ones({2}, t)).text();
    EXPECT_EQ(ir::Text(ir::ParseProgram(text, Loc::Current())), text);
  }
}

// Sums wrap or round once.
TEST(Storage, SumsOverDevices) {
  SetDeviceCount(4);
  const MeshScope scope(make_mesh({{"x", 4}}));
  for (DType t : kEvery) {
    const Array whole = reshape(arange(32) % 2, {8, 4}).astype(t);
    const Array x = reshard(whole, P("x"));
    const Array made = jit([](Array v) { return tessera::sum(v, {0}); })(x);
    EXPECT_EQ(made.astype(f32).to_vector<float>(),
              tessera::sum(whole, {0}).astype(f32).to_vector<float>())
        << t.name();
  }
}

TEST(Storage, ReportsCountBits) {
  SetDeviceCount(4);
  const MeshScope scope(make_mesh({{"x", 4}}));
  const auto gathered = [](DType t) {
    const Array x = abstract_array(std::string(t.name()) + "[64@x,8]");
    return jit([](Array v) { return reshard(v, P()); }).lower(x);
  };
  const int64_t bytes = gathered(i8).comm().bytes();
  EXPECT_GT(bytes, 0);
  EXPECT_EQ(gathered(f8_e5m2).comm().bytes(), bytes);
  EXPECT_EQ(gathered(i4).comm().bytes(), bytes / 2);
  EXPECT_EQ(gathered(u2).comm().bytes(), bytes / 4);
  EXPECT_EQ(gathered(i4).peak_bytes(), gathered(i8).peak_bytes() / 2);
}

// Devices that do not have a row send zeros, which are added.
TEST(Storage, RowsOfAShardedTableAreGathered) {
  SetDeviceCount(4);
  const MeshScope scope(make_mesh({{"x", 4}}));
  const Array rows = array({7, 0, 5, 5, 2});
  for (DType t : kEvery) {
    const Array whole = reshape(arange(32) % 3, {8, 4}).astype(t);
    const Array table = reshard(whole, P("x"));
    const Array got = take(table, rows, 0, {.out_sharding = P()});
    EXPECT_EQ(got.astype(f32).to_vector<float>(),
              take(whole.astype(f32), rows, 0).to_vector<float>())
        << t.name();
  }
}

TEST(Storage, NanWatchReadsBits) {
  const NanWatch watch;
  for (DType t : kEvery) {
    if (!t.is_floating()) continue;
    const auto quotient = jit([](Array x) { return x / x; });
    EXPECT_NO_THROW(quotient(ones({3}, t))) << t.name();
    EXPECT_THROW(quotient(zeros({3}, t)), RuntimeError) << t.name();
  }
}

TEST(Storage, RandomNumbersAreInTheirRange) {
  for (DType t : kEvery) {
    if (!t.is_floating()) continue;
    const std::vector<float> u =
        random::uniform(random::key(1), {4000}, {.dtype = t}).astype(f32).to_vector<float>();
    float sum = 0;
    for (float v : u) {
      ASSERT_GE(v, 0) << t.name();
      ASSERT_LT(v, 1) << t.name();
      sum += v;
    }
    EXPECT_NEAR(sum / 4000, 0.5, 0.15) << t.name();
    for (float v :
         random::normal(random::key(2), {4000}, {.dtype = t}).astype(f32).to_vector<float>())
      ASSERT_TRUE(std::isfinite(v)) << t.name();
  }
  for (int v : random::randint(random::key(3), {100}, 0, 100, {.dtype = u4})
                   .astype(i32)
                   .to_vector<int32_t>())
    EXPECT_TRUE(v >= 0 && v <= 15) << v;
}

TEST(Storage, FunctionsOfManyStepsFitTheirNumbers) {
  EXPECT_EQ(mean(ones({600}, f8_e4m3fn)).item<float>(), 1.0f);
  EXPECT_EQ(nan_to_num(array({0.5, INFINITY}).astype(f8_e5m2)).to_vector<float>()[1], 57344.0f);
  EXPECT_EQ(round(array({1.5}).astype(f8_e4m3), {.decimals = 40}).item<float>(), 1.5f);
  EXPECT_EQ(round(array({7, -3}).astype(i4), {.decimals = -1}).to_vector<int8_t>(),
            (std::vector<int8_t>{0, 0}));
  EXPECT_EQ(remainder(array({1, -2}).astype(i2), 1).to_vector<int8_t>(),
            (std::vector<int8_t>{0, 0}));
  const Array start = array({1}).astype(i4)[0];
  EXPECT_EQ(dynamic_slice(reshape(arange(9), {3, 3}), {start, start}, {1, 2}).to_vector<int32_t>(),
            (std::vector<int32_t>{4, 5}));
}

TEST(Storage, ProductsOfTwoFormatsHaveTheDtypeThatIsGiven) {
  const Array a = array({1.5, 2}).astype(f8_e4m3fn), b = array({0.5, 4}).astype(f8_e5m2);
  EXPECT_EQ(dot(a, b, {.dtype = f32}).item<float>(), 8.75f);
  EXPECT_THROW(dot(a, b), DTypeError);
}

// A cast to f8 passes gradients on, rounded to f8.
TEST(Storage, GradientsGoThroughCasts) {
  const auto loss = [](Array x) { return sum(square(x.astype(f8_e4m3fn).astype(f32))); };
  EXPECT_THAT(grad(loss)(array({1.5f, -0.25f})).to_vector<float>(), ElementsAre(3.0f, -0.5f));
}

TEST(Storage, FilesKeepDtypesThatTheyName) {
  const std::string folder = std::filesystem::temp_directory_path() / "tessera_storage";
  std::filesystem::create_directories(folder);
  const std::map<std::string, Array> saved{{"a", array({1.5, -3}).astype(f8_e4m3fn)},
                                           {"b", array({0.1, 448}).astype(f8_e5m2)}};
  save_safetensors(folder + "/x.safetensors", saved);
  const auto read = load_safetensors(folder + "/x.safetensors");
  for (const auto& [name, x] : saved) {
    EXPECT_EQ(TypeText(read.at(name)), TypeText(x));
    EXPECT_EQ(read.at(name).to_vector<float>(), x.to_vector<float>());
  }
  save_npy(folder + "/x.npy", saved.at("b"));
  EXPECT_EQ(TypeText(load_npy(folder + "/x.npy")), "f8_e5m2[2]");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera::storage_test
