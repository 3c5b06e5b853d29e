// The memory of a device during each step of a program, before it runs.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <numeric>

namespace tessera::memory_report_test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

int64_t BytesAt(const MemoryReport& memory, MemoryKind kind, int64_t step) {
  return memory.bytes(kind)[static_cast<size_t>(step)];
}

// Every buffer has one kind, and the peak is the peak of the program.
void ExpectWhole(const Lowered& lowered) {
  const MemoryReport memory = lowered.memory();
  EXPECT_EQ(memory.peak_bytes(), lowered.peak_bytes());
  std::vector<int64_t> sum(memory.steps().size(), 0);
  for (const MemoryKind kind : {MemoryKind::kArgument, MemoryKind::kResult, MemoryKind::kKept,
                                MemoryKind::kTemporary, MemoryKind::kExchange}) {
    const std::vector<int64_t> bytes = memory.bytes(kind);
    for (size_t s = 0; s < sum.size(); ++s) sum[s] += bytes[s];
  }
  EXPECT_EQ(memory.bytes(), sum);
  EXPECT_EQ(memory.peak_bytes(), *std::ranges::max_element(sum));
  EXPECT_EQ(sum[static_cast<size_t>(memory.peak_step())], memory.peak_bytes());
  for (const MemoryBuffer& b : memory.buffers()) {
    EXPECT_LT(b.begin, b.end);
    EXPECT_LE(b.end, static_cast<int64_t>(memory.steps().size()));
  }
}

auto Loss() {
  return [](Array x, Array w, Array v) { return sum(matmul(tanh(matmul(x, w)), v)); };
}

TEST(Memory, IsOfArgumentsTemporariesAndResults) {
  const auto f = jit([](Array x, Array w) { return matmul(matmul(x, w), w); });
  const Lowered lowered = f.lower(abstract_array("f32[8,4]"), abstract_array("f32[4,4]"));
  ExpectWhole(lowered);
  const MemoryReport memory = lowered.memory();
  ASSERT_EQ(memory.steps().size(), 3u);
  EXPECT_EQ(memory.steps()[0].op, "start");
  EXPECT_EQ(memory.steps()[1].op, "dot_general");
  EXPECT_THAT(memory.steps()[1].where, StartsWith("memory_report_test.cc:"));
  EXPECT_THAT(memory.bytes(MemoryKind::kArgument), Each(192));
  EXPECT_THAT(memory.bytes(MemoryKind::kTemporary), ElementsAre(0, 128, 128));
  EXPECT_THAT(memory.bytes(MemoryKind::kResult), ElementsAre(0, 0, 128));
  EXPECT_EQ(memory.peak_step(), 2);
  EXPECT_EQ(memory.peak_bytes(), 448);
}

TEST(Memory, NamesWhatIsKeptForTheBackwardPass) {
  const Array x = abstract_array("f32[8,4]"), w = abstract_array("f32[4,4]"),
              v = abstract_array("f32[4,2]");
  const Lowered gradient = jit(grad<1, 2>(Loss())).lower(x, w, v);
  ExpectWhole(gradient);
  const MemoryReport memory = gradient.memory();
  // The result of tanh, for the second product's derivative, and its own derivative.
  std::vector<std::string> kept;
  for (const MemoryBuffer& b : memory.buffers())
    if (b.kind == MemoryKind::kKept && b.bytes == 128) {
      kept.push_back(b.op);
      EXPECT_FALSE(b.backward);
    }
  EXPECT_THAT(kept, ElementsAre("tanh", "mul"));
  EXPECT_THAT(memory.steps(), Contains(testing::Field(&MemoryStep::backward, true)));
  EXPECT_THAT(jit(Loss()).lower(x, w, v).memory().bytes(MemoryKind::kKept), Each(0));
}

TEST(Memory, ShowsWhatCollectivesWrite) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  const auto f = jit([](Array a) { return exp(reshard(exp(a), P(None, "x"))); });
  const Lowered lowered = f.lower(abstract_array("f32[8@x,4]"));
  ExpectWhole(lowered);
  const MemoryReport memory = lowered.memory();
  const auto received =
      std::ranges::find(memory.buffers(), MemoryKind::kExchange, &MemoryBuffer::kind);
  ASSERT_NE(received, memory.buffers().end());
  EXPECT_EQ(received->op, "all_to_all");
  EXPECT_EQ(received->type, "f32[8,2]");
  EXPECT_EQ(received->bytes, 64);
}

// A loop is one step, with the memory of its body.
TEST(Memory, CountsTheBodyOfALoopAtItsStep) {
  const auto f = jit([](Array x, Array w) {
    return fori_loop(
        0, 10, [&](Array, Array a) { return matmul(tanh(matmul(a, w)), w); }, x);
  });
  const Lowered lowered = f.lower(abstract_array("f32[8,4]"), abstract_array("f32[4,4]"));
  ExpectWhole(lowered);
  const MemoryReport memory = lowered.memory();
  std::vector<std::string> inside;
  for (const MemoryBuffer& b : memory.buffers())
    if (b.begin + 1 == b.end && b.op == "dot_general") inside.push_back(b.type);
  EXPECT_THAT(inside, Contains("f32[8,4]"));
}

TEST(Memory, TextIsOfThePeak) {
  const auto f = jit([](Array x, Array w) { return matmul(x, w); });
  const std::string text =
      f.lower(abstract_array("f32[8,4]"), abstract_array("f32[4,4]")).memory().text();
  EXPECT_THAT(text, StartsWith("320 B at most on each device, at step 1 of 1: dot_general at "
                               "memory_report_test.cc:"));
  EXPECT_THAT(text, HasSubstr("\n         192 B  arguments\n         128 B  results\n"));
}

TEST(Memory, OfAProgramWithoutSteps) {
  const Lowered lowered = jit([](Array x) { return x; }).lower(abstract_array("f32[8]"));
  ExpectWhole(lowered);
  EXPECT_EQ(BytesAt(lowered.memory(), MemoryKind::kArgument, 0), 32);
  EXPECT_EQ(MemoryReport({}, {}).peak_bytes(), 0);
}

// A collective names the ops that make and need its value.
TEST(Causes, AreTheOpsAroundACollective) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  const auto f =
      jit([](Array a, Array w) { return exp(matmul(a, w, {.out_sharding = P(None, None)})); });
  const CommReport comm =
      f.lower(abstract_array("f32[8,4@x]"), abstract_array("f32[4@x,4]")).comm();
  ASSERT_EQ(comm.events().size(), 1u);
  const CommEvent& e = comm.events()[0];
  EXPECT_EQ(e.made_by, "dot_general");
  EXPECT_EQ(e.read_by, "exp");
  EXPECT_EQ(e.made_at, e.where);
  EXPECT_EQ(e.read_at, e.where);
  EXPECT_EQ(e.change, "from=f32[8,4]{U:x}, to=f32[8,4]");
}

TEST(Causes, OfArgumentsAndResults) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  const auto f = jit([](Array, Array a) { return reshard(a, P(None, "x")); });
  const CommReport comm = f.lower(abstract_array("f32[2]"), abstract_array("f32[8@x,4]")).comm();
  ASSERT_EQ(comm.events().size(), 1u);
  EXPECT_EQ(comm.events()[0].made_by, "argument");
  EXPECT_EQ(comm.events()[0].made_at, "%1");
  EXPECT_EQ(comm.events()[0].read_by, "return");
}

}  // namespace
}  // namespace tessera::memory_report_test
