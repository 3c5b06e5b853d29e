// debug_callback, print_shards and NanWatch: eagerly, compiled, in loops, through transforms.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <stdexcept>

#include "runtime/run.h"

namespace tessera::callback_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Calls `run` with a function that calls a debug_callback with its argument. Returns the sums of
// the arrays that the callback has seen.
template <class F>
std::vector<double> Seen(F run) {
  static std::vector<double> seen;
  seen.clear();
  run([](const Array& x) {
    debug_callback([](Array v) { seen.push_back(sum(v).astype(f64).item<double>()); }, {x},
                   {.ordered = true});
  });
  return seen;
}

TEST(DebugCallback, RunsEagerlyAndUnderJitOnceForEachCall) {
  const auto seen = Seen([](auto log) {
    log(ones({3}));
    auto f = jit([&](Array x) {
      log(x);
      return x * 2;
    });
    f(ones({4}));
    f(ones({4}) * 2);
  });
  EXPECT_THAT(seen, ElementsAre(3, 4, 8));
}

TEST(DebugCallback, IsKeptWhereItsOperandIsOtherwiseDeadAndWhereItRepeatsAnother) {
  const auto seen = Seen([](auto log) {
    jit([&](Array x) {
      log(exp(x * 0));
      log(exp(x * 0));
      return x;
    })(ones({4}));
  });
  EXPECT_THAT(seen, ElementsAre(4, 4));
}

TEST(DebugCallback, TakesFunctionsOfArraysOfListsAndOfNothing) {
  int calls = 0;
  const Array x = ones({2}), y = ones({3});
  auto f = jit([&](Array a, Array b) {
    debug_callback([&](Array v, const Array& w) { calls += v.size() == 2 && w.size() == 3; },
                   {a, b});
    debug_callback([&](const std::vector<Array>& all) { calls += 10 * (all.size() == 2); }, {a, b});
    debug_callback([&] { calls += 100; }, {});
    return a;
  });
  f(x, y);
  EXPECT_EQ(calls, 111);
}

TEST(DebugCallback, RunsInEachIterationInOrder) {
  const auto seen = Seen([](auto log) {
    jit([&](Array x) {
      log(x);
      x = fori_loop(
          0, 3,
          [&](Array, Array c) {
            log(c);
            return c + 1;
          },
          x);
      return while_loop([](Array c) { return c < 6; },
                        [&](Array c) {
                          log(c * 10);
                          return c + 1;
                        },
                        x);
    })(array(1.f));
  });
  EXPECT_THAT(seen, ElementsAre(1, 1, 2, 3, 40, 50));
}

TEST(DebugCallback, RunsInALoopWhoseResultsNobodyReads) {
  const auto seen = Seen([](auto log) {
    jit([&](Array x) {
      scan(
          [&](Array c, Array v) {
            log(v);
            return std::pair(c, v);
          },
          x, arange(3.0));
      return x;
    })(array(1.f));
  });
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
}

TEST(DebugCallback, RunsInTheBranchThatIsTaken) {
  const auto seen = Seen([](auto log) {
    auto f = jit([&](Array x) {
      return cond(
          x > 0,
          [&](Array v) {
            log(v);
            return v;
          },
          [&](Array v) {
            log(v * 100);
            return -v;
          },
          x);
    });
    f(array(2.f));
    f(array(-3.f));
  });
  EXPECT_THAT(seen, ElementsAre(2, -300));
}

TEST(DebugCallback, IsCalledWithValuesOnceThroughDerivatives) {
  const auto f = [](auto log) {
    return [log](Array x) {
      log(x);
      Array y = sin(x);
      log(y * 0 + 7);
      return sum(y * y);
    };
  };
  EXPECT_THAT(Seen([&](auto log) { grad(f(log))(ones({2})); }), ElementsAre(2, 14));
  EXPECT_THAT(Seen([&](auto log) { jit(grad(f(log)))(ones({2})); }), ElementsAre(2, 14));
  EXPECT_THAT(Seen([&](auto log) { value_and_grad(f(log))(ones({2})); }), ElementsAre(2, 14));
  EXPECT_THAT(Seen([&](auto log) { jvp(f(log), std::tuple(ones({2})), std::tuple(ones({2}))); }),
              ElementsAre(2, 14));
  EXPECT_THAT(Seen([&](auto log) {
                auto [y, pull] = vjp(f(log), std::tuple(ones({2})));
                pull(array(1.f));
                pull(array(2.f));
              }),
              ElementsAre(2, 14));
  EXPECT_THAT(Seen([&](auto log) { hessian(f(log))(ones({2})); }), ElementsAre(2, 14));
}

