// Parts of axes in types: heads that the devices do not divide, Explicit and Auto, with gradients,
// and every way in which a type gets to a user.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::parts_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const AxisRef kPart = SubAxis("model", 1, 4), kRest = SubAxis("model", 4, 2);

Mesh Eight(AxisMode mode = Explicit) { return make_mesh({{"model", 8, mode}}); }
std::string TypeOf(const Array& x) { return type_of(x).text(); }
Array Numbers(Shape shape, float by = 1) {
  int64_t n = 1;
  for (int64_t d : shape.dims()) n *= d;
  return sin(by * arange(n).astype(f32)).reshape(shape);
}
template <class F>
std::string Refusal(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was refused";
}

class Parts : public testing::Test {
 protected:
  void SetUp() override { SetDeviceCount(8); }
};

// ---- attention of 12 heads over 8 devices -----------------------------------------------------

constexpr int64_t kTokens = 16, kModel = 384, kHeads = 12, kSize = kModel / kHeads;
// A sum of rows over four groups of devices: three quarters leave a device, twice.
constexpr int64_t kSum = 2 * kTokens * kModel * 4 * 3 / 4;

struct Weights {
  Array q, k, v, out;
};
TESSERA_FIELDS(Weights, q, k, v, out);

Weights MakeWeights() {
  const auto make = [](float by) { return Numbers({kModel, kModel}, by) * 0.05f; };
  return {make(1.1f), make(1.2f), make(1.3f), make(1.4f)};
}

Array Attention(const Array& x, const Weights& w, AxisMode mode) {
  const auto heads = [&](const Array& weight) {
    Array h = transpose(reshape(matmul(x, weight), {kTokens, kHeads, kSize}), {1, 0, 2});
    if (current_mesh().empty() || mode == Explicit) return h;
    return with_sharding_constraint(h, P("model"));
  };
  const Array scores = matmul(heads(w.q), transpose(heads(w.k), {0, 2, 1}));
  const Array each = matmul(softmax(scores, -1), heads(w.v));
  const Array joined = reshape(transpose(each, {1, 0, 2}), {kTokens, kModel});
  if (current_mesh().empty() || mode == Auto) return matmul(joined, w.out);
  return matmul(joined, w.out, {.out_sharding = P()});
}

// Returns the value and the gradients of a scalar function, and adds the bytes that leave a device
// for each to `sent`.
template <class Lay>
std::vector<std::vector<float>> RunAttention(AxisMode mode, const Lay& lay,
                                             std::vector<int64_t>& sent) {
  const Array x = Numbers({kTokens, kModel});
  const Weights w = lay(MakeWeights());
  const auto value = jit([=](Array x, Weights w) { return Attention(x, w, mode); });
  const auto gradients =
      jit(grad<0, 1>([=](Array x, Weights w) { return sum(square(Attention(x, w, mode))); }));
  sent = {value.lower(x, w).comm().bytes(), gradients.lower(x, w).comm().bytes()};
  const auto [gx, gw] = gradients(x, w);
  std::vector<std::vector<float>> out;
  for (const Array& a : {value(x, w), gx, gw.q, gw.k, gw.v, gw.out})
    out.push_back(a.to_vector<float>());
  return out;
}

TEST_F(Parts, AttentionOfTwelveHeadsOverEightDevices) {
  std::vector<int64_t> sent;
  const auto same = [](Weights w) { return w; };
  const std::vector<std::vector<float>> want = RunAttention(Auto, same, sent);
  EXPECT_THAT(sent, ElementsAre(0, 0));
  for (AxisMode mode : {Explicit, Auto}) {
    MeshScope scope(Eight(mode));
    const auto got = RunAttention(
        mode,
        [&](Weights w) {
          if (mode == Auto) return w;
          for (Array* each : {&w.q, &w.k, &w.v}) *each = reshard(*each, P(None, kPart));
          w.out = reshard(w.out, P(kPart));
          return w;
        },
        sent);
    // The rows of the output, and in the gradient those of x, once for queries, keys and values.
    // Weights that are whole have whole gradients: from three other groups come their parts.
    const int64_t whole = mode == Auto ? 4 * (kModel * kModel / 4 * 4) * 3 : 0;
    EXPECT_THAT(sent, ElementsAre(kSum, 2 * kSum + whole)) << static_cast<int>(mode);
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_THAT(got[k], testing::Pointwise(testing::FloatNear(2e-3f), want[k])) << k;
  }
}

