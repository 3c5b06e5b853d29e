// Lesson 7: ask for the reason of a sharding, resolve a conflict, and pin the result.
//
// explain follows each axis of a value back to its constraint. dump_shardings returns the shardings
// of a program as text that you can check in; PinShardings applies such a text.
#include <tessera/tessera.h>

#include <iostream>
#include <sstream>

using namespace tessera;

// The rows of x are sharded over data, and so are the columns of w: their product cannot have both.
auto layer(int columns) {
  return [columns](Array x, Array w) {
    x = with_sharding_constraint(x, P(Open("data"), Open()));
    w = with_sharding_constraint(w, P(Open("model"), Open("data").priority(columns)));
    Array h = named(tanh(matmul(x, w)), "h");
    return h / sum(h, 1, {.keepdims = true});
  };
}

void print_differences(const std::string& old_text, const std::string& new_text) {
  std::istringstream old_lines(old_text), new_lines(new_text);
  for (std::string a, b; std::getline(old_lines, a) && std::getline(new_lines, b);)
    if (a != b) std::cout << "- " << a << "\n+ " << b << "\n";
}

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 2, Auto}, {"model", 4, Auto}}));
  Array x = ones({8, 16}), w = ones({16, 32});
  auto args = std::tuple(x, w);

  // 1. Both constraints have the same priority. The larger array wins, and the rows lose the axis.
  std::cout << explain(layer(0), args, "h") << jit(layer(0)).lower(x, w).comm() << "\n";

  // 2. The explanation offers a change that was tried. With it, the rows keep the axis.
  std::cout << explain(layer(1), args, "h") << jit(layer(1)).lower(x, w).comm() << "\n";

  // 3. A dump lists every value without line numbers, so it changes only if shardings do.
  std::string dump = dump_shardings(layer(1), args);
  std::cout << dump << "\nwithout the priority:\n";
  print_differences(dump, dump_shardings(layer(0), args));

  // 4. With a pin, the shardings are those of the dump, whatever propagation would choose.
  PinShardings pin(dump);
  std::cout << "\npinned, and without the priority:\n" << jit(layer(0)).lower(x, w).comm() << "\n";
  try {
    jit([](Array x) { return exp(x) + 1; }).lower(x);
  } catch (const ShardingError& e) {
    std::cout << e.what() << "\n";
  }
}