TEST(DebugCallback, OfALoopRunsOncePerIterationOfItsGradient) {
  const auto loop = [](auto log) {
    return [log](Array x) {
      return scan(
                 [log](Array c, Array v) {
                   log(v);
                   return std::pair(sin(c) * v, c);
                 },
                 x, arange(3.0))
          .first;
    };
  };
  EXPECT_THAT(Seen([&](auto log) { grad(loop(log))(array(1.f)); }), ElementsAre(0, 1, 2));
  EXPECT_THAT(Seen([&](auto log) { jit(grad(loop(log)))(array(1.f)); }), ElementsAre(0, 1, 2));
}

TEST(DebugCallback, IsNotRepeatedByCheckpoints) {
  const auto f = [](auto log) {
    return [log](Array x) {
      return sum(checkpoint([log](Array v) {
        log(v);
        Array y = sin(v);
        // A value that the second computation needs comes out of a loop with a callback in it.
        y = fori_loop(
            0, 2,
            [log](Array i, Array c) {
              log(i * 10);
              return sin(c);
            },
            y);
        return sin(y);
      })(x));
    };
  };
  EXPECT_THAT(Seen([&](auto log) { grad(f(log))(ones({2})); }), ElementsAre(2, 0, 10));
  EXPECT_THAT(Seen([&](auto log) { jit(grad(f(log)))(ones({2})); }), ElementsAre(2, 0, 10));
}

TEST(DebugCallback, OfFunctionsWithRulesRunsInTheRule) {
  const auto f = [](auto log) {
    return custom_vjp(
        [log](Array x) {
          log(x);
          return sin(x);
        },
        [log](Array x) {
          log(x * 10);
          return std::pair(sin(x), x);
        },
        [log](Array x, Array ct) {
          log(ct * 100);
          return cos(x) * ct;
        });
  };
  EXPECT_THAT(Seen([&](auto log) { f(log)(array(1.f)); }), ElementsAre(1));
  EXPECT_THAT(Seen([&](auto log) { grad(f(log))(array(1.f)); }), ElementsAre(10, 100));
}

TEST(DebugCallback, IsCalledForEachLaneOfAMap) {
  SetDeviceCount(4);
  EXPECT_THAT(Seen([](auto log) {
                vmap([&](Array x) {
                  log(x);
                  return x;
                })(arange(6.0).reshape({3, 2}));
              }),
              ElementsAre(1, 5, 9));
  EXPECT_THAT(Seen([](auto log) {
                jit(vmap(vmap([&](Array x) {
                  log(x);
                  return x;
                })))(arange(4.0).reshape({2, 2}));
              }),
              ElementsAre(0, 1, 2, 3));
  // A value that all batch elements share is seen once.
  EXPECT_THAT(Seen([](auto log) {
                vmap([&](Array x) {
                  log(ones({5}));
                  return x;
                })(ones({3}));
              }),
              ElementsAre(5));
  // The condition of a loop is computed a second time to know which lanes are done.
  EXPECT_THAT(Seen([](auto log) {
                vmap([&](Array n) {
                  return while_loop(
                      [&](Array c) {
                        log(c);
                        return c < n;
                      },
                      [](Array c) { return c + 1; }, n * 0);
                })(array({1.f, 2.f}));
              }),
              ElementsAre(0, 0, 1, 1, 1, 2));
  MeshScope scope(make_mesh({{"x", 4}}));
  EXPECT_THAT(Seen([](auto log) {
                const Array x = reshard(arange(16.0).reshape({8, 2}), P("x", None));
                jit(vmap([&](Array v) {
                  log(v);
                  return v;
                }))(x);
              }),
              ElementsAre(1, 5, 9, 13, 17, 21, 25, 29));
}

