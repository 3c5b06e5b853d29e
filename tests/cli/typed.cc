// The program that types.sh annotates: a function of two shapes, Auto axes, and a gradient.
#include <tessera/tessera.h>

#include <cstdio>

using namespace tessera;

namespace {

Array layer(Array x, Array w) {
  Array h = matmul(x, w);
  return tanh(h);
}

}  // namespace

int main() {
  const Mesh mesh = abstract_mesh({{"data", 2, Auto}, {"model", 4, Auto}});
  MeshScope scope(mesh);
  const auto loss = [](Array x, Array w) { return sum(layer(x, w)); };
  long long flops = 0;
  for (const int64_t rows : {8, 16}) {
    const auto step = jit([&](Array x, Array w) {
      x = with_sharding_constraint(x, P("data", None));
      w = with_sharding_constraint(w, P(None, "model"));
      return grad([&](Array w) { return loss(x, w); })(w);
    });
    flops += step.lower(ones({rows, 16}), ones({16, 32})).flops();
  }
  std::printf("%lld\n", flops);
}
