// Traces and threads: a trace belongs to one, concrete arrays to all.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <thread>

namespace tessera::threads_test {
namespace {

using testing::HasSubstr;

// Returns the message of the TraceError that f throws on a thread of its own.
std::string RefusalOnThread(const std::function<void()>& f) {
  std::string message;
  std::thread([&] {
    try {
      f();
    } catch (const TraceError& e) {
      message = e.what();
    }
  }).join();
  return message;
}

Array Twice(Array x) { return 2 * x; }

TEST(Threads, ATracedValueIsOfOneThread) {
  const std::vector<std::pair<const char*, std::function<void(Array)>>> uses = {
      {"mul", [](Array x) { x * 2; }},
      {"shape", [](Array x) { x.shape(); }},
      {"reshard", [](Array x) { reshard(x, P()); }},
      {"jit", [](Array x) { jit(Twice)(x); }},
      {"jit of a capture", [](Array x) { jit([&](Array y) { return x * y; })(ones({3})); }},
      {"returned", [](Array x) { jit([&](Array) { return x; })(ones({3})); }},
      {"grad", [](Array x) { grad([](Array y) { return sum(y); })(x); }},
      {"jvp", [](Array x) { jvp(Twice, ones({3}), x); }},
      {"vjp", [](Array x) { vjp(Twice, x); }},
      {"vmap", [](Array x) { vmap(Twice)(x); }},
      {"checkpoint", [](Array x) { checkpoint(Twice)(x); }},
      {"eval_shape", [](Array x) { eval_shape(Twice, x); }},
      {"linear_transpose", [](Array x) { linear_transpose(Twice, x); }},
      {"scan",
       [](Array x) { scan([](Array c, Array y) { return std::pair(c + y, None); }, 0.0, x); }},
      {"capture of a scan",
       [](Array x) {
         scan([&](Array c, Array y) { return std::pair(c + x * y, None); }, zeros({3}), ones({3}));
       }},
      {"cond", [](Array x) { cond(true, Twice, Twice, x); }},
      {"capture of a branch",
       [](Array x) {
         cond(
             Array(true), [&](Array y) { return x * y; }, Twice, ones({3}));
       }},
      {"while_loop", [](Array x) { while_loop([](Array y) { return all(y < 9.f); }, Twice, x); }},
      {"named", [](Array x) { named(x, "x"); }},
      {"callback", [](Array x) { debug_callback([](Array) {}, {x}); }},
      {"map", [](Array x) { tree_map(Twice, std::vector{x}); }},
  };
  const Array given = ones({3});
  jit([&](Array x) {
    for (const auto& [name, use] : uses)
      EXPECT_THAT(RefusalOnThread([&, &f = use] { f(x); }),
                  HasSubstr("is used on another thread than the one that traces it"))
          << name;
    return 2 * x;
  })(given);
}

TEST(Threads, AParallelLoopOfATraceIsRefused) {
  constexpr size_t kThreads = 4;
  const auto f = jit([](Array x) {
    std::vector<std::string> messages(kThreads);
    std::vector<Array> parts(kThreads);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        for (int n = 0; n < 100; ++n) try {
            parts[i] = x * static_cast<double>(i);
          } catch (const TraceError& e) {
            messages[i] = e.label();
          }
      });
    for (std::thread& t : threads) t.join();
    EXPECT_THAT(messages, testing::Each("mul.thread"));
    return x + 1;
  });
  EXPECT_EQ(f(ones({3}))[0].item<float>(), 2);
}

TEST(Threads, ConcreteArraysAreOfAllThreads) {
  const Array captured = full({4}, 3.0);
  std::vector<float> sums(4);
  const auto f = jit([&](Array x) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < sums.size(); ++i)
      threads.emplace_back([&, i] {
        const Array own = captured * static_cast<double>(i);
        sums[i] = jit([](Array y) { return sum(y); })(own).item<float>();
      });
    for (std::thread& t : threads) t.join();
    return x * captured;
  });
  EXPECT_EQ(f(ones({4}))[0].item<float>(), 3);
  EXPECT_THAT(sums, testing::ElementsAre(0, 12, 24, 36));
}

TEST(Threads, AValueThatEscapedSaysSoEverywhere) {
  Array escaped;
  jit([&](Array x) { return escaped = x * 2; })(ones({2}));
  EXPECT_THAT(RefusalOnThread([&] { escaped + 1; }), HasSubstr("used after its trace ended"));
}

}  // namespace
}  // namespace tessera::threads_test
