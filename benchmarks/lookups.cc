// W15: sums of segments, beside a loop of one thread, and cross entropy over a sharded vocabulary.
#include <tessera/nn.h>
#include <tessera/sets.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <vector>

#include "benchmarks/inputs.h"
#include "benchmarks/rows.h"

namespace tessera::bench {
namespace {

// A million segments: their sums do not fit into the caches.
void Segments(Rows& rows) {
  const int64_t n = rows.Size(1 << 24, 1 << 10), segments = rows.Size(1 << 20, 1 << 6);
  const Array x = Random({n}, 1);
  const Array any = random::randint(random::key(2), {n}, 0, segments);
  const Array sorted = floor_divide(arange(n, {.dtype = i32}), n / segments);
  for (const auto& [name, ids] :
       {std::pair("segment_sum_random", any), std::pair("segment_sum_sorted", sorted)}) {
    if (!rows.Wants(name)) continue;
    rows.Add(
        name,
        [=](Array numbers, Array of_rows) {
          return segment_sum(numbers, of_rows, {.num_segments = segments, .out_sharding = P()});
        },
        std::tuple(reshard(x, P("d")), reshard(ids, P("d"))));
    const std::vector<float> numbers = x.to_vector<float>();
    const std::vector<int32_t> of_rows = ids.to_vector<int32_t>();
    std::vector<float> sums(static_cast<size_t>(segments));
    rows.AddReference(name, "loop", [&] {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (size_t i = 0; i < numbers.size(); ++i)
        sums[static_cast<size_t>(of_rows[i])] += numbers[i];
    });
  }
}

// Adds a row with the bytes that a device holds and sends, beside those of its shard of the logits.
template <class F>
void AddLoss(Rows& rows, const std::string& name, const F& f, const Array& logits,
             const Array& labels) {
  if (!rows.Wants(name)) return;
  const Lowered lowered = jit(f).lower(logits, labels);
  rows.Add(name, f, std::tuple(logits, labels),
           {{"peak_bytes", lowered.peak_bytes()},
            {"sent_bytes", lowered.comm().bytes()},
            {"shard_bytes", logits.size() * 4 / rows.devices()}});
}

void Losses(Rows& rows) {
  const int64_t batch = rows.Size(256, 8), vocabulary = rows.Size(128000, 64);
  const Array logits = reshard(Random({batch, vocabulary}, 3), P(None, "d"));
  const Array labels = random::randint(random::key(4), {batch}, 0, vocabulary);
  const auto loss = [](Array x, Array of_rows) { return mean(cross_entropy(x, of_rows)); };
  AddLoss(rows, "cross_entropy", loss, logits, labels);
  AddLoss(rows, "cross_entropy_grad", grad(loss), logits, labels);
}

}  // namespace

void LookupRows(Rows& rows) {
  Segments(rows);
  Losses(rows);
}

}  // namespace tessera::bench
