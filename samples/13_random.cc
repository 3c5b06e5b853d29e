// Lesson 13: random numbers, which depend only on a key.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  SetDeviceCount(8);

  // 1. A sample is a function of its key: the same key gives the same numbers. Split a key to get
  //    new ones, or fold in the number of a step, a layer or an epoch.
  Array key = random::key(42);
  auto [a, b] = random::split<2>(key);
  std::cout << random::normal(a, {4}) << "\n" << random::normal(b, {4}) << "\n";
  for (int step = 0; step < 2; ++step)
    std::cout << random::randint(random::fold_in(key, step), {6}, 0, 10) << "\n";

  // 2. Keys have their own dtype. They can be indexed, carried and selected like other elements,
  //    but there is no arithmetic on them.
  Array keys = random::split(key, 3);
  std::cout << type_of(keys) << " " << type_of(keys[0]) << "\n";
  try {
    keys + 1;
  } catch (const DTypeError& e) {
    std::cout << e.what() << "\n";
  }

  // 3. vmap samples with each key of an array.
  std::cout << vmap([](Array k) { return random::uniform(k, {2}); })(keys) << "\n";

  // 4. An element depends on the key and on its index in the whole array. So each device
  //    generates its own shard, and the numbers are the same in every sharding. It is one pass
  //    over the result.
  MeshScope mesh(make_mesh({{"data", 4}, {"model", 2}}));
  auto draw = [](Array k) {
    return random::normal(k, {8, 6}, {.out_sharding = P("data", "model")});
  };
  Array whole = random::normal(a, {8, 6}), parts = jit(draw)(a);
  std::cout << type_of(parts) << " " << all(reshard(parts, P()) == whole) << "\n"
            << jit(draw).lower(a).comm();

  // 5. Over Auto axes a sample gets the sharding of the values that it is used with.
  auto dropout = [](Array k, Array x) {
    return where(random::bernoulli(k, 0.75, x.shape()), x / 0.75, 0.0);
  };
  Array x = reshard(ones({4, 8}), P("data", None));
  std::cout << auto_axes(dropout, {.out_sharding = P("data", None)})(b, x) << "\n";

  // 6. A key that is used twice gives correlated numbers. This scope makes it an error that names
  //    both lines.
  KeyReuseCheck check;
  Array noise = random::normal(keys[1], {3});
  try {
    Array mask = random::bernoulli(keys[1], 0.5, {3});
  } catch (const TraceError& e) {
    std::cout << e.what() << "\n";
  }
}
