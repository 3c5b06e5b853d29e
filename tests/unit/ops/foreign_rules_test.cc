// The maps of ops from other IRs, one test each.
#include "unit/ops/foreign_rules.h"

#include <gmock/gmock.h>

namespace tessera::ops {
namespace {

struct Rule {
  const char* name;
  DimMap map;
  const char* text;
};

void ExpectRules(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) EXPECT_EQ(Text(rule.map), rule.text) << rule.name;
}

// Returns NHWC images and HWIO kernels.
ConvolutionNumbers Images(int64_t feature_groups = 1, int64_t batch_groups = 1) {
  return {.lhs = {0, 3, {1, 2}},
          .rhs = {3, 2, {0, 1}},
          .result = {0, 3, {1, 2}},
          .feature_groups = feature_groups,
          .batch_groups = batch_groups};
}

TEST(ForeignRules, Convolution) {
  ExpectRules({
      {"windows before the places inside them",
       ConvolutionDims(Images(), {2, 224, 224, 192}, {3, 3, 192, 64}, {2, 112, 112, 64}),
       "([i, jk, lm, n], [k, m, n, o])->([i, j, l, o]) {i=2, j=112, k=2, l=112, m=2, n=192, o=64} "
       "reduction={k, m, n} permutation={j, l}"},
      {"a kernel larger than the result comes first",
       ConvolutionDims(Images(), {2, 224, 224, 192}, {112, 112, 192, 64}, {2, 3, 3, 64}),
       "([i, jk, lm, n], [j, l, n, o])->([i, k, m, o]) {i=2, j=112, k=2, l=112, m=2, n=192, o=64} "
       "reduction={j, l, n} permutation={k, m}"},
      {"windows that leave no place",
       ConvolutionDims(Images(), {2, 8, 8, 4}, {1, 3, 4, 8}, {2, 8, 8, 8}),
       "([i, j, k, l], [n, o, l, m])->([i, j, k, m]) {i=2, j=8, k=8, l=4, m=8, n=1, o=1} "
       "reduction={l} permutation={j, k}"},
      {"groups of the batch",
       ConvolutionDims(Images(1, 2), {8, 16, 16, 4}, {2, 2, 4, 6}, {4, 8, 8, 6}),
       "([ij, kl, mn, o], [l, n, o, ip])->([j, k, m, ip]) {i=2, j=4, k=8, l=2, m=8, n=2, o=4, "
       "p=3} reduction={l, n, o} permutation={k, m}"},
      {"groups of the batch with one image each",
       ConvolutionDims(Images(1, 8), {8, 16, 16, 4}, {2, 2, 4, 16}, {1, 8, 8, 16}),
       "([i, kl, mn, o], [l, n, o, ip])->([j, k, m, ip]) {i=8, j=1, k=8, l=2, m=8, n=2, o=4, "
       "p=2} reduction={l, n, o} permutation={k, m}"},
      {"groups of features",
       ConvolutionDims(Images(4), {2, 16, 16, 8}, {2, 2, 2, 12}, {2, 8, 8, 12}),
       "([i, jk, lm, no], [k, m, o, np])->([i, j, l, np]) {i=2, j=8, k=2, l=8, m=2, n=4, o=2, "
       "p=3} reduction={k, m, o} permutation={j, l}"},
      {"a group for each feature",
       ConvolutionDims(Images(8), {2, 16, 16, 8}, {2, 2, 1, 8}, {2, 8, 8, 8}),
       "([i, jk, lm, n], [k, m, o, n])->([i, j, l, n]) {i=2, j=8, k=2, l=8, m=2, n=8, o=1} "
       "reduction={k, m, o} permutation={j, l}"},
  });
}

TEST(ForeignRules, Windows) {
  const Window trivial, pair{.size = 2, .stride = 2}, padded{.low = 1};
  ExpectRules({
      {"reduce_window of two arrays",
       ReduceWindowDims({pair, padded, trivial}, {8, 6, 4}, {4, 7, 4}, 2),
       "([i, j, k], [i, j, k], [], [])->([i, j, k], [i, j, k]) {i=4, j=7, k=4} "
       "permutation={i, j}"},
      {"select_and_scatter", SelectAndScatterDims({pair, trivial}, {8, 6}, {4, 6}),
       "([j, k], [i, k], [])->([j, k]) {i=4, j=8, k=6} need_replication={i} permutation={j}"},
  });
}

TEST(ForeignRules, LinearAlgebra) {
  const Shape a = {4, 8, 8}, b = {4, 8, 3}, c = {4, 3, 8};
  ExpectRules({
      {"fft of half a spectrum", FftDims(2, {8, 32, 33}, {8, 32, 64}),
       "([i, j, k])->([i, j, k]) {i=8, j=32, k=33} need_replication={j, k} "
       "blocked_propagation={k}"},
      {"fft", FftDims(1, {8, 32, 64}, {8, 32, 64}),
       "([i, j, k])->([i, j, k]) {i=8, j=32, k=64} need_replication={k}"},
      {"cholesky", CholeskyDims({2, 4, 8, 8}),
       "([i, j, k, l])->([i, j, k, l]) {i=2, j=4, k=8, l=8} need_replication={k, l}"},
      {"a x = b", TriangularSolveDims(true, false, a, b),
       "([i, j, l], [i, j, k])->([i, l, k]) {i=4, j=8, k=3, l=8} need_replication={j, k, l}"},
      {"x a = b", TriangularSolveDims(false, false, a, c),
       "([i, l, k], [i, j, k])->([i, j, l]) {i=4, j=3, k=8, l=8} need_replication={j, k, l}"},
      {"a' x = b", TriangularSolveDims(true, true, a, b),
       "([i, l, j], [i, j, k])->([i, l, k]) {i=4, j=8, k=3, l=8} need_replication={j, k, l}"},
      {"x a' = b", TriangularSolveDims(false, true, a, c),
       "([i, k, l], [i, j, k])->([i, j, l]) {i=4, j=3, k=8, l=8} need_replication={j, k, l}"},
      {"Eigh", EighDims(a), "([i, j, k])->([i, j, k], [i, k]) {i=4, j=8, k=8}"},
      {"Qr", QrDims(b, {4, 3}),
       "([i, j, k])->([i, j, k], [i, l]) {i=4, j=8, k=3, l=3} need_replication={j, k, l}"},
      {"ProductOfElementaryHouseholderReflectors", HouseholderProductDims(b, {4, 3}),
       "([i, j, k], [i, l])->([i, j, k]) {i=4, j=8, k=3, l=3} need_replication={j, k, l}"},
  });
}

TEST(ForeignRules, Others) {
  ExpectRules({
      {"batch_norm_inference", BatchNormInferenceDims({2, 8, 3, 4}, 2),
       "([i, j, k, l], [k], [k], [k], [k])->([i, j, k, l]) {i=2, j=8, k=3, l=4}"},
      {"rng_bit_generator", RngBitGeneratorDims({2}, {4, 8}),
       "([i])->([i], [j, k]) {i=2, j=4, k=8} need_replication={i} blocked_propagation={i}"},
      {"bits joined", BitcastConvertDims({4, 2, 8}, {4, 2}),
       "([i, j, k])->([i, j]) {i=4, j=2, k=8} need_replication={k}"},
      {"bits split", BitcastConvertDims({4, 2}, {4, 2, 8}),
       "([i, j])->([i, j, k]) {i=4, j=2, k=8} need_replication={k}"},
      {"mhlo.topk", TopKDims({16, 8}, {16, 2}),
       "([i, j])->([i, j], [i, j]) {i=16, j=8} need_replication={j} blocked_propagation={j}"},
      {"ApproxTopK", ApproxTopKDims(1, {16, 4}, {16, 2}),
       "([i, j], [i, j], [], [])->([i, k], [i, k]) {i=16, j=4, k=2} need_replication={k} "
       "blocked_propagation={k}"},
      {"all_gather", AllGatherDims(1, {2, 2}, {2, 4}, 2),
       "([i, j], [i, j])->([i, k], [i, k]) {i=2, j=2, k=4} need_replication={j, k}"},
      {"all_to_all", AllToAllDims(1, 0, {2, 4}, {4, 2}, 2),
       "([k, i], [k, i])->([l, j], [l, j]) {i=4, j=2, k=2, l=4} need_replication={i, j, k, l}"},
      {"all_to_all along one dim", AllToAllDims(0, 0, {2, 4}, {2, 4}),
       "([j, i])->([k, i]) {i=4, j=2, k=2} need_replication={j, k}"},
      {"reduce_scatter", ReduceScatterDims(1, {2, 4, 8, 3}, {2, 2, 8, 3}),
       "([i, l, j, k])->([i, m, j, k]) {i=2, j=8, k=3, l=4, m=2} need_replication={l, m}"},
  });
}

}  // namespace
}  // namespace tessera::ops
