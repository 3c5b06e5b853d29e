// W7: propagation alone, on graphs built through the public header.
#include <tessera/propagation.h>

#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

namespace tp = propagation;

// Only the arguments are sharded, so every op has a sharding to propagate.
class Filler {
 public:
  Filler() : graph_(abstract_mesh({{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}})) {
    x_ = Value({256, 512}, R"(<@mesh, [{"a", "b"}, {?}]>)");
  }

  // Builds layers of five ops: two products, a bias for each, and an activation between them.
  tp::Graph Layers(int ops) {
    for (; ops > 0; ops -= 5) {
      tp::ValueId w1 = Value({512, 2048}, R"(<@mesh, [{?}, {"c", "d"}]>)");
      tp::ValueId hidden = Op("m k, k n -> m n", {x_, w1}, {256, 2048});
      hidden = Op("m n, n -> m n", {hidden, Value({2048})}, {256, 2048});
      hidden = Elementwise({hidden}, {256, 2048});
      x_ = Op("m k, k n -> m n", {hidden, Value({2048, 512})}, {256, 512});
      x_ = Op("m n, n -> m n", {x_, Value({512})}, {256, 512});
    }
    return std::move(graph_);
  }

  tp::Graph Chain(int ops) {
    for (; ops > 0; --ops) x_ = Elementwise({x_}, {256, 512});
    return std::move(graph_);
  }

 private:
  tp::ValueId Value(std::vector<int64_t> shape, std::string sharding = {}) {
    return graph_.value({.shape = std::move(shape), .sharding = std::move(sharding)});
  }
  tp::ValueId Op(std::string rule, std::vector<tp::ValueId> operands, std::vector<int64_t> shape) {
    tp::ValueId result = Value(std::move(shape));
    graph_.op({.rule = std::move(rule), .operands = std::move(operands), .results = {result}});
    return result;
  }
  tp::ValueId Elementwise(std::vector<tp::ValueId> operands, std::vector<int64_t> shape) {
    tp::ValueId result = Value(std::move(shape));
    graph_.op({.operands = std::move(operands), .results = {result}, .elementwise = true});
    return result;
  }

  tp::Graph graph_;
  tp::ValueId x_{};
};

}  // namespace

void Propagation(Recorder& recorder) {
  const std::vector<int> sizes =
      recorder.quick() ? std::vector<int>{100} : std::vector<int>{10000, 100000};
  for (const char* program : {"layers", "elementwise"})
    for (int ops : sizes) {
      const bool layers = program == std::string("layers");
      auto fill = [&] { return layers ? Filler().Layers(ops) : Filler().Chain(ops); };
      const tp::Graph graph = fill();
      auto emit = [&](const char* what, absl::FunctionRef<void()> f) {
        recorder.Emit("W7.propagation", kOurs, {{"program", program}, {"ops", ops}, {"what", what}},
                      "us", Repeat(recorder.quick() ? 3 : 9, f), {{"ops", ops}});
      };
      emit("fill", [&] { fill(); });
      emit("propagate", [&] { tp::propagate(graph, {.explain = false}); });
    }
}

}  // namespace tessera::bench
