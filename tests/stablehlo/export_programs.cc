// Whole programs for scripts/check_xla: with shardings over Explicit and Auto axes, with manual
// computations, loops and branches, and derivatives of these.
#include "stablehlo/export_programs.h"

#include <tessera/stablehlo.h>

#include "suite/random_program.h"

namespace tessera::stablehlo_samples {
namespace {

using Arrays = std::vector<Array>;

Array Numbers(std::vector<int64_t> shape, double scale = 1) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return (sin(arange(static_cast<double>(n)) * 1.7).reshape(shape) * scale).astype(f32);
}

const auto kLoss = [](Array x, Array w, Array v) {
  return mean(square(matmul(tanh(matmul(x, w)), v)));
};
// The rows of x are sharded over x, the hidden dim over y.
const auto kExplicitLoss = [](Array x, Array w, Array v) {
  return mean(square(matmul(tanh(matmul(x, w)), v, {.out_sharding = P("x", None)})));
};

// ---- shardings ----

Arrays ExplicitStep(const Arrays& in) {
  const Array x = reshard(in[0], P("x", None)), w = reshard(in[1], P(None, "y")),
              v = reshard(in[2], P("y", None));
  auto [loss, gradients] = value_and_grad<1, 2>(kExplicitLoss)(x, w, v);
  return {loss, std::get<0>(gradients), std::get<1>(gradients)};
}
Arrays AutoStep(const Arrays& in) {
  const Array x = with_sharding_constraint(in[0], P("x", None)),
              w = with_sharding_constraint(in[1], P(None, "y")),
              v = with_sharding_constraint(in[2], P("y", None));
  auto [loss, gradients] = value_and_grad<1, 2>(kLoss)(x, w, v);
  return {loss, std::get<0>(gradients), std::get<1>(gradients)};
}
Arrays PlainStep(const Arrays& in) {
  auto [loss, gradients] = value_and_grad<1, 2>(kLoss)(in[0], in[1], in[2]);
  return {loss, std::get<0>(gradients), std::get<1>(gradients)};
}
Arrays StepArguments() { return {Numbers({8, 12}), Numbers({12, 16}), Numbers({16, 4})}; }

// ---- manual computations ----

// Lays x out over Explicit axes. Over Auto axes, shard_map does it.
Array LaidOut(const Array& x, const PartitionSpec& spec) {
  return type_of(x).mesh().axes()[0].mode == Explicit ? reshard(x, spec) : x;
}

const auto kContract = [](Array x, Array w) {
  auto local = [](Array x, Array w) { return psum(matmul(x, w), "y"); };
  return shard_map(local, {.in_specs = {P("x", "y"), P("y", None)}, .out_specs = P("x", None)})(
      LaidOut(x, P("x", "y")), LaidOut(w, P("y", None)));
};
Arrays ManualContract(const Arrays& in) { return {kContract(in[0], in[1])}; }
Arrays ManualGradient(const Arrays& in) {
  auto loss = [](Array x, Array w) { return sum(square(kContract(sin(x), w))); };
  auto [gx, gw] = grad<0, 1>(loss)(in[0], in[1]);
  return {gx, gw};
}
Arrays ManualMoves(const Arrays& in) {
  auto local = [](Array x) {
    Array index = axis_index("x").astype(f32);
    Array next = ppermute(x, "x", {{0, 1}, {1, 0}});
    Array turned = all_to_all(x + index, "y", 1, 0, {.tiled = true});
    Array all = all_gather(turned, "y", {.tiled = true});
    Array parts = psum_scatter(all, "y", {.tiled = true});
    return next * 2 + all_to_all(parts, "y", 0, 1, {.tiled = true}) + pmax(index, "x");
  };
  return {shard_map(
      local, {.in_specs = {P("x", "y")}, .out_specs = P("x", "y")})(LaidOut(in[0], P("x", "y")))};
}
Arrays ManualLoop(const Arrays& in) {
  auto local = [](Array x) {
    auto step = [](Array carry, Array row) {
      Array next = pshift(carry, "x", 1) + row;
      return std::pair(next, psum(sum(next), "x"));
    };
    auto [last, sums] = scan(step, x[0], x);
    return std::pair(last, sums);
  };
  auto f = shard_map(local, {.in_specs = {P(None, "x")}, .out_specs = {P("x"), P()}});
  auto [last, sums] = f(LaidOut(in[0], P(None, "x")));
  return {last, sums};
}

// ---- control flow ----

Arrays Loops(const Arrays& in) {
  auto step = [](Array carry, Array row) {
    Array next = tanh(carry + row);
    return std::pair(next, next * row);
  };
  auto [last, rows] = scan(step, in[0][0], in[0]);
  auto [back, others] = scan(step, in[0][0], in[0], {.reverse = true});
  Array halved =
      while_loop([](Array x) { return max(x) > 0.1; }, [](Array x) { return x / 2; }, abs(last));
  return {last, rows, back, others, halved};
}
Arrays LoopGradient(const Arrays& in) {
  auto loss = [](Array x) {
    auto step = [](Array carry, Array row) {
      return std::pair(tanh(carry * 0.5 + row), carry * row);
    };
    auto [last, rows] = scan(step, x[0], x);
    return sum(last) + sum(square(rows));
  };
  return {grad(loss)(in[0])};
}
Arrays Branches(const Arrays& in) {
  auto twice = [](Array x) { return x * 2; };
  auto square_of = [](Array x) { return x * x; };
  Array chosen = cond(sum(in[0]) > 0, twice, square_of, in[0]);
  Arrays all = {chosen};
  for (int i : {-1, 0, 1, 5})
    all.push_back(switch_case(sum(in[0] * 0).astype(i32) + i, std::tuple(twice, square_of), in[0]));
  return all;
}

// ---- functions that are made of many ops ----

Arrays RandomNumbers(const Arrays&) {
  auto [a, b] = random::split<2>(random::key(7));
  return {random::uniform(a, {4, 5}), random::bits(b, {3, 4})};
}
Arrays Lookups(const Arrays& in) {
  Array order = argsort(in[0][0]);
  return {take(in[0], order, 1), sort(in[0], 0), cumsum(in[0], 1),
          vmap([](Array row) { return softmax(row, 0); })(in[0]), logsumexp(in[0], 1)};
}

Arrays Flat(const suite::RandomResults& results) {
  Arrays all = results.exact;
  all.insert(all.end(), results.close.begin(), results.close.end());
  return all;
}

}  // namespace

