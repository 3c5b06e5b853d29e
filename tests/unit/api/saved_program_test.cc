// Programs in files: they come back whole, map their arrays, and run in other processes.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "runtime/buffers.h"

namespace tessera::saved_program_test {
namespace {

using testing::ElementsAre;

std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }

struct Layer {
  Array w, b;
};
TESSERA_FIELDS(Layer, w, b);
struct Out {
  Layer layer;
  Array loss;
};
TESSERA_FIELDS(Out, layer, loss);

Out Step(Layer p, Array x) {
  const auto [loss, g] =
      value_and_grad([](Layer q, Array at) { return mean(square(matmul(at, q.w) + q.b)); })(p, x);
  return {tree_map([](Array a, Array d) { return a - 0.1f * d; }, p, g), loss};
}

Program Saved(const Program& program, const std::string& name) {
  program.save(Path(name));
  return Program::Load(Path(name));
}

TEST(SavedProgram, RunsAsTheFunctionThatWasTraced) {
  const Layer p{random::normal(random::key(0), {3, 2}), zeros({2})};
  const Array x = random::normal(random::key(1), {8, 3});
  const auto step = jit(Step);
  const Program saved = Saved(step.lower(p, x).program(), "step.program");
  EXPECT_THAT(saved.border().inputs, ElementsAre("argument 0.w", "argument 0.b", "argument 1"));
  EXPECT_THAT(saved.border().outputs,
              ElementsAre("result.layer.w", "result.layer.b", "result.loss"));
  const Out want = step(p, x), got = run_as<Out>(saved, p, x);
  EXPECT_EQ(got.loss.item<float>(), want.loss.item<float>());
  EXPECT_EQ(got.layer.w.to_vector<float>(), want.layer.w.to_vector<float>());
  EXPECT_EQ(saved.run({p.w, p.b, x})[2].item<float>(), want.loss.item<float>());
  EXPECT_EQ(saved.text(), step.trace(p, x).text());
}

TEST(SavedProgram, CapturedArraysAreMapped) {
  const Array table = arange(1000.0), flags = array({true, false});
  const auto f = jit([&](Array i) { return std::pair(table[{i}], flags); });
  const Program saved = Saved(f.trace(array({3, 999})), "captures.program");
  const auto [rows, same] = run_as<std::pair<Array, Array>>(saved, array({3, 999}));
  EXPECT_THAT(rows.to_vector<float>(), ElementsAre(3, 999));
  EXPECT_THAT(same.to_vector<bool>(), ElementsAre(true, false));
  // A copy of the constants in the arena would be seen here.
  const std::string path = Path("large.program");
  const Array large = ones({1 << 20});
  jit([&](Array x) { return sum(large * x); }).trace(ones({})).save(path);
  const int64_t before = runtime::LiveBytes();
  const Program mapped = Program::Load(path);
  EXPECT_LT(runtime::LiveBytes() - before, 1 << 20);
  EXPECT_EQ(mapped.run({array(2.0f)})[0].item<float>(), 2 << 20);
}

TEST(SavedProgram, ShardedCapturesAndMeshesComeBack) {
  SetDeviceCount(4);
  const std::string path = Path("mesh.program");
  const Mesh mesh = make_mesh({{"x", 2}, {"y", 2}}, {.device_ids = {3, 1, 0, 2}});
  {
    MeshScope scope(mesh);
    const Array w = reshard(arange(12.0).reshape({4, 3}), P("x", None));
    const Array x = reshard(ones({2, 4}), P("y", None));
    const auto f = jit([&](Array a) { return matmul(a, w, {.out_sharding = P("y", None)}); });
    f.lower(x).program().save(path);
  }
  const Program saved = Program::Load(path);
  EXPECT_EQ(saved.inputs()[0].mesh(), mesh);
  // The argument is laid out as the program's input, also from no mesh.
  const Array y = saved.run({ones({2, 4})})[0];
  EXPECT_EQ(type_of(y).text(), "f32[2@y,3]");
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(18, 22, 26, 18, 22, 26));
}

TEST(SavedProgram, OfAnAbstractMeshRunsOnDevices) {
  const std::string path = Path("abstract.program");
  {
    MeshScope scope(abstract_mesh({{"x", 4}}));
    jit([](Array x) { return x * 2; }).lower(abstract_array("f32[8@x]")).program().save(path);
  }
  SetDeviceCount(4);
  EXPECT_EQ(Program::Load(path).run({ones({8})})[0].to_vector<float>()[7], 2);
}

TEST(SavedProgram, AutoAxesAreLaidOutAgain) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4, AxisMode::Auto}}));
  const Array w = with_sharding_constraint(ones({4, 8}), P(None, "x"));
  const auto f = jit([&](Array x) { return matmul(x, w); });
  const Program saved = Saved(f.trace(ones({2, 4})), "auto.program");
  EXPECT_EQ(saved.run({ones({2, 4})})[0].to_vector<float>()[15], 4);
}

TEST(SavedProgram, DonatesAsTheFunctionDoes) {
  const auto f = jit([](Array x) { return x + 1; }, {.donate = {0}});
  const Program saved = Saved(f.trace(ones({4})), "donate.program");
  const Array x = ones({4});
  EXPECT_THAT(saved.run({x})[0].to_vector<float>(), ElementsAre(2, 2, 2, 2));
  EXPECT_THROW((void)x.to_vector<float>(), TraceError);
}

TEST(SavedProgram, IsDifferentiatedAndBatched) {
  const Program saved =
      Saved(jit([](Array x) { return sum(square(x)); }).trace(ones({3})), "smooth.program");
  const auto f = [&](Array x) { return saved.run({x})[0]; };
  EXPECT_THAT(grad(f)(ones({3})).to_vector<float>(), ElementsAre(2, 2, 2));
  EXPECT_THAT(vmap(f)(ones({2, 3})).to_vector<float>(), ElementsAre(3, 3));
}

TEST(SavedProgram, ControlFlowKeysAndNamesComeBack) {
  const auto f = jit([](Array key, Array x) {
    const auto [last, all] = scan(
        [](Array c, Array r) {
          const Array n = named(0.5f * c + r, "state");
          return std::pair(n, n);
        },
        x, random::normal(key, {4, 3}));
    return std::pair(last, all);
  });
  const Array x = ones({3});
  const Program saved = Saved(f.trace(random::key(5), x), "scan.program");
  const auto want = f(random::key(5), x);
  const auto got = run_as<std::pair<Array, Array>>(saved, random::key(5), x);
  EXPECT_EQ(got.second.to_vector<float>(), want.second.to_vector<float>());
}

TEST(SavedProgram, RunsInAnotherProcess) {
  const std::string path = Path("other.program"), result = Path("other.npy");
  const Array table = arange(64.0);
  jit([&](Array x) { return table * x; }).trace(ones({})).save(path);
  std::filesystem::remove(result);
  const pid_t child = fork();
  if (child == 0) {
    save_npy(result, Program::Load(path).run({array(3.0f)})[0]);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(load_npy(result).to_vector<float>()[63], 189);
}

TEST(SavedProgram, TextIsStillLoaded) {
  const Program program = jit([](Array x) { return x + 1; }).trace(ones({2}));
  const std::string path = Path("text.program");
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs(program.text().c_str(), file);
  std::fclose(file);
  const Program read = Program::Load(path);
  EXPECT_TRUE(read.border().inputs.empty());
  EXPECT_THAT(run_as<Array>(read, ones({2})).to_vector<float>(), ElementsAre(2, 2));
}

}  // namespace
}  // namespace tessera::saved_program_test
