// Programs of StableHLO text that are refused when they are built, each with its line.
#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "fuzz.h"
#include "tessera/error.h"
#include "tessera/stablehlo.h"
#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

// Returns the first line of the refusal of a program of these operations, which begin at line 3.
std::string ImportRefusal(const std::string& operations) {
  const std::string text = FunctionText(
      "%a: tensor<4xf32>, %m: tensor<3x4xf32>, %s: tensor<f32>, %i: tensor<4xi32>, %n: tensor<i32>",
      operations);
  return RefusalOfImport(text);
}

struct WrongProgram {
  const char *operations, *refusal;
};

void ExpectRefusals(std::initializer_list<WrongProgram> cases) {
  for (const WrongProgram& c : cases)
    EXPECT_EQ(ImportRefusal(c.operations), c.refusal) << c.operations;
}

TEST(StablehloImport, RefusesOperationsThatItDoesNotKnow) {
  ExpectRefusals({
      {"%0 = stablehlo.custom_call @mine(%a) : (tensor<4xf32>) -> tensor<4xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: this operation is not supported: "
       "stablehlo.custom_call @mine (1 time): test.mlir:3"},
      {"%0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: this operation is not supported: "
       "stablehlo.uniform_quantize (1 time): test.mlir:3"},
      {"%0 = call @other(%a) : (tensor<4xf32>) -> tensor<4xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: func.call: there is no function @other"},
      {"%0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>",
       "test.mlir:2:11: RuntimeError [stablehlo.parse]: @main calls itself"},
  });
}

TEST(StablehloImport, RefusesTypesThatDoNotFit) {
  ExpectRefusals({
      {"%0 = \"stablehlo.add\"(%a, %i) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>",
       "test.mlir:3: DTypeError in stablehlo.add [add.C13]: lhs and rhs have different dtypes, f32 "
       "and i32: convert one of them, e.g. rhs.astype(f32)"},
      {"%0 = \"stablehlo.add\"(%a, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.add: its operands have different "
       "shapes: f32[4] and f32[]"},
      {"%0 = \"stablehlo.add\"(%a) : (tensor<4xf32>) -> tensor<4xf32>",
       "test.mlir:3: ShapeError in stablehlo.add [add.C11]: it takes 2 operands, not 1"},
      {"%0 = \"stablehlo.add\"(%a, %a, %a) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> "
       "tensor<4xf32>",
       "test.mlir:3: ShapeError in stablehlo.add [add.C11]: it takes 2 operands, not 3"},
      {"%0 = \"stablehlo.abs\"(%a) : (tensor<4xf32>) -> tensor<5xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.abs: its result is f32[4], not "
       "tensor<5xf32>"},
      {"%0 = \"stablehlo.abs\"(%a) : (tensor<4xf32>) -> tensor<4xf64>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.abs: its result is f32[4], not "
       "tensor<4xf64>"},
      {"%0:2 = \"stablehlo.abs\"(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)",
       "test.mlir:3:8: RuntimeError [stablehlo.parse]: stablehlo.abs: it has 1 results, not 2"},
      {"\"stablehlo.abs\"(%a) : (tensor<4xf32>) -> ()",
       "test.mlir:3:1: RuntimeError [stablehlo.parse]: stablehlo.abs: it needs 1 result, not 0"},
      {"%0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<3xf32>",
       "test.mlir:3: ShapeError in stablehlo.reshape [reshape.C18]: 4 elements of shape [4] do not "
       "fill the shape [3]"},
      {"%0 = stablehlo.exponential %i : tensor<4xi32>",
       "test.mlir:3: DTypeError in stablehlo.exponential [exp.C14]: it takes floating and complex "
       "dtypes, not i32"},
      {"%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<?xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.convert: a result of type "
       "tensor<?xf32> is not supported"},
      {"%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.0>>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.convert: a result of type "
       "tensor<4x!quant.uniform<i8:f32, 1.0>> is not supported"},
  });
}

