// Lesson 15: code for one device. Types show the axes along which devices differ.
#include <tessera/tessera.h>

#include <iostream>

#include "compare.h"

using namespace tessera;

Array shown(const char* name, Array x) {
  std::cout << "  " << name << type_of(x) << "\n";
  return x;
}

// 1. Inside of shard_map an array is the array of one device. {V:x} means that it varies over
//    x: devices along x have different arrays. A value that is combined with it varies too;
//    nothing moves.
void show_arrays_of_devices(Array a, Array cut) {
  std::cout << "outside " << type_of(cut) << ", inside\n";
  auto centred = jit(shard_map(
      [](Array part) {
        shown("argument           ", part);
        shown("zeros              ", zeros({4}));
        shown("argument + zeros   ", part + zeros({4}));
        Array rows = shown("psum over x        ", psum(sum(part, 0), "x"));
        return part - rows / 8;
      },
      {.out_specs = P("x", None)}));
  Array b = centred(cut);
  std::cout << "outside " << type_of(b) << ", sent:\n" << centred.lower(cut).comm();
  compare("centred", b, a - mean(a, 0), 1e-5);
}

// 2. A collective changes the state of a value. A psum is the same on all devices: invarying. A sum
//    that is not computed yet is unreduced, {U:x}; psum_scatter gives each device a part of it.
void show_states(Array cut) {
  std::cout << "\nstates\n";
  shard_map(
      [](Array part) {
        Array index = shown("axis_index         ", axis_index("x"));
        shown("pmax of it         ", pmax(index, "x"));
        shown("axis_index, 2 axes ", axis_index({"x", "y"}));
        Array whole = shown("all_gather         ", all_gather(part, "x", {.tiled = true}));
        shown("  to invarying     ",
              all_gather(part, "x", {.tiled = true, .to = Variance::kInvarying}));
        shown("  to reduced       ",
              all_gather(part, "x", {.tiled = true, .to = Variance::kReduced}));
        Array terms = shown("pcast to unreduced ", pcast(whole, "x", Variance::kUnreduced));
        shown("  psum             ", psum(terms, "x"));
        shown("  psum_scatter     ", psum_scatter(terms, "x", {.tiled = true}));
        shown("pshift             ", pshift(part, "x", 1));
        shown("all_to_all         ", all_to_all(part, "x", 1, 0, {.tiled = true}));
        return part;
      },
      {.out_specs = P("x", None)})(cut);
}

// The loss over all devices, from the part of one device.
const auto loss = [](Array w, Array part) { return psum(sum(square(matmul(part, w))), "x"); };
// The same for a whole array.
const auto plain = [](Array w, Array x) { return sum(square(matmul(x, w))); };

// 3. The state of a gradient follows from the state of its value. w is the same on all devices, so
//    its gradient is too: the sum over devices is added automatically, and the report shows it.
void show_gradient(Array w, Array a, Array cut) {
  auto over_x = shard_map(loss, {.in_specs = {P(), P("x", None)}, .out_specs = P()});
  std::cout << "\ngradient with respect to w, sent:\n" << jit(grad(over_x)).lower(w, cut).comm();
  compare("gradient with respect to w", grad(over_x)(w, cut), grad(plain)(w, a), 1e-3);
}

// 4. Weights that are reduced over x are the same on all devices too, but their gradient
//    stays unreduced: one term per device. Micro-batches add up such terms, and one psum
//    follows the loop.
void show_micro_batches(Array w, Array a) {
  auto accumulate = [](Array w, Array batches) {
    Array weights = pcast(w, "x", Variance::kReduced);
    Array none = pcast(pcast(zeros_like(w), "x", Variance::kVarying), "x", Variance::kUnreduced);
    auto add = [&](Array g, Array part) { return std::pair(g + grad(loss)(weights, part), None); };
    return psum(scan(add, none, batches).first, "x");
  };
  auto accumulated =
      jit(shard_map(accumulate, {.in_specs = {P(), P(None, "x", None)}, .out_specs = P()}));
  Array batches = reshard(a.reshape({2, 4, 4}), P(None, "x", None));
  std::cout << "\ngradient with respect to w over two micro-batches, sent:\n"
            << accumulated.lower(w, batches).comm();
  compare("gradient with respect to w", accumulated(w, batches), grad(plain)(w, a), 1e-3);
}

// 5. Some axes can keep their mode. Over y, which is Explicit, types and ops work as usual.
void show_one_manual_axis(Array a) {
  auto partly = shard_map([](Array part) { return shown("argument           ", part) * 2; },
                          {.out_specs = P("x"), .axes = "x"});
  Array both = reshard(a, P("x", "y"));
  std::cout << "\nonly x is Manual: outside " << type_of(both) << ", inside\n";
  std::cout << "outside " << type_of(partly(both)) << "\n";
}

// 6. A fault that would occur on some device is an error while tracing.
void show_errors(Array cut) {
  auto error_of = [&](auto f, PartitionSpec out) {
    try {
      shard_map(f, {.out_specs = out})(cut);
    } catch (const ShardingError& e) {
      std::cout << "\n" << e.what() << "\n";
    }
  };
  error_of([](Array part) { return sum(part); }, P());
  error_of([](Array part) { return psum(part, "z"); }, P());
  error_of([](Array part) { return pcast(part, "x", Variance::kReduced); }, P());
  error_of([](Array part) { return ppermute(part, "x", {{0, 1}, {1, 1}}); }, P("x"));
  error_of([&](Array part) { return part + cut; }, P("x"));
  try {
    shard_map([](Array part) { return part; }, {.in_specs = P("y"), .out_specs = P("y")})(cut);
  } catch (const ShardingError& e) {
    std::cout << "\n" << e.what() << "\n";
  }
}

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  Array a = arange(32.0).reshape({8, 4}), cut = reshard(a, P("x", None));
  Array w = ones({4, 2}) / 100;
  show_arrays_of_devices(a, cut);
  show_states(cut);
  show_gradient(w, a, cut);
  show_micro_batches(w, a);
  show_one_manual_axis(a);
  show_errors(cut);
}
