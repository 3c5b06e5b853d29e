// The example of docs/sequence_parallel.md is the program below. The page shows its output.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <sstream>

#include "document.h"

namespace tessera::sequence_parallel_page_test {

struct Block {
  Array gain, bias, w1, w2;
};
TESSERA_FIELDS(Block, gain, bias, w1, w2);

namespace {

// clang-format off
void Example(std::ostream& out) {
// begin
SetDeviceCount(4);
MeshScope scope(make_mesh({{"model", 4}}));
// struct Block { Array gain, bias, w1, w2; };  TESSERA_FIELDS(Block, gain, bias, w1, w2);
const auto block = [](Block p, Array x) {                      // x: [batch, tokens@model, features]
  const Array h = layer_norm(x, p.gain, p.bias);               // of a device's tokens alone
  const Array all = reshard(h, P().reduced("model"));          // all_gather of the tokens
  const Array u = gelu(matmul(all, p.w1));                     // columns: [batch, tokens, hidden@model]
  return x + matmul(u, p.w2, {.out_sharding = P(None, "model", None)});  // rows: reduce_scatter
};
const Block p = reshard(
    Block{ones({16}), zeros({16}), random::normal(random::key(0), {16, 64}),
          random::normal(random::key(1), {64, 16})},
    spec_by_name({{"w1", P(None, "model")}, {"w2", P("model", None)}, {"*", P()}}));
const Array x = random::normal(random::key(2), {2, 8, 16}, {.out_sharding = P(None, "model", None)});

const auto loss = [&](Block q, Array v) { return mean(square(block(q, v))); };
out << jit(block).lower(p, x).comm() << "\n" << jit(grad(loss)).lower(p, x).comm();
// end
}
// clang-format on

TEST(SequenceParallelPage, ShowsAProgramAndItsOutput) {
  std::ostringstream out;
  Example(out);
  testing_documents::ExpectShows("/docs/sequence_parallel.md",
                                 "/tests/unit/api/sequence_parallel_page_test.cc", out.str());
}

}  // namespace
}  // namespace tessera::sequence_parallel_page_test
