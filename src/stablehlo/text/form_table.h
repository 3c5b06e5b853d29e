// The table of the pretty forms of operations.
#pragma once

namespace tessera::stablehlo {

// Formats are words apart by blanks, much as in MLIR's assemblyFormat:
//   %           an operand; %* operands apart by commas, perhaps none; %, each with a comma after
//   it kind:NAME   an attribute of that name; word:TYPE:NAME and axes:TYPE:NAME have a type of
//   their own attrs       `{...}`, if there is one :same ...   a colon and types, in one of several
//   ways
//   ?( T ... )? is there if the token T is
//   others      as they are
struct FormFamily {
  const char* dialect;
  const char* format;
  const char* operations;
};

inline constexpr FormFamily kFormFamilies[] = {
    {"stablehlo", "% attrs :same",
     "abs cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one floor "
     "imag "
     "log log_plus_one logistic negate not popcnt real round_nearest_afz round_nearest_even rsqrt "
     "sign sine sqrt tan tanh uniform_dequantize uniform_quantize"},
    {"stablehlo", "% , % attrs :same",
     "add and atan2 divide maximum minimum multiply or power remainder shift_left "
     "shift_right_arithmetic shift_right_logical subtract xor"},
    {"stablehlo", "% , % , % attrs :same", "clamp"},
    {"stablehlo", "% , % , % attrs :select", "select"},
    {"stablehlo", "% , % attrs :complex", "complex"},
    {"stablehlo", "%* attrs :function",
     "bitcast_convert dynamic_pad dynamic_reshape dynamic_update_slice is_finite "
     "real_dynamic_slice "
     "reshape"},
    {"stablehlo", "attrs :results", "create_token partition_id replica_id"},
    {"stablehlo", "%* attrs :same", "after_all"},
    {"stablehlo", "%* attrs :tuple", "tuple"},
    {"stablehlo", "% [ int32:index ] attrs :function", "get_tuple_element"},
    {"stablehlo", "attrs %*or() :pairs", "optimization_barrier"},
    {"stablehlo", "attrs value", "constant"},
    {"chlo", "attrs value", "constant"},
    {"sdy", "attrs value", "constant"},
    {"stablehlo", "dim = int:iota_dimension attrs :results", "iota"},
    {"stablehlo", "% , dim = int:iota_dimension attrs :function", "dynamic_iota"},
    {"stablehlo",
     "word:stablehlo.comparison_direction:comparison_direction , % , % "
     "?( , word:stablehlo.comparison_type:compare_type )? attrs :function",
     "compare"},
    {"stablehlo", "% , sizes = numbers:broadcast_sizes attrs :function", "broadcast"},
    {"stablehlo", "% , dims = numbers:broadcast_dimensions attrs :function", "broadcast_in_dim"},
    {"stablehlo", "% , % , dims = numbers:broadcast_dimensions attrs :function",
     "dynamic_broadcast_in_dim"},
    {"stablehlo", "% , dims = numbers:permutation attrs :function", "transpose"},
    {"stablehlo", "% , dims = numbers:dimensions attrs :same", "reverse"},
    {"stablehlo", "%, dim = int:dimension attrs :function",
     "concatenate get_dimension_size set_dimension_size"},
    {"stablehlo", "% ranges attrs :function", "slice"},
    {"stablehlo", "%, ?( , )? sizes = numbers:slice_sizes attrs :function", "dynamic_slice"},
    {"stablehlo",
     "% , % , low = numbers:edge_padding_low , high = numbers:edge_padding_high , "
     "interior = numbers:interior_padding attrs :function",
     "pad"},
    {"stablehlo", "% , % precision attrs :function", "dot"},
    {"stablehlo", "% , % dot_dims precision attrs :function", "dot_general"},
    {"stablehlo", "( %* ) dim_numbers = convolution , window = { window_parts } attrs :function",
     "convolution dynamic_conv"},
    {"stablehlo",
     "% , type = word:stablehlo.fft_type:fft_type , length = numbers:fft_length attrs "
     ":function",
     "fft"},
    {"stablehlo", "% ?( , lower = bool:lower )? attrs :same", "cholesky"},
    {"stablehlo", "% , format = e_m attrs :same", "reduce_precision"},
    {"stablehlo",
     "% , % , % , distribution = word:stablehlo.rng_distribution:rng_distribution attrs :function",
     "rng"},
    {"stablehlo", "% , algorithm = word:stablehlo.rng_algorithm:rng_algorithm attrs :function",
     "rng_bit_generator"},
    {"stablehlo", "% , % , config = string:einsum_config attrs :function", "einsum"},
    {"stablehlo", "% , config = string:einsum_config attrs :function", "unary_einsum"},
    {"stablehlo", "target:call_target_name ( %* ) attrs :function", "custom_call"},
    {"stablehlo", "string:name %* attrs :function", "composite"},
    {"stablehlo", "reduce", "reduce"},
    {"stablehlo", "while", "while"},
    {"chlo", "scan", "scan"},
    {"stablehlo", "attrs %* attrs :operands", "return"},
    {"func", "attrs %* attrs :operands", "return"},
    {"func", "symbol:callee ( %* ) attrs :function", "call"},
    {"chlo", "% attrs :arrow",
     "_asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv "
     "erfc is_inf is_neg_inf is_pos_inf lgamma sinh square tan"},
    {"chlo", "% , % attrs :arrow", "mulhi next_after polygamma zeta"},
    {"chlo", "%* attrs :function",
     "broadcast_add broadcast_and broadcast_atan2 broadcast_compare broadcast_complex "
     "broadcast_divide broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after "
     "broadcast_or broadcast_polygamma broadcast_power broadcast_remainder broadcast_select "
     "broadcast_shift_left broadcast_shift_right_arithmetic broadcast_shift_right_logical "
     "broadcast_subtract broadcast_xor broadcast_zeta"},
    {"chlo", "( % , k = int:k ) attrs :arrow", "top_k"},
    {"sdy", "% sharding:sharding attrs :same", "reshard sharding_constraint"},
    {"sdy", "% group_id = int:group_id attrs :operands", "sharding_group"},
    {"sdy", "% ?( sharding = sharding:sharding )? attrs :same",
     "data_flow_edge func_data_flow_edge"},
    {"sdy", "% allowed_direction = direction:allowed_direction attrs :same", "propagation_barrier"},
    {"sdy",
     "axes:sdy.list_of_axis_ref_lists:gathering_axes % out_sharding = sharding:out_sharding attrs "
     ":same",
     "all_gather"},
    {"sdy",
     "axes:sdy.list_of_axis_ref_lists:slicing_axes % out_sharding = sharding:out_sharding attrs "
     ":same",
     "all_slice"},
    {"sdy",
     "axes:sdy.list_of_axis_ref_lists:reduce_scatter_axes % out_sharding = sharding:out_sharding "
     "attrs :same",
     "reduce_scatter"},
    {"sdy",
     "axes:sdy.list_of_axis_ref_lists:axes % out_sharding = sharding:out_sharding attrs :same",
     "sharded_to_unreduced"},
    {"sdy", "axes:sdy.axis_ref_list:axes % out_sharding = sharding:out_sharding attrs :same",
     "replicated_to_unreduced"},
    {"sdy",
     "axes:sdy.axis_ref_list:reduction_axes % out_sharding = sharding:out_sharding attrs :same",
     "all_reduce"},
    {"sdy",
     "axes:sdy.all_to_all_param_list:params % out_sharding = sharding:out_sharding attrs :same",
     "all_to_all"},
    {"sdy", "% out_sharding = sharding:out_sharding attrs :same", "collective_permute"},
    {"sdy",
     "( %* ) in_shardings = shardings:in_shardings out_shardings = shardings:out_shardings "
     "manual_axes = axes:sdy.manual_axes:manual_axes region attrs :function",
     "manual_computation"},
    {"sdy",
     "< string:name > ( %* ) ?( in_shardings = shardings:in_shardings )? "
     "?( out_shardings = shardings:out_shardings )? region attrs :function",
     "named_computation"},
    {"sdy", "attrs %* attrs :operands", "return"},
};

}  // namespace tessera::stablehlo
