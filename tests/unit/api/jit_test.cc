// jit: retraces, captured arrays, donation and threads.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <string>
#include <thread>

namespace tessera::jit_test {
namespace {

using testing::ElementsAre;

struct Params {
  Array w, b;
};
TESSERA_FIELDS(Params, w, b);

// As many fields as there may be.
struct Many {
  int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20,
      f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39,
      f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52, f53, f54, f55, f56, f57, f58,
      f59, f60, f61, f62, f63;
};
TESSERA_FIELDS(Many, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17,
               f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34,
               f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51,
               f52, f53, f54, f55, f56, f57, f58, f59, f60, f61, f62, f63);
static_assert(detail::CountFields("f0, f1") == 2 && detail::CountFields("") == 0);

TEST(Tree, StructsMayHave64Fields) {
  struct Names final : detail::Visitor {
    void Leaf(Array&) override {}
    void Field(std::string_view name) override { names.emplace_back(name); }
    std::vector<std::string> names;
  } visitor;
  Many many{};
  detail::Visit(many, visitor);
  ASSERT_EQ(visitor.names.size(), 64u);
  EXPECT_EQ(visitor.names.front(), "f0");
  EXPECT_EQ(visitor.names.back(), "f63");
}

TEST(Jit, TracesOncePerKindOfCall) {
  int traces = 0;
  auto f = jit([&](Array x, int n) {
    ++traces;
    return x * n;
  });
  EXPECT_THAT(f(ones({2}), 3).to_vector<float>(), ElementsAre(3, 3));
  f(ones({2}), 3);
  EXPECT_EQ(traces, 1);
  f(ones({2}), 4);
  EXPECT_EQ(traces, 2) << "another static value";
  f(ones({3}), 4);
  EXPECT_EQ(traces, 3) << "another shape";
  {
    DefaultDtypes scope(i64, f64);
    f(ones({3}, f32), 4);
  }
  EXPECT_EQ(traces, 4) << "other default dtypes";
  auto copy = f;
  copy(ones({3}), 4);
  EXPECT_EQ(traces, 4) << "copies share the cache";
}

TEST(Jit, AgreesWithEagerCallsBitForBit) {
  auto f = [](Array x) { return softmax(tanh(x * 3.0) + exp(x), 0); };
  Array x = linspace(-2.0, 2.0, 100);
  EXPECT_EQ(jit(f)(x).to_vector<float>(), f(x).to_vector<float>());
}

TEST(Jit, TakesAndReturnsTrees) {
  auto f = jit([](const Params& p, std::vector<Array> xs, std::map<std::string, Array> named) {
    return std::tuple(Params{p.w + 1, p.b}, xs.at(1), std::optional<Array>(named.at("k")), 7);
  });
  auto [p, x, k, n] =
      f({zeros({2}), ones({1})}, {ones({1}), full({1}, 5.0)}, {{"k", full({1}, 6.0)}});
  EXPECT_THAT(p.w.to_vector<float>(), ElementsAre(1, 1));
  EXPECT_EQ(x.item<float>(), 5);
  EXPECT_EQ(k->item<float>(), 6);
  EXPECT_EQ(n, 7);
}

TEST(Jit, CapturedArraysAreConstantsOfTheTrace) {
  Array c = full({2}, 3.0);
  auto f = jit([&](Array x) { return x + c; });
  EXPECT_THAT(f(ones({2})).to_vector<float>(), ElementsAre(4, 4));
  c = full({2}, 100.0);
  EXPECT_THAT(f(ones({2})).to_vector<float>(), ElementsAre(4, 4)) << "baked in at the first call";
  EXPECT_THAT(f.trace(ones({2})).text(), testing::HasSubstr("captures(%1: f32[2])"));
}

TEST(Jit, InsideAnotherJitIsInlined) {
  auto inner = jit([](Array x) { return x * 2.0; });
  auto outer = jit([&](Array x) { return inner(x) + inner(x + 1.0); });
  EXPECT_EQ(outer(1.0).item<float>(), 6);
}

TEST(Jit, GenericFunctionsTraceNumbers) {
  auto f = jit([](auto x, auto y) { return x + y; });
  EXPECT_EQ(f(1.0, ones({})).template item<float>(), 2);
}

// A function that captures nothing has one cache for all types of arguments. Each call returns a
// tree of its own type.
TEST(Jit, OfAGenericFunctionReturnsTheTreeItIsGiven) {
  auto same = [](auto tree) { return tree; };
  const std::vector<Array> vector = jit(same)(std::vector<Array>{1, 2});
  const std::array<Array, 2> array = jit(same)(std::array<Array, 2>{1, 2});
  EXPECT_EQ(vector.at(1).item<int>(), 2);
  EXPECT_EQ(array.at(1).item<int>(), 2);
}

TEST(Jit, GenericFunctionsMayTakeAnyNumberOfArguments) {
  auto f = jit([](auto... x) { return (x + ...); });
  EXPECT_EQ(f(1.0, 2.0, 4.0).template item<float>(), 7);
  auto g = auto_axes(jit([](auto x) { return x; }), {});
  EXPECT_EQ(g(3.0).template item<float>(), 3);
}

// A pack leaves no room for the caller's line, so calls are on the transform's.
TEST(Jit, GenericFunctionsReportTheLineOfTheTransform) {
  const int line = __LINE__ + 1;
  auto f = jit([](auto x) { return x; });
  try {
    f(Array());
    ADD_FAILURE();
  } catch (const TraceError& e) {
    EXPECT_EQ(e.where(), "jit_test.cc:" + std::to_string(line));
  }
}

TEST(Jit, OutputsMayBeInputsAndConstants) {
  auto f = jit([](Array x) { return std::tuple(x, x, zeros({2}), Array(3)); });
  auto [a, b, z, n] = f(ones({2}));
  EXPECT_THAT(a.to_vector<float>(), ElementsAre(1, 1));
  EXPECT_THAT(b.to_vector<float>(), ElementsAre(1, 1));
  EXPECT_THAT(z.to_vector<float>(), ElementsAre(0, 0));
  EXPECT_EQ(n.item<int>(), 3);
}

TEST(Jit, MayBeCalledFromManyThreads) {
  SetDeviceCount(4);
  {
    Mesh mesh = make_mesh({{"x", 4}});
    auto f = jit([](Array x) { return sum(x * x) + x; });
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        MeshScope scope(mesh);
        for (int i = 0; i < 50; ++i) {
          Array x = full({8}, static_cast<double>(t), {.out_sharding = P("x")});
          auto v = f(x).to_vector<float>();
          for (float e : v) wrong[static_cast<size_t>(t)] += e != static_cast<float>(8 * t * t + t);
        }
      });
    for (std::thread& t : threads) t.join();
    EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
  }
  SetDeviceCount(1);
}

