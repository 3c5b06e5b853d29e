#loc1 = loc("model.py":12:8)
#loc2 = loc("model.py":13:8)
#loc3 = loc("model.py":20:4)
module @jit_step {
  sdy.mesh @mesh = <["data"=2, "model"=4]>
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x"), %arg1: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("params['up']"), %arg2: tensor<64x16xf32> loc("params['down']")) -> tensor<8x16xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32> loc("jit(step)/mlp/up/dot_general"(#loc1))
    %1 = stablehlo.tanh %0 : tensor<8x64xf32> loc("jit(step)/mlp/tanh"(#loc1))
    %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32> loc("jit(step)/mlp/down/dot_general"(#loc2))
    %3 = stablehlo.add %2, %arg0 : tensor<8x16xf32> loc("jit(step)/transpose(jvp(residual))/add"(#loc3))
    return %3 : tensor<8x16xf32>
  }
}