std::vector<TestProgram> TestPrograms() {
  const auto mesh = [](AxisMode mode) { return make_mesh({{"x", 2, mode}, {"y", 4, mode}}); };
  std::vector<TestProgram> programs = {
      {"step", PlainStep, StepArguments(), {}},
      {"explicit_step", ExplicitStep, StepArguments(), mesh(Explicit), PlainStep},
      {"auto_step", AutoStep, StepArguments(), mesh(Auto), PlainStep},
      {"manual_contract", ManualContract, {Numbers({8, 16}), Numbers({16, 4})}, mesh(Explicit)},
      {"manual_gradient", ManualGradient, {Numbers({8, 16}), Numbers({16, 4})}, mesh(Explicit)},
      {"manual_gradient_auto", ManualGradient, {Numbers({8, 16}), Numbers({16, 4})}, mesh(Auto)},
      {"manual_moves", ManualMoves, {Numbers({8, 16})}, mesh(Explicit)},
      {"manual_loop", ManualLoop, {Numbers({3, 8})}, mesh(Explicit)},
      {"loops", Loops, {Numbers({5, 4})}, {}},
      {"loop_gradient", LoopGradient, {Numbers({5, 4})}, {}},
      {"branches", Branches, {Numbers({5, 4})}, {}},
      {"random_numbers", RandomNumbers, {}, {}},
      {"lookups", Lookups, {Numbers({5, 4})}, {}},
  };
  for (int seed = 0; seed < 24; ++seed) {
    const auto run = [seed](int layout) {
      return
          [seed, layout](const Arrays& in) { return Flat(suite::RandomProgram(seed, layout, in)); };
    };
    programs.push_back({"random_" + std::to_string(seed), run(seed), suite::RandomArguments(seed),
                        mesh(seed % 2 == 0 ? Auto : Explicit), run(seed)});
  }
  return programs;
}

}  // namespace tessera::stablehlo_samples
