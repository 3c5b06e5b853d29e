// The functions of tessera/c.h: their results, and the text of every error.
#include <gmock/gmock.h>
#include <tessera/c.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fuzz.h"
#include "mutate.h"

namespace tessera::c_test {
namespace {

constexpr const char* kDouble = R"(module @jit_f {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
})";

// A product whose contracted dim is sharded, and the sum of two arguments of other dtypes.
constexpr const char* kSharded = R"(module @jit_g attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(
      %arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
      %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
      %arg2: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
      -> (tensor<4x4xf32>, tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.negate %arg2 : tensor<8xi32>
    return %0, %1 : tensor<4x4xf32>, tensor<8xi32>
  }
})";

int64_t Bytes(const char* text) { return static_cast<int64_t>(std::strlen(text)); }

// A program for the time of a test.
class Loaded {
 public:
  explicit Loaded(const char* text, const char* mesh = nullptr) {
    EXPECT_EQ(tessera_load(text, Bytes(text), mesh, nullptr, nullptr, &handle_), TESSERA_OK)
        << tessera_last_error();
  }
  ~Loaded() { tessera_close(handle_); }
  Loaded(const Loaded&) = delete;
  operator tessera_program() const { return handle_; }

 private:
  tessera_program handle_ = 0;
};

// Returns the string that a function makes; the test fails if there is an error.
std::string TextOf(const std::function<tessera_status(char**)>& make) {
  char* text = nullptr;
  EXPECT_EQ(make(&text), TESSERA_OK) << tessera_last_error();
  std::string copy(text ? text : "");
  tessera_free(text);
  return copy;
}

// The sizes of kDouble's argument.
const std::vector<int64_t> kDims = {2, 3};

template <class T>
tessera_buffer BufferOf(const std::vector<T>& data, const std::vector<int64_t>& dims,
                        tessera_dtype dtype) {
  return {data.data(), static_cast<int64_t>(data.size() * sizeof(T)), dims.data(),
          static_cast<int32_t>(dims.size()), dtype};
}

// Returns the elements of an array, and releases it.
template <class T>
std::vector<T> Taken(tessera_array array, const std::vector<int64_t>& dims, tessera_dtype dtype) {
  tessera_buffer b;
  EXPECT_EQ(tessera_array_buffer(array, &b), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(std::vector<int64_t>(b.dims, b.dims + b.rank), dims);
  EXPECT_EQ(b.dtype, dtype);
  const auto* data = static_cast<const T*>(b.data);
  std::vector<T> elements(data, data + b.bytes / static_cast<int64_t>(sizeof(T)));
  EXPECT_EQ(tessera_release(array), TESSERA_OK);
  return elements;
}

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GOLDEN_DIR) + "/" + name;
  if (std::getenv("UPDATE_GOLDEN")) {
    std::ofstream(path) << text;
    return;
  }
  std::stringstream wanted;
  wanted << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, wanted.str()) << "in " << path;
}