TEST_F(Parts, GradientsHaveTheTypesOfTheirValues) {
  MeshScope scope(Eight());
  const Array x = Numbers({4, kModel}), w = reshard(Numbers({kModel, kModel}), P(None, kPart));
  const auto heads = [&](Array a) { return reshape(matmul(x, a), {4, kHeads, kSize}); };
  EXPECT_EQ(TypeOf(heads(w)), "f32[4,12@model:(1)4,32]");
  EXPECT_EQ(TypeOf(grad([&](Array a) { return sum(square(heads(a))); })(w)),
            "f32[384,384@model:(1)4]");
  EXPECT_EQ(jit(grad([&](Array a) { return sum(square(heads(a))); })).lower(w).comm().bytes(), 0);
  // The sub-axes that a reshape makes of a whole axis join to it again.
  const auto cut = [](Array a) {
    return sum(square(reshape(a, {kHeads, kSize}, {.out_sharding = P(kPart)})));
  };
  const Array row = reshard(Numbers({kModel}), P("model"));
  EXPECT_EQ(TypeOf(grad(cut)(row)), "f32[384@model]");
  EXPECT_EQ(grad(cut)(row).to_vector<float>(), (2 * row).to_vector<float>());
}

// ---- Auto: nothing is sent to shard whole values ------------------------------------------------

TEST_F(Parts, AutoSendsNothingToCutAWeightIntoHeads) {
  MeshScope scope(Eight(Auto));
  const auto f = [](Array w) {
    Array h = reshape(w * 2, {kModel, kHeads, kSize});
    return named(with_sharding_constraint(h, P(None, "model")), "h");
  };
  const Array w = Numbers({kModel, kModel});
  const Lowered lowered = jit(f).lower(w);
  EXPECT_EQ(lowered.comm().bytes(), 0) << lowered.comm();
  const Array out = jit(f)(w);
  EXPECT_EQ(out.sharding().text(), R"(<@mesh, [{}, {"model":(1)4}, {}]>)");
  EXPECT_EQ(out.to_vector<float>(), (2 * w).to_vector<float>());
  // The dump, the explanation and both programs say the same of the value.
  const std::string place = out.sharding().text();
  EXPECT_THAT(dump_shardings(f, std::tuple(w)),
              HasSubstr("sharding_constraint f32[384,12,32] : " + place));
  EXPECT_THAT(explain(f, w, "h"),
              HasSubstr("its final sharding is " + place + ", over the part of its axes"));
  EXPECT_THAT(lowered.propagated().text(), HasSubstr("f32[384,12,32] " + place + " = reshape"));
  EXPECT_THAT(lowered.device_program().text(), HasSubstr("f32[384,3,32] = reshape"));
  // An argument enters whole, and is cut inside.
  EXPECT_THAT(dump_shardings(f, std::tuple(w)),
              HasSubstr("argument f32[384,384] : <@mesh, [{}, {}]>"));
  EXPECT_THAT(explain(f, w, "%0"),
              HasSubstr("its final sharding is <@mesh, [{}, {}]>, as an argument"));
}

// Twelve heads over eight devices are eight shards of two, or four of three: the second is more
// work.
TEST_F(Parts, AutoPadsWhereThatCostsLess) {
  MeshScope scope(Eight(Auto));
  const Array x = Numbers({kTokens, kModel});
  const Weights w = MakeWeights();
  const auto f = jit([](Array x, Weights w) { return Attention(x, w, Auto); });
  EXPECT_THAT(f.lower(x, w).device_program().text(), Not(HasSubstr("pad_to_shards")));
  const std::vector<float> want = f(x, w).to_vector<float>();
  MachineBalance dear(0.001);
  EXPECT_THAT(f.lower(x, w).device_program().text(), HasSubstr("pad_to_shards"));
  EXPECT_THAT(f(x, w).to_vector<float>(), testing::Pointwise(testing::FloatNear(1e-4f), want));
}

