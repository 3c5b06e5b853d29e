// Lesson 3: see what will travel between devices before it does, and set limits to it.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

// Prints how one array of type `from` gets to the layout `to`.
void show_move(const char* from, PartitionSpec to) {
  auto move = jit([&](Array x) { return reshard(x, to); });
  Lowered lowered = move.lower(abstract_array(from));
  std::cout << from << " to " << to << ":\n";
  std::cout << lowered.comm();
}

int main() {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));

  // 1. A reshard is the cheapest sequence of collectives; cutting what one has costs nothing.
  show_move("f32[16,64]", P("x", "y"));
  show_move("f32[16@x,64@y]", P("x", None));
  show_move("f32[16@x,64]", P(None, "x"));
  show_move("f32[16@x,64]", P("y", None));
  show_move("f32[16@x,64]{U:y}", P("x", None));
  show_move("f32[16@x,64]{U:y}", P("x", "y"));

  // 2. A layer of a network: the program as written, and what each device will run.
  auto layer = jit([](Array x, Array w1, Array w2) {
    Array h = relu(matmul(x, w1));                            // every device has what it needs
    Array y = matmul(h, w2, {.out_sharding = P("x", None)});  // sums over y: an all_reduce
    return y - max(y, 0);                                     // of all rows: implied by the type
  });
  Array x = ones({16, 32}, {.out_sharding = P("x", None)});
  Array w1 = ones({32, 64}, {.out_sharding = P(None, "y")});
  Array w2 = ones({64, 32}, {.out_sharding = P("y", None)});
  Lowered lowered = layer.lower(x, w1, w2);
  std::cout << "\n" << lowered.program() << "\n" << lowered.device_program() << "\n";
  std::cout << lowered.comm() << "per device: at most " << lowered.peak_bytes() << " B of memory, "
            << lowered.flops() << " flops\n\n";

  // 3. Reports are data: a test of yours can hold on to what a program does.
  std::cout << "all_reduces over y: " << lowered.comm().count(CommKind::kAllReduce, "y") << "\n\n";

  // 4. A policy holds for all programs built in its scope. One error names every violation.
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
