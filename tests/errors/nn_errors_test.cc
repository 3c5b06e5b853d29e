// Wrong shapes, dtypes and options of functions of neural networks.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::nn_errors_test {
namespace {

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"glu_odd",
       [] {
         glu(ones({4, 3}));
       }},
      {"rms_norm_of_another_size",
       [] {
         rms_norm(ones({4, 3}), ones({4}));
       }},
      {"group_norm_groups",
       [] {
         group_norm(ones({2, 6}), ones({6}), ones({6}), 4);
       }},
      {"instance_norm_rank", [] { instance_norm(ones({6}), ones({6}), ones({6})); }},
      {"batch_norm_half_given",
       [] {
         batch_norm(ones({2, 6}), ones({6}), ones({6}), {.mean = ones({6})});
       }},
      {"batch_norm_scale",
       [] {
         batch_norm(ones({2, 6}), ones({2}), ones({6}));
       }},
      {"dropout_rate", [] { dropout(random::key(0), ones({4}), 1.5); }},
      {"dropout_dim", [] { dropout(random::key(0), ones({4}), 0.5, {.broadcast_dims = {1}}); }},
      {"embedding_rank",
       [] {
         embedding(ones({4}), array({0, 1}));
       }},
      {"embedding_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         embedding(abstract_array("f32[8@x,4]"), abstract_array("i32[3]"));
       }},
      {"rotary_odd",
       [] {
         rotary_embedding(ones({4, 2, 3}), arange(4));
       }},
      {"rotary_rank",
       [] {
         rotary_embedding(ones({4, 4}), arange(4));
       }},
      {"cross_entropy_shape",
       [] {
         cross_entropy(ones({4, 6}), array({0, 1, 2}));
       }},
      {"cross_entropy_soft_shape",
       [] {
         cross_entropy(ones({4, 6}), ones({4}));
       }},
      {"cross_entropy_bools",
       [] {
         cross_entropy(ones({4, 6}), ones({4}, bool_));
       }},
      {"cross_entropy_smoothing",
       [] {
         cross_entropy(ones({4, 6}), array({0, 1, 2, 3}), {.smoothing = -0.1});
       }},
      {"attention_heads",
       [] {
         dot_product_attention(ones({2, 4, 3, 2}), ones({2, 4, 2, 2}), ones({2, 4, 2, 2}));
       }},
      {"attention_shapes",
       [] {
         dot_product_attention(ones({4, 2, 2}), ones({4, 2, 2}), ones({5, 2, 2}));
       }},
      {"attention_rank",
       [] {
         dot_product_attention(ones({4, 2}), ones({4, 2}), ones({4, 2}));
       }},
      {"attention_dtypes",
       [] {
         dot_product_attention(ones({4, 2, 2}), ones({4, 2, 2}, bf16), ones({4, 2, 2}));
       }},
      {"attention_mask_dtype",
       [] {
         dot_product_attention(ones({4, 2, 2}), ones({4, 2, 2}), ones({4, 2, 2}),
                               {.mask = ones({4, 4})});
       }},
      {"attention_bias_shape",
       [] {
         dot_product_attention(ones({4, 2, 2}), ones({4, 2, 2}), ones({4, 2, 2}),
                               {.bias = ones({3, 4})});
       }},
      {"attention_lengths",
       [] {
         dot_product_attention(ones({4, 2, 2}), ones({4, 2, 2}), ones({4, 2, 2}),
                               {.key_value_lengths = ones({1})});
       }},
      {"heads_of_a_reshape",
       [] {
         MeshScope scope(abstract_mesh({{"model", 8}}));
         abstract_array("f32[2,16,96@model]").reshape({2, 16, 12, 8});
       }},
      {"heads_of_a_query",
       [] {
         MeshScope scope(abstract_mesh({{"model", 8}}));
         reshard(abstract_array("f32[2,16,12,8]"), P(None, None, "model"));
       }},
      {"heads_of_a_projection",
       [] {
         MeshScope scope(abstract_mesh({{"model", 8}}));
         const Array x = abstract_array("f32[2,16,96]"), w = abstract_array("f32[96,2,8]");
         einsum("btd,dhk->bthk", {x, w}, {.out_sharding = P(None, None, "model")});
       }},
      {"heads_on_other_parts",
       [] {
         MeshScope scope(abstract_mesh({{"model", 8}}));
         const Array k = abstract_array("f32[2,16,2@model:(2)2,8]");
         dot_product_attention(abstract_array("f32[2,16,8@model,8]"), k, k);
       }},
      {"heads_of_groups_over_other_axes",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
         const Array k = abstract_array("f32[2,16,2@y,8]");
         dot_product_attention(abstract_array("f32[2,16,4@x,8]"), k, k);
       }},
      {"initialiser_fans", [] { initialisers::he_normal(random::key(0), {4}); }},
      {"initialiser_scale",
       [] {
         initialisers::variance_scaling(random::key(0), {4, 4}, -1, FanMode::kIn,
                                        FanDistribution::kNormal);
       }},
      {"initialiser_dtype",
       [] {
         initialisers::glorot_uniform(random::key(0), {4, 4}, {.dtype = i32});
       }},
      {"initialiser_orthogonal_rank", [] { initialisers::orthogonal(random::key(0), {4}); }},
      {"initialiser_delta_orthogonal_rank",
       [] {
         initialisers::delta_orthogonal(random::key(0), {4, 4});
       }},
      {"initialiser_delta_orthogonal_sizes",
       [] {
         initialisers::delta_orthogonal(random::key(0), {3, 4, 2});
       }},
  };
  return cases;
}

class Nn : public testing::TestWithParam<RefusedCase> {};

TEST_P(Nn, AreRefused) {
  ExpectRefused(std::string("nn_") + GetParam().name, GetParam().program);
  ExpectUsable();
}

INSTANTIATE_CASES(Nn, Cases());

}  // namespace
}  // namespace tessera::nn_errors_test
