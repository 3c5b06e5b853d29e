module @m {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %arg1 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
