// Calls that do not compile. words.sh looks for the compiler's message for each: the words after
// `says` or `shows`, and the line after them.
#include <tessera/batching.h>
#include <tessera/callback.h>
#include <tessera/control.h>
#include <tessera/gradients.h>
#include <tessera/hints.h>
#include <tessera/jacobians.h>
#include <tessera/modes.h>
#include <tessera/shard_map.h>
#include <tessera/transforms.h>

#include <optional>
#include <set>
#include <tuple>

using namespace tessera;

struct NoFields {
  Array w;
};
struct NoFieldsEither {
  Array w;
};
void Nothing(Array, int) {}
Array OfNoFields(NoFields s) { return s.w; }

// says: the function returns nothing
void Case1(Array x) {
  auto f = jit([](Array, Array) {});
}
// says: the function returns nothing
void Case2(Array x) { auto f = auto_axes(&Nothing, {}); }
// says: the function returns nothing
void Case3(Array x) {
  jit([](auto) {})(x);
}
// says: expected a function
void Case4(Array x) { auto f = jit(3); }
// says: expected a function
void Case5(Array x) { auto f = explicit_axes(x, {}); }
// says: an argument is not a tree
void Case6(Array x) {
  jit([](auto, auto y) { return y; })(std::set<int>{1}, x);
}
// says: an argument is not a tree
void Case7(Array x) { auto f = jit(OfNoFields); }
// says: the result of the function is not a tree
void Case8(Array x) {
  auto f = jit([](Array y) { return NoFields{y}; });
}
// says: the function is called with values, and as const
void Case9(Array x) {
  auto f = jit([n = 0](Array y) mutable { return y * n++; });
}
// says: the function is called with values, and as const
void Case10(Array x) {
  auto f = jit([](Array& y) { return y += 1; });
}
// says: not a tree: give the struct TESSERA_FIELDS
void Case11(Array x) { tree_leaves(NoFields{x}); }
// says: not a tree: give the struct TESSERA_FIELDS
void Case12(Array x) {
  auto last =
      while_loop([](Array y) { return y < 1; }, [](Array y) { return NoFieldsEither{y}; }, x);
}
// says: all branches return trees of one type
void Case13(Array x) {
  auto y = cond(
      true, [] { return Array(1); }, [] { return std::pair(Array(1), 2); });
}
// says: grad<n>(f) names an argument that f does not have
void Case14(Array x) {
  grad<1>([](Array y) { return y; })(x);
}
// says: jacfwd<n>(f) and jacrev<n>(f) name an argument
void Case15(Array x) {
  jacrev<1>([](Array y) { return y; })(x);
}
// says: grad takes a function that returns a scalar Array
void Case16(Array x) {
  grad([](Array y) { return std::pair(std::vector<Array>{y}, y); })(x);
}
// says: pass several arguments as one tuple
void Case17(Array x) {
  vjp([](Array y, Array z) { return y * z; }, x, x);
}
// says: pass several arguments as one tuple
void Case18(Array x) {
  jvp([](Array y, Array z) { return y * z; }, x, x, x, x);
}
// says: the function does not take these arguments
void Case19(Array x) {
  vjp([](Array y, Array z) { return y * z; }, x);
}
// says: the condition and the body take the carry
void Case20(Array x) {
  while_loop([](Array y) { return y < 1; }, [](Array y, Array) { return y; }, x);
}
// says: the body takes the index, an Array, and the carry
void Case21(Array x) {
  fori_loop(
      0, 3, [](Array y) { return y; }, x);
}
// says: the function of a scan takes the carry and a slice of xs
void Case22(Array x) {
  scan([](Array y) { return std::pair(y, None); }, x, x);
}
// says: the function of a scan returns a pair
void Case23(Array x) {
  scan([](Array y, Array) { return y; }, x, x);
}
// says: every branch takes the arguments that follow the branches
void Case24(Array x) {
  cond(
      x, [](Array y) { return y; }, [](Array y) { return y; }, x, x);
}
// says: the function of lax_map takes a slice of xs
void Case25(Array x) {
  lax_map([](Array y, Array z) { return y * z; }, x);
}
// says: the function returns nothing
void Case26(Array x) {
  lax_map([](std::pair<Array, Array>) {}, std::pair(x, x));
}
// says: the function of pure_callback takes the arguments
void Case27(Array x) {
  auto y = pure_callback([](Array y) { return y; }, x, std::tuple(x, x));
}
// shows: write sum(x, All, {.keepdims = true})
void Case28(Array x) { sum(x, {.keepdims = true}); }
// shows: not x[0] = v: x = x.at({0}).set(v)
void Case29(Array x) { x[0] = 1.0; }
// shows: not x[0] += v: x = x.at({0}).add(v)
void Case30(Array x) { x[0] += 1.0; }
// shows: write vmap(f, {.in_dims = {0, 1}})
void Case31(Array x) {
  auto f = vmap([](Array y, Array z) { return y * z; }, {0, 1});
}
// shows: name .in_specs and .out_specs
void Case32(Array x) {
  auto f = shard_map([](Array y) { return y; }, P("x"));
}

// ---- lists of fields ----------------------------------------------------------------------------

struct Pair {
  Array w, b;
};
// says: TESSERA_FIELDS leaves out a field of the struct
TESSERA_FIELDS(Pair, w);
struct Twice {
  Array w, b;
};
// says: TESSERA_FIELDS lists a field twice
TESSERA_FIELDS(Twice, w, w);
struct SmallFields {
  Array w;
  int a, b;
};
// says: TESSERA_FIELDS leaves out a field of the struct
TESSERA_FIELDS(SmallFields, w, a);
struct Bit {
  Array w;
  int bit : 3;
};
// says: TESSERA_FIELDS leaves out a field of the struct
TESSERA_FIELDS(Bit, w);
struct Constructed {
  Constructed();
  Array w, b;
};
// says: TESSERA_FIELDS leaves out a field of the struct
TESSERA_FIELDS(Constructed, w);
class Private {
 public:
  Array w;

 private:
  Array b;
};
// says: TESSERA_FIELDS leaves out a field of the struct
TESSERA_FIELDS(Private, w);
struct Mixed {
  Pair pair;
  std::optional<Array> maybe;
  std::tuple<Array, int> both;
  bool flag;
};
// says: TESSERA_FIELDS leaves out a field of the struct
TESSERA_FIELDS(Mixed, pair, maybe, both);
struct Base {
  Array w;
};
TESSERA_FIELDS(Base, w);
struct OnlyOfBase : Base {
  Array b;
};
// says: TESSERA_FIELDS leaves out a field of the struct
TESSERA_FIELDS(OnlyOfBase, w);
struct OnlyOwn : Base {
  Array b;
};
// says: TESSERA_FIELDS leaves out a field of the struct
TESSERA_FIELDS(OnlyOwn, b);
struct Derived : Base {
  Array b;
};
// says: not a tree: give the struct TESSERA_FIELDS
void Case33(Derived d) { tree_leaves(d); }
struct Tied {
  Array w;
};
inline auto tree_fields(Tied& t) { return Fields("w", t.w); }
struct DerivedFromTied : Tied {
  Array b;
};
// says: not a tree: give the struct TESSERA_FIELDS
void Case34(DerivedFromTied d) { tree_leaves(d); }
// says: For std::tie(x, y) write std::tuple(x, y)
void Case35(Array x) { tree_leaves(std::tie(x, x)); }
namespace other {
struct Weights {
  Array w;
};
}  // namespace other
// says: TESSERA_FIELDS must be in the namespace of the struct
TESSERA_FIELDS(other::Weights, w);
