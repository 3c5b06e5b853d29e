// Errors of vmap. Each is one clear error, and the library is usable afterwards.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::vmap_errors_test {
namespace {

Array Doubled(Array x) { return x * 2; }
Array Added(Array x, Array y) { return x + y; }

void NoMoreDims(const KernelCall& call) {
  auto in = call.in[0].data<float>(), out = call.out[0].data<float>();
  std::copy(in.begin(), in.end(), out.begin());
}

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"unequal_sizes",
       [] {
         vmap(Added)(ones({3, 2}), ones({4, 2}));
       }},
      {"size_that_is_not_theirs", [] { vmap(Doubled, {.size = 4})(ones({3})); }},
      {"negative_size", [] { vmap([] { return ones({2}); }, {.size = -1})(); }},
      {"scalar_mapped", [] { vmap(Added)(ones({3}), 1.0f); }},
      {"no_such_dim",
       [] {
         vmap(Doubled, {.in_dims = 2})(ones({3, 2}));
       }},
      {"nothing_mapped", [] { vmap(Doubled, {.in_dims = None})(ones({3})); }},
      {"too_many_dims",
       [] {
         vmap(Doubled, {.in_dims = {0, 0}})(ones({3}));
       }},
      {"dims_of_one_array",
       [] {
         vmap(Doubled, {.in_dims = {{0, 1}}})(ones({3}));
       }},
      {"result_differs_by_lane", [] { vmap(Doubled, {.out_dims = None})(ones({3})); }},
      {"result_has_no_such_dim", [] { vmap(Doubled, {.out_dims = 1})(ones({3})); }},
      {"dims_lie_differently",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 2}, {"y", 2}}));
         vmap(Added)(abstract_array("f32[4@x,2]"), abstract_array("f32[4,2]"));
       }},
      {"unmapped_lies_over_its_axis",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 2}, {"y", 2}}));
         vmap(Added, {.in_dims = {0, None}})(abstract_array("f32[4@x,2]"),
                                             abstract_array("f32[2@x]"));
       }},
      {"captured_lies_over_its_axis",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 2}, {"y", 2}}));
         Array captured = abstract_array("f32[2@x]");
         jit([](Array x, Array w) {
           return vmap([=](Array v) { return v + w; })(x);
         }).trace(abstract_array("f32[4@x,2]"), captured);
       }},
      {"value_inside_lies_over_its_axis",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 2}, {"y", 2}}));
         vmap([](Array v) { return reshard(v * 2, P("x")); })(abstract_array("f32[4@x,2]"));
       }},
      {"sharding_is_not_theirs",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 2}, {"y", 2}}));
         vmap(Doubled, {.sharding = "y"})(abstract_array("f32[4@x,2]"));
       }},
      {"sharding_of_no_axis",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 2}, {"y", 2}}));
         vmap(Doubled, {.sharding = "z"})(abstract_array("f32[4,2]"));
       }},
      {"lanes_do_not_divide",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 4}}));
         vmap([] { return ones({2}); }, {.size = 6, .sharding = "x"})();
       }},
      {"nested_over_one_axis",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 4}}));
         const auto row = [] {
           return vmap([] { return ones({2}); }, {.size = 4, .sharding = "x"})();
         };
         vmap(row, {.size = 4, .sharding = "x"})();
       }},
      {"result_lies_over_its_axis",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 4}}));
         const auto row = [](Array v) {
           return vmap([=] { return v; }, {.size = 4, .sharding = "x"})();
         };
         vmap(row, {.in_dims = None, .size = 4, .sharding = "x"})(abstract_array("f32[2]"));
       }},
      {"constraint_over_its_axis",
       [] {
         MeshScope mesh(abstract_mesh({{"x", 2, Auto}, {"y", 2, Auto}}));
         vmap([](Array v) { return with_sharding_constraint(v * 2, P("x")); },
              {.sharding = "x"})(ones({4, 8}));
       }},
      {"custom_op_without_room",
       [] {
         static const CustomOp op =
             register_op({.name = "vmap_copy_rows", .rule = "a b -> a b", .kernel = NoMoreDims});
         vmap([](Array v) { return op({v}); })(ones({3, 2, 2}));
       }},
  };
  return cases;
}

class VmapErrors : public testing::TestWithParam<RefusedCase> {};

TEST_P(VmapErrors, AreClear) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("vmap_") + c.name, c.program);
  ExpectUsable();
  EXPECT_EQ(vmap(Doubled)(ones({3})).to_vector<float>(), std::vector<float>(3, 2));
}

INSTANTIATE_CASES(VmapErrors, Cases());

}  // namespace
}  // namespace tessera::vmap_errors_test