// A wide product that would be computed four times stays padded, next to heads that are not padded.
TEST_F(Parts, AutoChoosesForEachSize) {
  MeshScope scope(Eight(Auto));
  const auto f = [](Array x, Array w, Array wide) {
    Array heads = reshape(matmul(x, w), {kTokens, kHeads, kSize});
    heads = with_sharding_constraint(heads, P(None, "model"));
    const Array y = reshape(heads, {kTokens, kModel});
    const Array logits = with_sharding_constraint(matmul(x, wide), P(None, "model"));
    return sum(square(y)) + sum(exp(logits));
  };
  const std::string dump =
      dump_shardings(f, std::tuple(abstract_array("f32[16,384]"), abstract_array("f32[384,384]"),
                                   abstract_array("f32[384,10002]")));
  EXPECT_THAT(dump, HasSubstr(R"(f32[16,12,32] : <@mesh, [{}, {"model":(1)4}, {}]>)"));
  EXPECT_THAT(dump, HasSubstr(R"(f32[16,10002] : <@mesh, [{}, {"model"}]>)"));
}

TEST_F(Parts, PinsHoldPadding) {
  MeshScope scope(Eight(Auto));
  const auto f = [](Array x) { return with_sharding_constraint(x * 2, P("model")) * 3; };
  const Array x = Numbers({12, 4});
  const std::string dump = dump_shardings(f, std::tuple(x));
  EXPECT_THAT(dump, HasSubstr(R"({"model":(1)4})"));
  std::string padded = dump;
  for (size_t at; (at = padded.find(":(1)4")) != std::string::npos;) padded.erase(at, 5);
  for (const std::string& text : {dump, padded}) {
    PinShardings pin(text);
    EXPECT_EQ(dump_shardings(f, std::tuple(x)), text);
    EXPECT_EQ(jit(f)(x).to_vector<float>(), (x * 2 * 3).to_vector<float>());
  }
}

// Inside of loops, too, where values have no line of the program's.
TEST_F(Parts, AutoInLoopsAndBesideExplicitAxes) {
  const Array x = Numbers({12, 8});
  const auto f = [](Array x) {
    return fori_loop(
        0, 3, [](Array, Array c) { return tanh(c) * 2; }, with_sharding_constraint(x, P("model")));
  };
  const std::vector<float> want = fori_loop(
                                      0, 3, [](Array, Array c) { return tanh(c) * 2; }, x)
                                      .to_vector<float>();
  {
    MeshScope scope(Eight(Auto));
    EXPECT_EQ(jit(f)(x).to_vector<float>(), want);
    EXPECT_THAT(dump_shardings(f, x), Not(HasSubstr(R"({"model"})")));
  }
  // A part of an Explicit axis stays at the border where other axes are Auto.
  MeshScope scope(make_mesh({{"e", 4}, {"model", 2, Auto}}));
  const Array y = reshard(x, P(SubAxis("e", 1, 2)));
  const Array z = jit(f)(y);
  EXPECT_EQ(TypeOf(z), "f32[12@e:(1)2,8]");
  EXPECT_EQ(z.sharding().text(), R"(<@mesh, [{"e":(1)2, "model"}, {}]>)");
  EXPECT_EQ(z.to_vector<float>(), want);
}

// ---- Explicit: types --------------------------------------------------------------------------

TEST_F(Parts, TypesJoinSplitAndMerge) {
  MeshScope scope(Eight());
  const Array a = reshard(Numbers({12, 32}), P(kPart)), b = reshard(Numbers({32}), P(kRest));
  EXPECT_EQ(TypeOf(a + b), "f32[12@model:(1)4,32@model:(4)2]");
  EXPECT_EQ((a + b).to_vector<float>(), (Numbers({12, 32}) + Numbers({32})).to_vector<float>());
  EXPECT_EQ(TypeOf(reshape(a + b, {384})), "f32[384@model]");
  EXPECT_EQ(TypeOf(reshape(reshard(a, P(kPart)), {384})), "f32[384@model:(1)4]");
  const Array eight = reshard(arange(8), P("model"));
  const Array split = reshape(eight, {4, 2}, {.out_sharding = P(kPart, kRest)});
  EXPECT_EQ(TypeOf(split), "i32[4@model:(1)4,2@model:(4)2]");
  EXPECT_EQ(jit([](Array x) {
              return reshape(x, {4, 2}, {.out_sharding = P(kPart, kRest)});
            })
                .lower(eight)
                .comm()
                .bytes(),
            0);
  EXPECT_EQ(TypeOf(reshape(split, {8})), "i32[8@model]");
  EXPECT_EQ(reshape(split, {8}).to_vector<int>(), arange(8).to_vector<int>());
  EXPECT_EQ(ArrayType::Parse("f32[12@model:(1)4,384@model:(4)2]").text(),
            "f32[12@model:(1)4,384@model:(4)2]");
}

