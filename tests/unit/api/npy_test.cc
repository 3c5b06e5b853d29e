// .npy files that other programs write: quotes, byte orders, and dtypes without numbers.
#include <gmock/gmock.h>
#include <tessera/data.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace tessera::npy_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Writes a file of version 1 with this header and these bytes, and returns its path.
std::string Written(const std::string& name, std::string header, const std::string& bytes) {
  header.resize((header.size() + 10) / 64 * 64 + 54, ' ');
  header.back() = '\n';
  const auto size = static_cast<uint16_t>(header.size());
  std::string path = testing::TempDir() + "/" + name + ".npy";
  std::ofstream(path, std::ios::binary)
      << "\x93NUMPY" << '\x01' << '\0' << std::string(reinterpret_cast<const char*>(&size), 2)
      << header << bytes;
  return path;
}

// Returns the bytes of numbers, the most significant first.
template <class T>
std::string BigEndian(const std::vector<T>& numbers) {
  std::string bytes;
  for (T number : numbers) {
    std::string own(reinterpret_cast<const char*>(&number), sizeof number);
    std::reverse(own.begin(), own.end());
    bytes += own;
  }
  return bytes;
}

TEST(Npy, HeadersMayHaveDoubleQuotes) {
  const std::string path =
      Written("quotes", R"({"descr": "<i2", "fortran_order": False, "shape": (2,), })",
              std::string("\x01\x00\x02\x00", 4));
  EXPECT_THAT(load_npy(path).to_vector<int16_t>(), ElementsAre(1, 2));
}

TEST(Npy, ElementsMayBeBigEndian) {
  const auto header = [](const char* descr, const char* shape, const char* fortran = "False") {
    return std::string("{'descr': '") + descr + "', 'fortran_order': " + fortran +
           ", 'shape': " + shape + ", }";
  };
  EXPECT_THAT(load_npy(Written("f4", header(">f4", "(3,)"), BigEndian<float>({1.5, -2, 1e9})))
                  .to_vector<float>(),
              ElementsAre(1.5, -2, 1e9));
  EXPECT_THAT(load_npy(Written("i8", header(">i8", "()"), BigEndian<int64_t>({1L << 40})))
                  .to_vector<int64_t>(),
              ElementsAre(1L << 40));
  EXPECT_THAT(load_npy(Written("i1", header(">i1", "(2,)"), "\x01\x02")).to_vector<int8_t>(),
              ElementsAre(1, 2));
  const Array z = load_npy(Written("c8", header(">c8", "(2,)"), BigEndian<float>({1, 2, 3, -4})));
  EXPECT_THAT(real(z).to_vector<float>(), ElementsAre(1, 3));
  EXPECT_THAT(imag(z).to_vector<float>(), ElementsAre(2, -4));
  const std::string rows = BigEndian<int32_t>({1, 2, 3, 4, 5, 6});
  const Array columns = load_npy(Written("columns", header(">i4", "(3, 2)", "True"), rows));
  EXPECT_THAT(columns.to_vector<int32_t>(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Npy, RecordsMayBeBigEndian) {
  const std::string path =
      Written("records", "{'descr': '>u2', 'fortran_order': False, 'shape': (2, 2), }",
              BigEndian<uint16_t>({1, 2, 3, 4}));
  EXPECT_THAT(data::npy(path).read(1)[0].data<uint16_t>(), ElementsAre(3, 4));
}

void ExpectRefused(const std::string& descr, const char* reason) {
  const std::string path =
      Written("refused", "{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }",
              std::string(64, '\0'));
  try {
    load_npy(path);
    FAIL() << descr;
  } catch (const RuntimeError& e) {
    EXPECT_THAT(e.what(), HasSubstr(reason));
  }
}

TEST(Npy, StructsAndObjectsAreRefusedByName) {
  ExpectRefused("[('x', '<f4'), ('y', '<i4')]", "the elements are structs");
  ExpectRefused("'|O'", "the elements are Python objects");
  ExpectRefused("'<U3'", "elements of dtype '<U3' are not supported");
}

}  // namespace
}  // namespace tessera::npy_test
