// A program that gdb stops in: one value of each type that the pretty-printers know.
#include <tessera/tessera.h>

#include <cstdio>
#include <cstring>

using namespace tessera;

namespace {

[[gnu::noinline]] void stop_here(const Array& x, const ArrayType& type, const PartitionSpec& spec,
                                 const Sharding& sharding, const Mesh& mesh,
                                 const Program& program) {
  std::printf("%lld devices, %zu arguments\n", static_cast<long long>(mesh.size()),
              program.inputs().size());
  (void)x, (void)type, (void)spec, (void)sharding;
}

// Stops in the second iteration, where an element is above 2.
void stop_in_a_program(const Array& x) {
  const auto doubled = jit([](Array x) {
    const auto body = [](Array, Array x) {
      Array y = x * 2;
      debug_break(y > 12);
      return y;
    };
    return fori_loop(0, 3, body, x);
  });
  doubled(x);
}

}  // namespace

int main(int argc, char** argv) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  const Array x = reshard(arange(6) * 1.f, P("x"));
  if (argc > 1 && std::strcmp(argv[1], "break") == 0) {
    stop_in_a_program(x);
    return 0;
  }
  const auto f = jit([](Array x) { return tanh(x); });
  stop_here(x, type_of(x), type_of(x).spec(), x.sharding(), current_mesh(), f.trace(x));
}
