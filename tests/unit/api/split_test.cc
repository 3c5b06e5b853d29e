// How work and memory are split over devices. Compares the work and memory of one device with
// formulas and with Auto versions of the same programs.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>

namespace tessera::split_test {
namespace {

// Returns the work per device relative to a perfect split.
double Excess(const Lowered& lowered) {
  return static_cast<double>(lowered.flops()) / static_cast<double>(lowered.split_flops());
}

TEST(Split, WorkOnOperandsShardedAlikeIsSplitWhateverItSends) {
  MeshScope scope(abstract_mesh({{"X", 8}}));
  auto product = jit([](Array a, Array b) { return matmul(a, b, {.out_sharding = P()}); });
  Array a = abstract_array("f32[32768,8192@X]"), b = abstract_array("f32[8192@X,8192]");
  Lowered lowered = product.lower(a, b);
  EXPECT_EQ(lowered.flops(), int64_t{2} * 32768 * 8192 * 1024);
  EXPECT_EQ(lowered.split_flops(), lowered.flops());
  EXPECT_EQ(lowered.comm().count(CommKind::kAllReduce, "X"), 1);
  EXPECT_THAT(lowered.comm().text(),
              testing::HasSubstr(
                  "549755813888 FLOPs on each device, 1.00 times the work of a perfect split"));
}

// Summing k by parts sends 64 MiB twice, gathering it first 14 KiB: each device then computes all.
TEST(Split, NarrowContractionsAreSplitToo) {
  MeshScope scope(abstract_mesh({{"X", 8}}));
  auto product = jit([](Array a, Array b) { return matmul(a, b, {.out_sharding = P()}); });
  Lowered lowered =
      product.lower(abstract_array("f32[4096,16@X]"), abstract_array("f32[16@X,4096]"));
  EXPECT_DOUBLE_EQ(Excess(lowered), 1);
}

// One side of k is sharded: cut the other and add up, or gather and compute everything everywhere.
TEST(Split, TheMachineBalanceDecidesBetweenBytesAndWork) {
  MeshScope scope(abstract_mesh({{"X", 8}}));
  auto product = jit([](Array a, Array b) { return matmul(a, b, {.out_sharding = P()}); });
  Array a = abstract_array("f32[32768,8192@X]"), b = abstract_array("f32[8192,32768]");
  Lowered weighed = product.lower(a, b);
  EXPECT_DOUBLE_EQ(Excess(weighed), 1);
  EXPECT_EQ(weighed.comm().count(CommKind::kAllReduce), 1);
  MachineBalance bytes_alone(INFINITY);
  Lowered least = product.lower(a, b);
  EXPECT_DOUBLE_EQ(Excess(least), 8);
  EXPECT_EQ(least.comm().count(CommKind::kAllGather), 1);
  EXPECT_LT(least.comm().bytes(), weighed.comm().bytes());
}

TEST(Split, TheMachineBalanceIsPartOfWhatIsCompiled) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"X", 2}}));
  auto product = jit([](Array a, Array b) { return matmul(a, b, {.out_sharding = P()}); });
  Array a = ones({4, 4}, {.out_sharding = P(None, "X")}), b = ones({4, 4});
  EXPECT_EQ(product(a, b).to_vector<float>(), std::vector<float>(16, 4));
  EXPECT_EQ(product.retraces(), 0);
  MachineBalance costly(1e-6);
  EXPECT_EQ(product(a, b).to_vector<float>(), std::vector<float>(16, 4));
  EXPECT_EQ(product.retraces(), 1);
}

// ---- programs at real sizes, Explicit and Auto ----

struct Machine {
  int64_t data, model;
};
const Machine kMachines[] = {{2, 4}, {32, 8}, {512, 8}};  // 8, 256 and 4096 devices

