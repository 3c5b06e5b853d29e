module @forms attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {a = []}}
  sdy.mesh @empty_mesh = <[], device_ids=[3]>
  func.func public @unary(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>) {
    %0 = stablehlo.abs %arg0 : tensor<4x8xf32>
    %1 = stablehlo.cbrt %arg0 : tensor<4x8xf32>
    %2 = stablehlo.ceil %arg0 : tensor<4x8xf32>
    %3 = stablehlo.cosine %arg0 : tensor<4x8xf32>
    %4 = stablehlo.exponential %arg0 : tensor<4x8xf32>
    %5 = stablehlo.exponential_minus_one %arg0 : tensor<4x8xf32>
    %6 = stablehlo.floor %arg0 : tensor<4x8xf32>
    %7 = stablehlo.log %arg0 : tensor<4x8xf32>
    %8 = stablehlo.log_plus_one %arg0 : tensor<4x8xf32>
    %9 = stablehlo.logistic %arg0 : tensor<4x8xf32>
    %10 = stablehlo.negate %arg0 : tensor<4x8xf32>
    %11 = stablehlo.round_nearest_afz %arg0 : tensor<4x8xf32>
    %12 = stablehlo.round_nearest_even %arg0 : tensor<4x8xf32>
    %13 = stablehlo.rsqrt %arg0 : tensor<4x8xf32>
    %14 = stablehlo.sign %arg0 : tensor<4x8xf32>
    %15 = stablehlo.sine %arg0 : tensor<4x8xf32>
    %16 = stablehlo.sqrt %arg0 : tensor<4x8xf32>
    %17 = stablehlo.tan %arg0 : tensor<4x8xf32>
    %18 = stablehlo.tanh %arg0 : tensor<4x8xf32>
    %19 = stablehlo.count_leading_zeros %arg8 : tensor<4x8xi32>
    %20 = stablehlo.not %arg8 : tensor<4x8xi32>
    %21 = stablehlo.popcnt %arg8 : tensor<4x8xi32>
    return
  }
  func.func public @binary(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4x8xf32>
    %1 = stablehlo.atan2 %arg0, %arg1 : tensor<4x8xf32>
    %2 = stablehlo.divide %arg0, %arg1 : tensor<4x8xf32>
    %3 = stablehlo.maximum %arg0, %arg1 : tensor<4x8xf32>
    %4 = stablehlo.minimum %arg0, %arg1 : tensor<4x8xf32>
    %5 = stablehlo.multiply %arg0, %arg1 : tensor<4x8xf32>
    %6 = stablehlo.power %arg0, %arg1 : tensor<4x8xf32>
    %7 = stablehlo.remainder %arg0, %arg1 : tensor<4x8xf32>
    %8 = stablehlo.subtract %arg0, %arg1 : tensor<4x8xf32>
    %9 = stablehlo.and %arg8, %arg8 : tensor<4x8xi32>
    %10 = stablehlo.or %arg8, %arg8 : tensor<4x8xi32>
    %11 = stablehlo.xor %arg8, %arg8 : tensor<4x8xi32>
    %12 = stablehlo.shift_left %arg8, %arg8 : tensor<4x8xi32>
    %13 = stablehlo.shift_right_arithmetic %arg8, %arg8 : tensor<4x8xi32>
    %14 = stablehlo.shift_right_logical %arg8, %arg8 : tensor<4x8xi32>
    return
  }
  func.func public @chlo(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>) {
    %0 = chlo.acos %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = chlo.acosh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %2 = chlo.asin %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %3 = chlo.asinh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %4 = chlo.atan %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %5 = chlo.atanh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %6 = chlo.bessel_i1e %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %7 = chlo.cosh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %8 = chlo.digamma %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %9 = chlo.erf %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %10 = chlo.erf_inv %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %11 = chlo.erfc %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %12 = chlo.lgamma %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %13 = chlo.sinh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %14 = chlo.square %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %15 = chlo.tan %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %16 = chlo.next_after %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %17 = chlo.polygamma %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %18 = chlo.zeta %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %19 = chlo.mulhi %arg8, %arg8 : tensor<4x8xi32>, tensor<4x8xi32> -> tensor<4x8xi32>
    %values, %indices = chlo.top_k(%arg0, k = 2) {foo} : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %20 = chlo.is_inf %arg0 : tensor<4x8xf32> -> tensor<4x8xi1>
    %21 = chlo.conj %arg5 : tensor<4x8xcomplex<f32>> -> tensor<4x8xcomplex<f32>>
    %22 = chlo.broadcast_add %arg0, %arg0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %23 = chlo.broadcast_compare %arg0, %arg1 {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %24 = chlo.constant dense<1> : tensor<4xi32>
    %25 = "chlo.constant_like"(%arg0) <{value = 1.000000e+00 : f32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
    %26:2 = chlo.scan(%arg0) inits (%cst) dimension=0  attributes {is_reverse = false} {
    ^bb0(%input: tensor<8xf32>, %carry: tensor<8xf32>):
      stablehlo.return %input, %carry : tensor<8xf32>, tensor<8xf32>
    } : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
    %27 = chlo.broadcast_select %arg4, %arg0, %arg1 : (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return
  }
  func.func public @shapes(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c = stablehlo.constant {foo = 1 : i32} dense<[1, 2]> : tensor<2xi32>
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1 = stablehlo.convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %2 = stablehlo.convert %arg0 : tensor<4x8xf32>
    %3 = stablehlo.reshape %arg0 : (tensor<4x8xf32>) -> tensor<32xf32>
    %4 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %5 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %6 = stablehlo.reverse %arg0, dims = [0, 1] {foo} : tensor<4x8xf32>
    %7 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %8 = stablehlo.slice %arg0 [0:4, 1:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %9 = stablehlo.slice %arg2 [] : (tensor<f32>) -> tensor<f32>
    %10 = stablehlo.dynamic_slice %arg0, %arg3, %arg3, sizes = [2, 3] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %11 = stablehlo.dynamic_slice %arg2, , sizes = [] : (tensor<f32>) -> tensor<f32>
    %12 = stablehlo.dynamic_update_slice %arg0, %8, %arg3, %arg3 : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    %13 = stablehlo.pad %arg0, %arg2, low = [-1, 0], high = [0, 2], interior = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<3x17xf32>
    %14 = stablehlo.bitcast_convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xi32>
    %15 = stablehlo.is_finite %arg0 : (tensor<4x8xf32>) -> tensor<4x8xi1>
    %16 = stablehlo.reduce_precision %arg0, format = e8m7 : tensor<4x8xf32>
    %17 = stablehlo.complex %arg0, %arg1 : tensor<4x8xcomplex<f32>>
    %18 = stablehlo.real %arg5 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    %19 = stablehlo.imag %arg5 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    %20 = stablehlo.abs %arg5 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    %21 = stablehlo.select %arg4, %arg0, %arg1 : tensor<i1>, tensor<4x8xf32>
    %22 = stablehlo.clamp %arg2, %arg0, %arg2 : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %23 = stablehlo.clamp %arg0, %arg0, %arg1 : tensor<4x8xf32>
    %24 = stablehlo.compare LT, %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %25 = stablehlo.compare GE, %arg0, %arg1, TOTALORDER : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %26 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<4x8xf32>) -> tensor<i32>
    %27 = stablehlo.broadcast %arg2, sizes = [2] : (tensor<f32>) -> tensor<2xf32>
    %28 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x8xf32>
    %29 = stablehlo.tanh %arg0 : tensor<4x8xf32>
    %30 = stablehlo.dynamic_broadcast_in_dim %arg2, %arg7, dims = [] {known_expanding_dimensions = array<i64>} : (tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %31 = stablehlo.dynamic_iota %arg7, dim = 1 : (tensor<2xi64>) -> tensor<?x8xi32>
    %32 = stablehlo.set_dimension_size %arg0, %arg3, dim = 0 : (tensor<4x8xf32>, tensor<i32>) -> tensor<?x8xf32>
    %33 = stablehlo.dynamic_reshape %arg0, %arg7 : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    return
  }
  func.func public @products(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
    %2 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [] x [] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8x4x8xf32>
    %3 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %5 = stablehlo.dot %arg0, %4, precision = [DEFAULT, HIGH] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %6 = stablehlo.dot %arg0, %4 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %7 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f]x[o, i]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %8 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f]x[o, i]->[b, f], window = {stride = [], pad = []} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = []} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %9 = stablehlo.reshape %arg0 : (tensor<4x8xf32>) -> tensor<1x4x4x2xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<3x3x2x3xf32>
    %10 = stablehlo.convolution(%9, %cst) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x4x2xf32>, tensor<3x3x2x3xf32>) -> tensor<1x4x4x3xf32>
    %11 = stablehlo.convolution(%9, %cst) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 0], [-1, 2]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x3xf32>) -> tensor<1x3x3x3xf32>
    %12 = stablehlo.einsum %arg0, %arg1, config = "ab,cb->ac" : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %13 = stablehlo.unary_einsum %arg0, config = "ab->a" : (tensor<4x8xf32>) -> tensor<4xf32>
    %14 = stablehlo.fft %arg5, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    %15 = stablehlo.cholesky %arg10, lower = true : tensor<4x4xf32>
    %16 = stablehlo.cholesky %arg10 : tensor<4x4xf32>
    %17 = "stablehlo.triangular_solve"(%arg10, %arg0) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %output_state, %output = stablehlo.rng_bit_generator %arg9, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
    %18 = stablehlo.rng %arg2, %arg2, %arg7, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<3x8x5xf32>
    %c = stablehlo.constant dense<1> : tensor<3xi32>
    %19 = "chlo.ragged_dot"(%arg0, %cst_0, %c) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<3x8x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
    return
  }
  func.func public @regions(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %1:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg8 init: %arg3) across dimensions = [1] {foo} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg11: tensor<f32>, %arg13: tensor<f32>) (%arg12: tensor<i32>, %arg14: tensor<i32>)  {
      %11 = stablehlo.compare LT, %arg11, %arg13, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %12 = stablehlo.select %11, %arg12, %arg14 : tensor<i1>, tensor<i32>
      stablehlo.return %arg13, %12 : tensor<f32>, tensor<i32>
    }
    %2:2 = stablehlo.while(%iterArg = %arg3, %iterArg_0 = %arg0) : tensor<i32>, tensor<4x8xf32> attributes {foo = 1 : i32}
    cond {
      %11 = stablehlo.compare LT, %iterArg, %arg3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    } do {
      %11 = stablehlo.add %1#1, %1#1 : tensor<4xi32>
      %12 = func.call @helper(%iterArg_0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %iterArg, %12 : tensor<i32>, tensor<4x8xf32>
    }
    %3 = "stablehlo.case"(%arg3) ({
      stablehlo.return %arg0 : tensor<4x8xf32>
    }, {
      stablehlo.return %2#1 : tensor<4x8xf32>
    }) {bar = "x"} : (tensor<i32>) -> tensor<4x8xf32>
    %4 = "stablehlo.if"(%arg4) ({
      stablehlo.return %arg0 : tensor<4x8xf32>
    }, {
      stablehlo.return %arg1 : tensor<4x8xf32>
    }) : (tensor<i1>) -> tensor<4x8xf32>
    %5:2 = "stablehlo.sort"(%arg0, %arg8) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>, %arg13: tensor<i32>, %arg14: tensor<i32>):
      %11 = stablehlo.compare LT, %arg11, %arg12, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %6 = "stablehlo.reduce_window"(%arg0, %arg2) <{base_dilations = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %11 = stablehlo.maximum %arg11, %arg12 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x4xf32>
    %7 = "stablehlo.select_and_scatter"(%arg0, %6, %arg2) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %11 = stablehlo.compare GE, %arg11, %arg12, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    }, {
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %11 = stablehlo.add %arg11, %arg12 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<4x8xf32>
    %c = stablehlo.constant dense<1> : tensor<3x1xi32>
    %8 = "stablehlo.gather"(%arg0, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    %9 = "stablehlo.scatter"(%arg0, %c, %8) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      stablehlo.return %arg12 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %10 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg11: tensor<f32>):
      stablehlo.return %arg11 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return
  }
  func.func public @calls(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>, %arg11: !stablehlo.token) {
    %0 = stablehlo.custom_call @foo(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.custom_call @"foo bar"(%arg0) {api_version = 4 : i32, backend_config = {a = 1 : i64}, called_computations = [@helper]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2:2 = stablehlo.custom_call @lapack(%arg0, %arg1) {backend_config = "", mhlo.backend_config = {diag = 85 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j], []) {i=4, j=8}, custom>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<i32>)
    stablehlo.custom_call @effect() {has_side_effect = true} : () -> ()
    %3 = stablehlo.composite "foo.bar" %arg0 {composite_attributes = {factor = 5.000000e-01 : f32}, decomposition = @helper, version = 2 : i32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = call @helper(%arg0) {foo} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %5:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32>
    %6:2 = stablehlo.optimization_barrier {foo} %arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32>
    stablehlo.optimization_barrier()
    %7 = stablehlo.partition_id : tensor<ui32>
    %8 = stablehlo.replica_id {foo} : tensor<ui32>
    %9 = stablehlo.after_all %arg11, %arg11 : !stablehlo.token
    %10 = stablehlo.create_token : !stablehlo.token
    %11 = stablehlo.tuple %arg0, %arg2 : tuple<tensor<4x8xf32>, tensor<f32>>
    %12 = stablehlo.get_tuple_element %11[1] : (tuple<tensor<4x8xf32>, tensor<f32>>) -> tensor<f32>
    return
  }
  func.func public @collectives(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>) {
    %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %7 = stablehlo.add %arg11, %arg12 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %2 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %3 = "stablehlo.reduce_scatter"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %7 = stablehlo.add %arg11, %arg12 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %4 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x8xf32>) -> tensor<2x16xf32>
    %5 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %6 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return
  }
  func.func public @shardings(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i1>, %arg5: tensor<4x8xcomplex<f32>>, %arg6: tensor<3xf32>, %arg7: tensor<2xi64>, %arg8: tensor<4x8xi32>, %arg9: tensor<2xui64>, %arg10: tensor<4x4xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"y"}, {"x", ?}]> : tensor<4x8xf32>
    %1 = sdy.reshard %arg0 <@mesh, [{"x"}, {}]> {foo} : tensor<4x8xf32>
    sdy.sharding_group %arg0 group_id=21 : tensor<4x8xf32>
    %2 = sdy.constant dense<1.000000e+00> : tensor<4xf32>
    %3 = stablehlo.abs %arg1 : tensor<4x8xf32>
    %4 = stablehlo.sign %arg1 : tensor<4x8xf32>
    %5 = sdy.data_flow_edge %3 sharding=<@mesh, [{"x"}, {}]> : tensor<4x8xf32>
    %6 = sdy.data_flow_edge %4 : tensor<4x8xf32>
    %7 = sdy.propagation_barrier %arg0 allowed_direction=BACKWARD : tensor<4x8xf32>
    %8 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}p1, {"y":(1)2}], replicated={"y":(2)2}>]>} : tensor<4x8xf32>
    %9:2 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", ?}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg11: tensor<2x8xf32>) {
      %20 = stablehlo.add %arg11, %arg11 : tensor<2x8xf32>
      sdy.return %arg11, %20 : tensor<2x8xf32>, tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
      sdy.return
    } {foo} : () -> ()
    %10 = sdy.named_computation<"foo">(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] (%arg11: tensor<4x8xf32>) {
      sdy.return %arg11 : tensor<4x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.named_computation<"foo">() () {
      sdy.return
    } {foo} : () -> ()
    %11 = sdy.sharding_constraint %arg0 <@mesh, [{"y"}, {"x"}]> : tensor<4x8xf32>
    %12 = sdy.all_gather [{"y"}, {}] %11 out_sharding=<@mesh, [{}, {"x"}]> : tensor<4x8xf32>
    %13 = sdy.all_slice [{"y"}, {}] %12 out_sharding=<@mesh, [{"y"}, {"x"}]> {foo} : tensor<4x8xf32>
    %14 = sdy.all_to_all [{"y"}: 0->1] %11 out_sharding=<@mesh, [{}, {"x", "y"}]> : tensor<4x8xf32>
    %15 = sdy.collective_permute %12 out_sharding=<@mesh, [{}, {"x"}]> : tensor<4x8xf32>
    %16 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<4x8xf32>
    %17 = sdy.reduce_scatter [{"x"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<4x8xf32>
    %18 = sdy.sharded_to_unreduced [{"y"}, {}] %11 out_sharding=<@mesh, [{}, {"x"}], unreduced={"y"}> : tensor<4x8xf32>
    %19 = sdy.replicated_to_unreduced {"y"} %12 out_sharding=<@mesh, [{}, {"x"}], unreduced={"y"}> : tensor<4x8xf32>
    return
  }
  func.func private @helper(%arg0: tensor<4x8xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x8xf32> {jax.result_info = "result['\C3\A9'][0]"}) {
    return %arg0 : tensor<4x8xf32>
  }
  func.func private @declared(tensor<4x8xf32>) -> tensor<4x8xf32>
  func.func @bare() -> (tensor<i32>, tensor<i32> {mhlo.layout_mode = "{}"}) {
    %c = stablehlo.constant dense<-3> : tensor<i32>
    stablehlo.return %c, %c : tensor<i32>, tensor<i32>
  }
}