TEST(StablehloImport, RefusesAttributesThatDoNotFit) {
  ExpectRefusals({
      {"%0 = \"stablehlo.transpose\"(%m) : (tensor<3x4xf32>) -> tensor<4x3xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.transpose: it has no attribute "
       "permutation"},
      {"%0 = stablehlo.transpose %m, dims = [0, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>",
       "test.mlir:3: ShapeError in stablehlo.transpose [transpose.C12]: dim 0 is named twice"},
      {"%0 = stablehlo.transpose %m, dims = [0, 7] : (tensor<3x4xf32>) -> tensor<4x3xf32>",
       "test.mlir:3: ShapeError in stablehlo.transpose [transpose.C12]: there is no dim 7 in an "
       "array of rank 2"},
      {"%0 = stablehlo.broadcast_in_dim %a, dims = [2] : (tensor<4xf32>) -> tensor<3x4xf32>",
       "test.mlir:3: ShapeError in stablehlo.broadcast_in_dim [broadcast_in_dim.C12]: there is no "
       "dim 2 in an array of rank 2"},
      {"%0 = stablehlo.slice %a [0:9] : (tensor<4xf32>) -> tensor<9xf32>",
       "test.mlir:3: ShapeError in stablehlo.slice [slice.C18]: [0:9:1] is not inside dim 0 of "
       "size 4"},
      {"%0 = stablehlo.slice %m [0:2] : (tensor<3x4xf32>) -> tensor<2x4xf32>",
       "test.mlir:3: ShapeError in stablehlo.slice [slice.C17]: the array has rank 2, but the "
       "numbers of starts, limits and strides are 1, 1 and 1"},
      {"%0 = stablehlo.concatenate %a, %a, dim = 3 : (tensor<4xf32>, tensor<4xf32>) -> "
       "tensor<8xf32>",
       "test.mlir:3: ShapeError in stablehlo.concatenate [concatenate.C12]: there is no dim 3 in "
       "an array of rank 1"},
      {"%0 = stablehlo.iota dim = 1 : tensor<4xi32>",
       "test.mlir:3: ShapeError in stablehlo.iota [iota.C12]: there is no dim 1 in an array of "
       "rank 1"},
      {"%0 = stablehlo.dot_general %a, %m, contracting_dims = [0] x [0] : (tensor<4xf32>, "
       "tensor<3x4xf32>) -> tensor<4xf32>",
       "test.mlir:3: ShapeError in stablehlo.dot_general [dot_general.C18]: contracting dims 0 and "
       "0 have different sizes, 4 and 3"},
      {"%0 = stablehlo.fft %a, type = FFT, length = [4] : (tensor<4xf32>) -> tensor<4xf32>",
       "test.mlir:3: DTypeError in stablehlo.fft [fft.C14]: it takes c64 and c128, not f32"},
      {"%0 = stablehlo.pad %a, %s, low = [1, 2], high = [0], interior = [0] : (tensor<4xf32>, "
       "tensor<f32>) -> tensor<5xf32>",
       "test.mlir:3: ShapeError in stablehlo.pad [pad.C17]: the array has rank 1, but the number "
       "of paddings is 2"},
      {"%0 = \"stablehlo.transpose\"(%m) <{permutation = \"x\"}> : (tensor<3x4xf32>) -> "
       "tensor<4x3xf32>",
       "test.mlir:3:49: RuntimeError [stablehlo.parse]: expected a list of integers"},
      {"%0 = \"stablehlo.gather\"(%m, %i) <{slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, "
       "tensor<4xi32>) -> tensor<4x4xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.gather: it has no attribute "
       "dimension_numbers"},
      {"%0 = \"stablehlo.gather\"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = "
       "[1], collapsed_slice_dims = [0], start_index_map = [5], index_vector_dim = 1>, slice_sizes "
       "= array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>",
       "test.mlir:3: ShapeError in gather [gather.C12]: there is no dim 5 in an array of rank 2"},
      {"%0 = stablehlo.get_dimension_size %a, dim = 4 : (tensor<4xf32>) -> tensor<i32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.get_dimension_size: there is no "
       "such dim"},
  });
}

