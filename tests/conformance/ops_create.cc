// Ops that make arrays.
#include "ops.h"

namespace tessera::conformance {
namespace {

CreateOptions CreateOptionsOf(const Call& c) {
  return {.dtype = c.dtype(), .out_sharding = c.spec()};
}

Scalar ScalarOf(const Call& c, const std::string& key) { return ParseScalar(c.attr(key)); }

// NumPy's `like` functions may be told another shape; then only the dtype is the operand's.
template <class Like, class Make>
OpFunction FromLike(Like like, Make make) {
  return [=](const Call& c) {
    CreateOptions options = CreateOptionsOf(c);
    if (!c.has("shape")) return std::vector{like(c, options)};
    if (options.dtype.is_default()) options.dtype = c.array(0).dtype(c.loc());
    return std::vector{make(c, Shape(c.integers("shape")), options)};
  };
}

Array Arange(const Call& c) {
  std::vector<Scalar> numbers;
  for (size_t i = 0; i < c.size(); ++i) {
    if (!c.in(i).scalar()) throw Unsupported("arange of an array");
    numbers.push_back(*c.in(i).scalar());
  }
  for (const char* key : {"start", "stop", "step"}) {
    if (c.has(key)) numbers.push_back(ScalarOf(c, key));
  }
  CreateOptions options = CreateOptionsOf(c);
  if (numbers.size() == 1) return arange(numbers[0], options, c.loc());
  if (numbers.size() == 2) return arange(numbers[0], numbers[1], options, c.loc());
  return arange(numbers.at(0), numbers.at(1), numbers.at(2), options, c.loc());
}

Array Linspace(const Call& c) {
  std::vector<Operand> ends;
  for (size_t i = 0; i < c.size(); ++i) ends.push_back(c.in(i));
  for (const char* key : {"start", "stop"}) {
    if (c.has(key)) ends.push_back(Operand(ScalarOf(c, key), c.loc()));
  }
  CreateOptions create = CreateOptionsOf(c);
  LinspaceOptions options{create.dtype, create.out_sharding, c.flag("endpoint", true)};
  return linspace(ends.at(0), ends.at(1), c.integer("num", 50), options, c.loc());
}

Array Eye(const Call& c) {
  auto rows = [&](const char* key) {
    return c.size() == 0 ? c.integer(key) : c.in(0).scalar()->as_int();
  };
  int64_t n = c.has("n") ? rows("n") : rows("N");
  CreateOptions create = CreateOptionsOf(c);
  EyeOptions options{create.dtype, create.out_sharding, c.integer("M", n), c.integer("k", 0)};
  return eye(n, options, c.loc());
}

void AddFilled(OpTable& table) {
  auto filled = [](Array (*make)(Shape, CreateOptions, Loc)) {
    return [=](const Call& c) {
      return std::vector{make(Shape(c.integers("shape")), CreateOptionsOf(c), c.loc())};
    };
  };
  table["np.zeros"] = filled(zeros);
  table["np.ones"] = filled(ones);
  table["empty"] = filled(zeros);
  table["np.empty"] = filled(zeros);
  table["full"] = [](const Call& c) {  // JAX converts the number as astype does
    CreateOptions options = CreateOptionsOf(c);
    Shape shape(c.integers("shape"));
    Operand number(ScalarOf(c, "fill_value"), c.loc());
    if (options.dtype.is_default()) return std::vector{full(shape, number, options, c.loc())};
    return std::vector{full(shape, astype(number, options.dtype, c.loc()), options, c.loc())};
  };
  table["np.full"] = table["full"];
}

void AddLike(OpTable& table) {
  auto fill = [](const Call& c) {
    return c.size() > 1 ? c.in(1) : Operand(ScalarOf(c, "fill_value"), c.loc());
  };
  OpFunction zero = FromLike(
      [](const Call& c, CreateOptions o) { return zeros_like(c.in(0), o, c.loc()); },
      [](const Call& c, Shape shape, CreateOptions o) { return zeros(shape, o, c.loc()); });
  OpFunction one =
      FromLike([](const Call& c, CreateOptions o) { return ones_like(c.in(0), o, c.loc()); },
               [](const Call& c, Shape shape, CreateOptions o) { return ones(shape, o, c.loc()); });
  OpFunction other = FromLike(
      [=](const Call& c, CreateOptions o) { return full_like(c.in(0), fill(c), o, c.loc()); },
      [=](const Call& c, Shape shape, CreateOptions o) {
        return full(shape, fill(c), o, c.loc());
      });
  table["np.zeros_like"] = zero;
  table["np.empty_like"] = zero;
  table["np.ones_like"] = one;
  table["np.full_like"] = other;
  table["full_like"] = other;
}

}  // namespace

void AddCreation(OpTable& table) {
  AddFilled(table);
  AddLike(table);
  table["iota"] = [](const Call& c) {
    return std::vector{iota(Shape(c.integer("size")), 0, CreateOptionsOf(c), c.loc())};
  };
  table["broadcasted_iota"] = [](const Call& c) {
    return std::vector{
        iota(Shape(c.integers("shape")), c.dim("dimension", 0), CreateOptionsOf(c), c.loc())};
  };
  table["np.arange"] = [](const Call& c) { return std::vector{Arange(c)}; };
  table["np.linspace"] = [](const Call& c) { return std::vector{Linspace(c)}; };
  table["np.eye"] = [](const Call& c) { return std::vector{Eye(c)}; };
  table["np.identity"] = table["np.eye"];
}

}  // namespace tessera::conformance
