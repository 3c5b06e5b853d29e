// Lesson 12: lookups and updates of elements by index arrays, in sharded arrays too.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 2}, {"model", 4}}));

  // 1. Index arrays select elements. They broadcast to one shape, which replaces the indexed dims
  //    in the result.
  Array x = arange(12).reshape({3, 4});
  Array rows = array({2, 0}), columns = array({1, -1});
  std::cout << x[{rows, All}] << "\n" << x[{rows, columns}] << "\n";
  std::cout << take_along_dim(x, argsort(-x, 1), 1) << "\n";

  // 2. Arrays are immutable: at() returns a new one. An element that is named twice is
  //    combined twice.
  Array counts = zeros({4}, i32).at(array({1, 3, 1, 1})).add(1);
  std::cout << counts << "\n" << x.at({1, Slice(0, 2)}).set(-1) << "\n";

  // 3. Indices out of bounds: get clips them and updates drop them, unless a mode is set.
  std::cout << arange(4.0).at(array({2, 9})).get() << "\n"
            << arange(4.0).at(array({2, 9})).get({.mode = LookupMode::kFill}) << "\n";

  // 4. An embedding whose vocabulary is sharded. Each device looks up the rows in its shard, and
  //    you choose the type of the sum over devices.
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

  // 5. The gradient adds up rows: each device adds the rows of its tokens to its shard of the
  //    table. The result is unreduced over data.
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