// The same program over Explicit axes, with types and out_shardings, or over Auto axes, with
// constraints.
class Version {
 public:
  Version(bool is_explicit, Machine m)
      : explicit_(is_explicit),
        scope_(abstract_mesh({{"data", m.data}, {"model", m.model}},
                             {.mode = is_explicit ? AxisMode::Explicit : AxisMode::Auto})) {}
  Array Given(const char* type) const {
    std::string text;
    for (const char* c = type; *c; ++c) {
      if (*c != '@' || explicit_) {
        text += *c;
        continue;
      }
      while (*c != ',' && *c != ']') ++c;
      text += *c;
    }
    return abstract_array(text);
  }
  // Returns the argument of an Auto version with its sharding.
  Array At(const Array& x, PartitionSpec spec) const {
    return explicit_ ? x : with_sharding_constraint(x, spec);
  }
  DotOptions Out(PartitionSpec spec) const {
    return explicit_ ? DotOptions{.out_sharding = std::move(spec)} : DotOptions{};
  }

 private:
  bool explicit_;
  MeshScope scope_;
};

Array Causal(const Array& scores) {
  int64_t s = scores.shape().back();
  return where(iota({s, s}, 1) <= iota({s, s}, 0), scores, -1e9f);
}

Lowered LowerMlp(bool is_explicit, Machine m) {
  Version v(is_explicit, m);
  auto f = jit([&](Array x, Array up, Array down, Array bias) {
    x = v.At(x, P("data"));
    Array h = relu(matmul(x, v.At(up, P(None, "model"))) + bias);
    return x + matmul(h, v.At(down, P("model")), v.Out(P("data", None)));
  });
  return f.lower(v.Given("f32[65536@data,8192]"), v.Given("f32[8192,32768@model]"),
                 v.Given("f32[32768@model,8192]"), v.Given("f32[32768@model]"));
}

Lowered LowerAttention(bool is_explicit, Machine m) {
  Version v(is_explicit, m);
  auto f = jit([&](Array q, Array k, Array u) {
    for (Array* x : {&q, &k, &u}) *x = v.At(*x, P("data", "model"));
    Array scores = Causal(einsum("bhqd,bhkd->bhqk", {q, k}) * 0.125f);
    return einsum("bhqk,bhkd->bhqd", {softmax(scores), u});
  });
  Array q = v.Given("bf16[512@data,64@model,2048,128]");
  return f.lower(q, q, q);
}

// Rotary positions: pairs of elements turn by angles that grow with the position.
Array Rotated(const Array& x) {
  int64_t s = x.shape()[1], half = x.shape()[3] / 2;
  Array angle = iota({s, half}, 0, {.dtype = f32}) *
                exp(iota({s, half}, 1, {.dtype = f32}) * (-9.21f / half));
  Array c = expand_dims(cos(angle), 1).astype(x.dtype()),
        n = expand_dims(sin(angle), 1).astype(x.dtype());
  std::vector<Array> parts = split(x, 2, 3);
  return concatenate({parts[0] * c - parts[1] * n, parts[1] * c + parts[0] * n}, 3);
}

Array Normed(const Array& x, const Array& scale) {
  return x * rsqrt(mean(square(x), -1, {.keepdims = true}) + 1e-5f) * scale;
}

