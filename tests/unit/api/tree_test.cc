// Functions of trees: maps by name, trees of the same structure, reductions, layouts, types alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/fmt.h>
#include <tessera/tessera.h>

#include <memory>
#include <sstream>

namespace tessera::tree_test {
namespace {

using testing::ElementsAre;

struct Layer {
  Array w, b;
  int heads = 1;
};
TESSERA_FIELDS(Layer, w, b, heads);
struct Momentum {
  Array w, b;
};
TESSERA_FIELDS(Momentum, w, b);
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Array> more;
};
TESSERA_FIELDS(Model, layers, more);

Model SomeModel() { return {{{1.0, 2.0, 4}, {3.0, 4.0, 8}}, {{"a", 5.0}, {"b", 6.0}}}; }

std::vector<float> Numbers(const std::vector<Array>& arrays) {
  std::vector<float> numbers;
  for (const Array& x : arrays) numbers.push_back(x.item<float>());
  return numbers;
}

TEST(TreeMap, TakesTreesWhoseArraysHaveTheSameNames) {
  const Layer p{1.0, 2.0, 4};
  const Momentum g{10.0, 20.0};
  const Layer next = tree_map([](Array a, Array b) { return a + b; }, p, g);
  EXPECT_THAT(Numbers(tree_leaves(next)), ElementsAre(11, 22));
  EXPECT_EQ(next.heads, 4) << "what is no array is that of the first tree";
  const Model m = SomeModel();
  const Model sum = tree_map([](Array a, Array b, Array c) { return a + b + c; }, m, m, m);
  EXPECT_THAT(Numbers(tree_leaves(sum)), ElementsAre(3, 6, 9, 12, 15, 18));
}

Array Negated(Array x) { return -x; }

TEST(TreeMap, TakesAnyFunction) {
  const std::vector<Array> tree{1.0, 2.0};
  EXPECT_THAT(Numbers(tree_map(Negated, tree)), ElementsAre(-1, -2));
  EXPECT_THAT(Numbers(tree_map(&Negated, tree)), ElementsAre(-1, -2));
  int calls = 0;
  auto counts = [&calls, own = std::make_unique<int>(0)](const Array& x) mutable {
    ++*own, ++calls;
    return x;
  };
  tree_map(counts, tree);
  EXPECT_EQ(calls, 2);
  const auto twice = [](auto x) { return 2 * x; };
  EXPECT_THAT(Numbers(tree_map(twice, tree)), ElementsAre(2, 4));
  EXPECT_THAT(Numbers(tree_map([](Array) { return 7.0; }, tree)), ElementsAre(7, 7));
}

TEST(TreeMap, WithPathGivesTheNameOfEachArray) {
  std::vector<std::string> paths;
  const Model m = tree_map_with_path(
      [&](const std::string& path, Array x, Array y) {
        paths.push_back(path);
        return path.ends_with(".b") ? x : x + y;
      },
      SomeModel(), SomeModel());
  EXPECT_EQ(paths, tree_names(SomeModel()));
  EXPECT_THAT(paths, ElementsAre("layers.0.w", "layers.0.b", "layers.1.w", "layers.1.b", "more.a",
                                 "more.b"));
  EXPECT_THAT(Numbers(tree_leaves(m)), ElementsAre(2, 2, 6, 4, 10, 6));
}

TEST(TreeUnflatten, IsTheInverseOfLeaves) {
  const Model m = SomeModel();
  const Model again = tree_unflatten(m, tree_leaves(m));
  EXPECT_EQ(tree_names(again), tree_names(m));
  EXPECT_THAT(Numbers(tree_leaves(again)), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(again.layers.at(1).heads, 8);
  EXPECT_EQ(tree_unflatten(Array(), {2.0}).item<float>(), 2);
}

TEST(TreeReduce, GoesInOrder) {
  const Model m = SomeModel();
  EXPECT_EQ(tree_reduce([](Array s, Array x) { return s + x; }, m, 0.0).item<float>(), 21);
  EXPECT_EQ(tree_reduce([](int64_t n, Array x) { return n + x.size(); }, m, int64_t{0}), 6);
  const auto digits = [](Array s, Array x) { return 10 * s + x; };
  EXPECT_EQ(tree_reduce(digits, m, Array(0.0)).item<float>(), 123456);
  EXPECT_EQ(tree_reduce(digits, std::vector<Array>{}, Array(3.0)).item<float>(), 3);
}

TEST(EvalShape, ReturnsTypesAndComputesNothing) {
  int calls = 0;
  const auto f = [&](Layer l, Array x) {
    debug_callback([&](Array) { ++calls; }, {x});
    return std::pair(Layer{matmul(x, l.w) + l.b, l.b.astype(f64), 2 * l.heads}, std::vector{x});
  };
  const auto [layer, xs] =
      eval_shape(f, std::tuple(Layer{ones({3, 4}), ones({4}), 5}, ones({2, 3})));
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(layer.w.is_abstract());
  EXPECT_EQ(type_of(layer.w).text(), "f32[2,4]");
  EXPECT_EQ(type_of(layer.b).text(), "f64[4]");
  EXPECT_EQ(layer.heads, 10);
  EXPECT_EQ(type_of(xs.at(0)).text(), "f32[2,3]");
  EXPECT_EQ(type_of(eval_shape([](Array x) { return x + 1; }, 2.0)).text(), "f32[]");
  EXPECT_EQ(type_of(eval_shape([](Array x) { return sum(x); }, abstract_array("f32[8]"))).text(),
            "f32[]");
}

TEST(EvalShape, WorksOnAbstractMeshesAndInTraces) {
  {
    MeshScope scope(abstract_mesh({{"x", 1024}}));
    const Array x = abstract_array("f32[2048@x,4]");
    EXPECT_EQ(type_of(eval_shape([](Array a) { return sum(a, 1); }, x)).text(), "f32[2048@x]");
  }
  const Array captured = ones({5});
  const auto f = jit([&](Array x) {
    const Array type = eval_shape([&](Array y) { return outer(y, x) * captured; }, ones({2}));
    EXPECT_TRUE(type.is_abstract());
    return zeros(Shape(type.shape())) + x;
  });
  EXPECT_THAT(f(ones({5})).shape(), ElementsAre(2, 5));
}

TEST(Reshard, LaysOutATree) {
  SetDeviceCount(4);
  {
    const Mesh mesh = make_mesh({{"x", 2}, {"y", 2}});
    MeshScope scope(mesh);
    const auto text = [](const Model& m) {
      std::vector<std::string> texts;
      for (const Array& a : tree_leaves(m)) texts.push_back(type_of(a).text());
      return texts;
    };
    const Model m{{{ones({4, 2}), ones({4}), 1}}, {{"a", ones({8})}}};
    EXPECT_THAT(text(reshard(m, P("x"))), ElementsAre("f32[4@x,2]", "f32[4@x]", "f32[8@x]"));
    const Model cut = reshard(m, {{{P("x", "y"), P("y")}}, P()});
    EXPECT_THAT(text(cut), ElementsAre("f32[4@x,2@y]", "f32[4@y]", "f32[8]"));
    const std::vector<Array> parts = reshard(std::vector{ones({4}), ones({2})}, {P("x"), P("y")});
    EXPECT_EQ(type_of(parts.at(1)).text(), "f32[2@y]");
    EXPECT_THAT(text(reshard(cut)), ElementsAre("f32[4@x,2@y]", "f32[4@y]", "f32[8]"));
    const auto inside = jit([](Model a) { return reshard(a, P(None)); });
    EXPECT_THAT(text(inside(cut)), ElementsAre("f32[4,2]", "f32[4]", "f32[8]"));
  }
  SetDeviceCount(1);
}

TEST(Reshard, BringsATreeToOtherModes) {
  SetDeviceCount(4);
  {
    const Mesh mesh = make_mesh({{"x", 4}}), automatic = make_mesh({{"x", 4, Auto}});
    Layer l;
    {
      MeshScope scope(mesh);
      l = {reshard(arange(8), P("x")), ones({3}), 2};
    }
    {
      MeshScope scope(automatic);
      const auto step = jit([](Layer p) { return sum(p.w) + sum(p.b); });
      EXPECT_THROW(step(l), ShardingError);
      l = reshard(l);
      EXPECT_EQ(step(l).item<float>(), 31);
    }
    MeshScope scope(mesh);
    l = reshard(l, {P("x"), P(), P()});
    EXPECT_EQ(type_of(l.w).text(), "i32[8@x]");
    EXPECT_THAT(l.w.to_vector<int>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  }
  SetDeviceCount(1);
}

TEST(Format, PrintsProfilesAndLoweredPrograms) {
  const auto f = jit([](Array x) { return sum(x * 2); });
  const Lowered lowered = f.lower(ones({4}));
  EXPECT_EQ(fmt::format("{}", lowered), lowered.text());
  EXPECT_THAT(lowered.text(), testing::HasSubstr("reduce_sum"));
  EXPECT_THAT(lowered.text(), testing::HasSubstr("bytes at most per device\n"));
  std::ostringstream out;
  out << lowered;
  EXPECT_EQ(out.str(), lowered.text());
  const Profile profile = lowered.profile(ones({4}));
  EXPECT_EQ(fmt::format("{}", profile), profile.text());
}

}  // namespace
}  // namespace tessera::tree_test
