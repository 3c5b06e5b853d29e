// The memory of a device during each step of a program, before it runs.
#include <gmock/gmock.h>
#include <tessera/memory_advice.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <numeric>

#include "compile/savings/lines_again.h"
#include "compile/savings/loops_again.h"
#include "compile/savings/sharded_inputs.h"

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
  // The result of tanh, for the derivatives of the second product and of tanh.
  std::vector<std::string> kept;
  for (const MemoryBuffer& b : memory.buffers())
    if (b.kind == MemoryKind::kKept && b.bytes == 128) {
      kept.push_back(b.op);
      EXPECT_FALSE(b.backward);
    }
  EXPECT_THAT(kept, ElementsAre("tanh"));
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

// Changes of programs that lower the peak.

// Every change that is offered lowers the peak, and the best is first.
void ExpectBetter(const MemoryAdvice& advice) {
  int64_t last = 0;
  for (const MemoryChange& c : advice.changes) {
    EXPECT_LT(c.peak_bytes, advice.peak_bytes) << advice;
    EXPECT_LE(last, c.peak_bytes) << advice;
    last = c.peak_bytes;
  }
  EXPECT_LE(advice.changes.size(), 3u);
}

TEST(MemoryAdvice, OffersToDonateWhatAResultReplaces) {
  const auto step = [](Array w, Array g) { return w - 0.1 * g; };
  const Array w = abstract_array("f32[64,64]");
  const Array g = abstract_array("f32[64,64]");
  const Lowered lowered = jit(step).lower(w, g);
  const MemoryAdvice advice = advise_memory(lowered);
  ExpectBetter(advice);
  ASSERT_EQ(advice.changes.size(), 1u) << advice;
  EXPECT_EQ(advice.changes[0].kind, MemoryChangeKind::kDonate);
  EXPECT_THAT(advice.changes[0].text, StartsWith("donate argument 0: "));
  // A step that donates has that peak, and no more advice.
  const Lowered donates = jit(step, {.donate = {0}}).lower(w, g);
  ExpectWhole(donates);
  EXPECT_EQ(donates.peak_bytes(), advice.changes[0].peak_bytes);
  EXPECT_EQ(lowered.peak_bytes() - donates.peak_bytes(), 64 * 64 * 4);
  EXPECT_THAT(advise_memory(donates).changes, testing::IsEmpty());
}

// A kernel with several results writes over no operand.
TEST(MemoryAdvice, OffersNoDonationThatSavesNothing) {
  const auto three = [](std::vector<Array> w, Array g) {
    const Array shared = 0.1 * g;
    for (Array& x : w) x = x - shared;
    return w;
  };
  const Array x = abstract_array("f32[64,64]");
  const MemoryAdvice advice = advise_memory(jit(three).lower(std::vector<Array>(3, x), x));
  EXPECT_THAT(advice.changes, testing::IsEmpty()) << advice;
}

// The final carry of the first loop is read by the second as its own slices.
Array LossOfTwoLoops(Array w, Array x, Array y) {
  const auto first = [](Array h, Array own) { return std::pair(tanh(h * own), sin(exp(h))); };
  const auto [last, slices] = scan(first, x, w);
  const auto second = [](Array h, Array one) { return std::pair(sin(h * one), None); };
  return sum(scan(second, y, last).first) + sum(slices);
}
const int kFirstLoopLine = __LINE__ - 4;

// Each layer keeps a few values of the size of x.
Array DeepLoss(Array w, Array x) {
  for (int layer = 0; layer < 4; ++layer) x = sin(exp(tanh(matmul(x, w)))) + x;
  return sum(x);
}
const int kLayerLine = __LINE__ - 3;

Array ScannedLoss(Array w, Array x) {
  const auto layer = [](Array y, Array own) {
    return std::pair(sin(exp(tanh(matmul(y, own)))) + y, None);
  };
  return sum(scan(layer, x, w).first);
}
const int kLoopLine = __LINE__ - 2;

TEST(MemoryAdvice, OffersToComputeTheIterationsOfALoopAgain) {
  const Lowered lowered =
      jit(grad(ScannedLoss)).lower(abstract_array("f32[6,8,8]"), abstract_array("f32[256,8]"));
  const MemoryAdvice advice = advise_memory(lowered);
  ExpectBetter(advice);
  ASSERT_FALSE(advice.changes.empty()) << lowered.memory();
  EXPECT_EQ(advice.changes[0].kind, MemoryChangeKind::kCheckpoint) << advice;
  EXPECT_THAT(advice.changes[0].text, "checkpoint the body of the loop");
  EXPECT_EQ(advice.changes[0].where, "memory_report_test.cc:" + std::to_string(kLoopLine));
  // As much as the user's own checkpoint saves, nearly.
  const auto kept = [](Array w, Array x) {
    const auto layer = checkpoint(
        [](Array y, Array own) { return std::pair(sin(exp(tanh(matmul(y, own)))) + y, None); });
    return sum(scan(layer, x, w).first);
  };
  const int64_t own = jit(grad(kept))
                          .lower(abstract_array("f32[6,8,8]"), abstract_array("f32[256,8]"))
                          .peak_bytes();
  EXPECT_LE(static_cast<double>(advice.changes[0].peak_bytes), 1.1 * static_cast<double>(own));
}

