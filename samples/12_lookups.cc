// Lesson 12: looking elements up by index arrays, and updating them, wherever they lie.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 2}, {"model", 4}}));

  // 1. Index arrays pick elements. They broadcast to one shape, which the result has in place of
  //    the dims that they index.
  Array x = arange(12).reshape({3, 4});
  Array rows = array({2, 0}), columns = array({1, -1});
  std::cout << x[{rows, All}] << "\n" << x[{rows, columns}] << "\n";
  std::cout << take_along_dim(x, argsort(-x, 1), 1) << "\n";

  // 2. Arrays never change: at() gives a new one. An element named twice is combined twice.
  Array counts = zeros({4}, i32).at(array({1, 3, 1, 1})).add(1);
  std::cout << counts << "\n" << x.at({1, Slice(0, 2)}).set(-1) << "\n";

  // 3. Outside of the array: get clips, updates drop, unless a mode says otherwise.
  std::cout << arange(4.0).at(array({2, 9})).get() << "\n"
            << arange(4.0).at(array({2, 9})).get({.mode = LookupMode::kFill}) << "\n";

  // 4. An embedding whose vocabulary is sharded. Each device looks up the rows that it holds; the
  //    type of the sum over devices is yours to choose.
  Array table = reshard(iota({16, 8}, 0, {.dtype = f32}), P("model", None));
  Array tokens = reshard(array({3, 0, 15, 3, 7, 8, 8, 1}), P("data"));
  try {
    std::cout << table[{tokens, All}];
  } catch (const ShardingError& e) {
    std::cout << e.what() << "\n";
  }
  auto embed = jit([](Array table, Array tokens) {
    return table.at({tokens, All}).get({.out_sharding = P("data", None)});
  });
  std::cout << type_of(embed(table, tokens)) << "\n" << embed.lower(table, tokens).comm();

  // 5. Its gradient adds rows up: every device adds those of its tokens to the rows that it holds.
  //    What the devices along data then have is partial.
  auto gradient = jit([](Array rows, Array tokens) {
    Array zero = zeros({16, 8}, {.out_sharding = P("model", None)});
    return zero.at({tokens, All}).add(rows, {.out_sharding = P("model", None).unreduced("data")});
  });
  Array cotangent = ones({8, 8}, {.out_sharding = P("data", None)});
  Array partial = gradient(cotangent, tokens);
  std::cout << type_of(partial) << ", sends " << gradient.lower(cotangent, tokens).comm().bytes()
            << " bytes\n"
            << sum(reshard(partial, P("model", None)), 1) << "\n";
}
