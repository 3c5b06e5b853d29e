// Lesson 1: the type of an array shows how it is sharded over the devices.
//
// In f32[8@X,4] the eight rows are sharded over mesh axis X, and each device has all four columns
// of its rows.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  // Eight simulated devices, arranged as 2 rows by 4 columns.
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"X", 2}, {"Y", 4}}));
  std::cout << "mesh " << current_mesh() << "\n" << visualize_mesh(current_mesh()) << "\n";

  // reshard changes the sharding of an array. Its type shows it, and so do the types of
  // all results.
  Array a = reshard(arange(32).reshape({8, 4}), P("X", None));
  Array b = 2 * a[{All, 1}] - a[{All, -1}];
  std::cout << "a is " << type_of(a) << ", b is " << b << "\n";
  std::cout << "sum of a: " << sum(a, {0, 1}).item<int>() << "\n\n";

  // The shards: devices 0 to 3 are the first row of the mesh and hold the first rows of a.
  for (const Shard& s : a.addressable_shards()) {
    std::cout << "device " << s.device() << ": rows " << s.index()[0].begin << " to "
              << s.index()[0].end - 1 << ", the first value is " << s.data<int>()[0] << "\n";
  }
  std::cout << "\nP(\"X\", None):\n" << visualize_sharding(a);
  std::cout << "\nP(\"X\", \"Y\"):\n" << visualize_sharding(reshard(a, P("X", "Y"))) << "\n";

  // Under jit the function runs once with types only, and type_of already returns the final types.
  Array column = reshard(arange(4).reshape({4, 1}), P("X", None));
  Array row = reshard(arange(8).reshape({1, 8}), P(None, "Y"));
  auto add = jit([](Array x, Array y) {
    Array z = x + y;
    std::cout << "while tracing: " << type_of(x) << " + " << type_of(y) << " = " << type_of(z)
              << "\n";
    return z;
  });
  Array compiled = add(column, row);
  std::cout << compiled << "\n\n";
  std::cout << "the program of each device:\n" << add.lower(column, row).device_program() << "\n";

  // Without jit each op runs at once, with the same types and the same bits.
  Array eager = column + row;
  std::cout << "eager " << type_of(eager) << ", equal: " << std::boolalpha
            << (eager.to_vector<int>() == compiled.to_vector<int>()) << "\n";
}
