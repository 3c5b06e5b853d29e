"builtin.module"() <{sym_name = "forms"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4]>, sym_name = "mesh"}> {stablehlo.mesh = {a = []}} : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[3]>, sym_name = "empty_mesh"}> : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>) -> (), sym_name = "unary", sym_visibility = "public"}> ({
  ^bb0(%arg121: tensor<4x8xf32>, %arg122: tensor<4x8xf32>, %arg123: tensor<f32>, %arg124: tensor<i32>, %arg125: tensor<i1>, %arg126: tensor<4x8xcomplex<f32>>, %arg127: tensor<3xf32>, %arg128: tensor<2xi64>, %arg129: tensor<4x8xi32>, %arg130: tensor<2xui64>, %arg131: tensor<4x4xf32>):
    %171 = "stablehlo.abs"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %172 = "stablehlo.cbrt"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %173 = "stablehlo.ceil"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %174 = "stablehlo.cosine"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %175 = "stablehlo.exponential"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %176 = "stablehlo.exponential_minus_one"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %177 = "stablehlo.floor"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %178 = "stablehlo.log"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %179 = "stablehlo.log_plus_one"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %180 = "stablehlo.logistic"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %181 = "stablehlo.negate"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %182 = "stablehlo.round_nearest_afz"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %183 = "stablehlo.round_nearest_even"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %184 = "stablehlo.rsqrt"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %185 = "stablehlo.sign"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %186 = "stablehlo.sine"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %187 = "stablehlo.sqrt"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %188 = "stablehlo.tan"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %189 = "stablehlo.tanh"(%arg121) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %190 = "stablehlo.count_leading_zeros"(%arg129) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    %191 = "stablehlo.not"(%arg129) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    %192 = "stablehlo.popcnt"(%arg129) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>) -> (), sym_name = "binary", sym_visibility = "public"}> ({
  ^bb0(%arg110: tensor<4x8xf32>, %arg111: tensor<4x8xf32>, %arg112: tensor<f32>, %arg113: tensor<i32>, %arg114: tensor<i1>, %arg115: tensor<4x8xcomplex<f32>>, %arg116: tensor<3xf32>, %arg117: tensor<2xi64>, %arg118: tensor<4x8xi32>, %arg119: tensor<2xui64>, %arg120: tensor<4x4xf32>):
    %156 = "stablehlo.add"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %157 = "stablehlo.atan2"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %158 = "stablehlo.divide"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %159 = "stablehlo.maximum"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %160 = "stablehlo.minimum"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %161 = "stablehlo.multiply"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %162 = "stablehlo.power"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %163 = "stablehlo.remainder"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %164 = "stablehlo.subtract"(%arg110, %arg111) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %165 = "stablehlo.and"(%arg118, %arg118) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    %166 = "stablehlo.or"(%arg118, %arg118) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    %167 = "stablehlo.xor"(%arg118, %arg118) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    %168 = "stablehlo.shift_left"(%arg118, %arg118) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    %169 = "stablehlo.shift_right_arithmetic"(%arg118, %arg118) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    %170 = "stablehlo.shift_right_logical"(%arg118, %arg118) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>) -> (), sym_name = "chlo", sym_visibility = "public"}> ({
  ^bb0(%arg97: tensor<4x8xf32>, %arg98: tensor<4x8xf32>, %arg99: tensor<f32>, %arg100: tensor<i32>, %arg101: tensor<i1>, %arg102: tensor<4x8xcomplex<f32>>, %arg103: tensor<3xf32>, %arg104: tensor<2xi64>, %arg105: tensor<4x8xi32>, %arg106: tensor<2xui64>, %arg107: tensor<4x4xf32>):
    %126 = "chlo.acos"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %127 = "chlo.acosh"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %128 = "chlo.asin"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %129 = "chlo.asinh"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %130 = "chlo.atan"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %131 = "chlo.atanh"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %132 = "chlo.bessel_i1e"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %133 = "chlo.cosh"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %134 = "chlo.digamma"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %135 = "chlo.erf"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %136 = "chlo.erf_inv"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %137 = "chlo.erfc"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %138 = "chlo.lgamma"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %139 = "chlo.sinh"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %140 = "chlo.square"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %141 = "chlo.tan"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %142 = "chlo.next_after"(%arg97, %arg98) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %143 = "chlo.polygamma"(%arg97, %arg98) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %144 = "chlo.zeta"(%arg97, %arg98) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %145 = "chlo.mulhi"(%arg105, %arg105) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    %146:2 = "chlo.top_k"(%arg97) <{k = 2 : i64}> {foo} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %147 = "chlo.is_inf"(%arg97) : (tensor<4x8xf32>) -> tensor<4x8xi1>
    %148 = "chlo.conj"(%arg102) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    %149 = "chlo.broadcast_add"(%arg97, %arg97) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %150 = "chlo.broadcast_compare"(%arg97, %arg98) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %151 = "chlo.constant"() <{value = dense<1> : tensor<4xi32>}> : () -> tensor<4xi32>
    %152 = "chlo.constant_like"(%arg97) <{value = 1.000000e+00 : f32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %153 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<8xf32>}> : () -> tensor<8xf32>
    %154:2 = "chlo.scan"(%arg97, %153) <{dimension = 0 : i64, is_reverse = false, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg108: tensor<8xf32>, %arg109: tensor<8xf32>):
      "stablehlo.return"(%arg108, %arg109) : (tensor<8xf32>, tensor<8xf32>) -> ()
    }) : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
    %155 = "chlo.broadcast_select"(%arg101, %arg97, %arg98) : (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>) -> (), sym_name = "shapes", sym_visibility = "public"}> ({
  ^bb0(%arg86: tensor<4x8xf32>, %arg87: tensor<4x8xf32>, %arg88: tensor<f32>, %arg89: tensor<i32>, %arg90: tensor<i1>, %arg91: tensor<4x8xcomplex<f32>>, %arg92: tensor<3xf32>, %arg93: tensor<2xi64>, %arg94: tensor<4x8xi32>, %arg95: tensor<2xui64>, %arg96: tensor<4x4xf32>):
    %90 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %91 = "stablehlo.constant"() <{value = dense<[1, 2]> : tensor<2xi32>}> {foo = 1 : i32} : () -> tensor<2xi32>
    %92 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %93 = "stablehlo.convert"(%arg86) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %94 = "stablehlo.convert"(%arg86) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %95 = "stablehlo.reshape"(%arg86) : (tensor<4x8xf32>) -> tensor<32xf32>
    %96 = "stablehlo.broadcast_in_dim"(%arg88) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %97 = "stablehlo.transpose"(%arg86) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %98 = "stablehlo.reverse"(%arg86) <{dimensions = array<i64: 0, 1>}> {foo} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %99 = "stablehlo.concatenate"(%arg86, %arg87) <{dimension = 0 : i64}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %100 = "stablehlo.slice"(%arg86) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 2>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %101 = "stablehlo.slice"(%arg88) <{limit_indices = array<i64>, start_indices = array<i64>, strides = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %102 = "stablehlo.dynamic_slice"(%arg86, %arg89, %arg89) <{slice_sizes = array<i64: 2, 3>}> : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %103 = "stablehlo.dynamic_slice"(%arg88) <{slice_sizes = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %104 = "stablehlo.dynamic_update_slice"(%arg86, %100, %arg89, %arg89) : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    %105 = "stablehlo.pad"(%arg86, %arg88) <{edge_padding_high = array<i64: 0, 2>, edge_padding_low = array<i64: -1, 0>, interior_padding = array<i64: 0, 1>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<3x17xf32>
    %106 = "stablehlo.bitcast_convert"(%arg86) : (tensor<4x8xf32>) -> tensor<4x8xi32>
    %107 = "stablehlo.is_finite"(%arg86) : (tensor<4x8xf32>) -> tensor<4x8xi1>
    %108 = "stablehlo.reduce_precision"(%arg86) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %109 = "stablehlo.complex"(%arg86, %arg87) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>
    %110 = "stablehlo.real"(%arg91) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    %111 = "stablehlo.imag"(%arg91) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    %112 = "stablehlo.abs"(%arg91) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    %113 = "stablehlo.select"(%arg90, %arg86, %arg87) : (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %114 = "stablehlo.clamp"(%arg88, %arg86, %arg88) : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %115 = "stablehlo.clamp"(%arg86, %arg86, %arg87) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %116 = "stablehlo.compare"(%arg86, %arg87) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %117 = "stablehlo.compare"(%arg86, %arg87) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %118 = "stablehlo.get_dimension_size"(%arg86) <{dimension = 0 : i64}> : (tensor<4x8xf32>) -> tensor<i32>
    %119 = "stablehlo.broadcast"(%arg88) <{broadcast_sizes = array<i64: 2>}> : (tensor<f32>) -> tensor<2xf32>
    %120 = "stablehlo.exponential"(%arg86) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %121 = "stablehlo.tanh"(%arg86) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %122 = "stablehlo.dynamic_broadcast_in_dim"(%arg88, %arg93) <{broadcast_dimensions = array<i64>, known_expanding_dimensions = array<i64>}> : (tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %123 = "stablehlo.dynamic_iota"(%arg93) <{iota_dimension = 1 : i64}> : (tensor<2xi64>) -> tensor<?x8xi32>
    %124 = "stablehlo.set_dimension_size"(%arg86, %arg89) <{dimension = 0 : i64}> : (tensor<4x8xf32>, tensor<i32>) -> tensor<?x8xf32>
    %125 = "stablehlo.dynamic_reshape"(%arg86, %arg93) : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>) -> (), sym_name = "products", sym_visibility = "public"}> ({
  ^bb0(%arg75: tensor<4x8xf32>, %arg76: tensor<4x8xf32>, %arg77: tensor<f32>, %arg78: tensor<i32>, %arg79: tensor<i1>, %arg80: tensor<4x8xcomplex<f32>>, %arg81: tensor<3xf32>, %arg82: tensor<2xi64>, %arg83: tensor<4x8xi32>, %arg84: tensor<2xui64>, %arg85: tensor<4x4xf32>):
    %66 = "stablehlo.dot_general"(%arg75, %arg76) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %67 = "stablehlo.dot_general"(%arg75, %arg76) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
    %68 = "stablehlo.dot_general"(%arg75, %arg76) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8x4x8xf32>
    %69 = "stablehlo.dot_general"(%arg75, %arg76) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %70 = "stablehlo.transpose"(%arg75) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %71 = "stablehlo.dot"(%arg75, %70) <{precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]}> : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %72 = "stablehlo.dot"(%arg75, %70) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %73 = "stablehlo.convolution"(%arg75, %arg76) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[o, i]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %74 = "stablehlo.convolution"(%arg75, %arg76) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[o, i]->[b, f]>, feature_group_count = 1 : i64, padding = dense<> : tensor<0x2xi64>, precision_config = [], window_strides = array<i64>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %75 = "stablehlo.reshape"(%arg75) : (tensor<4x8xf32>) -> tensor<1x4x4x2xf32>
    %76 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<3x3x2x3xf32>}> : () -> tensor<3x3x2x3xf32>
    %77 = "stablehlo.convolution"(%75, %76) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<1> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>}> : (tensor<1x4x4x2xf32>, tensor<3x3x2x3xf32>) -> tensor<1x4x4x3xf32>
    %78 = "stablehlo.convolution"(%75, %76) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<[[1, 0], [-1, 2]]> : tensor<2x2xi64>, window_reversal = array<i1: true, false>}> : (tensor<1x4x4x2xf32>, tensor<3x3x2x3xf32>) -> tensor<1x3x3x3xf32>
    %79 = "stablehlo.einsum"(%arg75, %arg76) <{einsum_config = "ab,cb->ac"}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %80 = "stablehlo.unary_einsum"(%arg75) <{einsum_config = "ab->a"}> : (tensor<4x8xf32>) -> tensor<4xf32>
    %81 = "stablehlo.fft"(%arg80) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    %82 = "stablehlo.cholesky"(%arg85) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %83 = "stablehlo.cholesky"(%arg85) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %84 = "stablehlo.triangular_solve"(%arg85, %arg75) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %85:2 = "stablehlo.rng_bit_generator"(%arg84) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
    %86 = "stablehlo.rng"(%arg77, %arg77, %arg82) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %87 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<3x8x5xf32>}> : () -> tensor<3x8x5xf32>
    %88 = "stablehlo.constant"() <{value = dense<1> : tensor<3xi32>}> : () -> tensor<3xi32>
    %89 = "chlo.ragged_dot"(%arg75, %87, %88) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<3x8x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>) -> (), sym_name = "regions", sym_visibility = "public"}> ({
  ^bb0(%arg41: tensor<4x8xf32>, %arg42: tensor<4x8xf32>, %arg43: tensor<f32>, %arg44: tensor<i32>, %arg45: tensor<i1>, %arg46: tensor<4x8xcomplex<f32>>, %arg47: tensor<3xf32>, %arg48: tensor<2xi64>, %arg49: tensor<4x8xi32>, %arg50: tensor<2xui64>, %arg51: tensor<4x4xf32>):
    %44 = "stablehlo.reduce"(%arg41, %arg43) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg73: tensor<f32>, %arg74: tensor<f32>):
      %65 = "stablehlo.add"(%arg73, %arg74) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%65) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %45:2 = "stablehlo.reduce"(%arg41, %arg49, %arg43, %arg44) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg69: tensor<f32>, %arg70: tensor<i32>, %arg71: tensor<f32>, %arg72: tensor<i32>):
      %63 = "stablehlo.compare"(%arg69, %arg71) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %64 = "stablehlo.select"(%63, %arg70, %arg72) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg71, %64) : (tensor<f32>, tensor<i32>) -> ()
    }) {foo} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    %46:2 = "stablehlo.while"(%arg44, %arg41) ({
    ^bb0(%arg67: tensor<i32>, %arg68: tensor<4x8xf32>):
      %62 = "stablehlo.compare"(%arg67, %arg44) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%62) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg65: tensor<i32>, %arg66: tensor<4x8xf32>):
      %60 = "stablehlo.add"(%45#1, %45#1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
      %61 = "func.call"(%arg66) <{callee = @helper}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      "stablehlo.return"(%arg65, %61) : (tensor<i32>, tensor<4x8xf32>) -> ()
    }) {foo = 1 : i32} : (tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>)
    %47 = "stablehlo.case"(%arg44) ({
      "stablehlo.return"(%arg41) : (tensor<4x8xf32>) -> ()
    }, {
      "stablehlo.return"(%46#1) : (tensor<4x8xf32>) -> ()
    }) {bar = "x"} : (tensor<i32>) -> tensor<4x8xf32>
    %48 = "stablehlo.if"(%arg45) ({
      "stablehlo.return"(%arg41) : (tensor<4x8xf32>) -> ()
    }, {
      "stablehlo.return"(%arg42) : (tensor<4x8xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4x8xf32>
    %49:2 = "stablehlo.sort"(%arg41, %arg49) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg61: tensor<f32>, %arg62: tensor<f32>, %arg63: tensor<i32>, %arg64: tensor<i32>):
      %59 = "stablehlo.compare"(%arg61, %arg62) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%59) : (tensor<i1>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %50 = "stablehlo.reduce_window"(%arg41, %arg43) <{base_dilations = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%arg59: tensor<f32>, %arg60: tensor<f32>):
      %58 = "stablehlo.maximum"(%arg59, %arg60) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%58) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x4xf32>
    %51 = "stablehlo.select_and_scatter"(%arg41, %50, %arg43) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%arg57: tensor<f32>, %arg58: tensor<f32>):
      %57 = "stablehlo.compare"(%arg57, %arg58) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%57) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg55: tensor<f32>, %arg56: tensor<f32>):
      %56 = "stablehlo.add"(%arg55, %arg56) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%56) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<4x8xf32>
    %52 = "stablehlo.constant"() <{value = dense<1> : tensor<3x1xi32>}> : () -> tensor<3x1xi32>
    %53 = "stablehlo.gather"(%arg41, %52) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    %54 = "stablehlo.scatter"(%arg41, %52, %53) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg53: tensor<f32>, %arg54: tensor<f32>):
      "stablehlo.return"(%arg54) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %55 = "stablehlo.map"(%arg41) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg52: tensor<f32>):
      "stablehlo.return"(%arg52) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>, !stablehlo.token) -> (), sym_name = "calls", sym_visibility = "public"}> ({
  ^bb0(%arg29: tensor<4x8xf32>, %arg30: tensor<4x8xf32>, %arg31: tensor<f32>, %arg32: tensor<i32>, %arg33: tensor<i1>, %arg34: tensor<4x8xcomplex<f32>>, %arg35: tensor<3xf32>, %arg36: tensor<2xi64>, %arg37: tensor<4x8xi32>, %arg38: tensor<2xui64>, %arg39: tensor<4x4xf32>, %arg40: !stablehlo.token):
    %31 = "stablehlo.custom_call"(%arg29) <{call_target_name = "foo"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %32 = "stablehlo.custom_call"(%arg29) <{api_version = 4 : i32, backend_config = {a = 1 : i64}, call_target_name = "foo bar", called_computations = [@helper]}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %33:2 = "stablehlo.custom_call"(%arg29, %arg30) <{api_version = 1 : i32, backend_config = "", call_target_name = "lapack", called_computations = [], has_side_effect = false, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]}> {mhlo.backend_config = {diag = 85 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j], []) {i=4, j=8}, custom>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<i32>)
    "stablehlo.custom_call"() <{call_target_name = "effect", has_side_effect = true}> : () -> ()
    %34 = "stablehlo.composite"(%arg29) <{composite_attributes = {factor = 5.000000e-01 : f32}, decomposition = @helper, name = "foo.bar", version = 2 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %35 = "func.call"(%arg29) <{callee = @helper}> {foo} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %36:2 = "stablehlo.optimization_barrier"(%arg29, %arg30) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %37:2 = "stablehlo.optimization_barrier"(%arg29, %arg30) {foo} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    "stablehlo.optimization_barrier"() : () -> ()
    %38 = "stablehlo.partition_id"() : () -> tensor<ui32>
    %39 = "stablehlo.replica_id"() {foo} : () -> tensor<ui32>
    %40 = "stablehlo.after_all"(%arg40, %arg40) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %41 = "stablehlo.create_token"() : () -> !stablehlo.token
    %42 = "stablehlo.tuple"(%arg29, %arg31) : (tensor<4x8xf32>, tensor<f32>) -> tuple<tensor<4x8xf32>, tensor<f32>>
    %43 = "stablehlo.get_tuple_element"(%42) <{index = 1 : i32}> : (tuple<tensor<4x8xf32>, tensor<f32>>) -> tensor<f32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>) -> (), sym_name = "collectives", sym_visibility = "public"}> ({
  ^bb0(%arg14: tensor<4x8xf32>, %arg15: tensor<4x8xf32>, %arg16: tensor<f32>, %arg17: tensor<i32>, %arg18: tensor<i1>, %arg19: tensor<4x8xcomplex<f32>>, %arg20: tensor<3xf32>, %arg21: tensor<2xi64>, %arg22: tensor<4x8xi32>, %arg23: tensor<2xui64>, %arg24: tensor<4x4xf32>):
    %22 = "stablehlo.all_reduce"(%arg14) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%arg27: tensor<f32>, %arg28: tensor<f32>):
      %30 = "stablehlo.add"(%arg27, %arg28) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%30) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %23 = "stablehlo.all_gather"(%arg14) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %24 = "stablehlo.all_gather"(%arg14) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %25 = "stablehlo.reduce_scatter"(%arg14) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%arg25: tensor<f32>, %arg26: tensor<f32>):
      %29 = "stablehlo.add"(%arg25, %arg26) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%29) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %26 = "stablehlo.all_to_all"(%arg14) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x8xf32>) -> tensor<2x16xf32>
    %27 = "stablehlo.collective_permute"(%arg14) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %28 = "stablehlo.collective_broadcast"(%arg14) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<i32>, tensor<i1>, tensor<4x8xcomplex<f32>>, tensor<3xf32>, tensor<2xi64>, tensor<4x8xi32>, tensor<2xui64>, tensor<4x4xf32>) -> (), sym_name = "shardings", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i1>, %arg6: tensor<4x8xcomplex<f32>>, %arg7: tensor<3xf32>, %arg8: tensor<2xi64>, %arg9: tensor<4x8xi32>, %arg10: tensor<2xui64>, %arg11: tensor<4x4xf32>):
    %1 = "sdy.sharding_constraint"(%arg1) <{sharding = #sdy.sharding<@mesh, [{"y"}, {"x", ?}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "sdy.reshard"(%arg1) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> {foo} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "sdy.sharding_group"(%arg1) <{group_id = 21 : i64}> : (tensor<4x8xf32>) -> ()
    %3 = "sdy.constant"() <{value = dense<1.000000e+00> : tensor<4xf32>}> : () -> tensor<4xf32>
    %4 = "stablehlo.abs"(%arg2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %5 = "stablehlo.sign"(%arg2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %6 = "sdy.data_flow_edge"(%4) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %7 = "sdy.data_flow_edge"(%5) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %8 = "sdy.propagation_barrier"(%arg1) <{allowed_direction = 2 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %9 = "stablehlo.add"(%arg1, %arg2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}p1, {"y":(1)2}], replicated={"y":(2)2}>]>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %10:2 = "sdy.manual_computation"(%arg1) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]>}> ({
    ^bb0(%arg13: tensor<2x8xf32>):
      %21 = "stablehlo.add"(%arg13, %arg13) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      "sdy.return"(%arg13, %21) : (tensor<2x8xf32>, tensor<2x8xf32>) -> ()
    }) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    "sdy.manual_computation"() <{in_shardings = #sdy.sharding_per_value<[]>, manual_axes = #sdy<manual_axes{}>, out_shardings = #sdy.sharding_per_value<[]>}> ({
      "sdy.return"() : () -> ()
    }) {foo} : () -> ()
    %11 = "sdy.named_computation"(%arg1) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, name = "foo", out_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>}> ({
    ^bb0(%arg12: tensor<4x8xf32>):
      "sdy.return"(%arg12) : (tensor<4x8xf32>) -> ()
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "sdy.named_computation"() <{name = "foo"}> ({
      "sdy.return"() : () -> ()
    }) {foo} : () -> ()
    %12 = "sdy.sharding_constraint"(%arg1) <{sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %13 = "sdy.all_gather"(%12) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"y"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %14 = "sdy.all_slice"(%13) <{out_sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>, slicing_axes = #sdy<list_of_axis_ref_lists[{"y"}, {}]>}> {foo} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %15 = "sdy.all_to_all"(%12) <{out_sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>, params = #sdy<all_to_all_param_list[{"y"}: 0->1]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %16 = "sdy.collective_permute"(%13) <{out_sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %17 = "sdy.all_reduce"(%arg1) <{out_sharding = #sdy.sharding<@mesh, [{}, {}]>, reduction_axes = #sdy<axis_ref_list{"x"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %18 = "sdy.reduce_scatter"(%arg1) <{out_sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{"x"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %19 = "sdy.sharded_to_unreduced"(%12) <{axes = #sdy<list_of_axis_ref_lists[{"y"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {"x"}], unreduced={"y"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %20 = "sdy.replicated_to_unreduced"(%13) <{axes = #sdy<axis_ref_list{"y"}>, out_sharding = #sdy.sharding<@mesh, [{}, {"x"}], unreduced={"y"}>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}], function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, res_attrs = [{jax.result_info = "result['\C3\A9'][0]"}], sym_name = "helper", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4x8xf32>):
    "func.return"(%arg0) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, sym_name = "declared", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = () -> (tensor<i32>, tensor<i32>), res_attrs = [{}, {mhlo.layout_mode = "{}"}], sym_name = "bare"}> ({
    %0 = "stablehlo.constant"() <{value = dense<-3> : tensor<i32>}> : () -> tensor<i32>
    "stablehlo.return"(%0, %0) : (tensor<i32>, tensor<i32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
