// Lesson 2: if an op could give several types, Tessera asks for one and shows the cost of each.
//
// Nothing is gathered silently: an op whose result could be laid out in several ways is an error
// while tracing. Its fixes are text for you and data for your tools.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

// Applies a fix as you would by hand: gives the op an out_sharding, or reshards one operand.
Array product(Array a, Array b, const Fix& fix) {
  if (fix.operand == 0) return matmul(reshard(a, fix.spec), b);
  if (fix.operand == 1) return matmul(a, reshard(b, fix.spec));
  return matmul(a, b, {.out_sharding = fix.spec});
}

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  Array a = ones({8, 16}, {.out_sharding = P("x", "y")});
  Array b = ones({16, 4}, {.out_sharding = P("y", None)});

  // Each device has only some of the terms of each sum. Which sharding should the sums have?
  try {
    matmul(a, b);
  } catch (const ShardingError& e) {
    std::cout << e.what() << "\n\nthe label of this check is " << e.label() << "\n\n";
    for (const Fix& fix : e.fixes()) {
      auto fixed = jit([&](Array l, Array r) { return product(l, r, fix); });
      std::cout << fix.text << "\n  gives " << type_of(fixed(a, b)) << "; predicted " << fix.bytes
                << " B, reported " << fixed.lower(a, b).comm().bytes() << " B\n";
    }
  }

  // "unreduced" defers the sum: each device keeps its partial sums, and the type shows it.
  Array partial = matmul(a, b, {.out_sharding = P("x", None).unreduced("y")});
  Array twice = partial + partial;  // still partial: addition is linear
  std::cout << "\npartial: " << type_of(partial) << ", twice: " << type_of(twice) << "\n";
  std::cout << "complete: " << type_of(reshard(twice, P("x", None))) << " by an all_reduce, or "
            << type_of(reshard(twice, P("x", "y"))) << " by a reduce_scatter\n\n";
  try {
    exp(partial);  // not linear: the exp of a sum is not the sum of exps
  } catch (const ShardingError& e) {
    std::cout << e.what() << "\n\n";
  }

  // An elementwise op can be ambiguous too: one mesh axis cannot shard two dims of one result.
  Array rows = ones({4, 4}, {.out_sharding = P("x", None)});
  Array columns = ones({4, 4}, {.out_sharding = P(None, "x")});
  try {
    rows + columns;
  } catch (const ShardingError& e) {
    std::cout << e.what() << "\n";
  }
}
