// Code that a user's program may contain, with all compiler warnings on. Compiled, never run.
#include <fmt/core.h>
#include <tessera/propagation.h>
#include <tessera/tessera.h>

#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

struct Params {
  tessera::Array w, b;
};
TESSERA_FIELDS(Params, w, b);
enum class Flavour { kPlain };
struct Model {
  std::vector<Params> layers;
  std::map<std::string, tessera::Array> named;
  std::optional<tessera::Array> maybe;
  std::tuple<tessera::Array, int, float> mixed;
  std::array<tessera::Array, 2> pair;
  Flavour flavour = Flavour::kPlain;
};
TESSERA_FIELDS(Model, layers, named, maybe, mixed, pair, flavour);

// Structs that list all of their fields, where the bytes or the number of fields are unusual.
namespace lists {
using tessera::Array;
struct Nothing {};
TESSERA_FIELDS(Nothing);
struct Tag {};
struct Tagged : Tag {
  Array w;
  int8_t c;
  Array d;
  int n;
  bool b;
};
TESSERA_FIELDS(Tagged, n, w, c, d, b);
struct TaggedTwice : Tag {
  Tagged moved_by_the_base;
  Array w;
};
TESSERA_FIELDS(TaggedTwice, moved_by_the_base, w);
struct Constructed : Tag {
  explicit Constructed(int start) : n(start) {}
  int n;
  std::array<Tagged, 2> tagged;
  Array w;
  bool on = true;
};
TESSERA_FIELDS(Constructed, n, tagged, w, on);
struct WithoutDefault : Tag {
  Constructed c;
};
TESSERA_FIELDS(WithoutDefault, c);
struct Derived : Tagged, Nothing {
  Array more;
};
TESSERA_FIELDS(Derived, w, c, d, n, b, more);
struct Virtual {
  virtual ~Virtual() = default;
  Array w;
};
TESSERA_FIELDS(Virtual, w);
struct Padded {
  int8_t c;
  alignas(128) Array w;
  double x;
  int8_t d;
};
TESSERA_FIELDS(Padded, d, x, w, c);
struct Overlapping {
  [[no_unique_address]] Nothing first;
  Array w;
  [[no_unique_address]] Nothing last;
};
TESSERA_FIELDS(Overlapping, first, w, last);
struct Bits {
  Array w;
  int : 4;
};
TESSERA_FIELDS(Bits, w);
struct Recursive {
  Array w = 1.0;
  std::vector<Recursive> below = {};
  std::optional<std::tuple<Array>> maybe = {};
  std::tuple<> empty = {};
  tessera::NoneType none = {};
  std::array<Tagged, 0> no_elements = {};
};
TESSERA_FIELDS(Recursive, w, below, maybe, empty, none, no_elements);
struct FromAnything {
  FromAnything() = default;
  template <class T>
  explicit(false) FromAnything(T&&) {}
  Array w;
};
TESSERA_FIELDS(FromAnything, w);
struct WithAnything {
  FromAnything f;
  Array w;
};
TESSERA_FIELDS(WithAnything, f, w);
template <class T>
struct Box {
  T w;
  Array b;
};
TESSERA_FIELDS(Box<float>, w, b);
struct Outer {
  struct Inner {
    Array w;
  } inner;
};
TESSERA_FIELDS(Outer::Inner, w);
TESSERA_FIELDS(Outer, inner);
// Some of the fields.
struct Cached {
  Array w;
  std::function<void()> not_a_tree = {};
};
inline auto tree_fields(Cached& c) { return tessera::Fields("w", c.w); }
struct CachedTwice : Cached {
  Array b;
};
inline auto tree_fields(CachedTwice& c) { return tessera::Fields("w", c.w, "b", c.b); }
template <class T>
struct CachedBox : Cached {
  T b;
  friend auto tree_fields(CachedBox& c) { return tessera::Fields("w", c.w, "b", c.b); }
};
using All = std::tuple<Nothing, Tagged, TaggedTwice, Constructed, WithoutDefault, Derived, Virtual,
                       Padded, Overlapping, Bits, Recursive, FromAnything, WithAnything, Box<float>,
                       Outer, Cached, CachedTwice, CachedBox<Array>>;
size_t Count(All all) { return tessera::tree_leaves(std::move(all)).size(); }
}  // namespace lists

