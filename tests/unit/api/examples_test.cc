// The examples of docs/adoption.md and docs/data.md, which stand here word for word.
#include <gmock/gmock.h>
#include <tessera/data.h>
#include <tessera/tessera.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::examples_test {
namespace {

using testing::HasSubstr;

TEST(Examples, OfAdoption) {
  const std::string folder = testing::TempDir();
  std::stringstream printed;
  auto* const before = std::cout.rdbuf(printed.rdbuf());
  std::vector<float> values = {0, 1, 2, 3, 4, 5};
  Array x = array_view(values.data(), {2, 3});  // f32[2,3], in the memory of `values`
  Array columns = array_view(values.data(), {3, 2}, {.strides = {{1, 3}}});
  Array kept = array_view(std::move(values));  // the array keeps the vector
  std::cout << sum(x) << columns << kept;

  DLManagedTensorVersioned* tensor = to_dlpack(x * 2);  // a PyTorch or NumPy extension takes this
  Array same = from_dlpack(tensor);
  std::cout << same;

  auto model = jit([](std::map<std::string, Array> p, Array v) { return tanh(matmul(v, p["w"])); });
  std::map<std::string, Array> p = {{"w", ones({3, 2})}};
  model.lower(p, x).program().save(folder + "/model.program");

  const Program loaded = Program::Load(folder + "/model.program");
  Array result = run_as<Array>(loaded, p, x);  // trees, as the function takes them
  Array again = loaded.run({p["w"], x})[0];    // or their arrays, in order
  std::cout << loaded.border().inputs[0] << result << again;
  std::cout.rdbuf(before);
  EXPECT_THAT(printed.str(), HasSubstr("15"));
  EXPECT_THAT(printed.str(), HasSubstr("argument 0[\"w\"]"));
}

TEST(Examples, OfData) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"data", 4}}));
  const std::string folder = testing::TempDir();
  std::stringstream printed;
  auto* const before = std::cout.rdbuf(printed.rdbuf());
  int64_t total = 0;
  save_npy(folder + "/images.npy", random::uniform(random::key(1), {100, 28, 28}));
  save_npy(folder + "/labels.npy", arange(100) % 10);

  const data::DataSource records =
      data::zip({data::npy(folder + "/images.npy"), data::npy(folder + "/labels.npy")});
  const data::Pipeline train = data::Pipeline(records)
                                   .shuffle(random::key(0))
                                   .batch(16, {.drop_last = true, .out_shardings = {P("data")}})
                                   .repeat(2)
                                   .prefetch(4, {.threads = 2});
  data::Batches batches = train.start();
  while (auto batch = batches.next()) {
    const Array images = batch->at(0), labels = batch->at(1);  // f32[16@data,28,28], i32[16@data]
    total += images.shape(0) + 0 * labels.shape(0);
  }

  data::Batches first = train.start();
  for (int i = 0; i < 5; ++i) first.next();
  save_safetensors(folder + "/position.safetensors", first.position());

  const data::Position position =
      load_safetensors_like(folder + "/position.safetensors", train.start().position());
  data::Batches rest = train.start(position);

  const auto scale = [](data::Record r) {
    for (float& pixel : r[0].data<float>()) pixel = 2 * pixel - 1;
    return r;
  };
  data::Batches scaled = data::Pipeline(records).map(scale).batch(10).start();
  std::cout << type_of(scaled.next()->at(0)) << "\n";
  std::cout.rdbuf(before);
  EXPECT_EQ(total, 2 * 96);
  EXPECT_EQ(printed.str(), "f32[10,28,28]\n");
  std::optional<std::vector<Array>> want = first.next(), got = rest.next();
  EXPECT_EQ(got->at(1).to_vector<int32_t>(), want->at(1).to_vector<int32_t>());
}

// Returns the lines of a text without blanks, which formatting changes; only those of C++ in a
// page.
std::vector<std::string> CodeOf(const std::string& path, bool is_page) {
  std::vector<std::string> code;
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/" + path);
  bool inside = !is_page;
  for (std::string line; std::getline(file, line);) {
    if (is_page && line.starts_with("```")) {
      inside = line == "```cpp";
      continue;
    }
    std::erase(line, ' ');
    if (inside && !line.empty()) code.push_back(line);
  }
  return code;
}

TEST(Examples, AreThoseOfThePages) {
  const std::vector<std::string> here = CodeOf("tests/unit/api/examples_test.cc", false);
  for (const char* page : {"docs/adoption.md", "docs/data.md"}) {
    const std::vector<std::string> shown = CodeOf(page, true);
    EXPECT_GT(shown.size(), 10u);
    for (const std::string& line : shown) EXPECT_THAT(here, testing::Contains(line)) << page;
  }
}

}  // namespace
}  // namespace tessera::examples_test
