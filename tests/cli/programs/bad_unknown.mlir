module {
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tosa.abs %arg0 : tensor<4xf32>
    %1 = stablehlo.frobnicate %0, dims = [0] : tensor<4xf32>
    %2 = "stablehlo.custom_call"(%1) <{call_target_name = "my_kernel"}> : (tensor<4xf32>) -> tensor<4xf32>
    %3 = stablehlo.sine %2 {speed = #my_dialect.fast<1>} : tensor<4xf32>
    %4 = "my_dialect.add"(%3, %3) : (tensor<4xf32>, tensor<4xf32>) -> !my_dialect.array
    %5 = tosa.abs %3 : tensor<4xf32>
    return %5 : tensor<4xf32>
  }
}
