// Lesson 11: functions of one example mapped over a batch, and derivatives that use this.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

Array predict(Array w, Array x) { return tanh(matmul(x, w)); }
Array loss(Array w, Array x, Array y) { return sum(square(predict(w, x) - y)); }

int main() {
  SetDeviceCount(8);

  // 1. predict takes one row. vmap maps it over a batch: here over the rows of xs, with one w. The
  //    program is one product, without a loop.
  Array w = iota({3, 2}, 0, {.dtype = f32}) * 0.1, xs = iota({4, 3}, 1, {.dtype = f32});
  auto rows = vmap(predict, {.in_dims = {None, 0}});
  std::cout << rows(w, xs) << "\n" << rows.trace(w, xs).text() << "\n";

  // 2. One gradient per example: transforms compose in any order.
  Array ys = ones({4, 2});
  Array each = vmap(grad(loss), {.in_dims = {None, 0, 0}})(w, xs, ys);
  std::cout << type_of(each) << "\n" << sqrt(sum(square(each), {1, 2})) << "\n";

  // 3. in_dims and out_dims select other dims, for each array of a tree if needed.
  auto outer_products = vmap(vmap([](Array a, Array b) { return a * b; }, {.in_dims = {None, 0}}),
                             {.in_dims = {0, None}, .out_dims = -1});
  std::cout << outer_products(arange(3.0), arange(4.0)) << "\n";

  // 4. If the predicate of a cond is mapped, both branches are computed and one is selected. A loop
  //    runs until all batch elements are done; finished elements keep their values.
  auto collatz = [](Array n) {
    auto next = [](std::pair<Array, Array> s) {
      return std::pair(where(s.first % 2 == 0, floor_divide(s.first, 2), s.first * 3 + 1),
                       s.second + 1);
    };
    return while_loop([](std::pair<Array, Array> s) { return s.first != 1; }, next,
                      std::pair(n, Array(0)))
        .second;
  };
  std::cout << vmap(collatz)(array({1, 2, 3, 7, 27})) << "\n";

  // 5. The mapped dim keeps its sharding, and nothing is sent for it. Inside, f uses the other axes
  //    as usual.
  MeshScope mesh(make_mesh({{"data", 4}, {"model", 2}}));
  Array sharded_w = reshard(w, P(None, "model")), sharded_xs = reshard(xs, P("data"));
  std::cout << type_of(rows(sharded_w, sharded_xs)) << "\n"
            << jit(rows).lower(sharded_w, sharded_xs).comm();

  // 6. Jacobians are derivatives mapped over a basis: jacfwd by columns, jacrev by rows, and
  //    hessian by both.
  auto f = [](Array v) { return sin(v) * v[{0}]; };
  Array v = array({0.5f, 1.0f, 1.5f});
  std::cout << jacfwd(f)(v) << "\n" << jacrev(f)(v) << "\n";
  std::cout << hessian([](Array x) { return sum(x * x * x); })(v) << "\n";
}
