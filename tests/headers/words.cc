// Calls of functions of functions that do not compile. words.sh looks for what the compiler says of
// each: the words behind `says`, and the line after them.
#include <tessera/control.h>
#include <tessera/modes.h>
#include <tessera/transforms.h>

#include <set>

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
// says: this takes a function
void Case4(Array x) { auto f = jit(3); }
// says: this takes a function
void Case5(Array x) { auto f = explicit_axes(x, {}); }
// says: an argument is not a tree
void Case6(Array x) {
  jit([](auto, auto y) { return y; })(std::set<int>{1}, x);
}
// says: an argument is not a tree
void Case7(Array x) { auto f = jit(OfNoFields); }
// says: what the function returns is not a tree
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
