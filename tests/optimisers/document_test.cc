// The example of docs/optimisers.md is the program below. The page shows its output.
#include "document.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <sstream>

namespace tessera::optimisers_document_test {
namespace {

// clang-format off
void Example(std::ostream& out) {
// begin
using Params = std::map<std::string, Array>;
SetDeviceCount(8);
MeshScope scope(make_mesh({{"data", 8}}));

const Optimiser optimiser = sharded(
    chain({optimisers::clip_by_global_norm(1),
           optimisers::adamw(schedules::warmup_cosine_decay(0, 0.1, 10, 100),
                             {.weight_decay = 0.01,
                              .mask = [](const std::string&, const Array& p) {
                                return p.rank() > 1;
                              }})}),
    P("data"));

const auto step = jit(
    [&](Params params, OptimiserState state, Array x, Array y) {
      const auto [loss, gradients] = value_and_grad([&](Params p) {
        return mean(square(matmul(x, p.at("w")) + p.at("b") - y));
      })(tree_map([](Array p) { return reshard(p, P().reduced("data")); }, params));
      auto [updates, next] = optimiser.update(gradients, state, params);
      return std::tuple(apply_updates(params, updates), next, loss);
    },
    {.donate = {0, 1}});

Params params = {{"b", zeros({8})}, {"w", zeros({16, 8})}};
OptimiserState state = optimiser.init(params);
const Array x = random::normal(random::key(0), {64, 16}, {.out_sharding = P("data")});
const Array y = matmul(x, random::normal(random::key(1), {16, 8})) + 1.0;
for (int i = 0; i <= 100; ++i) {
  const auto [new_params, new_state, loss] = step(params, state, x, y);
  params = new_params;
  state = new_state;
  if (i % 50 == 0) out << "step " << i << ": loss " << to_text(loss, {.precision = 2}) << "\n";
}
for (const auto& [name, array] : state) out << name << " " << type_of(array) << "\n";
// end
}

Optimiser ShardedByName() {
// begin by name
const Optimiser zero = sharded(
    optimisers::adam(1e-3), [](const std::string& name, const Array& param) {
      std::vector<DimSharding> dims(param.shape().size());
      if (name.starts_with("head.")) return PartitionSpec(dims);  // whole
      for (size_t d = 0; d < dims.size(); ++d) {
        if (param.shape()[d] % 8 != 0) continue;
        dims[d] = "data";  // the first dim that 8 devices divide
        break;
      }
      return PartitionSpec(dims);
    });
// end by name
return zero;
}
// clang-format on

TEST(Document, ShowsAProgramAndItsOutput) {
  std::ostringstream out;
  Example(out);
  testing_documents::ExpectShows("/docs/optimisers.md", "/tests/optimisers/document_test.cc",
                                 out.str());
}

TEST(Document, ShowsSpecsByName) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 8}}));
  using Params = std::map<std::string, Array>;
  const std::map<std::string, Params> params = {{"body", {{"b", zeros({3})}, {"w", zeros({3, 8})}}},
                                                {"head", {{"w", zeros({8, 8})}}}};
  const OptimiserState state = ShardedByName().init(params);
  EXPECT_EQ(type_of(state.at("adam.mu.body.b")).text(), "f32[3]");
  EXPECT_EQ(type_of(state.at("adam.mu.body.w")).text(), "f32[3,8@data]");
  EXPECT_EQ(type_of(state.at("adam.mu.head.w")).text(), "f32[8,8]");
  const std::string code =
      testing_documents::Between(testing_documents::TextOf("/tests/optimisers/document_test.cc"),
                                 "// begin by name\n", "// end by name\n");
  EXPECT_THAT(testing_documents::TextOf("/docs/optimisers.md"), testing::HasSubstr(code));
}

}  // namespace
}  // namespace tessera::optimisers_document_test