TEST(Jit, DonatedBuffersAreReused) {
  auto step = jit([](Array x) { return x + 1.0; }, {.donate = {0}});
  Array x = zeros({1 << 16});
  for (int i = 0; i < 5; ++i) x = step(x);
  EXPECT_EQ(x[0].item<float>(), 5);
}

TEST(Jit, CountsRetraces) {
  auto f = jit([n = 0](Array x, double lr) { return x * lr + n; });
  EXPECT_EQ(f.retraces(), 0);
  f(1.0, 0.5), f(2.0, 0.5);
  EXPECT_EQ(f.retraces(), 0);
  f(1.0, 0.25);
  EXPECT_EQ(f.retraces(), 1) << "another static value";
  f(ones({2}), 0.25);
  EXPECT_EQ(f.retraces(), 2) << "another type";
  f.trace(ones({3}), 0.25);
  f(ones({3}), 0.25);
  EXPECT_EQ(f.retraces(), 3) << "of .trace, whose program the call takes";
}

std::string NotesOf(const std::function<void()>& program) {
  testing::internal::CaptureStderr();
  program();
  return testing::internal::GetCapturedStderr();
}

TEST(Jit, SaysOnceThatACapturedVariableWasAssigned) {
  Array w = full({3}, 2.0), other = full({3}, 5.0);
  const auto f = jit([&](Array x) { return x * w; }, {.name = "step"});
  const auto call = [&] { f(ones({3})); };
  EXPECT_EQ(NotesOf([&] { call(), call(); }), "");
  w = other;
  const std::string note = NotesOf([&] { call(), call(); });
  EXPECT_THAT(note, testing::MatchesRegex(
                        "tessera: jit_test.cc:[0-9]+: jit\\(step\\) captures an Array by reference "
                        "that was assigned since it was traced: its program has the old value\n"
                        ".*parameter\n.*RetraceNotes\\(false\\).*\n"))
      << note;
  EXPECT_EQ(f(ones({3}))[0].item<float>(), 2);
}

