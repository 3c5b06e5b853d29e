// One computation gives the same numbers whether its axes are Explicit, Auto or of both modes,
// eagerly and under jit, on any mesh.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::modes_agree_test {
namespace {

// How a program lays its values out: rows over data, columns over model.
class Layout {
 public:
  virtual ~Layout() = default;
  virtual Array Place(Array x, bool rows, bool columns) const = 0;
  // A product whose contracting dims may be over model: rows over data, columns whole.
  virtual Array Product(Array a, Array b) const = 0;

 protected:
  static DimSharding On(bool cut, const char* axis) { return cut ? DimSharding(axis) : None; }
};

class AllExplicit : public Layout {
  Array Place(Array x, bool rows, bool columns) const override {
    return reshard(x, P(On(rows, "data"), On(columns, "model")));
  }
  Array Product(Array a, Array b) const override {
    return matmul(a, b, {.out_sharding = P("data", None)});
  }
};
class AllAuto : public Layout {
  Array Place(Array x, bool rows, bool columns) const override {
    return with_sharding_constraint(x, P(On(rows, "data"), On(columns, "model")));
  }
  Array Product(Array a, Array b) const override { return matmul(a, b); }
};
class ModelAuto : public Layout {
  Array Place(Array x, bool rows, bool columns) const override {
    x = reshard(x, P(On(rows, "data"), None));
    return with_sharding_constraint(x, P(None, On(columns, "model")));
  }
  Array Product(Array a, Array b) const override { return matmul(a, b); }
};
class NoMesh : public Layout {
  Array Place(Array x, bool, bool) const override { return x; }
  Array Product(Array a, Array b) const override { return matmul(a, b); }
};

// Samples in small: the layer of lesson 3, the block of lesson 6, the cosines of similarity, a
// loop.
struct Sample {
  const char* name;
  Array (*run)(const Layout& at, Array x, Array w);
};
void PrintTo(const Sample& sample, std::ostream* os) { *os << sample.name; }

const Sample kSamples[] = {
    {"layer",
     [](const Layout& at, Array x, Array w) {
       Array h = relu(matmul(at.Place(x, true, false), at.Place(w, false, true)));
       Array y = at.Product(h, reshape(w, {32, 16}));
       return y - max(y, {0});
     }},
    {"block",
     [](const Layout& at, Array x, Array w) {
       x = at.Place(x, true, false);
       Array h = relu(matmul(layer_norm(x, 1.0f, 0.0f), at.Place(w, false, true)));
       return x + at.Product(h, reshape(w, {32, 16}));
     }},
    {"cosines",
     [](const Layout& at, Array x, Array) {
       x = at.Place(x, true, true);
       Array unit = x / sqrt(sum(square(x), 1, {.keepdims = true}));
       return at.Product(unit, at.Place(unit, false, true).T());
     }},
    {"loop",
     [](const Layout& at, Array x, Array w) {
       Array square = at.Place(matmul(w, reshape(w, {32, 16})), false, false);
       auto step = [&](Array i, Array c) { return tanh(at.Product(c, square)) + 0.1f * i; };
       return fori_loop(0, 3, step, at.Place(x, true, false));
     }},
    {"moves",
     [](const Layout& at, Array x, Array w) {
       Array both = concatenate({at.Place(x, true, true), at.Place(x * 2, true, true)}, 0);
       return cumsum(at.Place(both, false, true), 0) * sum(softmax(at.Place(w, false, true), 1), 1);
     }},
};

class ModesAgree : public testing::TestWithParam<Sample> {
 protected:
  using Numbers = std::vector<float>;
  Numbers Run(const Layout& at) const {
    auto program = [&](Array x, Array w) { return GetParam().run(at, x, w); };
    Numbers eager = program(x_, w_).to_vector<float>();
    EXPECT_THAT(jit(program)(x_, w_).to_vector<float>(),
                testing::Pointwise(testing::FloatNear(1e-4F), eager))
        << "jit against eager";
    return eager;
  }
  // With axis model Auto inside of Explicit code.
  Numbers RunMixed() const {
    auto program = [&](Array x, Array w) { return GetParam().run(ModelAuto(), x, w); };
    return jit(auto_axes(program, {.axes = "model", .out_sharding = P("data", None)}))(x_, w_)
        .to_vector<float>();
  }
  Array x_ = (arange(128.0).reshape({8, 16}) % 17.0 + 1.0) / 17.0;
  Array w_ = (arange(512.0).reshape({16, 32}) % 13.0) / 13.0 - 0.5;
};

TEST_P(ModesAgree, OnEveryMesh) {
  const Numbers expected = Run(NoMesh());
  auto same = testing::Pointwise(testing::FloatNear(1e-4F), expected);
  SetDeviceCount(8);
  for (auto [data, model] : {std::pair(1, 1), {2, 4}, {4, 2}, {8, 1}}) {
    SCOPED_TRACE(testing::Message() << data << " x " << model);
    auto mesh = [&, d = data, m = model](AxisMode rows, AxisMode columns) {
      return make_mesh({{"data", d, rows}, {"model", m, columns}});
    };
    MeshScope scope(mesh(Explicit, Explicit));
    EXPECT_THAT(Run(AllExplicit()), same) << "Explicit";
    EXPECT_THAT(RunMixed(), same) << "auto_axes";
    {
      MeshScope autos(mesh(Auto, Auto));
      EXPECT_THAT(Run(AllAuto()), same) << "Auto";
    }
    MeshScope mixed(mesh(Explicit, Auto));
    EXPECT_THAT(Run(ModelAuto()), same) << "mixed";
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, ModesAgree, testing::ValuesIn(kSamples),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(AutoAxes, ArraysOfNoMeshAreCutWhereAConstraintAsks) {
  SetDeviceCount(8);
  Array x = arange(32.0).reshape({8, 4});
  MeshScope scope(make_mesh({{"data", 2, Auto}, {"model", 4, Auto}}));
  Array cut = with_sharding_constraint(x, P("data", None));
  EXPECT_EQ(cut.sharding().text(), R"(<@mesh, [{"data"}, {}]>)");
  EXPECT_EQ(cut.to_vector<float>(), x.to_vector<float>());
}

TEST(AutoAxes, APriorityOfAnAxisOfSizeOneIsNothing) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 1, Auto}, {"model", 4, Auto}}));
  Array x = with_sharding_constraint(ones({8, 4}), P(Closed("data").priority(0), "model"));
  EXPECT_EQ(x.sharding().text(), R"(<@mesh, [{}, {"model"}]>)");
}

}  // namespace
}  // namespace tessera::modes_agree_test