TEST_F(Parts, OverlappingPartsConflictAsAxesDo) {
  MeshScope scope(Eight());
  const Array part = reshard(Numbers({16, 16}), P(kPart)),
              whole = reshard(Numbers({16}), P("model"));
  EXPECT_THAT(Refusal([&] { part + whole; }), HasSubstr("add.C3"));
  EXPECT_THAT(Refusal([&] { part.T() + whole; }), HasSubstr("add.C4"));
  EXPECT_THAT(Refusal([&] { matmul(part.T(), part); }), HasSubstr("dot_general.C5"));
  // Both are parts of six devices, but no grid of the axis has both.
  MeshScope six(make_mesh({{"x", 6}}));
  const Array rows = reshard(Numbers({6, 6}), P(SubAxis("x", 1, 2)));
  EXPECT_THAT(Refusal([&] {
                rows + reshard(Numbers({6}), P(SubAxis("x", 3, 2))) +
                    reshard(Numbers({6}), P(SubAxis("x", 1, 3)));
              }),
              HasSubstr("add.C3"));
  EXPECT_THAT(Refusal([&] {
                reshard(Numbers({6, 6}), P(SubAxis("x", 1, 2), SubAxis("x", 1, 3)));
              }),
              HasSubstr("overlap"));
}

TEST_F(Parts, ValuesAreUnreducedAndReducedOverParts) {
  MeshScope scope(Eight());
  const Array a = reshard(Numbers({6, 16}), P(None, kPart)),
              b = reshard(Numbers({16, 6}), P(kPart));
  const Array sums = matmul(a, b, {.out_sharding = P().unreduced(kPart)});
  EXPECT_EQ(TypeOf(sums), "f32[6,6]{U:model:(1)4}");
  EXPECT_EQ(TypeOf(sums + sums), "f32[6,6]{U:model:(1)4}");
  const Array scale = reshard(Numbers({6}), P().reduced(kPart));
  EXPECT_EQ(TypeOf(sums * scale), "f32[6,6]{U:model:(1)4}");
  EXPECT_EQ(type_of(scale).cotangent().text(), "f32[6]{U:model:(1)4}");
  EXPECT_THAT(Refusal([&] { sums* reshard(Numbers({6}), P().reduced("model")); }),
              HasSubstr("mul.C8"));
  const Array want = matmul(Numbers({6, 16}), Numbers({16, 6}));
  for (const PartitionSpec& to : {P(), P(None, kRest), P(SubAxis("model", 1, 2))})
    EXPECT_THAT(reshard(sums, to).to_vector<float>(),
                testing::Pointwise(testing::FloatNear(1e-5f), want.to_vector<float>()));
}

TEST_F(Parts, ErrorsOfferTheLargestPartThatDivides) {
  MeshScope scope(Eight());
  const Array w = reshard(ones({kModel, kModel}), P(None, "model"));
  const auto fixes = [](auto f) -> std::vector<Fix> {
    try {
      f();
    } catch (const ShardingError& e) {
      return e.fixes();
    }
    return {};
  };
  for (const std::vector<Fix>& offered : {fixes([&] { reshape(w, {kModel, kHeads, kSize}); })}) {
    ASSERT_GE(offered.size(), 2u);
    EXPECT_EQ(offered[0].spec, P(None, kPart, None));
    // Two of the four devices have a half of the elements; the other half is sent.
    EXPECT_EQ(offered[0].bytes, kModel * kModel / 8 * 4);
    EXPECT_EQ(offered[1].operand, 0);
    EXPECT_EQ(offered[1].spec, P(None, kPart));
  }
  EXPECT_EQ(fixes([] { reshard(ones({12}), P("model")); })[0].spec, P(kPart));
  EXPECT_EQ(fixes([] { ones({12}, {.out_sharding = P("model")}); })[0].spec, P(kPart));
  EXPECT_EQ(fixes([] { slice(reshard(ones({24}), P("model")), {0}, {12}); })[0].spec, P(kPart));
  const Array rows = reshard(ones({24, 2}), P("model"));
  EXPECT_EQ(fixes([&] { rows[{Slice(0, 12)}]; })[0].spec, P(kPart, None));
}