TEST(Jit, SaysOnceThatACapturedNumberChanged) {
  double rate = 0.1;
  float bias = 2.5F;
  int64_t power = 3;
  int width = 7;
  const auto of_rate = jit([&](Array x) { return x * rate; }, {.name = "step"});
  const auto of_bias = jit([&](Array x) { return x + bias; });
  const auto of_power = jit(grad([&](Array x) { return sum(x * power); }));
  const auto of_width = jit([&](Array x) { return x - width; });
  const auto call = [&] { of_rate(1.0), of_bias(1.0), of_power(ones({2})), of_width(1.0); };
  EXPECT_EQ(NotesOf([&] { call(), call(); }), "");
  rate = 0.2, bias = 3, power = 4, width = 8;
  EXPECT_THAT(NotesOf([&] { of_rate(1.0), of_rate(2.0); }),
              testing::MatchesRegex(
                  "tessera: jit_test.cc:[0-9]+: jit\\(step\\) captures a number by reference that "
                  "changed from 0.1 to 0.2 since it was traced: if its program uses the number, "
                  "it has the old value\n"
                  ".*parameter.*\n.*RetraceNotes\\(false\\).*\n"));
  EXPECT_THAT(NotesOf([&] { of_bias(1.0); }), testing::HasSubstr("from 2.5 to 3 "));
  EXPECT_THAT(NotesOf([&] { of_power(ones({2})); }), testing::HasSubstr("from 3 to 4 "));
  EXPECT_THAT(NotesOf([&] { of_width(1.0); }), testing::HasSubstr("from 7 to 8 "));
}

TEST(Jit, SaysNothingOfOtherNumbers) {
  int traces = 4, unused = 5;
  double inside = 0.5;
  const auto counts = jit([&](Array x) { return x * ++traces; });
  const auto by_value = jit([inside](Array x) { return x * inside; });
  const auto reads = jit([&](Array x) { return unused > 0 ? x * 2 : x; });
  const auto call = [&] { counts(1.0), by_value(1.0), reads(1.0); };
  call();
  traces = 9, unused = 6, inside = 0.25;
  EXPECT_EQ(NotesOf(call), "");
}

struct Pair {
  Array first, second;
};

TEST(Jit, SaysSoOfFieldsAndPointers) {
  Pair p{full({3}, 2.0), full({3}, 3.0)};
  Array a = full({3}, 4.0), b = full({3}, 5.0), c = full({3}, 6.0);
  Array* pointer = &c;
  const auto f = jit([&p](Array x) { return x * p.first; });
  const auto g = jit([&a](Array x) { return x * a; });
  const auto h = jit(grad([=](Array x) { return sum(x * *pointer); }));
  f(1.0), g(1.0), h(ones({3}));
  p = {full({3}, 7.0), full({3}, 8.0)};
  a = b;
  c += 1.0;
  EXPECT_NE(NotesOf([&] { f(1.0); }), "");
  EXPECT_NE(NotesOf([&] { g(1.0); }), "");
  EXPECT_NE(NotesOf([&] { h(ones({3})); }), "");
}