TEST(DebugCallback, GetsArraysThatLieAsTheValuesDo) {
  SetDeviceCount(4);
  std::string seen;
  std::vector<double> values;
  const auto look = [&](Array x) {
    seen = type_of(x).text();
    values = x.astype(f64).to_vector<double>();
  };
  const auto f = jit([&](Array x) {
    Array y = x * 2;
    debug_callback(look, {y});
    return y;
  });
  {
    MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
    f(reshard(arange(8.0).reshape({4, 2}), P("x", "y")));
    EXPECT_EQ(seen, "f32[4@x,2@y]");
    EXPECT_THAT(values, ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
    // Partial sums are one value.
    jit([&](Array x) {
      Array y = matmul(x.T(), x, {.out_sharding = P(None, None).unreduced("x")});
      debug_callback(look, {y});
      return reshard(y, P());
    })(reshard(arange(8.0).reshape({4, 2}), P("x", None)));
    EXPECT_EQ(seen, "f32[2,2]{U:x}");
    EXPECT_THAT(values, ElementsAre(56, 68, 68, 84));
  }
  MeshScope scope(make_mesh({{"x", 4}}, {.mode = AxisMode::Auto}));
  const auto lies = [](Array x) { return with_sharding_constraint(x, P("x")); };
  jit([&](Array x) { return f(lies(x)); })(arange(8.0));
  EXPECT_EQ(seen, "f32[8@x]");
  EXPECT_THAT(values, ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  // A dim of 6 over 4 devices is padded inside of a program; a callback gets it whole.
  jit([&](Array x) {
    Array y = lies(slice(x, {0}, {6}));
    debug_callback(look, {y});
    return sum(y);
  })(arange(8.0));
  EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(DebugCallback, SeesCopiesOnSeveralWorkersAndDevices) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  runtime::ForceParallel(true);
  SetWorkerCount(2);
  std::vector<Array> kept;
  auto f = jit([&](Array x) {
    return fori_loop(
        0, 4,
        [&](Array, Array c) {
          Array total = reshard(sum(c), P());
          debug_callback([&](Array v) { kept.push_back(v); }, {total}, {.ordered = true});
          return c + 1;
        },
        x);
  });
  f(reshard(zeros({8}), P("x")));
  std::vector<double> values;
  for (const Array& x : kept) values.push_back(x.astype(f64).item<double>());
  EXPECT_THAT(values, ElementsAre(0, 8, 16, 24));
  SetWorkerCount(0);
  runtime::ForceParallel(false);
}

TEST(DebugCallback, MayUseArraysAndJit) {
  double seen = 0;
  jit([&](Array x) {
    debug_callback(
        [&](Array v) { seen = jit([](Array w) { return sum(w * w); })(v).item<float>(); }, {x});
    return x;
  })(arange(4.0));
  EXPECT_EQ(seen, 14);
}

TEST(DebugCallback, WhatItThrowsComesToTheCaller) {
  auto f = jit([](Array x) {
    debug_callback(
        [](Array v) {
          if (v.item<float>() > 1) throw std::runtime_error("too large");
        },
        {x});
    return x + 1;
  });
  EXPECT_EQ(f(array(0.f)).item<float>(), 1);
  try {
    f(array(2.f));
    FAIL();
  } catch (const RuntimeError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the callback threw an exception: too large"));
    EXPECT_THROW(std::rethrow_if_nested(e), std::runtime_error);
  }
  EXPECT_EQ(f(array(1.f)).item<float>(), 2);
}

TEST(DebugCallback, IsSkippedWhereThereAreTypesAlone) {
  MeshScope scope(abstract_mesh({{"x", 4}}));
  int calls = 0;
  debug_callback([&](Array) { ++calls; }, {ones({4})});
  EXPECT_EQ(calls, 0);
}

TEST(DebugCallback, StandsInProgramTextAndIsReadBack) {
  const auto f = [](Array x) {
    debug_callback([](Array) {}, {x});
    return x;
  };
  const Program program = jit(f).trace(ones({2}));
  EXPECT_THAT(program.text(), HasSubstr("\n  debug_callback %0 {function="));
  EXPECT_EQ(Program::Parse(program.text()).text(), program.text());
}

TEST(PrintShards, PrintsWheneverTheProgramGetsThere) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  testing::internal::CaptureStdout();
  jit([](Array x) {
    return fori_loop(
        0, 2,
        [](Array, Array c) {
          print_shards(c);
          return c + 1;
        },
        x);
  })(reshard(arange(4.0), P("x")));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "device 0 [0:2]\ndevice 1 [2:4]\ndevice 0 [0:2]\ndevice 1 [2:4]\n");
}