// A layer of Llama 70B: 64 heads of 128, 8 of them with keys and values; 28672 hidden.
Lowered LowerLayer(bool is_explicit, Machine m) {
  Version v(is_explicit, m);
  PartitionSpec columns = P(None, "model"), rows = P("model", None);
  OutOptions heads;
  if (is_explicit) heads.out_sharding = P("data", None, "model", None);
  auto f = jit([&](Array x, Array scale, Array wq, Array wk, Array wv, Array wo, Array gate,
                   Array up, Array down) {
    x = v.At(x, P("data"));
    int64_t b = x.shape()[0], s = x.shape()[1];
    Array h = Normed(x, scale);
    Array q = Rotated(reshape(matmul(h, v.At(wq, columns)), {b, s, 64, 128}));
    Array k = Rotated(reshape(matmul(h, v.At(wk, columns)), {b, s, 8, 128}));
    Array u = reshape(matmul(h, v.At(wv, columns)), {b, s, 8, 128});
    k = repeat(k, 8, 2, heads);
    u = repeat(u, 8, 2, heads);
    Array scores = Causal(einsum("bqhd,bkhd->bhqk", {q, k}) * 0.088f);
    Array mixed = einsum("bhqk,bkhd->bqhd", {softmax(scores), u});
    x = x + matmul(reshape(mixed, {b, s, 8192}), v.At(wo, rows), v.Out(P("data", None, None)));
    h = Normed(x, scale);
    Array inner = silu(matmul(h, v.At(gate, columns))) * matmul(h, v.At(up, columns));
    return x + matmul(inner, v.At(down, rows), v.Out(P("data", None, None)));
  });
  const char* wk = "bf16[8192,1024@model]";
  return f.lower(v.Given("bf16[512@data,4096,8192]"), v.Given("bf16[8192]"),
                 v.Given("bf16[8192,8192@model]"), v.Given(wk), v.Given(wk),
                 v.Given("bf16[8192@model,8192]"), v.Given("bf16[8192,28672@model]"),
                 v.Given("bf16[8192,28672@model]"), v.Given("bf16[28672@model,8192]"));
}

struct Case {
  const char* name;
  Lowered (*lower)(bool, Machine);
  double products;  // FLOPs of its products, on all devices together
};
constexpr double kTokens = 512 * 4096.0;
const Case kCases[] = {
    {"MLP", LowerMlp, 2 * 2 * 65536.0 * 8192 * 32768},
    {"attention", LowerAttention, 2 * 2 * 512.0 * 64 * 2048 * 2048 * 128},
    {"70B layer", LowerLayer,
     2 * kTokens * 8192 * (2 * 8192 + 2 * 1024 + 3 * 28672) + 2 * 2 * kTokens * 4096 * 8192}};

TEST(Split, NoWorkIsDoneTwiceAtRealSizes) {
  for (const Case& c : kCases)
    for (Machine m : kMachines)
      for (bool is_explicit : {true, false}) {
        SCOPED_TRACE(testing::Message() << c.name << " on " << m.data << " x " << m.model
                                        << (is_explicit ? ", Explicit" : ", Auto"));
        Lowered lowered = c.lower(is_explicit, m);
        auto flops = static_cast<double>(lowered.flops());
        double products = c.products / static_cast<double>(m.data * m.model);
        EXPECT_LE(flops, 1.02 * static_cast<double>(lowered.split_flops()));
        EXPECT_GE(flops, products);
        EXPECT_LE(flops, (c.name == std::string("attention") ? 1.1 : 1.02) * products);
      }
}

TEST(Split, ExplicitVersionsNeedNoMoreMemoryThanAutoOnes) {
  for (const Case& c : kCases)
    for (Machine m : kMachines) {
      SCOPED_TRACE(testing::Message() << c.name << " on " << m.data << " x " << m.model);
      Lowered typed = c.lower(true, m), propagated = c.lower(false, m);
      EXPECT_LE(static_cast<double>(typed.peak_bytes()),
                1.02 * static_cast<double>(propagated.peak_bytes()));
      EXPECT_EQ(typed.comm().bytes(), propagated.comm().bytes());
    }
}

// ---- values without operands are computed where they are needed ----

constexpr int64_t kN = 1 << 14;

Lowered LowerOf(const std::function<Array(Array)>& f) {
  MeshScope scope(abstract_mesh({{"x", 8}, {"y", 8}}));
  return jit([&](Array a) { return f(a); }).lower(abstract_array("f32[16384@x,16384@y]"));
}

