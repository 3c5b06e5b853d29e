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