// ---- NanWatch -----------------------------------------------------------------------------------

std::string Found(const std::function<void()>& program, NanWatchOptions options = {}) {
  NanWatch watch(options);
  try {
    program();
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(NanWatch, NamesOpLineAndElement) {
  const Array x = array({1.f, 0.f, -1.f});
  const int line = __LINE__ + 1;
  const std::string found = Found([&] { log(x); });
  EXPECT_THAT(found, HasSubstr("RuntimeError in log [NanWatch]"));
  EXPECT_THAT(found, HasSubstr("element [2] of its result f32[3] is nan"));
  EXPECT_THAT(found, HasSubstr("callback_test.cc:" + std::to_string(line)));
  EXPECT_THAT(Found([&] { log(abs(x)); }), HasSubstr("element [1] of its result f32[3] is -inf"));
  EXPECT_EQ(Found([&] { log(abs(x)); }, {.infinities = false}), "nothing");
  EXPECT_EQ(Found([&] { exp(x); }), "nothing");
}

TEST(NanWatch, SaysNothingOfWhatIsGivenOrWritten) {
  const Array bad = array({1.f, NAN, INFINITY});
  EXPECT_EQ(Found([&] { bad * 2; }), "nothing");
  EXPECT_EQ(Found([&] { where(array({true, false}), 0.f, -INFINITY); }), "nothing");
  // A NaN of infinities alone is made.
  EXPECT_THAT(Found([&] { array({INFINITY}) - array({INFINITY}); }), HasSubstr("in sub"));
}

TEST(NanWatch, SaysNothingOfDraws) {
  const Array key = random::key(0);
  EXPECT_EQ(Found([&] {
              random::normal(key, {100});
              random::exponential(key, {100});
              grad([&](Array a) { return sum(random::gamma(key, a)); })(linspace(0.1, 20, 100));
            }),
            "nothing");
}

TEST(NanWatch, FindsTheFirstOfACompiledProgramAndOnlyWhileItLives) {
  auto f = jit([](Array x) { return sqrt(log(x) * 2) + 1; });
  f(zeros({2}));
  EXPECT_THAT(Found([&] { f(zeros({2})); }), HasSubstr("in log"));
  EXPECT_THAT(Found([&] { f(zeros({2})); }, {.infinities = false}), HasSubstr("in sqrt"));
  f(zeros({2}));
  for (DType t : {f16, bf16, f64})
    EXPECT_THAT(Found([&] { f(zeros({2}, t)); }), HasSubstr("in log")) << t.name();
}

TEST(NanWatch, SaysDeviceAndGlobalIndex) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = reshard(arange(8.0) - 5, P("x"));
  EXPECT_THAT(Found([&] { jit([](Array v) { return 1 / v; })(x); }),
              HasSubstr("element [5] of its result f32[8@x] is inf, on device 2"));
}

TEST(NanWatch, SaysTheIterationOfLoops) {
  const auto f = jit([](Array x) {
    return fori_loop(
        0, 5, [](Array, Array c) { return sqrt(c) - 1; }, x);
  });
  const std::string found = Found([&] { f(array(4.f)); });
  EXPECT_THAT(found, HasSubstr("in sqrt"));
  EXPECT_THAT(found, HasSubstr("in iteration 3 of the loop"));
}

// A lane that does not take a branch computes it nevertheless.
TEST(NanWatch, SaysNothingOfBranchesThatALaneDoesNotTake) {
  SetDeviceCount(2);
  const auto f = [](Array w) {
    return [w](Array x) {
      return cond(
          x > 0,
          [&](Array x) {
            return cond(
                x > 1, [&](Array x) { return sum(w / (x - 0.5f)) + log(x - 0.5f); },
                [&](Array x) { return sum(w) * log(x) / x; }, x);
          },
          [&](Array x) { return x - sum(w); }, x);
    };
  };
  const auto singular = [](Array x) {
    return cond(
        x > 1, [](Array x) { return log(1 - x); }, [](Array x) { return x; }, x);
  };
  const Array w = array({2.0f, 3.0f});
  const auto loss = [&](Array w, Array x) { return sum(vmap(f(w))(x)); };
  for (const bool meshed : {false, true}) {
    MeshScope mesh(make_mesh({{"x", 2}}));
    const Array x = array({0.0f, 0.5f, 2.0f, 1.0f}), lanes = meshed ? reshard(x, P("x")) : x;
    EXPECT_EQ(Found([&] { jit(vmap(f(w)))(lanes); }), "nothing");
    EXPECT_EQ(Found([&] { jit(grad<0, 1>(loss))(w, lanes); }), "nothing");
    EXPECT_EQ(Found([&] { jvp([&](Array x) { return loss(w, x); }, lanes, lanes); }), "nothing");
    const std::string found = Found([&] { jit(vmap(singular))(lanes); });
    EXPECT_THAT(found, HasSubstr("in log [NanWatch]"));
    EXPECT_THAT(found, HasSubstr("element [2]"));
  }
  SetDeviceCount(1);
}

// Newton's method for log(y) = 1: a start of 0 or less makes NaNs.
Array SolvedFrom(const Array& start) {
  return while_loop([](Array y) { return abs(log(y) - 1) > 1e-3f; },
                    [](Array y) { return y * (2 - log(y)); }, start);
}

TEST(NanWatch, SaysNothingOfLoopsInBranchesThatALaneDoesNotTake) {
  SetDeviceCount(2);
  const auto f = [](Array x) {
    return cond(
        x > 0, [](Array x) { return SolvedFrom(x); }, [](Array x) { return x; }, x);
  };
  // All lanes take as many steps.
  const auto counted = [](Array x) {
    return cond(
        x > 0,
        [](Array x) {
          using Carry = std::vector<Array>;
          return while_loop([](Carry c) { return c[0] < 3; },
                            [](Carry c) {
                              return Carry{c[0] + 1, sqrt(c[1])};
                            },
                            Carry{array(0), x})[1];
        },
        [](Array x) { return x; }, x);
  };
  const auto scanned = [](Array x) {
    return cond(
        x > 0,
        [](Array x) {
          return fori_loop(
              0, 3, [](Array, Array y) { return sqrt(y); }, x);
        },
        [](Array x) { return x; }, x);
  };
  for (const bool meshed : {false, true}) {
    MeshScope mesh(make_mesh({{"x", 2}}));
    const Array x = array({-1.0f, 0.5f, 2.0f, 0.0f}), lanes = meshed ? reshard(x, P("x")) : x;
    EXPECT_EQ(Found([&] { jit(vmap(f))(lanes); }), "nothing");
    EXPECT_EQ(Found([&] { jvp(vmap(f), lanes, lanes); }), "nothing");
    EXPECT_EQ(Found([&] { jit(vmap(counted))(lanes); }), "nothing");
    EXPECT_EQ(Found([&] { jit(vmap(scanned))(lanes); }), "nothing");
    const std::string found = Found([&] { jit(vmap(SolvedFrom))(lanes); });
    EXPECT_THAT(found, HasSubstr("in log [NanWatch]"));
    EXPECT_THAT(found, HasSubstr("element [0]"));
  }
  SetDeviceCount(1);
}

// A lane that is done computes the body nevertheless while others run.
TEST(NanWatch, SaysNothingOfLanesWhoseLoopIsDone) {
  const auto f = [](Array x) {
    return while_loop([](Array y) { return y > 0; }, [](Array y) { return log(y); }, x);
  };
  EXPECT_EQ(Found([&] { jit(vmap(f))(array({-1.0f, 2.0f, 1e30f})); }), "nothing");
}

TEST(NanWatch, LooksIntoDerivativesMapsAndCheckpoints) {
  const auto root = [](Array x) { return sum(sqrt(x)); };
  EXPECT_THAT(Found([&] { grad(root)(zeros({2})); }), HasSubstr("is inf"));
  EXPECT_THAT(Found([&] { jit(grad(root))(zeros({2})); }), HasSubstr("is inf"));
  EXPECT_THAT(Found([&] { vmap([](Array x) { return log(x); })(arange(3.0)); }),
              HasSubstr("element [0] of its result f32[3] is -inf"));
  EXPECT_THAT(
      Found([&] {
        jit([](Array x) { return checkpoint([](Array v) { return log(v); })(x); })(zeros({2}));
      }),
      HasSubstr("in log"));
}

}  // namespace
}  // namespace tessera::callback_test