struct Light {
  const char* name;
  std::function<Array(Array)> f;
};
const Light kLight[] = {
    {"where", [](Array a) { return where(arange(kN) < 5, a, 0.0f); }},
    {"where of rows",
     [](Array a) {
       return where((arange(kN) < 5).reshape({kN, 1}), a, a * 2);
     }},
    {"select_n",
     [](Array a) {
       return select_n(broadcast_to(arange(kN) < 5, {kN, kN}), {a, ones({kN, kN})});
     }},
    {"clamp",
     [](Array a) {
       return clamp(zeros({kN, kN}), a, full({kN, kN}, 2.0f));
     }},
    {"clip", [](Array a) { return clip(a, arange(kN).astype(f32) - 3, arange(kN).astype(f32)); }},
    {"causal mask", [](Array a) { return Causal(a); }},
    {"repeated rows", [](Array a) { return a + repeat(arange(kN / 4).astype(f32), 4, 0); }},
    {"padded",
     [](Array a) {
       return a + pad(zeros({kN - 2, kN}), {{1, 1, 0}, {}}, 1.0f);
     }},
    {"padded between",
     [](Array a) {
       return a + pad(ones({kN / 2, kN + 2}), {{0, 1, 1}, {-1, -1, 0}}, 0.0f);
     }},
    {"a mask of data and indices",
     [](Array a) {
       Array ids = argmax(a, 1).reshape({kN, 1});
       return where(eq(ids, iota({1, kN}, 1)), a, 0.0f);
     }},
    {"in a loop",
     [](Array a) {
       Array mask = iota({kN, kN}, 1) <= iota({kN, kN}, 0);
       return fori_loop(
           0, 10, [&](Array, Array c) { return where(mask, c * 2, 0.5f); }, a);
     }},
    {"in a branch",
     [](Array a) {
       Array mask = iota({kN, kN}, 1) <= iota({kN, kN}, 0);
       return cond(
           sum(a) > 0, [&](Array c) { return where(mask, c, 0.5f); }, [](Array c) { return c; }, a);
     }},
};

TEST(Split, WhatHasNoDataOfItsOwnIsMadeInParts) {
  for (const Light& light : kLight) {
    SCOPED_TRACE(light.name);
    Lowered lowered = LowerOf(light.f);
    // The argument, the result and at most four temporaries of the like.
    EXPECT_LE(lowered.peak_bytes(), 6 * kN * kN / 64 * 4) << lowered.device_program();
  }
}

// So is a mask of the outside in a loop whose shards are padded.
TEST(Split, MasksThatDoNotDivideAreMadeInPartsToo) {
  constexpr int64_t kOdd = kN - 3;
  MeshScope scope(abstract_mesh({{"x", 8, Auto}, {"y", 8, Auto}}));
  auto f = jit([](Array a) {
    Array mask = with_sharding_constraint(iota({kOdd, kOdd}, 1) <= iota({kOdd, kOdd}, 0), P());
    return fori_loop(
        0, 10,
        [&](Array, Array c) {
          c = with_sharding_constraint(c, P("x", "y"));
          return where(mask, c * 2, 0.5f);
        },
        with_sharding_constraint(a * 2, P("x", "y")));
  });
  Lowered lowered = f.lower(abstract_array("f32[16381,16381]"));
  std::string text = lowered.device_program().text();
  EXPECT_THAT(text, testing::HasSubstr("bool[2048,2048] = le "));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("bool[163")));  // whole, padded or not
}

// The communication of a loop does not happen if the loop does not run.
TEST(Split, LoopsThatDoNotRunSendNothing) {
  MeshScope scope(abstract_mesh({{"x", 8}}));
  for (int64_t steps : {0, 1, 2}) {
    auto f = jit([steps](Array w, Array c) {
      return fori_loop(
          0, steps, [&](Array, Array v) { return v + reshard(w, P()); }, c);
    });
    Lowered lowered = f.lower(abstract_array("f32[64@x]"), abstract_array("f32[64]"));
    EXPECT_EQ(lowered.comm().bytes(), steps == 0 ? 0 : 7 * 8 * 4) << steps;
    std::string text = lowered.device_program().text();
    EXPECT_EQ(text.find("all_gather") < text.find("scan"), steps == 2) << text;
  }
}