// ---- Explicit: everything around types ----------------------------------------------------------

TEST_F(Parts, ConcreteArraysKnowTheirShards) {
  MeshScope scope(Eight());
  const Array a = reshard(arange(24).reshape({12, 2}), P(kPart));
  EXPECT_EQ(a.sharding().text(), R"(<@mesh, [{"model":(1)4}, {}]>)");
  const std::vector<Shard> shards = a.addressable_shards();
  ASSERT_EQ(shards.size(), 8u);
  for (size_t d = 0; d < 8; ++d) {
    EXPECT_THAT(shards[d].shape(), ElementsAre(3, 2));
    EXPECT_EQ(shards[d].data<int32_t>()[0], static_cast<int>(d / 2) * 6);
  }
  EXPECT_EQ(TypeOf(with_sharding_constraint(a, P(kPart))), "i32[12@model:(1)4,2]");
  EXPECT_THAT(Refusal([&] { with_sharding_constraint(a, P("model")); }),
              HasSubstr("with_sharding_constraint"));
  int traces = 0;
  const auto f = jit([&](Array x) {
    ++traces;
    return x * 2;
  });
  EXPECT_EQ(TypeOf(f(a)), "i32[12@model:(1)4,2]");
  EXPECT_EQ(TypeOf(f(reshard(a, P(SubAxis("model", 2, 4))))), "i32[12@model:(2)4,2]");
  f(a);
  EXPECT_EQ(traces, 2);
  EXPECT_EQ(TypeOf(jit([](Array x) { return x; },
                       {.in_shardings = P(kPart), .out_shardings = P(kRest)})(a)),
            "i32[12@model:(4)2,2]");
}

TEST_F(Parts, FilesAndAbstractMeshes) {
  const std::string npy = testing::TempDir() + "/parts.npy",
                    tensors = testing::TempDir() + "/parts.safetensors";
  {
    MeshScope scope(Eight());
    const Array a = reshard(arange(24).reshape({12, 2}), P(kPart));
    save_npy(npy, a);
    save_safetensors(tensors, std::map<std::string, Array>{{"a", a}});
    EXPECT_EQ(TypeOf(load_npy(npy, {.out_sharding = P(kPart)})), "i32[12@model:(1)4,2]");
    const auto loaded = load_safetensors_like(tensors, std::map<std::string, Array>{{"a", a}});
    EXPECT_EQ(TypeOf(loaded.at("a")), "i32[12@model:(1)4,2]");
    EXPECT_EQ(loaded.at("a").to_vector<int>(), arange(24).to_vector<int>());
  }
  MeshScope scope(abstract_mesh({{"model", 8}}));
  const Array heads = reshape(abstract_array("f32[384@model:(1)4]"), {12, 32});
  EXPECT_EQ(TypeOf(heads), "f32[12@model:(1)4,32]");
}

TEST_F(Parts, LanesLieOverParts) {
  MeshScope scope(Eight());
  const Array x = reshard(Numbers({12, 6}), P(kPart)), w = reshard(Numbers({6, 4}), P(None, kRest));
  const Array y =
      vmap([](Array row, Array w) { return matmul(row, w); }, {.in_dims = {0, None}})(x, w);
  EXPECT_EQ(TypeOf(y), "f32[12@model:(1)4,4@model:(4)2]");
  EXPECT_THAT(y.to_vector<float>(),
              testing::Pointwise(testing::FloatNear(1e-5f),
                                 matmul(Numbers({12, 6}), Numbers({6, 4})).to_vector<float>()));
  EXPECT_THAT(Refusal([&] {
                vmap([](Array row, Array w) { return matmul(row, w); }, {.in_dims = {0, None}})(
                    x, reshard(w, P(None, SubAxis("model", 2, 2))));
              }),
              HasSubstr("is sharded over"));
}