TEST(MemoryAdvice, OffersToShardAnArgument) {
  for (const AxisMode mode : {Auto, Explicit}) {
    MeshScope scope(abstract_mesh({{"data", 4, mode}}));
    const auto f = jit([](Array state, Array scale) { return sum(state * scale); });
    const MemoryAdvice advice =
        advise_memory(f.lower(abstract_array("f32[64,32]"), abstract_array("f32[]")));
    ExpectBetter(advice);
    ASSERT_FALSE(advice.changes.empty()) << advice;
    EXPECT_EQ(advice.changes[0].kind, MemoryChangeKind::kShard) << advice;
    EXPECT_THAT(advice.changes[0].text, StartsWith("shard argument 0 over data: dim 0"));
    EXPECT_LT(advice.changes[0].peak_bytes, advice.peak_bytes) << advice;
  }
}

// The line keeps more values than it reads.
Array WideLoss(Array w, Array v, Array x) {
  const Array h = matmul(x, w);
  const Array y = sin(exp(tanh(h))) + cos(h);
  return sum(tanh(matmul(y, v)));
}
const int kWideLine = __LINE__ - 3;

TEST(MemoryAdvice, OffersToComputeALineAgain) {
  const Lowered lowered = jit(grad(WideLoss))
                              .lower(abstract_array("f32[8,64]"), abstract_array("f32[64,8]"),
                                     abstract_array("f32[256,8]"));
  const MemoryAdvice advice = advise_memory(lowered);
  ExpectBetter(advice);
  ASSERT_FALSE(advice.changes.empty()) << lowered.memory();
  EXPECT_EQ(advice.changes[0].kind, MemoryChangeKind::kCheckpoint) << advice;
  EXPECT_EQ(advice.changes[0].where, "memory_report_test.cc:" + std::to_string(kWideLine));
  EXPECT_GT(advice.changes[0].more_flops, 0) << advice;
}

TEST(MemoryAdvice, SaysThatNothingHelps) {
  const auto f = jit([](Array x, Array w) { return matmul(x, w); });
  const MemoryAdvice advice =
      advise_memory(f.lower(abstract_array("f32[8,4]"), abstract_array("f32[4,2]")));
  EXPECT_THAT(advice.changes, testing::IsEmpty());
  EXPECT_THAT(advice.text(),
              HasSubstr(" B at most on each device; tried 0 changes: none lowers it"));
}

std::vector<Array> Ran(std::shared_ptr<const ir::Program> program, const std::vector<Array>& x) {
  return Program(std::move(program)).run(x);
}

// The changed programs compute the same.
TEST(MemoryAdvice, ChangesKeepTheResults) {
  SetDeviceCount(4);
  const Array x = random::normal(random::key(1), {16, 8});
  const auto expect_same = [](const ir::Program& program,
                              const std::shared_ptr<const ir::Program>& changed,
                              const std::vector<Array>& arguments) {
    ASSERT_NE(changed, nullptr);
    const std::vector<Array> a = Ran(std::make_shared<ir::Program>(program), arguments),
                             b = Ran(changed, arguments);
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); ++k)
      EXPECT_TRUE(all(abs(gather_to_host(a[k]) - gather_to_host(b[k])) <= 1e-6).item<bool>());
  };
  const auto name = [](int line) { return "memory_report_test.cc:" + std::to_string(line); };
  const Array w = random::normal(random::key(2), {8, 8}) / 8;
  const Program deep = jit(grad(DeepLoss)).trace(w, x);
  expect_same(*deep.program(), compile::WithLineAgain(*deep.program(), name(kLayerLine)), {w, x});
  EXPECT_EQ(compile::WithLoopAgain(*deep.program(), name(kLayerLine)), nullptr);
  const Array ws = random::normal(random::key(2), {6, 8, 8}) / 8;
  const Program looped = jit(grad(ScannedLoss)).trace(ws, x);
  expect_same(*looped.program(), compile::WithLoopAgain(*looped.program(), name(kLoopLine)),
              {ws, x});
  const Array w6 = random::normal(random::key(3), {6}), x6 = random::normal(random::key(4), {6});
  const Program two = jit(grad(LossOfTwoLoops)).trace(w6, x6, x6);
  expect_same(*two.program(), compile::WithLoopAgain(*two.program(), name(kFirstLoopLine)),
              {w6, x6, x6});
  for (const AxisMode mode : {Auto, Explicit}) {
    MeshScope scope(make_mesh({{"data", 4, mode}}));
    const Program step = jit([](Array v) { return v * 2; }).trace(reshard(x, P()));
    expect_same(
        *step.program(),
        compile::WithSharded(*step.program(), {{.input = 0, .dim = 0, .axis = 0, .results = {0}}}),
        {reshard(x, P())});
  }
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
