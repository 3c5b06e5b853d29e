// A program outside the repository: it knows only the installed package.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <string_view>

using namespace tessera;

#ifdef FOUND_VERSION  // by find_package; as a subproject there is none to find
static_assert(std::string_view(FOUND_VERSION) == TESSERA_VERSION);
#endif

int main() {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  Array a = ones({8, 4}, {.out_sharding = P("x", None)});
  fmt::print("{} sums to {}\n", type_of(a), sum(a).item<float>());
}
