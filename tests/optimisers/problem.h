// A small problem whose gradients are exact numbers, so that optimisers alone make differences.
#pragma once
#include <tessera/tessera.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tessera::optimisers_test {

using Params = std::map<std::string, Array>;

struct Problem {
  Params start, target, slope, index;
};
TESSERA_FIELDS(Problem, start, target, slope, index);

struct State {
  Params params;
  OptimiserState optimiser;
  Array step;
};
TESSERA_FIELDS(State, params, optimiser, step);

// Returns the arrays of values.py, whole or in shards over x.
inline Problem MakeProblem(DType dtype, bool shards) {
  const std::vector<std::pair<std::string, std::vector<int64_t>>> shapes = {
      {"b", {8}}, {"k", {2, 8, 2}}, {"w", {8, 2}}};
  const std::map<std::string, PartitionSpec> specs = {
      {"b", P("x")}, {"k", P(None, "x")}, {"w", P("x")}};
  const auto arrays = [&](const std::function<double(int64_t)>& of, DType as) {
    Params made;
    int64_t next = 0;
    for (const auto& [name, shape] : shapes) {
      int64_t size = 1;
      for (int64_t n : shape) size *= n;
      std::vector<double> numbers;
      for (int64_t i = 0; i < size; ++i) numbers.push_back(of(next++));
      ArrayOptions options{.dtype = as, .shape = Shape(shape)};
      if (shards) options.out_sharding = specs.at(name);
      made[name] = array(numbers, options);
    }
    return made;
  };
  const auto sixteenths = [](int64_t by, int64_t period, int64_t less) {
    return [=](int64_t i) { return static_cast<double>(i * by % period - less) / 16; };
  };
  return {.start = arrays(sixteenths(29, 41, 20), dtype),
          .target = arrays(sixteenths(17, 31, 15), dtype),
          .slope = arrays([](int64_t i) { return static_cast<double>(1 + i % 5) / 8; }, dtype),
          .index = arrays([](int64_t i) { return static_cast<double>(i); }, i32)};
}

inline Params Gradient(const Params& params, const Problem& problem, Array step) {
  return tree_map(
      [&](Array p, Array target, Array slope, Array i) {
        return slope * (p - target) + ((step * 37 + i * 11) % 64 - 32).astype(p.dtype()) / 64;
      },
      params, problem.target, problem.slope, problem.index);
}

// The state has buffers of its own, to be donated.
inline State Start(const Optimiser& optimiser, const Problem& problem) {
  const Params params = tree_map([](Array p) { return p * 1; }, problem.start);
  return {params, optimiser.init(params), array(0)};
}

inline State Step(const Optimiser& optimiser, State s, const Problem& problem) {
  auto [updates, next] =
      optimiser.update(Gradient(s.params, problem, s.step), s.optimiser, s.params);
  return {apply_updates(s.params, updates), next, s.step + 1};
}

// Returns all numbers of the parameters, in the order of the tree.
inline std::vector<double> NumbersOf(const Params& params) {
  std::vector<double> numbers;
  for (const Array& p : tree_leaves(params))
    for (double x : p.astype(f64).to_vector<double>()) numbers.push_back(x);
  return numbers;
}

}  // namespace tessera::optimisers_test
