// Wrong input to shard_map and its collectives.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <atomic>
#include <functional>

#include "cases.h"

namespace tessera::manual_errors_test {
namespace {

Array Same(Array x) { return x; }
Array Argument() { return abstract_array("f32[8@x,8@y]"); }

// Runs a function of each device's shard of f32[8@x,8@y], which is f32[4,2]{V:(x,y)}.
template <class F>
void Inside(F f, ShardMapOptions options = {.out_specs = P("x", "y")}) {
  MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
  shard_map(f, std::move(options))(Argument());
}
void Mapped(ShardMapOptions options, Array (*f)(Array) = Same) {
  MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
  shard_map(f, std::move(options))(Argument());
}

// An op whose type says that it depends on its operand, and which gives the one of 64 devices that
// asks last another result.
const CustomOp& Lie() {
  static const CustomOp op = [] {
    static std::atomic<bool> lies{false};
    static std::atomic<int> calls{0};
    const CustomOp made =
        register_op({.name = "errors_lie", .rule = "i -> i", .kernel = [](const KernelCall& call) {
                       const bool last = lies && calls++ % 64 == 63;
                       for (float& x : call.out[0].data<float>()) x = !last;
                     }});
    lies = true;
    return made;
  }();
  return op;
}

struct Unshared {
  Unshared() { ReplicaSharing(false); }
  ~Unshared() { ReplicaSharing(true), SetWorkerCount(0); }
};

// Runs a function of f32[2], of zeros on 64 devices along x, that do not
// share buffers.
void OnDevicesThatDisagree(const std::function<Array(Array)>& f) {
  Lie();
  SetDeviceCount(64);
  SetWorkerCount(1);
  MeshScope s(make_mesh({{"x", 64}}));
  const Unshared unshared;
  jit(shard_map(f, {.in_specs = P(), .out_specs = P()}))(zeros({2}));
}

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"jacrev_of_invarying",
       [] {
         Inside([](Array v) {
           const auto rows = [&](Array w) { return v * w; };
           return sum(jacrev(rows)(ones({2})), 0);
         });
       }},
      {"vmap_grad_of_invarying",
       [] {
         Inside([](Array v) {
           const auto loss = [](Array w, Array row) { return sum(w * row); };
           return vmap(grad(loss), {.in_dims = {None, 0}})(ones({2}), v);
         });
       }},
      {"vmap_vjp_of_invarying",
       [] {
         Inside([](Array v) {
           const auto derivative = [](Array w, Array row) {
             const auto [value, pullback] = vjp([&](Array x) { return sum(x * row); }, w);
             return pullback(ones_like(value));
           };
           return vmap(derivative, {.in_dims = {None, 0}})(ones({2}), v);
         });
       }},
      {"vmap_checkpoint_grad_of_invarying",
       [] {
         Inside([](Array v) {
           const Array w = ones({2});
           return vmap([&](Array row) {
             return checkpoint(
                 [&](Array r) { return grad([&](Array x) { return sum(x * r); })(w); })(row);
           })(v);
         });
       }},
      {"vmap_scan_grad_of_invarying",
       [] {
         Inside([](Array v) {
           const Array w = ones({2});
           return vmap([&](Array row) {
             return fori_loop(
                 0, 2,
                 [&](Array, Array c) { return c + grad([&](Array x) { return sum(x * row); })(w); },
                 row);
           })(v);
         });
       }},
      {"no_mesh", [] { shard_map(Same, {.out_specs = P()})(ones({2})); }},
      {"other_mesh",
       [] {
         Mesh other = abstract_mesh({{"z", 2}});
         Mapped({.out_specs = P(), .mesh = other});
       }},
      {"no_out_specs", [] { Mapped({}); }},
      {"unknown_axis", [] { Mapped({.out_specs = P(), .axes = "z"}); }},
      {"in_specs_unknown_axis", [] { Mapped({.in_specs = P("z"), .out_specs = P()}); }},
      {"in_specs_not_manual", [] { Mapped({.in_specs = P("y"), .out_specs = P(), .axes = "x"}); }},
      {"out_specs_not_manual", [] { Mapped({.out_specs = P("y"), .axes = "x"}); }},
      {"in_specs_heads",
       [] {
         MeshScope s(abstract_mesh({{"x", 8, Auto}}));
         shard_map(Same, {.in_specs = P("x"), .out_specs = P("x")})(abstract_array("f32[12]"));
       }},
      {"out_specs_part_varies",
       [] {
         Inside([](Array v) { return psum(v, {"x", SubAxis("y", 1, 2)}); }, {.out_specs = P()});
       }},
      {"in_specs_open", [] { Mapped({.in_specs = P(Open("x")), .out_specs = P()}); }},
      {"in_specs_twice", [] { Mapped({.in_specs = P("x", "x"), .out_specs = P()}); }},
      {"in_specs_rank", [] { Mapped({.in_specs = P("x", "y", None), .out_specs = P()}); }},
      {"in_specs_left_over",
       [] {
         Mapped({.in_specs = {P(), P()}, .out_specs = P()});
       }},
      {"in_specs_differ", [] { Mapped({.in_specs = P("y", "x"), .out_specs = P()}); }},
      {"in_specs_of_a_field_differ",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 2}}));
         const Array a = abstract_array("f32[8@x]"), b = abstract_array("f32[8@y]");
         shard_map([](Array u, std::pair<Array, Array> v) { return u + v.first + v.second; },
                   {.in_specs = P("x"), .out_specs = P("x")})(a, std::pair(a, b));
       }},
      {"in_specs_needed",
       [] {
         MeshScope s(abstract_mesh({{"x", 2, Auto}}));
         shard_map(Same, {.out_specs = P("x")})(abstract_array("f32[8]"));
       }},
      {"in_specs_uneven",
       [] {
         MeshScope s(abstract_mesh({{"x", 2, Auto}}));
         shard_map(Same, {.in_specs = P("x"), .out_specs = P("x")})(abstract_array("f32[7]"));
       }},
      {"in_specs_rest_uneven",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
         shard_map(Same,
                   {.in_specs = P("y"), .out_specs = P(), .axes = "y"})(abstract_array("f32[4@x]"));
       }},
      {"in_specs_minor",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
         shard_map(Same, {.out_specs = P(), .axes = "y"})(abstract_array("f32[8@(x,y)]"));
       }},
      {"in_specs_unreduced",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4, Auto}}));
         shard_map(Same, {.in_specs = P().unreduced("x"), .out_specs = P(), .axes = "x"})(
             abstract_array("f32[8]"));
       }},
      {"in_specs_unreduced_over_auto",
       [] {
         MeshScope s(abstract_mesh({{"x", 2, Auto}}));
         shard_map(Same,
                   {.in_specs = P().unreduced("x"), .out_specs = P()})(abstract_array("f32[8]"));
       }},
      {"out_specs_rank", [] { Inside([](Array v) {
                                return psum(sum(v), {"x", "y"});
                              }); }},
      {"out_specs_vary", [] { Mapped({.out_specs = P("x")}); }},
      {"out_specs_left_over",
       [] {
         Mapped({.out_specs = {P("x", "y"), P()}});
       }},
      {"out_specs_unreduced",
       [] {
         Inside([](Array v) { return pcast(v, "x", Variance::kUnreduced); },
                {.out_specs = P(None, "y")});
       }},
      {"manual_twice",
       [] { Inside([](Array v) { return shard_map(Same, {.out_specs = P(), .axes = "x"})(v); }); }},
      {"nothing_left",
       [] { Inside([](Array v) { return shard_map(Same, {.out_specs = P()})(v); }); }},
      {"closes_over_sharded",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
         Array w = abstract_array("f32[8@x]");
         shard_map([&](Array v) { return v + sum(w); }, {.out_specs = P("x", "y")})(Argument());
       }},
      {"closes_over_other_mesh",
       [] {
         Array w;
         {
           MeshScope other(abstract_mesh({{"z", 2}}));
           w = abstract_array("f32[2@z]");
         }
         Inside([&](Array v) { return v * w; });
       }},
      {"reshard_over_manual", [] { Inside([](Array v) { return reshard(v, P("x")); }); }},
      {"auto_axes_over_manual",
       [] {
         Inside([](Array v) { return auto_axes(Same, {.axes = "x", .out_sharding = P()})(v); });
       }},
      {"escapes",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
         Array kept;
         shard_map([&](Array v) { return kept = v; }, {.out_specs = P("x", "y")})(Argument());
         kept + 1;
       }},
      {"axes_twice",
       [] {
         Mapped({.out_specs = P("x"), .axes = {"x", "x"}});
       }},
      {"psum_of_keys",
       [] { Inside([](Array v) { return psum(random::key(0), "x").astype(v.dtype()) + v; }); }},
      {"psum_of_maxima",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         shard_map([](Array v) { return psum(v, "x"); },
                   {.in_specs = P().unreduced("x", Reduction::kMax), .out_specs = P()})(
             abstract_array("f32[8]{U_max:x}"));
       }},
      {"other_modes",
       [] {
         Array w;
         {
           MeshScope other(abstract_mesh({{"x", 2}, {"y", 4, Auto}}));
           w = abstract_array("f32[2]");
         }
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
         Argument() + sum(w);
       }},
      {"terms_enter_a_branch",
       [] {
         Inside([](Array v) {
           return psum(cond(
                           axis_index("x") == 0, [](Array u) { return 2 * u; }, Same,
                           pcast(v, "x", Variance::kUnreduced)),
                       "x");
         });
       }},
      {"terms_are_captured",
       [] {
         Inside([](Array v) {
           const Array terms = pcast(v, "x", Variance::kUnreduced);
           return cond(
               axis_index("x") == 0, [&](Array u) { return u * terms; }, Same, v);
         });
       }},
      {"branches_of_terms",
       [] {
         Inside([](Array v) {
           return cond(
               psum(sum(v), {"x", "y"}) == 0,
               [](Array u) { return pcast(u, "x", Variance::kUnreduced); }, Same, v);
         });
       }},
      {"body_makes_terms",
       [] {
         Inside([](Array v) {
           return fori_loop(
               0, 3, [](Array, Array u) { return pcast(u, "x", Variance::kUnreduced); }, v);
         });
       }},
      {"while_condition_collective",
       [] {
         Inside([](Array v) {
           return while_loop([](Array u) { return sum(u) < sum(psum(u, "x")); },
                             [](Array u) { return u + 1; }, v);
         });
       }},
      {"cond_gradient",
       [] {
         Inside([](Array v) {
           return cond(
               axis_index("x") == 0,
               [](Array u) {
                 return u * grad([&](Array w) { return psum(sum(w * u), "y"); })(1.0f);
               },
               Same, v);
         });
       }},
      {"gradient_of_pmax_of_maxima",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         auto f = shard_map([](Array v) { return pmax(v, "x"); },
                            {.in_specs = P().unreduced("x", Reduction::kMax), .out_specs = P()});
         auto loss = [&](Array x) {
           return sum(f(reduce_max(reshard(x, P("x", None)), {0},
                                   {.out_sharding = P(None).unreduced("x", Reduction::kMax)})));
         };
         grad(loss)(abstract_array("f32[4,8]"));
       }},
      {"cotangent_varies",
       [] {
         Inside([](Array v) {
           auto [value, pull] = vjp([](Array w) { return w * w; }, Array(1.0f));
           return v * pull(sum(v));
         });
       }},
      {"callback_of_terms",
       [] {
         Inside([](Array v) {
           debug_callback([](Array) {}, {pcast(v, "x", Variance::kUnreduced)});
           return v;
         });
       }},
      {"pure_callback_of_terms",
       [] {
         Inside([](Array v) {
           const Array terms = pcast(v, "x", Variance::kUnreduced);
           return pure_callback([](Array y) { return y; }, v, terms);
         });
       }},
      {"read_inside",
       [] {
         SetDeviceCount(2);
         MeshScope s(make_mesh({{"x", 2}}));
         shard_map([](Array v) { return v * sum(v).item<float>(); },
                   {.out_specs = P("x")})(reshard(ones({4}), P("x")));
       }},
      {"read_terms_inside",
       [] {
         SetDeviceCount(2);
         MeshScope s(make_mesh({{"x", 2}}));
         shard_map(
             [](Array v) {
               pcast(v, "x", Variance::kUnreduced).to_vector<float>();
               return v;
             },
             {.out_specs = P("x")})(reshard(ones({4}), P("x")));
       }},
      {"psum_outside",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
         psum(Argument(), "x");
       }},
      {"psum_no_mesh", [] { psum(ones({2}), "x"); }},
      {"psum_unknown_axis", [] { Inside([](Array v) { return psum(v, "z"); }); }},
      {"psum_over_auto",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4, Auto}}));
         shard_map([](Array v) { return psum(v, "y"); },
                   {.out_specs = P("x"), .axes = "x"})(abstract_array("f32[8@x]"));
       }},
      {"psum_axis_twice", [] { Inside([](Array v) {
                                 return psum(v, {"x", "x"});
                               }); }},
      {"psum_part_of_axis", [] { Inside([](Array v) { return psum(v, SubAxis("y", 1, 3)); }); }},
      {"psum_two_states_of_parts",
       [] { Inside([](Array v) { return psum(psum(v, SubAxis("y", 1, 2)), "y"); }); }},
      {"psum_two_states", [] { Inside([](Array v) {
                                 return psum(psum(v, "x"), {"x", "y"});
                               }); }},
      {"psum_reduced",
       [] {
         Inside([](Array v) { return psum(pcast(psum(v, "x"), "x", Variance::kReduced), "x"); });
       }},
      {"pmax_unreduced",
       [] { Inside([](Array v) { return pmax(pcast(v, "x", Variance::kUnreduced), "x"); }); }},
      {"all_gather_unreduced",
       [] {
         Inside([](Array v) { return all_gather(pcast(v, "x", Variance::kUnreduced), "x"); });
       }},
      {"all_gather_to_unreduced",
       [] { Inside([](Array v) { return all_gather(v, "x", {.to = Variance::kUnreduced}); }); }},
      {"all_gather_dim", [] { Inside([](Array v) { return all_gather(v, "x", {.dim = 3}); }); }},
      {"psum_scatter_uneven",
       [] { Inside([](Array v) { return psum_scatter(v, "y", {.dim = 1, .tiled = true}); }); }},
      {"psum_scatter_entries", [] { Inside([](Array v) { return psum_scatter(v, "x"); }); }},
      {"all_to_all_uneven",
       [] { Inside([](Array v) { return all_to_all(v, "y", 1, 0, {.tiled = true}); }); }},
      {"all_to_all_entries", [] { Inside([](Array v) { return all_to_all(v, "x", 0, 1); }); }},
      {"ppermute_absent", [] { Inside([](Array v) {
                                 return ppermute(v, "x", {{0, 2}});
                               }); }},
      {"ppermute_sends_twice",
       [] { Inside([](Array v) {
              return ppermute(v, "y", {{0, 1}, {0, 2}});
            }); }},
      {"ppermute_receives_twice",
       [] { Inside([](Array v) {
              return ppermute(v, "y", {{0, 1}, {2, 1}});
            }); }},
      {"pbroadcast_absent", [] { Inside([](Array v) { return pbroadcast(v, "x", 2); }); }},
      {"pcast_sums", [] { Inside([](Array v) { return pcast(v, "x", Variance::kInvarying); }); }},
      {"pcast_to_reduced",
       [] { Inside([](Array v) { return pcast(v, "x", Variance::kReduced); }); }},
      {"states_meet",
       [] { Inside([](Array v) { return v + pcast(v, "x", Variance::kUnreduced); }); }},
      {"reduced_meets_varying",
       [] {
         Inside([](Array v) {
           return v + pcast(psum(v, {"x", "y"}), {"x", "y"}, Variance::kReduced) *
                          pcast(psum(v, {"x", "y"}), "x", Variance::kReduced);
         });
       }},
      {"cond_collective",
       [] {
         Inside([](Array v) {
           return cond(
               axis_index("x") == 0, [](Array u) { return psum(u, "x"); }, Same, v);
         });
       }},
      {"while_collective",
       [] {
         Inside([](Array v) {
           return while_loop([](Array u) { return sum(u) < 1; },
                             [](Array u) { return pshift(u, "y", 1); }, v);
         });
       }},
      {"vmap_over_manual",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 4}}));
         auto f = shard_map([](Array v) { return psum(v, "y"); },
                            {.in_specs = P("y"), .out_specs = P(), .axes = AxisNames{"x", "y"}});
         vmap(f)(abstract_array("f32[2@x,8@y]"));
       }},
      {"vmap_leaves_nothing",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         vmap(shard_map(Same, {.out_specs = P()}))(abstract_array("f32[2@x,8]"));
       }},
      {"lying_condition",
       [] {
         OnDevicesThatDisagree([](Array v) {
           return while_loop([](Array u) { return sum(Lie()({u})) > 0; },
                             [](Array u) { return u - 1; }, v);
         });
       }},
      {"lying_predicate",
       [] {
         OnDevicesThatDisagree([](Array v) {
           const Array lie = sum(Lie()({v})) > 0;
           return cond(
               lie, [](Array u) { return psum(u, "x"); }, Same, v);
         });
       }},
      {"lying_index",
       [] {
         OnDevicesThatDisagree([](Array v) {
           const Array lie = sum(Lie()({v})).astype(i32);
           return switch_case(lie, std::vector{Same, Same, Same}, v);
         });
       }},
      {"assume_invariant_breaks",
       [] {
         OnDevicesThatDisagree(
             [](Array v) { return assume_invariant(v + (axis_index("x") == 3), "x"); });
       }},
      {"assume_invariant_alone",
       [] {
         Inside([](Array v) {
           return cond(
               axis_index("x") == 0, [](Array u) { return assume_invariant(u, "x"); }, Same, v);
         });
       }},
  };
  return cases;
}

class ManualInput : public testing::TestWithParam<RefusedCase> {};
TEST_P(ManualInput, IsOneClearError) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("manual_") + c.name, c.program);
  ExpectUsable();
}
INSTANTIATE_CASES(ManualInput, Cases());

}  // namespace
}  // namespace tessera::manual_errors_test
