// The same models with Explicit, Auto and Manual axes: the same numbers, the same gradients, and
// the same collectives.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <tuple>

namespace tessera::manual_communication_test {
namespace {

struct Weights {
  Array up, down;
};
TESSERA_FIELDS(Weights, up, down);

// The axes that shard the rows of x and both weights.
struct Layout {
  PartitionSpec x, up, down;
};

// How a model's second product, or its sum over devices, is written.
enum class Mode { kExplicit, kAuto, kManual };

using Sent = std::vector<std::tuple<CommKind, std::vector<std::string>, int64_t, int64_t, bool>>;
Sent SentBy(const CommReport& report) {
  Sent sent;
  for (const CommEvent& e : report.events())
    sent.emplace_back(e.kind, e.axes, e.bytes, e.times, e.backward);
  std::sort(sent.begin(), sent.end());
  return sent;
}

struct Outcome {
  std::vector<std::vector<float>> numbers;
  Sent sent;
  std::string text;
};

template <class F, class... A>
Outcome Of(const F& f, const A&... arguments) {
  auto compiled = jit(f);
  Outcome outcome;
  for (const Array& x : tree_leaves(compiled(arguments...)))
    outcome.numbers.push_back(x.to_vector<float>());
  const CommReport report = compiled.lower(arguments...).comm();
  outcome.sent = SentBy(report);
  outcome.text = report.text();
  return outcome;
}

void ExpectNear(const Outcome& ours, const Outcome& theirs) {
  ASSERT_EQ(ours.numbers.size(), theirs.numbers.size());
  for (size_t i = 0; i < ours.numbers.size(); ++i)
    EXPECT_THAT(ours.numbers[i], testing::Pointwise(testing::FloatNear(1e-5F), theirs.numbers[i]));
}

// ---- models: of rows over data and hidden units, or heads, over model ----

const Layout kLayout = {P("data", None), P(None, "model"), P("model", None)};

Array Product(Mode mode, Array h, Array down) {
  if (mode == Mode::kExplicit) return matmul(h, down, {.out_sharding = P("data", None)});
  Array y = matmul(h, down);
  return mode == Mode::kManual ? psum(y, "model") : y;
}

Array Mlp(Mode mode, Array x, const Weights& w) {
  return Product(mode, relu(matmul(x, w.up)), w.down);
}

// Two rows are one sequence; `up` makes queries, keys and values of each head.
Array Attention(Mode mode, Array x, const Weights& w) {
  const int64_t width = 4, heads = w.up.shape(1) / (3 * width);
  const bool is_explicit = mode == Mode::kExplicit;
  auto out = [&](PartitionSpec spec) {
    return is_explicit ? OutOptions{.out_sharding = std::move(spec)} : OutOptions{};
  };
  Array qkv = matmul(x, w.up);
  qkv =
      reshape(qkv, {x.shape(0) / 2, 2, heads, 3, width}, out(P("data", None, "model", None, None)));
  const std::vector<Array> parts = unstack(qkv, 3);
  Array scores = softmax(einsum("bqhd,bkhd->bhqk", {parts[0], parts[1]}));
  Array mixed = einsum("bhqk,bkhd->bqhd", {scores, parts[2]});
  return Product(mode, reshape(mixed, {x.shape(0), heads * width}, out(P("data", "model"))),
                 w.down);
}

using Model = Array (*)(Mode, Array, const Weights&);
struct Case {
  const char* name;
  Model model;
  int64_t hidden;  // rows of the second weight
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

// The mean over all rows: of a device, those that it has.
Array Loss(Model model, Mode mode, Array x, const Weights& w) {
  Array y = model(mode, x, w);
  if (mode != Mode::kManual) return mean(square(y));
  return psum(sum(square(y)), "data") / (y.size() * axis_size("data"));
}

// ---- in the three modes ----

class ManualCommunication : public testing::TestWithParam<Case> {
 protected:
  ManualCommunication() { SetDeviceCount(8); }

  static Mesh MeshOf(AxisMode mode) { return make_mesh({{"data", 2, mode}, {"model", 4, mode}}); }
  std::pair<Array, Weights> Placed() const {
    return {reshard(x_, kLayout.x), {reshard(w_.up, kLayout.up), reshard(w_.down, kLayout.down)}};
  }
  static std::pair<Array, Weights> Constrained(Array x, Weights w) {
    return {with_sharding_constraint(x, kLayout.x),
            {with_sharding_constraint(w.up, kLayout.up),
             with_sharding_constraint(w.down, kLayout.down)}};
  }

  // `make` gives, for a mode, a function of x and weights; Manual ones run in a shard_map.
  template <class Make>
  void Agree(const Make& make, const Specs& out_specs) {
    const Outcome plain = Of(make(Mode::kAuto), x_, w_);
    Outcome by_type, by_propagation, by_hand;
    {
      MeshScope scope(MeshOf(Explicit));
      const auto [x, w] = Placed();
      by_type = Of(make(Mode::kExplicit), x, w);
      const Specs in_specs{kLayout.x, {kLayout.up, kLayout.down}};
      by_hand =
          Of(shard_map(make(Mode::kManual), {.in_specs = in_specs, .out_specs = out_specs}), x, w);
    }
    {
      MeshScope scope(MeshOf(Auto));
      auto f = make(Mode::kAuto);
      auto constrained = [f](Array x, Weights w) {
        auto [px, pw] = Constrained(x, w);
        return f(px, pw);
      };
      // Arguments that have this sharding already, like the others.
      by_propagation =
          Of(constrained, with_sharding_constraint(x_, kLayout.x), Constrained(x_, w_).second);
    }
    EXPECT_FALSE(by_hand.sent.empty());
    ExpectNear(by_type, plain);
    ExpectNear(by_propagation, plain);
    ExpectNear(by_hand, plain);
    EXPECT_EQ(by_hand.sent, by_type.sent) << by_hand.text << "\n" << by_type.text;
    EXPECT_EQ(by_hand.sent, by_propagation.sent) << by_hand.text << "\n" << by_propagation.text;
  }

  Array x_ = (arange(128.0).reshape({8, 16}) % 17.0 + 1.0) / 17.0;
  Weights w_{(arange(768.0).reshape({16, 48}) % 13.0) / 13.0 - 0.5,
             (arange(16.0 * GetParam().hidden).reshape({-1, 16}) % 11.0) / 11.0 - 0.5};
};

TEST_P(ManualCommunication, Values) {
  const Model model = GetParam().model;
  Agree([model](Mode mode) { return [=](Array x, Weights w) { return model(mode, x, w); }; },
        P("data", None));
}

TEST_P(ManualCommunication, Gradients) {
  const Model model = GetParam().model;
  Agree(
      [model](Mode mode) {
        return grad<0, 1>([=](Array x, Weights w) { return Loss(model, mode, x, w); });
      },
      {kLayout.x, {kLayout.up, kLayout.down}});
}

TEST_P(ManualCommunication, TrainSteps) {
  const Model model = GetParam().model;
  Agree(
      [model](Mode mode) {
        return [=](Array x, Weights w) {
          auto [loss, g] =
              value_and_grad<1>([=](Array x, Weights w) { return Loss(model, mode, x, w); })(x, w);
          return std::pair(loss, tree_map([](Array w, Array g) { return w - 0.1f * g; }, w, g));
        };
      },
      {P(), {kLayout.up, kLayout.down}});
}

INSTANTIATE_TEST_SUITE_P(Models, ManualCommunication,
                         testing::Values(Case{"Mlp", &Mlp, 48}, Case{"Attention", &Attention, 16}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera::manual_communication_test
