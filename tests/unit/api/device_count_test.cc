// SetDeviceCount after programs were cached: arrays that only the library holds do not prevent it.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::device_count_test {
namespace {

Array Constant() { return reshard(array({1.0f, 2.0f, 3.0f, 4.0f}), P("x")); }
Array Constants() { return array({1.0f, 2.0f, 3.0f, 4.0f}, {.out_sharding = P("x")}); }

// Calls f on a mesh of four devices, sets other numbers of devices, and calls it again.
template <class F>
void ExpectSurvives(F f) {
  SetDeviceCount(4);
  const auto call = [&] {
    MeshScope scope(make_mesh({{"x", 4}}));
    return f(reshard(ones({4}), P("x"))).template to_vector<float>();
  };
  const std::vector<float> first = call(), again = call();
  EXPECT_EQ(first, again);
  SetDeviceCount(8);
  EXPECT_EQ(call(), first);
  SetDeviceCount(2);
  SetDeviceCount(4);
  EXPECT_EQ(call(), first);
  SetDeviceCount(1);
}

TEST(SetDeviceCount, IsTakenAfterAJitWithConstants) {
  ExpectSurvives(jit([](Array x) { return x + Constants(); }));
  ExpectSurvives(jit([](Array x) { return x * array({1.0f, 2.0f, 3.0f, 4.0f}); }));
  ExpectSurvives(jit([](Array x) { return x * 1.0; }));
}

TEST(SetDeviceCount, IsTakenAfterAJitThatReturnsAConstant) {
  ExpectSurvives(jit([](Array) { return array({1.0f, 2.0f}); }));
}

TEST(SetDeviceCount, IsTakenAfterTransforms) {
  ExpectSurvives(jit(grad([](Array x) { return sum(x * x * Constant()); })));
  ExpectSurvives(grad([](Array x) { return sum(x * Constant()); }));
  ExpectSurvives(jit([](Array x) {
    auto [value, pullback] = vjp([](Array y) { return y * Constant(); }, x);
    return pullback(value);
  }));
  ExpectSurvives([](Array x) {
    auto [value, pullback] = vjp([](Array y) { return y * Constants(); }, x);
    return pullback(value);
  });
  ExpectSurvives(jit([](Array x) { return jit([](Array y) { return y + Constants(); })(x); }));
  ExpectSurvives(checkpoint([](Array x) { return x + Constants(); }));
  ExpectSurvives(vmap([](Array x) { return x + array(1.5); }));
  ExpectSurvives(jit(custom_jvp([](Array x) { return x * Constants(); },
                                [](auto primals, auto tangents) {
                                  return std::pair(std::get<0>(primals) * Constants(),
                                                   std::get<0>(tangents) * Constants());
                                })));
}

TEST(SetDeviceCount, IsTakenAfterLoopsAndBranches) {
  const auto looped = [](Array x) {
    return fori_loop(
        0, 3, [](Array, Array y) { return y + Constants(); }, x);
  };
  ExpectSurvives(looped);
  ExpectSurvives(jit(looped));
  ExpectSurvives(jit([](Array x) {
    return scan([](Array c, Array s) { return std::pair(c + s * Constants(), None); }, x,
                array({1.0f, 2.0f}))
        .first;
  }));
  ExpectSurvives(jit([](Array x) {
    return cond(
        sum(x) > 1.0f, [](Array y) { return y + Constants(); }, [](Array y) { return y; }, x);
  }));
}

TEST(SetDeviceCount, IsTakenAfterShardMapAndDraws) {
  ExpectSurvives(jit([](Array x) {
    return shard_map([](Array y) { return y + array({1.0f}); }, {.out_specs = P("x")})(x);
  }));
  ExpectSurvives(jit([](Array x) { return x + random::uniform(random::key(1), {4}); }));
  ExpectSurvives([](Array x) { return x + random::uniform(random::key(1), {4}); });
  ExpectSurvives([](Array x) {
    const KeyReuseCheck check;
    return jit([](Array y) { return y + random::uniform(random::key(1), {4}); })(x);
  });
}

TEST(SetDeviceCount, IsTakenWhenACapturedArrayIsGone) {
  SetDeviceCount(4);
  {
    const Mesh mesh = make_mesh({{"x", 4}});
    Array captured;
    {
      MeshScope scope(mesh);
      captured = Constants();
    }
    const auto f = jit([&](Array x) { return x + captured; });
    const auto call = [&] {
      MeshScope scope(mesh);
      return f(1.0).to_vector<float>();
    };
    call();
    EXPECT_THROW(SetDeviceCount(2), RuntimeError);
    captured = Array();
    SetDeviceCount(2);
    SetDeviceCount(4);
    RetraceNotes(false);
    EXPECT_THAT(call(), testing::ElementsAre(2, 3, 4, 5));
    RetraceNotes(true);
  }
  SetDeviceCount(1);
}

TEST(SetDeviceCount, CountsWhatTheUserHolds) {
  SetDeviceCount(4);
  {
    Array result, kept;
    const std::string line = "device_count_test.cc:" + std::to_string(__LINE__ + 3);
    {
      MeshScope scope(make_mesh({{"x", 4}}));
      jit([&](Array x) { return x + (kept = array({1.0f, 2.0f})); })(1.0);
      result = jit([](Array) { return Constants(); })(1.0);
    }
    for (int live = 2; live > 0; --live) {
      try {
        SetDeviceCount(2);
        FAIL() << live;
      } catch (const RuntimeError& e) {
        EXPECT_THAT(e.reason(), testing::StartsWith(live == 2 ? "2 arrays are" : "an array is"));
        EXPECT_THAT(e.what(), testing::HasSubstr((live == 2 ? "the oldest" : "it") +
                                                 (" was made at " + line)));
      }
      live == 2 ? result = Array() : kept = Array();
    }
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::device_count_test