TEST(StablehloImport, RefusesRegionsThatDoNotFit) {
  ExpectRefusals({
      {"%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> : (tensor<4xf32>, "
       "tensor<f32>) -> tensor<f32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.reduce: it needs 1 region, not 0"},
      {"%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> ({\n^bb0(%x: "
       "tensor<f32>):\n\"stablehlo.return\"(%x) : (tensor<f32>) -> ()\n}) : (tensor<4xf32>, "
       "tensor<f32>) -> tensor<f32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.reduce: its region needs 2 "
       "arguments, not 1"},
      {"%0 = \"stablehlo.reduce\"(%a) <{dimensions = array<i64: 0>}> ({\n^bb0(%x: tensor<f32>, %y: "
       "tensor<f32>):\n\"stablehlo.return\"(%x) : (tensor<f32>) -> ()\n}) : (tensor<4xf32>) -> "
       "tensor<f32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.reduce: it needs an initial value "
       "for each array"},
      {"%0 = \"stablehlo.sort\"(%a) <{dimension = 0 : i64}> ({\n^bb0(%x: tensor<f32>, %y: "
       "tensor<f32>):\n\"stablehlo.return\"(%x) : (tensor<f32>) -> ()\n}) : (tensor<4xf32>) -> "
       "tensor<4xf32>",
       "test.mlir:3: TraceError in sort [sort.C18]: the function returns f32[], but must return "
       "the scalar bool[]"},
      {"%0 = \"stablehlo.sort\"(%a) <{dimension = 0 : i64}> ({\n^bb0(%x: tensor<f32>, %y: "
       "tensor<f32>):\n\"stablehlo.return\"() : () -> ()\n}) : (tensor<4xf32>) -> tensor<4xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.sort: its region returns 0 "
       "values, not 1"},
      {"%0 = stablehlo.while(%x = %a) : tensor<4xf32> cond {\nstablehlo.return %s : tensor<f32>\n} "
       "do {\nstablehlo.return %x : tensor<4xf32>\n}",
       "test.mlir:3: DTypeError in while_loop [while_loop.C3]: the condition must be a scalar "
       "bool, not f32[]"},
      {"%c = stablehlo.constant dense<true> : tensor<i1>\n%0 = stablehlo.while(%x = %a) : "
       "tensor<4xf32> cond {\nstablehlo.return %c : tensor<i1>\n} do {\nstablehlo.return %m : "
       "tensor<3x4xf32>\n}",
       "test.mlir:4: TraceError in while_loop [while_loop.C1]: the body changes the type of "
       "carry[0]"},
      {"%0 = \"stablehlo.case\"(%n) : (tensor<i32>) -> tensor<f32>",
       "test.mlir:3: TraceError in switch_case [switch_case.C2]: there is no branch to choose "
       "from"},
      {"%0 = \"stablehlo.case\"(%n) ({\n\"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n}, "
       "{\n\"stablehlo.return\"(%a) : (tensor<4xf32>) -> ()\n}) : (tensor<i32>) -> tensor<f32>",
       "test.mlir:3: TraceError in switch_case [switch_case.C1]: the branches return different "
       "types for result[0]"},
  });
}

TEST(StablehloImport, RefusesCustomCallsThatDoNotFit) {
  ExpectRefusals({
      {"%0 = stablehlo.custom_call @lapack_sorgqr_ffi(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> "
       "tensor<4xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.custom_call @lapack_sorgqr_ffi: "
       "it needs matrices"},
      {"%0 = stablehlo.custom_call @lapack_strsm_ffi(%m) : (tensor<3x4xf32>) -> tensor<3x4xf32>",
       "test.mlir:3:6: RuntimeError [stablehlo.parse]: stablehlo.custom_call @lapack_strsm_ffi: it "
       "needs 2 operands, not 1"},
      {"%0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%m) {mhlo.backend_config = {uplo = 76 : "
       "ui8}} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<i32>)",
       "test.mlir:3: ShapeError in lapack_spotrf_ffi [cholesky.C18]: a must be square, not 3 x 4"},
      {"%0:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %s, %n) : (tensor<4xf32>, tensor<4xi32>, "
       "tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)",
       "test.mlir:3:8: RuntimeError [stablehlo.parse]: stablehlo.custom_call @ApproxTopK: it needs "
       "one called computation"},
      {"%0:2 = stablehlo.rng_bit_generator %a, algorithm = DEFAULT : (tensor<4xf32>) -> "
       "(tensor<4xf32>, tensor<8xui32>)",
       "test.mlir:3: DTypeError in random::rng_bit_generator [random::rng_bit_generator.C14]: the "
       "state must be u32[4] or u64[2], not f32[4]"},
  });
}