TEST(C, RunsOnOneDevice) {
  const Loaded program(kDouble);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const tessera_buffer input = BufferOf(x, kDims, TESSERA_F32);
  tessera_array result = 0;
  ASSERT_EQ(tessera_run(program, &input, 1, &result, 1), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(Taken<float>(result, {2, 3}, TESSERA_F32), std::vector<float>({2, 4, 6, 8, 10, 12}));
}

void ExpectRunsSharded(tessera_program program) {
  const std::vector<float> ones(32, 1);
  const std::vector<int32_t> count = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<int64_t> wide = {4, 8}, tall = {8, 4}, line = {8};
  const std::vector<tessera_buffer> inputs = {BufferOf(ones, wide, TESSERA_F32),
                                              BufferOf(ones, tall, TESSERA_F32),
                                              BufferOf(count, line, TESSERA_I32)};
  tessera_array results[2] = {};
  ASSERT_EQ(tessera_run(program, inputs.data(), 3, results, 2), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(Taken<float>(results[0], {4, 4}, TESSERA_F32), std::vector<float>(16, 8));
  EXPECT_EQ(Taken<int32_t>(results[1], {8}, TESSERA_I32),
            std::vector<int32_t>({0, -1, -2, -3, -4, -5, -6, -7}));
}

TEST(C, RunsOnAsManyDevicesAsTheMeshHas) {
  ExpectRunsSharded(Loaded(kSharded));
  ExpectRunsSharded(Loaded(kSharded, "x=8"));
  ExpectRunsSharded(Loaded(kSharded, "x=2,y=3"));
}

TEST(C, ProgramsRunInSeveralThreadsAndAreClosedWhileTheyRun) {
  tessera_program program = 0;
  ASSERT_EQ(tessera_load(kSharded, Bytes(kSharded), nullptr, nullptr, nullptr, &program),
            TESSERA_OK);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      ExpectRunsSharded(program);
      EXPECT_EQ(tessera_close(t == 0 ? 0 : 1u << 30), TESSERA_ARGUMENT_ERROR);
      EXPECT_STREQ(tessera_last_error(), t == 0
                                             ? "tessera_close: the program is 0, which is no handle"
                                             : "tessera_close: 1073741824 is no handle");
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(tessera_close(program), TESSERA_OK);
}

TEST(C, AResultOutlivesItsProgram) {
  tessera_array result = 0;
  {
    const Loaded program(kDouble);
    const std::vector<float> x(6, 2);
    const tessera_buffer input = BufferOf(x, kDims, TESSERA_F32);
    ASSERT_EQ(tessera_run(program, &input, 1, &result, 1), TESSERA_OK);
  }
  EXPECT_EQ(Taken<float>(result, {2, 3}, TESSERA_F32), std::vector<float>(6, 4));
}

TEST(C, TellsTypes) {
  const Loaded program(kSharded);
  int64_t count = 0;
  EXPECT_EQ(tessera_count(program, TESSERA_INPUTS, &count), TESSERA_OK);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(tessera_count(program, TESSERA_OUTPUTS, &count), TESSERA_OK);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(TextOf([&](char** t) { return tessera_type(program, TESSERA_INPUTS, 2, t); }),
            "i32[8]");
  EXPECT_EQ(TextOf([&](char** t) { return tessera_input_name(program, 2, t); }), "%arg2");
  tessera_dtype dtype = 0;
  int32_t rank = 0;
  int64_t dims[3] = {-1, -1, -1};
  EXPECT_EQ(tessera_shape(program, TESSERA_INPUTS, 1, &dtype, &rank, dims, 3), TESSERA_OK);
  EXPECT_EQ(dtype, TESSERA_F32);
  EXPECT_EQ(rank, 2);
  EXPECT_THAT(dims, testing::ElementsAre(8, 4, -1));
  EXPECT_EQ(tessera_shape(program, TESSERA_OUTPUTS, 1, &dtype, &rank, nullptr, 0), TESSERA_OK);
  EXPECT_EQ(dtype, TESSERA_I32);
  EXPECT_EQ(rank, 1);
}

TEST(C, Reports) {
  const Loaded program(kSharded);
  std::string all;
  const auto add = [&](const char* title, const std::function<tessera_status(char**)>& make) {
    all += std::string("== ") + title + "\n" + TextOf(make);
    if (all.back() != '\n') all += '\n';
  };
  add("propagate", [&](char** t) { return tessera_propagate(program, nullptr, t); });
  add("propagate basic", [&](char** t) { return tessera_propagate(program, "basic", t); });
  add("explain", [&](char** t) { return tessera_explain(program, "%1", nullptr, t); });
  add("explain a line", [&](char** t) { return tessera_explain(program, "text:8", nullptr, t); });
  add("report", [&](char** t) { return tessera_report(program, t); });
  add("comm", [&](char** t) { return tessera_comm(program, t); });
  add("lower", [&](char** t) { return tessera_lower(program, nullptr, t); });
  add("lower until partition", [&](char** t) { return tessera_lower(program, "partition", t); });
  ExpectGolden("reports.txt", all);
  EXPECT_THAT(TextOf([&](char** t) { return tessera_html(program, "a < b", t); }),
              testing::AllOf(testing::HasSubstr("<html"), testing::HasSubstr("a &lt; b")));
}

TEST(C, OptionsChangeTheText) {
  tessera_program program = 0;
  const char* settings = "%arg0=[{}, {}]\n%arg1=[{}, {\"x\"}]\n";
  ASSERT_EQ(tessera_load(kSharded, Bytes(kSharded), "x=2", settings, "explicit", &program),
            TESSERA_OK)
      << tessera_last_error();
  EXPECT_EQ(TextOf([&](char** t) { return tessera_type(program, TESSERA_INPUTS, 1, t); }),
            "f32[8,4@x]");
  EXPECT_EQ(TextOf([&](char** t) { return tessera_type(program, TESSERA_OUTPUTS, 0, t); }),
            "f32[4,4@x]");
  EXPECT_EQ(TextOf([&](char** t) { return tessera_comm(program, t); }), "[]");
  ExpectRunsSharded(program);
  EXPECT_EQ(tessera_close(program), TESSERA_OK);
}

TEST(C, FiguresAreThoseOfTheMesh) {
  tessera_costs costs = {};
  EXPECT_EQ(tessera_costs_of(Loaded(kSharded), &costs, sizeof costs), TESSERA_OK);
  EXPECT_EQ(costs.collectives, 1);
  EXPECT_GT(costs.comm_bytes, 0);
  EXPECT_EQ(costs.flops, costs.split_flops);
  tessera_costs wide = {};
  EXPECT_EQ(tessera_costs_of(Loaded(kSharded, "x=8,y=128"), &wide, sizeof wide), TESSERA_OK);
  EXPECT_LT(wide.peak_bytes, costs.peak_bytes);
  // An older caller knows fewer figures.
  tessera_costs first = {};
  first.collectives = -1;
  EXPECT_EQ(tessera_costs_of(Loaded(kSharded), &first, 8), TESSERA_OK);
  EXPECT_EQ(first.comm_bytes, costs.comm_bytes);
  EXPECT_EQ(first.collectives, -1);
}

TEST(C, ChecksATextWithoutKeepingIt) {
  EXPECT_EQ(tessera_check(kSharded, Bytes(kSharded), nullptr, nullptr, nullptr), TESSERA_OK);
  EXPECT_EQ(tessera_check(kSharded, Bytes(kSharded) - 2, nullptr, nullptr, nullptr),
            TESSERA_RUNTIME_ERROR);
}

// Collects the status of each call and the text of its error.
class Errors {
 public:
  void Add(const std::string& call, tessera_status status) {
    EXPECT_NE(status, TESSERA_OK) << call;
    text_ += "== " + call + "\n" + std::to_string(status) + ": " + tessera_last_error();
    if (text_.back() != '\n') text_ += '\n';
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

TEST(C, ErrorsOfLoading) {
  Errors errors;
  tessera_program p = 77;
  const auto load = [&](const std::string& text, const char* mesh = nullptr) {
    return tessera_load(text.data(), static_cast<int64_t>(text.size()), mesh, nullptr, nullptr, &p);
  };
  const auto mesh = [&](const char* axes) {
    errors.Add(std::string("mesh ") + axes, load(kSharded, axes));
  };
  errors.Add("null text", tessera_load(nullptr, 5, nullptr, nullptr, nullptr, &p));
  errors.Add("negative size", tessera_load(kDouble, -1, nullptr, nullptr, nullptr, &p));
  errors.Add("null program", tessera_load(kDouble, 5, nullptr, nullptr, nullptr, nullptr));
  errors.Add("no text", load(""));
  errors.Add("a size that is too small", tessera_load(kDouble, 100, nullptr, nullptr, nullptr, &p));
  errors.Add("no module", load("hello"));
  errors.Add("zero bytes", load(std::string(8, '\0')));
  errors.Add("unsupported operations", load(R"(module @m {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = other.thing %arg0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
})"));
  const auto edited = [&](std::string from, const std::string& to) {
    std::string text = kSharded;
    errors.Add("not " + from + " but " + to, load(text.replace(text.find(from), from.size(), to)));
  };
  edited("[{\"x\"}, {}]", "[]");
  edited("[{\"x\"}]>}) {", "[{}, {\"x\"}]>}) {");
  mesh("y=4");
  mesh("x");
  mesh("x=0");
  mesh("x=4,x=2");
  const auto option = [&](const char* settings, const char* modes) {
    errors.Add(settings ? settings : modes,
               tessera_load(kSharded, Bytes(kSharded), nullptr, settings, modes, &p));
  };
  option("%arg0", nullptr);
  option("%arg7=[{\"x\"}]", nullptr);
  option("%arg0=[{\"x\"}]", nullptr);
  option("%arg0=[{\"z\"}, {}]", nullptr);
  option(nullptr, "manual");
  option(nullptr, "explicit");
  errors.Add("null path", tessera_load_file(nullptr, nullptr, nullptr, nullptr, &p));
  errors.Add("no file", tessera_load_file("no_such.mlir", nullptr, nullptr, nullptr, &p));
  errors.Add("a folder", tessera_load_file(".", nullptr, nullptr, nullptr, &p));
  errors.Add("check null", tessera_check(nullptr, 0, nullptr, nullptr, nullptr));
  errors.Add("check negative", tessera_check(kDouble, -9, nullptr, nullptr, nullptr));
  EXPECT_EQ(p, 77u) << "an error has written";
  ExpectGolden("load_errors.txt", errors.text());
}

TEST(C, MutatedTextsAreProgramsOrErrors) {
  constexpr const char* kTokens[] = {"%0", "<@mesh, [{\"x\"}]>", "tensor<4xf32>", "(", "}", "-1",
                                     "x4"};
  std::mt19937 engine(1);
  int refused = 0;
  for (int64_t k = 0; k < FuzzCount(300); ++k) {
    const std::string text = Mutated(kSharded, kTokens, engine);
    tessera_program p = 0;
    const tessera_status status = tessera_load(text.data(), static_cast<int64_t>(text.size()),
                                               k % 2 ? "x=2" : nullptr, nullptr, nullptr, &p);
    ASSERT_NE(status, TESSERA_INTERNAL_ERROR) << tessera_last_error() << "\n" << text;
    if (status == TESSERA_OK) {
      char* report = nullptr;
      ASSERT_NE(tessera_report(p, &report), TESSERA_INTERNAL_ERROR) << tessera_last_error();
      tessera_free(report);
      EXPECT_EQ(tessera_close(p), TESSERA_OK);
      continue;
    }
    ++refused;
    EXPECT_EQ(p, 0u);
    EXPECT_GT(std::strlen(tessera_last_error()), 20u) << text;
  }
  EXPECT_GT(refused, 100);
}

TEST(C, ErrorsOfHandles) {
  Errors errors;
  tessera_program closed = 0;
  ASSERT_EQ(tessera_load(kDouble, Bytes(kDouble), nullptr, nullptr, nullptr, &closed), TESSERA_OK);
  ASSERT_EQ(tessera_close(closed), TESSERA_OK);
  int64_t count = 5, dims[8];
  tessera_dtype dtype = 0;
  int32_t rank = 0;
  char* text = nullptr;
  tessera_costs costs;
  tessera_array array = 0;
  tessera_buffer buffer = {};
  const auto calls = [&](const char* kind, tessera_program p) {
    const auto add = [&](const char* function, tessera_status status) {
      EXPECT_EQ(status, TESSERA_ARGUMENT_ERROR);
      errors.Add(std::string(function) + " of " + kind, status);
    };
    add("count", tessera_count(p, TESSERA_INPUTS, &count));
    add("type", tessera_type(p, TESSERA_INPUTS, 0, &text));
    add("shape", tessera_shape(p, TESSERA_INPUTS, 0, &dtype, &rank, dims, 8));
    add("input_name", tessera_input_name(p, 0, &text));
    add("propagate", tessera_propagate(p, nullptr, &text));
    add("explain", tessera_explain(p, "%0", nullptr, &text));
    add("report", tessera_report(p, &text));
    add("comm", tessera_comm(p, &text));
    add("costs", tessera_costs_of(p, &costs, sizeof costs));
    add("lower", tessera_lower(p, nullptr, &text));
    add("html", tessera_html(p, nullptr, &text));
    add("run", tessera_run(p, nullptr, 0, nullptr, 0));
    add("close", tessera_close(p));
    add("array_buffer", tessera_array_buffer(p, &buffer));
    add("release", tessera_release(p));
  };
  calls("a null handle", 0);
  calls("no handle", std::numeric_limits<tessera_program>::max());
  const Loaded program(kDouble);
  const std::vector<float> x(6, 2);
  const tessera_buffer input = BufferOf(x, kDims, TESSERA_F32);
  ASSERT_EQ(tessera_run(program, &input, 1, &array, 1), TESSERA_OK);
  EXPECT_EQ(tessera_close(array), TESSERA_ARGUMENT_ERROR) << "an array is no program";
  EXPECT_EQ(tessera_release(program), TESSERA_ARGUMENT_ERROR) << "a program is no array";
  EXPECT_EQ(tessera_release(array), TESSERA_OK);
  EXPECT_EQ(tessera_release(array), TESSERA_ARGUMENT_ERROR) << "it is released already";
  EXPECT_EQ(tessera_close(closed), TESSERA_ARGUMENT_ERROR) << "it is closed already";
  EXPECT_EQ(tessera_last_error(), "tessera_close: the handle " + std::to_string(closed) +
                                      " is closed, or not of a program");
  EXPECT_EQ(count, 5) << "an error has written";
  ExpectGolden("handle_errors.txt", errors.text());
}

TEST(C, ErrorsOfReports) {
  Errors errors;
  const Loaded p(kSharded);
  int64_t dims[1];
  tessera_dtype dtype = 0;
  int32_t rank = 0;
  char* text = nullptr;
  tessera_costs costs;
  int64_t count = 0;
  errors.Add("count null", tessera_count(p, TESSERA_INPUTS, nullptr));
  errors.Add("count side", tessera_count(p, 2, &count));
  errors.Add("type null", tessera_type(p, TESSERA_INPUTS, 0, nullptr));
  errors.Add("type -1", tessera_type(p, TESSERA_INPUTS, -1, &text));
  errors.Add("type beyond", tessera_type(p, TESSERA_OUTPUTS, 2, &text));
  errors.Add("shape null dtype", tessera_shape(p, TESSERA_INPUTS, 0, nullptr, &rank, dims, 1));
  errors.Add("shape null rank", tessera_shape(p, TESSERA_INPUTS, 0, &dtype, nullptr, dims, 1));
  errors.Add("shape null dims", tessera_shape(p, TESSERA_INPUTS, 0, &dtype, &rank, nullptr, 1));
  errors.Add("shape capacity", tessera_shape(p, TESSERA_INPUTS, 0, &dtype, &rank, dims, 1));
  errors.Add("shape negative", tessera_shape(p, TESSERA_INPUTS, 0, &dtype, &rank, dims, -1));
  errors.Add("shape beyond", tessera_shape(p, TESSERA_INPUTS, 3, &dtype, &rank, dims, 1));
  errors.Add("input_name null", tessera_input_name(p, 0, nullptr));
  errors.Add("input_name -1", tessera_input_name(p, -1, &text));
  errors.Add("input_name beyond", tessera_input_name(p, 3, &text));
  errors.Add("propagate null", tessera_propagate(p, nullptr, nullptr));
  errors.Add("propagate strategy", tessera_propagate(p, "quickly", &text));
  errors.Add("explain null", tessera_explain(p, nullptr, nullptr, &text));
  errors.Add("explain null text", tessera_explain(p, "%0", nullptr, nullptr));
  errors.Add("explain unknown", tessera_explain(p, "h", nullptr, &text));
  errors.Add("explain unknown line", tessera_explain(p, "text:1", nullptr, &text));
  errors.Add("report null", tessera_report(p, nullptr));
  errors.Add("comm null", tessera_comm(p, nullptr));
  errors.Add("costs null", tessera_costs_of(p, nullptr, sizeof costs));
  errors.Add("costs negative", tessera_costs_of(p, &costs, -8));
  errors.Add("costs part", tessera_costs_of(p, &costs, 12));
  errors.Add("costs more", tessera_costs_of(p, &costs, sizeof costs + 8));
  errors.Add("lower null", tessera_lower(p, nullptr, nullptr));
  errors.Add("lower unknown", tessera_lower(p, "parttion", &text));
  errors.Add("html null", tessera_html(p, nullptr, nullptr));
  EXPECT_EQ(text, nullptr) << "an error has written";
  ExpectGolden("report_errors.txt", errors.text());
}

TEST(C, ErrorsOfRuns) {
  Errors errors;
  const Loaded p(kDouble);
  const std::vector<float> x(6, 1);
  const std::vector<int64_t> flat = {6}, negative = {2, -3},
                             vast = {int64_t{1} << 40, int64_t{1} << 40};
  const tessera_buffer good = BufferOf(x, kDims, TESSERA_F32);
  tessera_array result = 77;
  const auto run = [&](const char* name, const std::function<void(tessera_buffer&)>& edit) {
    tessera_buffer bad = good;
    edit(bad);
    errors.Add(name, tessera_run(p, &bad, 1, &result, 1));
  };
  errors.Add("no inputs", tessera_run(p, &good, 0, &result, 1));
  errors.Add("two inputs", tessera_run(p, &good, 2, &result, 1));
  errors.Add("negative inputs", tessera_run(p, &good, -1, &result, 1));
  errors.Add("null inputs", tessera_run(p, nullptr, 1, &result, 1));
  errors.Add("no results", tessera_run(p, &good, 1, &result, 0));
  errors.Add("null results", tessera_run(p, &good, 1, nullptr, 1));
  run("null data", [](tessera_buffer& b) { b.data = nullptr; });
  run("null dims", [](tessera_buffer& b) { b.dims = nullptr; });
  run("too few bytes", [](tessera_buffer& b) { b.bytes = 20; });
  run("too many bytes", [](tessera_buffer& b) { b.bytes = 28; });
  run("negative bytes", [](tessera_buffer& b) { b.bytes = -24; });
  run("negative rank", [](tessera_buffer& b) { b.rank = -1; });
  run("negative dim", [&](tessera_buffer& b) { b.dims = negative.data(); });
  run("dims that overflow", [&](tessera_buffer& b) { b.dims = vast.data(); });
  run("dtype 0", [](tessera_buffer& b) { b.dtype = 0; });
  run("dtype 27", [](tessera_buffer& b) { b.dtype = 27; });
  run("another shape", [&](tessera_buffer& b) { b.dims = flat.data(), b.rank = 1; });
  run("another dtype", [](tessera_buffer& b) { b.dtype = TESSERA_I32; });
  const Loaded vastly(kSharded, "x=8,y=131072");
  const std::vector<tessera_buffer> inputs(3, good);
  tessera_array results[2] = {77, 77};
  errors.Add("too many devices", tessera_run(vastly, inputs.data(), 3, results, 2));
  EXPECT_EQ(result, 77u) << "an error has written";
  errors.Add("array_buffer null", tessera_array_buffer(1, nullptr));
  ExpectGolden("run_errors.txt", errors.text());
}

}  // namespace
}  // namespace tessera::c_test