TEST_F(Parts, ShardMapCutsAlongParts) {
  MeshScope scope(Eight());
  const Array x = reshard(arange(24).astype(f32).reshape({12, 2}), P(kPart));
  std::vector<std::string> seen;
  const auto f = shard_map(
      [&](Array a) {
        const Array sum = psum(a, kPart);
        seen = {TypeOf(a), TypeOf(sum), TypeOf(axis_index(kPart)), TypeOf(a * axis_index("model"))};
        return std::pair(a * 2, sum);
      },
      {.in_specs = P(kPart), .out_specs = {P(kPart), P()}});
  const auto [twice, sum] = f(x);
  EXPECT_THAT(seen, ElementsAre("f32[3,2]{V:model:(1)4}", "f32[3,2]", "i32[]{V:model:(1)4}",
                                "f32[3,2]{V:model}"));
  EXPECT_EQ(TypeOf(twice), "f32[12@model:(1)4,2]");
  EXPECT_EQ(twice.to_vector<float>(), (x * 2).to_vector<float>());
  EXPECT_EQ(TypeOf(sum), "f32[3,2]");
  EXPECT_THAT(sum.to_vector<float>(), ElementsAre(36, 40, 44, 48, 52, 56));
  // A psum over the whole axis is refused, because the value varies over a part of it only.
  EXPECT_THAT(
      Refusal([&] { shard_map([](Array a) { return psum(a, "model"); }, {.out_specs = P()})(x); }),
      HasSubstr("varying over model:(1)4 but invarying over model:(4)2"));
  EXPECT_THAT(Refusal([&] { shard_map([](Array a) { return a; }, {.out_specs = P(kRest)})(x); }),
              HasSubstr("psum(result, SubAxis(\"model\", 1, 4))"));
  const auto loss = [&](Array a) {
    const auto squares =
        shard_map([](Array v) { return psum(tessera::sum(v * v), kPart); }, {.out_specs = P()});
    return squares(a);
  };
  EXPECT_EQ(TypeOf(grad(loss)(x)), "f32[12@model:(1)4,2]");
  EXPECT_EQ(grad(loss)(x).to_vector<float>(), (x * 2).to_vector<float>());
}

TEST_F(Parts, ShardMapOverAutoAxesCutsAlongParts) {
  const Array x = arange(24).astype(f32).reshape({12, 2});
  MeshScope scope(Eight(Auto));
  const auto f = shard_map([](Array a) { return psum(a, kPart); },
                           {.in_specs = P(kPart), .out_specs = P(None, kRest)});
  EXPECT_EQ(f(x).shape(), (std::vector<int64_t>{3, 4}));
  EXPECT_THAT(f(x).to_vector<float>(), ElementsAre(36, 40, 36, 40, 44, 48, 44, 48, 52, 56, 52, 56));
}

TEST_F(Parts, AxesAreHiddenAndShownInParts) {
  MeshScope scope(Eight());
  const Array x = reshard(Numbers({12, 8}), P(kPart));
  const auto f = auto_axes([](Array a) { return a * 2; }, {.out_sharding = P(None, kRest)});
  EXPECT_EQ(TypeOf(f(x)), "f32[12,8@model:(4)2]");
  EXPECT_EQ(f(x).to_vector<float>(), (x * 2).to_vector<float>());
}

// Two sub-axes that are in no common grid of the axis cannot shard one program, for any op.
TEST(PartsOfNoGrid, AreRefusedWhereAReducedOperandMeetsThem) {
  SetDeviceCount(12);
  {
    const MeshScope scope(make_mesh({{"x", 12}}));
    const Array rows = reshard(ones({24}), P(SubAxis("x", 1, 6)));
    const Array gain = reshard(ones({24}), P(None).reduced({SubAxis("x", 1, 4)}));
    EXPECT_THAT(Refusal([&] { mul(rows, gain); }), HasSubstr("shards one operand and is reduced"));
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::parts_test
