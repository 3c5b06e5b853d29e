// W15: the encoder of samples/minilm on 64 sequences of 128 tokens, with random weights.
#include "benchmarks/rows.h"
#include "samples/minilm/model.h"

namespace tessera::bench {

void EncoderRows(Rows& rows) {
  if (!rows.Wants("minilm")) return;
  const int64_t batch = rows.Size(64, 8), places = rows.Size(128, 16);
  MeshScope scope(make_mesh({{"data", rows.devices()}, {"model", 1}}));
  const minilm::Model model{minilm::Layout::fitted(false)};
  const Array tokens = random::randint(random::key(1), {batch, places}, 0, minilm::kVocabulary);
  const Array lengths = places / 2 + arange(batch) % (places / 2);
  rows.Add(
      "minilm", [=](minilm::Weights w, Array t, Array n) { return model.encode(w, t, n); },
      std::tuple(model.random(random::key(0)), model.layout.over_data(tokens),
                 model.layout.over_data(lengths)));
}

}  // namespace tessera::bench