TEST(Jit, SaysNothingOfOtherAssignments) {
  Array w = full({3}, 2.0);
  const Array old = w;
  Array copy = w, unused = full({3}, 3.0);
  const auto by_value = jit([w](Array x) { return x * w; });
  const auto by_reference = jit([&](Array x) { return x * w + (unused.is_given() ? 1 : 0); });
  const auto call = [&] { by_value(ones({3})), by_reference(ones({3})); };
  call();
  copy = full({3}, 9.0);
  unused = full({3}, 9.0);
  w = old;
  EXPECT_EQ(NotesOf(call), "") << "it has the same value";
  w = full({3}, 9.0);
  w = old;
  EXPECT_EQ(NotesOf(call), "") << "it has the same value again";
  w = full({3}, 9.0);
  RetraceNotes(false);
  EXPECT_EQ(NotesOf(call), "");
  RetraceNotes(true);
  EXPECT_NE(NotesOf(call), "");
  const auto fresh = jit([&](Array x) { return x * w; });
  fresh(ones({3}));
  EXPECT_EQ(NotesOf([&] { fresh(ones({3})); }), "") << "traced after the assignment";
  const auto dead = jit([&](Array x) {
    Array local = w;
    for (int i = 0; i < 3; ++i) local = local * x;
    return local;
  });
  EXPECT_EQ(NotesOf([&] { dead(ones({3})), dead(ones({3})); }), "");
}

TEST(Jit, SaysOnceThatStaticValuesRetrace) {
  auto f = [n = 0](Array x, double lr) { return x * lr + n; };
  auto train = [](auto step) {
    for (int i = 0; i < 10; ++i) step(ones({4}), 1.0 / (i + 1));
  };
  const std::string note = NotesOf([&] { train(jit(f, {.name = "step"})); });
  EXPECT_THAT(note,
              testing::MatchesRegex(
                  "tessera: jit_test.cc:[0-9]+: jit\\(step\\) has traced 3 programs after the "
                  "first; the last change: argument 1 from 0.33333[0-9]* to 0.25\n"
                  ".*make the parameter an Array.*\n.*RetraceNotes\\(false\\).*\n"))
      << note;
  RetraceNotes(false);
  EXPECT_EQ(NotesOf([&] { train(jit(f)); }), "");
  RetraceNotes(true);
  auto inside = jit([n = 0](std::pair<Array, std::vector<double>> p, std::string) {
    return p.first * p.second.at(0) + n;
  });
  EXPECT_THAT(NotesOf([&] {
                for (double v : {1.0, 2.0, 3.0, 4.5}) inside({ones({2}), {v}}, "a");
              }),
              testing::HasSubstr("argument 0[1][0] from 3 to 4.5\n"));
  auto named = jit([n = 0](std::map<std::string, Array> m) { return m.begin()->second + n; });
  EXPECT_THAT(NotesOf([&] {
                for (const char* key : {"a", "b", "c", "d"}) named({{key, ones({2})}});
              }),
              testing::HasSubstr("argument 0[\"c\"] became argument 0[\"d\"]\n"));
}

TEST(Jit, SaysWhichTypesRetraceOnlyAfterMany) {
  auto f = jit([n = 0](Array x, Array y) { return sum(x) + y + n; });
  EXPECT_EQ(NotesOf([&] {
              for (int i = 1; i <= 16; ++i) f(ones({i}), 1.0);
            }),
            "");
  EXPECT_THAT(NotesOf([&] {
                for (int i = 17; i <= 40; ++i) f(ones({i}), 1.0);
              }),
              testing::ContainsRegex("argument 0 from f32.16. to f32.17.\n.*types"));
  EXPECT_EQ(f.retraces(), 39);
}

TEST(Jit, DonatedArraysHaveTheirTypes) {
  const Array x = ones({2, 3});
  jit([](Array y) { return y + 1.0; }, {.donate = {0}})(x);
  EXPECT_EQ(type_of(x).text(), "f32[2,3]");
  EXPECT_THAT(x.shape(), testing::ElementsAre(2, 3));
  EXPECT_EQ(x.shape(-1), 3);
  EXPECT_EQ(x.dtype(), f32);
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.size(), 6);
  EXPECT_THROW(x.to_vector<float>(), TraceError);
}

