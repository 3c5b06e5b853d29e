// Lesson 5: let Tessera choose shardings, and look at its choice.
//
// Types do not show Auto axes. You constrain the few values that matter; propagation carries their
// shardings through the ops to all other values, forward and backward.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

// Two constraints: rows of x over data, columns of w over model. The rest is left to propagation.
Array layer(Array x, Array w) {
  x = with_sharding_constraint(x, P("data", None));
  w = with_sharding_constraint(w, P(None, "model"));
  Array h = relu(matmul(x, w));
  return h - mean(h, 1, {.keepdims = true});
}

// The rows stay sharded over an Explicit axis; propagation lays out the columns over an Auto one.
Array mixed(Array x, Array w) {
  auto inner = [](Array x, Array w) {
    Array h = matmul(x, with_sharding_constraint(w, P(None, "model")));
    std::cout << "inside: h is " << type_of(h) << "\n";
    auto checked = [](Array t) { return std::cout << "checked: " << type_of(t) << "\n", relu(t); };
    h = explicit_axes(checked, {.axes = "model", .in_sharding = P("data", "model")})(h);
    std::cout << "after: h is " << type_of(h) << "\n";
    return h - mean(h, 1, {.keepdims = true});
  };
  return auto_axes(inner, {.axes = "model", .out_sharding = P("data", "model")})(x, w);
}

int main() {
  SetDeviceCount(8);
  Array x = arange(128.0).reshape({8, 16}) / 128, w = arange(512.0).reshape({16, 32}) / 512 - 0.5;
  std::vector<float> alone;
  {
    MeshScope one(make_mesh({{"data", 1, Auto}, {"model", 1, Auto}}));
    alone = layer(x, w).to_vector<float>();
  }
  auto report = [&](const char* how, Array y) {
    double off = max(abs(y - array(alone, {.shape = y.shape()}))).item<double>();
    std::cout << how << ": " << type_of(y) << " laid out as " << y.sharding() << ", "
              << (off < 1e-5 ? "the same numbers" : "OTHER NUMBERS") << "\n";
  };
  {
    // 1. All axes Auto. An eager op is laid out from the shardings of its operands; under jit the
    // whole program is propagated before it runs.
    MeshScope scope(make_mesh({{"data", 2, Auto}, {"model", 4, Auto}}));
    report("eager", layer(x, w));
    auto compiled = jit(layer);
    report("jit", compiled(x, w));

    // 2. The sharding of each value that propagation chose, and the communication.
    Lowered lowered = compiled.lower(x, w);
    std::cout << "\n" << lowered.propagated() << "\n" << lowered.comm() << "\n";

    // 3. Sizes need not divide: seven rows over two devices are four rows each, one of them padding
    // that affects no result. Arguments and results must divide, so they are replicated here.
    auto total = jit([](Array x) { return sum(with_sharding_constraint(x * 2, P("data")), 0); });
    Lowered uneven = total.lower(ones({7, 2}));
    std::cout << uneven.propagated() << "\n" << uneven.comm();
    std::cout << "the sum of seven twos: " << total(ones({7, 2})) << "\n\n";
  }
  // 4. Explicit axes. One function makes an axis Auto, and a function inside makes it
  // Explicit again.
  MeshScope scope(make_mesh({{"data", 2}, {"model", 4}}));
  Array rows = reshard(x, P("data", None));
  report("eager", mixed(rows, w));
  std::cout << "\n";
  report("jit", jit(mixed)(rows, w));
}