// Scalars that an elementwise op repeats take no memory: the argument and the result are all.
TEST(Split, RepeatedScalarsTakeNoMemory) {
  for (const Light& light :
       {Light{"where", [](Array a) { return where(a > 0, a, -1e30f); }},
        Light{"ones",
              [](Array a) {
                return a + ones({kN, kN});
              }},
        Light{"two cases", [](Array a) { return where(a > 0, 1.0f, 0.0f); }}}) {
    SCOPED_TRACE(light.name);
    Lowered lowered = LowerOf(light.f);
    EXPECT_LE(lowered.peak_bytes(), 2 * kN * kN / 64 * 4 + 64) << lowered.device_program();
  }
}

// Light values of light values, used many times and deep: lowering stays linear.
TEST(Split, LongAndSharedLightValuesLowerInLittleTime) {
  LowerOf([](Array a) {
    Array x = iota({kN, kN}, 0).astype(f32);
    for (int i = 0; i < 40; ++i) x = x * tanh(x) + x;
    return a + x;
  });
  LowerOf([](Array a) {
    Array x = iota({kN, kN}, 0).astype(f32);
    for (int i = 0; i < 4000; ++i) x = x * 1.5f;
    return a + x;
  });
}

TEST(Split, HeavyWorkOnLightValuesIsNotDoneTwice) {
  Lowered lowered = LowerOf([](Array a) {
    Array product = matmul(broadcast_to(arange(kN).astype(f32), {kN, kN}), ones({kN, kN}));
    return a + product + sum(product, {0, 1});
  });
  std::string text = lowered.device_program().text();
  EXPECT_EQ(text.find("dot_general"), text.rfind("dot_general")) << text;
}

TEST(Split, FlopsBeyondAnIntegerAreTheMostThatItHolds) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  auto product = jit([](Array a, Array b) { return matmul(a, b); });
  Lowered lowered = product.lower(abstract_array("bf16[4194304,2097152]"),
                                  abstract_array("bf16[2097152,4194304]"));
  EXPECT_EQ(lowered.flops(), INT64_MAX);
}

// Many programs in memory at once: cached facts about one are not used for another.
TEST(Split, ManyMasksOfDifferentSizes) {
  for (int64_t n = 8; n < 8 + 400 * 8; n += 8) {
    MeshScope scope(abstract_mesh({{"x", 8}}));
    auto f = jit([n](Array a) {
      return where((iota({n, n}, 1) <= iota({n, n}, 0)) & (iota({n, n}, 1) > 3), a, 0.0f);
    });
    f.lower(abstract_array("f32[" + std::to_string(n) + "@x," + std::to_string(n) + "]"));
  }
}

// Each has the values that it has on one device.
TEST(Split, WhatIsMadeInPartsIsTheSame) {
  SetDeviceCount(8);
  auto f = [](Array a) {
    Array padded = pad(full({4, 10}, 3.0f), {{1, 2, 1}, {-1, 3, 0}}, 0.5f);
    Array mask = iota({10, 12}, 1) <= iota({10, 12}, 0);
    Array looped = fori_loop(
        0, 3, [&](Array, Array c) { return where(mask, c * 2, a + 1); }, a);
    return looped + padded + repeat(arange(5).astype(f32), 2, 0).reshape({10, 1}) +
           cumsum(ones({10, 12}), 1) + sort(pad(full({10, 12}, 3.0f), {{}, {}}, 0.5f), 0);
  };
  Array a = (arange(120) % 7).astype(f32).reshape({10, 12});
  std::vector<float> whole = f(a).to_vector<float>();
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  EXPECT_EQ(jit(f)(reshard(a, P("x", "y"))).to_vector<float>(), whole);
  EXPECT_EQ(f(reshard(a, P("x", "y"))).to_vector<float>(), whole);
}

}  // namespace
}  // namespace tessera::split_test