// A donated buffer that somebody else still has is left as it is.
TEST(Jit, DonatedBuffersThatAreSharedAreNotReused) {
  auto step = jit([](Array x) { return x + 1.0; }, {.donate = {0}});
  Array x = full({1 << 16}, 5.0);
  const Shard shard = x.addressable_shards()[0];
  Array y = step(x);
  EXPECT_EQ(shard.data<float>()[0], 5) << "a shard holds its data";
  Array z = y.reshape({1 << 8, 1 << 8});
  step(y);
  EXPECT_EQ(z[0][0].item<float>(), 6) << "the same buffer under another shape";
  auto both = jit([](Array a) { return std::pair(a, a.reshape({1 << 8, 1 << 8})); });
  auto [a, b] = both(zeros({1 << 16}));
  step(a);
  EXPECT_EQ(b[0][0].item<float>(), 0) << "two results of one call";
  Array ones_of_constant = jit([] { return ones({1 << 16}); })();
  step(ones_of_constant);
  EXPECT_EQ(jit([] { return ones({1 << 16}); })()[0].item<float>(), 1) << "a program's constant";
}

// A function that changes nothing returns another array.
TEST(Jit, DonationLeavesWhatAFunctionReturnedUnchanged) {
  const std::vector<std::function<Array(const Array&)>> same = {
      [](const Array& x) { return x[All]; },
      [](const Array& x) {
        return x[{Slice(0, 64), Ellipsis}];
      },
      [](const Array& x) { return x.at(Ellipsis).get(); },
      [](const Array& x) { return x.at(Slice(0, 0)).set(1); },
      [](const Array& x) {
        return x.reshape({64, 64});
      },
      [](const Array& x) { return x.astype(f32); },
      [](const Array& x) {
        return reshape(x, {64, -1});
      },
      [](const Array& x) {
        return transpose(x, {0, 1});
      },
      [](const Array& x) { return moveaxis(x, 0, 0); },
      [](const Array& x) {
        return broadcast_to(x, {64, 64});
      },
      [](const Array& x) { return expand_dims(squeeze(x, Dims()), Dims()); },
      [](const Array& x) { return +x; },
      [](const Array& x) { return roll(x, 64, 0); },
      [](const Array& x) {
        return tile(x, {1, 1});
      },
      [](const Array& x) { return repeat(x, 1, 0); },
      [](const Array& x) { return diff(x, 0, {.n = 0}); },
      [](const Array& x) { return round(x, {.decimals = 60}); },
      [](const Array& x) { return concatenate({x}, 0); },
      [](const Array& x) { return sum(x, Dims()); },
      [](const Array& x) { return atleast_2d(x); },
      [](const Array& x) { return stop_gradient(x); },
      [](const Array& x) { return flip(x, Dims()); },
      [](const Array& x) {
        return pad(x, {{0, 0}, {0, 0}});
      },
      [](const Array& x) { return einsum("ij->ij", {x}); },
      [](const Array& x) { return with_sharding_constraint(x, P(None, None)); },
      [](const Array& x) { return reshard(x, P(None, None)); },
      [](const Array& x) { return jit([](Array y) { return y; })(x); },
  };
  MeshScope scope(make_mesh({{"x", 1}}));
  const auto step = jit([](Array x) { return x + 1; }, {.donate = {0}});
  for (size_t i = 0; i < same.size(); ++i) {
    SCOPED_TRACE(i);
    const Array x = full({64, 64}, 5.0);
    const Array y = same[i](x);
    EXPECT_EQ((step(x)[{3, 4}].item<float>()), 6);
    EXPECT_THROW(x.to_vector<float>(), TraceError);
    EXPECT_EQ((y[{3, 4}].item<float>()), 5);
    EXPECT_EQ((step(y)[{3, 4}].item<float>()), 6);
  }
  const auto steps = jit([](Array x) { return x + 1; }, {.donate = {0}});
  const std::vector<std::function<Array(const Array&)>> rounding = {
      [](const Array& x) { return abs(x); }, [](const Array& x) { return floor(x); },
      [](const Array& x) { return nan_to_num(x); },
      [](const Array& x) { return round(x, {.decimals = 2}); }};
  for (const auto& rounds : rounding) {
    const Array x = full({64}, 5u, {.dtype = u32}), y = rounds(x);
    steps(x);
    EXPECT_EQ(y[3].item<uint32_t>(), 5u);
  }
}

