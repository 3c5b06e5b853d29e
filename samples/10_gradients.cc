// Lesson 10: gradients are programs like any other, with the shardings of their arguments.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Params {
  Array w, b;
};
TESSERA_FIELDS(Params, w, b);

Array loss(const Params& p, Array x, Array y) {
  return mean(square(tanh(matmul(x, p.w) + p.b) - y));
}

int main() {
  SetDeviceCount(8);

  // 1. grad(f) is a function that returns the derivative of f with respect to its first argument.
  //    It can be nested.
  auto cube = [](Array x) { return x * x * x; };
  std::cout << grad(cube)(2.0) << " " << grad(grad(cube))(2.0) << "\n";

  // 2. The gradient with respect to a tree is a tree. value_and_grad also returns the value.
  Params p{iota({3, 2}, 0, {.dtype = f32}) * 0.1, zeros({2})};
  Array x = iota({4, 3}, 1, {.dtype = f32}), y = ones({4, 2});
  auto [value, g] = value_and_grad(loss)(p, x, y);
  std::cout << value << "\n" << g.w << "\n" << g.b << "\n";

  // 3. Loops and branches have gradients too. The forward pass of a scan stacks the residuals of
  //    its backward pass. A while loop has no known length, so it has forward derivatives only.
  auto decayed = [](Array rate) {
    return fori_loop(
        0, 10, [&](Array, Array s) { return s * rate; }, ones({}));
  };
  std::cout << grad(decayed)(0.5) << "\n";
  auto [out, tangent] = jvp(
      [](Array v) {
        return while_loop([](Array s) { return s < 100.f; }, [](Array s) { return s * s; }, v);
      },
      Array(3.0f), Array(1.0f));
  std::cout << out << " " << tangent << "\n";

  // 4. On a mesh a gradient has the type of its argument. Data parallel: each device has the sum
  //    over its own rows, so one all_reduce completes the gradient of a replicated weight.
  MeshScope scope(make_mesh({{"data", 4}, {"model", 2}}));
  auto square_loss = [](Array w, Array x) { return sum(square(matmul(x, w))); };
  Array w = reshard(ones({8, 16}), P(None, "model")),
        rows = reshard(ones({32, 8}), P("data", None));
  auto step = jit(grad(square_loss));
  std::cout << type_of(step(w, rows)) << "\n" << step.lower(w, rows).comm();

  // 5. A weight that is reduced over "data" is the same on all devices along it, and its gradient
  //    stays unreduced: nothing is sent until you ask. Micro-batches add up such gradients, and one
  //    all_reduce follows the loop.
  auto accumulate = jit([&](Array w, Array batches) {
    Array weights = reshard(w, P(None, "model").reduced("data"));
    Array none = reshard(zeros({8, 16}), P(None, "model").unreduced("data"));
    auto add = [&](Array sum, Array x) {
      return std::pair(sum + grad(square_loss)(weights, x), None);
    };
    return reshard(scan(add, none, batches).first, P(None, "model"));
  });
  Array batches = reshard(ones({3, 32, 8}), P(None, "data", None));
  std::cout << type_of(accumulate(w, batches)) << "\n" << accumulate.lower(w, batches).comm();

  // 6. vjp runs f once and returns the map from cotangents of its result to cotangents of
  //    its arguments.
  auto [s, pullback] = vjp([](Array v) { return sin(v); }, Array(0.5f));
  std::cout << s << " " << pullback(Array(1.0f)) << "\n";
}
