// Files in NumPy's format: round trips, other programs' files, and bad ones.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <fstream>
#include <string>

namespace tessera::npy_files_test {
namespace {

std::string File(const std::string& name, const std::string& content) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string Npy(const std::string& header) {
  std::string text = header + std::string(118 - header.size() % 64, ' ') + "\n";
  std::string size{static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + size + text;
}

TEST(NpyFiles, RoundTripEveryDType) {
  for (DType t : {bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64}) {
    SCOPED_TRACE(t.name());
    Array x = astype(iota({3, 4}, 1), t);
    std::string path = testing::TempDir() + "/x.npy";
    save_npy(path, x);
    Array y = load_npy(path);
    EXPECT_EQ(type_of(y).text(), type_of(x).text());
    EXPECT_TRUE(all(x == y).item<bool>());
  }
}

TEST(NpyFiles, ReadsFortranOrder) {
  std::string data;
  for (int32_t v : {1, 4, 2, 5, 3, 6}) data.append(reinterpret_cast<char*>(&v), 4);
  Array x = load_npy(
      File("f.npy", Npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }") + data));
  EXPECT_EQ(x.to_vector<int>(), std::vector<int>({1, 2, 3, 4, 5, 6}));
}

TEST(NpyFiles, AnyByteButZeroIsTrue) {
  Array x =
      load_npy(File("b.npy", Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }") +
                                 std::string{0, 1, '\x91'}));
  EXPECT_EQ(x.to_vector<bool>(), std::vector<bool>({false, true, true}));
  EXPECT_EQ(sum(x).item<int>(), 2);
}

TEST(NpyFiles, HostileOnesAreRefused) {
  const std::string headers[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 1000000000000), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
      "{'descr': '<c32', 'fortran_order': False, 'shape': (4,), }",
      "{'descr': '<f4', 'shape': (4,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4",
      "{",
      ""};
  for (const std::string& h : headers)
    EXPECT_THROW(load_npy(File("bad.npy", Npy(h))), RuntimeError) << h;
  std::string good =
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }") + std::string(16, 'x');
  for (size_t n = 0; n < good.size(); ++n)
    EXPECT_THROW(load_npy(File("cut.npy", good.substr(0, n))), RuntimeError) << n << " bytes";
  EXPECT_NO_THROW(load_npy(File("good.npy", good)));
  EXPECT_THROW(load_npy("/nowhere/x.npy"), RuntimeError);
  EXPECT_THROW(save_npy("/nowhere/x.npy", ones({2})), RuntimeError);
}

}  // namespace
}  // namespace tessera::npy_files_test
