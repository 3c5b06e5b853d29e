// docs/wrong_gradients.md: wrong gradients of other stacks as programs that Tessera refuses. The
// document has the programs of this file and their messages. UPDATE_GOLDEN=1 writes both into it.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <string>

namespace tessera {
namespace {

const std::filesystem::path kDocument = TESSERA_SOURCE_DIR "/docs/wrong_gradients.md";

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of this file between `// program: NAME` and `// end`, without their indentation.
struct Listed {
  std::string text;
  int first_line = 0;
};
Listed ProgramOf(const std::string& name) {
  std::ifstream file(TESSERA_SOURCE_DIR "/tests/errors/wrong_gradients_test.cc");
  Listed program;
  int number = 0;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (inside && line == "  // end") break;
    if (inside) program.text += (line.empty() ? "" : line.substr(2)) + "\n";
    if (line != "  // program: " + name) continue;
    inside = true;
    program.first_line = number + 1;
  }
  return program;
}

// Returns the message with lines of the program: "step.cc:3".
std::string Shown(std::string message, int first_line) {
  static const std::regex place(R"(wrong_gradients_test\.cc:(\d+))");
  for (std::smatch m; std::regex_search(message, m, place);)
    message = m.prefix().str() + "step.cc:" + std::to_string(std::stoi(m[1]) - first_line + 1) +
              m.suffix().str();
  return message + "\n";
}

// Expects the program and its message in the document, after `<!-- NAME -->`.
void ExpectDocumented(const std::string& name, const std::string& message) {
  const Listed program = ProgramOf(name);
  ASSERT_FALSE(program.text.empty()) << name;
  const std::string wanted = "<!-- " + name + " -->\n```cpp\n" + program.text + "```\n\n```\n" +
                             Shown(message, program.first_line) + "```\n";
  std::string document = TextOf(kDocument);
  const size_t begin = document.find("<!-- " + name + " -->\n");
  ASSERT_NE(begin, document.npos) << kDocument << " lacks " << name;
  size_t end = begin;
  for (int fence = 0; fence < 4; ++fence) end = document.find("\n```", end + 1);
  end = document.find('\n', end + 1) + 1;
  if (!std::getenv("UPDATE_GOLDEN")) {
    EXPECT_EQ(document.substr(begin, end - begin), wanted);
    return;
  }
  std::ofstream(kDocument) << document.replace(begin, end - begin, wanted);
}

void ExpectRefused(const std::string& name, const std::function<void()>& program) {
  try {
    program();
    FAIL() << name << " was accepted";
  } catch (const InternalError& e) {
    FAIL() << "a fault of ours: " << e.what();
  } catch (const RuntimeError& e) {
    FAIL() << e.what();
  } catch (const Error& e) {
    ExpectDocumented(name, e.what());
  }
}

void SumOverOneOfTwoAxes() {
  // program: sum_over_one_of_two_axes
  MeshScope scope(make_mesh({{"data", 2}, {"sequence", 2}}));
  Array x = ones({4, 8, 16}, {.out_sharding = P("data", "sequence", None)});
  Array w = ones({16, 4});
  auto gradient = shard_map(
      [](Array x, Array w) {
        auto loss = [&](Array w) { return sum(square(matmul(x, w))); };
        Array own = pcast(w, {"data", "sequence"}, Variance::kVarying);  // no sum by itself
        return psum(grad(loss)(own), "data");
      },
      {.out_specs = P(None, None)});
  gradient(x, w);
  // end
}

void JoinWholeAndPartial() {
  // program: join_whole_and_partial
  MeshScope scope(make_mesh({{"model", 2}}));
  Array hidden = ones({16, 8}, {.out_sharding = P("model", None)});
  Array compressed = ones({16, 4}, {.out_sharding = P("model", None)});
  Array rotary = ones({16, 4}, {.out_sharding = P("model", None)});
  Array a = matmul(transpose(hidden), compressed, {.out_sharding = P(None, None)});
  Array b = matmul(transpose(hidden), rotary, {.out_sharding = P(None, None).unreduced("model")});
  Array gradient = concatenate({a, b}, 1);
  // end
}

void DropTheReducedResult() {
  // program: drop_the_reduced_result
  MeshScope scope(make_mesh({{"model", 2}}));
  Array w = reshard(ones({8, 4}), P(None, None).reduced("model"));
  Array x = ones({16, 8}, {.out_sharding = P("model", None)});
  Array g = grad([&](Array w) { return sum(square(matmul(x, w))); })(w);
  reshard(g, P(None, None));  // its result is dropped
  Array next = ones({8, 4}) - 0.1f * g;
  // end
}

void NormOfAPartialGradient() {
  // program: norm_of_a_partial_gradient
  MeshScope scope(make_mesh({{"model", 2}}));
  Array scale = reshard(ones({8}), P(None).reduced("model"));
  Array x = ones({16, 8}, {.out_sharding = P("model", None)});  // sequence parallel
  Array g = grad([&](Array scale) { return sum(square(x * scale)); })(scale);
  Array norm = sqrt(sum(square(g)));
  // end
}

void ReduceTwice() {
  // program: reduce_twice
  MeshScope scope(make_mesh({{"data", 2}}));
  auto product = [](Array x, Array w) { return matmul(x, w); };
  auto forward = [=](Array x, Array w) { return std::pair(product(x, w), std::pair(x, w)); };
  auto backward = [](std::pair<Array, Array> saved, Array dy) {
    auto [x, w] = saved;
    Array dw = matmul(transpose(x), dy, {.out_sharding = P(None, None)});  // reduced here
    return std::tuple(matmul(dy, transpose(w)), dw);
  };
  auto linear = custom_vjp(product, forward, backward);
  Array x = ones({16, 8}, {.out_sharding = P("data", None)});
  Array w = reshard(ones({8, 4}), P(None, None).reduced("data"));  // reduced by the optimiser
  grad([&](Array w) { return sum(linear(x, w)); })(w);
  // end
}

class WrongGradients : public ::testing::Test {
 protected:
  WrongGradients() { SetDeviceCount(4); }
  ~WrongGradients() override { SetDeviceCount(1); }
};

TEST_F(WrongGradients, AreRefusedWithTheMessagesOfTheDocument) {
  ExpectRefused("sum_over_one_of_two_axes", SumOverOneOfTwoAxes);
  ExpectRefused("join_whole_and_partial", JoinWholeAndPartial);
  ExpectRefused("drop_the_reduced_result", DropTheReducedResult);
  ExpectRefused("norm_of_a_partial_gradient", NormOfAPartialGradient);
  ExpectRefused("reduce_twice", ReduceTwice);
}

// A sum over devices changes the type, so doing it again does nothing.
TEST_F(WrongGradients, ReshardOfAReducedGradientSendsNothing) {
  MeshScope scope(make_mesh({{"data", 2}}));
  Array x = ones({16, 8}, {.out_sharding = P("data", None)});
  Array w = reshard(ones({8, 4}), P(None, None).reduced("data"));
  const auto gradient = [&](int times) {
    return [&x, times](Array w) {
      Array g = grad([&](Array w) { return sum(square(matmul(x, w))); })(w);
      for (int k = 0; k < times; ++k) g = reshard(g, P(None, None));
      return g;
    };
  };
  EXPECT_EQ(jit(gradient(2)).lower(w).comm().bytes(), jit(gradient(1)).lower(w).comm().bytes());
  EXPECT_GT(jit(gradient(1)).lower(w).comm().bytes(), 0);
  EXPECT_EQ(gradient(2)(w).to_vector<float>(), gradient(1)(w).to_vector<float>());
}

}  // namespace
}  // namespace tessera
