// Lesson 3: see the communication of a program before it runs, and set limits to it.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

// Prints the communication of a reshard from type `from` to the sharding `to`.
void show_move(const char* from, PartitionSpec to) {
  auto move = jit([&](Array x) { return reshard(x, to); });
  Lowered lowered = move.lower(abstract_array(from));
  std::cout << from << " to " << to << ":\n";
  std::cout << lowered.comm();
}

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));

  // 1. A reshard is the cheapest sequence of collectives. Slicing local data costs nothing.
  show_move("f32[16,64]", P("x", "y"));
  show_move("f32[16@x,64@y]", P("x", None));
  show_move("f32[16@x,64]", P(None, "x"));
  show_move("f32[16@x,64]", P("y", None));
  show_move("f32[16@x,64]{U:y}", P("x", None));
  show_move("f32[16@x,64]{U:y}", P("x", "y"));

  // 2. A layer of a network: the program as written, and the program of each device.
  auto layer = jit([](Array x, Array w1, Array w2) {
    Array h = relu(matmul(x, w1));                            // no communication
    Array y = matmul(h, w2, {.out_sharding = P("x", None)});  // sums over y: an all_reduce
    return y - max(y, {0});  // over all rows: an implied all_reduce
  });
  Array x = ones({16, 32}, {.out_sharding = P("x", None)});
  Array w1 = ones({32, 64}, {.out_sharding = P(None, "y")});
  Array w2 = ones({64, 32}, {.out_sharding = P("y", None)});
  Lowered lowered = layer.lower(x, w1, w2);
  std::cout << "\n" << lowered.program() << "\n" << lowered.device_program() << "\n";
  std::cout << lowered.comm() << "per device: at most " << lowered.peak_bytes() << " B of memory, "
            << lowered.flops() << " flops\n\n";

  // 3. Reports are data: your tests can check the communication of a program.
  std::cout << "all_reduces over y: " << lowered.comm().count(CommKind::kAllReduce, "y") << "\n\n";

  // 4. A policy applies to all programs that are built in its scope. One error lists
  // all violations.
  {
    CommPolicy none({.rule = CommRule::kForbid});
    try {
      layer.lower(x, w1, w2);
    } catch (const ShardingError& e) {
      std::cout << e.what() << "\n\n";
    }
  }
  CommPolicy budget({.bytes = 1000});
  try {
    layer.lower(x, w1, w2);
  } catch (const ShardingError& e) {
    std::cout << e.what() << "\n";
  }
}