namespace {

using namespace tessera;

Array Layer(Params p, Array x) { return matmul(x, p.w) + p.b; }

void Make() {
  Array a = array({{1, 2}, {3, 4}}), b = array(std::vector<float>{1, 2}), c = array(2.5);
  Array d = array(std::vector<bool>{true}), e = array(std::array<double, 2>{1, 2});
  short n = 3;
  size_t m = 4;
  Array f = zeros({n, m}), g = ones(std::vector<int>{2, 3}, f32), h = full({2u}, 1.5f);
  Array s = sum(f, {0, n}, {.keepdims = true}), i = f[{Slice(None, n), m, All, None, Ellipsis}];
  std::vector<Array> parts = split(f, n), others = split(f, std::vector<int>{1, 2}, 1);
  a = 2 * a - b / 3.5 + c % 2 + (d & true) + -e + (g << 1) + h;
  a += 1;
  bool same = all(s == i).item<bool>();
  std::vector<bool> bools = d.to_vector<bool>();
  std::vector<float> floats = b.to_vector<float>();
  for (const Shard& shard : f.addressable_shards())
    fmt::print("{} {}\n", shard.device(), shard.data<float>()[0]);
  std::cout << a << type_of(a) << current_mesh() << P("x") << same << bools.size() << floats.size()
            << parts.size() << others.size();
  fmt::print("{} {:>30} {}", a, type_of(a), P("x", None));
}

void Trees() {
  Model model;
  Array x = ones({2, 2});
  model = tree_map([](Array p, Array q) { return p + q; }, model, model);
  std::cout << tree_leaves(model).size();
  auto step = jit([](Model m, Array v) {
    for (Params& p : m.layers) v = Layer(p, v);
    return std::pair(m, v);
  });
  auto [next, y] = step(model, x);
  auto generic =
      jit([](auto p, auto v) { return Layer(p, v); }, {.donate = {1}, .name = "generic"});
  Params p{x, x};
  y = generic(p, x);
  y = jit(&Layer)(p, x);
  std::cout << step.trace(model, x) << step.lower(model, x).comm() << generic.trace(p, x)
            << generic.lower(p, x).flops() << tree_leaves(next).size();
}

void Control() {
  Array x = ones({4});
  auto [last, ys] = scan([](Array c, Array v) { return std::pair(c + v, c * v); }, x[0], x);
  auto [carry, none] = scan([](Params c, NoneType) { return std::pair(c, None); }, Params{x, x},
                            None, {.length = 3});
  x = while_loop([](Array c) { return sum(c) < 10; }, [](Array c) { return c * 2; }, x);
  Params p = fori_loop(
      0, 3,
      [](Array i, Params c) {
        return Params{c.w + i, c.b};
      },
      Params{x, x});
  x = cond(
      sum(x) > 0, [](Array v) { return v; }, [](Array v) { return -v; }, x);
  auto one = [](Array v) { return v; };
  auto two = [](Array v) { return v * 2; };
  x = switch_case(1, std::tuple(one, two), x);
  x = switch_case(1, std::vector<Array (*)(Array)>{one, two}, x);
  std::cout << last << ys << carry.w << p.w << x;
  (void)none;
}

void Modes() {
  auto f = auto_axes([](Array v) { return exp(v); }, {.axes = "x", .out_sharding = P("x")});
  auto g = explicit_axes([](auto v) { return exp(v); }, {.in_sharding = P("x")});
  Array x = g(f(ones({8})));
  std::cout << f.trace(x) << f.lower(x).comm() << g.trace(x) << g.lower(x).comm()
            << explain(f, x, "%1") << explain(f, std::tuple(x), "%1") << dump_shardings(f, x)
            << dump_shardings([](Array a, Array b) { return a + b; }, std::tuple(x, x));
}

void Custom() {
  CustomOp twice =
      register_op({.name = "twice", .rule = "a -> a", .kernel = [](const KernelCall& c) {
                     auto in = c.in[0].data<const float>();
                     auto out = c.out[0].data<float>();
                     for (size_t i = 0; i < in.size(); ++i) out[i] = 2 * in[i];
                   }});
  std::cout << twice({ones({4})});
}

void Foreign() {
  using namespace propagation;
  Graph graph(abstract_mesh({{"x", 2}}));
  ValueId a = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"x"}]>)"});
  ValueId b = graph.value({.shape = {8}});
  graph.op({.name = "exp", .operands = {a}, .results = {b}, .elementwise = true});
  Direction both = Direction::kForward | Direction::kBackward;
  Result result = propagate(
      graph, {.op_priorities = {[=](const OpFacts& o) { return o.expands ? both : both & both; }}});
  std::cout << result.sharding(b);
}

}  // namespace

int main() {
  try {
    for (auto* part : {Make, Trees, Control, Modes, Custom, Foreign}) part();
  } catch (const ShardingError& e) {
    for (const Fix& fix : e.fixes()) std::cout << fix.text << fix.spec;
  }
}
