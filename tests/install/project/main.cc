#include <fmt/format.h>
#include <tessera/tessera.h>

using namespace tessera;

int main() {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  Array a = ones({8, 4}, {.out_sharding = P("x", None)});
  fmt::print("{} sums to {}\n", type_of(a), sum(a).item<float>());
}