// Operations with many numbers.
const char* const kNumbers = R"(
%1 = stablehlo.slice %m [0:2, 1:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>
%2 = stablehlo.pad %m, %s, low = [1, 2], high = [0, -1], interior = [1, 0] :
    (tensor<3x4xf32>, tensor<f32>) -> tensor<6x5xf32>
%3 = stablehlo.transpose %m, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
%4 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
%5 = stablehlo.concatenate %m, %4, dim = 0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
%6 = stablehlo.iota dim = 1 : tensor<4x1xi32>
%7 = "stablehlo.gather"(%m, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<4x1xi32>) -> tensor<4x4xf32>
%8 = "stablehlo.scatter"(%m, %6, %7) <{scatter_dimension_numbers = #stablehlo.scatter<
    update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
    index_vector_dim = 1>}> ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %z = stablehlo.add %x, %y : tensor<f32>
  stablehlo.return %z : tensor<f32>
}) : (tensor<3x4xf32>, tensor<4x1xi32>, tensor<4x4xf32>) -> tensor<3x4xf32>
%9 = stablehlo.dot_general %m, %3, batching_dims = [] x [], contracting_dims = [1] x [0] :
    (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
%10 = stablehlo.reduce(%m init: %s) applies stablehlo.add across dimensions = [0] :
    (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
%11 = "stablehlo.reduce_window"(%m, %s) <{window_dimensions = array<i64: 2, 2>,
    window_strides = array<i64: 1, 2>, base_dilations = array<i64: 1, 1>,
    window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %z = stablehlo.maximum %x, %y : tensor<f32>
  stablehlo.return %z : tensor<f32>
}) : (tensor<3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
%12 = "stablehlo.sort"(%m) <{dimension = 1 : i64}> ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %z = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %z : tensor<i1>
}) : (tensor<3x4xf32>) -> tensor<3x4xf32>
%13 = stablehlo.dynamic_slice %m, %n, %n, sizes = [1, 2] :
    (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
%14 = stablehlo.reshape %m : (tensor<3x4xf32>) -> tensor<1x3x4x1xf32>
%15 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<2x2x1x1xf32>
%16 = stablehlo.convolution(%14, %15) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[0, 1], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1],
    reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} :
    (tensor<1x3x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x4x1xf32>
%17 = stablehlo.fft %m, type = RFFT, length = [4] : (tensor<3x4xf32>) -> tensor<3x3xcomplex<f32>>
%18:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%m) :
    (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>)
%19 = "stablehlo.select_and_scatter"(%m, %1, %s) <{window_dimensions = array<i64: 2, 2>,
    window_strides = array<i64: 1, 2>, padding = dense<0> : tensor<2x2xi64>}> ({
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %z = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %z : tensor<i1>
}, {
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  %z = stablehlo.add %x, %y : tensor<f32>
  stablehlo.return %z : tensor<f32>
}) : (tensor<3x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<3x4xf32>
%20 = "stablehlo.torch_index_select"(%m, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> :
    (tensor<3x4xf32>, tensor<4xi32>) -> tensor<3x4xf32>
%21:3 = "stablehlo.batch_norm_training"(%m, %a, %a) <{epsilon = 1.0 : f32,
    feature_index = 1 : i64}> : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) ->
    (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>)
)";

// Returns the text with another number for one of its numbers that is not in a type or a name.
std::string WithAnotherNumber(const std::string& text, std::mt19937& engine) {
  const auto is_word = [&](size_t at) {
    return at < text.size() &&
           (isalnum(text[at]) || std::string_view("_%.#").find(text[at]) != std::string_view::npos);
  };
  std::vector<size_t> places;
  for (size_t at = 1; at < text.size(); ++at)
    if (isdigit(text[at]) && !is_word(at - 1) && !is_word(at + 1)) places.push_back(at);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(engine);
  };
  constexpr const char* kOthers[] = {"0", "1", "2", "3", "7", "-1", "-9", "1000000000"};
  std::string other = text;
  return other.replace(places[below(places.size())], 1, kOthers[below(std::size(kOthers))]);
}

TEST(StablehloImport, OfOtherNumbersIsRefusedOrMade) {
  EXPECT_EQ(ImportRefusal(kNumbers), "nothing was refused");
  std::mt19937 engine(7);
  int refused = 0;
  const int64_t count = FuzzCount(300);
  for (int64_t k = 0; k < count; ++k)
    refused += ImportRefusal(WithAnotherNumber(kNumbers, engine)) != "nothing was refused";
  EXPECT_GT(refused, count / 2);
}

}  // namespace
}  // namespace tessera::stablehlo