TEST(Jit, DonatedReplicasAndShardsOfAMeshAreNotReused) {
  SetDeviceCount(8);
  {
    MeshScope scope(make_mesh({{"x", 8}}));
    auto step = jit([](Array x) { return x + 1.0; }, {.donate = {0}});
    Array whole = full({1 << 12}, 5.0);
    Array parts = reshard(whole, P("x"));
    const std::vector<Shard> shards = parts.addressable_shards();
    step(parts);
    EXPECT_EQ(whole[0].item<float>(), 5) << "the slices of a replicated array are views of it";
    for (const Shard& shard : shards) EXPECT_EQ(shard.data<float>()[0], 5);
    Array moved = reshard(arange(64.0), P("x"));
    Array rolled = roll(moved, 8, 0);
    step(moved);
    EXPECT_EQ(rolled.to_vector<float>()[8], 0) << "devices have changed buffers";
  }
  SetDeviceCount(1);
}

TEST(Jit, AnArrayMayBeDonatedAndGivenOnceMore) {
  auto f = [](Array x, Array y) { return x + y * 2.0; };
  Array a = full({1 << 16}, 5.0), b = full({1 << 16}, 5.0), c = full({1 << 16}, 5.0);
  EXPECT_EQ(jit(f, {.donate = {0}})(a, a)[7].item<float>(), 15);
  EXPECT_EQ(jit(f, {.donate = {0, 1}})(b, b)[7].item<float>(), 15);
  auto g = jit([&](Array x) { return x + c; }, {.donate = {0}});
  EXPECT_EQ(g(c)[7].item<float>(), 10) << "donated, and captured";
  EXPECT_THROW(g(ones({1 << 16})), TraceError) << "what it captured is gone";
  EXPECT_THROW(a.to_vector<float>(), TraceError);
}

TEST(Jit, ReadsValuesOfShardedArraysThatAreCaptured) {
  SetDeviceCount(8);
  {
    MeshScope scope(make_mesh({{"x", 8}}));
    Array c = reshard(arange(16.0), P("x"));
    auto f = jit([&](Array x) { return x * c.to_vector<float>()[9]; });
    EXPECT_EQ(f(2.0).item<float>(), 18);
  }
  SetDeviceCount(1);
}

// The sum and its user come before the last use of the summed array.
TEST(Jit, FusedGroupsComeBeforeTheirUsers) {
  auto f = [](Array a, Array b) {
    Array y = a + b;
    Array t = cumsum(a * sum(y), 0);
    return std::pair(t, y + b);
  };
  Array a = ones({12, 6}), b = full({12, 6}, 2.f);
  auto [t, z] = jit(f)(a, b);
  EXPECT_EQ(t.to_vector<float>(), f(a, b).first.to_vector<float>());
  EXPECT_EQ(z.to_vector<float>(), std::vector<float>(72, 5));
}

// A view of a constant is a constant of another shape or dtype; or, where its elements have another
// width, a buffer.
TEST(Jit, FusesViewsOfConstants) {
  auto f = [](Array x) { return x * x + reshape(Array(2.0f), {1}); };
  EXPECT_EQ(jit(f)(ones({3})).to_vector<float>(), std::vector<float>(3, 3));
  auto bits = [](Array x) { return x * x + bitcast_convert_type(Array(1.0f), i32); };
  EXPECT_EQ(jit(bits)(ones({3}, i32)).to_vector<int32_t>(), std::vector<int32_t>(3, 0x3f800001));
  auto bytes = [](Array x) { return x * x + bitcast_convert_type(Array(1.0f), u8).astype(i32); };
  EXPECT_EQ(jit(bytes)(ones({4}, i32)).to_vector<int32_t>(), (std::vector<int32_t>{1, 1, 129, 64}));
}

}  // namespace
}  // namespace tessera::jit_test
