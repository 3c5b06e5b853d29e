// Lesson 9: a custom op. Its rule states which dims may be sharded. Typing, propagation,
// partitioning and the report follow from it; a wrong rule is refused with a counter-example. A vjp
// makes the op differentiable.
#include <tessera/tessera.h>

#include <algorithm>
#include <iostream>

using namespace tessera;

// Computes x where the gate is open, else 0.
void Gate(const KernelCall& call) {
  auto x = call.in[0].data<float>(), gate = call.in[1].data<float>(),
       out = call.out[0].data<float>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = gate[i] > 0 ? x[i] : 0;
}

// Computes the largest element of each row.
void Peak(const KernelCall& call) {
  auto x = call.in[0].data<float>(), out = call.out[0].data<float>();
  auto n = call.in[0].shape()[1];
  for (size_t i = 0; i < out.size(); ++i) {
    auto row = x.subspan(i * static_cast<size_t>(n), static_cast<size_t>(n));
    out[i] = *std::max_element(row.begin(), row.end());
  }
}

int main() {
  SetDeviceCount(8);
  // 1. Names are factors: the kernel sees one shard, so b and h may be sharded over any axes.
  CustomOp gate = register_op({.name = "gate", .rule = "b h, b h -> b h", .kernel = Gate});
  // 2. A factor that the result lacks is reduced: partial results are combined by max.
  CustomOp peak =
      register_op({.name = "peak", .rule = "b h -> b reduction=max{h}", .kernel = Peak});
  std::cout << "checked at registration:\n" << peak.report();

  // 3. A rule is checked on small arrays. A sum of maxima is not a maximum:
  try {
    register_op({.name = "peak_wrong", .rule = "b h -> b", .kernel = Peak});
  } catch (const ShardingError& e) {
    std::cout << e.what() << "\n";
  }

  // 4. A reverse-mode derivative is a function of the operands, followed by the cotangents of the
  // results. It is checked too, against finite differences.
  CustomOp differentiable =
      register_op({.name = "gate_with_vjp",
                   .rule = "b h, b h -> b h",
                   .kernel = Gate,
                   .vjp = [](const std::vector<Array>& v) {
                     return std::vector<Array>{where(v[1] > 0, v[2], 0), zeros_like(v[1])};
                   }});
  auto loss = [&](Array x, Array g) { return sum(differentiable({x, g})); };
  check_grads(loss, std::tuple(ones({8, 4}), ones({8, 4})));
  std::cout << differentiable.report()
            << grad(loss)(ones({2, 2}), array({{1.0f, -1.0f}, {2.0f, -2.0f}})) << "\n";

  // 5. Over Explicit axes the ops are typed by their rules, and the report shows
  // their communication.
  MeshScope scope(make_mesh({{"data", 2}, {"model", 4}}));
  Array x = reshard(arange(32.0).reshape({8, 4}), P("data", "model"));
  auto f = jit([&](Array x) { return peak({gate({x, x - 12})}, {.out_sharding = P("data")}); });
  std::cout << type_of(gate({x, x})) << " -> " << type_of(f(x)) << "\n"
            << f(x) << "\n"
            << f.lower(x).comm();

  // 6. Over Auto axes shardings propagate through them as through any other op.
  auto g = auto_axes(
      [&](Array x) {
        return gate({with_sharding_constraint(x, P("model", Open())), x});
      },
      {.out_sharding = P("model")});
  std::cout << g.lower(ones({8, 4})).propagated();
}
